//! The pieces that setup puts into files and takes out again.

use std::path::{Path, PathBuf};

use cerebro_core::named;
use serde_json::Value;

use super::user_folders::{Invocation, words_of};
use super::{block, file, json, table};

const BYTE_ORDER_MARK: char = '\u{feff}';
/// The name of the program's file, wherever it is installed.
const PROGRAM: &str = "cerebro";

named! {
    /// The purpose of a piece.
    pub enum Part {
        /// The server's entry.
        Server = "server",
        /// Rules that allow reads and saves without asking.
        Permissions = "permissions",
        /// Commands that the agent runs during a session.
        Hooks = "hooks",
        /// Further commands that the agent runs for the journal of work.
        Journal = "journal",
        /// The text that tells the agent when to save and how to search.
        Instructions = "instructions",
        /// A file that is not an agent's: the service, or shell completions.
        Machine = "machine",
        /// A piece that only earlier versions put in. The next setup removes it.
        Former = "former",
    }
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, possibly with comments and trailing commas.
    Json,
    Toml,
    /// A user's text that contains Cerebro's block between two marks.
    Block,
    /// A file that Cerebro writes whole.
    Whole,
}

/// The contents of a piece.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A value under a path of keys. An object's members are merged into an existing object. Taking it out removes
    /// the whole value.
    Entry { path: Vec<String>, value: Value },
    /// A value under a path of keys, unless there is one already. It is removed only if nothing else is left in the
    /// file.
    Default { path: Vec<String>, value: Value },
    /// An element of a list under a path of keys. It is recognised by its mark.
    Element { path: Vec<String>, value: Value, mark: Mark },
    /// A block or a whole file.
    Text(String),
}

impl Content {
    /// The path of keys, in a format that has keys.
    pub fn path(&self) -> Option<&[String]> {
        match self {
            Self::Entry { path, .. } | Self::Default { path, .. } | Self::Element { path, .. } => Some(path),
            Self::Text(_) => None,
        }
    }
}

/// How an element of a list is recognised as Cerebro's.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// It is equal to the value that setup writes.
    Value,
    /// It has a command that runs Cerebro with these words: this program, the one that the last setup wrote, or another
    /// one of the name `cerebro`.
    Command { programs: Vec<PathBuf>, words: Vec<String> },
}

impl Mark {
    /// The mark of a command with these words, from any home.
    pub fn of_command(invocation: &Invocation, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self::Command {
            programs: std::iter::once(&invocation.program).chain(&invocation.former).cloned().collect(),
            words,
        }
    }

    /// Whether an element has the mark; setup writes it as `value`.
    pub fn is_on(&self, element: &Value, value: &Value) -> bool {
        match self {
            Self::Value => element == value,
            Self::Command { programs, words } => {
                commands(element).iter().any(|command| is_cerebros(command, programs, words))
            }
        }
    }
}

/// Whether a command runs Cerebro with these words.
fn is_cerebros(command: &[String], programs: &[PathBuf], words: &[String]) -> bool {
    let Some((run, rest)) = command.split_first() else { return false };
    let run = Path::new(run);
    let rest = match rest {
        [flag, _, rest @ ..] if flag == "--home" => rest,
        rest => rest,
    };
    (programs.iter().any(|program| run == program) || run.file_name().is_some_and(|name| name == PROGRAM))
        && rest == words
}

/// The commands anywhere in a value, as words. Version 0.1.0 wrote the arguments as a list beside the program.
fn commands(value: &Value) -> Vec<Vec<String>> {
    match value {
        Value::Array(items) => items.iter().flat_map(commands).collect(),
        Value::Object(members) => {
            let line = members.get("command").and_then(Value::as_str);
            let arguments = members.get("args").and_then(Value::as_array);
            let own = line.and_then(|line| match arguments {
                None => words_of(line),
                Some(arguments) => {
                    let arguments = arguments.iter().map(|word| word.as_str().unwrap_or_default());
                    Some(std::iter::once(line).chain(arguments).map(str::to_owned).collect())
                }
            });
            own.into_iter().chain(members.values().flat_map(commands)).collect()
        }
        _ => Vec::new(),
    }
}

/// One piece of a file, and its purpose.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    pub part: Part,
    pub content: Content,
}

/// A file of an agent, and everything that can be put into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub path: PathBuf,
    /// Where this home keeps its text before setup, unless the record says another place.
    pub backup: PathBuf,
    pub format: Format,
    pub pieces: Vec<Piece>,
}

/// Why a file's text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PieceError {
    /// It does not have its format.
    #[error("line {line}, column {column}: {reason}")]
    Malformed { line: usize, column: usize, reason: String },
    /// Another kind of value is in the piece's place.
    #[error("`{location}` is not {expected}")]
    Occupied { location: String, expected: &'static str },
    /// The whole file is another kind of value.
    #[error("it is not a JSON object")]
    NoObject,
    /// An object has a key of the piece's path more than once. Agents read one of them and lose the others.
    #[error("`{location}` is in it more than once")]
    Repeated { location: String },
    /// Cerebro did not write the file of that name.
    #[error("it was not written by Cerebro")]
    Foreign,
    /// Somebody changed the file after Cerebro wrote it.
    #[error("somebody changed it after Cerebro wrote it")]
    Edited,
}

impl Format {
    /// The text with the pieces. Pieces that are up to date change nothing.
    pub fn put(self, text: &str, pieces: &[&Piece]) -> Result<String, PieceError> {
        let (mark, text) = without_mark(text);
        let put = match self {
            Self::Json => json::put(text, pieces)?,
            Self::Toml => table::put(text, pieces)?,
            Self::Block => texts(pieces).fold(text.to_owned(), |text, block| block::put(&text, block)),
            Self::Whole => match texts(pieces).next() {
                Some(_) if !text.is_empty() && !block::is_written_by_cerebro(text) => {
                    return Err(PieceError::Foreign);
                }
                Some(whole) => whole.to_owned(),
                None => text.to_owned(),
            },
        };
        Ok(format!("{mark}{put}"))
    }

    /// The text without the pieces. Restores the values that `base`, the text before setup, had in their place.
    pub fn take(self, text: &str, pieces: &[&Piece], base: Option<&str>) -> Result<String, PieceError> {
        let (mark, text) = without_mark(text);
        let base = base.map(|base| without_mark(base).1);
        let taken = match self {
            Self::Json => json::take(text, pieces, base)?,
            Self::Toml => table::take(text, pieces, base)?,
            Self::Block if pieces.is_empty() => text.to_owned(),
            Self::Block => block::take(text),
            Self::Whole if !pieces.is_empty() && block::is_written_by_cerebro(text) => {
                return Ok(String::new());
            }
            Self::Whole => text.to_owned(),
        };
        Ok(format!("{mark}{taken}"))
    }

    /// The value at a path of keys, in a format that has keys.
    pub fn value_at(self, text: &str, path: &[String]) -> Option<Value> {
        let (_, text) = without_mark(text);
        match self {
            Self::Json => json::value_at(text, path),
            Self::Toml => table::value_at(text, path),
            Self::Block | Self::Whole => None,
        }
    }

    /// Whether a text has no content. If setup created such a file, it may be removed.
    pub fn is_blank(self, text: &str) -> bool {
        let text = text.trim();
        text.is_empty() || (self == Self::Json && json::is_blank(text))
    }
}

impl Target {
    /// A file with its pieces.
    pub fn new(path: PathBuf, format: Format, pieces: impl IntoIterator<Item = Piece>) -> Self {
        Self { backup: file::backup_of(&path), path, format, pieces: pieces.into_iter().collect() }
    }

    /// A file that Cerebro writes whole and that is not an agent's.
    pub fn whole(path: &Path, text: String) -> Self {
        let piece = Piece { part: Part::Machine, content: Content::Text(text) };
        Self::new(path.to_owned(), Format::Whole, [piece])
    }

    /// The pieces whose part is wanted.
    pub fn pieces_of(&self, wanted: impl Fn(Part) -> bool) -> Vec<&Piece> {
        self.pieces.iter().filter(|piece| wanted(piece.part)).collect()
    }

    /// Why a text does not have the file's format.
    pub fn error_in(&self, text: &str) -> Option<PieceError> {
        self.format.put(text, &[]).err()
    }

    /// Whether a text has all pieces of a part, up to date; `None` if the target has no such part.
    pub fn holds(&self, text: &str, part: Part) -> Option<bool> {
        let pieces = self.pieces_of(|each| each == part);
        if pieces.is_empty() {
            return None;
        }
        Some(self.format.put(text, &pieces).is_ok_and(|put| put == text))
    }
}

/// The byte order mark that some editors write at the beginning of a file, and the text after it.
fn without_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 })
}

fn texts<'a>(pieces: &'a [&Piece]) -> impl Iterator<Item = &'a str> {
    pieces.iter().filter_map(|piece| match &piece.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hook_is_ours_if_its_program_is() {
        let invocation = Invocation {
            program: "/opt/memory tool".into(),
            former: Some("/opt/before/it was moved".into()),
            home: None,
        };
        let mark = Mark::of_command(&invocation, &["hook", "codex", "Stop"]);
        let is_ours = |element: Value| mark.is_on(&element, &json!({}));
        for line in [
            "cerebro hook codex Stop",
            "/usr/bin/cerebro --home '/h x' hook codex Stop",
            "'/opt/memory tool' hook codex Stop",
            "'/opt/before/it was moved' hook codex Stop",
            "\"/opt/memory tool\" hook codex Stop",
        ] {
            assert!(is_ours(json!({ "command": line })), "{line}");
            assert!(is_ours(json!({ "hooks": [{ "type": "command", "command": line }] })), "{line}");
        }
        assert!(is_ours(
            json!({ "hooks": [{ "command": "/x/cerebro", "args": ["hook", "codex", "Stop"] }] })
        ));
        for line in [
            "othertool hook codex Stop",
            "othertool cerebro hook codex Stop",
            "/opt/cerebro/othertool hook codex Stop",
            "cerebro hook codex Stop journal",
            "cerebro hook codex SessionEnd",
            "cerebro hook codex Stop; othertool",
            "echo 'cerebro hook codex Stop'",
            "cerebro hook codex 'Stop",
            "",
        ] {
            assert!(!is_ours(json!({ "hooks": [{ "type": "command", "command": line }] })), "{line}");
        }
        assert!(!is_ours(json!("cerebro hook codex Stop")));
    }

    #[test]
    fn a_command_of_somebody_else_in_the_same_group_stays() {
        let path = vec!["hooks".to_owned(), "Stop".to_owned()];
        let invocation = Invocation { program: "/x/cerebro".into(), ..Invocation::default() };
        let words = ["hook", "codex", "Stop"];
        let value = json!({ "hooks": [{ "type": "command", "command": invocation.line(&words) }] });
        let mark = Mark::of_command(&invocation, &words);
        let piece =
            Piece { part: Part::Hooks, content: Content::Element { path: path.clone(), value, mark } };
        let with = Format::Json.put("", &[&piece]).unwrap();
        let mut edited: Value = serde_json::from_str(&with).unwrap();
        edited["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap().push(json!({ "command": "mine" }));
        let edited = edited.to_string();
        let taken = Format::Json.take(&edited, &[&piece], None).unwrap();
        let mine = json!([{ "hooks": [{ "command": "mine" }] }]);
        assert_eq!(Format::Json.value_at(&taken, &path), Some(mine), "{edited} {taken}");
        let again = Format::Json.put(&edited, &[&piece]).unwrap();
        assert!(again.contains("mine") && again.matches("/x/cerebro").count() == 1, "{again}");
    }

    #[test]
    fn a_key_that_is_there_twice_is_named() {
        let path = vec!["servers".to_owned(), "cerebro".to_owned()];
        let content = Content::Entry { path, value: json!({ "command": "c" }) };
        let piece = Piece { part: Part::Server, content };
        for (text, location) in [
            ("{ \"servers\": {}, \"servers\": {} }", Some("servers")),
            ("{ \"servers\": { \"cerebro\": {}, \"cerebro\": {} } }", Some("servers.cerebro")),
            ("{ \"other\": 1, \"other\": 2 }", None),
        ] {
            let want = location.map(|location| PieceError::Repeated { location: location.to_owned() });
            assert_eq!(Format::Json.put(text, &[&piece]).err(), want, "{text}");
            assert_eq!(Format::Json.take(text, &[&piece], None).err(), want, "{text}");
        }
        assert_eq!(Format::Json.put("[]", &[&piece]), Err(PieceError::NoObject));
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_stay() {
        let path = vec!["servers".to_owned(), "cerebro".to_owned()];
        let value = json!({ "command": "c" });
        let piece = Piece {
            part: Part::Server,
            content: Content::Entry { path: path.clone(), value: value.clone() },
        };
        for (format, text) in [
            (Format::Toml, "[a]\nb = 1 # why\n"),
            (Format::Toml, "a = 1"),
            (Format::Json, "{\n  // why\n  \"a\": 1\n}\n"),
            (Format::Json, "{ \"servers\": {} }"),
        ] {
            for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("{BYTE_ORDER_MARK}{text}")] {
                let with = format.put(&text, &[&piece]).unwrap();
                assert_eq!(format.value_at(&with, &path).as_ref(), Some(&value), "{with:?}");
                assert_eq!(with.matches("\r\n").count() > 0, text.contains("\r\n"), "{with:?}");
                assert_eq!(with.starts_with(BYTE_ORDER_MARK), text.starts_with(BYTE_ORDER_MARK), "{with:?}");
                let is_mixed = with.contains("\r\n") && with.replace("\r\n", "").contains('\n');
                assert!(!is_mixed, "{with:?}");
                let left = format.take(&with, &[&piece], Some(&text)).unwrap();
                assert_eq!(format.value_at(&left, &path), None, "{left:?}");
                if format == Format::Toml {
                    // The last line gets its end.
                    assert_eq!(left.trim_end(), text.trim_end());
                }
                for nothing in [&[][..], &[&piece]] {
                    assert_eq!(format.take(&text, nothing, Some(&text)).unwrap(), text, "nothing to take");
                }
            }
        }
    }
}
