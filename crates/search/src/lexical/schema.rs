//! What the index stores of a passage, and how it is written and read.

use std::fmt;

use tantivy::{
    Index, TantivyDocument, Term,
    schema::{FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions},
};

use super::{
    Doc,
    fold::normal_name,
    opening::opening,
    passage::passages,
    tokenizer::{WORDS, names, words_analyzer},
};
use cerebro_core::domain::{
    Flag, Kind, Origin, Project, Scope, ScopeName, SessionId, SubjectId, Taint, Timestamp,
};
use cerebro_core::text::fnv;

/// The names of the columns of [`Fields::valid`].
pub const VALID: [&str; 2] = ["valid_from", "valid_until"];
/// The names of the columns of [`Fields::held`].
pub const HELD: [&str; 2] = ["held_from", "held_to"];

/// The handles of the schema's fields. One document is one passage of one memory; the passages of a memory are
/// neighbours within a segment, numbered from 0.
///
/// Few fields are indexed, because each costs every commit a term dictionary: everything that is looked up exactly
/// shares `keys`, where the first letter distinguishes the kinds of keys.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// Exact terms, see [`Key`].
    pub keys: Field,
    /// Words of title, topic key and tags.
    pub head: Field,
    /// Words of the passage; stored.
    pub body: Field,
    /// Column: the memory's id as a number.
    pub memory: Field,
    /// Column: the passage's number.
    pub passage: Field,
    /// Column: microseconds since 1970.
    pub date: Field,
    /// Column: a hash of the session's id, 0 without one.
    pub session: Field,
    /// Columns: the first and last moment at which it is true, in microseconds since 1970.
    pub valid: [Field; 2],
    /// Columns: the first and last moment at which the store held it, likewise.
    pub held: [Field; 2],
    /// Stored, like the following fields.
    pub title: Field,
    pub project: Field,
    pub scope: Field,
    pub kind: Field,
    pub agent: Field,
    /// Stored: the origin, then the flags, by their names.
    pub taint: Field,
    /// Stored, on archived memories alone.
    pub archived: Field,
}

/// An exact term of a passage.
#[derive(Debug, Clone, Copy)]
pub enum Key<'a> {
    Memory(&'a SubjectId),
    /// On the first passage of each memory.
    First,
    Project(&'a Project),
    Scope(ScopeName),
    Kind(&'a Kind),
    Tag(&'a str),
    /// The whole title or topic key, normalised; on the first passage.
    Called(&'a str),
    /// A near key or the title key, within one scope; on the first passage.
    Near(&'a Scope, u64),
    /// A word that opens the content; on the first passage.
    Opening(&'a str),
    /// On archived memories.
    Archived,
    /// A name in title, topic key, tags or passage, in the tokenizer's form.
    Name(&'a str),
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(id) => write!(f, "m{id}"),
            Self::First => f.write_str("f"),
            Self::Project(project) => write!(f, "p{project}"),
            Self::Scope(scope) => write!(f, "s{}", scope.as_str()),
            Self::Kind(kind) => write!(f, "k{kind}"),
            Self::Tag(tag) => write!(f, "t{tag}"),
            Self::Called(name) => write!(f, "c{name}"),
            Self::Near(scope, key) => write!(f, "n{:016x}", near_hash(scope, *key)),
            Self::Opening(word) => write!(f, "o{word}"),
            Self::Archived => f.write_str("a"),
            Self::Name(name) => write!(f, "={name}"),
        }
    }
}

fn text(analyzer: &str, lengths: bool) -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(analyzer)
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(lengths);
    TextOptions::default().set_indexing_options(indexing)
}

/// The schema and its handles.
pub fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let fields = Fields {
        keys: schema.add_text_field("keys", text("raw", false)),
        head: schema.add_text_field("head", text(WORDS, true)),
        body: schema.add_text_field("body", text(WORDS, true).set_stored()),
        memory: schema.add_u64_field("memory", FAST),
        passage: schema.add_u64_field("passage", FAST),
        date: schema.add_i64_field("date", FAST),
        session: schema.add_u64_field("session", FAST),
        valid: VALID.map(|name| schema.add_i64_field(name, FAST)),
        held: HELD.map(|name| schema.add_i64_field(name, FAST)),
        title: schema.add_text_field("title", STORED),
        project: schema.add_text_field("project", STORED),
        scope: schema.add_text_field("scope", STORED),
        kind: schema.add_text_field("kind", STORED),
        agent: schema.add_text_field("agent", STORED),
        taint: schema.add_text_field("taint", STORED),
        archived: schema.add_bool_field("archived", STORED),
    };
    (schema.build(), fields)
}

/// Registers the analyser with an index.
pub fn register_analyzer(index: &Index) {
    index.tokenizers().register(WORDS, words_analyzer());
}

impl Fields {
    /// The documents of a memory, one per passage.
    pub fn documents(&self, doc: &Doc) -> Vec<TantivyDocument> {
        let head =
            [doc.title.as_str(), doc.topic_key.as_deref().unwrap_or(""), &doc.tags.join("\n")].join("\n");
        let passages = passages(&doc.content);
        (0..).zip(passages).map(|(number, passage)| self.document(doc, &head, number, passage)).collect()
    }

    fn document(&self, doc: &Doc, head: &str, number: u64, passage: &str) -> TantivyDocument {
        let mut out = TantivyDocument::new();
        out.add_text(self.head, head);
        out.add_text(self.body, passage);
        out.add_u64(self.memory, doc.id.as_number());
        out.add_u64(self.passage, number);
        out.add_i64(self.date, doc.date.as_microsecond());
        out.add_u64(self.session, session_hash(doc.session.as_ref()));
        let [from, until] = self.valid;
        out.add_i64(from, doc.valid.from.map_or(i64::MIN, Timestamp::as_microsecond));
        out.add_i64(until, doc.valid.until.map_or(i64::MAX, Timestamp::as_microsecond));
        let [from, to] = self.held;
        out.add_i64(from, doc.held.0.as_microsecond());
        out.add_i64(to, doc.held.1.as_microsecond());
        out.add_text(self.title, doc.title.as_str());
        out.add_text(self.project, doc.scope.project_name());
        out.add_text(self.scope, doc.scope.name().as_str());
        out.add_text(self.kind, doc.kind.as_str());
        out.add_text(self.agent, doc.agent.as_str());
        out.add_text(self.taint, stored_taint(&doc.taint));
        if doc.archived {
            out.add_bool(self.archived, true);
        }
        let mut key = |key: Key<'_>| out.add_text(self.keys, key.to_string());
        key(Key::Memory(&doc.id));
        doc.scope.project().into_iter().for_each(|project| key(Key::Project(project)));
        key(Key::Scope(doc.scope.name()));
        key(Key::Kind(&doc.kind));
        if doc.archived {
            key(Key::Archived);
        }
        doc.tags.iter().for_each(|tag| key(Key::Tag(tag)));
        for name in names(head).chain(names(passage)) {
            key(Key::Name(&name));
        }
        if number == 0 {
            key(Key::First);
            for word in opening(passage) {
                key(Key::Opening(&word));
            }
            for name in [Some(&doc.title), doc.topic_key.as_ref()].into_iter().flatten() {
                key(Key::Called(&normal_name(name)));
            }
            for near in doc.near_keys.iter().chain([&doc.title_key]) {
                key(Key::Near(&doc.scope, *near));
            }
        }
        out
    }

    pub fn term(&self, key: Key<'_>) -> Term {
        Term::from_field_text(self.keys, &key.to_string())
    }
}

/// A taint as [`Fields::taint`] has it.
fn stored_taint(taint: &Taint) -> String {
    format!("{} {}", taint.origin, taint.names())
}

/// The inverse of [`stored_taint`].
pub fn taint_of(stored: &str) -> Option<Taint> {
    let mut names = stored.split_whitespace();
    let origin = Origin::parse(names.next()?)?;
    Some(Taint { origin, flags: names.map(Flag::parse).collect::<Option<_>>()? })
}

/// A hash of a session's id, 0 without one.
pub fn session_hash(session: Option<&SessionId>) -> u64 {
    session.map_or(0, |id| fnv(id.as_str().bytes()))
}

/// A hash of a key together with its scope.
fn near_hash(scope: &Scope, key: u64) -> u64 {
    let names = scope.project_name().bytes().chain([0]).chain(scope.name().as_str().bytes());
    fnv(names.chain(key.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taint_is_read_as_it_was_stored() {
        for (origin, flags) in
            [(Origin::Agent, vec![]), (Origin::Import, vec![Flag::Role, Flag::StandingOrder])]
        {
            let taint = Taint { origin, flags };
            assert_eq!(taint_of(&stored_taint(&taint)), Some(taint));
        }
        assert_eq!(taint_of(""), None);
        assert_eq!(taint_of("agent something"), None);
    }
}
