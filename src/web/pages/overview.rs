//! The first page: the amount of data, saves and searches, connected agents, the state of the daemon.

use std::{collections::BTreeSet, sync::Arc};

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use super::Item;
use super::prelude::*;
use crate::answer::{
    Text,
    daemon::{Call, Client},
    projects::Project,
    stats::Stats,
};
use crate::view::{self, DAYS_MAX, Fact, span};
use crate::web::{
    backend::{Counts, Figures},
    html::chart::{Chart, Column},
};
use cerebro_core::operation::Operation;

/// Most projects that are named.
const PROJECTS_MAX: usize = 8;
/// Most agents that are named.
const AGENTS_MAX: usize = 12;
/// Hours of the chart of calls.
const HOURS: i64 = 24;

struct Number {
    value: String,
    name: &'static str,
    /// The address that it links to, if any.
    href: &'static str,
}

struct Agent {
    name: String,
    project: String,
    calls: String,
    last: When,
}

struct ProjectLine {
    name: String,
    href: String,
    memories: String,
}

/// A fact with its mark: `well`, `ill` or `plain`.
pub(super) struct FactLine {
    pub mark: &'static str,
    pub said: &'static str,
    pub name: &'static str,
    pub words: String,
    pub todo: Option<&'static str>,
    /// The page for the advice; empty if there is none.
    pub href: &'static str,
}

impl FactLine {
    pub(super) fn of(fact: Fact) -> Self {
        let (mark, said) = match fact.well {
            Some(true) => ("well", "well: "),
            Some(false) => ("ill", "not well: "),
            None => ("plain", ""),
        };
        // In a terminal, the advice names a page. Here it is a link to that page.
        let (href, todo) = match (fact.name, fact.todo) {
            ("alike", Some(_)) => ("/pairs?which=twins", Some("See both side by side, and keep one")),
            ("review", Some(_)) => ("/pairs", Some("See both side by side, and settle which one holds")),
            ("distil", todo) => ("/inbox", todo),
            (_, todo) => ("", todo),
        };
        Self { mark, said, name: fact.name, words: fact.words, todo, href }
    }
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    shell: Shell,
    numbers: Vec<Number>,
    saves: Chart,
    saves_said: String,
    calls: Chart,
    calls_said: String,
    facts: Vec<FactLine>,
    agents: Vec<Agent>,
    agents_more: usize,
    projects: Vec<ProjectLine>,
    projects_more: usize,
    latest: Vec<Item>,
    /// The time of the count; empty before the first one.
    counted: When,
}

pub(in crate::web) async fn show(Asked { shared, locale, parts }: Asked) -> Page {
    let figures = shared.backend.figures().await?;
    let counts = Arc::clone(&figures.counts);
    let (saves, saves_said) = saves(&counts, &locale);
    let (calls, calls_said) = calls(&figures.calls, Timestamp::now(), &locale);
    let agent = |client: &Client| Agent {
        name: if client.agent.is_empty() { "silent so far".to_owned() } else { client.agent.line() },
        project: super::named(&client.project.line()),
        calls: super::counted(&locale, client.calls, "call", "calls"),
        last: locale.clock(client.last_at.as_ref().and_then(Text::moment)),
    };
    let project = |known: &Project| {
        let name = known.project.line();
        ProjectLine {
            href: place_of(&name),
            name: if name.is_empty() { "personal".to_owned() } else { super::named(&name) },
            memories: locale.count(known.memories),
        }
    };
    Ok(shell::ok(&OverviewPage {
        shell: Shell::titled("Overview", "/").done(parts.get("done")),
        numbers: numbers(&counts, &locale),
        saves,
        saves_said,
        calls,
        calls_said,
        facts: facts(&figures)
            .into_iter()
            .chain(counts.stats.as_ref().and_then(spend))
            .chain(counts.stats.iter().flat_map(|stats| view::problems(&stats.health)))
            .map(FactLine::of)
            .collect(),
        agents: figures.clients.iter().take(AGENTS_MAX).map(agent).collect(),
        agents_more: figures.clients.len().saturating_sub(AGENTS_MAX),
        projects: counts.projects.iter().take(PROJECTS_MAX).map(project).collect(),
        projects_more: counts.projects.len().saturating_sub(PROJECTS_MAX),
        latest: figures.latest.iter().map(|row| Item::of(row.clone(), &locale)).collect(),
        counted: locale.moment(counts.at),
    }))
}

/// The address of a project's memories. The empty project stands for the personal ones.
pub(super) fn place_of(project: &str) -> String {
    match project {
        "" => link::with_query("/memories", &[("scope", "personal")]),
        name => link::with_query("/memories", &[("project", name)]),
    }
}

fn numbers(counts: &Counts, locale: &Locale) -> Vec<Number> {
    let shown = |words: &dyn Fn(&Stats) -> String| counts.stats.as_ref().map_or("–".to_owned(), words);
    let count = |count: fn(&Stats) -> u64| shown(&|stats| locale.count(count(stats)));
    let number = |value, name, href| Number { value, name, href };
    vec![
        number(count(|stats| stats.memories.live), "memories", "/memories"),
        number(count(|stats| stats.sessions), "sessions", "/sessions"),
        number(count(|stats| stats.prompts), "prompts", ""),
        number(count(|stats| stats.edges.relates_to), "relations", "/graph"),
        number(count(|stats| stats.memories.deleted), "deleted", "/memories?deleted=1"),
        number(shown(&|stats| locale.bytes(stats.disk_bytes)), "on disk", ""),
    ]
}

fn saves(counted: &Counts, locale: &Locale) -> (Chart, String) {
    let today = counted.at.unwrap_or_else(Timestamp::now).to_zoned(TimeZone::UTC).date();
    let (first, counts) = view::saves_by_day(&counted.days, today, DAYS_MAX - 2);
    let columns: Vec<Column> = std::iter::successors(Some(first), |day| day.tomorrow().ok())
        .zip(&counts)
        .map(|(day, count)| Column { name: locale.day(day), parts: vec![*count] })
        .collect();
    let chart = Chart::of(&columns, |column, _| {
        format!("{}: {}", column.name, locale.count(column.parts.iter().sum()))
    });
    let said = format!(
        "{} saves in {} days, at most {} a day",
        locale.count(chart.sum),
        columns.len(),
        locale.count(chart.most)
    );
    (chart, said)
}

/// The calls of the last hours. In each bar, those that recall are below, all others above.
fn calls(calls: &[Call], now: Timestamp, locale: &Locale) -> (Chart, String) {
    let recalls: BTreeSet<&str> =
        [Operation::Search, Operation::Context, Operation::GetObservation, Operation::Timeline]
            .map(Operation::name)
            .into();
    let hour = |at: Timestamp| at.as_second().div_euclid(3_600);
    let first = hour(now) - (HOURS - 1);
    let mut counts = vec![[0_u64; 2]; usize::try_from(HOURS).unwrap_or(0)];
    for (call, at) in calls.iter().filter_map(|call| Some((call, call.at.moment()?))) {
        let column = usize::try_from(hour(at) - first).ok().and_then(|n| counts.get_mut(n));
        if let Some(column) = column {
            column[usize::from(!recalls.contains(call.tool.raw()))] += 1;
        }
    }
    let columns: Vec<Column> = (0_i64..)
        .zip(&counts)
        .map(|(n, parts)| {
            let ago = SignedDuration::from_hours(HOURS - 1 - n);
            let at = now.saturating_sub(ago).unwrap_or(now).to_zoned(locale.zone.clone());
            Column { name: at.strftime("%H:00").to_string(), parts: parts.to_vec() }
        })
        .collect();
    let chart = Chart::of(&columns, |column, part| {
        let what = if part == 0 { "recalled" } else { "other calls" };
        format!("{}: {} {what}", column.name, locale.count(column.parts[part]))
    });
    let recalled: u64 = counts.iter().map(|parts| parts[0]).sum();
    let said = format!("{} of {} calls recalled something", locale.count(recalled), locale.count(chart.sum));
    (chart, said)
}

/// The facts: first the daemon, then those of the screens, then backups.
pub(super) fn facts(figures: &Figures) -> Vec<Fact> {
    let status = &figures.status;
    let (version, up) = (status.version.line(), span(status.uptime_s));
    let daemon = Fact::new(Some(true), "daemon", format!("{version}, up {up}, process {}", status.pid));
    let last = status.backup.clone().unwrap_or_default();
    let backup = match (last.made_at.as_ref().and_then(Text::moment), last.failure) {
        (_, Some(failure)) => {
            Fact::new(Some(false), "backup", failure.line()).todo(Some("cerebro backup tries again"))
        }
        (Some(at), None) => {
            Fact::new(Some(true), "backup", format!("made {}", view::ago(Some(at), Timestamp::now())))
        }
        (None, None) => Fact::new(None, "backup", "none since the daemon started"),
    };
    [daemon].into_iter().chain(view::facts(figures.counts.stats.as_ref())).chain([backup]).collect()
}

/// Today's cost of models, if one is used. The other facts already include lag and jobs.
pub(super) fn spend(stats: &Stats) -> Option<Fact> {
    let fact = view::spent(&stats.worker).into_iter().find(|fact| fact.name == "spent today")?;
    Some(Fact { name: "spend", ..fact })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::daemon;
    use crate::web::html::locale::Language;

    #[test]
    fn calls_are_counted_by_hour_and_kind() {
        let now: Timestamp = "2026-11-22T10:30:00Z".parse().unwrap();
        let call = |at: &str, tool: &str| daemon::Call {
            at: at.into(),
            tool: tool.into(),
            ..daemon::Call::default()
        };
        let seen = [
            call("2026-11-22T10:05:00Z", "mem_search"),
            call("2026-11-22T10:06:00Z", "mem_save"),
            call("2026-11-21T11:00:00Z", "mem_context"),
            call("2026-11-21T10:59:59Z", "mem_context"),
        ];
        let locale = Locale { language: Language::English, zone: TimeZone::UTC };
        let (chart, said) = calls(&seen, now, &locale);
        assert_eq!(said, "2 of 3 calls recalled something");
        assert_eq!((chart.first.as_str(), chart.last.as_str(), chart.most), ("11:00", "10:00", 2));
        let titles: Vec<&str> = chart.bars.iter().map(|bar| bar.title.as_str()).collect();
        assert_eq!(titles, ["11:00: 1 recalled", "10:00: 1 recalled", "10:00: 1 other calls"]);
    }
}
