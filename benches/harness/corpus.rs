//! Made-up notes in English-looking words whose frequencies follow Zipf's law, the same every time.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const VOCABULARY: usize = 20_000;
const CONTENT_WORDS: usize = 92;
const TITLE_WORDS: usize = 8;
/// Ranks from which a query's words come: not the commonest, which distinguish nothing, and not the
/// rarest, which only one note contains.
const QUERY_RANKS: std::ops::Range<usize> = 50..5_000;
const QUERY_WORDS: usize = 4;

/// One note of about 100 words.
pub struct Note {
    pub title: String,
    pub content: String,
    /// Some of its words, as a person may remember them.
    pub query: String,
}

impl Note {
    /// Bytes of text.
    pub fn len_bytes(&self) -> u64 {
        (self.title.len() + self.content.len()) as u64
    }
}

/// An endless source of notes.
pub struct Corpus {
    words: Vec<String>,
    /// Cumulative weight of the words up to each rank.
    weights: Vec<f64>,
    rng: StdRng,
    /// Words of a note's content.
    content_words: usize,
}

impl Corpus {
    /// The same seed gives the same notes.
    pub fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(7);
        let mut words: Vec<String> = Vec::with_capacity(VOCABULARY);
        let mut known = std::collections::HashSet::new();
        while words.len() < VOCABULARY {
            // Common words are short, as in a language.
            let syllables = 1 + usize::from(words.len() > 60) + usize::from(words.len() > 1_500);
            let word: String = (0..syllables + rng.random_range(0..2)).map(|_| syllable(&mut rng)).collect();
            if known.insert(word.clone()) {
                words.push(word);
            }
        }
        let mut total = 0.0;
        let weights = (1..=VOCABULARY)
            .map(|rank| {
                total += 1.0 / rank as f64;
                total
            })
            .collect();
        Self { words, weights, rng: StdRng::seed_from_u64(seed), content_words: CONTENT_WORDS }
    }

    /// Notes with as many tokens as about 100 words of prose: a made-up word has three.
    pub fn for_model(seed: u64) -> Self {
        Self { content_words: CONTENT_WORDS / 3, ..Self::new(seed) }
    }

    fn rank(&mut self) -> usize {
        let total = self.weights[VOCABULARY - 1];
        let point = self.rng.random_range(0.0..total);
        self.weights.partition_point(|weight| *weight <= point).min(VOCABULARY - 1)
    }

    /// The next note.
    pub fn note(&mut self) -> Note {
        let title: Vec<usize> = (0..TITLE_WORDS).map(|_| self.rank()).collect();
        let content: Vec<usize> = (0..self.content_words).map(|_| self.rank()).collect();
        let mut candidates: Vec<usize> =
            title.iter().chain(&content).copied().filter(|rank| QUERY_RANKS.contains(rank)).collect();
        candidates.dedup();
        let query = (0..QUERY_WORDS.min(candidates.len()))
            .map(|_| candidates.swap_remove(self.rng.random_range(0..candidates.len())))
            .map(|rank| self.words[rank].clone())
            .collect::<Vec<_>>()
            .join(" ");
        let spell = |ranks: &[usize]| ranks.iter().map(|rank| self.words[*rank].as_str()).collect::<Vec<_>>();
        let sentences: Vec<String> = spell(&content).chunks(12).map(|words| words.join(" ") + ".").collect();
        Note { title: spell(&title).join(" "), content: sentences.join(" "), query }
    }
}

fn syllable(rng: &mut StdRng) -> String {
    const STARTS: [&str; 16] =
        ["b", "br", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "st", "t", "w"];
    const VOWELS: [&str; 7] = ["a", "e", "i", "o", "u", "ea", "ou"];
    const ENDS: [&str; 10] = ["", "", "n", "r", "s", "t", "l", "nd", "ck", "m"];
    let mut pick = |from: &[&'static str]| from[rng.random_range(0..from.len())];
    [pick(&STARTS), pick(&VOWELS), pick(&ENDS)].concat()
}
