//! `cerebro whatif new`, `list`, `diff` and `drop`: a second home with a copy of the memory, for trials that take longer
//! than a transaction.
//!
//! A trial is a home like any other, below `trials` in the home from which it was copied. It has no configuration,
//! therefore no server and no provider, and starts with everything that an export contains.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::prelude::*;
use super::{daemon, portable};
use crate::home::{Home, bytes_below};
use cerebro_core::domain::Timestamp;
use cerebro_durable as durable;
use cerebro_service::work::KEYS_FILE;

/// The folder of a home's trials, in the home.
pub const FOLDER: &str = "trials";
/// Most trials of one home.
const TRIALS_MAX: usize = 4;
/// Longest name, in characters.
const NAME_CHARS_MAX: usize = 40;
/// Most changes that are shown one by one.
const SHOWN_MAX: usize = 10_000;
const SHOWN_DEFAULT: usize = 100;

/// Create a second home with a copy of the memory
///
/// The command prints the path. Commands use the copy with `cerebro --home PATH`, agents with `cerebro mcp --home
/// PATH`. Changes in the copy do not reach the memory.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// The name of the trial: letters, digits, `-` and `_`
    name: String,
}

/// Show what differs between a trial and the memory as it is now
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The name of the trial
    name: String,
    /// Show at most N changes one by one, 1 to 10000 [default: 100]
    #[arg(long, value_name = "N", value_parser = within(1..=SHOWN_MAX))]
    limit: Option<usize>,
}

/// Stop a trial and remove its home; this cannot be undone
#[derive(Debug, Args)]
pub struct DropArgs {
    /// The name of the trial
    name: String,
    /// Do not ask first; needed without a terminal
    #[arg(long)]
    yes: bool,
}

/// The folder of a trial, if the name is valid.
fn place(home: &Home, name: &str) -> Result<PathBuf> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !is_plain {
        let words = format!("a name has 1 to {NAME_CHARS_MAX} letters, digits, `-` and `_`");
        return Err(Error::usage(words));
    }
    Ok(home.root().join(FOLDER).join(name))
}

/// The folders of a home's trials, in the order of their names. Each holds a copy of the memory as it was.
pub fn folders(home: &Home) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.root().join(FOLDER)).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

/// The name of a trial, by its folder.
pub fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// An existing trial.
fn trial(home: &Home, name: &str) -> Result<Home> {
    let place = place(home, name)?;
    if !place.is_dir() {
        return Err(Error::user(format!("there is no trial `{name}`"))
            .hint("`cerebro whatif list` shows them, `cerebro whatif new NAME` makes one"));
    }
    Ok(Home::open(Some(&place))?)
}

pub async fn new(context: &CommandContext, args: NewArgs) -> Result<()> {
    let home = context.home()?;
    let place = place(&home, &args.name)?;
    if home.database().is_some() {
        return Err(Error::user(
            "a trial has a database of its own, which `--db` and CEREBRO_DB do not allow",
        )
        .hint("leave out `--db`, and unset CEREBRO_DB"));
    }
    if place.exists() {
        return Err(Error::user(format!("there is already a trial `{}`", args.name))
            .hint("`cerebro whatif drop NAME` removes it"));
    }
    let present: Vec<String> = folders(&home).iter().map(|folder| name(folder)).collect();
    if present.len() >= TRIALS_MAX {
        return Err(Error::user(format!("there are {} trials: {}", present.len(), present.join(", ")))
            .hint("`cerebro whatif drop NAME` removes one"));
    }
    let copied = fill(&home, &place).await;
    if copied.is_err() {
        // Half a copy would be taken for a whole one.
        let _ = remove(&place).await;
    }
    let (lines, skipped) = copied?;
    let result = json!({
        "name": args.name, "home": place.display().to_string(), "lines": lines, "skipped": skipped,
    });
    context.output.json(&result)?;
    context.output.text(&place.display().to_string())?;
    context.output.note(&format!("a copy of {}; use it with --home", text::counted(lines, "line")));
    if skipped > 0 {
        context.output.note(&format!("{} could not be copied", text::counted(skipped, "line")));
    }
    Ok(())
}

/// Copies a whole export, page by page. Returns the number of lines, and of those that were rejected.
async fn fill(home: &Home, place: &Path) -> Result<(u64, u64)> {
    let from = Daemon::reach_patiently(home).await?;
    let trial = Home::open(Some(place))?;
    // With the same keys, the copied journal can be verified and continued.
    let (keys, copy) = (home.root().join(KEYS_FILE), trial.root().join(KEYS_FILE));
    if keys.exists() {
        let bytes = fs::read(&keys).map_err(|error| Error::file("read", &keys, &error))?;
        durable::write(&copy, durable::Kind::Own, &bytes)
            .map_err(|error| Error::file("write", &copy, &error))?;
    }
    let into = Daemon::reach_patiently(&trial).await?;
    let (mut lines, mut skipped) = (0, 0);
    let mut pages = portable::Pages::default();
    while let Some(page) = pages.next(&from).await? {
        lines += page.len() as u64;
        let answer = into.read(Request::new(of::Import).with("lines", page)).await?;
        skipped += answer.skipped.len() as u64;
    }
    Ok((lines, skipped))
}

const TRIALS: &[Column<Trial>] = &[
    ("name", Layout::Fixed, |trial| shown(&trial.name)),
    ("made", Layout::Moment, |trial| shown(&trial.made)),
    ("size", Layout::Fixed, |trial| bytes(trial.bytes)),
    ("home", Layout::Flexible, |trial| shown(&trial.home)),
];

/// A trial in the list.
#[derive(Debug, Serialize)]
struct Trial {
    name: String,
    made: Option<String>,
    bytes: u64,
    home: String,
}

impl Trial {
    fn of(folder: &Path) -> Self {
        // The file of keys is as old as the copy.
        let made = fs::metadata(folder.join(KEYS_FILE)).or_else(|_| fs::metadata(folder));
        let made = made.and_then(|found| found.modified()).ok();
        Self {
            name: name(folder),
            made: made.and_then(|made| Timestamp::try_from(made).ok()).map(|made| made.to_string()),
            bytes: bytes_below(folder),
            home: folder.display().to_string(),
        }
    }
}

pub fn list(context: &CommandContext) -> Result<()> {
    let home = context.home()?;
    let trials: Vec<Trial> = folders(&home).iter().map(|folder| Trial::of(folder)).collect();
    context.output.json(&json!({ "trials": trials }))?;
    let table = Table::of(TRIALS, &trials);
    context.output.table(&table, "no trials; `cerebro whatif new NAME` makes one")
}

const CHANGES: &[Column<Change>] = &[
    ("change", Layout::Fixed, |change| shown(change.deed)),
    ("kind", Layout::Fixed, |change| shown(&change.kind)),
    ("id", Layout::Fixed, |change| shown(&change.id)),
    ("what", Layout::Flexible, |change| shown(&change.what)),
];

pub async fn diff(context: &CommandContext, args: DiffArgs) -> Result<()> {
    let home = context.home()?;
    let trial = trial(&home, &args.name)?;
    let (before, after) = (contents(&home).await?, contents(&trial).await?);
    let limit = args.limit.unwrap_or(SHOWN_DEFAULT);
    let mut changes = compared(&before, &after);
    let count = changes.len();
    changes.truncate(limit);
    let is_cut = count > limit;
    context.output.json(&json!({ "changes": changes, "count": count, "more": is_cut }))?;
    context.output.table(&Table::of(CHANGES, &changes), "nothing differs")?;
    if is_cut {
        context.output.note(&format!("{} in all; give --limit", text::counted(count, "change")));
    }
    Ok(())
}

/// Identifies what a line of an export describes: its kind, and its key among those of that kind.
type Key = (String, String);

/// The lines of a memory: the digest of each, and a label for people.
async fn contents(home: &Home) -> Result<BTreeMap<Key, ([u8; 32], String)>> {
    let daemon = Daemon::reach_patiently(home).await?;
    let mut contents = BTreeMap::new();
    let mut pages = portable::Pages::default();
    while let Some(page) = pages.next(&daemon).await? {
        for line in page {
            let Ok(read) = serde_json::from_str::<Value>(&line) else { continue };
            contents.insert(key(&read), (Sha256::digest(&line).into(), word(&read)));
        }
    }
    Ok(contents)
}

fn key(line: &Value) -> Key {
    let parts = ["id", "memory", "revision", "work", "seq", "name", "from", "to", "digest"];
    let part = |name: &&str| match &line[*name] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    // An id says all; of lines without one, their parts do.
    let id = part(&"id").unwrap_or_else(|| parts.iter().filter_map(part).collect::<Vec<_>>().join(" "));
    (line["kind"].as_str().unwrap_or_default().to_owned(), id)
}

fn word(line: &Value) -> String {
    let words = ["title", "content", "type", "summary"].into_iter().find_map(|name| line[name].as_str());
    text::cut_chars(&text::one_line(words.unwrap_or_default()), 80).into_owned()
}

/// A difference between the memory and a trial.
#[derive(Debug, Serialize)]
struct Change {
    /// `create`, `update` or `delete`.
    deed: &'static str,
    kind: String,
    id: String,
    what: String,
}

/// What was created, changed and deleted, in order of kind and id.
fn compared(
    before: &BTreeMap<Key, ([u8; 32], String)>,
    after: &BTreeMap<Key, ([u8; 32], String)>,
) -> Vec<Change> {
    let change = |deed, (kind, id): &Key, what: &str| Change {
        deed,
        kind: kind.clone(),
        id: id.clone(),
        what: what.to_owned(),
    };
    let gone = before.iter().filter(|(key, _)| !after.contains_key(*key));
    let gone = gone.map(|(key, (_, what))| change("delete", key, what));
    let new = after.iter().filter_map(|(key, (digest, what))| match before.get(key) {
        None => Some(change("create", key, what)),
        Some((was, _)) if was != digest => Some(change("update", key, what)),
        Some(_) => None,
    });
    gone.chain(new).collect()
}

pub async fn drop_trial(context: &CommandContext, args: DropArgs) -> Result<()> {
    let home = context.home()?;
    let place = place(&home, &args.name)?;
    trial(&home, &args.name)?;
    if !args.yes {
        let size = bytes(bytes_below(&place));
        let question = format!("Remove trial {} ({size}) for good? The memory stays as it is.", args.name);
        context.output.agree(false, &question, "nothing was removed")?;
    }
    remove(&place).await?;
    context.output.json(&json!({ "name": args.name, "dropped": true }))?;
    context.output.outcome(&args.name, "dropped", "")
}

/// Stops the daemon of a trial and removes its folder.
pub async fn remove(place: &Path) -> Result<()> {
    if let Ok(trial) = Home::open(Some(place)) {
        daemon::dismiss(&trial).await?;
    }
    fs::remove_dir_all(place).map_err(|error| Error::file("remove", place, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_listed_by_kind_and_id() {
        let contents = |lines: &[Value]| -> BTreeMap<Key, ([u8; 32], String)> {
            lines
                .iter()
                .map(|line| (key(line), (Sha256::digest(line.to_string()).into(), word(line))))
                .collect()
        };
        let memory = |id: &str, title: &str| json!({ "kind": "memory", "id": id, "title": title });
        let event = json!({ "kind": "work_event", "work": "w", "seq": 2, "type": "note" });
        let before = contents(&[memory("a", "One"), memory("b", "Two"), memory("c", "Three")]);
        let after = contents(&[memory("a", "One"), memory("b", "Second"), event]);
        let changes = compared(&before, &after);
        let changes: Vec<String> =
            changes.iter().map(|one| format!("{} {} {}", one.deed, one.id, one.what)).collect();
        assert_eq!(changes, ["delete c Three", "update b Second", "create w 2 note"]);
    }
}
