//! The links between the pages of a list.

/// The links from a page of a list to other pages of it. `pager.html` renders them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pager {
    /// What has pages, such as `list`.
    pub of: &'static str,
    pub links: Vec<PageLink>,
}

/// A link to another page of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct PageLink {
    pub name: &'static str,
    pub href: String,
    /// `next`, `prev`, or empty for the first page.
    pub rel: &'static str,
}

impl Pager {
    /// For the pages of a `list`, or of something else.
    pub fn of(of: &'static str) -> Self {
        Self { of, links: Vec::new() }
    }

    /// Adds the link to the first page; `None` if this is the first one.
    pub fn first(self, name: &'static str, href: Option<String>) -> Self {
        self.with(name, href, "")
    }

    /// Adds the link to the page before, if it is known.
    pub fn previous(self, name: &'static str, href: Option<String>) -> Self {
        self.with(name, href, "prev")
    }

    /// Adds the link to the next page, if there is one.
    pub fn next(self, name: &'static str, href: Option<String>) -> Self {
        self.with(name, href, "next")
    }

    fn with(mut self, name: &'static str, href: Option<String>, rel: &'static str) -> Self {
        self.links.extend(href.map(|href| PageLink { name, href, rel }));
        self
    }

    /// Whether this is the first page.
    pub fn is_first(&self) -> bool {
        self.links.iter().all(|link| !link.rel.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_has_no_link_to_itself() {
        let first = Pager::of("list").first("First", None).next("More", Some("/a?from=2".to_owned()));
        assert!(first.is_first() && first.links.len() == 1, "{first:?}");
        let last = Pager::of("list").first("First", Some("/a".to_owned())).next("More", None);
        assert!(!last.is_first() && last.links[0].href == "/a", "{last:?}");
    }
}
