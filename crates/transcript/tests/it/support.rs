//! Reads a transcript at once or in pieces, and renders the result in a short form.

use std::collections::{BTreeMap, BTreeSet};

use cerebro_transcript::turn::{Action, Call, Outcome, PromptKind, Stop, Turn};
use cerebro_transcript::{Agent, Batch, Exchange, State, read};

/// Lines, each ended.
pub fn lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    lines.into_iter().flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}

pub fn read_all(agent: Agent, bytes: &[u8]) -> Batch {
    read(bytes, &State::new(agent, ""))
}

/// What a store has after some readings, and the last state.
#[derive(Debug, PartialEq)]
pub struct Stored {
    pub exchanges: BTreeMap<u32, Exchange>,
    pub withdrawn: BTreeSet<u32>,
    pub last: Batch,
}

/// Reads as a service does: up to each of the cuts, each time from where the last reading ended.
pub fn read_cut(agent: Agent, bytes: &[u8], cuts: &[usize]) -> Stored {
    let mut state = State::new(agent, "");
    let mut exchanges = BTreeMap::new();
    let mut withdrawn = BTreeSet::new();
    let mut last = None;
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        let from = usize::try_from(state.offset).expect("an offset in memory").min(cut);
        // What is stored between readings goes through its stored form.
        let stored = serde_json::to_string(&state).expect("a state as JSON");
        let batch = read(&bytes[from..cut], &serde_json::from_str(&stored).expect("a state from JSON"));
        exchanges.extend(batch.exchanges.iter().map(|exchange| (exchange.seq, exchange.clone())));
        withdrawn.extend(batch.withdrawn.iter().copied());
        state = batch.state.clone();
        last = Some(Batch { exchanges: Vec::new(), withdrawn: Vec::new(), ..batch });
    }
    Stored { exchanges, withdrawn, last: last.expect("one reading at least") }
}

/// A line for each thing that was said or done.
pub fn rendered(batch: &Batch) -> Vec<String> {
    batch.exchanges.iter().flat_map(of_exchange).collect()
}

fn of_exchange(exchange: &Exchange) -> Vec<String> {
    let prompt = exchange.prompt.as_ref().map(|prompt| match prompt.kind {
        PromptKind::Typed => format!("> {}", prompt.text),
        kind => format!("> {} ({kind:?})", prompt.text),
    });
    let begun = prompt.unwrap_or_else(|| format!("> ({})", exchange.part));
    let turns = exchange.turns.iter().map(of_turn);
    let touched = exchange.touched.iter().map(|path| format!("touched {path}"));
    std::iter::once(begun).chain(turns).chain(touched).collect()
}

fn of_turn(turn: &Turn) -> String {
    match turn {
        Turn::Reply { text, .. } => text.clone(),
        Turn::Call(call) => of_call(call),
        Turn::Compaction { summary, .. } => format!("compaction {summary}"),
        Turn::Stopped { by: Stop::Person, .. } => "interrupted".into(),
        Turn::Stopped { by: Stop::Service, .. } => "service failed".into(),
        Turn::PullRequest { url, .. } => format!("pull request {url}"),
    }
}

fn of_call(call: &Call) -> String {
    let what = match &call.action {
        Action::Edit { paths, .. } => format!("edit {}", paths.join(",")),
        Action::Read { paths } => format!("read {}", paths.join(",")),
        Action::Command { line } => format!("$ {line}"),
        other => format!("{} {other:?}", call.tool),
    };
    let came = match &call.outcome {
        Outcome::Pending => "…".to_owned(),
        Outcome::Done => format!("ok {}", call.output),
        Outcome::Failed => format!("failed {} {}", call.exit.unwrap_or(-1), call.output),
        Outcome::Rejected { said } => format!("refused {said}"),
        Outcome::Skipped => "skipped".to_owned(),
    };
    let by = if call.delegated { " by a sub-agent" } else { "" };
    format!("{what} = {}{by}", came.trim_end())
}
