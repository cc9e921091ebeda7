//! Insights of a plan: which memories a chat model is shown together, which of its answers become steps, and how such a
//! step becomes a memory. That happens only when a person has the plan carried out.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Consolidating, ServiceError,
    jobs::{JobError, Payer, Question, REQUESTS_MAX, ask},
    memories::{guard, update},
};
use cerebro_core::domain::{Body, CycleId, Kind, Memory, MemoryId, Origin, Scope};
use cerebro_core::pace::Spent;
use cerebro_core::redact::{RedactedText, redact_text};
use cerebro_core::taint;
use cerebro_core::text;
use cerebro_core::truth::{
    Action, Insight, Step, Topic, Topics,
    insight::{self, CALLS_MAX, Drawn, INSIGHTS_MAX},
};
use cerebro_models::llm::Llm;
use cerebro_store::{
    ASKED_KEPT, Asked, CycleState, JobKind, SaidText, StoredCycle, StoredStep, Subject, Write,
};

/// The tag of memories that are insights.
const TAG: &str = "derived";
/// Their type.
const KIND: &str = "learning";
/// Who wrote them.
const AGENT: &str = "consolidation";

/// The questions that are still to be asked for a plan.
pub(crate) struct Asking {
    plan: CycleId,
    topics: Topics,
    open: std::collections::VecDeque<Topic>,
    /// What the model said about the first of them and what that cost, until the plan has it.
    answer: Option<(Drawn, Spent)>,
}

impl Asking {
    /// Whether there is an answer that the plan does not have yet.
    pub(crate) fn is_answered(&self) -> bool {
        self.answer.is_some()
    }
}

impl Consolidating {
    /// Queues the questions for a plan, if there is a chat model. Returns whether there is.
    pub(crate) async fn want_insights(&self, plan: &CycleId) -> Result<bool, ServiceError> {
        let is_wanted = (self.vectors.embedding().inference.wanted)();
        if is_wanted {
            let subject = Subject::Other { table: "cycle".to_owned(), key: plan.as_str().to_owned() };
            self.base.store.jobs().ensure(JobKind::Derive, &[subject]).await?;
            self.jobs.queue(JobKind::Derive).wake();
        }
        Ok(is_wanted)
    }

    /// The questions for a plan; `None` if it no longer waits.
    pub(crate) async fn asking(&self, plan: &CycleId) -> Result<Option<Asking>, ServiceError> {
        let Some(cycle) =
            self.base.store.cycles().by_id(plan).await?.filter(|cycle| cycle.state == CycleState::Planned)
        else {
            return Ok(None);
        };
        let mut topics = Topics::default();
        let mut pages = self.base.store.memories().walk();
        while let Some(page) = pages.next().await? {
            for memory in &page {
                topics.add(memory);
            }
            tokio::task::yield_now().await;
        }
        let asked: BTreeSet<String> = cycle.asked.topics.into_iter().collect();
        let open = topics.topics(&asked).into_iter().collect();
        Ok(Some(Asking { plan: *plan, topics, open, answer: None }))
    }

    pub(crate) fn payer(&self, llm: &Llm) -> Payer<'_> {
        Payer::of_relations(self.base.spending(), llm, self.vectors.embedding().inference.budget)
    }

    /// Asks about the next topic of a plan. `false` if nothing is left to ask: no topic, no room, or no plan.
    pub(crate) async fn ask_for_insights(&self, asking: &mut Asking, llm: &Llm) -> Result<bool, JobError> {
        let Some(cycle) = self.base.store.cycles().by_id(&asking.plan).await? else {
            return Ok(false);
        };
        let insights = cycle.steps.iter().filter(|stored| stored.step.action == Action::Derive).count();
        let has_room = insights < INSIGHTS_MAX && cycle.asked.spent.requests + REQUESTS_MAX <= CALLS_MAX;
        if cycle.state != CycleState::Planned || !has_room {
            return Ok(false);
        }
        let Some(topic) = asking.open.front() else { return Ok(false) };
        let mut memories = self.base.store.memories().in_order(&topic.memories).await?;
        memories.retain(Memory::is_live);
        let payer = self.payer(llm);
        let schema = insight::schema();
        let text = insight::question(&memories);
        let question = Question { instructions: insight::INSTRUCTIONS, text, schema: &schema };
        let read = |answer: &serde_json::Value| insight::read(answer, &topic.project, &memories);
        let mut drawn = match ask(llm, question, &payer, read).await {
            // After one answer that does not fit, the other topics are still asked about.
            Err(JobError::Refused(_)) => Drawn {
                dropped: BTreeMap::from([(cerebro_core::distil::Reason::Malformed, 1)]),
                ..Drawn::default()
            },
            drawn => drawn?,
        };
        drawn.insights.retain(|insight| !asking.topics.is_known(insight));
        asking.answer = Some((drawn, payer.spent()));
        Ok(true)
    }

    /// Gives the plan what the model said about a topic.
    pub(crate) async fn keep_insights(&self, asking: &mut Asking) -> Result<(), ServiceError> {
        if let (Some(topic), Some((drawn, spent))) = (asking.open.front(), &asking.answer) {
            let (plan, store) = (asking.plan, &self.base.store);
            store.transact(|write| Box::pin(keep(write, plan, topic, drawn, *spent))).await?;
        }
        asking.answer = None;
        asking.open.pop_front();
        Ok(())
    }
}

/// Stores what the model said about a topic in the plan that it was asked for, if the plan still waits and has it not yet.
async fn keep(
    write: &mut Write<'_>,
    plan: CycleId,
    topic: &Topic,
    drawn: &Drawn,
    spent: Spent,
) -> Result<(), ServiceError> {
    let Some(mut cycle) = write.store().cycles().by_id(&plan).await? else { return Ok(()) };
    if cycle.state != CycleState::Planned || cycle.asked.topics.contains(&topic.fingerprint) {
        return Ok(());
    }
    let present = sources(write, drawn.insights.iter()).await?;
    let dropped: u32 = drawn.dropped.values().sum();
    cycle.asked.dropped += u64::from(dropped);
    for insight in &drawn.insights {
        let is_planned =
            cycle.steps.iter().any(|one| one.insight.as_ref().is_some_and(|one| one.text == insight.text));
        let (scope, content) = (Scope::Project(insight.project.clone()), insight.content());
        let saying = SaidText { scope: &scope, title: &insight.title, content: &content };
        let is_refused = !guard::admits(write, saying, Origin::Derived).await?;
        if is_planned || is_refused || !insight.is_supported(&present) {
            cycle.asked.dropped += 1;
            continue;
        }
        if cycle.steps.iter().filter(|one| one.insight.is_some()).count() < INSIGHTS_MAX {
            cycle.steps.push(step(insight));
        }
    }
    let asked = &mut cycle.asked;
    asked.spent.requests += spent.requests;
    asked.spent.tokens += spent.tokens;
    asked.topics.push(topic.fingerprint.clone());
    let more = asked.topics.len().saturating_sub(ASKED_KEPT);
    asked.topics.drain(..more);
    write.put_cycle(&cycle, Vec::new());
    Ok(())
}

fn step(insight: &Insight) -> StoredStep {
    let why = format!("what {} say together", text::counted(insight.sources.len(), "memory"));
    let step = Step { action: Action::Derive, memory: MemoryId::random(), version: 0, into: None, why };
    StoredStep::planned(step, Some(insight.clone()))
}

/// What a new plan inherits: the topics that were asked about before, and those insights of the plan it replaces that still
/// hold.
pub(crate) async fn inherited(
    write: &Write<'_>,
    before: &[StoredCycle],
) -> Result<(Vec<StoredStep>, Asked), ServiceError> {
    let topics = before.first().map(|latest| latest.asked.topics.clone()).unwrap_or_default();
    let waiting = before.iter().filter(|cycle| cycle.state == CycleState::Planned);
    let mut steps: Vec<StoredStep> =
        waiting.flat_map(|cycle| &cycle.steps).filter(|stored| stored.insight.is_some()).cloned().collect();
    let present = sources(write, steps.iter().filter_map(|stored| stored.insight.as_ref())).await?;
    steps.retain(|stored| stored.insight.as_ref().is_some_and(|insight| insight.is_supported(&present)));
    steps.truncate(INSIGHTS_MAX);
    Ok((steps, Asked { topics, ..Asked::default() }))
}

async fn sources(
    write: &Write<'_>,
    insights: impl Iterator<Item = &Insight>,
) -> Result<BTreeMap<MemoryId, Memory>, ServiceError> {
    let ids: BTreeSet<MemoryId> = insights.flat_map(|insight| insight.sources.iter().copied()).collect();
    Ok(write.store().memories().map_of(&ids).await?)
}

/// Creates the memory of a planned insight, if the insight still holds and the guard admits its text. Returns whether it
/// did.
pub(crate) async fn derive(write: &mut Write<'_>, stored: &mut StoredStep) -> Result<bool, ServiceError> {
    let Some(insight) = stored.insight.take() else { return Ok(false) };
    stored.insight = Some(insight.emptied());
    let content = insight.content();
    let holds = insight.is_supported(&sources(write, std::iter::once(&insight)).await?);
    if !holds || write.memory(&stored.step.memory).await?.is_some() {
        return Ok(false);
    }
    let scope = Scope::Project(insight.project);
    let saying = SaidText { scope: &scope, title: &insight.title, content: &content };
    if !guard::admits(write, saying, Origin::Derived).await? {
        return Ok(false);
    }
    let taint = taint::of(&insight.title, &content, Origin::Derived);
    let body = Body {
        scope,
        kind: Kind::parse(KIND).unwrap_or_else(Kind::manual),
        title: insight.title,
        content,
        topic_key: None,
        tags: vec![own_word(TAG)],
    };
    write.create_memory(&Memory::new(stored.step.memory, body, taint, own_word(AGENT), write.at()));
    Ok(true)
}

/// A text of the program itself, which has no secrets.
fn own_word(word: &str) -> RedactedText {
    redact_text(word).value
}

/// The inverse of [`derive()`]: removes the memory without a trace of its text.
pub(crate) fn take_back(write: &mut Write<'_>, memory: &Memory) {
    let emptied = update::emptied(memory, write.at());
    write.take_back_memory(memory, &emptied);
}
