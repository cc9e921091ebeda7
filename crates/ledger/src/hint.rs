//! The hint for the agent that continues: facts of the journal, checked against the world, never orders.
//!
//! The text goes into an agent's context, so each line is inert ([`inert`]). Where a stored text reads like an instruction,
//! the hint has a note of its flag in its place. The hint has a bound: long lines are cut first, then the least important
//! lines are dropped.

use cerebro_core::domain::Timestamp;
use cerebro_core::{
    taint,
    text::{self, inert},
};

use crate::{
    Action, CallState, Ending, IntentState, Outcome, PlanStep, Repeat, Standing, State, Unfinished, Work,
    World, anchor::ROOT_DIGITS_MIN, fold::is_run_of, limits::HINT_BYTES_RANGE, state::short_path,
    work::is_provisional,
};

/// Longest request that is quoted, in characters.
const REQUEST_CHARS_MAX: usize = 400;
/// Longest title, step or command in a line, in characters.
const PIECE_CHARS_MAX: usize = 120;
/// Longest quote of the agent's last words, in characters.
const SAID_CHARS_MAX: usize = 300;
/// Longest entry of what was done last, in characters.
const LAST_CHARS_MAX: usize = 160;
/// Longest piece of a line that must be kept, in bytes.
const SHORT_BYTES_MAX: usize = 110;
/// Longest command of a test run, in bytes: what failed follows it.
const TEST_BYTES_MAX: usize = 80;
/// Before any line is dropped, long ones are cut to a share of the room: to a fourth, then to a sixth, then to a tenth.
const SHARES: [usize; 3] = [4, 6, 10];
/// When only lines are left that must be shown, they are cut to this share.
const LEAST_SHARE: usize = 16;
/// The highest rank of the lines that must be shown: effects of unknown outcome, the last request, the edited files, the
/// failing test, and the newest call under way.
const NEEDED: u8 = 2;
/// Most files named in one line.
const FILES_SHOWN_MAX: usize = 8;
/// Most effects of unknown outcome that are named, and most calls.
const EFFECTS_SHOWN_MAX: usize = 8;
const CALLS_SHOWN_MAX: usize = 5;
/// Most other tasks that are named with their next step, most other pieces of work whose call of unknown outcome is named,
/// and most that are named by their ids.
const TASKS_SHOWN_MAX: usize = 3;
const OTHER_CALLS_SHOWN_MAX: usize = 3;
const OTHERS_SHOWN_MAX: usize = 5;
/// Most open steps of the plan that are named, and most remarks.
const STEPS_SHOWN_MAX: usize = 3;
const REMARKS_SHOWN_MAX: usize = 3;

/// What a piece of work needs.
pub fn action(state: &State, world: &World) -> Action {
    match state.closed {
        Some(Outcome::Failed) => return Action::Failed,
        Some(_) => return Action::Complete,
        None => {}
    }
    if world.held_by.is_some() {
        Action::Held
    } else if state.open_intents().any(|intent| intent.repeat != Repeat::Safe) {
        Action::CheckFirst
    } else if state.is_waiting() {
        Action::WaitGate
    } else {
        Action::Resume
    }
}

/// The hint, at most `max` bytes; `max` is clamped to [`HINT_BYTES_RANGE`].
pub fn hint(work: &Work, state: &State, world: &World, max: usize) -> String {
    let max = max.clamp(HINT_BYTES_RANGE.0, HINT_BYTES_RANGE.1);
    let mut lines = Lines::default();
    lines.add(0, Some(headline(work, state, world)));
    for line in effects(state, world, max / 2) {
        lines.add(1, Some(line));
    }
    for line in others(world) {
        lines.add(3, Some(line));
    }
    lines.add(5, first_request(work, state, world));
    lines.add(NEEDED, request(work, state, world));
    lines.add(7, said(state, world));
    lines.add(5, goal(state));
    lines.add(4, steps(state));
    lines.add(6, remarks(state));
    lines.add(if is_passing(state) { 8 } else { NEEDED }, tested(state));
    lines.add(NEEDED, edited(state));
    lines.add(8, failed(state));
    lines.add(9, last(state));
    for (n, line) in calls(state, world).into_iter().enumerate() {
        lines.add(if n == 0 { NEEDED } else { 4 }, Some(line));
    }
    for line in calls_of_others(world) {
        lines.add(4, Some(line));
    }
    lines.add(6, waiting(state));
    lines.add(8, changed(state, world));
    lines.add(7, live(state, world));
    lines.add(9, gaps(state));
    lines.add(4, turn(state));
    lines.add(9, until(work, state));
    lines.add(0, Some(foot(work, world)));
    lines.fit(max)
}

/// Lines in order, each with its priority for dropping: the highest number goes first.
#[derive(Default)]
struct Lines(Vec<(u8, String)>);

impl Lines {
    fn add(&mut self, rank: u8, line: Option<String>) {
        if let Some(line) = line {
            let line = inert(&text::one_line(&line)).into_owned();
            // Each piece was checked before, but the whole line may still read like an instruction.
            let line = match (taint::left_out(&line), line.split_once(": ")) {
                (None, _) => line,
                (Some(note), Some((label, _))) => format!("{label}: {note}"),
                (Some(note), None) => note,
            };
            self.0.push((rank, line));
        }
    }

    fn fit(mut self, max: usize) -> String {
        for share in SHARES {
            self.cut_to(max, share, 1);
        }
        self.drop_down_to(NEEDED, max);
        // The rule of an effect stands at the end of its line.
        self.cut_to(max, LEAST_SHARE, 2);
        self.drop_down_to(0, max);
        let lines: Vec<String> = self.0.into_iter().map(|(_, line)| line).collect();
        text::cut_bytes(&lines.join("\n"), max).to_owned()
    }

    fn is_within(&self, max: usize) -> bool {
        self.0.iter().map(|(_, line)| line.len() + 1).sum::<usize>() <= max + 1
    }

    /// If it is too long, cuts the lines from a rank on to a share of the room.
    fn cut_to(&mut self, max: usize, share: usize, from: u8) {
        if !self.is_within(max) {
            for (_, line) in self.0.iter_mut().filter(|(rank, _)| *rank >= from) {
                *line = cut(line, max / share);
            }
        }
    }

    /// Drops the lines of the highest ranks, while it is too long and they are higher than a rank.
    fn drop_down_to(&mut self, least: u8, max: usize) {
        while !self.is_within(max)
            && let Some((at, (rank, _))) = self.0.iter().enumerate().max_by_key(|(_, (rank, _))| *rank)
            && *rank > least
        {
            self.0.remove(at);
        }
    }
}

fn piece(text: &str) -> String {
    quoted(text, PIECE_CHARS_MAX)
}

/// A stored text on one line, or the note of its flag if it reads like an instruction.
fn quoted(text: &str, max: usize) -> String {
    let line = text::one_line(text);
    let shown = text::cut_chars(&inert(&line), max).into_owned();
    taint::left_out(&shown).unwrap_or(shown)
}

/// A piece of a line that must be kept.
fn short(text: &str) -> String {
    cut(&piece(text), SHORT_BYTES_MAX)
}

/// At most `max` bytes of a line, with a mark where it is cut.
fn cut(line: &str, max: usize) -> String {
    const MARK: &str = "…";
    if line.len() <= max {
        return line.to_owned();
    }
    format!("{}{MARK}", text::cut_bytes(line, max.saturating_sub(MARK.len())))
}

/// An agent's own name, which differs from that of its MCP client for some.
fn own_name(agent: &str) -> &str {
    agent.strip_suffix("-mcp-client").unwrap_or(agent)
}

/// A moment in UTC: the time, and the date if it is not today's.
fn clock(at: Timestamp, now: Timestamp) -> String {
    let day = |at: Timestamp| at.strftime("%Y-%m-%d").to_string();
    let form = if day(at) == day(now) { "%H:%M UTC" } else { "%Y-%m-%d %H:%M UTC" };
    at.strftime(form).to_string()
}

fn headline(work: &Work, state: &State, world: &World) -> String {
    let word = match state.closed {
        Some(Outcome::Unknown) => work.outcome.unwrap_or(Outcome::Unknown).as_str(),
        Some(outcome) => outcome.as_str(),
        None => "unfinished",
    };
    let when = match (state.lost, &state.turn_failed) {
        (Some(at), _) => format!(", lost {}", clock(at, world.now)),
        (None, Some(failed)) => {
            format!(", its turn broke off {}: {}", clock(failed.at, world.now), short(&failed.text))
        }
        (None, None) if state.ended => ", ended".to_owned(),
        (None, None) => String::new(),
    };
    let doing = state
        .under_way
        .last()
        .map_or(String::new(), |call| format!(" while running `{}`, outcome unknown", short(&call.what)));
    let agent = if state.agent.is_empty() { work.agent.as_str() } else { &state.agent };
    let mut word = word.to_owned();
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("{word}: \"{}\" ({}{when}{doing})", title(work, state), short(own_name(agent)))
}

/// The title, as the headline shows it.
fn title(work: &Work, state: &State) -> String {
    short(if state.title.is_empty() { &work.title } else { &state.title })
}

/// The first request, which often has conditions for all that follows; not if the headline shows all of it, or it says nothing.
fn first_request(work: &Work, state: &State, world: &World) -> Option<String> {
    let (first, last) = (state.first_request.as_ref()?, state.request.as_ref()?);
    let text = quoted(&first.text, REQUEST_CHARS_MAX);
    let is_news = first.text != last.text && text != title(work, state) && !is_provisional(&first.text);
    is_news.then(|| format!("First request {}: \"{text}\"", clock(first.at, world.now)))
}

fn request(work: &Work, state: &State, world: &World) -> Option<String> {
    let request = state.request.as_ref()?;
    let (text, when) = (quoted(&request.text, REQUEST_CHARS_MAX), clock(request.at, world.now));
    let text = if text == title(work, state) { "the title above".to_owned() } else { format!("\"{text}\"") };
    Some(format!("Last request {when}: {text}"))
}

/// What the agent said at the end of its last turn: often what it decided, and what it meant to do next.
fn said(state: &State, world: &World) -> Option<String> {
    let said = state.said.as_ref()?;
    let text = quoted(&said.text, SAID_CHARS_MAX);
    Some(format!("The agent's last words {}: \"{text}\"", clock(said.at, world.now)))
}

fn goal(state: &State) -> Option<String> {
    state.goal.as_deref().map(|goal| format!("Goal: {}", piece(goal)))
}

fn steps(state: &State) -> Option<String> {
    let wanted = state.steps.iter().filter(|step| step.standing != Standing::Dropped);
    let (done, open): (Vec<_>, Vec<_>) = wanted.partition(|step| step.standing == Standing::Passed);
    if done.is_empty() && open.is_empty() {
        return None;
    }
    let next = state.next_step().filter(|_| state.closed.is_none());
    let name = |step: &PlanStep| format!("{} {}", step.number, piece(&step.text));
    let mut parts = vec![format!("{} of {} done", done.len(), done.len() + open.len())];
    parts.extend(next.map(|next| format!("next by its plan: {}", name(next))));
    let rest: Vec<&PlanStep> = open.into_iter().filter(|step| Some(*step) != next).collect();
    let shown = rest.len().min(STEPS_SHOWN_MAX - usize::from(next.is_some()));
    let names = rest[..shown].iter().map(|step| name(step)).collect::<Vec<_>>().join("; ");
    parts.extend((shown > 0).then(|| format!("open: {names}")));
    parts.extend(and_more(rest.len() - shown));
    Some(format!("Steps: {}", parts.join("; ")))
}

/// The end of a list that leaves some out.
fn and_more(count: usize) -> Option<String> {
    (count > 0).then(|| format!("and {count} more"))
}

/// The newest decisions, findings and notes that are not among what was done last.
fn remarks(state: &State) -> Option<String> {
    let is_news = |text: &str| {
        let text = text::one_line(text);
        // Its beginning, because an entry of what was done last may be cut.
        let end = text.char_indices().nth(PIECE_CHARS_MAX).map_or(text.len(), |(end, _)| end);
        !state.last.iter().any(|last| last.text.contains(&text[..end]))
    };
    let news = state.remarks.iter().rev().filter(|remark| is_news(&remark.text));
    let shown: Vec<String> = news.take(REMARKS_SHOWN_MAX).map(|remark| piece(&remark.text)).collect();
    (!shown.is_empty()).then(|| format!("Noted: {}", shown.into_iter().rev().collect::<Vec<_>>().join(" · ")))
}

fn is_passing(state: &State) -> bool {
    state.test.as_ref().is_some_and(|test| test.ending == Ending::Passed)
}

/// The last test run, and how many files were edited after it: then its outcome says little of the code as it is.
fn tested(state: &State) -> Option<String> {
    let test = state.test.as_ref()?;
    // A run may fail although no test did: a later part of it did not compile.
    let count = if is_passing(state) {
        test.tests.passed.map(|count| format!("{count} passed"))
    } else {
        test.tests.failed.filter(|count| *count > 0).map(|count| format!("{count} failed"))
    };
    let names = test.tests.names.iter().map(|name| piece(name)).collect::<Vec<_>>().join(", ");
    let names = Some(names).filter(|names| !names.is_empty() && !is_passing(state));
    let results = count.into_iter().chain(names).collect::<Vec<_>>().join(": ");
    let outcome = match test.ending {
        _ if !results.is_empty() => results.as_str(),
        Ending::Passed => "passed",
        Ending::Failed => "failed",
        Ending::Interrupted => "interrupted",
        Ending::Unknown => "outcome not reported",
    };
    let edited = state.files.iter().filter(|file| file.at > test.at).count();
    let edited =
        if edited > 0 { format!("; {} edited since", text::counted(edited, "file")) } else { String::new() };
    Some(format!("Last test run: `{}` → {outcome}{edited}", cut(&piece(&test.command), TEST_BYTES_MAX)))
}

/// The last command that failed and did not pass since, if no other line names it.
fn failed(state: &State) -> Option<String> {
    let failed = state.failed.as_ref()?;
    let is_test = state.test.as_ref().is_some_and(|test| test.command == failed.text);
    let is_shown = is_test || state.last.iter().any(|last| is_run_of(&last.text, &failed.text));
    (!is_shown).then(|| format!("Failed, and not passed since: `{}`", piece(&failed.text)))
}

fn edited(state: &State) -> Option<String> {
    let newest = state.files.iter().rev().take(FILES_SHOWN_MAX);
    let files: Vec<String> =
        newest.map(|file| format!("{} +{} −{}", path(state, &file.path), file.added, file.removed)).collect();
    let more = and_more(state.files.len().saturating_sub(files.len()));
    let more = more.map_or(String::new(), |more| format!(" · {more}"));
    // Paths below it are shown without it.
    let is_below = |folder: &str, path: &str| text::below(folder, path).is_some() || !path.starts_with('/');
    let has_below = |folder: &&str| state.files.iter().any(|file| is_below(folder, &file.path));
    let folder = state.directory.as_deref().filter(has_below);
    let folder =
        folder.map(|folder| format!(" (in {})", piece(&short_path(None, folder)))).unwrap_or_default();
    (!files.is_empty()).then(|| format!("Edited: {}{more}{folder}", files.join(" · ")))
}

/// The path of a file that a work names.
fn path(state: &State, path: &str) -> String {
    piece(&short_path(state.directory.as_deref(), path))
}

fn last(state: &State) -> Option<String> {
    let lines: Vec<String> = state.last.iter().map(|entry| quoted(&entry.text, LAST_CHARS_MAX)).collect();
    (!lines.is_empty()).then(|| format!("Last {}: {}", lines.len(), lines.join(" · ")))
}

/// The lines about effects of unknown outcome, of this work and of the others. Those that must not be repeated come first. If
/// there are more than fit into `max` bytes, the last line has the number of the rest.
fn effects(state: &State, world: &World, max: usize) -> Vec<String> {
    let own = state.open_intents().map(|intent| (intent, String::new()));
    let others = world.others.iter().flat_map(|other| {
        other.effects.iter().map(move |intent| (intent, format!(", in work {}", other.id)))
    });
    let mut all: Vec<(&IntentState, String)> = own.chain(others).collect();
    all.sort_by_key(|(intent, _)| std::cmp::Reverse(intent.repeat));
    let line = |(intent, place): &(&IntentState, String)| {
        let rule = match intent.repeat {
            Repeat::Safe => "may be repeated under its key",
            Repeat::Check => "to be checked before it is repeated",
            Repeat::Never => "for a person to decide",
        };
        format!(
            "Unknown outcome: {} (key {}): {rule}{place}",
            short(&intent.text),
            cut(&piece(&intent.key), 60)
        )
    };
    let mut lines: Vec<String> = all.iter().take(EFFECTS_SHOWN_MAX).map(line).collect();
    while lines.len() > 1 && lines.iter().map(String::len).sum::<usize>() > max {
        lines.pop();
    }
    let more = all.len() - lines.len();
    if more > 0 {
        lines.push(format!("Unknown outcome: {more} more effects, which `cerebro work sweep` lists"));
    }
    lines
}

/// The other pieces of work that are unfinished: tasks with their next step, the rest by their ids.
fn others(world: &World) -> Vec<String> {
    let (tasks, sessions): (Vec<_>, Vec<_>) = world.others.iter().partition(|other| other.is_task);
    let task = |other: &&Unfinished| {
        let next =
            other.next.as_ref().map_or(String::new(), |next| format!(", next by its plan: {}", short(next)));
        format!("Open task: \"{}\" (work {}){next}", short(&other.title), other.id)
    };
    let mut lines: Vec<String> = tasks.iter().take(TASKS_SHOWN_MAX).map(task).collect();
    let rest: Vec<String> =
        tasks.iter().skip(TASKS_SHOWN_MAX).chain(&sessions).map(|other| other.id.to_string()).collect();
    if !rest.is_empty() {
        let dots = if rest.len() > OTHERS_SHOWN_MAX { " …" } else { "" };
        let ids = rest.iter().take(OTHERS_SHOWN_MAX).cloned().collect::<Vec<_>>().join(" ");
        lines.push(format!(
            "Also unfinished: {} more, which `cerebro work list` lists: {ids}{dots}",
            rest.len()
        ));
    }
    lines
}

/// The calls that had begun, the newest first.
fn calls(state: &State, world: &World) -> Vec<String> {
    let line = |call: &CallState| {
        let (tool, when) = (cut(&piece(&call.tool), 40), clock(call.at, world.now));
        format!("Unknown outcome: {tool} `{}` had begun {when}", short(&call.what))
    };
    let mut lines: Vec<String> = state.under_way.iter().rev().take(CALLS_SHOWN_MAX).map(line).collect();
    let unkept = state.calls_unkept as usize;
    let more = state.under_way.len().saturating_sub(CALLS_SHOWN_MAX) + unkept;
    if more > 0 {
        let unkept = if unkept > 0 { format!(", of which {unkept} are not kept") } else { String::new() };
        lines.push(format!("Unknown outcome: {more} more calls had begun earlier{unkept}"));
    }
    lines
}

/// The last call of each other piece of work of which only the beginning is known.
fn calls_of_others(world: &World) -> Vec<String> {
    let line = |other: &Unfinished| {
        let call = short(other.call.as_ref()?);
        Some(format!("Unknown outcome: `{call}` had begun, in work {}", other.id))
    };
    world.others.iter().filter_map(line).take(OTHER_CALLS_SHOWN_MAX).collect()
}

fn waiting(state: &State) -> Option<String> {
    if let Some(blocked) = &state.blocked {
        return Some(format!("Blocked: {}", piece(&blocked.text)));
    }
    let gates: Vec<String> = state
        .gates
        .iter()
        .filter(|gate| gate.standing != Standing::Passed)
        .map(|gate| {
            let word = if gate.standing == Standing::Failed { "failed" } else { "pending" };
            let text = gate.text.as_ref().map_or(String::new(), |text| format!(": {}", piece(text)));
            format!("{} {word}{text}", piece(&gate.name))
        })
        .collect();
    (!gates.is_empty()).then(|| format!("Gates: {}", gates.join("; ")))
}

/// The line about the checkout: its commit beside that at the beginning of the work, and the files that changed since.
fn changed(state: &State, world: &World) -> Option<String> {
    let short = |commit: &str| text::cut_bytes(commit, 12).to_owned();
    let head = match (&state.commit, &world.commit) {
        (Some(then), Some(now)) if then != now => {
            Some(format!("HEAD {}, {} when it began", short(now), short(then)))
        }
        (Some(then), Some(_)) => Some(format!("HEAD {} as when it began", short(then))),
        _ => None,
    };
    let parts: Vec<String> = head.into_iter().chain(changed_files(state, world)).collect();
    (!parts.is_empty()).then(|| format!("Checkout now: {}", parts.join("; ")))
}

/// What became of the files that the work edited, as far as they were examined.
fn changed_files(state: &State, world: &World) -> Vec<String> {
    let (mut changed, mut same) = (Vec::new(), 0);
    for file in &state.files {
        let seen = world.files.iter().find(|seen| seen.path == file.path);
        match (seen.map(|seen| &seen.digest), &file.digest) {
            (Some(None), _) => changed.push(format!("{} is gone", path(state, &file.path))),
            (Some(now), Some(_)) if *now != file.digest => {
                changed.push(format!("{} changed (not by this work)", path(state, &file.path)));
            }
            (Some(_), Some(_)) => same += 1,
            _ => {}
        }
    }
    if same > 0 && same == state.files.len() {
        return vec!["the edited files are as it left them".to_owned()];
    }
    let more = and_more(changed.len().saturating_sub(FILES_SHOWN_MAX));
    changed.truncate(FILES_SHOWN_MAX);
    changed.extend(more);
    changed
}

fn live(state: &State, world: &World) -> Option<String> {
    let own: Vec<String> = state.edited_paths().collect();
    let others: Vec<String> = world
        .live
        .iter()
        .filter_map(|other| {
            let same = other.files.iter().find(|path| own.contains(path))?;
            let minutes = world.now.duration_since(other.active_at).as_secs().max(0) / 60;
            Some(format!(
                "{} ({minutes} min ago) edited {}",
                piece(own_name(&other.agent)),
                path(state, same)
            ))
        })
        .take(3)
        .collect();
    let held = world.held_by.as_ref().map(|holder| format!("held by {}", piece(holder)));
    let parts: Vec<String> = held.into_iter().chain(others).collect();
    (!parts.is_empty()).then(|| format!("Also live here: {}", parts.join("; ")))
}

fn gaps(state: &State) -> Option<String> {
    if state.gaps.times == 0 {
        return None;
    }
    let count =
        if state.gaps.events > 0 { format!("{} events", state.gaps.events) } else { "events".to_owned() };
    let reason = state.gaps.reason.as_deref().map_or(String::new(), |reason| format!(" ({})", piece(reason)));
    Some(format!("Not recorded: {count}{reason}"))
}

/// The line about the turn of the last request, if that broke off.
fn turn(state: &State) -> Option<String> {
    match (&state.turn_failed, state.lost) {
        _ if state.closed.is_some() => None,
        // The headline says it.
        (Some(_), None) => None,
        (Some(failed), Some(_)) => {
            Some(format!("The turn of the last request broke off: {}", piece(&failed.text)))
        }
        (None, _) => state.turn_open.then(|| "The turn of the last request has no end".to_owned()),
    }
}

/// The line that says how to close the work of an agent that is gone. Until then, each session that begins is shown it.
fn until(work: &Work, state: &State) -> Option<String> {
    let is_left = (state.lost.is_some() || state.ended) && state.closed.is_none();
    is_left.then(|| format!("Counts as unfinished until `cerebro work close {}`", work.id))
}

fn foot(work: &Work, world: &World) -> String {
    let head = world.head.as_ref().map_or(String::new(), |(size, root)| {
        format!("  log {size} {}", text::cut_bytes(root, ROOT_DIGITS_MIN))
    });
    format!("work {} event {}{head}", work.id, work.seq)
}
