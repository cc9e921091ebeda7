//! What waits for a person's word, in tabs: conflicts, duplicates, what was distilled, what could be tidied.

/// The place of them all.
pub(super) const PLACE: &str = "/pairs";
/// How many there are.
pub(super) const COUNT: usize = 4;
const TABS: [(&str, &str); COUNT] = [
    ("/pairs", "Conflicts"),
    ("/pairs?which=twins", "Duplicates"),
    ("/inbox", "Distilled"),
    ("/tidy", "Consolidation"),
];

/// A tab.
pub(super) struct Tab {
    pub href: &'static str,
    pub name: &'static str,
    pub is_here: bool,
}

/// The tabs as a page of that address shows them.
pub(super) fn at(place: &str) -> [Tab; COUNT] {
    TABS.map(|(href, name)| Tab { href, name, is_here: href == place })
}
