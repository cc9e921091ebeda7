//! A long list. Only the pages around the view are held.

use std::collections::BTreeMap;

use crate::answer::memories::Page;
use crate::view::Row;

/// How many rows a page has.
pub const PAGE: usize = 100;
/// Most pages that are held.
const PAGES_MAX: usize = 10;

/// The pages that are held, by number.
#[derive(Debug, Default)]
pub struct Pages {
    total: Option<usize>,
    held: BTreeMap<usize, Vec<Row>>,
    /// The numbers of pages that were read before the last change.
    stale: Vec<usize>,
}

impl Pages {
    /// How many rows the whole list has; `None` before the first answer.
    pub fn total(&self) -> Option<usize> {
        self.total
    }

    /// A row; `None` if its page is not held.
    pub fn get(&self, at: usize) -> Option<&Row> {
        self.held.get(&(at / PAGE))?.get(at % PAGE)
    }

    /// The position of a memory, if its page is held.
    pub fn position(&self, id: &str) -> Option<usize> {
        let in_page = |(number, rows): (&usize, &Vec<Row>)| {
            rows.iter().position(|row| row.id == id).map(|at| number * PAGE + at)
        };
        self.held.iter().find_map(in_page)
    }

    /// The pages to request: those of the view from `top` on and around it that are missing or out of date.
    pub fn wanted(&self, top: usize, rows: usize) -> Vec<usize> {
        let last = self.total.map_or(0, |total| total.saturating_sub(1) / PAGE);
        let first = top.saturating_sub(rows) / PAGE;
        let end = ((top + 2 * rows) / PAGE).min(last);
        (first..=end).filter(|page| !self.held.contains_key(page) || self.stale.contains(page)).collect()
    }

    /// Adds a page, and drops those that are far from it.
    pub fn put(&mut self, number: usize, page: &Page) {
        self.total = usize::try_from(page.total).ok();
        self.held.insert(number, page.memories.iter().map(Row::browsed).collect());
        self.stale.retain(|page| *page != number);
        while self.held.len() > PAGES_MAX {
            let farthest = self.held.keys().copied().max_by_key(|page| page.abs_diff(number));
            let Some(farthest) = farthest else { break };
            self.held.remove(&farthest);
        }
    }

    /// Marks the held pages as out of date. They are shown until they are read again.
    pub fn age(&mut self) {
        self.stale = self.held.keys().copied().collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::memories::Browsed;

    fn answer(page: usize, total: usize) -> Page {
        let row = |n: usize| {
            let mut browsed = Browsed::default();
            browsed.row.id = format!("m{n}").into();
            browsed
        };
        let rows = page * PAGE..((page + 1) * PAGE).min(total);
        Page { memories: rows.map(row).collect(), total: total as u64 }
    }

    fn held(pages: &Pages) -> usize {
        pages.held.values().map(Vec::len).sum()
    }

    #[test]
    fn a_long_list_is_held_in_part() {
        let mut pages = Pages::default();
        assert_eq!(pages.wanted(0, 20), [0]);
        for page in 0..500 {
            pages.put(page, &answer(page, 50_000));
        }
        assert_eq!(held(&pages), PAGES_MAX * PAGE);
        assert_eq!(pages.get(49_999).map(|row| row.id.as_str()), Some("m49999"));
        assert_eq!((pages.get(0), pages.position("m49900")), (None, Some(49_900)));
        assert_eq!(pages.wanted(49_980, 20), [0; 0]);
        assert_eq!(pages.wanted(25_090, 20), [250, 251]);
    }

    #[test]
    fn an_aged_page_is_shown_and_asked_for_again() {
        let mut pages = Pages::default();
        pages.put(0, &answer(0, 10));
        pages.age();
        assert_eq!((pages.wanted(0, 20), held(&pages)), (vec![0], 10));
        pages.put(0, &answer(0, 11));
        assert_eq!((pages.wanted(0, 20), pages.total()), (vec![], Some(11)));
    }
}
