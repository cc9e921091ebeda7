//! Writing memories: `save` and `update`.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use super::prelude::*;
use crate::answer::memories::{Gone, Saved};
use cerebro_core::domain::{ExchangeId, limits::CONTENT_BYTES_MAX};

/// Save a memory
///
/// Give title and content as two quoted words, or by options. Without content, or with `-`, the command reads standard
/// input.
#[derive(Debug, Args)]
pub struct SaveArgs {
    /// The title, then the content; quote each of them
    #[arg(value_names = ["TITLE", "CONTENT"], num_args = 0..)]
    words: Vec<String>,
    /// The title: what someone would search for, up to 300 characters
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The content, up to 256 KiB; `-` reads standard input
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    content: Option<String>,
    /// Read the content from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    fields: Fields,
    /// Save it even if this text was corrected or superseded before
    #[arg(long)]
    revive: bool,
    /// Save it in this session [default: one for each day and project]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// Change a memory; its earlier text stays as a revision
///
/// What is not given stays as it is. An empty value of `--topic-key`, `--tag`, `--evidence`, `--trigger`,
/// `--valid-from` or `--valid-until` removes what is there.
#[derive(Debug, Args)]
#[command(override_usage = "cerebro update [OPTIONS] <ID>")]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true)
    .args(["title", "content", "file", "kind", "project", "scope", "topic_key", "tags", "supersedes", "evidence", "valid_from", "valid_until", "nature", "trigger", "done", "verified"]))]
pub struct UpdateArgs {
    /// The memory's id, or its first characters
    id: String,
    /// The new title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The new content; `-` reads standard input
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    content: Option<String>,
    /// Read the new content from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    fields: Fields,
    /// Mark a thing to be done as done
    #[arg(long)]
    done: bool,
    /// Change it even to a text that was corrected or superseded before
    #[arg(long)]
    revive: bool,
    /// Confirm that it is still true: from now on, compare it with the code as it is in the working folder
    #[arg(long)]
    verified: bool,
    /// Change it only if this is still its revision
    #[arg(long, value_name = "N")]
    expected_revision: Option<u32>,
}

/// What else a memory has.
#[derive(Debug, Args)]
struct Fields {
    /// The type: decision, architecture, bugfix, pattern, config, discovery, …
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// The project [default: for a new memory, that of the working folder]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// `project` for all who work on it, or `personal` for you in every project
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// The topic key: a subject that changes, such as `architecture/auth-model`
    #[arg(long, value_name = "KEY")]
    topic_key: Option<String>,
    /// A tag; can be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// The id of a memory that it replaces; can be repeated. That memory stays and is marked `old`
    #[arg(long, value_name = "ID")]
    supersedes: Vec<String>,
    /// The id of an exchange of a past session that it rests on; can be repeated, up to 8 times
    #[arg(long, value_name = "ID")]
    evidence: Vec<String>,
    /// The kind: episodic, semantic, procedural or prospective [default: for a new memory, by the type]
    #[arg(long = "kind", value_name = "KIND")]
    nature: Option<String>,
    /// Where to show a thing to be done: `path:FOLDER` or `branch:NAME` [default: everywhere]
    #[arg(long, value_name = "WHERE")]
    trigger: Option<String>,
    /// The first date on which it is valid
    #[arg(long, value_name = "DATE")]
    valid_from: Option<String>,
    /// The last date on which it is valid
    #[arg(long, value_name = "DATE")]
    valid_until: Option<String>,
}

/// The id of an exchange, by its beginning.
async fn exchange_id(daemon: &Daemon, given: &str) -> Result<String> {
    let id = daemon.readable_id(given).await?;
    match ExchangeId::parse(&id) {
        Ok(_) => Ok(id),
        Err(_) => Err(Error::user(format!("`{id}` is not an exchange of a past session"))
            .hint("`cerebro history search` shows the ids of exchanges")),
    }
}

impl Fields {
    async fn add_to<O>(self, request: Request<O>, daemon: &Daemon) -> Result<Request<O>> {
        let mut supersedes = Vec::with_capacity(self.supersedes.len());
        for id in &self.supersedes {
            supersedes.push(daemon.memory_id(id).await?);
        }
        let mut evidence = Vec::with_capacity(self.evidence.len());
        for id in &self.evidence {
            let id = id.trim();
            evidence.push(if id.is_empty() { String::new() } else { exchange_id(daemon, id).await? });
        }
        let request = request
            .with("type", self.kind)
            .with("project", self.project)
            .with("scope", self.scope)
            .with("topic_key", self.topic_key)
            .with("tags", self.tags)
            .with("supersedes", supersedes)
            .with("evidence", evidence)
            .with("kind", self.nature)
            .with("trigger", self.trigger)
            .with("valid_from", self.valid_from)
            .with("valid_until", self.valid_until);
        Ok(request)
    }
}

pub async fn save(context: &CommandContext, args: SaveArgs) -> Result<()> {
    let SaveArgs { words, title, content, file, fields, revive, session } = args;
    let (title, content) = title_and_content(words, title, content, file.is_some())?;
    let content = match (content, file) {
        (Some(content), _) if content != "-" => content,
        (None, Some(file)) => read_content(&file)?,
        _ => read_content(Path::new("-"))?,
    };
    let request = Request::new(of::Save).given(json!({
        "title": title, "content": content, "revive": revive, "session_id": session,
    }));
    let daemon = Daemon::reach(&context.home()?).await?;
    let kind = fields.kind.clone();
    // A type that no memory has yet may be misspelt; asked before, for afterwards this one has it.
    let types = match &kind {
        Some(_) if !context.output.is_json() => Some(daemon.read(Request::new(of::Types)).await?),
        _ => None,
    };
    let saved = daemon.read(fields.add_to(request, &daemon).await?).await?;
    if let Some(near) = kind.zip(types).and_then(|(kind, types)| suggest::new_type(&kind, &types)) {
        context.output.note(&near);
    }
    print(context, &saved)
}

pub async fn update(context: &CommandContext, args: UpdateArgs) -> Result<()> {
    let content = match (args.content, args.file) {
        (Some(content), _) if content != "-" => Some(content),
        (Some(_), _) => Some(read_content(Path::new("-"))?),
        (None, Some(file)) => Some(read_content(&file)?),
        (None, None) => None,
    };
    let daemon = Daemon::reach(&context.home()?).await?;
    let request = Request::new(of::Update).given(json!({
        "id": daemon.memory_id(&args.id).await?, "title": args.title, "content": content, "done": args.done,
        "revive": args.revive, "verified": args.verified, "expected_revision": args.expected_revision,
    }));
    let updated = daemon.read(args.fields.add_to(request, &daemon).await?).await?;
    print(context, &updated)
}

/// The words fill what the options leave open: first the title, then the content.
fn title_and_content(
    words: Vec<String>,
    title: Option<String>,
    content: Option<String>,
    has_file: bool,
) -> Result<(String, Option<String>)> {
    let mut words = words.into_iter();
    let title = title.or_else(|| words.next());
    let content = if has_file { content } else { content.or_else(|| words.next()) };
    let Some(title) = title else {
        return Err(Error::usage("a memory needs a title").hint("cerebro save \"Title\" \"Content\""));
    };
    match words.next() {
        Some(word) => {
            Err(Error::usage(format!("`{word}` is neither title nor content, which are both given already"))
                .hint("quote each: cerebro save \"Title\" \"Content\""))
        }
        None => Ok((title, content)),
    }
}

/// Reads a content from a file, or from standard input for `-`.
fn read_content(file: &Path) -> Result<String> {
    if file != Path::new("-") {
        let opened = File::open(file).map_err(|error| Error::file("read", file, &error))?;
        return bounded(opened).map_err(|error| Error::file("read", file, &error));
    }
    let missing =
        |words: &str| Error::usage(words).hint("give it as an argument, by --file, or on standard input");
    if io::stdin().is_terminal() {
        return Err(missing("a memory needs content"));
    }
    let text =
        bounded(io::stdin().lock()).map_err(|error| Error::stream("standard input as content", &error))?;
    if text.trim().is_empty() {
        return Err(missing("a memory needs content, and standard input is empty"));
    }
    Ok(text)
}

/// Reads a text to its end; more than a memory may hold is an error, never cut.
fn bounded(reader: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    reader.take(CONTENT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > CONTENT_BYTES_MAX {
        let words =
            format!("it is longer than {} KiB; split it into several memories", CONTENT_BYTES_MAX / 1024);
        return Err(io::Error::new(io::ErrorKind::InvalidData, words));
    }
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
}

/// Says what was written.
fn print(context: &CommandContext, saved: &Received<Saved>) -> Result<()> {
    context.output.json(saved.raw())?;
    let place = format!(" (revision {}) in project {}", saved.revision, saved.project.raw());
    context.output.outcome(saved.id.raw(), saved.outcome.raw(), &place)?;
    print_details(context, saved);
    Ok(())
}

/// Says what else there is to know about a write.
fn print_details(context: &CommandContext, saved: &Saved) {
    let facts = [
        ("topic key", saved.topic_key.as_ref().map(shown)),
        ("replaced", saved.replaced.as_ref().map(|text| shown(&text.title))),
        ("secrets and private texts left out", saved.redacted.as_ref().map(shown)),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            context.output.note(&format!("{name}: {value}"));
        }
    }
    for ignored in &saved.ignored {
        context.output.note(&format!("left out of {}", ignored.raw()));
    }
    print_noted(context, saved.noted.as_ref());
    if !saved.flags.is_empty() {
        let flags = shown(&saved.flags);
        context
            .output
            .note(&format!("flags: {flags}; it reads like an instruction, so contexts show only its title"));
    }
    for id in &saved.superseded {
        context.output.note(&format!("superseded: {}", id.raw()));
    }
    if saved.new_project {
        let near = shown(&saved.near);
        let near = if near.is_empty() { near } else { format!("; known ones near it: {near}") };
        context.output.note(&format!("project {} is new{near}", saved.project.raw()));
    }
    for similar in &saved.similar {
        context.output.note(&format!("similar: {} {}", similar.id.raw(), similar.title.raw()));
    }
}

/// Names another memory that had this text and no longer says it.
pub fn print_noted(context: &CommandContext, noted: Option<&Gone>) {
    let Some(Gone { id, why, at }) = noted else { return };
    let at = context.output.moment(at);
    context.output.note(&format!("memory {} with this text was {} {at}", id.raw(), why.raw()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fill_what_the_options_leave_open() {
        let own = |text: &&str| (*text).to_owned();
        for (words, title, content, file, want) in [
            (&["a", "b"][..], None, None, false, Some(("a", Some("b")))),
            (&["a"], None, None, false, Some(("a", None))),
            (&["b"], Some("a"), None, false, Some(("a", Some("b")))),
            (&["a"], None, Some("b"), false, Some(("a", Some("b")))),
            (&["a"], None, None, true, Some(("a", None))),
            (&[], Some("a"), Some("b"), false, Some(("a", Some("b")))),
            (&[], None, Some("b"), false, None),
            (&["a", "b"], Some("c"), None, false, None),
            (&["a", "b"], None, None, true, None),
            (&["c"], Some("a"), Some("b"), false, None),
        ] {
            let words: Vec<String> = words.iter().map(own).collect();
            let found =
                title_and_content(words.clone(), title.as_ref().map(own), content.as_ref().map(own), file);
            let want = want.map(|(title, content)| (title.to_owned(), content.map(str::to_owned)));
            assert_eq!(found.as_ref().ok(), want.as_ref(), "{words:?} {title:?} {content:?} {file}");
            assert!(found.is_ok() || found.is_err_and(|error| error.exit_code() == 2));
        }
    }

    #[test]
    fn contents_are_bounded_and_never_cut() {
        let full = "x".repeat(CONTENT_BYTES_MAX);
        assert_eq!(bounded(full.as_bytes()).unwrap(), full);
        assert!(bounded(format!("{full}y").as_bytes()).is_err());
        assert!(bounded(&b"\xff"[..]).is_err());
    }
}
