//! `cerebro history forget`: purges past sessions, so that no import brings them back.

use clap::ArgGroup;
use jiff::Timestamp;

use super::super::prelude::*;
use super::super::setup::SetupContext;
use crate::answer::history::Forgotten;
use crate::setup::skill;
use cerebro_service::{KEPT_OUT_CHARS_MIN, is_kept_out};

/// Destroy past sessions, or parts of them, for good
///
/// Also destroys what hooks reported of them (prompts, summaries, and texts in the journal of work), and distilled memories
/// that rest only on them. Memories that somebody saved stay. No import brings any of it back; with `--text` alone, the text
/// is also kept out of every later session. `cerebro compact` then removes the last bytes from the database's files.
#[derive(Debug, Args)]
#[command(group(
    ArgGroup::new("what").args(["session", "project", "since", "before", "text"]).required(true).multiple(true)
))]
pub struct ForgetArgs {
    /// Forget this session and those of its sub-agents; the beginning of an id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Forget all sessions of this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Forget everything from this day or moment on, such as 2026-11-21 or 2h
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Forget everything before this day or moment
    #[arg(long, value_name = "WHEN")]
    before: Option<String>,
    /// Forget exchanges that contain this text
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Do not ask first; needed without a terminal
    #[arg(long)]
    yes: bool,
}

pub async fn run(context: &CommandContext, args: ForgetArgs) -> Result<()> {
    let now = Timestamp::now();
    let args = ForgetArgs { since: fixed(args.since, now), before: fixed(args.before, now), ..args };
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let request = |dry_run: bool| {
        Request::new(of::HistoryForget).given(json!({
            "session": args.session, "project": args.project, "since": args.since, "before": args.before,
            "text": args.text, "dry_run": dry_run,
        }))
    };
    let preview = daemon.read(request(true)).await?;
    // A text or a session that is not stored yet is kept out of what is read later. Names and claims that have
    // the text are not among the counts.
    let keeps_out = keeps_out(context, &args) || args.session.is_some();
    if !keeps_out && args.text.is_none() && counts(&preview).iter().all(|(_, count)| *count == 0) {
        context.output.json(preview.raw())?;
        context
            .output
            .note("nothing matches, so nothing was destroyed; `cerebro history show` lists sessions");
        return Ok(());
    }
    context.output.agree(args.yes, &question(&preview, keeps_out), "nothing was destroyed")?;
    let gone = daemon.read(request(false)).await?;
    let skills = installed_skills(context, &gone);
    let mut raw = gone.raw().clone();
    if !skills.is_empty() {
        raw["skills"] = json!(skills);
    }
    context.output.json(&raw)?;
    let counts = counts(&gone).map(|(noun, count)| (noun, shown(&count)));
    context.output.facts(&counts)?;
    if !gone.purged.is_empty() {
        let count = text::counted(gone.purged.len(), "distilled memory");
        context.output.note(&format!("purged too, because nothing else supports it: {count}"));
    }
    for kept in &gone.kept {
        context.output.note(&format!(
            "memory {} stays, because somebody revised it; `cerebro delete {0} --hard` purges it",
            kept.raw()
        ));
    }
    for skill in &skills {
        context.output.note(&format!("the installed skill {skill} stays; it contains forgotten text"));
    }
    Ok(())
}

/// An age as the moment that it means now. It would move on until the person answers, and other sessions would be destroyed
/// than were counted.
fn fixed(given: Option<String>, now: Timestamp) -> Option<String> {
    // The daemon says what is wrong with the others.
    given.map(|given| text::parse_moment(given.trim(), now, false).map_or(given, |at| at.to_string()))
}

/// The installed skills that name a memory whose evidence is gone. They are a person's files and stay.
fn installed_skills(context: &CommandContext, gone: &Forgotten) -> Vec<String> {
    let ids: Vec<&str> = gone.purged.iter().chain(&gone.kept).map(Text::raw).collect();
    // The forgetting is done, so an unreadable skill must not make the command fail.
    let Ok(setup) = SetupContext::of(context) else { return Vec::new() };
    let paths = skill::naming(&setup.folder, &ids).unwrap_or_default();
    paths.iter().map(|path| setup.short(path)).collect()
}

/// Whether a text will be kept out of later sessions. Says so if it is too short for that.
fn keeps_out(context: &CommandContext, args: &ForgetArgs) -> bool {
    let others = [&args.session, &args.project, &args.since, &args.before];
    let is_alone = others.into_iter().all(Option::is_none);
    let Some(text) = args.text.as_deref().filter(|_| is_alone) else { return false };
    let keeps_out = is_kept_out(text);
    if !keeps_out {
        let least = format!("at least {KEPT_OUT_CHARS_MIN} characters");
        let words = format!("only a text of {least} is kept out of later sessions; this one may come back");
        context.output.note(&words);
    }
    keeps_out
}

/// What was forgotten, or would be, by noun.
fn counts(forgotten: &Forgotten) -> [(&'static str, u64); 5] {
    [
        ("sessions", forgotten.sessions),
        ("exchanges", forgotten.exchanges),
        ("prompts", forgotten.prompts),
        ("summaries", forgotten.summaries),
        ("journal texts", forgotten.events),
    ]
}

fn question(meant: &Forgotten, keeps_out: bool) -> String {
    let parts = meant.words();
    let nothing = if keeps_out { "what later sessions bring" } else { "names and claims with this text" };
    let parts = if parts.is_empty() { nothing } else { &parts };
    format!("Destroy {parts}? It cannot be undone, and no import brings it back.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_does_not_move_on_while_a_person_thinks() {
        let now: Timestamp = "2026-11-21T12:00:00.5Z".parse().unwrap();
        for (given, want) in [
            ("2h", "2026-11-21T10:00:00.5Z"),
            ("yesterday", "2026-11-20T00:00:00Z"),
            ("2026-11-20T10:00:00+02:00", "2026-11-20T08:00:00Z"),
            ("lately", "lately"),
        ] {
            assert_eq!(fixed(Some(given.to_owned()), now).as_deref(), Some(want));
        }
        assert_eq!(fixed(None, now), None);
    }
}
