//! Changes the state for each message, and returns the commands that follow. Pure.

use crossterm::event::{KeyEventKind, KeyModifiers};
use serde_json::Value;

use super::input::Input;
use super::prelude::*;
use super::scrolled::Scroll;
use super::state::{Command, Confirm, Draft, Link, Message, Overlay, Picked, Picker, Screen, Then};
use super::{dashboard, distil, graph, live, memories, sessions, works};
use crate::answer::{self, Ask, memories::Saved, of};
use crate::daemon::client::Refusal;
use cerebro_core::code::Code;

/// Ticks from a change by another client until the data is read again.
const SETTLE_TICKS: u64 = 2;

/// Updates the state by a message and returns the commands that follow.
pub fn update(state: &mut State, message: Message) -> Vec<Command> {
    match message {
        Message::Key(key) if key.kind != KeyEventKind::Release => press(state, key),
        Message::Key(_) => {}
        Message::Paste(text) => paste(state, &text),
        Message::Redraw => state.commands.push(Command::Clear),
        Message::Tick(now) => {
            state.now = now;
            tick(state);
        }
        Message::Link(link) => relink(state, link),
        Message::Answer { slot, number, outcome } => {
            if state.asks.is_answer(slot, number) {
                answer(state, slot, outcome);
            }
        }
        Message::Lost { slot, number } => {
            if state.asks.is_lost(slot, number) {
                let file = (slot == Slot::Save).then(|| state.memories.draft.take()).flatten();
                let file = file.map(|(_, file)| format!("your text is in {file}: ")).unwrap_or_default();
                state.complain(&format!(
                    "{file}the daemon ended during the change: check whether it was made"
                ));
            }
        }
        Message::Unsaved { stored, revision, file } => {
            state.overlay = Some(Overlay::Confirm(Confirm {
                question: "An earlier edit was not saved. Continue it?".to_owned(),
                detail: format!("{file}; with no, you start from the stored text, and that file stays"),
                then: Then::GoOn { stored, revision, file },
            }));
        }
        Message::Edited(outcome) => edited(state, outcome),
    }
    let asks = state.asks.take().into_iter().map(Command::Ask);
    state.commands.drain(..).chain(asks).collect()
}

fn tick(state: &mut State) {
    state.ticks += 1;
    state.asks.tick();
    state.expire_notice();
    live::tick(state);
    if state.screen == Screen::Dashboard {
        dashboard::tick(state);
    }
    if state.screen == Screen::Work {
        works::tick(state);
    }
    if state.changed.is_some_and(|since| state.ticks >= since + SETTLE_TICKS) {
        state.changed = None;
        refresh(state);
    }
}

fn relink(state: &mut State, link: Link) {
    match &link {
        Link::Up { .. } => {
            state.asks.connect();
            live::restart(state);
            refresh(state);
        }
        Link::Connecting | Link::Down(_) => state.asks.disconnect(),
    }
    state.link = link;
}

/// Requests the data of the current screen.
fn refresh(state: &mut State) {
    match state.screen {
        Screen::Dashboard => dashboard::refresh(state),
        Screen::Memories => memories::refresh(state),
        Screen::Sessions => sessions::refresh(state),
        Screen::Live => live::tick(state),
        Screen::Graph => graph::refresh(state),
        Screen::Work => works::refresh(state),
        Screen::Inbox => distil::refresh(state),
    }
}

fn answer(state: &mut State, slot: Slot, outcome: Result<Value, Refusal>) {
    let value = match outcome {
        Ok(value) => value,
        Err(refusal) => return refused(state, slot, &refusal),
    };
    match slot {
        Slot::Stats => take::<of::Stats>(state, &value, dashboard::counted),
        Slot::Clients => take::<of::Clients>(state, &value, dashboard::connected),
        Slot::Activity => take::<of::Activity>(state, &value, dashboard::take_activity),
        Slot::Projects => take::<of::Projects>(state, &value, dashboard::take_projects),
        Slot::Live => take::<of::Live>(state, &value, live::answer),
        Slot::Page(number) => {
            take::<of::Browse>(state, &value, |state, page| memories::take_page(state, number, page));
        }
        Slot::Search => take::<of::Search>(state, &value, memories::take_hits),
        Slot::Memory | Slot::Revisions | Slot::Branch => {
            let takes = |state: &mut State, found: &_| memories::take_memory(state, slot, found);
            take::<of::GetObservation>(state, &value, takes);
        }
        Slot::Sessions | Slot::SessionDetail => sessions::answer(state, slot, &value),
        Slot::Exchange => take::<of::GetObservation>(state, &value, sessions::take_exchange),
        Slot::Centre => take::<of::GetObservation>(state, &value, graph::take_centre),
        Slot::Around => take::<of::Timeline>(state, &value, graph::take_around),
        Slot::Works => take::<of::WorkList>(state, &value, works::listed),
        Slot::Work => take::<of::WorkShow>(state, &value, works::shown),
        Slot::Proposals => take::<of::DistilReview>(state, &value, distil::listed),
        Slot::Proposal => take::<of::DistilShow>(state, &value, distil::shown),
        // Whatever is changed, the answer has what that of a deletion has.
        Slot::Change => take::<of::Delete>(state, &value, |state, changed| {
            state.notify(changed.outcome.line());
            refresh(state);
        }),
        Slot::Save => take::<of::Update>(state, &value, saved),
    }
}

/// Passes an answer to a screen. If it cannot be read, shows a notice.
pub fn take<O: Ask>(state: &mut State, value: &Value, takes: impl FnOnce(&mut State, &O::Answer)) {
    match answer::read::<O>(value) {
        Ok(answer) => takes(state, &answer),
        Err(unreadable) => state.complain(&unreadable.to_string()),
    }
}

/// Handles a refusal of the daemon.
fn refused(state: &mut State, slot: Slot, refusal: &Refusal) {
    if slot == Slot::Save
        && let Some((draft, file)) = state.memories.draft.take()
    {
        let now = state.memories.detail.as_ref().map(|detail| &detail.memory.row);
        let is_revised = refusal.code == Some(Code::RevisionMismatch);
        if is_revised && now.is_some_and(|row| row.id == draft.id) {
            // Reads the present text, so that the person sees what a yes overwrites.
            state.asks.ask(Slot::Memory, Operation::GetObservation, crate::view::whole(&draft.id));
            state.overlay = Some(Overlay::Confirm(Confirm {
                question: "Somebody changed it meanwhile. Save your text over it?".to_owned(),
                detail: "both texts stay, as revisions".to_owned(),
                then: Then::Overwrite(draft, file),
            }));
            return;
        }
        state.complain(&not_saved(&file, &said(refusal)));
        return;
    }
    if slot == Slot::Memory {
        memories::refused(state);
    }
    // A deleted memory has no timeline, but its text is shown.
    if slot != Slot::Around {
        state.complain(&advised(refusal));
    }
}

/// What happened. The fields that a person fills in have the daemon's names.
fn said(refusal: &Refusal) -> String {
    refusal.argument().map_or_else(|| refusal.message.clone(), |field| field.words(Some(&field.name)))
}

/// What happened, with the hint for a person at the screens.
fn advised(refusal: &Refusal) -> String {
    let hint = hint(refusal.code).map(|hint| format!(": {hint}"));
    format!("{}{}", said(refusal), hint.unwrap_or_default())
}

/// The hint for a code, in terms of the screens' keys.
fn hint(code: Option<Code>) -> Option<&'static str> {
    match code? {
        Code::MemoryDeleted => Some("u restores it"),
        Code::NoMemory | Code::MemoryPurged | Code::BadMemoryId => Some("/ finds others"),
        Code::IndexBusy | Code::JournalBusy | Code::StoreOpening => Some("try again in a minute"),
        Code::DaemonLeaving | Code::Interrupted => Some("try again"),
        _ => None,
    }
}

fn edited(state: &mut State, outcome: Result<Option<(Draft, String)>, String>) {
    state.commands.push(Command::Clear);
    match outcome {
        Ok(None) => state.notify("unchanged"),
        Ok(Some((draft, file))) => save(state, draft, file),
        Err(words) => state.complain(&words),
    }
}

fn save(state: &mut State, draft: Draft, file: String) {
    let question = json!({
        "id": draft.id, "title": draft.title, "content": draft.content, "type": draft.kind, "tags": draft.tags,
        "expected_revision": draft.revision,
    });
    if state.asks.ask(Slot::Save, Operation::Update, question) {
        state.memories.draft = Some((draft, file));
    } else {
        state.complain(&not_saved(&file, "not connected"));
    }
}

/// The notice that a text was not saved. It begins with the file, because a notice is one line and may be cut.
fn not_saved(file: &str, why: &str) -> String {
    format!("your text is in {file}, not saved: {why}")
}

fn saved(state: &mut State, saved: &Saved) {
    if let Some((_, file)) = state.memories.draft.take() {
        state.commands.push(Command::Remove(file));
    }
    let ignored: String = saved.ignored.iter().map(|part| format!("; left out of {}", part.line())).collect();
    state.notify(format!("{} (revision {}){ignored}", saved.outcome.line(), saved.revision));
    memories::refresh(state);
}

fn paste(state: &mut State, text: &str) {
    match &mut state.overlay {
        Some(Overlay::Pick(picker)) => picker.input.insert(text),
        None if state.screen == Screen::Memories && state.memories.is_typing() => {
            state.memories.paste(text);
            memories::typed(state);
        }
        _ => {}
    }
}

fn press(state: &mut State, key: KeyEvent) {
    if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
        state.commands.push(Command::Quit);
        return;
    }
    if key.code == KeyCode::Char('l') && key.modifiers.contains(KeyModifiers::CONTROL) {
        state.commands.push(Command::Clear);
        return;
    }
    if state.overlay.is_some() {
        overlay_key(state, key);
        return;
    }
    let typing = match state.screen {
        Screen::Memories => state.memories.is_typing(),
        Screen::Live => state.live.is_typing(),
        _ => false,
    };
    if !typing && global_key(state, key) {
        return;
    }
    match state.screen {
        Screen::Dashboard => false,
        Screen::Memories => memories::key(state, key),
        Screen::Sessions => sessions::key(state, key),
        Screen::Live => live::key(state, key),
        Screen::Graph => graph::key(state, key),
        Screen::Work => works::key(state, key),
        Screen::Inbox => distil::key(state, key),
    };
}

/// The keys that mean the same on every screen.
fn global_key(state: &mut State, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('q') => state.commands.push(Command::Quit),
        KeyCode::Char('?') => state.overlay = Some(Overlay::Help(Scroll::default())),
        KeyCode::Char('r') => {
            dashboard::refresh(state);
            refresh(state);
        }
        KeyCode::Char('p') => pick_project(state),
        KeyCode::Char(digit @ '1'..='7') => {
            state.screen = Screen::ALL[usize::from(digit as u8 - b'1')];
            refresh(state);
        }
        _ => return false,
    }
    true
}

fn pick_project(state: &mut State) {
    state.asks.ask(Slot::Projects, Operation::Projects, json!({}));
    let all = std::iter::once(("all projects".to_owned(), String::new()));
    let known = state.projects.iter().map(|one| (one.project.line(), dashboard::amount(one)));
    state.overlay = Some(Overlay::Pick(Picker {
        what: Picked::Project,
        title: "Show which project",
        items: all.chain(known).collect(),
        input: Input::default(),
        cursor: Cursor::default(),
    }));
}

fn overlay_key(state: &mut State, key: KeyEvent) {
    match state.overlay.take() {
        None => {}
        Some(Overlay::Help(mut scroll)) => {
            state.overlay = (scroll.is_long() && scroll.key(key)).then_some(Overlay::Help(scroll));
        }
        Some(Overlay::Pick(picker)) => pick_key(state, picker, key),
        Some(Overlay::Confirm(confirm)) => match key.code {
            KeyCode::Char('y' | 'Y') => confirmed(state, confirm.then),
            KeyCode::Char('n' | 'N') | KeyCode::Esc => declined(state, confirm.then, key.code),
            _ => state.overlay = Some(Overlay::Confirm(confirm)),
        },
    }
}

fn pick_key(state: &mut State, mut picker: Picker, key: KeyEvent) {
    match key.code {
        KeyCode::Esc => return,
        KeyCode::Enter => {
            let found = picker.found().get(picker.cursor.at).map(|(name, _)| name.clone());
            let Some(name) = found else { return };
            let first = picker.items.first().is_some_and(|(all, _)| *all == name);
            picked(state, picker.what, (!first).then_some(name));
            return;
        }
        // Letters are text here, so only the cursor keys move.
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => {
            let total = picker.found().len();
            picker.cursor.key(key, total);
        }
        _ => {
            picker.input.key(key);
            picker.cursor = Cursor::default();
        }
    }
    state.overlay = Some(Overlay::Pick(picker));
}

fn picked(state: &mut State, what: Picked, name: Option<String>) {
    if what == Picked::Kind {
        memories::show_kind(state, name);
        return;
    }
    state.project = name;
    dashboard::refresh(state);
    memories::restart(state);
    sessions::restart(state);
    works::restart(state);
    distil::restart(state);
}

fn confirmed(state: &mut State, then: Then) {
    match then {
        Then::Delete(id) => state.change(Operation::Delete, json!({ "id": id })),
        Then::GoOn { stored, revision, file } => {
            state.commands.push(Command::Open(Draft { revision, file: Some(file), ..stored }));
        }
        Then::Overwrite(mut draft, file) => {
            let now = state.memories.detail.as_ref().map(|detail| detail.memory.row.revision);
            draft.revision = now.unwrap_or(draft.revision);
            save(state, draft, file);
        }
    }
}

fn declined(state: &mut State, then: Then, key: KeyCode) {
    match then {
        Then::Overwrite(_, file) => state.complain(&not_saved(&file, "you answered no")),
        Then::GoOn { stored, .. } if key != KeyCode::Esc => state.commands.push(Command::Open(stored)),
        Then::GoOn { .. } | Then::Delete(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::asks::Ask;
    use super::super::theme::Theme;
    use super::*;
    use crate::answer::memories::{Browsed, Page};

    fn state() -> State {
        let now = jiff::Timestamp::UNIX_EPOCH;
        let mut state = State::new(Theme { colour: false }, jiff::tz::TimeZone::UTC, now, None);
        update(&mut state, Message::Link(Link::Up { pid: 1, version: "1".to_owned() }));
        state
    }

    /// Presses a key. Returns the requests about memories that follow.
    fn press_key(state: &mut State, code: KeyCode) -> Vec<Ask> {
        asked(update(state, Message::Key(KeyEvent::new(code, KeyModifiers::NONE))))
    }

    fn asked(commands: Vec<Command>) -> Vec<Ask> {
        let asks = commands.into_iter().filter_map(|command| match command {
            Command::Ask(ask) => Some(ask),
            _ => None,
        });
        asks.filter(|ask| matches!(ask.slot, Slot::Memory | Slot::Page(_))).collect()
    }

    fn answer_to(state: &mut State, ask: &Ask, value: Value) -> Vec<Ask> {
        asked(update(state, Message::Answer { slot: ask.slot, number: ask.number, outcome: Ok(value) }))
    }

    /// The list of `a` and `b`, with the preview of `a`.
    fn with_two() -> State {
        let mut state = state();
        let page = press_key(&mut state, KeyCode::Char('2')).remove(0);
        let row = |id: &str, title: &str| {
            let mut browsed = Browsed::default();
            (browsed.row.id, browsed.row.title) = (id.into(), title.into());
            browsed
        };
        let memories = vec![row("a", "the first"), row("b", "the second")];
        let preview = answer_to(&mut state, &page, json!(Page { memories, total: 2 })).remove(0);
        assert_eq!(preview.arguments["id"], "a");
        answer_to(&mut state, &preview, json!({ "id": "a", "title": "the first" }));
        state
    }

    #[test]
    fn a_key_that_comes_before_the_memory_is_about_that_memory() {
        let mut state = with_two();
        press_key(&mut state, KeyCode::Down);
        let asks = press_key(&mut state, KeyCode::Enter);
        assert!(press_key(&mut state, KeyCode::Char('d')).is_empty());
        assert!(state.overlay.is_none(), "a question about what is not there yet");
        answer_to(&mut state, asks.last().unwrap(), json!({ "id": "b", "title": "the second" }));
        let Some(Overlay::Confirm(confirm)) = &state.overlay else { panic!("no question") };
        assert!(matches!(&confirm.then, Then::Delete(id) if id == "b"), "{confirm:?}");
        assert!(confirm.detail.contains("the second"), "{confirm:?}");
    }

    #[test]
    fn a_refused_change_is_shown_although_the_next_one_is_made() {
        let mut state = with_two();
        state.change(Operation::Pin, json!({ "id": "a" }));
        state.change(Operation::Pin, json!({ "id": "b" }));
        let asks = state.asks.take();
        let numbers: Vec<u64> = asks.iter().map(|ask| ask.number).collect();
        let data = json!({ "argument": "type", "value": "a b", "problem": "no type" });
        let message = "argument `type` = `a b`: no type".to_owned();
        let refusal = Refusal { code: Some(Code::InvalidArgument), message, data };
        for (number, outcome) in
            [(numbers[0], Err(refusal)), (numbers[1], Ok(json!({ "id": "b", "outcome": "pinned" })))]
        {
            update(&mut state, Message::Answer { slot: Slot::Change, number, outcome });
        }
        let notice = state.notice.as_ref().unwrap();
        assert!(notice.bad && notice.words == "type `a b`: no type", "{}", notice.words);
    }

    #[test]
    fn a_memory_that_is_not_to_be_had_leads_back_to_the_list() {
        let mut state = with_two();
        press_key(&mut state, KeyCode::Down);
        let ask = press_key(&mut state, KeyCode::Enter).pop().unwrap();
        let refused =
            Message::Answer { slot: ask.slot, number: ask.number, outcome: Err(Refusal::in_words("purged")) };
        update(&mut state, refused);
        assert_eq!(state.memories.subject().map(|row| row.id.as_str()), Some("b"));
        assert!(state.notice.as_ref().is_some_and(|notice| notice.bad));
        press_key(&mut state, KeyCode::Char('4'));
        assert_eq!(state.screen, Screen::Live);
    }
}
