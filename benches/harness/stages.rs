//! Where calls spend their time: the spans that the daemon logs at `debug`.

use std::collections::BTreeMap;

use super::stats::{mean, median};

/// Stages of calls, from outside in: the innermost span of a line, and what it is.
pub type Stages = [(&'static str, &'static str)];

pub const SAVE: (&str, &Stages) = (
    "mem_save",
    &[
        ("tool", "the call in the daemon, without `rmcp`"),
        ("arguments", "reading and redacting the arguments"),
        ("save", "the use case"),
        ("fields", "validating, redacting, normalising"),
        ("suggest", "suggesting a topic key"),
        ("near", "asking the index for near-identical memories"),
        ("statement{name=commit}", "the transaction"),
        ("follow", "handing the memory to the index"),
        ("similar", "comparing with near-identical memories"),
    ],
);

pub const SEARCH: (&str, &Stages) = (
    "mem_search",
    &[
        ("tool", "the call in the daemon, without `rmcp`"),
        ("arguments", "reading and redacting the arguments"),
        ("search", "the use case"),
        ("question", "the vector of the question"),
        ("compare", "comparing it with the vectors of the project"),
        ("words", "looking for the words, beside both"),
        ("gather", "gathering what holds them, and who stands next to the best, beside both"),
        ("awaited", "waiting for what is near in meaning"),
        ("join", "adding what is near, and who stands next to it"),
        ("rank", "one score of all signals"),
        ("show", "reading the hits and cutting their previews"),
        ("elsewhere", "looking at other projects, where the match is not strong"),
    ],
);

/// The stages of the calls of a tool that a daemon's log has, as Markdown; `client_ms` is what the client saw.
pub fn table(log: &str, (tool, stages): (&str, &Stages), client_ms: f64) -> String {
    let call = format!("tool{{name={tool}}}");
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in log.lines().map(|line| line.replace('"', "")).filter(|line| line.contains(&call)) {
        let line = line.as_str();
        if let Some((span, ms)) = closed(line) {
            times.entry(span).or_default().push(ms);
        }
    }
    let mut rows = format!(
        "| stage | a call | median ms | mean ms |\n|---|---:|---:|---:|\n| client | 1 | {client_ms:.2} | |\n"
    );
    let calls = times.get(&call).map_or(1, Vec::len) as f64;
    for (stage, what) in stages {
        let name = if *stage == "tool" { &call } else { *stage };
        let Some(times) = times.get(name) else { continue };
        let often = times.len() as f64 / calls;
        let (median, mean) = (median(times), mean(times));
        rows.extend([format!("| `{stage}`: {what} | {often:.2} | {median:.3} | {mean:.3} |\n")]);
    }
    rows
}

/// The innermost span of a line about its end, and how long it lived.
fn closed(line: &str) -> Option<(String, f64)> {
    let (before, times) = line.split_once(": close time.busy=")?;
    let (busy, idle) = times.split_once(" time.idle=")?;
    // `…DEBUG outer{field=1}:inner: cerebro::module`
    let (spans, _target) = before.rsplit_once(": ")?;
    let spans = spans.split_once("DEBUG ").map_or(spans, |(_, spans)| spans);
    let (mut open, mut start) = (0, 0);
    for (at, c) in spans.char_indices() {
        open += i32::from(c == '{') - i32::from(c == '}');
        if c == ':' && open == 0 {
            start = at + 1;
        }
    }
    Some((spans[start..].trim().to_owned(), milliseconds(busy)? + milliseconds(idle.trim())?))
}

fn milliseconds(text: &str) -> Option<f64> {
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..unit].parse().ok()?;
    match &text[unit..] {
        "ns" => Some(number / 1e6),
        "µs" => Some(number / 1e3),
        "ms" => Some(number),
        "s" => Some(number * 1e3),
        _ => None,
    }
}
