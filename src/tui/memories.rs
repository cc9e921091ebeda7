//! The memories: a list of all or the hits of a search, with a preview, and each memory in full.

mod draw;

use serde_json::Value;

pub use self::draw::draw;
use super::detail::{Detail, Wish};
use super::input::Input;
use super::pages::{PAGE, Pages};
use super::prelude::*;
use super::state::{Command, Confirm, Draft, Overlay, Picked, Picker, Screen, Then};
use crate::answer::{memories::Page, observation::Observation, search::Found};
use crate::view::{self, Row, Stored};
use cerebro_core::domain::Kind;

/// How many hits one answer has.
const HITS_PAGE: usize = 50;
/// Most hits that are held.
const HITS_MAX: usize = 1_000;
/// Most earlier memories to which Esc returns.
const BACK_MAX: usize = 50;

/// The hits of a search.
#[derive(Debug, Default)]
struct Hits {
    query: String,
    rows: Vec<Row>,
    matched: String,
    relaxed: bool,
    cursor: Option<String>,
    /// Whether the search under way is for further hits of the same query.
    asked_more: bool,
}

/// The list, the search, and the opened memory.
#[derive(Debug, Default)]
pub struct Memories {
    pages: Pages,
    hits: Option<Hits>,
    query: Input,
    typing: bool,
    kind: Option<String>,
    scope: Option<&'static str>,
    deleted: bool,
    cursor: Cursor,
    /// The id of the chosen memory. It stays chosen when others are added before it.
    chosen: String,
    /// The memory in the preview, or the opened one.
    pub detail: Option<Detail>,
    /// The id of the opened memory. `detail` is empty until it is loaded.
    reading: Option<String>,
    back: Vec<String>,
    /// The key to handle for a memory as soon as its text has arrived.
    awaits: Option<(String, KeyEvent)>,
    /// An edited text that is being saved, and the file with the same text.
    pub draft: Option<(Draft, String)>,
}

impl Memories {
    /// Whether keys go to the search.
    pub fn is_typing(&self) -> bool {
        self.typing
    }

    /// Inserts pasted text.
    pub fn paste(&mut self, text: &str) {
        self.query.insert(text);
    }

    fn total(&self) -> usize {
        self.hits.as_ref().map_or_else(|| self.pages.total().unwrap_or(0), |hits| hits.rows.len())
    }

    fn row(&self, at: usize) -> Option<&Row> {
        self.hits.as_ref().map_or_else(|| self.pages.get(at), |hits| hits.rows.get(at))
    }

    /// The memory on which keys act. `None` while the opened one is loading, because the person does not see the one
    /// under the cursor.
    pub fn subject(&self) -> Option<&Row> {
        match self.reading {
            Some(_) => self.detail.as_ref().map(|detail| &detail.memory.row),
            None => self.row(self.cursor.at),
        }
    }

    /// Loads a memory and removes another one from the screen.
    fn read(&mut self, id: &str) {
        self.detail.take_if(|detail| detail.memory.row.id != id);
        self.reading = Some(id.to_owned());
    }
}

/// Requests the list again. The present rows are shown meanwhile.
pub fn refresh(state: &mut State) {
    state.memories.pages.age();
    if state.memories.query.is_blank() {
        want_pages(state);
    } else {
        search(state);
    }
    let memories = &state.memories;
    let shown = memories.detail.as_ref().map(|detail| &detail.memory.row.id);
    if let Some(id) = memories.reading.as_ref().or(shown) {
        state.asks.ask(Slot::Memory, Operation::GetObservation, view::whole(id));
    }
}

/// Starts over, because another project, type or scope was chosen.
pub fn restart(state: &mut State) {
    state.asks.forget(|slot| matches!(slot, Slot::Page(_) | Slot::Search));
    let memories = &mut state.memories;
    memories.pages = Pages::default();
    memories.hits = None;
    memories.cursor = Cursor::default();
    memories.chosen.clear();
    if memories.reading.is_none() {
        memories.detail = None;
    }
    refresh(state);
}

/// Shows one memory in full.
pub fn open(state: &mut State, id: &str) {
    let memories = &mut state.memories;
    if let Some(before) = memories.reading.take().filter(|before| before != id) {
        memories.back.push(before);
        if memories.back.len() > BACK_MAX {
            memories.back.remove(0);
        }
    }
    memories.read(id);
    state.screen = Screen::Memories;
    state.asks.ask(Slot::Memory, Operation::GetObservation, view::whole(id));
}

/// The arguments that the list and the search share.
fn conditions(state: &State) -> Value {
    let memories = &state.memories;
    let mut conditions = state.project_filter();
    conditions["type"] = json!(memories.kind);
    conditions["scope"] = json!(memories.scope);
    conditions
}

fn want_pages(state: &mut State) {
    if !state.memories.query.is_blank() {
        return;
    }
    let memories = &state.memories;
    let rows = memories.cursor.rows().max(20);
    let top = memories.cursor.at.saturating_sub(rows / 2);
    for page in memories.pages.wanted(top, rows) {
        if state.asks.is_waiting(Slot::Page(page)) {
            continue;
        }
        let mut question = conditions(state);
        question["deleted"] = json!(state.memories.deleted);
        question["offset"] = json!(page * PAGE);
        question["limit"] = json!(PAGE);
        state.asks.ask(Slot::Page(page), Operation::Browse, question);
    }
}

/// Searches with the agents' own tool. The answer to an earlier query is dropped.
fn search(state: &mut State) {
    if let Some(hits) = &mut state.memories.hits {
        hits.asked_more = false;
    }
    let query = state.memories.query.text().to_owned();
    ask_search(state, &query, None);
}

fn ask_search(state: &mut State, query: &str, cursor: Option<String>) {
    let mut question = conditions(state);
    question["query"] = json!(query);
    question["limit"] = json!(HITS_PAGE);
    question["cursor"] = json!(cursor);
    state.asks.ask(Slot::Search, Operation::Search, question);
}

/// Requests further hits when the cursor is near the end of the held ones.
fn want_hits(state: &mut State) {
    let Some(hits) = &mut state.memories.hits else { return };
    let near_end = state.memories.cursor.at + 10 >= hits.rows.len();
    let Some(cursor) = hits.cursor.clone().filter(|_| near_end && hits.rows.len() < HITS_MAX) else { return };
    if state.asks.is_waiting(Slot::Search) {
        return;
    }
    hits.asked_more = true;
    let query = hits.query.clone();
    ask_search(state, &query, Some(cursor));
}

/// Requests the preview of the chosen memory, one at a time.
fn want_preview(state: &mut State) {
    let memories = &state.memories;
    if memories.reading.is_some() || state.asks.is_waiting(Slot::Memory) {
        return;
    }
    let Some(id) = memories.row(memories.cursor.at).map(|row| row.id.clone()) else { return };
    if memories.detail.as_ref().is_none_or(|detail| detail.memory.row.id != id) {
        state.asks.ask(Slot::Memory, Operation::GetObservation, view::whole(&id));
    }
}

/// Takes in a page of the list.
pub fn take_page(state: &mut State, number: usize, page: &Page) {
    let memories = &mut state.memories;
    memories.pages.put(number, page);
    if memories.hits.is_none() {
        if let Some(at) = memories.pages.position(&memories.chosen).filter(|_| memories.cursor.at > 0) {
            memories.cursor.at = at;
        }
        let total = memories.total();
        memories.cursor.fit(total);
        remember(state);
        // The page may have moved the view to other pages.
        want_pages(state);
    }
    want_preview(state);
}

/// Takes in what a search found.
pub fn take_hits(state: &mut State, found: &Found) {
    let memories = &mut state.memories;
    let query = memories.query.text().to_owned();
    if memories.query.is_blank() {
        memories.hits = None;
        want_preview(state);
        return;
    }
    let rows = found.hits.iter().map(Row::hit).map(|mut row| {
        if row.project.is_empty() {
            row.project = state.project.clone().unwrap_or_default();
        }
        row
    });
    let rows: Vec<Row> = rows.collect();
    let cursor = found.next_cursor.as_ref().map(|cursor| cursor.raw().to_owned());
    let memories = &mut state.memories;
    match &mut memories.hits {
        Some(hits) if hits.asked_more => {
            hits.rows.extend(rows);
            hits.cursor = cursor;
        }
        _ => {
            let (matched, relaxed) = (found.matched.line(), found.relaxed);
            memories.hits = Some(Hits { query, rows, matched, relaxed, cursor, asked_more: false });
            let total = memories.total();
            memories.cursor.fit(total);
        }
    }
    remember(state);
    want_preview(state);
}

/// Takes in a memory: whole, with its earlier texts, or as a branch of the tree of relations.
pub fn take_memory(state: &mut State, slot: Slot, found: &Observation) {
    let memories = &mut state.memories;
    match (slot, &mut memories.detail) {
        (Slot::Memory, detail) => {
            *detail = Some(Detail::of(found, detail.take()));
            do_awaited(state);
        }
        (Slot::Revisions, Some(detail)) if found.id == detail.memory.row.id.as_str() => {
            detail.take_revisions(found);
        }
        (Slot::Branch, Some(detail)) => detail.take_branch(found),
        _ => {}
    }
    want_preview(state);
}

/// Records the memory under the cursor; none while its page is loading.
fn remember(state: &mut State) {
    let memories = &mut state.memories;
    memories.chosen = memories.row(memories.cursor.at).map(|row| row.id.clone()).unwrap_or_default();
}

/// Handles a key.
pub fn key(state: &mut State, key: KeyEvent) -> bool {
    // Another key cancels it.
    state.memories.awaits = None;
    if state.memories.typing {
        return typing_key(state, key);
    }
    if state.memories.reading.is_some() {
        return reading_key(state, key);
    }
    let total = state.memories.total();
    if state.memories.cursor.key(key, total) {
        moved(state);
        return true;
    }
    match key.code {
        KeyCode::Char('/') => {
            state.memories.typing = true;
            // A search finds only live memories.
            if std::mem::take(&mut state.memories.deleted) {
                restart(state);
            }
        }
        KeyCode::Enter | KeyCode::Right => {
            let Some(id) = state.memories.subject().map(|row| row.id.clone()) else { return false };
            state.memories.back.clear();
            open(state, &id);
        }
        KeyCode::Esc if !state.memories.query.is_blank() => {
            state.memories.query.clear();
            restart(state);
        }
        KeyCode::Char('t') => pick_kind(state),
        KeyCode::Char('s') => {
            state.memories.scope = match state.memories.scope {
                None => Some("project"),
                Some("project") => Some("personal"),
                Some(_) => None,
            };
            restart(state);
        }
        KeyCode::Char('x') => {
            state.memories.deleted = !state.memories.deleted;
            state.memories.query.clear();
            restart(state);
        }
        _ => return action_key(state, key),
    }
    true
}

fn moved(state: &mut State) {
    remember(state);
    want_pages(state);
    want_hits(state);
    want_preview(state);
}

fn typing_key(state: &mut State, key: KeyEvent) -> bool {
    let before = state.memories.query.text().to_owned();
    match key.code {
        KeyCode::Enter => state.memories.typing = false,
        KeyCode::Esc => {
            state.memories.typing = false;
            state.memories.query.clear();
        }
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => {
            let total = state.memories.total();
            state.memories.cursor.key(key, total);
            moved(state);
        }
        _ => {
            state.memories.query.key(key);
        }
    }
    if state.memories.query.text() != before {
        typed(state);
    }
    true
}

/// Starts a search, because the query was changed.
pub fn typed(state: &mut State) {
    if state.memories.query.is_blank() {
        restart(state);
        return;
    }
    state.memories.cursor = Cursor::default();
    search(state);
}

fn reading_key(state: &mut State, key: KeyEvent) -> bool {
    if key.code == KeyCode::Esc || key.code == KeyCode::Backspace {
        back(state);
        return true;
    }
    let wish = match &mut state.memories.detail {
        Some(detail) => detail.key(key, &mut state.asks),
        None => Wish::None,
    };
    match wish {
        Wish::Done => true,
        Wish::Open(id) => {
            open(state, &id);
            true
        }
        Wish::None => action_key(state, key),
    }
}

/// Returns to the memory that was shown before, or to the list.
fn back(state: &mut State) {
    state.asks.forget(|slot| slot == Slot::Memory);
    if let Some(id) = state.memories.back.pop() {
        state.memories.read(&id);
        state.asks.ask(Slot::Memory, Operation::GetObservation, view::whole(&id));
        return;
    }
    state.memories.reading = None;
    want_pages(state);
    want_preview(state);
}

/// Handles keys that change the memory itself.
fn action_key(state: &mut State, key: KeyEvent) -> bool {
    let Some(row) = state.memories.subject().cloned() else {
        // The opened memory is still loading.
        let is_action = matches!(key.code, KeyCode::Char('*' | 'd' | 'u' | 'e' | 'g'));
        state.memories.awaits = state.memories.reading.clone().filter(|_| is_action).map(|id| (id, key));
        return state.memories.awaits.is_some();
    };
    match key.code {
        KeyCode::Char('*') => {
            let pinned = state.memories.detail.as_ref().filter(|detail| detail.memory.row.id == row.id);
            let pinned = pinned.map_or(row.pinned, |detail| detail.memory.row.pinned);
            let tool = if pinned { Operation::Unpin } else { Operation::Pin };
            state.change(tool, json!({ "id": row.id }));
        }
        KeyCode::Char('d') if !row.deleted => {
            state.overlay = Some(Overlay::Confirm(Confirm {
                question: "Delete this memory?".to_owned(),
                detail: format!("{} — it can be restored", row.title),
                then: Then::Delete(row.id),
            }));
        }
        KeyCode::Char('u') => state.change(Operation::Restore, json!({ "id": row.id })),
        KeyCode::Char('e') => edit(state, &row, key),
        KeyCode::Char('g') => super::graph::open(state, &row.id),
        _ => return false,
    }
    true
}

/// Starts an edit. If the text is still loading, the edit starts when it arrives.
fn edit(state: &mut State, row: &Row, key: KeyEvent) {
    let detail = state.memories.detail.as_ref().filter(|detail| detail.memory.row.id == row.id);
    let Some(memory) = detail.map(|detail| &detail.memory) else {
        state.memories.awaits = Some((row.id.clone(), key));
        state.asks.ask(Slot::Memory, Operation::GetObservation, view::whole(&row.id));
        return;
    };
    if state.memories.draft.is_some() {
        state.complain("the previous edit is still being saved: try again in a moment");
        return;
    }
    if memory.row.deleted || memory.cut {
        state.complain(if memory.cut { "it is too long to edit here" } else { "restore it first (u)" });
        return;
    }
    let Stored { title, kind, tags } = memory.stored.clone();
    let draft = Draft {
        id: memory.row.id.clone(),
        revision: memory.row.revision,
        title,
        kind,
        tags,
        content: memory.content.clone(),
        file: None,
    };
    state.commands.push(Command::Edit(draft));
}

/// Handles the key that was pressed before the text arrived, if the person still looks at that memory.
fn do_awaited(state: &mut State) {
    if state.screen != Screen::Memories || state.overlay.is_some() {
        return;
    }
    let Some(here) = state.memories.detail.as_ref().map(|detail| detail.memory.row.id.clone()) else {
        return;
    };
    if let Some((_, key)) = state.memories.awaits.take_if(|(id, _)| *id == here) {
        action_key(state, key);
    }
}

/// Returns to the list, because the opened memory is not available.
pub fn refused(state: &mut State) {
    state.memories.awaits = None;
    if state.memories.reading.is_some() && state.memories.detail.is_none() {
        back(state);
    }
}

fn pick_kind(state: &mut State) {
    let all = std::iter::once(("all types".to_owned(), String::new()));
    let known = Kind::KNOWN.iter().map(|kind| ((*kind).to_owned(), String::new()));
    state.overlay = Some(Overlay::Pick(Picker {
        what: Picked::Kind,
        title: "Show which type",
        items: all.chain(known).collect(),
        input: Input::default(),
        cursor: Cursor::default(),
    }));
}

/// Shows only one type, or all.
pub fn show_kind(state: &mut State, kind: Option<String>) {
    state.memories.kind = kind;
    restart(state);
}

/// The keys of this screen.
pub fn keys(state: &State) -> Vec<(&'static str, &'static str)> {
    let memories = &state.memories;
    if memories.typing {
        return vec![("Enter", "to the hits"), ("↑↓", "choose"), ("Esc", "no search")];
    }
    let mut keys = Vec::new();
    let deleted = memories.subject().is_some_and(|row| row.deleted);
    if memories.reading.is_some() {
        keys.push(("Esc", "back"));
        keys.extend(memories.detail.iter().flat_map(Detail::keys));
    } else {
        keys.extend([("/", "search"), ("Enter", "read"), ("t", "type"), ("s", "scope")]);
        keys.push(("x", if memories.deleted { "live" } else { "deleted" }));
    }
    keys.extend(if deleted {
        vec![("u", "restore")]
    } else {
        vec![("*", "pin"), ("e", "edit"), ("d", "delete"), ("g", "graph")]
    });
    if memories.reading.is_none() {
        keys.push(("p", "project"));
    }
    keys
}
