//! The cursor of a search: a position in its list of hits, and a mark of the search to which it belongs.

use super::arguments::Arguments;
use super::evidence::searched_project;
use super::prelude::*;
use cerebro_core::domain::limits::SEARCH_DEPTH_MAX;
use cerebro_core::text::fnv;
use cerebro_service::SearchRequest;

/// The arguments that are moments. An age such as `7d` means another moment in each call, so they count as written.
const MOMENTS: [&str; 3] = ["since", "until", "as_of"];

/// Identifies a search by all that decides its hits and their order. The length of a page does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SearchMark(u64);

impl SearchMark {
    /// The mark of a call's search.
    pub fn of(call: &mut Call, request: &SearchRequest) -> Result<Self, ArgumentError> {
        let project = searched_project(call, request);
        let mut moments = Vec::new();
        for name in MOMENTS {
            moments.push(call.arguments.text(name)?);
        }
        let request = SearchRequest {
            project,
            since: None,
            until: None,
            as_of: None,
            limit: 0,
            offset: 0,
            ..request.clone()
        };
        Ok(Self(fnv(format!("{request:?} {moments:?}").into_bytes())))
    }

    /// The cursor of the page that begins after `offset` hits.
    pub fn cursor(self, offset: usize) -> String {
        format!("{offset}-{:x}", self.0)
    }

    /// How many hits came before the page that a call asks for by its cursor; 0 without one.
    pub fn offset(self, arguments: &mut Arguments) -> Result<usize, ArgumentError> {
        let Some(cursor) = arguments.nonblank("cursor")? else { return Ok(0) };
        let refused = |problem| Err(ArgumentError::new("cursor", Some(&cursor), problem));
        let parsed = cursor.trim().split_once('-').and_then(|(offset, mark)| {
            Some((offset.parse::<usize>().ok()?, u64::from_str_radix(mark, 16).ok()?))
        });
        match parsed {
            Some((offset, mark)) if mark == self.0 && offset <= SEARCH_DEPTH_MAX => Ok(offset),
            Some((offset, _)) if offset <= SEARCH_DEPTH_MAX => refused(
                "it belongs to a search with other arguments; repeat them (only `limit` may change), or search without the cursor",
            ),
            _ => refused("it comes from no search; search without it"),
        }
    }
}
