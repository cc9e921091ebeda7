//! Texts of several memories that are embedded by one call.

use cerebro_core::redact::RedactedText;

/// Most bytes of the texts of several memories in one call: half of what a request to a provider holds, so
/// that the prefixes of the texts fit in too and the request stays one.
const BYTES_MAX: usize = 64 * 1024;

/// The texts of a memory, and the vectors made so far.
#[derive(Debug, Default)]
pub(super) struct Work {
    texts: Vec<RedactedText>,
    vectors: Vec<Vec<f32>>,
    /// Most memories in one request, this one included, where that is limited.
    memories_max: Option<usize>,
}

impl Work {
    pub(super) fn new(texts: Vec<RedactedText>) -> Self {
        Self { texts, ..Self::default() }
    }

    /// Whether each text has its vector.
    pub(super) fn is_done(&self) -> bool {
        self.vectors.len() >= self.texts.len()
    }

    /// The vectors so far, in the order of the texts.
    pub(super) fn vectors(&self) -> &[Vec<f32>] {
        &self.vectors
    }

    fn lacking(&self) -> &[RedactedText] {
        self.texts.get(self.vectors.len()..).unwrap_or_default()
    }
}

/// The texts of one call: some of the first task, and then of the following tasks as long as there is room.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// How many texts of each task from the front.
    shares: Vec<usize>,
}

impl Batch {
    /// At most `most` texts, and one in any case.
    pub(super) fn of<'a>(tasks: impl Iterator<Item = &'a Work>, most: usize) -> Self {
        let (mut count, mut bytes, mut memories_max) = (0, 0, usize::MAX);
        let mut shares = Vec::new();
        for work in tasks {
            memories_max = memories_max.min(work.memories_max.unwrap_or(usize::MAX));
            if shares.len() >= memories_max {
                break;
            }
            let fits = |text: &&RedactedText| {
                let first = count == 0;
                count += 1;
                bytes += text.len();
                first || (count <= most && bytes <= BYTES_MAX)
            };
            let lacking = work.lacking();
            let share = lacking.iter().take_while(fits).count();
            if share > 0 {
                shares.push(share);
            }
            if share == 0 || share < lacking.len() {
                break;
            }
        }
        Self { shares }
    }

    /// How many memories have texts in it.
    pub(super) fn memories(&self) -> usize {
        self.shares.len()
    }

    /// Its texts, from the tasks that it was made of.
    pub(super) fn texts<'a>(&self, tasks: impl Iterator<Item = &'a Work>) -> Vec<RedactedText> {
        let shares = tasks.zip(&self.shares);
        shares.flat_map(|(work, share)| work.lacking().iter().take(*share).cloned()).collect()
    }

    /// Gives the vectors, one for each text, to the tasks that it was made of.
    pub(super) fn give<'a>(&self, tasks: impl Iterator<Item = &'a mut Work>, vectors: Vec<Vec<f32>>) {
        let mut vectors = vectors.into_iter();
        for (work, share) in tasks.zip(&self.shares) {
            work.vectors.extend(vectors.by_ref().take(*share));
        }
    }

    /// Splits its memories into two halves for the next calls, to find the one that makes the call fail, or to fit the
    /// budget. `false` if it is of one memory only.
    pub(super) fn split<'a>(&self, tasks: impl Iterator<Item = &'a mut Work>) -> bool {
        let half = self.memories().div_ceil(2);
        for work in tasks.take(self.memories()) {
            work.memories_max = Some(half);
        }
        self.memories() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cerebro_core::redact::redact_text;

    fn work(texts: &[usize]) -> Work {
        Work::new(texts.iter().map(|bytes| redact_text(&"x".repeat(*bytes)).value).collect())
    }

    fn shares(works: &[Work], most: usize) -> Vec<usize> {
        Batch::of(works.iter(), most).shares
    }

    #[test]
    fn a_batch_is_bounded_in_texts_and_in_bytes() {
        let short = [work(&[9]), work(&[9, 9, 9]), work(&[9])];
        for (most, want) in [(0, vec![1]), (1, vec![1]), (2, vec![1, 1]), (4, vec![1, 3]), (9, vec![1, 3, 1])]
        {
            assert_eq!(shares(&short, most), want, "{most}");
        }
        let long = [work(&[BYTES_MAX]), work(&[1])];
        assert_eq!(shares(&long, 9), [1], "what is full takes nothing more");
        assert_eq!(shares(&long[1..], 9), [1]);
        assert_eq!(shares(&[work(&[BYTES_MAX + 1, 1]), work(&[1])], 9), [1], "a long text goes alone");
        assert!(shares(&[], 9).is_empty());
    }

    #[test]
    fn a_batch_begins_with_what_a_memory_still_lacks() {
        let mut half = work(&[9, 9, 9]);
        half.vectors = vec![vec![1.0]; 2];
        assert!(!half.is_done());
        assert_eq!(shares(&[half, work(&[9])], 9), [1, 1]);
    }

    #[test]
    fn each_memory_gets_the_vectors_of_its_own_texts() {
        let mut works = [&["a"][..], &["b", "c"], &["d", "e"]]
            .map(|texts| Work::new(texts.iter().map(|text| redact_text(text).value).collect()));
        let of = |text: &RedactedText| vec![f32::from(text.as_bytes()[0])];
        for _ in 0..2 {
            let batch = Batch::of(works.iter().skip_while(|work| work.is_done()), 4);
            let vectors =
                batch.texts(works.iter().skip_while(|work| work.is_done())).iter().map(of).collect();
            batch.give(works.iter_mut().skip_while(|work| work.is_done()), vectors);
        }
        for work in works {
            assert_eq!(work.vectors, work.texts.iter().map(of).collect::<Vec<_>>());
        }
    }

    #[test]
    fn halves_end_with_one() {
        let mut works: Vec<Work> = (0..5).map(|_| work(&[9])).collect();
        let mut sizes = Vec::new();
        loop {
            let batch = Batch::of(works.iter(), 9);
            sizes.push(batch.memories());
            if !batch.split(works.iter_mut()) {
                break;
            }
        }
        assert_eq!(sizes, [5, 3, 2, 1]);
        assert_eq!(shares(&works[2..], 9), [1, 1], "the others of its half are asked for together");
    }

    #[test]
    fn a_memory_is_asked_for_with_no_more_others_than_it_may_be() {
        let mut works: Vec<Work> = (0..5).map(|_| work(&[9])).collect();
        works[1].memories_max = Some(2);
        assert_eq!(shares(&works, 9), [1, 1]);
        works[0].memories_max = Some(1);
        assert_eq!(shares(&works, 9), [1]);
        assert_eq!(shares(&works[2..], 9), [1, 1, 1]);
    }
}
