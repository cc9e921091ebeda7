//! Exact names in a text: files, symbols, error codes and packages.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use crate::{domain::Memory, redact::RedactedText};

/// Most mentions of one memory that are considered, in the order of the text.
const MENTIONS_MAX: usize = 48;
/// Longest mention, in bytes.
const MENTION_BYTES_MAX: usize = 128;
/// Shortest symbol worth comparing, in bytes.
const SYMBOL_BYTES_MIN: usize = 5;

named! {
    /// What is mentioned.
    pub enum MentionKind {
        /// A file, by its path or name.
        File = "file",
        /// A function, type, constant or setting, as code writes it.
        Symbol = "symbol",
        /// The code of an error.
        Error = "error",
        /// A package, by its name without the version.
        Package = "package",
    }
}

/// Something that a text names exactly.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mention {
    pub kind: MentionKind,
    /// As it is written.
    pub name: RedactedText,
}

struct Shapes {
    url: Regex,
    shape: Regex,
}

/// One pattern per kind, tried from the left at each place, the most significant first.
static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let files = "rs|py|pyi|js|mjs|cjs|jsx|ts|tsx|go|java|kt|swift|c|h|cc|cpp|hpp|cs|rb|php|lua|zig|ex|exs|erl|hs\
        |ml|scala|clj|sh|bash|zsh|fish|ps1|sql|surql|proto|graphql|toml|yaml|yml|json|jsonl|jsonc|xml|html|css\
        |scss|vue|svelte|md|rst|txt|lock|cfg|conf|ini|env|tf|nix|gradle|cmake|mk|csv|ipynb|service|patch";
    let errors = [
        r"E\d{4}",
        r"TS\d{4,5}",
        r"CVE-\d{4}-\d{4,7}",
        r"ORA-\d{5}",
        r"(?:ERR|E|SIG)_[A-Z0-9_]{3,}",
        "E(?:ACCES|ADDRINUSE|AGAIN|CONNREFUSED|CONNRESET|EXIST|INVAL|MFILE|NOENT|NOMEM|NOSPC|PERM|PIPE|TIMEDOUT)",
    ];
    let error = errors.join("|");
    let shape = format!(
        r"(?x)
        (?P<package> @[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9._-]* (?:@\d[\w.+-]*)? | [a-zA-Z][\w-]*@\d+\.[\w.+-]+ )
        | (?P<error> \b(?:{error})\b )
        | (?P<file> (?:\.{{0,2}}/)?(?:[\w@.-]+/)*[\w@-][\w@.-]*\.(?:{files})\b
            | \b(?:[\w@.-]+/)*(?:Dockerfile|Makefile|Jenkinsfile|Justfile|Procfile)\b )
        | (?P<symbol> \b[A-Za-z_]\w*(?:::\w+)+ | \b\w+_\w+\b
            | \b[A-Za-z]*[a-z0-9][A-Z]\w*\b | \b[A-Z]{{2,}}[a-z]\w*\b )"
    );
    let compiled = |pattern: &str| Regex::new(pattern).expect("the patterns are constant and tested");
    Shapes { url: compiled(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+"), shape: compiled(&shape) }
});

/// The files, symbols, error codes and packages that a memory names, without repetitions and in order, up to a
/// bound.
pub fn mentions(memory: &Memory) -> Vec<Mention> {
    mentions_in(&format!("{}\n{}", memory.title, memory.content))
}

fn mentions_in(text: &str) -> Vec<Mention> {
    let text = SHAPES.url.replace_all(text, " ");
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for shape in SHAPES.shape.captures_iter(&text) {
        let kinds = [
            ("package", MentionKind::Package),
            ("error", MentionKind::Error),
            ("file", MentionKind::File),
            ("symbol", MentionKind::Symbol),
        ];
        let matched = kinds.into_iter().find_map(|(group, kind)| Some((kind, shape.name(group)?.as_str())));
        let Some((kind, name)) = matched else { continue };
        let name = plain(kind, name);
        let short = kind == MentionKind::Symbol && name.len() < SYMBOL_BYTES_MIN;
        if short || name.len() > MENTION_BYTES_MAX {
            continue;
        }
        let mention = Mention { kind, name: RedactedText::derived(name) };
        if seen.insert(mention.clone()) {
            found.push(mention);
        }
        if found.len() == MENTIONS_MAX {
            break;
        }
    }
    found
}

/// The name without parts that may differ between two mentions of the same thing.
fn plain(kind: MentionKind, name: &str) -> &str {
    match kind {
        MentionKind::File => name.trim_start_matches("./").trim_start_matches('/'),
        MentionKind::Package => match name.rfind('@') {
            Some(at) if at > 0 => &name[..at],
            _ => name,
        },
        MentionKind::Symbol | MentionKind::Error => name.trim_matches('_'),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_code_are_found_and_prose_is_not() {
        use MentionKind::{Error, File, Package, Symbol};
        let cases: &[(&str, &[(MentionKind, &str)])] = &[
            ("see ./src/store/mod.rs:42.", &[(File, "src/store/mod.rs")]),
            ("the Makefile and Cargo.toml", &[(File, "Makefile"), (File, "Cargo.toml")]),
            ("`HNSW_CACHE_SIZE` is read", &[(Symbol, "HNSW_CACHE_SIZE")]),
            ("call parseHTTPHeader(x)", &[(Symbol, "parseHTTPHeader")]),
            ("std::sync::LazyLock, tokio", &[(Symbol, "std::sync::LazyLock")]),
            ("open_store fails with E0502", &[(Symbol, "open_store"), (Error, "E0502")]),
            ("ECONNRESET, ERR_MODULE_NOT_FOUND", &[(Error, "ECONNRESET"), (Error, "ERR_MODULE_NOT_FOUND")]),
            ("npm i @scope/some-pkg@1.2.3", &[(Package, "@scope/some-pkg")]),
            ("serde@1.0.2 and left-pad@1.3.0", &[(Package, "serde"), (Package, "left-pad")]),
            ("HTTPServer twice: HTTPServer", &[(Symbol, "HTTPServer")]),
            ("https://example.com/src/main.rs", &[]),
            ("I said: why not? It was 3.5 times slower, e.g. today.", &[]),
            ("EVERY ERROR IS LOUD", &[]),
            ("a_b x_y", &[]),
        ];
        for (text, expected) in cases {
            let found: Vec<(MentionKind, String)> =
                mentions_in(text).into_iter().map(|m| (m.kind, m.name.into())).collect();
            let expected: Vec<(MentionKind, String)> =
                expected.iter().map(|(kind, name)| (*kind, (*name).to_owned())).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_long_text_gives_a_bounded_number() {
        let text: String = (0..1_000).map(|n| format!("symbol_{n} ")).collect();
        assert_eq!(mentions_in(&text).len(), MENTIONS_MAX);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,300}") {
            for mention in mentions_in(&text) {
                prop_assert!(!mention.name.is_empty() && mention.name.len() <= MENTION_BYTES_MAX);
            }
        }
    }
}
