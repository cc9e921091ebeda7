//! What was believed at a moment, against a naive replay: every answer about the past is compared with a copy of everything
//! that was there then.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

use super::use_cases::with_service;
use super::*;
use cerebro_core::domain::{Kind, MemoryId, Project, Scope, SessionId, Timestamp, Validity};

/// How many histories are compared, each of a project of its own; `CEREBRO_SEEDS=100` asks for more.
const SEEDS: u64 = 8;
/// How many operations each has.
const OPERATIONS: usize = 200;
/// How many moments of each are asked about.
const MOMENTS: usize = 12;
/// A page of a search, and the word that all texts have.
const PAGE: usize = 50;
const WORD: &str = "walrus";

static CLOCK: AtomicI64 = AtomicI64::new(1_767_225_600_000);

fn clock() -> Timestamp {
    Timestamp::from_millisecond(CLOCK.load(Ordering::SeqCst)).unwrap()
}

/// What is known of each memory that is there: its revision, title and content.
type Present = BTreeMap<MemoryId, (u32, String, String)>;

/// One project with its history, kept twice: in the service, and as copies of everything.
struct Twice<'a> {
    service: &'a Service,
    caller: Caller,
    session: SessionId,
    keep: u32,
    rng: StdRng,
    texts: usize,
    now: Present,
    deleted: Present,
    /// Everything after each operation.
    then: Vec<(Timestamp, Present)>,
}

impl<'a> Twice<'a> {
    fn new(service: &'a Service, seed: u64, keep: u32) -> Self {
        let project = Project::parse(&format!("seed-{seed}")).unwrap();
        // Purges are a person's.
        let caller = Caller { project, agent: agent_name("test"), person: true };
        let session = SessionId::parse(&format!("s-{seed}")).unwrap();
        let rng = StdRng::seed_from_u64(seed);
        let (now, deleted) = (Present::new(), Present::new());
        Self { service, caller, session, keep, rng, texts: 0, now, deleted, then: Vec::new() }
    }

    fn text(&mut self) -> (String, String) {
        self.texts += 1;
        (format!("{WORD} note {}", self.texts), format!("The {WORD} says {} and nothing else.", self.texts))
    }

    fn any(&mut self) -> Option<MemoryId> {
        self.now.keys().copied().collect::<Vec<_>>().choose(&mut self.rng).copied()
    }

    async fn operate(&mut self) {
        // Mostly forward, at times not at all or back: moments rise all the same.
        let step = self.rng.random_range(-2_000..60_000);
        CLOCK.fetch_add(step, Ordering::SeqCst);
        match self.rng.random_range(0..100) {
            0..35 => self.save().await,
            35..65 => self.update().await,
            65..78 => self.delete(false).await,
            78..88 => self.restore().await,
            88..92 => self.delete(true).await,
            _ => self.supersede().await,
        }
        let (_, at) = self.service.base.store.events().last().await.unwrap();
        self.then.push((at, self.now.clone()));
    }

    async fn save(&mut self) {
        let (title, content) = self.text();
        // Few topics, so that their memories are revised.
        let topic_key = self.rng.random_bool(0.3).then(|| format!("topic/{}", self.rng.random_range(0..3)));
        let request = SaveRequest {
            title: title.clone(),
            content: content.clone(),
            kind: Kind::manual(),
            scope: Scope::Project(self.caller.project.clone()),
            topic_key,
            tags: Vec::new(),
            session: self.session.clone(),
            supersedes: Vec::new(),
            valid: Validity::default(),
            nature: None,
            trigger: None,
            door: Door::EXPLICIT,
        };
        let saved = self.service.memories.save(&self.caller, request).await.unwrap().memory;
        self.put(saved.id, saved.revision, title, content);
    }

    async fn update(&mut self) {
        let Some(id) = self.any() else { return };
        let (title, content) = self.text();
        let patch = Patch { title: Some(title.clone()), content: Some(content.clone()), ..Patch::default() };
        let updated =
            self.service.memories.update(&self.caller, &self.session, &id, patch).await.unwrap().memory;
        self.put(id, updated.revision, title, content);
    }

    /// What a memory says from now on; what it said too long ago is no longer kept.
    fn put(&mut self, id: MemoryId, revision: u32, title: String, content: String) {
        self.now.insert(id, (revision, title, content));
        let last_gone = revision.saturating_sub(self.keep).saturating_sub(1);
        if self.keep > 0 && last_gone > 0 {
            for (_, then) in &mut self.then {
                if then.get(&id).is_some_and(|(revision, ..)| *revision <= last_gone) {
                    then.remove(&id);
                }
            }
        }
    }

    async fn delete(&mut self, hard: bool) {
        let Some(id) = self.any() else { return };
        self.service.memories.delete(&self.caller, &self.session, &id, hard).await.unwrap();
        let gone = self.now.remove(&id).unwrap();
        if hard {
            self.then.iter_mut().for_each(|(_, then)| drop(then.remove(&id)));
        } else {
            self.deleted.insert(id, gone);
        }
    }

    async fn restore(&mut self) {
        let Some(id) = self.deleted.keys().copied().collect::<Vec<_>>().choose(&mut self.rng).copied() else {
            return;
        };
        // Another memory may have its topic by now: then it stays deleted.
        if self.service.memories.restore(&self.caller, &self.session, &id).await.is_ok() {
            let back = self.deleted.remove(&id).unwrap();
            self.now.insert(id, back);
        }
    }

    async fn supersede(&mut self) {
        let (Some(newer), Some(older)) = (self.any(), self.any()) else { return };
        let patch = Patch { supersedes: vec![older], ..Patch::default() };
        // Refused where it goes in a circle, which changes nothing.
        let _ = self.service.memories.update(&self.caller, &self.session, &newer, patch).await;
    }

    async fn compare(&mut self) {
        for _ in 0..MOMENTS {
            let Some((at, then)) = self.then.choose(&mut self.rng).cloned() else { return };
            // What came before the first of several operations at one moment cannot be told apart from it.
            let Some((at, then)) =
                self.then.iter().rfind(|(other, _)| *other == at).cloned().or(Some((at, then)))
            else {
                return;
            };
            let found = self.search(at).await;
            let wanted: BTreeMap<MemoryId, String> =
                then.iter().map(|(id, (_, title, _))| (*id, title.clone())).collect();
            assert_eq!(found, wanted, "{} as of {at}", self.caller.project);
            for (id, (_, title, content)) in then.iter().take(3) {
                let request = ObservationRequest {
                    id: *id,
                    history: false,
                    offset: 0,
                    max_bytes: 1_000,
                    as_of: Some(at),
                };
                let memory = self.service.recall.observation(&request, false).await.unwrap().memory;
                assert_eq!(
                    (memory.title.as_str(), memory.content.as_str()),
                    (title.as_str(), content.as_str())
                );
            }
        }
    }

    async fn search(&self, at: Timestamp) -> BTreeMap<MemoryId, String> {
        let mut found = BTreeMap::new();
        for page in 0.. {
            let request = SearchRequest {
                query: WORD.to_owned(),
                limit: PAGE,
                offset: page * PAGE,
                as_of: Some(at),
                ..SearchRequest::default()
            };
            let answer = self.service.recall.search(&self.caller, request).await.unwrap();
            assert!(answer.words_only);
            found.extend(answer.hits.iter().map(|hit| (hit.id.into(), hit.title.clone())));
            if !answer.more {
                break;
            }
        }
        found
    }
}

fn compared(seeds: std::ops::Range<u64>, keep: u32) {
    let settings = Settings { revisions_keep: std::num::NonZeroU32::new(keep), ..Settings::default() };
    with_service(settings, clock, async move |service| {
        for seed in seeds {
            let mut twice = Twice::new(&service, seed, keep);
            for operation in 1..=OPERATIONS {
                twice.operate().await;
                // The index of the past follows on in the midst of it.
                if operation % (OPERATIONS / 2) == 0 {
                    twice.compare().await;
                }
            }
        }
    });
}

#[test]
fn the_past_is_what_a_replay_says_with_all_texts_kept_and_with_few() {
    let asked = std::env::var("CEREBRO_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    let seeds = asked.unwrap_or(SEEDS);
    compared(0..seeds / 2, 0);
    compared(seeds / 2..seeds, 2);
}
