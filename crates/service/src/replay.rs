//! What was believed at a moment, against a naive replay: every answer about the past is compared with a copy of everything
//! that was there then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

use super::use_cases::with_service;
use super::*;
use cerebro_core::domain::{MemoryId, Project, Scope, SessionId, Timestamp};

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

/// What was there after an operation.
#[derive(Clone)]
struct Moment {
    at: Timestamp,
    /// What is still known of it.
    then: Present,
    /// All that was live, also if its text is no longer kept.
    live: BTreeSet<MemoryId>,
}

/// One project with its history, told twice: to the service, and as copies of everything.
struct Twice<'a> {
    service: &'a Service,
    caller: Caller,
    keep: u32,
    rng: StdRng,
    texts: usize,
    now: Present,
    deleted: Present,
    /// Which memory took which one's place, and when.
    supersessions: Vec<(MemoryId, MemoryId, Timestamp)>,
    /// Everything after each operation.
    then: Vec<Moment>,
}

impl<'a> Twice<'a> {
    fn new(service: &'a Service, seed: u64, keep: u32) -> Self {
        let project = Project::parse(&format!("seed-{seed}")).unwrap();
        // Purges are a person's.
        let session = SessionId::parse(&format!("s-{seed}")).unwrap();
        let caller = Caller { project, agent: agent_name("test"), person: true, session };
        let rng = StdRng::seed_from_u64(seed);
        let (now, deleted) = (Present::new(), Present::new());
        let (supersessions, then) = (Vec::new(), Vec::new());
        Self { service, caller, keep, rng, texts: 0, now, deleted, supersessions, then }
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
        let (then, live) = (self.now.clone(), self.now.keys().copied().collect());
        self.then.push(Moment { at, then, live });
    }

    async fn save(&mut self) {
        let (title, content) = self.text();
        // Few topics, so that their memories are revised.
        let topic_key = self.rng.random_bool(0.3).then(|| format!("topic/{}", self.rng.random_range(0..3)));
        let scope = Scope::Project(self.caller.project.clone());
        let request = SaveRequest {
            topic_key,
            ..SaveRequest::new(title.clone(), content.clone(), scope, Door::EXPLICIT)
        };
        let saved = self.service.memories.save(&self.caller, request).await.unwrap().memory;
        self.put(saved.id, saved.revision, title, content);
    }

    async fn update(&mut self) {
        let Some(id) = self.any() else { return };
        let (title, content) = self.text();
        let patch = Patch { title: Some(title.clone()), content: Some(content.clone()), ..Patch::default() };
        let updated = self.service.memories.update(&self.caller, &id, patch).await.unwrap().memory;
        self.put(id, updated.revision, title, content);
    }

    /// What a memory says from now on; what it said too long ago is no longer kept.
    fn put(&mut self, id: MemoryId, revision: u32, title: String, content: String) {
        self.now.insert(id, (revision, title, content));
        let last_gone = revision.saturating_sub(self.keep).saturating_sub(1);
        if self.keep > 0 && last_gone > 0 {
            for Moment { then, .. } in &mut self.then {
                if then.get(&id).is_some_and(|(revision, ..)| *revision <= last_gone) {
                    then.remove(&id);
                }
            }
        }
    }

    async fn delete(&mut self, hard: bool) {
        let Some(id) = self.any() else { return };
        let memories = &self.service.memories;
        let gone = self.now.remove(&id).unwrap();
        if hard {
            memories.purge(&self.caller, &id, Vec::new()).await.unwrap();
            for Moment { then, live, .. } in &mut self.then {
                then.remove(&id);
                live.remove(&id);
            }
            self.supersessions.retain(|(newer, older, _)| *newer != id && *older != id);
        } else {
            memories.delete(&self.caller, &id).await.unwrap();
            self.deleted.insert(id, gone);
        }
    }

    async fn restore(&mut self) {
        let Some(id) = self.deleted.keys().copied().collect::<Vec<_>>().choose(&mut self.rng).copied() else {
            return;
        };
        // Another memory may have its topic by now: then it stays deleted.
        if self.service.memories.restore(&self.caller, &id).await.is_ok() {
            let back = self.deleted.remove(&id).unwrap();
            self.now.insert(id, back);
        }
    }

    async fn supersede(&mut self) {
        let (Some(newer), Some(older)) = (self.any(), self.any()) else { return };
        let patch = Patch { supersedes: vec![older], ..Patch::default() };
        // Refused where it goes in a circle, which changes nothing.
        let done = self.service.memories.update(&self.caller, &newer, patch).await;
        if done.is_ok_and(|done| !done.superseded.is_empty()) {
            let (_, at) = self.service.base.store.events().last().await.unwrap();
            self.supersessions.push((newer, older, at));
        }
    }

    /// Whether, at a moment, something was in a memory's place.
    fn is_old(&self, id: MemoryId, moment: &Moment) -> bool {
        let (mut known, mut next) = (vec![id], vec![id]);
        while let Some(id) = next.pop() {
            for (newer, older, since) in &self.supersessions {
                if *older == id && *since <= moment.at && !known.contains(newer) {
                    known.push(*newer);
                    next.push(*newer);
                }
            }
        }
        known[1..].iter().any(|newer| moment.live.contains(newer))
    }

    async fn compare(&mut self) {
        for _ in 0..MOMENTS {
            let Some(Moment { at, .. }) = self.then.choose(&mut self.rng) else { return };
            // What came before the last of several operations at one moment cannot be told apart from it.
            let Some(moment) = self.then.iter().rfind(|other| other.at == *at).cloned() else { return };
            let (at, then) = (moment.at, &moment.then);
            let found = self.search(at).await;
            let wanted =
                then.iter().map(|(id, (_, title, _))| (*id, (title.clone(), self.is_old(*id, &moment))));
            let wanted: BTreeMap<MemoryId, (String, bool)> = wanted.collect();
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

    /// The title of each hit, and whether it is marked `old`.
    async fn search(&self, at: Timestamp) -> BTreeMap<MemoryId, (String, bool)> {
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
            let is_old = |id: &MemoryId| {
                answer.marks.get(id).is_some_and(|marks| marks.iter().any(|mark| mark.name == "old"))
            };
            let hits = answer.hits.iter().map(|hit| (MemoryId::from(hit.id), hit));
            found.extend(hits.map(|(id, hit)| (id, (hit.title.clone(), is_old(&id)))));
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
