//! Decides which segments to merge.

use std::ops::Range;

use tantivy::{
    index::SegmentMeta,
    merge_policy::{MergeCandidate, MergePolicy},
};

/// Number of segments of similar size from which some are merged.
const FAN: usize = 8;
/// Passages below which a segment counts as small, however few the others have.
const SMALL: u32 = 256;

/// Merges at least [`FAN`] of the smallest segments that are neighbours in size, none of which is larger than those
/// before it together. The result is at least half as large again as its largest part, so the number of segments,
/// and how often a passage is rewritten, grows with the logarithm of the index.
#[derive(Debug)]
pub struct Doubling;

impl MergePolicy for Doubling {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mut segments: Vec<&SegmentMeta> = segments.iter().collect();
        segments.sort_by_key(|segment| (segment.num_docs(), segment.id()));
        let sizes: Vec<u32> = segments.iter().map(|segment| segment.num_docs()).collect();
        let ids = |range: Range<usize>| {
            MergeCandidate(segments[range].iter().map(|segment| segment.id()).collect())
        };
        if let Some(range) = even_stretch(&sizes) {
            return vec![ids(range)];
        }
        // More than half of it is deleted.
        let worn = segments.iter().position(|segment| segment.num_deleted_docs() > segment.num_docs());
        worn.map(|at| ids(at..at + 1)).into_iter().collect()
    }
}

/// The first run of at least [`FAN`] rising sizes, none of which exceeds the sum of those before it.
fn even_stretch(sizes: &[u32]) -> Option<Range<usize>> {
    (0..sizes.len()).find_map(|from| {
        let mut sum = 0;
        let fits = |size: &&u32| {
            let fits = sum == 0 || **size <= sum.max(SMALL);
            sum += **size;
            fits
        };
        let count = sizes[from..].iter().take_while(fits).count();
        (count >= FAN).then(|| from..from + count)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_similar_size_merge_and_a_large_one_is_left_alone() {
        assert_eq!(even_stretch(&[1; 7]), None);
        assert_eq!(even_stretch(&[1, 1, 1, 1, 1, 1, 1, 1, 20_000]), Some(0..8));
        assert_eq!(even_stretch(&[1, 512, 512, 512, 512, 512, 512, 512, 512]), Some(1..9));
        assert_eq!(even_stretch(&[1, 300, 1_000, 5_000, 20_000]), None);
    }

    #[test]
    fn ten_thousand_commits_leave_few_segments() {
        let mut sizes: Vec<u32> = Vec::new();
        for _ in 0..10_000 {
            sizes.push(1);
            sizes.sort_unstable();
            if let Some(range) = even_stretch(&sizes) {
                let merged = sizes.drain(range).sum();
                sizes.push(merged);
                sizes.sort_unstable();
            }
            assert!(sizes.len() <= 24, "{sizes:?}");
        }
    }
}
