//! The vector leg of a search: memories that are near in meaning.
//!
//! Inside a project, every vector is compared, in memory. The vectors of a project are read at its first search, and every
//! later change is applied to them. Across all projects, and in a project whose vectors take more than
//! [`EXACT_BYTES_MAX`], the database's graph index gives the candidates; their similarities are exact too.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::Semaphore;

use crate::{ServiceError, base::Base, lock, settings::Embedding};
use cerebro_core::domain::{Memory, MemoryId, Project, Scope, SubjectId, limits::SEARCHES_AT_ONCE_MAX};
use cerebro_core::pace::{self, Breaker, Spent};
use cerebro_core::redact::RedactedText;
use cerebro_core::relate::{self, Likeness};
use cerebro_core::sync::{read, write};
use cerebro_models::embed::{Embedder, Purpose};
use cerebro_models::provider::ProviderError;
use cerebro_search::lexical::Projects;
use cerebro_search::vector::{Near, Packed, Space};
use cerebro_store::{Committed, ModelState, StoredModel, StoredVector};

/// Bytes of the largest project whose vectors are all compared: 65,536 passages of 384 numbers.
pub const EXACT_BYTES_MAX: usize = 24 << 20;
/// Bytes that the vectors of all projects in memory may take.
const VECTORS_BYTES_MAX: usize = 48 << 20;
/// How many vectors are read at once.
pub(super) const PAGE: usize = 500;
/// How long a search waits for the vectors of a project to be read.
pub(super) const LOAD_WAIT: Duration = Duration::from_secs(3);
/// How long a search waits for the vector of its question.
const QUERY_WAIT: Duration = Duration::from_secs(1);
/// How long it waits after a vector came too late, until one comes in time again.
const QUERY_WAIT_SLOW: Duration = Duration::from_millis(30);
/// How many passages of a memory are compared with all others to relate it.
const LIKENESS_PASSAGES_MAX: usize = 4;
/// Most questions that a model is asked at once, including those that nobody waits for any more.
const ASKING_MAX: usize = 2 * SEARCHES_AT_ONCE_MAX;
/// Questions whose vectors are kept.
const QUERIES_MAX: usize = 128;

/// What is near to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorLeg {
    /// The nearest memories, each with its nearest passage, the nearest first.
    pub hits: Vec<Near>,
    /// The model that compared them.
    pub model: String,
    /// Whether every memory was compared; else a few of the nearest may be missing.
    pub exact: bool,
}

/// The model that searches ask.
pub(crate) struct Ready {
    pub(crate) model: StoredModel,
    queries: Arc<dyn Embedder>,
}

enum Known {
    NotYet,
    None,
    Ready(Arc<Ready>),
}

/// The vectors in memory, and the model that made them.
pub(crate) struct Vectors {
    pub(crate) embedding: Embedding,
    known: RwLock<Known>,
    looking: tokio::sync::Mutex<()>,
    space: RwLock<Option<Space<Scope>>>,
    /// The vectors of exchanges: beside those of memories, so that no order of memories depends on them.
    pub(super) exchanges: RwLock<Option<Space<()>>>,
    pub(super) loading: tokio::sync::Mutex<()>,
    asked: Mutex<VecDeque<(RedactedText, Arc<Vec<f32>>)>>,
    asking: Arc<Semaphore>,
    breaker: Mutex<Breaker>,
    slow: AtomicBool,
    used: Mutex<Option<Instant>>,
    begun: Instant,
}

impl Vectors {
    pub(crate) fn new(embedding: Embedding) -> Self {
        Self {
            embedding,
            known: RwLock::new(Known::NotYet),
            looking: tokio::sync::Mutex::new(()),
            space: RwLock::new(None),
            exchanges: RwLock::new(None),
            loading: tokio::sync::Mutex::new(()),
            asked: Mutex::default(),
            asking: Arc::new(Semaphore::new(ASKING_MAX)),
            breaker: Mutex::default(),
            slow: AtomicBool::new(false),
            used: Mutex::new(None),
            begun: Instant::now(),
        }
    }

    fn change<T>(&self, act: impl FnOnce(&mut Space<Scope>) -> T) -> Option<T> {
        write(&self.space).as_mut().map(act)
    }

    fn read<T>(&self, act: impl FnOnce(&Space<Scope>) -> T) -> Option<T> {
        read(&self.space).as_ref().map(act)
    }

    /// Applies a commit: memories that were deleted, or that have another scope now.
    pub(crate) fn follow(&self, committed: &Committed) {
        self.follow_exchanges(committed);
        self.change(|space| {
            for memory in &committed.memories {
                if memory.is_live() {
                    space.settle(&memory.id.into(), &memory.scope);
                } else {
                    space.remove(&memory.id.into());
                }
            }
        });
    }

    /// Adds the new vectors of a memory, made by a model.
    pub(crate) fn put(&self, model: &StoredModel, scope: &Scope, memory: &MemoryId, vectors: &[Vec<f32>]) {
        if !self.asks(model) {
            return;
        }
        let packed: Vec<Packed> = vectors.iter().map(|vector| Packed::new(vector)).collect();
        self.change(|space| space.put(scope, &(*memory).into(), packed));
    }

    fn known(&self) -> std::sync::RwLockReadGuard<'_, Known> {
        read(&self.known)
    }

    /// Whether it is this model that searches ask.
    pub(super) fn asks(&self, model: &StoredModel) -> bool {
        matches!(&*self.known(), Known::Ready(ready) if ready.model.table == model.table)
    }

    fn set(&self, known: Known) {
        let dimension = match &known {
            Known::Ready(ready) => Some(ready.model.dimension),
            _ => None,
        };
        *write(&self.known) = known;
        // The vectors of another model are of no use.
        *write(&self.space) =
            dimension.map(|dimension| Space::new(dimension, EXACT_BYTES_MAX, VECTORS_BYTES_MAX));
        *write(&self.exchanges) =
            dimension.map(|dimension| Space::new(dimension, VECTORS_BYTES_MAX, VECTORS_BYTES_MAX));
        lock(&self.asked).clear();
    }

    /// The name of the model that searches ask.
    pub(crate) fn active(&self) -> Option<String> {
        match &*self.known() {
            Known::Ready(ready) => Some(ready.model.name.clone()),
            _ => None,
        }
    }

    /// Unloads the model of the questions if it was not used for long enough. Returns whether it is still loaded.
    pub(crate) fn rest(&self) -> bool {
        let mut used = lock(&self.used);
        let Some(last) = *used else { return false };
        if self.embedding.unload_after.is_none_or(|after| last.elapsed() < after) {
            return true;
        }
        if let Known::Ready(ready) = &*self.known() {
            ready.queries.rest();
        }
        self.forget_exchanges();
        *used = None;
        false
    }

    fn recall(&self, text: &RedactedText) -> Option<Arc<Vec<f32>>> {
        let mut asked = lock(&self.asked);
        let at = asked.iter().position(|(other, _)| other == text)?;
        let found = asked.remove(at)?;
        let vector = Arc::clone(&found.1);
        asked.push_back(found);
        Some(vector)
    }

    fn remember(&self, text: RedactedText, vector: &Arc<Vec<f32>>) {
        let mut asked = lock(&self.asked);
        asked.push_back((text, Arc::clone(vector)));
        if asked.len() > QUERIES_MAX {
            asked.pop_front();
        }
    }
}

/// Searching by meaning.
#[derive(Clone)]
pub(crate) struct VectorSearch {
    pub(super) base: Base,
    pub(crate) held: Arc<Vectors>,
}

impl VectorSearch {
    pub(crate) fn new(base: &Base, held: Arc<Vectors>) -> Self {
        Self { base: base.clone(), held }
    }

    /// How texts become vectors.
    pub(crate) fn embedding(&self) -> &Embedding {
        &self.held.embedding
    }

    /// The model that searches ask, if the store has vectors and their provider can be opened.
    pub(crate) async fn ready(&self) -> Result<Option<Arc<Ready>>, ServiceError> {
        let vectors = &self.held;
        for _ in 0..2 {
            match &*vectors.known() {
                Known::None => return Ok(None),
                Known::Ready(ready) => return Ok(Some(Arc::clone(ready))),
                Known::NotYet => {}
            }
            self.look().await?;
        }
        Ok(None)
    }

    /// Reads again which model searches ask. Vectors in memory stay if it is the same model.
    pub(crate) async fn look(&self) -> Result<(), ServiceError> {
        let vectors = &self.held;
        let _one = vectors.looking.lock().await;
        let models = self.base.store.models().all().await?;
        let Some(active) = models.into_iter().find(|model| model.state == ModelState::Active) else {
            vectors.set(Known::None);
            return Ok(());
        };
        if matches!(&*vectors.known(), Known::Ready(ready) if ready.model == active) {
            return Ok(());
        }
        let open = &vectors.embedding.open;
        let fits =
            |embedder: &Arc<dyn Embedder>| active.is(&embedder.model().name, embedder.model().dimension);
        let configured = open(None).ok().flatten().filter(fits);
        let opened = configured.or_else(|| open(Some(&active.name)).ok().flatten().filter(fits));
        vectors.set(match opened {
            Some(queries) => Known::Ready(Arc::new(Ready { model: active, queries })),
            None => Known::None,
        });
        Ok(())
    }

    /// The `k` memories nearest in meaning to a question, of those in `within` if it is given. `None` if there is no
    /// model or it does not answer in time; the search then uses words alone.
    pub async fn vector_candidates(
        &self,
        projects: &Projects,
        question: &RedactedText,
        k: usize,
        within: Option<&HashSet<SubjectId>>,
    ) -> Result<Option<VectorLeg>, ServiceError> {
        let Some(ready) = self.ready().await? else { return Ok(None) };
        let mut asked = Vec::new();
        if let Projects::Of { project, with_personal } = projects {
            asked.push(Scope::Project(project.clone()));
            asked.extend(with_personal.then_some(Scope::Personal));
        }
        // The first search after a start reads the vectors while the model is loaded.
        let (vector, loaded) = tokio::join!(self.question(&ready, question), self.load(&ready, &asked));
        let (Some(vector), loaded) = (vector, loaded?) else { return Ok(None) };
        let keep = |subject: &SubjectId| within.is_none_or(|within| within.contains(subject));
        if asked.is_empty() {
            return self.by_graph(&ready, None, &vector, k, &keep).await.map(Some);
        }
        if loaded {
            let packed = Packed::new(&vector);
            let nearest = |space: &Space<Scope>| space.nearest(&asked, &packed, k, &keep);
            let hits = tracing::debug_span!("compare").in_scope(|| self.held.read(nearest).flatten());
            if let Some(hits) = hits {
                let model = ready.model.name.clone();
                return Ok(Some(VectorLeg { hits, model, exact: true }));
            }
        }
        self.by_graph(&ready, Some(&asked), &vector, k, &keep).await.map(Some)
    }

    /// Begins to read the vectors of a project in the background, because an agent that asks for its context will probably
    /// search it.
    pub(crate) fn warm(&self, project: &Project) {
        let (search, scopes) = (self.clone(), [Scope::Project(project.clone()), Scope::Personal]);
        self.base.tasks.spawn("reading vectors ahead", async move {
            let warmed = async {
                let Some(ready) = search.ready().await? else { return Ok(false) };
                search.load(&ready, &scopes).await
            };
            if let Err(error) = warmed.await {
                tracing::warn!(%error, "vectors could not be read ahead; the next search tries again");
            }
        });
    }

    /// The vector of a question, if the model returns it in time. If the wait ends first, the work continues, so that
    /// the same question asked again has it.
    #[tracing::instrument(level = "debug", skip_all)]
    pub(super) async fn question(&self, ready: &Arc<Ready>, text: &RedactedText) -> Option<Arc<Vec<f32>>> {
        let vectors = &self.held;
        if let Some(vector) = vectors.recall(text) {
            return Some(vector);
        }
        if lock(&vectors.breaker).wait(vectors.begun.elapsed()).is_some() {
            return None;
        }
        let wait = if vectors.slow.load(Ordering::Relaxed) { QUERY_WAIT_SLOW } else { QUERY_WAIT };
        // A question that nobody waits for any more still occupies the model, so these are bounded too.
        let place = Arc::clone(&vectors.asking).try_acquire_owned().ok()?;
        let (search, ready, text) = (self.clone(), Arc::clone(ready), text.clone());
        let work = self.base.tasks.spawn("a question's vector", async move {
            let _place = place;
            search.embed_question(&ready, text).await
        });
        match tokio::time::timeout(wait, work).await {
            Ok(done) => done.ok().flatten(),
            Err(_) => {
                vectors.slow.store(true, Ordering::Relaxed);
                tracing::info!("the model took too long for a question; the search went on with words alone");
                None
            }
        }
    }

    async fn embed_question(&self, ready: &Ready, text: RedactedText) -> Option<Arc<Vec<f32>>> {
        let vectors = &self.held;
        let metered = ready.queries.is_metered();
        if metered
            && !self.base.spending().fits_budget(vectors.embedding.budget, pace::tokens_of(&text)).await
        {
            return None;
        }
        *lock(&vectors.used) = Some(Instant::now());
        let answer = ready.queries.embed(Purpose::Query, vec![text.clone()]).await;
        let now = vectors.begun.elapsed();
        if metered {
            let tokens = answer.as_ref().map_or(0, |embedded| embedded.tokens);
            self.base.spending().note_spent(&ready.model.name, Spent { tokens, requests: 1 }).await;
        }
        match answer {
            Ok(embedded) => {
                lock(&vectors.breaker).succeed();
                vectors.slow.store(false, Ordering::Relaxed);
                let vector = Arc::new(embedded.vectors.into_iter().next()?);
                if vector.len() != ready.model.dimension {
                    return None;
                }
                vectors.remember(text, &vector);
                Some(vector)
            }
            Err(error) => {
                let after = if let ProviderError::Later { after, .. } = &error { *after } else { None };
                if !matches!(error, ProviderError::Refused { .. }) {
                    lock(&vectors.breaker).fail(now, after);
                }
                tracing::warn!(%error, "a question got no vector; the search went on with words alone");
                None
            }
        }
    }

    /// Reads the vectors of scopes that are not in memory. `false` if they are too many, or if reading takes too long; it
    /// then continues in the background.
    async fn load(&self, ready: &Arc<Ready>, scopes: &[Scope]) -> Result<bool, ServiceError> {
        if self.base.store.is_shared() {
            // The log has no events for vectors that another process writes.
            return Ok(false);
        }
        let vectors = &self.held;
        let missing: Vec<Scope> = scopes
            .iter()
            .filter(|scope| vectors.read(|space| space.holds(scope)) != Some(true))
            .cloned()
            .collect();
        if missing.is_empty() {
            vectors.change(|space| scopes.iter().for_each(|scope| space.touch(scope)));
            return Ok(true);
        }
        let (search, ready) = (self.clone(), Arc::clone(ready));
        let work = self.base.tasks.spawn("reading vectors", async move {
            for scope in missing {
                if !search.load_one(&ready, &scope).await? {
                    return Ok(false);
                }
            }
            Ok::<bool, ServiceError>(true)
        });
        match tokio::time::timeout(LOAD_WAIT, work).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) | Err(_) => Ok(false),
        }
    }

    async fn load_one(&self, ready: &Ready, scope: &Scope) -> Result<bool, ServiceError> {
        let vectors = &self.held;
        let _one = vectors.loading.lock().await;
        if vectors.read(|space| space.holds(scope)) == Some(true) {
            return Ok(true);
        }
        let count = self.base.store.vectors().count(&ready.model, scope).await?;
        if count * ready.model.dimension > EXACT_BYTES_MAX {
            return Ok(false);
        }
        let begun = Instant::now();
        vectors.change(|space| space.begin(scope));
        let rows = match self.read_vectors(&ready.model, scope, count).await {
            Ok(rows) => rows,
            Err(error) => {
                vectors.change(|space| space.forget(scope));
                return Err(error);
            }
        };
        let count = rows.len();
        // Another model may have become active while this was read.
        if vectors.asks(&ready.model) {
            vectors.change(|space| space.fill(scope, rows));
        }
        tracing::debug!(count, ms = begun.elapsed().as_millis(), "the vectors of a project are in memory");
        Ok(true)
    }

    /// The `count` vectors of a scope: the packed ones, or, if those are not complete, the ones from the table, which are
    /// then packed again.
    async fn read_vectors(
        &self,
        model: &StoredModel,
        scope: &Scope,
        count: usize,
    ) -> Result<Vec<(SubjectId, u32, Packed)>, ServiceError> {
        let store = &self.base.store;
        let pack = |row: &StoredVector| (row.memory.into(), row.passage, Packed::new(&row.embedding));
        let (mut rows, mut after) = (Vec::with_capacity(count), String::new());
        loop {
            let page = store.vectors().page_of_packed(model, scope, &after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.place);
            rows.extend(page.iter().map(pack));
        }
        if rows.len() == count {
            return Ok(rows);
        }
        tracing::info!(packed = rows.len(), count, "the packed vectors of a project are made anew");
        let mut all = Vec::with_capacity(count);
        after.clear();
        loop {
            let page = store.vectors().page(model, scope, &after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.place);
            all.extend(page);
        }
        rows = all.iter().map(pack).collect();
        let (search, model, scope) = (self.clone(), model.clone(), scope.clone());
        self.base.tasks.spawn("packing vectors", async move {
            if let Err(error) = search.base.store.vectors().pack(&model, &scope, &all).await {
                tracing::warn!(%error, "vectors could not be packed; the next start reads them one by one");
            }
        });
        Ok(rows)
    }

    /// The likeness of a memory to every other of its scope. `None` if they are too many to compare one by one, or if the
    /// model is not the one that searches ask.
    pub(crate) async fn likeness(
        &self,
        memory: &Memory,
        model: &StoredModel,
        vectors: &[Vec<f32>],
    ) -> Result<Option<Likeness>, ServiceError> {
        let Some(ready) = self.ready().await? else { return Ok(None) };
        if ready.model.table != model.table {
            return Ok(None);
        }
        let scopes = [memory.scope.clone()];
        let vectors = vectors.iter().take(LIKENESS_PASSAGES_MAX);
        if !self.base.store.is_shared() {
            if !self.load(&ready, &scopes).await? {
                return Ok(None);
            }
            let packed: Vec<Packed> = vectors.map(|vector| Packed::new(vector)).collect();
            let own = memory.id.into();
            let likeness =
                |space: &Space<Scope>| space.likeness(&memory.scope, &packed, &own, relate::DEGREE_MAX);
            return Ok(self.held.read(likeness).flatten());
        }
        let mut sample: BTreeMap<SubjectId, f32> = BTreeMap::new();
        let keep = |other: &SubjectId| *other != memory.id.into();
        for vector in vectors {
            for near in self.by_graph(&ready, Some(&scopes), vector, usize::MAX, &keep).await?.hits {
                let best = sample.entry(near.subject).or_insert(near.similarity);
                *best = best.max(near.similarity);
            }
        }
        Ok(Some(Likeness::to(sample.into_iter().collect())))
    }

    /// Candidates by the database's graph index.
    async fn by_graph(
        &self,
        ready: &Ready,
        scopes: Option<&[Scope]>,
        vector: &[f32],
        k: usize,
        keep: &(dyn Fn(&SubjectId) -> bool + Sync),
    ) -> Result<VectorLeg, ServiceError> {
        let rows = self.base.store.vectors().nearest(&ready.model, scopes, vector).await?;
        let mut hits: Vec<Near> = rows
            .into_iter()
            .map(|(memory, passage, distance)| Near {
                subject: memory.into(),
                passage,
                similarity: 1.0 - distance,
            })
            .collect();
        hits.sort_by(|a, b| {
            b.similarity
                .total_cmp(&a.similarity)
                .then_with(|| a.subject.cmp(&b.subject))
                .then_with(|| a.passage.cmp(&b.passage))
        });
        let mut seen = HashSet::new();
        hits.retain(|near| seen.insert(near.subject) && keep(&near.subject));
        hits.truncate(k);
        Ok(VectorLeg { hits, model: ready.model.name.clone(), exact: false })
    }
}
