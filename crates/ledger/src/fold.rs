//! Folds events into a state: one pure function, for every kind of work and every event.
//!
//! Reports may arrive in another order than things happened. So the newest request, test, plan or content of a file is the
//! one that happened last, not the one that was recorded last.

use std::collections::VecDeque;

use cerebro_core::domain::Timestamp;
use cerebro_core::text;

use crate::{
    CallState, Ending, Entry, FileState, GateState, HolderState, IntentStanding, IntentState, Outcome,
    PlanStep, Planned, Standing, State, Step, TestState, TimedText,
    limits::{
        CALLS_MAX, FILES_MAX, GATES_MAX, HOLDERS_MAX, INTENTS_OPEN_MAX, REMARKS_MAX, STEPS_MAX,
        TEXT_BYTES_MAX, TITLE_CHARS_MAX,
    },
    state::short_path,
    work::gives_title,
};

/// Most entries in the list of what was done last.
const LAST_MAX: usize = 5;
/// Longest line of such an entry, in characters.
const LINE_CHARS_MAX: usize = 160;

/// The state after an event.
#[must_use]
pub fn fold(mut state: State, entry: &Entry) -> State {
    state.seq = entry.seq;
    if entry.late {
        state.late += 1;
        return state;
    }
    state.active_at = Some(entry.at);
    match &entry.step {
        Some(step) => state.apply(entry.happened, entry.seq, step),
        // Its text was purged, or a newer program wrote its kind.
        None if is_known(&entry.kind) => state.apply_purged(&entry.kind),
        None => state.unknown += 1,
    }
    state
}

/// Folds all events of a piece of work.
pub fn fold_all<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> State {
    entries.into_iter().fold(State::default(), fold)
}

/// Whether this program knows the kind.
fn is_known(kind: &str) -> bool {
    crate::step::KINDS.contains(&kind)
}

/// As much of a text, or of an id that an agent gave, as a state keeps.
fn bounded(text: &str) -> &str {
    text::cut_bytes(text, TEXT_BYTES_MAX)
}

fn timed(at: Timestamp, text: &str) -> TimedText {
    TimedText { at, text: bounded(text).to_owned() }
}

/// Appends an item; the oldest is dropped when there are too many.
fn push<T>(items: &mut VecDeque<T>, item: T, most: usize) {
    if items.len() == most {
        items.pop_front();
    }
    items.push_back(item);
}

impl State {
    fn apply(&mut self, at: Timestamp, seq: u64, step: &Step) {
        self.note_last(at, step);
        match step {
            Step::Begun { title, goal, agent, directory, commit, steps } => {
                self.title.clone_from(title);
                self.goal.clone_from(goal);
                self.agent.clone_from(agent);
                self.directory.clone_from(directory);
                self.commit.clone_from(commit);
                for text in steps {
                    self.add_step(text, None);
                }
            }
            Step::Prompt { .. } | Step::TurnEnded { .. } | Step::TurnFailed { .. } => self.turn(at, step),
            Step::Started { call, tool, what } => self.begin_call(at, call, tool, what),
            Step::ModelStarted { call, provider, response } => {
                let what = response.clone().unwrap_or_else(|| "a call of the model".to_owned());
                self.begin_call(at, call, provider, &what);
            }
            Step::Ran { .. } => self.ran(at, step),
            Step::Edited { call, path, added, removed, digest } => {
                // The beginning of an edit is not reported.
                self.forget_call(call.as_deref());
                self.edited(at, path, (*added, *removed), digest.as_ref());
            }
            Step::Called { call, .. } => self.end_call(at, call.as_deref()),
            Step::ModelEnded { call, .. } => self.end_call(at, Some(call)),
            Step::Planned { steps } => self.plan(at, steps),
            Step::StepAdded { text, task } => self.add_step(text, task.as_deref().map(bounded)),
            Step::StepSet { step, task, standing, text } => {
                self.set_step((*step, task.as_deref().map(bounded)), *standing, text.as_deref());
            }
            Step::Compacted { .. } => self.compactions += 1,
            Step::Connected => self.lost = None,
            Step::Resumed { .. } => (self.lost, self.ended) = (None, false),
            Step::Lost => self.lost = Some(at),
            Step::Ended { .. } => (self.ended, self.turn_open) = (true, false),
            Step::Decision { text } | Step::Note { text } => {
                push(&mut self.remarks, timed(at, text), REMARKS_MAX);
            }
            Step::Finding { text } => {
                push(&mut self.remarks, timed(at, text), REMARKS_MAX);
                push(&mut self.findings, timed(at, text), REMARKS_MAX);
            }
            Step::Blocked { text } => self.blocked = Some(timed(at, text)),
            Step::Gate { name, standing, text } => self.gate(name, *standing, text.as_ref()),
            Step::Intent { .. } | Step::Confirmed { .. } | Step::Refuted { .. } => self.effect(seq, step),
            Step::Gap { count, reason, filled: false, .. } => {
                self.gaps.times += 1;
                self.gaps.events += count.unwrap_or(0);
                self.gaps.reason = Some(reason.clone());
            }
            Step::Closed { outcome, .. } => (self.closed, self.turn_open) = (Some(*outcome), false),
            Step::Reopened => self.reopened(),
            Step::Claimed { holder, fence, .. } => {
                self.let_go(holder);
                // A holder continues it, so it is not lost any more.
                self.lost = None;
                let holder = HolderState { holder: holder.clone(), fence: *fence, at: Some(at) };
                push(&mut self.holders, holder, HOLDERS_MAX);
            }
            Step::Released { holder, .. } => self.let_go(holder),
            Step::Forked { .. } => self.forked(),
            // A filled gap does not count.
            Step::Gap { filled: true, .. } | Step::Read { .. } | Step::Anchored { .. } => {}
        }
    }

    /// Applies an event whose text was purged: its kind still says whether the work was closed, reopened or forked.
    fn apply_purged(&mut self, kind: &str) {
        self.purged += 1;
        match kind {
            "closed" => (self.closed, self.turn_open) = (Some(Outcome::Unknown), false),
            "reopened" => self.closed = None,
            "forked" => self.forked(),
            _ => {}
        }
    }

    /// It is not closed after all.
    fn reopened(&mut self) {
        self.closed = None;
        self.last.retain(|last| !last.text.starts_with(CLOSED));
    }

    /// The work continues in a new piece. Nobody holds that yet, it is open, and it has no late events.
    fn forked(&mut self) {
        self.holders.clear();
        (self.closed, self.late) = (None, 0);
    }

    /// Adds an entry to what was done last. A command may end twice: first without an outcome, then with it. The second
    /// entry replaces the first. The same thing several times in a row is one entry.
    fn note_last(&mut self, at: Timestamp, step: &Step) {
        let Some(line) = line(step, self.directory.as_deref()) else { return };
        if let Step::Ran { call: Some(_), command, ending, .. } = step
            && *ending != Ending::Unknown
        {
            // The names of failed tests may follow.
            let unknown = one_line(&with_unknown_outcome(command));
            if let Some(at) = self.last.iter().rposition(|last| last.text.starts_with(&unknown)) {
                self.last.remove(at);
            }
        }
        let (text, place) = (one_line(&line), self.last.partition_point(|last| last.at <= at));
        if let Some(before) = place.checked_sub(1).and_then(|before| self.last.get_mut(before))
            && before.text == text
        {
            before.at = at;
            return;
        }
        self.last.insert(place, TimedText { at, text });
        if self.last.len() > LAST_MAX {
            self.last.pop_front();
        }
    }

    fn turn(&mut self, at: Timestamp, step: &Step) {
        match step {
            Step::Prompt { text } => {
                if gives_title(text, &self.title) {
                    self.title = text::cut_chars(&text::one_line(text), TITLE_CHARS_MAX).into_owned();
                }
                let request = timed(at, text);
                self.first_request.get_or_insert_with(|| request.clone());
                if self.has_request_after(at) {
                    return;
                }
                self.request = Some(request);
                self.turn_open = !self.has_turn_ended_after(at);
                (self.turn_failed, self.lost, self.ended) = (None, None, false);
            }
            Step::TurnEnded { said: last } => {
                if self.has_turn_ended_after(at) {
                    return;
                }
                self.turn_ended = Some(at);
                // Everything that ran in the turn has ended with it.
                self.under_way.retain(|call| call.at > at);
                self.calls_unkept = 0;
                if let Some(text) = last {
                    self.said = Some(timed(at, text));
                }
                if !self.has_request_after(at) {
                    (self.turn_open, self.turn_failed) = (false, None);
                }
            }
            Step::TurnFailed { error } if !self.has_request_after(at) && !self.has_turn_ended_after(at) => {
                self.turn_failed = Some(timed(at, error));
            }
            _ => {}
        }
    }

    fn has_request_after(&self, at: Timestamp) -> bool {
        self.request.as_ref().is_some_and(|request| request.at > at)
    }

    fn has_turn_ended_after(&self, at: Timestamp) -> bool {
        self.turn_ended.is_some_and(|ended| ended > at)
    }

    fn ran(&mut self, at: Timestamp, step: &Step) {
        let Step::Ran { call, command, ending, tests, .. } = step else { return };
        self.end_call(at, call.as_deref());
        let was_run_after = self.was_run_after(at, command);
        let command = bounded(command);
        if let Some(tests) = tests {
            // A hook may report the end of a run without its outcome. The transcript then has the outcome, and the moment at
            // which the run began.
            let is_its_outcome = |last: &TestState| last.ending == Ending::Unknown && last.command == command;
            let before = self.test.as_ref();
            if before.is_none_or(|last| last.at <= at || is_its_outcome(last)) {
                let at = before.filter(|last| is_its_outcome(last)).map_or(at, |last| at.max(last.at));
                let command = command.to_owned();
                self.test = Some(TestState { command, ending: *ending, tests: tests.clone(), at });
            }
        }
        let failed_after = self.failed.as_ref().is_some_and(|failed| failed.at > at);
        match ending {
            _ if failed_after => {}
            Ending::Failed | Ending::Interrupted if was_run_after => {}
            Ending::Failed | Ending::Interrupted => self.failed = Some(timed(at, command)),
            _ if self.failed.as_ref().is_some_and(|failed| failed.text == command) => self.failed = None,
            _ => {}
        }
    }

    /// Whether a later run of a command is among what was done last.
    fn was_run_after(&self, at: Timestamp, command: &str) -> bool {
        self.last.iter().any(|last| last.at > at && is_run_of(&last.text, command))
    }

    fn edited(&mut self, at: Timestamp, path: &str, lines: (u32, u32), digest: Option<&String>) {
        let before = self.files.iter().position(|file| file.path == path).map(|i| self.files.remove(i));
        let edit = FileState {
            path: path.to_owned(),
            added: lines.0,
            removed: lines.1,
            digest: digest.cloned(),
            at,
        };
        let file = match before {
            Some(before) => {
                let (added, removed) = (before.added, before.removed);
                let newest = if before.at > at { before } else { edit };
                let (added, removed) = (added.saturating_add(lines.0), removed.saturating_add(lines.1));
                FileState { added, removed, ..newest }
            }
            None => edit,
        };
        let place = self.files.partition_point(|other| other.at <= file.at);
        self.files.insert(place, file);
        if self.files.len() > FILES_MAX {
            self.files.remove(0);
        }
    }

    /// Takes the agent's own list of steps in place of the one before.
    fn plan(&mut self, at: Timestamp, steps: &[Planned]) {
        if self.planned.is_some_and(|planned| planned > at) {
            return;
        }
        self.planned = Some(at);
        self.steps.clear();
        for planned in steps {
            self.add_step(&planned.text, None);
            if let Some(step) = self.steps.last_mut() {
                step.standing = planned.standing;
            }
        }
    }

    fn begin_call(&mut self, at: Timestamp, call: &str, tool: &str, what: &str) {
        let call = bounded(call);
        // It has ended: by itself, or with its turn.
        if let Some(ended) = self.ended_calls.iter().position(|ended| ended == call) {
            self.ended_calls.remove(ended);
            return;
        }
        if self.has_turn_ended_after(at) {
            return;
        }
        self.under_way.retain(|under_way| under_way.call != call);
        if self.under_way.len() == CALLS_MAX {
            self.under_way.remove(0);
            self.calls_unkept = self.calls_unkept.saturating_add(1);
        }
        let what = bounded(what).to_owned();
        let place = self.under_way.partition_point(|other| other.at <= at);
        self.under_way.insert(place, CallState { call: call.to_owned(), tool: tool.to_owned(), what, at });
    }

    /// Whether a call was under way; now it is not.
    fn forget_call(&mut self, call: Option<&str>) -> bool {
        let before = self.under_way.len();
        let call = call.map(bounded);
        self.under_way.retain(|under_way| call != Some(under_way.call.as_str()));
        self.under_way.len() < before
    }

    fn end_call(&mut self, at: Timestamp, call: Option<&str>) {
        // Its beginning may be reported later, so that it must be known as ended. After the end of the turn, a beginning
        // counts for nothing anyway.
        if let Some(call) = call
            && !self.forget_call(Some(call))
            && !self.has_turn_ended_after(at)
        {
            // Its beginning may have been dropped for newer ones.
            self.calls_unkept = self.calls_unkept.saturating_sub(1);
            push(&mut self.ended_calls, bounded(call).to_owned(), CALLS_MAX);
        }
    }

    /// Adds a step to the plan. If a change of its task was reported before the task, it is there already, without its text.
    fn add_step(&mut self, text: &str, task: Option<&str>) {
        let ahead = self.steps.iter_mut().find(|step| step.is_ahead && step.task.as_deref() == task);
        match ahead {
            Some(step) => (step.text, step.is_ahead) = (bounded(text).to_owned(), false),
            None => {
                self.new_step(text, task);
            }
        }
    }

    /// Appends a step, if the plan has room for it.
    fn new_step(&mut self, text: &str, task: Option<&str>) -> Option<&mut PlanStep> {
        if self.steps.len() >= STEPS_MAX {
            return None;
        }
        let number = u32::try_from(self.steps.len() + 1).unwrap_or(u32::MAX);
        let (text, task) = (bounded(text).to_owned(), task.map(str::to_owned));
        self.steps.push(PlanStep { number, text, standing: Standing::Pending, task, is_ahead: false });
        self.steps.last_mut()
    }

    fn set_step(&mut self, (number, task): (u32, Option<&str>), standing: Standing, text: Option<&str>) {
        let is_meant = |step: &PlanStep| match task {
            Some(task) => step.task.as_deref() == Some(task),
            None => step.number == number,
        };
        let step = match (self.steps.iter().rposition(is_meant), task) {
            (Some(at), _) => &mut self.steps[at],
            // Hooks run side by side, so the report of a task's change may arrive before that of the task.
            (None, Some(task)) => {
                let Some(step) = self.new_step(&format!("task {task}"), Some(task)) else { return };
                step.is_ahead = true;
                step
            }
            (None, None) => return,
        };
        step.standing = standing;
        if let Some(text) = text {
            bounded(text).clone_into(&mut step.text);
        }
        // Progress on a step lifts a block.
        if standing != Standing::Pending {
            self.blocked = None;
        }
    }

    fn let_go(&mut self, holder: &str) {
        self.holders.retain(|one| one.holder != holder);
    }

    fn gate(&mut self, name: &str, standing: Standing, text: Option<&String>) {
        let text = text.map(|text| bounded(text).to_owned());
        if let Some(gate) = self.gates.iter_mut().find(|gate| gate.name == name) {
            (gate.standing, gate.text) = (standing, text);
        } else if self.gates.len() < GATES_MAX {
            self.gates.push(GateState { name: name.to_owned(), standing, text });
        }
    }

    /// Applies a step about an effect. A confirmed effect stays confirmed: nothing may propose it again.
    fn effect(&mut self, seq: u64, step: &Step) {
        let (key, standing) = match step {
            Step::Intent { key, text, repeat } => {
                let text = bounded(text).to_owned();
                let (repeat, standing) = (*repeat, IntentStanding::Open);
                match self.intents.iter_mut().find(|intent| intent.key == *key) {
                    Some(intent) if intent.standing == IntentStanding::Confirmed => {}
                    Some(intent) => (intent.text, intent.repeat, intent.standing) = (text, repeat, standing),
                    None => {
                        self.forget_refuted();
                        self.intents.push(IntentState { key: key.clone(), text, repeat, standing, seq });
                    }
                }
                return;
            }
            Step::Confirmed { key } => (key, IntentStanding::Confirmed),
            Step::Refuted { key, .. } => (key, IntentStanding::Refuted),
            _ => return,
        };
        let open =
            |intent: &&mut IntentState| intent.key == *key && intent.standing != IntentStanding::Confirmed;
        if let Some(intent) = self.intents.iter_mut().find(open) {
            intent.standing = standing;
        }
    }

    /// Makes room among the intents by dropping refuted ones.
    fn forget_refuted(&mut self) {
        if self.intents.len() >= 2 * INTENTS_OPEN_MAX
            && let Some(i) = self.intents.iter().position(|intent| intent.standing == IntentStanding::Refuted)
        {
            self.intents.remove(i);
        }
    }

    /// The effects whose outcome is unknown.
    pub fn open_intents(&self) -> impl Iterator<Item = &IntentState> {
        self.intents.iter().filter(|intent| intent.standing == IntentStanding::Open)
    }

    /// The effect with this key.
    pub fn intent(&self, key: &str) -> Option<&IntentState> {
        self.intents.iter().find(|intent| intent.key == key)
    }

    /// Whether a gate or a block stops the piece of work.
    pub fn is_waiting(&self) -> bool {
        self.blocked.is_some() || self.gates.iter().any(|gate| gate.standing != Standing::Passed)
    }

    /// Whether it was broken off. Anything left half-way counts. An open turn and open steps count only if the session did
    /// not end: a user who ends it wants no more of them.
    pub fn is_broken_off(&self) -> bool {
        let has_open = self.turn_open || self.next_step().is_some();
        self.is_left_half_way() || (has_open && !self.ended)
    }

    /// Whether the last turn failed, or a call began and its end is not known. Such a call may go on after the session, like
    /// a command in the background.
    pub fn is_left_half_way(&self) -> bool {
        self.turn_failed.is_some() || !self.under_way.is_empty()
    }

    /// Whether its session ended and left nothing to do: nothing is half-way, no turn, step or effect is open, and nothing
    /// must be waited for.
    pub fn is_over(&self) -> bool {
        let has_open = self.turn_open || self.next_step().is_some() || self.open_intents().next().is_some();
        self.ended && !self.is_left_half_way() && !has_open && !self.is_waiting()
    }

    /// Whether it was closed as done when its session ended, although something was left half-way. The report of that
    /// arrived only after it was closed.
    pub fn was_closed_too_early(&self) -> bool {
        self.closed == Some(Outcome::Done) && self.ended && self.is_left_half_way()
    }

    /// The next step of the plan: the active one, else the first pending one.
    pub fn next_step(&self) -> Option<&PlanStep> {
        let with = |standing| self.steps.iter().find(|step| step.standing == standing);
        with(Standing::Active).or_else(|| with(Standing::Pending))
    }
}

/// A text as an entry of what was done last.
fn one_line(text: &str) -> String {
    text::cut_chars(&text::one_line(text), LINE_CHARS_MAX).into_owned()
}

/// How the line of an end begins.
const CLOSED: &str = "closed: ";
/// What separates a command from its outcome in a line.
const OUTCOME: &str = " → ";

/// Whether an entry of what was done last is about a run of a command.
pub(crate) fn is_run_of(entry: &str, command: &str) -> bool {
    entry.starts_with(&one_line(&format!("{command}{OUTCOME}")))
}

/// The line of a command that ended with an unknown outcome.
fn with_unknown_outcome(command: &str) -> String {
    format!("{command}{OUTCOME}outcome not reported")
}

/// The entry for a step, if it counts as something done.
fn line(step: &Step, folder: Option<&str>) -> Option<String> {
    Some(match step {
        Step::Ran { command, ending, exit, tests, .. } => {
            let names = tests.as_ref().map_or(String::new(), |tests| match tests.names.as_slice() {
                [] => String::new(),
                names => format!(": {}", names.join(", ")),
            });
            if *ending == Ending::Unknown && exit.is_none() && names.is_empty() {
                return Some(with_unknown_outcome(command));
            }
            let ending = match (ending, exit) {
                (Ending::Interrupted, _) => "interrupted".to_owned(),
                (_, Some(exit)) => format!("exit {exit}"),
                (Ending::Passed, _) => "ok".to_owned(),
                (Ending::Failed, _) => "failed".to_owned(),
                (Ending::Unknown, _) => "outcome not reported".to_owned(),
            };
            format!("{command}{OUTCOME}{ending}{names}")
        }
        Step::Edited { path, added, removed, .. } => {
            format!("edit {} +{added} −{removed}", short_path(folder, path))
        }
        Step::Read { path } => format!("read {path}"),
        Step::Called { tool, what, ending, .. } => {
            let ending = match ending {
                Ending::Failed => " → failed",
                Ending::Interrupted => " → interrupted",
                Ending::Passed | Ending::Unknown => "",
            };
            format!("{tool} {what}{ending}")
        }
        Step::StepSet { task: Some(task), standing: Standing::Passed, .. } => format!("task {task} done"),
        Step::StepSet { step, standing: Standing::Passed, .. } => format!("step {step} done"),
        Step::Decision { text } => format!("decided: {text}"),
        Step::Finding { text } => format!("found: {text}"),
        Step::Confirmed { key } => format!("confirmed {key}"),
        Step::Refuted { key, .. } => format!("did not take place: {key}"),
        Step::Closed { outcome, .. } => format!("{CLOSED}{}", outcome.as_str()),
        _ => return None,
    })
}
