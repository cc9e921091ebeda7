//! Plans a consolidation: merges memories that say nothing beyond another one, archives events of old sessions that
//! have a summary, and archives episodes that have grown weak. It only archives; the memories that stay keep their
//! texts. New memories come from [`insight`](super::insight).
//!
//! A [`Survey`] reads every memory once and keeps little of each. It names pairs to compare ([`Survey::pairs`]),
//! [`merge`] decides about one pair by its texts, and [`Survey::plan`] makes the steps.

use std::collections::{BTreeMap, BTreeSet};

use super::{is_exempt, nature, strength};
use crate::domain::{Kind, Memory, MemoryId, Nature, Scope, SessionId, Timestamp, limits};
use crate::hygiene::{Shingles, jaccard, near_keys, summary_key};
use crate::redact::RedactedText;
use crate::sameness::says_all;

/// Strength below which an episode may be archived: after about 430 days.
pub const WEAK_BELOW: f64 = 0.8;
/// Most memories that one consolidation changes.
pub const CHANGES_MAX: usize = 200;
/// The share of all live memories that one consolidation may change: one in this many.
const SHARE: usize = 50;
/// How many memories one consolidation may change, however few there are.
const CHANGES_MIN: usize = 10;
/// Most pairs that are compared, and most of them that one memory is in.
const PAIRS_MAX: usize = 20_000;
const PAIRS_EACH_MAX: usize = 8;
/// Age in days from which a session is old.
const PAST_DAYS: i64 = 90;
/// Fewest episodes of an old session that are archived together.
const EPISODES_MIN: usize = 8;
const SECONDS_PER_DAY: i64 = 86_400;

named! {
    /// What a step does to a memory.
    pub enum Action {
        /// Archives it; the other memory, which says everything that it says, takes its place.
        Merge = "merge",
        /// Gives it the tags and counts of the memories merged into it.
        Unite = "unite",
        /// Archives it; the summary of its session stays.
        Compact = "compact",
        /// Archives it, because it happened long ago.
        Archive = "archive",
        /// Creates it: it states what several others say together ([`Insight`](super::Insight)).
        Derive = "derive",
    }
}

/// One change of one memory. A memory is in at most one step of a plan, except as the target of others.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What becomes of it.
    pub action: Action,
    /// The memory; for an insight, the id that it will get.
    pub memory: MemoryId,
    /// The version of its row when the plan was made. If it has changed, the step is skipped. 0 for a new memory.
    pub version: u64,
    /// The memory that stays in its place, if any.
    pub into: Option<MemoryId>,
    /// The reason, in a few words that quote no text of a memory.
    pub why: String,
}

/// Two memories, one of which says everything that the other says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Merge {
    /// The one that stays.
    pub kept: MemoryId,
    /// The one that goes into the archive.
    pub gone: MemoryId,
    /// The likeness of their contents, up to 1.
    pub likeness: f64,
}

/// Which of two memories may be archived in favour of the other: the older one if they say the same, otherwise the
/// one that the other contains. `None` where neither contains the other.
pub fn merge(a: &Memory, b: &Memory) -> Option<Merge> {
    let is_apart = a.id == b.id || Group::of(a) != Group::of(b) || a.valid != b.valid;
    if is_apart
        || !is_mergeable(a)
        || !is_mergeable(b)
        || united(&a.tags, [&b.tags[..]]).len() > limits::TAGS_MAX
    {
        return None;
    }
    let likeness = jaccard(&Shingles::of(&a.content), &Shingles::of(&b.content));
    if likeness < limits::SIMILAR_JACCARD_MIN {
        return None;
    }
    let (newer, older) = if (a.updated_at, a.id) > (b.updated_at, b.id) { (a, b) } else { (b, a) };
    let (new, old) =
        ((newer.title.as_str(), newer.content.as_str()), (older.title.as_str(), older.content.as_str()));
    let (kept, gone) = match (says_all(new, old), says_all(old, new)) {
        (true, _) => (newer, older),
        (false, true) => (older, newer),
        (false, false) => return None,
    };
    Some(Merge { kept: kept.id, gone: gone.id, likeness })
}

/// The tags of one memory, followed by those of others that it lacks.
pub fn united<'a>(
    own: &[RedactedText],
    others: impl IntoIterator<Item = &'a [RedactedText]>,
) -> Vec<RedactedText> {
    let mut all = own.to_vec();
    for tag in others.into_iter().flatten() {
        if !all.contains(tag) {
            all.push(tag.clone());
        }
    }
    all
}

/// Whether a memory may be merged: it is ordinary, and nobody gave it a place of its own.
fn is_mergeable(memory: &Memory) -> bool {
    let is_own = memory.pinned || memory.topic_key.is_some() || memory.scope.is_personal();
    let is_kind = nature(memory) != Nature::Prospective && memory.kind != Kind::session_summary();
    memory.is_live() && !memory.is_archived() && !is_own && is_kind && memory.taint.flags.is_empty()
}

/// What two memories must have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    scope: Scope,
    kind: String,
    nature: &'static str,
}

impl Group {
    fn of(memory: &Memory) -> Self {
        Self { scope: memory.scope.clone(), kind: memory.kind.to_string(), nature: nature(memory).as_str() }
    }
}

/// An episodic memory, as far as the plan needs it.
#[derive(Debug, Clone)]
struct Episode {
    memory: MemoryId,
    last_seen_at: Timestamp,
    strength: f64,
    is_archived: bool,
}

/// What a plan needs to know about the memories of a store.
#[derive(Debug)]
pub struct Survey {
    now: Timestamp,
    /// Memories on either side of a supersession.
    ends: BTreeSet<MemoryId>,
    live: usize,
    versions: BTreeMap<MemoryId, u64>,
    groups: BTreeMap<Group, usize>,
    /// The memories by place and near key. Each has a hash of all its keys, by which the most similar are neighbours.
    near: BTreeMap<(usize, u64), Vec<(u64, MemoryId)>>,
    episodes: Vec<Episode>,
    sessions: BTreeMap<(Scope, SessionId), Vec<usize>>,
    summaries: BTreeMap<(Scope, RedactedText), MemoryId>,
}

impl Survey {
    /// Before the first memory. `ends` are the memories on either side of a supersession.
    pub fn new(now: Timestamp, ends: BTreeSet<MemoryId>) -> Self {
        Self {
            now,
            ends,
            live: 0,
            versions: BTreeMap::new(),
            groups: BTreeMap::new(),
            near: BTreeMap::new(),
            episodes: Vec::new(),
            sessions: BTreeMap::new(),
            summaries: BTreeMap::new(),
        }
    }

    /// Adds a memory; call it once for each.
    pub fn add(&mut self, memory: &Memory) {
        if !memory.is_live() {
            return;
        }
        self.live += 1;
        self.versions.insert(memory.id, memory.version);
        let is_end = self.ends.contains(&memory.id);
        if !is_end && is_mergeable(memory) {
            let next = self.groups.len();
            let group = *self.groups.entry(Group::of(memory)).or_insert(next);
            let keys = near_keys(&Shingles::of(&memory.content));
            let all = keys.iter().fold(0, |all: u64, key| all.rotate_left(7) ^ key);
            for key in keys {
                self.near.entry((group, key)).or_default().push((all, memory.id));
            }
        }
        if let Some(key) = memory.topic_key.as_ref().filter(|_| !memory.is_archived()) {
            self.summaries.insert((memory.scope.clone(), key.clone()), memory.id);
        }
        if !is_exempt(memory, is_end) {
            if let Some(session) = &memory.session {
                let of = self.sessions.entry((memory.scope.clone(), session.clone())).or_default();
                of.push(self.episodes.len());
            }
            self.episodes.push(Episode {
                memory: memory.id,
                last_seen_at: memory.last_seen_at,
                strength: strength(memory, false, self.now),
                is_archived: memory.is_archived(),
            });
        }
    }

    /// Pairs of memories worth comparing: at most 20,000, and at most 8 per memory.
    pub fn pairs(&self) -> Vec<(MemoryId, MemoryId)> {
        let mut pairs = Pairs::default();
        let mut shared: Vec<Vec<(u64, MemoryId)>> =
            self.near.values().filter(|sharing| sharing.len() > 1).cloned().collect();
        for sharing in &mut shared {
            sharing.sort_unstable();
        }
        // The most alike first, so that others do not use up their bounds.
        for reach in [1, PAIRS_EACH_MAX] {
            for sharing in &shared {
                for (at, (_, one)) in sharing.iter().enumerate() {
                    for (_, other) in sharing[at + 1..].iter().take(reach) {
                        pairs.add(*one, *other);
                    }
                }
            }
        }
        pairs.found.into_iter().collect()
    }

    /// How many memories one plan may change.
    fn room(&self) -> usize {
        (self.live / SHARE).clamp(CHANGES_MIN, CHANGES_MAX)
    }

    /// The steps: merges first, then old sessions, then the weakest episodes. At most 2 % of the live memories, but
    /// no fewer than ten and no more than [`CHANGES_MAX`].
    pub fn plan(&self, merges: &[Merge]) -> Vec<Step> {
        let mut steps = Vec::new();
        let room = self.room();
        self.merged(merges, room, &mut steps);
        let mut taken: BTreeSet<MemoryId> = steps.iter().map(|step| step.memory).collect();
        self.compacted(room, &mut taken, &mut steps);
        let mut weak: Vec<&Episode> = self
            .episodes
            .iter()
            .filter(|one| !one.is_archived && one.strength < WEAK_BELOW && !taken.contains(&one.memory))
            .collect();
        weak.sort_by(|a, b| a.strength.total_cmp(&b.strength).then_with(|| a.memory.cmp(&b.memory)));
        for one in weak.into_iter().take(room.saturating_sub(steps.len())) {
            let why =
                format!("strength {:.2}, last said {} days ago", one.strength, self.days(one.last_seen_at));
            steps.push(self.step(Action::Archive, one.memory, None, why));
        }
        steps
    }

    fn merged(&self, merges: &[Merge], room: usize, steps: &mut Vec<Step>) {
        let (mut gone, mut kept) = (BTreeSet::new(), BTreeMap::<MemoryId, Vec<&Merge>>::new());
        let mut count = 0;
        for merge in merges {
            let is_free =
                !gone.contains(&merge.gone) && !kept.contains_key(&merge.gone) && !gone.contains(&merge.kept);
            // Also counts the memory that takes it in, if no step does yet.
            let costs = 1 + usize::from(!kept.contains_key(&merge.kept));
            if is_free && count + costs <= room {
                count += costs;
                gone.insert(merge.gone);
                kept.entry(merge.kept).or_default().push(merge);
            }
        }
        for (kept, merges) in kept {
            for merge in &merges {
                let why = format!("says nothing that {kept} does not say; likeness {:.2}", merge.likeness);
                steps.push(self.step(Action::Merge, merge.gone, Some(kept), why));
            }
            let why = format!("takes in tags and counts of {}", crate::text::counted(merges.len(), "memory"));
            steps.push(self.step(Action::Unite, kept, None, why));
        }
    }

    fn compacted(&self, room: usize, taken: &mut BTreeSet<MemoryId>, steps: &mut Vec<Step>) {
        for ((scope, session), episodes) in &self.sessions {
            let episodes: Vec<&Episode> = episodes.iter().map(|at| &self.episodes[*at]).collect();
            let is_past = episodes.iter().all(|one| self.days(one.last_seen_at) >= PAST_DAYS);
            let summary = self.summaries.get(&(scope.clone(), summary_key(session)));
            let Some(summary) = summary.filter(|_| is_past && episodes.len() >= EPISODES_MIN) else {
                continue;
            };
            let mut open: Vec<&Episode> =
                episodes.into_iter().filter(|one| !one.is_archived && !taken.contains(&one.memory)).collect();
            open.sort_by_key(|one| (one.last_seen_at, one.memory));
            for one in open.into_iter().take(room.saturating_sub(steps.len())) {
                let days = self.days(one.last_seen_at);
                let why = format!("happened {days} days ago in a session whose summary stays");
                taken.insert(one.memory);
                steps.push(self.step(Action::Compact, one.memory, Some(*summary), why));
            }
        }
    }

    fn step(&self, action: Action, memory: MemoryId, into: Option<MemoryId>, why: String) -> Step {
        let version = self.versions.get(&memory).copied().unwrap_or_default();
        Step { action, memory, version, into, why }
    }

    fn days(&self, since: Timestamp) -> i64 {
        self.now.duration_since(since).as_secs() / SECONDS_PER_DAY
    }
}

/// A set of pairs, within the bounds.
#[derive(Default)]
struct Pairs {
    found: BTreeSet<(MemoryId, MemoryId)>,
    counts: BTreeMap<MemoryId, usize>,
}

impl Pairs {
    fn add(&mut self, one: MemoryId, other: MemoryId) {
        let is_free = |id: &MemoryId| self.counts.get(id).is_none_or(|count| *count < PAIRS_EACH_MAX);
        let has_room = self.found.len() < PAIRS_MAX && is_free(&one) && is_free(&other);
        if has_room && self.found.insert((one.min(other), one.max(other))) {
            *self.counts.entry(one).or_default() += 1;
            *self.counts.entry(other).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests;
