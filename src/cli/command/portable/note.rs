//! A memory as a Markdown note: front matter, the text, and links below a mark.
//!
//! The front matter has what editors such as Obsidian show as properties. The links below the mark are written again by
//! each export. Nothing below it is read back.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::front_matter::Front;
use crate::answer::{Text, portable::Memory, sessions::Session};
use cerebro_core::text;

/// The line above a note's links.
const MARK: &str = "%% cerebro: what follows is written by `cerebro export` and not read back %%";
const FENCE: &str = "---";
/// The property that holds a note's digest.
const DIGEST: &str = "cerebro_digest";
/// The properties that an export writes; all others are the person's.
const WRITTEN: [&str; 15] = [
    "id", "title", "type", "project", "scope", "topic_key", "tags", "aliases", "pinned", "agent", "session",
    "created_at", "updated_at", "revision", DIGEST,
];
/// Longest part of a title in a file's name.
const SLUG_CHARS_MAX: usize = 48;

/// The contents of a note; `None` for what is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Note {
    pub id: Option<String>,
    pub revision: Option<i64>,
    pub title: Option<String>,
    pub kind: Option<String>,
    pub project: Option<String>,
    pub scope: Option<String>,
    pub topic_key: Option<String>,
    pub tags: Option<Vec<String>>,
    /// The digest that the export put in: of the note as it was written.
    pub written: Option<String>,
    pub content: String,
}

impl Note {
    /// A digest of all that an import takes from a note.
    pub fn digest(&self) -> String {
        let taken = (
            (&self.title, &self.kind, &self.project, &self.scope),
            (&self.topic_key, &self.tags, &self.content),
        );
        let taken = serde_json::to_string(&taken).unwrap_or_default();
        text_digest(&taken)
    }
}

/// How an export treats an existing file when it is about to write a memory's note.
#[derive(Debug, PartialEq, Eq)]
pub enum Standing {
    /// An export wrote it and nobody has changed it since, or it says what the memory says.
    Ours(Box<Note>),
    /// It is this memory's note and holds a change that was not imported.
    Edited,
    /// Its front matter is not understood; why.
    Unreadable(String),
    /// It is something else.
    Foreign,
}

/// What a file is to an export that would write `new` as the note of memory `id`.
pub fn standing(text: &str, id: &str, new: &Note) -> Standing {
    match parse(text) {
        Err(why) => Standing::Unreadable(why),
        Ok(Some(note)) if note.id.as_deref() == Some(id) => {
            let digest = note.digest();
            if note.written.as_ref() == Some(&digest) || digest == new.digest() {
                Standing::Ours(Box::new(note))
            } else {
                Standing::Edited
            }
        }
        Ok(_) => Standing::Foreign,
    }
}

/// The note `new` with a person's additions to the old one: properties that no export writes, further aliases, and what
/// was written below the links.
pub fn with_additions(new: &str, old: &str) -> String {
    let old = unified(old);
    let (Some((front, old_body)), Some((new_front, body))) = (split(&old), split(new)) else {
        return new.to_owned();
    };
    let mut is_added = false;
    let added: String = front
        .lines()
        .filter(|line| {
            let belongs = line.starts_with([' ', '\t', '-']) || line.trim().is_empty();
            if !belongs {
                let name = property_name(line);
                let has = |line: &str| property_name(line) == name;
                is_added = !WRITTEN.contains(&name) && !new_front.lines().any(has);
            }
            is_added
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let mut merged = new_front.to_owned();
    let (title, present) = (title_of(new_front), aliases(new_front));
    let own = format!("aliases:\n  - {}\n", quoted(&title));
    if let Some(at) = merged.find(&own) {
        let was_title = title_of(front);
        let further =
            aliases(front).into_iter().filter(|alias| *alias != was_title && !present.contains(alias));
        let lines: String = further.map(|alias| format!("  - {}\n", quoted(&alias))).collect();
        merged.insert_str(at + own.len(), &lines);
    }
    format!("{FENCE}\n{merged}{added}{FENCE}\n{}", with_words_below(body, old_body))
}

/// The text and links of a note, with what a person wrote below the links of the old one.
fn with_words_below(body: &str, old: &str) -> String {
    let below = old.rsplit_once(MARK).map_or("", |(_, below)| below);
    let words = below.lines().filter(|line| !is_bullet(line)).collect::<Vec<_>>().join("\n");
    let words = words.trim_matches('\n');
    // Another old note of the memory may have brought the same words. The text itself may end as they do.
    let present = body.rsplit_once(MARK).map_or("", |(_, below)| below.trim_end());
    if words.trim().is_empty() || present.ends_with(&format!("\n{}", words.trim_end())) {
        return body.to_owned();
    }
    let mark = if body.contains(MARK) { String::new() } else { format!("\n{MARK}\n") };
    format!("{body}{mark}\n{words}\n")
}

fn title_of(front: &str) -> String {
    let front = Front::split(front).and_then(|front| front.text("title"));
    front.ok().flatten().unwrap_or_default()
}

fn aliases(front: &str) -> Vec<String> {
    let front = Front::split(front).and_then(|front| front.list("aliases"));
    front.ok().flatten().unwrap_or_default()
}

/// The name of the property that begins in a line.
fn property_name(line: &str) -> &str {
    line.split(':').next().unwrap_or_default().trim().trim_matches(['"', '\''])
}

/// A link from a note to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// What it is: `session`, `similar` …
    pub kind: String,
    /// The other file's name without its ending.
    pub stem: String,
    /// What the link shows.
    pub words: String,
}

/// The name of a memory's file without its ending: readable, and unique by its id.
pub fn stem(title: &str, id: &str) -> String {
    let words: String = title.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    let slug = words.to_lowercase().split_whitespace().collect::<Vec<_>>().join("-");
    let slug: String = slug.chars().take(SLUG_CHARS_MAX).collect();
    let slug = slug.trim_matches('-');
    if slug.is_empty() { id.to_owned() } else { format!("{slug}-{id}") }
}

/// A memory of an export as a note.
pub fn render(memory: &Memory, links: &[Link]) -> String {
    let mut out = format!("{FENCE}\n");
    let field = |out: &mut String, name: &str, value: Option<&Text>| {
        field(out, name, value.filter(|value| !value.is_empty()));
    };
    field(&mut out, "id", Some(&memory.id));
    field(&mut out, "title", Some(&memory.title));
    field(&mut out, "type", Some(&memory.kind));
    field(&mut out, "project", Some(&memory.project));
    field(&mut out, "scope", Some(&memory.scope));
    field(&mut out, "topic_key", memory.topic_key.as_ref());
    if !memory.tags.is_empty() {
        out.push_str("tags:\n");
        memory.tags.iter().for_each(|tag| item(&mut out, tag.raw()));
    }
    if !memory.title.is_empty() {
        out.push_str("aliases:\n");
        item(&mut out, memory.title.raw());
    }
    if memory.pinned {
        out.push_str("pinned: true\n");
    }
    field(&mut out, "agent", Some(&memory.agent));
    field(&mut out, "session", memory.session.as_ref());
    field(&mut out, "created_at", Some(&memory.created_at));
    field(&mut out, "updated_at", Some(&memory.updated_at));
    let _ = writeln!(out, "revision: {}\n{FENCE}\n", memory.revision);
    out.push_str(memory.content.raw().trim_end());
    out.push('\n');
    // A mark within the text is not the one that ends it.
    if !links.is_empty() || memory.content.raw().contains(MARK) {
        let _ = write!(out, "\n{MARK}\n\n");
        out.extend(links.iter().map(bullet));
    }
    stamped(&out)
}

/// A session of an export as a note, with links to what was saved in it. It is never read back; its digest is
/// of the whole text.
pub fn render_session(session: &Session, links: &[Link]) -> String {
    let mut out = format!("{FENCE}\ncerebro: session\n");
    field(&mut out, "id", Some(&session.id));
    field(&mut out, "project", Some(&session.project));
    field(&mut out, "agent", Some(&session.agent));
    field(&mut out, "directory", session.directory.as_ref());
    field(&mut out, "started_at", Some(&session.started_at));
    field(&mut out, "ended_at", session.ended_at.as_ref());
    let _ = write!(out, "{FENCE}\n\n");
    if let Some(summary) = &session.summary {
        let _ = write!(out, "{}\n\n", summary.raw().trim_end());
    }
    out.extend(links.iter().map(bullet));
    let digest = text_digest(&out);
    with_properties(&out, &[(DIGEST, quoted(&digest))])
}

/// Whether a text is a session's note.
pub fn is_session(text: &str) -> bool {
    parse(text) == Ok(None)
}

/// Whether a text is the unchanged note of session `id`: its digest matches, or it equals `new`. (Version 0.1.0 wrote
/// no digest into these.)
pub fn is_untouched_session(text: &str, id: &str, new: &str) -> bool {
    let Some((front, _)) = split(text) else { return false };
    let Ok(front) = Front::split(front) else { return false };
    let is = |name: &str, wanted: &str| front.text(name).ok().flatten().as_deref() == Some(wanted);
    let bare = without_digest(text);
    let is_as_written = is(DIGEST, &text_digest(&bare)) || bare == without_digest(new);
    is("cerebro", "session") && is("id", id) && is_as_written
}

/// The note without the line of its digest.
fn without_digest(text: &str) -> String {
    let Some((front, body)) = split(text) else { return text.to_owned() };
    let kept = front.lines().filter(|line| property_name(line) != DIGEST);
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    format!("{FENCE}\n{kept}{FENCE}\n{body}")
}

fn text_digest(text: &str) -> String {
    text::hex(&Sha256::digest(text)[..8])
}

/// A text in double quotes means the same in YAML as in JSON.
fn quoted(value: &str) -> String {
    Value::String(value.to_owned()).to_string()
}

fn field(out: &mut String, name: &str, value: Option<&Text>) {
    if let Some(value) = value {
        let _ = writeln!(out, "{name}: {}", quoted(value.raw()));
    }
}

fn item(out: &mut String, value: &str) {
    let _ = writeln!(out, "  - {}", quoted(value));
}

fn bullet(link: &Link) -> String {
    let plain = |c: char| if matches!(c, '[' | ']' | '|' | '#' | '^') { ' ' } else { c };
    let words: String = text::one_line(&link.words).chars().map(plain).collect();
    format!("- {}: [[{}|{}]]\n", link.kind, link.stem, words.trim())
}

/// Whether an export wrote this line: a [`bullet`].
fn is_bullet(line: &str) -> bool {
    let parts = line.strip_prefix("- ").and_then(|line| line.split_once(": [["));
    parts.is_some_and(|(kind, link)| {
        kind.chars().all(|c| c.is_alphanumeric() || c == '_') && link.ends_with("]]") && link.contains('|')
    })
}

/// Reads a note; `None` for one of a session. The error says what is wrong with its front matter.
pub fn parse(text: &str) -> Result<Option<Note>, String> {
    let text = unified(text);
    let Some((front, body)) = split(&text) else {
        return Ok(Some(Note { content: without_links(&text), ..Note::default() }));
    };
    let front = Front::split(front)?;
    if front.text("cerebro")?.as_deref() == Some("session") {
        return Ok(None);
    }
    Ok(Some(Note {
        id: front.text("id")?,
        revision: front.text("revision")?.and_then(|number| number.parse().ok()),
        title: front.text("title")?,
        kind: front.text("type")?,
        project: front.text("project")?,
        scope: front.text("scope")?,
        topic_key: front.text("topic_key")?,
        tags: front.list("tags")?,
        written: front.text(DIGEST)?,
        content: without_links(body),
    }))
}

/// The text without a byte order mark, with plain line ends.
fn unified(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}

/// The front matter and what follows.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---\n")?;
    if let Some(body) = rest.strip_prefix("---\n") {
        return Some(("", body));
    }
    let end = rest.find("\n---\n").map(|at| (at, at + 5));
    let end = end.or_else(|| rest.strip_suffix("\n---").map(|front| (front.len(), rest.len())));
    end.map(|(front, body)| (&rest[..=front], &rest[body..]))
}

fn without_links(body: &str) -> String {
    let body = body.rsplit_once(MARK).map_or(body, |(body, _)| body);
    body.trim_matches('\n').trim_end().to_owned()
}

/// The note with its memory's id and revision as they are now, and its digest; all else as it was.
pub fn placed(text: &str, id: &str, revision: u64) -> String {
    let lines = [("id", quoted(id)), ("revision", revision.to_string())];
    stamped(&with_properties(text, &lines))
}

/// The note with its digest, by which a later export knows whether it was edited.
fn stamped(text: &str) -> String {
    match parse(text) {
        Ok(Some(note)) => with_properties(text, &[(DIGEST, quoted(&note.digest()))]),
        _ => text.to_owned(),
    }
}

/// The note with these properties, as YAML, in place of those of the same names.
fn with_properties(text: &str, properties: &[(&str, String)]) -> String {
    let lines: String = properties.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let Some((front, _)) = split(text) else { return format!("---\n{lines}---\n\n{text}") };
    let replaced = |line: &str| {
        properties.iter().any(|(name, _)| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))
    };
    let kept: String = front.lines().filter(|line| !replaced(line)).map(|line| format!("{line}\n")).collect();
    let start = "---\n".len();
    format!("---\n{kept}{lines}{}", &text[start + front.len()..])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::answer::portable::Line;

    fn memory() -> Memory {
        let line = json!({
            "kind": "memory", "id": "abcdefghijkl", "title": "A \"quoted\": title # 1", "type": "decision",
            "project": "acme/pay", "scope": "project", "topic_key": "config/x", "tags": ["a b", "yes"],
            "revision": 3, "agent": "me", "session": "s", "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z", "content": "---\nLine one\n\n  two [[x]]\n---\n",
        });
        let Ok(Line::Memory(memory)) = serde_json::from_value(line) else { panic!("it is a memory") };
        *memory
    }

    fn link() -> Link {
        Link { kind: "session".into(), stem: "s-1".into(), words: "a [b] | c\nd".into() }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        for links in [vec![], vec![link()]] {
            let text = render(&memory(), &links);
            let note = parse(&text).unwrap().unwrap();
            assert_eq!(note.title.as_deref(), Some("A \"quoted\": title # 1"));
            assert_eq!(note.content, "---\nLine one\n\n  two [[x]]\n---", "{text}");
            assert_eq!(note.tags, Some(vec!["a b".to_owned(), "yes".to_owned()]));
            assert_eq!((note.id.as_deref(), note.revision), (Some("abcdefghijkl"), Some(3)));
            assert_eq!(note.topic_key.as_deref(), Some("config/x"));
            assert_eq!(parse(&text.replace('\n', "\r\n")).unwrap().unwrap(), note);
        }
        assert!(render(&memory(), &[link()]).contains("- session: [[s-1|a  b    c d]]"));
        assert_eq!(
            parse(&render_session(&Session { id: "s".into(), ..Session::default() }, &[])).unwrap(),
            None
        );
    }

    #[test]
    fn what_editors_write_is_understood() {
        let note = parse("---\ntags: [one, 2]\ntitle: Plain\n---\nText\n").unwrap().unwrap();
        assert_eq!(note.tags, Some(vec!["one".to_owned(), "2".to_owned()]));
        assert_eq!((note.title.as_deref(), note.content.as_str()), (Some("Plain"), "Text"));
        assert_eq!(parse("---\ntags: a, b\n---\n").unwrap().unwrap().tags.unwrap(), ["a", "b"]);
        assert_eq!(parse("---\ntags:\n---\n").unwrap().unwrap().tags, Some(vec![]));
        assert_eq!(parse("---\n---\nText").unwrap().unwrap().content, "Text");
        let bare = parse("# No front matter\n\n---\nText").unwrap().unwrap();
        assert_eq!((bare.title, bare.content.as_str()), (None, "# No front matter\n\n---\nText"));
        assert!(parse("---\ntitle: [\n---\n").is_err());
        assert!(parse("---\nno property\n---\n").is_err());
    }

    #[test]
    fn an_id_is_put_in_its_place() {
        let text = render(&memory(), &[link()]);
        let placed_text = placed(&text, "bbbbbbbbbbbb", 7);
        let note = parse(&placed_text).unwrap().unwrap();
        assert_eq!((note.id.as_deref(), note.revision), (Some("bbbbbbbbbbbb"), Some(7)));
        let before = parse(&text).unwrap().unwrap();
        assert_eq!(Note { id: before.id.clone(), revision: before.revision, ..note }, before);
        assert_eq!(placed(&placed_text, "bbbbbbbbbbbb", 7), placed_text);
        let bare = placed("Just text\n", "bbbbbbbbbbbb", 1);
        let digest = parse(&bare).unwrap().unwrap().digest();
        let front = format!("id: \"bbbbbbbbbbbb\"\nrevision: 1\ncerebro_digest: \"{digest}\"\n");
        assert_eq!(bare, format!("---\n{front}---\n\nJust text\n"));
    }

    #[test]
    fn only_an_unchanged_note_of_the_memory_is_ours() {
        let text = render(&memory(), &[link()]);
        let new = parse(&text).unwrap().unwrap();
        let of = |text: &str| standing(text, "abcdefghijkl", &new);
        assert!(matches!(of(&text), Standing::Ours(_)));
        // Each export rewrites the links, and unknown properties are not part of the memory.
        assert!(matches!(of(&text.replace("a  b    c d", "else")), Standing::Ours(_)));
        assert!(matches!(of(&text.replacen("---\n", "---\nstatus: read\n", 1)), Standing::Ours(_)));
        assert_eq!(of(&text.replace("Line one", "Line 1")), Standing::Edited);
        // Without a digest, as earlier versions wrote it, it is ours while it says what the memory says.
        assert!(matches!(of(&text.replace(DIGEST, "other")), Standing::Ours(_)));
        assert_eq!(of("---\nid: abcdefghijkl\n---\nMy own.\n"), Standing::Edited);
        for foreign in
            ["My own thoughts.\n", "---\nid: \"zzzzzzzzzzzz\"\n---\nx\n", "---\ncerebro: session\n---\n"]
        {
            assert_eq!(of(foreign), Standing::Foreign, "{foreign}");
        }
        assert!(matches!(of("---\nno property\n---\n"), Standing::Unreadable(_)));
    }

    #[test]
    fn what_a_person_added_to_the_front_matter_stays() {
        let old = render(&memory(), &[]);
        let mut changed = memory();
        changed.title = "Another title".into();
        changed.topic_key = Some("".into());
        let new = render(&changed, &[link()]);
        assert_eq!(with_additions(&new, &old), new, "nothing was added");
        let edited = old
            .replacen("---\n", "---\nstatus: read\nseen:\n  - monday\n- tuesday\n", 1)
            .replace("aliases:\n", "aliases:\n  - \"Mine\"\n");
        let merged = with_additions(&new, &edited);
        for part in ["status: read\nseen:\n  - monday\n- tuesday\n", "  - \"Another title\"\n  - \"Mine\"\n"]
        {
            assert!(merged.contains(part), "{part} is not in {merged}");
        }
        assert!(!merged.contains("topic_key"), "{merged}");
        assert_eq!(with_additions(&merged, &merged), merged);
        assert_eq!(parse(&merged).unwrap(), parse(&new).unwrap());
        assert_eq!(with_additions(&new, "no front matter"), new);
    }

    #[test]
    fn what_a_person_wrote_below_the_links_stays() {
        let old = format!("{}\nMy own words.\n- a point\n", render(&memory(), &[link()]));
        let mut changed = memory();
        changed.title = "Another title".into();
        let new = render(&changed, &[link()]);
        assert_eq!(with_additions(&new, &old), format!("{new}\nMy own words.\n- a point\n"));
        let bare = with_additions(&render(&changed, &[]), &old);
        assert!(bare.ends_with(&format!("\n{MARK}\n\nMy own words.\n- a point\n")), "{bare}");
        for merged in [bare, old] {
            assert_eq!(with_additions(&merged, &merged), merged);
        }
        // The memory's text ends with the same words.
        changed.content = "All of it.\nMy own words.".into();
        let old = format!("{}\nMy own words.\n", render(&changed, &[link()]));
        let bare = with_additions(&render(&changed, &[]), &old);
        assert!(bare.ends_with(&format!("My own words.\n\n{MARK}\n\nMy own words.\n")), "{bare}");
    }

    #[test]
    fn a_text_that_quotes_the_mark_is_read_back_whole() {
        let mut quoting = memory();
        quoting.content = format!("Before.\n{MARK}\nAfter.").as_str().into();
        for links in [vec![], vec![link()]] {
            let note = parse(&render(&quoting, &links)).unwrap().unwrap();
            assert_eq!(note.content, quoting.content.raw());
        }
    }

    #[test]
    fn an_edit_of_a_sessions_note_is_seen() {
        let session = Session {
            id: "s".into(),
            agent: "claude".into(),
            started_at: "2026-01-01T00:00:00Z".into(),
            ..Session::default()
        };
        let text = render_session(&session, &[link()]);
        let other = render_session(&session, &[]);
        let is_untouched = |text: &str, id: &str| is_untouched_session(text, id, &other);
        assert!(is_session(&text) && is_untouched(&text, "s"), "{text}");
        assert!(!is_untouched(&text, "t"));
        assert!(!is_untouched(&format!("{text}More\n"), "s"));
        assert!(!is_untouched(&text.replace("claude", "me"), "s"));
        assert!(!is_session("Text") && !is_untouched("Text", "s"));
        // Without a digest, only what says the same is.
        assert!(is_untouched(&without_digest(&other), "s") && !is_untouched(&without_digest(&text), "s"));
    }

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(stem("Why: we/chose ../X?", "abcdefghijkl"), "why-we-chose-x-abcdefghijkl");
        assert_eq!(stem("🦉", "abcdefghijkl"), "abcdefghijkl");
        assert!(stem(&"語".repeat(300), "abcdefghijkl").len() < 200);
    }
}
