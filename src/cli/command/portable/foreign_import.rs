//! `cerebro import --from`: imports what another memory tool has stored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::super::prelude::*;
use super::foreign::{ForeignError, Harvest, Item, LineKind, Source};
use crate::home::user_home;
use crate::project_dir;
use cerebro_core::domain::{Project, Run};

/// Most lines, and bytes of lines, that are sent at once.
const BATCH_LINES_MAX: usize = 200;
const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// Most things that were left out which are named on a terminal; JSON names all.
const SKIPPED_SHOWN: usize = 20;

/// What became of each kind of thing.
#[derive(Debug, Default)]
struct ForeignReport {
    created: BTreeMap<LineKind, u64>,
    unchanged: u64,
    skipped: Vec<(String, String)>,
    /// Ids of memories that were left out: their edges go with them.
    refused: BTreeSet<String>,
}

/// Imports the memory of another program from `path`.
pub async fn run(
    context: &CommandContext,
    source: Source,
    path: &Path,
    project: Option<String>,
    run: Run,
) -> Result<()> {
    let project = match project {
        Some(name) => Project::parse(&name).ok_or_else(|| {
            Error::user(format!("`{name}` is not a project name, which has 1 to 200 characters"))
        })?,
        None => own_project().await,
    };
    if project.is_reserved() {
        return Err(Error::user(format!("`{}`: {}", project.as_str(), Project::RESERVED_WHY)));
    }
    let file = located(source, path)?;
    let Harvest { items, skipped, .. } = source.read(&file, &project)?;
    let daemon = Daemon::reach(&context.home()?).await?;
    let bar =
        context.output.progress(Some(items.len() as u64), "{bar:30} {human_pos} of {human_len}, {elapsed}");
    let mut report = ForeignReport { skipped, ..ForeignReport::default() };
    let known = known(&daemon, &items).await?;
    // A dry run only counts edges, so it leaves out those of known memories itself.
    let is_old = |kind: LineKind| kind == LineKind::Memory || run.is_dry() && kind == LineKind::Edge;
    let (old, new): (Vec<Item>, Vec<Item>) =
        items.into_iter().partition(|Item { line, .. }| is_old(line.kind) && known.contains(&line.id));
    report.unchanged += old.len() as u64;
    bar.inc(old.len() as u64);
    for mut batch in batches(new) {
        bar.inc(batch.len() as u64);
        batch.retain(|Item { line, .. }| line.kind != LineKind::Edge || !report.refused.contains(&line.id));
        send(&daemon, &batch, run, &mut report).await?;
    }
    bar.finish_and_clear();
    print(context, &report, run)
}

/// The file to import: the one that was named, or the one in which the program keeps its memory.
fn located(source: Source, path: &Path) -> Result<PathBuf> {
    if path != Path::new("-") {
        return Ok(path.to_owned());
    }
    let own = source.usual_place().and_then(|below| Some(user_home()?.join(below)));
    own.filter(|file| file.is_file()).ok_or_else(|| {
        Error::usage("no file is named, and none is where the program usually has it")
            .hint("name it: `cerebro import --from NAME FILE`; `cerebro help import` says which file it is")
    })
}

/// The project of the working folder.
async fn own_project() -> Project {
    match std::env::current_dir() {
        Ok(dir) => project_dir::look_or_guess(dir, user_home(), project_dir::LOOK_MAX).await,
        Err(_) => Project::general(),
    }
}

/// The memories that were imported before. They stay as they are: they may have been revised since.
async fn known(daemon: &Daemon, items: &[Item]) -> Result<BTreeSet<String>> {
    let memories = items.iter().filter(|item| item.line.kind == LineKind::Memory);
    let ids: Vec<String> = memories.map(|item| item.line.id.clone()).collect();
    let mut known = BTreeSet::new();
    for some in ids.chunks(BATCH_LINES_MAX) {
        let answer = daemon.read(Request::new(of::Known).with("ids", some.to_vec())).await?;
        known.extend(answer.ids.iter().map(shown));
    }
    Ok(known)
}

/// Batches of one kind each, so that they can be counted apart, and in order.
fn batches(items: Vec<Item>) -> Vec<Vec<Item>> {
    let mut batches: Vec<Vec<Item>> = Vec::new();
    let mut bytes = 0;
    for item in items {
        let size = item.line.json.to_string().len();
        let fits = batches
            .last()
            .and_then(|batch| batch.first())
            .is_some_and(|first: &Item| first.line.kind == item.line.kind && bytes + size <= BATCH_BYTES_MAX);
        let has_room = batches.last().is_some_and(|batch| batch.len() < BATCH_LINES_MAX);
        if fits && has_room {
            bytes += size;
        } else {
            batches.push(Vec::new());
            bytes = size;
        }
        if let Some(batch) = batches.last_mut() {
            batch.push(item);
        }
    }
    batches
}

async fn send(daemon: &Daemon, batch: &[Item], run: Run, report: &mut ForeignReport) -> Result<()> {
    let Some(kind) = batch.first().map(|item| item.line.kind) else { return Ok(()) };
    let created = report.created.entry(kind).or_default();
    if run.is_dry() && kind == LineKind::Edge {
        // Their ends would be there only if the lines before had been imported.
        *created += batch.len() as u64;
        return Ok(());
    }
    let lines: Vec<String> = batch.iter().map(|item| item.line.json.to_string()).collect();
    let request = Request::new(of::Import).with("lines", lines).with("dry_run", run.is_dry());
    let answer = daemon
        .read(request)
        .await
        .map_err(|error| error.hint("what was imported so far stays; the same import may be repeated"))?;
    *created += answer.created;
    report.unchanged += answer.unchanged;
    for skipped in &answer.skipped {
        let Some(item) = usize::try_from(skipped.line).ok().and_then(|at| batch.get(at)) else { continue };
        report.refused.insert(item.line.id.clone());
        report.skipped.push((item.name.clone(), shown(&skipped.why)));
    }
    Ok(())
}

fn print(context: &CommandContext, report: &ForeignReport, run: Run) -> Result<()> {
    let skipped: Vec<Value> =
        report.skipped.iter().map(|(what, why)| json!({ "what": what, "why": why })).collect();
    let count = |kind| report.created.get(&kind).copied().unwrap_or_default();
    let answer = json!({
        "dry_run": run.is_dry(), "sessions": count(LineKind::Session), "memories": count(LineKind::Memory),
        "prompts": count(LineKind::Prompt), "edges": count(LineKind::Edge), "unchanged": report.unchanged, "skipped": skipped,
    });
    context.output.json(&answer)?;
    let names = ["sessions", "memories", "prompts", "edges", "unchanged"];
    let mut facts: Vec<(&str, String)> = names.iter().map(|name| (*name, shown(&answer[*name]))).collect();
    facts.push(("skipped", report.skipped.len().to_string()));
    context.output.facts(&facts)?;
    for (what, why) in report.skipped.iter().take(SKIPPED_SHOWN) {
        context.output.note(&format!("{what} was skipped: {}", text::one_line(why)));
    }
    if report.skipped.len() > SKIPPED_SHOWN {
        context.output.note(&format!("and {} more; --json names all", report.skipped.len() - SKIPPED_SHOWN));
    }
    if run.is_dry() {
        context.output.note("nothing was written: this was a dry run");
    }
    done_if(report.skipped.is_empty())
}

impl From<ForeignError> for Error {
    fn from(error: ForeignError) -> Self {
        Self::user(error)
    }
}

#[cfg(test)]
mod tests {
    use super::super::foreign::Line;
    use super::*;

    #[test]
    fn batches_are_of_one_kind_and_bounded() {
        let item = |kind: LineKind, size: usize| {
            let line = Line { kind, id: String::new(), json: json!({ "content": "x".repeat(size) }) };
            Item { name: String::new(), line }
        };
        let mut items = vec![item(LineKind::Session, 1); 3];
        items.extend(vec![item(LineKind::Memory, 1); 2 * BATCH_LINES_MAX + 1]);
        items.extend(vec![item(LineKind::Prompt, BATCH_BYTES_MAX / 2); 3]);
        let sizes: Vec<usize> = batches(items).iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, BATCH_LINES_MAX, BATCH_LINES_MAX, 1, 1, 1, 1]);
        assert!(batches(Vec::new()).is_empty());
    }
}
