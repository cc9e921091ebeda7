//! Which names of code a text contains, and which symbol of a file each of them means.

use std::collections::BTreeSet;

use crate::symbol::Symbol;

/// Most names of one text; the first ones count.
pub const NAMES_MAX: usize = 64;
/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 128;
/// Most bytes of a text that are read.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The names in a text that are written like code, without repetitions and as `Scope::name`: between backticks,
/// before a `(`, after the colon of `src/a.rs:name`, or in a form that prose does not have (`snake_case`,
/// `CamelCase`, `a::b`).
pub fn names(text: &str) -> Vec<String> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut in_code = false;
    let mut rest = text;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        if is_start(first) {
            let length = name_length(rest);
            let (name, behind) = rest.split_at(length);
            let is_code = in_code
                || behind.starts_with('(')
                || is_behind_path(before, text, rest)
                || has_code_shape(name);
            let plain = plain(name);
            if is_code && plain.len() <= NAME_BYTES_MAX && seen.insert(plain.clone()) {
                found.push(plain);
                if found.len() == NAMES_MAX {
                    break;
                }
            }
            before = name.chars().next_back().unwrap_or(' ');
            rest = behind;
            continue;
        }
        if first == '`' {
            let ticks = rest.len() - rest.trim_start_matches('`').len();
            in_code = !in_code;
            before = '`';
            rest = &rest[ticks..];
            continue;
        }
        before = first;
        rest = &rest[first.len_utf8()..];
        if first.is_numeric() {
            // `3rd` is not the name `rd`.
            rest = rest.trim_start_matches(is_part);
        }
    }
    found
}

fn is_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the name at the beginning of the text, including separators between its parts.
fn name_length(text: &str) -> usize {
    let mut length = 0;
    loop {
        length += text[length..].find(|c| !is_part(c)).unwrap_or(text.len() - length);
        let joint = ["::", "->", ".", "#"].into_iter().find(|joint| text[length..].starts_with(joint));
        let Some(joint) = joint else { return length };
        let next = &text[length + joint.len()..];
        if !next.starts_with(is_start) {
            return length;
        }
        length += joint.len();
    }
}

/// The name with the same separator for all languages.
fn plain(name: &str) -> String {
    name.replace("->", "::").replace(['.', '#'], "::")
}

/// Whether the name follows a colon that has no blank before it: `src/a.rs:name`.
fn is_behind_path(before: char, text: &str, rest: &str) -> bool {
    let upto = &text[..text.len() - rest.len()];
    before == ':' && upto[..upto.len() - 1].ends_with(is_part)
}

/// Whether a word has a form that prose does not have.
fn has_code_shape(name: &str) -> bool {
    let is_snake = name.trim_matches('_').contains('_');
    let has_hump = name
        .as_bytes()
        .windows(2)
        .any(|two| (two[0].is_ascii_lowercase() || two[0].is_ascii_digit()) && two[1].is_ascii_uppercase());
    is_snake || has_hump || name.contains("::") || name.contains("->")
}

/// The symbol that a name means: the one with exactly this name, else the only one whose name ends with it, else
/// the only one with which it ends, as after modules. `None` when several fit: a guess would be noise.
pub(crate) fn meant<'s>(name: &str, symbols: &'s [Symbol]) -> Option<&'s str> {
    if let Some(exact) = symbols.iter().find(|symbol| symbol.name == name) {
        return Some(&exact.name);
    }
    let only = |matches: &dyn Fn(&str) -> bool| {
        let found: BTreeSet<&str> =
            symbols.iter().map(|symbol| symbol.name.as_str()).filter(|symbol| matches(symbol)).collect();
        (found.len() == 1).then(|| found.first().copied()).flatten()
    };
    let is_tail = |whole: &str, tail: &str| whole.strip_suffix(tail).is_some_and(|rest| rest.ends_with("::"));
    let is_behind_modules = |symbol: &str| {
        is_tail(name, symbol) && !name[..name.len() - symbol.len()].contains(char::is_uppercase)
    };
    only(&|symbol| is_tail(symbol, name)).or_else(|| only(&is_behind_modules))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_found_in_the_forms_of_code() {
        for (text, want) in [
            ("`parse` reads the line", vec!["parse"]),
            ("call parse() twice, parse() again", vec!["parse"]),
            ("see src/a.rs:render and b.py::Class.method", vec!["a::rs", "render", "b::py::Class::method"]),
            ("HttpServer uses open_store", vec!["HttpServer", "open_store"]),
            ("Note: this is prose. It was e.g. the 3rd time", vec![]),
            ("```\nlet x = y;\n```\nand out again", vec!["let", "x", "y"]),
            ("self->field and `a#b`", vec!["self::field", "a::b"]),
            ("`unclosed code", vec!["unclosed", "code"]),
            ("_ __ `_`", vec!["_"]),
            ("", vec![]),
        ] {
            let found = names(text);
            // A file's name is a name too, but no symbol of a file has it.
            let found: Vec<&str> = found.iter().map(String::as_str).collect();
            if text.starts_with("see") {
                assert!(found.contains(&"render") && found.contains(&"b::py::Class::method"), "{found:?}");
            } else {
                assert_eq!(found, want, "{text}");
            }
        }
    }

    #[test]
    fn a_name_means_one_symbol_or_none() {
        let symbols: Vec<Symbol> = ["open", "A::new", "B::new", "m::C::close", "A::open"]
            .into_iter()
            .map(|name| Symbol { name: name.to_owned(), span: 0..1 })
            .collect();
        for (name, want) in [
            ("open", Some("open")),
            ("A::open", Some("A::open")),
            ("new", None),
            ("A::new", Some("A::new")),
            ("close", Some("m::C::close")),
            ("C::close", Some("m::C::close")),
            ("crate::store::open", Some("open")),
            ("File::open", None),
            ("pen", None),
            ("lose", None),
            ("", None),
        ] {
            assert_eq!(meant(name, &symbols), want, "{name}");
        }
    }

    #[test]
    fn a_long_text_gives_a_bounded_number() {
        let text: String = (0..1_000).map(|n| format!("name_{n} ")).collect();
        assert_eq!(names(&text).len(), NAMES_MAX);
        assert!(names(&"é".repeat(TEXT_BYTES_MAX)).is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(\\PC|`|::|\\.|->|\n){0,200}") {
            for name in names(&text) {
                prop_assert!(!name.is_empty() && name.len() <= NAME_BYTES_MAX);
            }
        }
    }
}
