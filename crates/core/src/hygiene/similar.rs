//! Near-identical texts: word shingles, their Jaccard similarity, and the keys by which a store
//! finds candidates without comparing every pair.
//!
//! Shingles and min-hashes after A. Broder, "On the resemblance and containment of documents"
//! (1997); bands after J. Leskovec, A. Rajaraman and J. Ullman, "Mining of Massive Datasets",
//! chapter 3. Every constant is fixed, so that keys that are stored stay valid on any machine and
//! in any later version.

use crate::text::{FNV_OFFSET, fnv_step, fold};

/// Words of one shingle.
const WORDS: usize = 3;
/// Keys of a text. With rows `r` and bands `b`, two texts of similarity `s` share a key with
/// probability `1 - (1 - s^r)^b`: 0.9998 at 0.8, and 0.0016 at 0.1.
const BANDS: usize = 16;
/// Min-hashes of one key.
const ROWS: usize = 4;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The set of hashed word shingles of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shingles(Vec<u64>);

impl Shingles {
    /// Takes every run of three words, case and accents aside; a shorter text is one shingle of what
    /// it has, and one without any word has none. Han and kana characters are words of their own,
    /// for those scripts put no blanks between words.
    pub fn of(text: &str) -> Self {
        let words = word_hashes(&fold(text));
        let joined = |words: &[u64]| words.iter().fold(FNV_OFFSET, |hash, &word| mix(hash ^ word));
        let mut shingles: Vec<u64> = match words.len() {
            0 => Vec::new(),
            1..=WORDS => vec![joined(&words)],
            _ => words.windows(WORDS).map(joined).collect(),
        };
        shingles.sort_unstable();
        shingles.dedup();
        Self(shingles)
    }

    /// Whether the text has no word.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The share of common shingles among all shingles of the two, in 0..=1. Two texts without a word
/// have nothing in common: 0.
pub fn jaccard(a: &Shingles, b: &Shingles) -> f64 {
    let (mut left, mut right) = (a.0.as_slice(), b.0.as_slice());
    let mut common = 0usize;
    while let ([x, xs @ ..], [y, ys @ ..]) = (left, right) {
        common += usize::from(x == y);
        if x <= y {
            left = xs;
        }
        if y <= x {
            right = ys;
        }
    }
    let all = a.0.len() + b.0.len() - common;
    if all == 0 { 0.0 } else { common as f64 / all as f64 }
}

/// The keys under which a text is filed: texts that share one are worth comparing. A text without a
/// word has none. The work is proportional to the text; its bound is that of a memory's content.
pub fn near_keys(shingles: &Shingles) -> Vec<u64> {
    if shingles.is_empty() {
        return Vec::new();
    }
    let mut least = [u64::MAX; BANDS * ROWS];
    let seeds: [(u64, u64); BANDS * ROWS] = std::array::from_fn(|i| {
        let seed = mix(GOLDEN.wrapping_mul(i as u64 + 1));
        (seed | 1, mix(seed))
    });
    for &shingle in &shingles.0 {
        for (least, &(factor, offset)) in least.iter_mut().zip(&seeds) {
            *least = (*least).min(shingle.wrapping_mul(factor).wrapping_add(offset));
        }
    }
    let bands = least.chunks_exact(ROWS).enumerate();
    bands.map(|(band, rows)| rows.iter().fold(band as u64, |key, &row| mix(key ^ row))).collect()
}

/// The hash of each word, in order.
fn word_hashes(text: &str) -> Vec<u64> {
    let mut words = Vec::new();
    let mut word = None;
    for c in text.chars() {
        let joins = c.is_alphanumeric();
        if joins && !is_word_alone(c) {
            word = Some(fnv_step(word.unwrap_or(FNV_OFFSET), u64::from(c)));
            continue;
        }
        words.extend(word.take().map(mix));
        if joins {
            words.push(mix(fnv_step(FNV_OFFSET, u64::from(c))));
        }
    }
    words.extend(word.map(mix));
    words
}

fn is_word_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): spreads every bit over all others.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A text of numbered words, each drawn from a vocabulary by a fixed generator.
    fn words(seed: u64, count: usize, vocabulary: u64) -> Vec<String> {
        (0..count as u64).map(|i| format!("w{}", mix(seed.wrapping_mul(7919) + i) % vocabulary)).collect()
    }

    fn share_a_key(a: &Shingles, b: &Shingles) -> bool {
        let keys: HashSet<u64> = near_keys(a).into_iter().collect();
        near_keys(b).iter().any(|key| keys.contains(key))
    }

    #[test]
    fn similarity_of_short_and_odd_texts() {
        for (a, b, want) in [
            ("one two three four", "One, two: THREE four!", 1.0),
            ("a b c d", "a b c e", 1.0 / 3.0),
            ("hello", "Hello!", 1.0),
            ("hello world", "hello", 0.0),
            ("Café été noir", "cafe ete noir", 1.0),
            ("修复登录错误", "修复登录错误。", 1.0),
            ("修复登录错误", "修复登录问题", 2.0 / 6.0),
            ("", "", 0.0),
            ("!!", "a", 0.0),
        ] {
            let got = jaccard(&Shingles::of(a), &Shingles::of(b));
            assert!((got - want).abs() < 1e-9, "{a} | {b}: {got}");
        }
        assert!(near_keys(&Shingles::of("…")).is_empty());
        assert_eq!(near_keys(&Shingles::of("hello")).len(), BANDS);
    }

    #[test]
    fn keys_never_change() {
        // Stored keys depend on them: a change here needs a migration.
        // Computed by a second implementation, in Python.
        let want = [0x5a9d_2028_1172_4ee1, 0x0711_ea6d_a22a_299d];
        assert_eq!(near_keys(&Shingles::of("the quick brown fox jumps"))[..2], want);
    }

    #[test]
    fn texts_around_the_bound_are_found() {
        let (mut pairs, mut missed) = (0, 0);
        for seed in 0..4_000 {
            let base = words(seed, 100, 100_000);
            let mut other = base.clone();
            // Each changed word breaks three shingles: 3 of them give (98 - 9) / (98 + 9) = 0.83.
            for i in 0..3 {
                other[10 + 30 * i] = "changed".to_owned();
            }
            let (a, b) = (Shingles::of(&base.join(" ")), Shingles::of(&other.join(" ")));
            assert!((0.8..0.86).contains(&jaccard(&a, &b)));
            pairs += 1;
            missed += usize::from(!share_a_key(&a, &b));
        }
        assert!(missed * 1_000 <= pairs, "{missed} of {pairs} missed");
    }

    #[test]
    fn unrelated_texts_of_one_topic_rarely_meet() {
        let texts: Vec<Shingles> = (0..200)
            .map(|seed| {
                // A common phrase of ten words, then 90 words of a small vocabulary.
                let own = words(seed, 90, 300).join(" ");
                Shingles::of(&format!("the login service of the project uses short tokens {own}"))
            })
            .collect();
        let (mut pairs, mut met) = (0, 0);
        for (i, a) in texts.iter().enumerate() {
            for b in &texts[..i] {
                pairs += 1;
                met += usize::from(share_a_key(a, b));
            }
        }
        assert!(met * 200 <= pairs, "{met} of {pairs} met");
    }
}
