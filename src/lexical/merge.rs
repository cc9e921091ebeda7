//! Which segments become one.

use std::cmp::Reverse;

use tantivy::{
    index::SegmentMeta,
    merge_policy::{MergeCandidate, MergePolicy},
};

/// Segments that may stand side by side before some are merged.
const FAN: usize = 8;
/// Passages below which a segment counts as small, however few the others have.
const SMALL: u32 = 256;

/// Merges the smallest segments once there are [`FAN`] of which none is larger than those below it
/// together. Sizes then grow at least twofold from one to the next, so that their number follows the
/// logarithm of the index, and every passage is rewritten a logarithmic number of times.
#[derive(Debug)]
pub struct Doubling;

impl MergePolicy for Doubling {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mut segments: Vec<&SegmentMeta> = segments.iter().collect();
        segments.sort_by_key(|segment| (segment.num_docs(), Reverse(segment.id())));
        let mut below = 0;
        let mut count = 0;
        for segment in &segments {
            if segment.num_docs() > below.max(SMALL) {
                break;
            }
            below += segment.num_docs();
            count += 1;
        }
        if count < FAN {
            let worn = segments.iter().find(|segment| segment.num_deleted_docs() > segment.num_docs());
            return worn.map(|segment| MergeCandidate(vec![segment.id()])).into_iter().collect();
        }
        vec![MergeCandidate(segments[..count].iter().map(|segment| segment.id()).collect())]
    }
}
