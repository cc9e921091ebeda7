//! The tabs of decisions that wait for a person: conflicts, duplicates, candidates, consolidation.

/// The address of the menu entry to which the tabs belong.
pub(super) const PLACE: &str = "/pairs";
/// The number of tabs.
pub(super) const COUNT: usize = 4;
const TABS: [(&str, &str); COUNT] = [
    ("/pairs", "Conflicts"),
    ("/pairs?which=twins", "Duplicates"),
    ("/inbox", "Distilled"),
    ("/tidy", "Consolidation"),
];

pub(super) struct Tab {
    pub href: &'static str,
    pub name: &'static str,
    pub is_here: bool,
}

/// The tabs, for a page with this address.
pub(super) fn at(place: &str) -> [Tab; COUNT] {
    TABS.map(|(href, name)| Tab { href, name, is_here: href == place })
}
