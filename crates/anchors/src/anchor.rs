//! Ties a memory to code, and checks what became of the code.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::language::Language;
use crate::name::meant;
use crate::symbol::{Symbol, is_source, symbols};

/// Most anchors of one memory.
pub const ANCHORS_MAX: usize = 8;

/// The SHA-256 of bytes, as 64 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_all([bytes])
    }

    /// The digest of several spans, one after the other.
    fn of_all<'b>(spans: impl IntoIterator<Item = &'b [u8]>) -> Self {
        let mut hash = Sha256::new();
        spans.into_iter().for_each(|span| hash.update(span));
        Self(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Reads a stored digest.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_hex.then(|| Self(text.to_owned()))
    }

    /// Its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A symbol as it was when a memory referred to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pinned {
    /// Its name, including its scopes.
    pub name: String,
    /// Its size in bytes.
    pub bytes: usize,
    /// The digest of its bytes. If the name occurs several times in a file, of the bytes of all occurrences, in
    /// order.
    pub digest: Digest,
}

/// A file, or a symbol in it, as it was when a memory referred to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Anchor {
    /// The path below the project's folder, with `/`.
    pub path: String,
    /// The digest of the whole file: while it is the same, nothing in the file has changed.
    pub file: Digest,
    /// The symbol. Without one, all that counts is whether the file exists, because files change too often.
    pub symbol: Option<Pinned>,
}

/// What became of an anchor, ordered by importance, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The file, or the symbol in it, no longer exists.
    Gone,
    /// The symbol's bytes have changed.
    Changed,
    /// The symbol's exact bytes are under another name or scope of the file.
    Moved,
    /// It cannot be determined: the file could not be read, or not in time.
    Unknown,
    /// It is as it was.
    Fresh,
}

impl Verdict {
    /// The published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Changed => "changed",
            Self::Moved => "moved",
            Self::Unknown => "unknown",
            Self::Fresh => "fresh",
        }
    }

    /// Whether the memory may be wrong about it now.
    pub fn is_stale(self) -> bool {
        matches!(self, Self::Gone | Self::Changed)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Anchor {
    /// The form in marks: `src/a.rs`, or `src/a.rs:Type::method`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.symbol {
            Some(symbol) => write!(f, "{}:{}", self.path, symbol.name),
            None => f.write_str(&self.path),
        }
    }
}

/// The spans of all symbols with this name.
fn spans<'a>(name: &'a str, symbols: &'a [Symbol], bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    symbols.iter().filter(move |symbol| symbol.name == name).map(|symbol| &bytes[symbol.span.clone()])
}

fn pin(name: &str, symbols: &[Symbol], bytes: &[u8]) -> Pinned {
    let total = spans(name, symbols, bytes).map(<[u8]>::len).sum();
    Pinned { name: name.to_owned(), bytes: total, digest: Digest::of_all(spans(name, symbols, bytes)) }
}

/// The anchors of one file for a text that names it: one for each symbol meant by one of the text's
/// [`crate::names`], or, if there is none, one for the file. At most [`ANCHORS_MAX`].
///
/// `may_go_on` bounds the time, as for [`symbols`].
pub fn anchors_in(
    path: &str,
    bytes: &[u8],
    names: &[String],
    may_go_on: &mut dyn FnMut() -> bool,
) -> Vec<Anchor> {
    let file = Digest::of(bytes);
    let found = Language::of_path(path).and_then(|language| symbols(language, bytes, may_go_on));
    let found = found.unwrap_or_default();
    let mut meant: Vec<&str> = names.iter().filter_map(|name| meant(name, &found)).collect();
    let mut seen = std::collections::BTreeSet::new();
    meant.retain(|name| seen.insert(*name));
    meant.truncate(ANCHORS_MAX);
    let anchor = |symbol: Option<Pinned>| Anchor { path: path.to_owned(), file: file.clone(), symbol };
    if meant.is_empty() {
        return vec![anchor(None)];
    }
    meant.into_iter().map(|name| anchor(Some(pin(name, &found, bytes)))).collect()
}

/// A file as it is now, parsed at most once for all anchors to it.
#[derive(Debug)]
pub struct Source {
    language: Option<Language>,
    bytes: Vec<u8>,
    digest: Digest,
    /// Its symbols, once an anchor needed them.
    symbols: Option<Vec<Symbol>>,
}

impl Source {
    /// The file at this path, with its bytes.
    pub fn new(path: &str, bytes: Vec<u8>) -> Self {
        let digest = Digest::of(&bytes);
        Self { language: Language::of_path(path), bytes, digest, symbols: None }
    }

    /// The digest of the whole file.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Whether it has more bytes than these.
    pub fn is_beyond(&self, bytes_max: usize) -> bool {
        self.bytes.len() > bytes_max
    }
}

impl Anchor {
    /// What became of it, given the file as it is now; `None` when the file does not exist.
    pub fn verdict(&self, now: Option<&mut Source>, may_go_on: &mut dyn FnMut() -> bool) -> Verdict {
        let Some(file) = now else { return Verdict::Gone };
        let Some(symbol) = &self.symbol else { return Verdict::Fresh };
        if !is_source(&file.bytes) {
            return Verdict::Unknown;
        }
        if file.digest == self.file {
            return Verdict::Fresh;
        }
        if file.symbols.is_none() {
            file.symbols = file.language.and_then(|language| symbols(language, &file.bytes, may_go_on));
        }
        let Some(found) = &file.symbols else { return Verdict::Unknown };
        symbol.verdict(found, &file.bytes)
    }
}

impl Pinned {
    fn verdict(&self, symbols: &[Symbol], bytes: &[u8]) -> Verdict {
        if symbols.iter().any(|symbol| symbol.name == self.name) {
            let is_same = pin(&self.name, symbols, bytes) == *self;
            return if is_same { Verdict::Fresh } else { Verdict::Changed };
        }
        let alike = symbols.iter().filter(|symbol| symbol.span.len() == self.bytes);
        let is_elsewhere =
            alike.into_iter().any(|symbol| Digest::of(&bytes[symbol.span.clone()]) == self.digest);
        if is_elsewhere { Verdict::Moved } else { Verdict::Gone }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "fn one() { 1 }\nstruct S;\nimpl S { fn two(&self) { 2 } }\nfn one_more() {}\n";

    fn anchors(names: &[&str]) -> Vec<Anchor> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        anchors_in("src/a.rs", FILE.as_bytes(), &names, &mut || true)
    }

    fn verdict(anchor: &Anchor, now: &str) -> Verdict {
        anchor.verdict(Some(&mut source(&anchor.path, now)), &mut || true)
    }

    fn source(path: &str, text: &str) -> Source {
        Source::new(path, text.into())
    }

    #[test]
    fn a_file_is_parsed_once_for_all_its_anchors() {
        let mut now = source("src/a.rs", &FILE.replace("{ 2 }", "{ 3 }"));
        let [one, two] = anchors(&["one", "two"]).try_into().unwrap();
        assert_eq!(one.verdict(Some(&mut now), &mut || true), Verdict::Fresh);
        // Parsing again would find nothing.
        now.language = None;
        assert_eq!(two.verdict(Some(&mut now), &mut || true), Verdict::Changed);
    }

    #[test]
    fn a_symbol_is_stale_exactly_when_its_bytes_changed() {
        let [one, two] = anchors(&["one", "two", "one", "nothing"]).try_into().unwrap();
        assert_eq!((one.to_string(), two.to_string()), ("src/a.rs:one".into(), "src/a.rs:S::two".into()));
        assert_eq!(verdict(&one, FILE), Verdict::Fresh);
        let moved_down = format!("// A comment.\n\n{FILE}");
        assert_eq!(verdict(&one, &moved_down), Verdict::Fresh);
        assert_eq!(verdict(&one, &FILE.replace("{ 2 }", "{ 3 }")), Verdict::Fresh, "another one changed");
        assert_eq!(verdict(&two, &FILE.replace("{ 2 }", "{ 3 }")), Verdict::Changed);
        assert_eq!(verdict(&one, &FILE.replace("{ 1 }", "{1}")), Verdict::Changed, "blanks are bytes");
        assert_eq!(verdict(&two, &FILE.replace("impl S", "impl T")), Verdict::Moved);
        assert_eq!(verdict(&two, &FILE.replace("two", "three")), Verdict::Gone);
        assert_eq!(one.verdict(None, &mut || true), Verdict::Gone);
        assert_eq!(verdict(&one, "fn one\0"), Verdict::Unknown);
    }

    #[test]
    fn an_anchor_to_a_file_is_fresh_or_gone() {
        let [file] = anchors(&["nothing"]).try_into().unwrap();
        assert_eq!(file.to_string(), "src/a.rs");
        assert_eq!(verdict(&file, "quite another text"), Verdict::Fresh);
        assert_eq!(file.verdict(None, &mut || true), Verdict::Gone);
        let notes = anchors_in("notes.md", b"# `one`", &["one".to_owned()], &mut || true);
        assert_eq!(notes[0].symbol, None);
    }

    #[test]
    fn a_repeated_name_stands_for_all_its_occurrences() {
        let text = "#[cfg(a)]\nfn f() { 1 }\n#[cfg(b)]\nfn f() { 2 }\n";
        let [f] = anchors_in("a.rs", text.as_bytes(), &["f".into()], &mut || true).try_into().unwrap();
        assert_eq!(verdict(&f, text), Verdict::Fresh);
        for (from, to) in [("1", "3"), ("2", "3"), ("#[cfg(b)]\nfn f() { 2 }\n", "")] {
            assert_eq!(verdict(&f, &text.replace(from, to)), Verdict::Changed, "{from}");
        }
    }

    #[test]
    fn verdicts_are_in_order_and_anchors_bounded() {
        let order = [Verdict::Gone, Verdict::Changed, Verdict::Moved, Verdict::Unknown, Verdict::Fresh];
        assert!(order.is_sorted());
        let text: String = (0..20).map(|n| format!("fn f{n}() {{}}\n")).collect();
        let names: Vec<String> = (0..20).map(|n| format!("f{n}")).collect();
        assert_eq!(anchors_in("a.rs", text.as_bytes(), &names, &mut || true).len(), ANCHORS_MAX);
        // Without time to parse, only the file gets an anchor.
        let long = text.repeat(2_000);
        let [file] = anchors_in("a.rs", long.as_bytes(), &names, &mut || false).try_into().unwrap();
        assert_eq!(file.symbol, None);
    }

    #[test]
    fn digests_round_trip() {
        let digest = Digest::of(b"x");
        assert_eq!(Digest::parse(digest.as_str()), Some(digest.clone()));
        for bad in ["", "x", &digest.as_str().to_uppercase(), &digest.as_str()[1..]] {
            assert_eq!(Digest::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        /// Whatever is put before, after or in place of a function, the verdict follows from its bytes.
        #[test]
        fn the_verdict_is_what_the_bytes_say(body in "[a-z ]{0,20}", other in "[a-z ]{0,20}", above in "[a-z]{1,8}") {
            let file = |body: &str, above: &str| format!("def {above}_above():\n    return 0\n\ndef subject():\n    return '{body}'\n\nlast = 1\n");
            let [anchor] = anchors_in("a.py", file(&body, "x").as_bytes(), &["subject".into()], &mut || true).try_into().unwrap();
            let now = file(&other, &above);
            let want = if body == other { Verdict::Fresh } else { Verdict::Changed };
            prop_assert_eq!(verdict(&anchor, &now), want);
        }
    }
}
