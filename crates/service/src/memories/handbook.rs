//! Handbooks over the store: their items, the accepted arrangements of these, and the memories that hold the rendered
//! text.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Caller, Door, Memories, ServiceError, agent_name};
use cerebro_core::distil::handbook::{HANDBOOK_KEY, Rendered, SUMMARY_KEY, render, view};
use cerebro_core::distil::operations::{Handbook, Item};
use cerebro_core::distil::skill::{self, Skill};
use cerebro_core::domain::{
    Arrangement, ArrangementState, Body, Candidate, CandidateState, ItemOperation, Kind, Memory, MemoryId,
    Origin, Project, Scope, ScopeName, SessionId, Validity,
};
use cerebro_core::hygiene::Draft;
use cerebro_core::{redact::redact_text, taint};
use cerebro_store::{DeletedFilter, Store, Write};

/// The tag of memories that were made of candidates.
pub(crate) const TAG: &str = "distilled";

/// Most candidates that handbooks are made of.
const CANDIDATES_MAX: usize = 5_000;
/// Most arrangements of a handbook. If there are more, the oldest are ignored.
const ARRANGEMENTS_MAX: usize = 2_000;
/// How many rows are read at once.
const PAGE: usize = 500;
/// The name of the agent that writes what is rendered and that works without being asked.
const NAME: &str = "distil";
/// The type of the memories that hold what is rendered.
const KIND: &str = "handbook";

/// What handbooks are made of.
pub(crate) struct HandbookSources {
    items: BTreeMap<Project, Vec<Item>>,
    /// The accepted arrangements, in the order in which they were accepted.
    pub(crate) arrangements: Vec<Arrangement>,
}

impl HandbookSources {
    pub(crate) async fn of(store: &Store) -> Result<Self, ServiceError> {
        let mut arrangements =
            store.arrangements().in_state(ArrangementState::Accepted, ARRANGEMENTS_MAX).await?;
        arrangements.sort_by_key(|arrangement| (arrangement.decided_at, arrangement.at));
        Ok(Self { items: items(store).await?, arrangements })
    }

    /// The projects that have an item.
    pub(crate) fn projects(&self) -> impl Iterator<Item = &Project> {
        self.items.keys()
    }

    /// The handbook of a project. The handbook of all projects has the items that the others show, each with the items that
    /// were merged into it.
    pub(crate) fn handbook(&self, project: Option<&Project>) -> Handbook {
        // An operation applies to an item wherever it is now: its project may have been merged into another.
        let mine = |arrangement: &&Arrangement| arrangement.project.is_some() == project.is_some();
        let operations =
            self.arrangements.iter().filter(mine).flat_map(|arrangement| &arrangement.operations);
        if let Some(project) = project {
            return Handbook::arranged(self.items.get(project).cloned().unwrap_or_default(), operations);
        }
        let handbooks: Vec<Handbook> =
            self.items.keys().map(|project| self.handbook(Some(project))).collect();
        // An item that was merged since is represented by the item that it was merged into.
        let carrier = |id| handbooks.iter().find_map(|handbook| handbook.carrier(id)).unwrap_or(id);
        let operations: Vec<ItemOperation> = operations.map(|operation| operation.about(carrier)).collect();
        Handbook::arranged(handbooks.iter().flat_map(shown).collect(), &operations)
    }
}

/// The items that a handbook shows, each with the items that were merged into it.
fn shown(handbook: &Handbook) -> Vec<Item> {
    let whole = |item: &Item| Item {
        sessions: handbook.sessions(item.memory).into_iter().cloned().collect(),
        evidence: handbook.evidence(item.memory),
        ..item.clone()
    };
    handbook.shown().map(|(item, _)| whole(item)).collect()
}

/// The accepted claims by the projects of their memories. A memory is no item if it is deleted, archived, personal or
/// flagged.
async fn items(store: &Store) -> Result<BTreeMap<Project, Vec<Item>>, ServiceError> {
    let mut of_memory: BTreeMap<MemoryId, Vec<Candidate>> = BTreeMap::new();
    for candidate in store.candidates().in_state(CandidateState::Accepted, CANDIDATES_MAX).await? {
        if let Some((memory, _)) = candidate.memory.filter(|_| !candidate.evidence.is_empty()) {
            of_memory.entry(memory).or_default().push(candidate);
        }
    }
    let sessions: BTreeSet<SessionId> =
        of_memory.values().flatten().map(|candidate| candidate.session.clone()).collect();
    let mut began = BTreeMap::new();
    for page in Vec::from_iter(sessions).chunks(PAGE) {
        let page = store.past_sessions().by_ids(page).await?;
        began.extend(page.into_iter().map(|session| (session.id, session.started_at)));
    }
    let mut items: BTreeMap<Project, Vec<Item>> = BTreeMap::new();
    for page in of_memory.keys().copied().collect::<Vec<_>>().chunks(PAGE) {
        for memory in store.memories().by_ids(page).await? {
            let is_item = memory.is_live() && !memory.is_archived() && memory.taint.flags.is_empty();
            let claims = of_memory.get(&memory.id).map(Vec::as_slice).unwrap_or_default();
            let (Some(first), Scope::Project(project)) =
                (claims.first().filter(|_| is_item), memory.body.scope)
            else {
                continue;
            };
            // Only these were accepted with the present text.
            let is_of_text =
                |claim: &&Candidate| claim.memory.is_some_and(|(_, revision)| revision == memory.revision);
            let candidates: Vec<&Candidate> = claims.iter().filter(is_of_text).collect();
            let item = Item {
                memory: memory.id,
                kind: first.kind,
                title: memory.body.title,
                text: memory.body.content,
                is_revised: candidates.is_empty(),
                last_session_at: claims
                    .iter()
                    .filter_map(|claim| began.get(&claim.session).copied())
                    .max()
                    .unwrap_or(first.at),
                evidence: candidates
                    .iter()
                    .flat_map(|one| &one.evidence)
                    .map(|cited| cited.exchange)
                    .collect(),
                sessions: candidates.iter().map(|candidate| candidate.session.clone()).collect(),
            };
            items.entry(project).or_default().push(item);
        }
    }
    Ok(items)
}

/// The scope of a handbook's memories.
fn place(project: Option<&Project>) -> Scope {
    project.cloned().map_or(Scope::Personal, Scope::Project)
}

/// The handbooks that may contain the items of a project: its own, and that of all.
pub(crate) fn handbooks_with(project: Option<&Project>) -> impl Iterator<Item = Option<&Project>> {
    project.map(Some).into_iter().chain([None])
}

/// The live memories that were rendered for a project or for all, and that nobody has rewritten.
pub(crate) async fn rendered(store: &Store, project: Option<&Project>) -> Result<Vec<Memory>, ServiceError> {
    let mut rendered = holders(store, project).await?;
    rendered.retain(|holder| holder.agent.as_str() == NAME);
    Ok(rendered)
}

/// The deleted memories that were rendered for a project or for all, and could be restored.
pub(crate) async fn restorable(
    store: &Store,
    project: Option<&Project>,
) -> Result<Vec<Memory>, ServiceError> {
    let scope = if project.is_some() { ScopeName::Project } else { ScopeName::Personal };
    let filter = DeletedFilter { project: project.cloned(), scope: Some(scope), kind: Kind::parse(KIND) };
    let (mut deleted, _) = store.memories().restorable(&filter, 0, PAGE).await?;
    deleted.retain(|memory| memory.agent.as_str() == NAME);
    Ok(deleted)
}

/// The handbooks that may contain the items of a project and that somebody has rewritten.
pub(crate) async fn rewritten(
    store: &Store,
    project: Option<&Project>,
) -> Result<Vec<MemoryId>, ServiceError> {
    let mut rewritten = Vec::new();
    for one in handbooks_with(project) {
        let holders = holders(store, one).await?.into_iter();
        rewritten.extend(holders.filter(|holder| holder.agent.as_str() != NAME).map(|holder| holder.id));
    }
    Ok(rewritten)
}

/// The live memories under the topic keys of a handbook.
async fn holders(store: &Store, project: Option<&Project>) -> Result<Vec<Memory>, ServiceError> {
    let scope = place(project);
    let mut holders = Vec::new();
    for key in [HANDBOOK_KEY, SUMMARY_KEY] {
        holders.extend(store.topics().holder(&scope, key).await?);
    }
    Ok(holders)
}

/// Whether this memory was made of accepted claims.
pub(crate) async fn is_item(store: &Store, memory: &MemoryId) -> Result<bool, ServiceError> {
    Ok(!store.candidates().of_memory(memory).await?.is_empty())
}

/// Whether a memory was made of claims, by its tag, so that handbooks may contain it.
pub(crate) fn is_distilled(memory: &Memory) -> bool {
    let is_rendered =
        memory.topic_key.as_deref().is_some_and(|key| [HANDBOOK_KEY, SUMMARY_KEY].contains(&key));
    !is_rendered && memory.tags.iter().any(|tag| tag.as_str() == TAG)
}

impl Memories {
    /// The present handbook of a project, or of all, with all of its items.
    pub async fn handbook(
        &self,
        project: Option<&Project>,
    ) -> Result<(Handbook, Vec<Rendered>), ServiceError> {
        let handbook = HandbookSources::of(&self.base.store).await?.handbook(project);
        let rendered = view(&handbook, project);
        Ok((handbook, rendered))
    }

    /// Updates the memories of a handbook to its present text and returns them. Equal text writes nothing, and a memory
    /// that somebody has rewritten is left alone.
    pub async fn render_handbook(&self, project: Option<&Project>) -> Result<Vec<Memory>, ServiceError> {
        self.rendered_as(project, &[HANDBOOK_KEY, SUMMARY_KEY]).await
    }

    async fn rendered_as(
        &self,
        project: Option<&Project>,
        keys: &[&str],
    ) -> Result<Vec<Memory>, ServiceError> {
        let by = &distiller(self);
        let rendering = self.base.store.transact(|write| {
            Box::pin(async move {
                let handbook = HandbookSources::of(write.store()).await?.handbook(project);
                self.put_rendered(write, by, project, &handbook, keys).await
            })
        });
        rendering.await
    }

    /// Writes the rendered handbook of a project, or of all, under these keys, within a transaction.
    pub(crate) async fn put_rendered(
        &self,
        write: &mut Write<'_>,
        by: &Caller,
        project: Option<&Project>,
        handbook: &Handbook,
        keys: &[&str],
    ) -> Result<Vec<Memory>, ServiceError> {
        let texts = render(handbook, project);
        let scope = place(project);
        let by = Caller { project: project.unwrap_or(&by.project).clone(), ..by.clone() };
        let mut put = Vec::new();
        for key in keys.iter().copied() {
            let holder = write.store().topics().holder(&scope, key).await?;
            // Somebody rewrote it and is responsible for its text.
            if holder.as_ref().is_some_and(|holder| holder.agent.as_str() != NAME) {
                continue;
            }
            match (texts.iter().find(|text| text.topic_key == key), holder) {
                (Some(text), _) => {
                    let draft = draft(text, &by, scope.clone());
                    // Rendered text is never refused: tombstones concern the claims that it is made of.
                    let door = Door::Explicit { revive: true };
                    put.push(self.put_draft(write, &by, &draft, Vec::new(), door).await?.memory);
                }
                (None, Some(mut empty)) => {
                    empty.deleted_at = Some(write.at());
                    write.delete_memory(&empty, &by.session);
                }
                (None, None) => {}
            }
        }
        Ok(put)
    }

    /// The drafts of skills in the handbook of a project, or in all handbooks.
    pub async fn skills(&self, project: Option<&Project>) -> Result<Vec<(Project, Skill)>, ServiceError> {
        let sources = HandbookSources::of(&self.base.store).await?;
        // The names of a project's drafts depend on those of all others.
        let handbooks: Vec<Handbook> =
            sources.projects().map(|known| sources.handbook(Some(known))).collect();
        let of = |(known, skills): (&Project, Vec<Skill>)| {
            skills.into_iter().map(|skill| (known.clone(), skill)).collect::<Vec<_>>()
        };
        let all = sources.projects().zip(skill::drafts(&handbooks)).flat_map(of);
        Ok(all.filter(|(known, _)| project.is_none_or(|project| project == known)).collect())
    }

    /// The rendered handbooks that contain a project's items: its own, and that of all.
    pub(crate) async fn rendered_handbooks(
        &self,
        project: Option<&Project>,
    ) -> Result<Vec<Option<Project>>, ServiceError> {
        let mut there = Vec::new();
        for one in handbooks_with(project) {
            if !rendered(&self.base.store, one).await?.is_empty() {
                there.push(one.cloned());
            }
        }
        Ok(there)
    }

    /// Renders handbooks whose memories are gone. A failure is logged: the next arrangement renders them.
    pub(crate) async fn render_missing(&self, handbooks: &[Option<Project>]) {
        for project in handbooks {
            if let Err(error) = self.render_handbook(project.as_ref()).await {
                tracing::warn!(%error, "a handbook could not be rendered");
            }
        }
    }

    /// Renders the handbook of all projects again, if it is rendered at all, after that of one project has changed.
    pub(crate) async fn render_all_again(&self) {
        let there = rendered(&self.base.store, None).await;
        self.render_again(there.map(|there| if there.is_empty() { Vec::new() } else { vec![None] })).await;
    }

    /// Renders handbooks again after their items have changed. A failure is logged; the next rendering has the change.
    pub(crate) async fn render_again(&self, handbooks: Result<Vec<Option<Project>>, ServiceError>) {
        let rendered = async {
            for project in handbooks? {
                // One that somebody deleted stays deleted until its handbook is arranged or asked for.
                let there = rendered(&self.base.store, project.as_ref()).await?;
                let keys: Vec<&str> = there.iter().filter_map(|memory| memory.topic_key.as_deref()).collect();
                self.rendered_as(project.as_ref(), &keys).await?;
            }
            Ok::<_, ServiceError>(())
        };
        if let Err(error) = rendered.await {
            tracing::warn!(%error, "a handbook could not be rendered anew");
        }
    }
}

/// The caller for work that no person asked for, in a session of the day.
pub(crate) fn distiller(memories: &Memories) -> Caller {
    let day = memories.base.now().strftime("%Y-%m-%d");
    Caller {
        project: Project::general(),
        agent: agent_name(NAME),
        person: false,
        session: SessionId::parse(&format!("{NAME}-{day}")).unwrap_or_else(|_| SessionId::random()),
    }
}

fn draft(text: &Rendered, by: &Caller, scope: Scope) -> Draft {
    Draft {
        body: Body {
            scope,
            kind: Kind::parse(KIND).unwrap_or_else(Kind::manual),
            title: text.title.clone(),
            content: text.content.clone(),
            topic_key: Some(redact_text(text.topic_key).value),
            tags: vec![redact_text(TAG).value],
        },
        taint: taint::of(&text.title, &text.content, Origin::Transcript),
        agent: by.agent.clone(),
        session: by.session.clone(),
        valid: Validity::default(),
        nature: None,
        trigger: None,
    }
}
