//! One memory in full: its text, its revisions, and its relations as a tree.

use super::asks::Asks;
use super::prelude::*;
use crate::answer::observation::Observation;
use crate::view::{self, Memory, Relation, Revision, date};

/// Most branches that the tree of relations has open.
const BRANCHES_MAX: usize = 500;
/// Smallest part of a memory's content, in bytes. It is requested when only the relations are needed.
const CONTENT_BYTES_MIN: usize = 256;

/// The parts of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tab {
    #[default]
    Text,
    Revisions,
    Relations,
}

/// A line of the tree of relations.
#[derive(Debug, Clone)]
struct Branch {
    to: Relation,
    depth: usize,
    open: bool,
}

/// A memory that is shown, and the position in it.
#[derive(Debug, Default)]
pub struct Detail {
    pub memory: Memory,
    body: ScrolledText,
    tab: Tab,
    revisions: Option<Vec<Revision>>,
    revision: Cursor,
    old: ScrolledText,
    tree: Vec<Branch>,
    branch: Cursor,
}

/// A request of a key that the detail cannot carry out itself.
#[derive(Debug, PartialEq, Eq)]
pub enum Wish {
    /// The key does not belong to the detail.
    None,
    Done,
    /// Read another memory.
    Open(String),
}

impl Detail {
    /// From `mem_get_observation`. The position in the text stays if it is the same memory.
    pub fn of(found: &Observation, before: Option<Self>) -> Self {
        let memory = Memory::of(found);
        let branch = |to: &Relation| Branch { to: to.clone(), depth: 0, open: false };
        let tree: Vec<Branch> = memory.related.iter().map(branch).collect();
        let same = before.filter(|before| before.memory.row.id == memory.row.id);
        let mut body = ScrolledText::new(&memory.content);
        let mut detail = Self { tree, ..Self::default() };
        if let Some(before) = same {
            body.scroll = before.body.scroll;
            detail.tab = before.tab;
            if before.memory.row.revision == memory.row.revision {
                detail.revisions = before.revisions;
                detail.revision = before.revision;
                detail.old = before.old;
            }
        }
        Self { memory, body, ..detail }
    }

    /// Adds the earlier revisions from an answer.
    pub fn take_revisions(&mut self, found: &Observation) {
        let revisions: Vec<Revision> = found.revisions.iter().map(Revision::of).collect();
        self.old = ScrolledText::new(revisions.first().map_or("", |revision| revision.content.as_str()));
        self.revision = Cursor::default();
        self.revisions = Some(revisions);
    }

    /// Adds the relations of an opened branch from an answer.
    pub fn take_branch(&mut self, found: &Observation) {
        let found = Memory::of(found);
        let Some(at) = self.tree.iter().position(|branch| branch.to.id == found.row.id && branch.open) else {
            return;
        };
        let depth = self.tree[at].depth + 1;
        if self.tree.get(at + 1).is_some_and(|next| next.depth == depth) {
            return;
        }
        let path = self.path(at);
        let room = BRANCHES_MAX.saturating_sub(self.tree.len());
        let new = found.related.into_iter().filter(|to| !path.contains(&to.id)).take(room);
        let new: Vec<Branch> = new.map(|to| Branch { to, depth, open: false }).collect();
        let below = self.tree.split_off(at + 1);
        self.tree.extend(new);
        self.tree.extend(below);
    }

    /// The memories from the root to a branch. None of them may occur below it, or the tree would have no end.
    fn path(&self, at: usize) -> Vec<String> {
        let mut path = vec![self.memory.row.id.clone()];
        let mut depth = usize::MAX;
        for branch in self.tree[..=at].iter().rev() {
            if branch.depth < depth {
                depth = branch.depth;
                path.push(branch.to.id.clone());
            }
        }
        path
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent, asks: &mut Asks) -> Wish {
        match key.code {
            KeyCode::Tab => self.turn(asks, 1),
            KeyCode::BackTab => self.turn(asks, 2),
            _ => match self.tab {
                Tab::Text if self.body.scroll.key(key) => {}
                Tab::Revisions => return self.revision_key(key),
                Tab::Relations => return self.tree_key(key, asks),
                Tab::Text => return Wish::None,
            },
        }
        Wish::Done
    }

    fn turn(&mut self, asks: &mut Asks, steps: usize) {
        const TABS: [Tab; 3] = [Tab::Text, Tab::Revisions, Tab::Relations];
        let now = TABS.iter().position(|tab| *tab == self.tab).unwrap_or(0);
        self.tab = TABS[(now + steps) % TABS.len()];
        if self.tab == Tab::Revisions && self.revisions.is_none() {
            let id = self.memory.row.id.as_str();
            asks.ask(Slot::Revisions, Operation::GetObservation, view::history(id));
        }
    }

    fn revision_key(&mut self, key: KeyEvent) -> Wish {
        let revisions = self.revisions.as_deref().unwrap_or_default();
        let paging = matches!(key.code, KeyCode::PageUp | KeyCode::PageDown | KeyCode::Char(' '));
        if paging {
            self.old.scroll.key(key);
            return Wish::Done;
        }
        if !self.revision.key(key, revisions.len()) {
            return Wish::None;
        }
        self.old = ScrolledText::new(revisions.get(self.revision.at).map_or("", |old| old.content.as_str()));
        Wish::Done
    }

    fn tree_key(&mut self, key: KeyEvent, asks: &mut Asks) -> Wish {
        let at = self.branch.at;
        match key.code {
            KeyCode::Enter => match self.tree.get(at) {
                Some(branch) => return Wish::Open(branch.to.id.clone()),
                None => return Wish::None,
            },
            KeyCode::Right | KeyCode::Char('l' | ' ') => {
                if let Some(branch) = self.tree.get_mut(at).filter(|branch| !branch.open) {
                    branch.open = true;
                    let id = branch.to.id.as_str();
                    asks.ask(
                        Slot::Branch,
                        Operation::GetObservation,
                        json!({ "id": id, "max_bytes": CONTENT_BYTES_MIN }),
                    );
                }
            }
            KeyCode::Left | KeyCode::Char('h') => self.close_branch(),
            _ if self.branch.key(key, self.tree.len()) => {}
            _ => return Wish::None,
        }
        Wish::Done
    }

    /// Closes the chosen branch. If it is closed already, moves to its parent.
    fn close_branch(&mut self) {
        let at = self.branch.at;
        let Some(branch) = self.tree.get_mut(at) else { return };
        let depth = branch.depth;
        if std::mem::take(&mut branch.open) {
            let end = self.tree[at + 1..].iter().position(|next| next.depth <= depth);
            let end = end.map_or(self.tree.len(), |end| at + 1 + end);
            self.tree.drain(at + 1..end);
        } else if let Some(parent) = self.tree[..at].iter().rposition(|before| before.depth < depth) {
            self.branch.at = parent;
        }
    }

    /// The keys of the part on the screen.
    pub fn keys(&self) -> &'static [(&'static str, &'static str)] {
        match self.tab {
            Tab::Text => &[("Tab", "revisions"), ("↑↓", "scroll")],
            Tab::Revisions => &[("Tab", "relations"), ("↑↓", "choose"), ("Space", "scroll")],
            Tab::Relations => &[("Tab", "text"), ("↑↓", "choose"), ("→←", "open, close"), ("Enter", "read")],
        }
    }
}

/// Draws the memory with its facts above the text. With `whole`, also draws its other parts.
pub fn draw(state: &State, detail: &Detail, area: Rect, whole: bool, buffer: &mut Buffer) {
    let rest = head(state, detail, area, buffer);
    let rest = paint::below(rest, 1);
    if !whole {
        detail.body.draw_with_bar(buffer, rest, state.theme);
        return;
    }
    let (tabs, rest) = paint::split_rows(rest, 2);
    tab_row(state, detail, tabs, buffer);
    match detail.tab {
        Tab::Text => detail.body.draw_with_bar(buffer, rest, state.theme),
        Tab::Revisions => revisions(state, detail, rest, buffer),
        Tab::Relations => relations(state, detail, rest, buffer),
    }
}

fn head(state: &State, detail: &Detail, area: Rect, buffer: &mut Buffer) -> Rect {
    let (theme, memory) = (state.theme, &detail.memory);
    let columns = usize::from(area.width);
    let titled = [(memory.row.title.clone(), theme.strong())];
    let mut lines = fit::wrap(&titled, columns, &[], &[]);
    lines.truncate(3);
    let mut facts = vec![
        (memory.row.kind.clone(), theme.kind(&memory.row.kind)),
        (memory.row.project.clone(), theme.plain()),
        (format!("revision {}", memory.row.revision), theme.plain()),
        (date(memory.row.at, state.now, &state.zone).trim().to_owned(), theme.plain()),
        (memory.row.agent.clone(), theme.plain()),
    ];
    if memory.row.pinned {
        facts.push(("★ pinned".to_owned(), theme.warning()));
    }
    if memory.row.deleted {
        facts.push(("✗ deleted".to_owned(), theme.bad()));
    }
    facts.retain(|(fact, _)| !fact.is_empty());
    let marks = memory.row.marks.iter().filter(|mark| !mark.starts_with("superseded_by"));
    let marks: Vec<_> = marks.map(|mark| (mark.clone(), theme.warning())).collect();
    for parts in [facts, marks].into_iter().filter(|parts| !parts.is_empty()) {
        let dotted: Vec<_> =
            parts.into_iter().flat_map(|part| [(" · ".to_owned(), theme.dim()), part]).skip(1).collect();
        lines.extend(fit::wrap(&dotted, columns, &[], &[]));
    }
    let newer = memory.superseded_by.join(", ");
    let more =
        [("newer", &newer), ("valid", &memory.valid), ("topic", &memory.topic_key), ("tags", &memory.tags)];
    for (name, value) in more.into_iter().filter(|(_, value)| !value.is_empty()) {
        let spans = vec![
            Span::styled(format!("{name} "), theme.dim()),
            Span::raw(fit::cut(value, columns.saturating_sub(8))),
        ];
        lines.push(Line::from(spans));
    }
    paint::lines(buffer, area, &lines);
    paint::below(area, u16::try_from(lines.len()).unwrap_or(area.height))
}

fn tab_row(state: &State, detail: &Detail, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let earlier = detail.memory.row.revision.saturating_sub(1);
    let tabs = [
        (Tab::Text, "Text".to_owned()),
        (Tab::Revisions, format!("Earlier revisions {earlier}")),
        (Tab::Relations, format!("Relations {}", detail.memory.related.len())),
    ];
    let mut spans = Vec::new();
    for (tab, name) in tabs {
        let on = tab == detail.tab;
        let mark = if on { "▸ " } else { "  " };
        let style = if on { theme.accent() } else { theme.dim() };
        spans.push(Span::styled(format!("{mark}{name}   "), style));
    }
    paint::line(buffer, area, &Line::from(spans));
}

fn revisions(state: &State, detail: &Detail, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let Some(revisions) = &detail.revisions else { return };
    if revisions.is_empty() {
        let words = "This is the first revision. Each later save of the same topic keeps the earlier text.";
        paint::nothing(buffer, area, words, theme);
        return;
    }
    let rows = u16::try_from(revisions.len()).unwrap_or(u16::MAX).min(area.height / 3).max(1);
    let (list, rest) = paint::split_rows(area, rows);
    detail.revision.draw_list(buffer, list, revisions.len(), theme, |at, columns| {
        let revision = &revisions[at];
        Line::from(vec![
            Span::styled(format!(" {:>3}  ", revision.number), theme.accent()),
            Span::styled(fit::pad(&date(revision.at, state.now, &state.zone), 14), theme.dim()),
            Span::styled(fit::pad(&revision.agent, 16), theme.dim()),
            Span::raw(fit::cut(&revision.title, columns.saturating_sub(35))),
        ])
    });
    detail.old.draw_with_bar(buffer, paint::below(rest, 1), state.theme);
}

fn relations(state: &State, detail: &Detail, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    if detail.tree.is_empty() {
        let words = "No relations yet. The worker draws them between memories about the same things; \
                     `g` shows what was written around this one.";
        paint::nothing(buffer, area, words, theme);
        return;
    }
    let tree = &detail.tree;
    detail.branch.draw_list(buffer, area, tree.len(), theme, |at, columns| {
        let (branch, lead) = (&tree[at], lead(tree, at));
        let mark = if branch.open { "▾ " } else { "▸ " };
        let used = fit::width(&lead) + 2 + fit::width(&branch.to.kind) + 2;
        Line::from(vec![
            Span::styled(lead, theme.dim()),
            Span::styled(mark, theme.accent()),
            Span::styled(format!("{}  ", branch.to.kind), theme.lane(branch.to.kind.len())),
            Span::raw(fit::cut(&branch.to.title, columns.saturating_sub(used))),
        ])
    });
}

/// The lines of the tree to the left of a branch.
fn lead(tree: &[Branch], at: usize) -> String {
    let depth = tree[at].depth;
    // Whether another branch of this depth follows below the same parent.
    let goes_on = |depth: usize| {
        tree[at + 1..].iter().take_while(|next| next.depth >= depth).any(|next| next.depth == depth)
    };
    let mut lead = String::from(" ");
    for level in 0..depth {
        lead.push_str(if goes_on(level) { "│  " } else { "   " });
    }
    lead + if goes_on(depth) { "├─ " } else { "└─ " }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;
    use crate::answer::observation::Related;

    fn memory(id: &str, related: &[&str]) -> Observation {
        let near = |id: &&str| Related { id: (*id).into(), title: (*id).into(), relation: "similar".into() };
        let related = related.iter().map(near).collect();
        Observation { id: id.into(), related, revision: Some(1), ..Observation::default() }
    }

    fn press(detail: &mut Detail, code: KeyCode) -> Wish {
        detail.key(KeyEvent::new(code, KeyModifiers::NONE), &mut Asks::default())
    }

    fn shown(detail: &Detail) -> Vec<String> {
        (0..detail.tree.len()).map(|at| lead(&detail.tree, at) + detail.tree[at].to.id.as_str()).collect()
    }

    #[test]
    fn the_tree_of_relations_is_walked_and_never_goes_in_circles() {
        let mut detail = Detail::of(&memory("a", &["b", "c"]), None);
        press(&mut detail, KeyCode::BackTab);
        press(&mut detail, KeyCode::Right);
        detail.take_branch(&memory("b", &["a", "d", "e"]));
        detail.take_branch(&memory("b", &["a", "d", "e"]));
        assert_eq!(shown(&detail), [" ├─ b", " │  ├─ d", " │  └─ e", " └─ c"]);
        press(&mut detail, KeyCode::Down);
        press(&mut detail, KeyCode::Right);
        detail.take_branch(&memory("d", &["b", "a"]));
        assert_eq!(shown(&detail).len(), 4, "every neighbour of d is on its path");
        assert_eq!(press(&mut detail, KeyCode::Enter), Wish::Open("d".to_owned()));
        press(&mut detail, KeyCode::Left);
        press(&mut detail, KeyCode::Left);
        press(&mut detail, KeyCode::Left);
        assert_eq!(shown(&detail), [" ├─ b", " └─ c"]);
    }

    #[test]
    fn the_same_memory_keeps_its_position() {
        let mut detail = Detail::of(&memory("a", &[]), None);
        press(&mut detail, KeyCode::Tab);
        let detail = Detail::of(&memory("a", &[]), Some(detail));
        assert_eq!(detail.tab, Tab::Revisions);
        assert_eq!(Detail::of(&memory("b", &[]), Some(detail)).tab, Tab::Text);
    }
}
