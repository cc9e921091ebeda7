//! What consolidation would change: memories that say nothing which another one does not say, what happened in sessions
//! long past that a summary tells, and what happened and has grown weak. It only ever puts memories aside, into the
//! archive; what stays keeps its text. What it would add is in [`insight`](super::insight).
//!
//! A [`Survey`] looks at every memory once and keeps little of each. It names pairs to compare ([`Survey::pairs`]),
//! [`merge`] decides on one of them by its texts, and [`Survey::plan`] makes the steps.

use std::collections::{BTreeMap, BTreeSet};

use super::{containment::says_all, is_exempt, nature, strength};
use crate::domain::{Kind, Memory, MemoryId, Nature, Project, Scope, SessionId, Timestamp, limits};
use crate::hygiene::{Shingles, jaccard, near_keys, summary_key};
use crate::redact::RedactedText;

/// Strength below which what happened may be put aside: after about 430 days.
pub const WEAK_BELOW: f64 = 0.8;
/// Most memories that one consolidation changes.
pub const CHANGES_MAX: usize = 200;
/// Most of all live memories that one consolidation changes, as one part of so many.
const SHARE: usize = 50;
/// What one consolidation may change however few memories there are.
const CHANGES_MIN: usize = 10;
/// Most pairs that are compared, and most of them that one memory is in.
const PAIRS_MAX: usize = 20_000;
const PAIRS_EACH_MAX: usize = 8;
/// Age in days from which a session is long past.
const PAST_DAYS: i64 = 90;
/// What happened in a session is put aside from so many memories on.
const EPISODES_MIN: usize = 8;
const SECONDS_PER_DAY: i64 = 86_400;

/// What becomes of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// It is archived, and the other one takes its place: that one says all that it says.
    Merge,
    /// It takes in the tags and counts of those that are merged into it.
    Unite,
    /// It is archived: the summary of its session stays.
    Compact,
    /// It is archived: it happened long ago.
    Archive,
    /// It is a new one: what several others say together ([`Insight`](super::Insight)).
    Derive,
}

impl Action {
    /// The stored and published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Unite => "unite",
            Self::Compact => "compact",
            Self::Archive => "archive",
            Self::Derive => "derive",
        }
    }

    /// Reads a stored name.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Self::Merge, Self::Unite, Self::Compact, Self::Archive, Self::Derive];
        all.into_iter().find(|one| one.as_str() == name)
    }
}

/// One change of one memory. No memory is in two steps of a plan but as what others go into.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What becomes of it.
    pub action: Action,
    /// The memory; of an insight the id that it gets.
    pub memory: MemoryId,
    /// The version of its row that the plan was made on: of another one, the step is left out. 0 for one that is new.
    pub version: u64,
    /// What stays for it, if anything.
    pub into: Option<MemoryId>,
    /// Why, in a few words that quote no text of a memory.
    pub why: String,
}

/// Two memories of which one says all that the other says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Merge {
    /// The one that stays.
    pub kept: MemoryId,
    /// The one that goes into the archive.
    pub gone: MemoryId,
    /// The likeness of their contents, up to 1.
    pub likeness: f64,
}

/// Which of two memories may go for the other: of two that say the same the older one, else the one that the other
/// contains. None where neither says all that the other says.
pub fn merge(a: &Memory, b: &Memory) -> Option<Merge> {
    let is_apart = a.id == b.id || Place::of(a) != Place::of(b) || a.valid != b.valid;
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

/// The tags of one memory, and behind them those of others that it has not.
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

/// Whether a memory may be merged at all: nobody gave it a place of its own.
fn is_mergeable(memory: &Memory) -> bool {
    let is_own = memory.pinned || memory.topic_key.is_some() || memory.scope == Scope::Personal;
    let is_kind = nature(memory) != Nature::Prospective && memory.kind != Kind::session_summary();
    memory.is_live() && !memory.is_archived() && !is_own && is_kind && memory.taint.flags.is_empty()
}

/// What two memories must have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    project: String,
    kind: String,
    nature: &'static str,
}

impl Place {
    fn of(memory: &Memory) -> Self {
        Self {
            project: memory.project.to_string(),
            kind: memory.kind.to_string(),
            nature: nature(memory).as_str(),
        }
    }
}

/// Something that happened, as far as the plan needs it.
#[derive(Debug, Clone)]
struct Episode {
    memory: MemoryId,
    last_seen_at: Timestamp,
    strength: f64,
    is_archived: bool,
}

/// What is known of the memories of a store before a plan is made.
#[derive(Debug)]
pub struct Survey {
    now: Timestamp,
    /// Memories that somebody put in the place of others, and those.
    ends: BTreeSet<MemoryId>,
    live: usize,
    versions: BTreeMap<MemoryId, u64>,
    places: BTreeMap<Place, usize>,
    /// By place and near key, those that have it; each with a hash of all its keys, by which the most like are neighbours.
    near: BTreeMap<(usize, u64), Vec<(u64, MemoryId)>>,
    episodes: Vec<Episode>,
    sessions: BTreeMap<(Project, SessionId), Vec<usize>>,
    summaries: BTreeMap<(Project, RedactedText), MemoryId>,
}

impl Survey {
    /// Before the first look. `ends` are the memories that somebody put in the place of others, and those others.
    pub fn new(now: Timestamp, ends: BTreeSet<MemoryId>) -> Self {
        Self {
            now,
            ends,
            live: 0,
            versions: BTreeMap::new(),
            places: BTreeMap::new(),
            near: BTreeMap::new(),
            episodes: Vec::new(),
            sessions: BTreeMap::new(),
            summaries: BTreeMap::new(),
        }
    }

    /// Takes a memory in; each once.
    pub fn look(&mut self, memory: &Memory) {
        if !memory.is_live() {
            return;
        }
        self.live += 1;
        self.versions.insert(memory.id, memory.version);
        let is_end = self.ends.contains(&memory.id);
        if !is_end && is_mergeable(memory) {
            let next = self.places.len();
            let place = *self.places.entry(Place::of(memory)).or_insert(next);
            let keys = near_keys(&Shingles::of(&memory.content));
            let all = keys.iter().fold(0, |all: u64, key| all.rotate_left(7) ^ key);
            for key in keys {
                self.near.entry((place, key)).or_default().push((all, memory.id));
            }
        }
        if let Some(key) = memory.topic_key.as_ref().filter(|_| !memory.is_archived()) {
            self.summaries.insert((memory.project.clone(), key.clone()), memory.id);
        }
        if !is_exempt(memory, is_end) {
            if let Some(session) = &memory.session {
                let of = self.sessions.entry((memory.project.clone(), session.clone())).or_default();
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

    /// Memories that are worth comparing; at most 20,000 pairs, and at most 8 of each memory.
    pub fn pairs(&self) -> Vec<(MemoryId, MemoryId)> {
        let mut pairs = Pairs::default();
        let mut shared: Vec<Vec<(u64, MemoryId)>> =
            self.near.values().filter(|sharing| sharing.len() > 1).cloned().collect();
        for sharing in &mut shared {
            sharing.sort_unstable();
        }
        // The most like first, so that others do not take their places.
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

    /// How much one plan may change.
    fn room(&self) -> usize {
        (self.live / SHARE).clamp(CHANGES_MIN, CHANGES_MAX)
    }

    /// The steps: merges first, then sessions long past, then what is weakest. At most [`CHANGES_MAX`], and at most 2 % of
    /// the live memories, but ten of any store.
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
            // With the one that takes it in, if that is new.
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
        for ((project, session), episodes) in &self.sessions {
            let episodes: Vec<&Episode> = episodes.iter().map(|at| &self.episodes[*at]).collect();
            let is_past = episodes.iter().all(|one| self.days(one.last_seen_at) >= PAST_DAYS);
            let summary = self.summaries.get(&(project.clone(), summary_key(session)));
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

/// Pairs, within their bounds.
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
