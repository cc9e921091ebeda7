//! Which memories are related: pure decisions about a memory and its neighbours.
//!
//! A relation belongs to the memory from which it starts. All relations of a memory are computed again for each new
//! revision, from what the store holds at that moment, so repeating the computation changes nothing.

pub mod claim;
mod mention;

use std::collections::BTreeMap;

pub use mention::{Mention, MentionKind, mentions};

use crate::{
    domain::{MemoryId, SubjectId},
    redact::RedactedText,
};

/// Most relations of one kind that leave a memory.
pub const DEGREE_MAX: usize = 8;
/// A mention shared by more memories of the project than this says nothing about any two of them.
pub const HOLDERS_MAX: usize = 20;
/// The least weight of a relation that is worth a row.
const WEIGHT_MIN: f64 = 0.1;
/// Most mentions that the evidence of a relation names.
const EVIDENCE_MAX: usize = 5;
/// How many standard deviations above the mean a likeness must lie to be called similar.
const SIMILAR_DEVIATIONS: f64 = 3.0;
/// Likeness below which nothing is called similar, however unusual.
const SIMILAR_MIN: f64 = 0.5;
/// Fewest other memories for which the mean and deviation are computed.
const SAMPLE_MIN: usize = 8;

named! {
    /// Why two memories are related.
    pub enum RelationKind {
        /// They mean nearly the same.
        Similar = "similar",
        /// They name the same files, symbols, errors or packages.
        MentionsSame = "mentions_same",
        /// It adds to the other.
        Extends = "extends",
        /// It fixes what the other describes.
        Fixes = "fixes",
        /// It takes the other's place.
        Supersedes = "supersedes",
        /// Both cannot hold.
        Contradicts = "contradicts",
        /// It holds only while the other does.
        DependsOn = "depends_on",
        /// It was caused by the other.
        CausedBy = "caused_by",
    }
}

impl RelationKind {
    /// Whether it holds both ways; then it may be drawn in both directions.
    pub fn is_mutual(self) -> bool {
        matches!(self, Self::Similar | Self::MentionsSame | Self::Contradicts)
    }
}

/// A relation from one memory to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Relation {
    /// The memory it goes to.
    pub to: MemoryId,
    /// Why.
    pub kind: RelationKind,
    /// How strong: above 0, at most 1.
    pub weight: f64,
    /// The evidence for it, in few words.
    pub evidence: Option<RedactedText>,
}

/// The memories that share rare mentions with a memory.
///
/// `holders` has, for each of its mentions, the other live memories with the same mention. A mention that `n`
/// memories share adds `1/n` to the weight of each pair: one that only two share adds a half.
pub fn by_mentions(holders: &[(Mention, Vec<MemoryId>)]) -> Vec<Relation> {
    let mut shared: BTreeMap<&MemoryId, (f64, Vec<&Mention>)> = BTreeMap::new();
    let rare = |others: &Vec<MemoryId>| (1..HOLDERS_MAX).contains(&others.len());
    for (mention, others) in holders.iter().filter(|(_, others)| rare(others)) {
        let share = 1.0 / (others.len() + 1) as f64;
        for other in others {
            let (weight, by) = shared.entry(other).or_default();
            *weight += share;
            by.push(mention);
        }
    }
    let relation = |(to, (weight, by)): (&MemoryId, (f64, Vec<&Mention>))| Relation {
        to: *to,
        kind: RelationKind::MentionsSame,
        weight: weight.min(1.0),
        evidence: Some(evidence(&by)),
    };
    strongest(shared.into_iter().map(relation))
}

fn evidence(mentions: &[&Mention]) -> RedactedText {
    let mut names: Vec<&str> = mentions.iter().map(|mention| mention.name.as_str()).collect();
    let more = names.len().saturating_sub(EVIDENCE_MAX);
    names.truncate(EVIDENCE_MAX);
    let names = names.join(", ");
    RedactedText::derived(if more == 0 { names } else { format!("{names} and {more} more") })
}

/// The distribution of a memory's likeness to the others of its project, or to a large sample of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Likeness {
    /// The number of others.
    pub count: usize,
    /// The mean cosine similarity.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// The nearest ones: at least [`DEGREE_MAX`], if there are as many.
    pub nearest: Vec<(SubjectId, f32)>,
}

impl Likeness {
    /// Computes it from all these others, each listed once.
    pub fn to(others: Vec<(SubjectId, f32)>) -> Self {
        let count = others.len().max(1) as f64;
        let mean = others.iter().map(|(_, value)| f64::from(*value)).sum::<f64>() / count;
        let variance =
            others.iter().map(|(_, value)| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count;
        Self { count: others.len(), mean, deviation: variance.sqrt(), nearest: others }
    }
}

/// The memories that are unusually like a memory.
///
/// The usual likeness differs between models (for some, any two texts have 0.8). So the threshold is the mean plus
/// a number of standard deviations.
pub fn by_likeness(likeness: &Likeness) -> Vec<Relation> {
    if likeness.count < SAMPLE_MIN {
        return Vec::new();
    }
    let least = (likeness.mean + SIMILAR_DEVIATIONS * likeness.deviation).max(SIMILAR_MIN);
    let near = likeness.nearest.iter().filter(|(_, value)| f64::from(*value) >= least);
    strongest(near.map(|(to, value)| Relation {
        to: (*to).into(),
        kind: RelationKind::Similar,
        // Rounded to six digits: further ones would differ between machines.
        weight: ((f64::from(*value) * 1e6).round() / 1e6).clamp(0.0, 1.0),
        evidence: None,
    }))
}

/// The strongest relations, at most [`DEGREE_MAX`]; among equals the smaller id comes first.
fn strongest(relations: impl Iterator<Item = Relation>) -> Vec<Relation> {
    let mut relations: Vec<Relation> = relations.filter(|one| one.weight >= WEIGHT_MIN).collect();
    relations.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.to.cmp(&b.to)));
    relations.truncate(DEGREE_MAX);
    relations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: usize) -> MemoryId {
        let letter = |k: usize| char::from(b'a' + u8::try_from(k % 26).unwrap());
        MemoryId::parse(&format!("m{}{}aaaaaaaaa", letter(n / 26), letter(n))).unwrap()
    }

    fn mention(name: &str) -> Mention {
        Mention { kind: MentionKind::Symbol, name: RedactedText::derived(name) }
    }

    #[test]
    fn rare_mentions_relate_and_common_ones_do_not() {
        let crowd: Vec<MemoryId> = (10..10 + HOLDERS_MAX).map(id).collect();
        let relations = by_mentions(&[
            (mention("open_store"), vec![id(1), id(2)]),
            (mention("E0502"), vec![id(1)]),
            (mention("main"), crowd),
            (mention("alone"), Vec::new()),
        ]);
        let seen: Vec<(MemoryId, f64, Option<&str>)> =
            relations.iter().map(|r| (r.to, r.weight, r.evidence.as_deref())).collect();
        assert_eq!(
            seen,
            [(id(1), 1.0 / 3.0 + 0.5, Some("open_store, E0502")), (id(2), 1.0 / 3.0, Some("open_store"))]
        );
    }

    #[test]
    fn the_degree_is_bounded_and_ties_are_settled() {
        let others: Vec<MemoryId> = (1..=DEGREE_MAX + 1).rev().map(id).collect();
        let relations = by_mentions(&[(mention("x_y"), others)]);
        let targets: Vec<MemoryId> = relations.into_iter().map(|r| r.to).collect();
        assert_eq!(targets, (1..=DEGREE_MAX).map(id).collect::<Vec<_>>());
    }

    #[test]
    fn only_what_stands_out_is_similar_whatever_the_model_finds_usual() {
        for usual in [0.1f32, 0.8] {
            let mut likeness: Vec<(SubjectId, f32)> =
                (0..100).map(|n| (id(n).into(), usual + (n % 7) as f32 / 200.0)).collect();
            assert_eq!(by_likeness(&Likeness::to(likeness.clone())), [], "{usual}");
            likeness[42].1 = 0.97;
            let relations = by_likeness(&Likeness::to(likeness));
            assert_eq!(relations.len(), 1, "{usual}");
            assert_eq!((&relations[0].to, relations[0].weight), (&id(42), 0.97));
        }
    }

    #[test]
    fn few_memories_say_nothing_about_what_is_usual() {
        assert_eq!(by_likeness(&Likeness::to(vec![(id(1).into(), 0.99), (id(2).into(), 0.1)])), []);
    }

    #[test]
    fn every_kind_is_known_by_its_name() {
        for kind in RelationKind::ALL {
            assert_eq!(RelationKind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(RelationKind::parse("destroys"), None);
    }
}
