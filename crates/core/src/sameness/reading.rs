//! How a text is read when it is held against texts that no longer hold: whole and part by part, with and without what wraps
//! it. All doors of the guard, and what is noted of a text, read it here.
//!
//! Only a text that comes in is read without tags and links: what is noted keeps them, so two texts that differ in one are
//! never the same.

use std::{borrow::Cow, collections::BTreeSet, sync::LazyLock};

use regex::{Captures, Regex};

use super::{NAMING_WORDS_MIN, containment::sentences, former_normal, length, normal};

/// Most parts of one text that are read; a compaction's summary has some dozens.
const PARTS_MAX: usize = 600;

/// What introduces a statement and leaves its meaning. `Before:` and `Production:` are none of these.
const LABELS: &str = "what|why|where|when|how|who|learned|learnt|lesson|notes?|n\\.?b\\.?|facts?|decisions?|decided|rules?|summary|\
    tl;?dr|context|findings?|found|results?|conclusion|reasons?|rationale|important|remember|tip|info|hint|text|content|title|\
    name|description|details?|discovery|discoveries|insights?|memory|observations?|constraints?|patterns?|preferences?|answer|\
    statement|topic|subject";
/// Elements of HTML whose tags leave the meaning. `del`, `s`, `sub` and `sup` change it.
const ELEMENTS: &str = "a|article|b|blockquote|body|br|center|code|dd|div|dl|dt|em|font|footer|h[1-6]|header|hr|html|i|kbd|li|\
    main|mark|ol|p|pre|q|section|small|span|strong|summary|table|tbody|td|th|thead|tr|tt|u|ul";

/// A line that is only a label, and a label before a statement.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    let mark = r"(?:[>#*+\-\u{2022}]+[ \t]+)*";
    let named = format!(r"[*_`]*(?:{LABELS})[*_`]*");
    compiled(&format!(
        r"(?mi)^[ \t]*(?:#{{1,6}}[ \t]+{named}|{mark}[*_]{{2}}{named})[ \t]*$|(^[ \t]*{mark}|[.!?;]\s+){named}[ \t]*:[*_]*(?:[ \t]+|$)"
    ))
});
/// What a line begins with that is a quote, a heading or an item of a list, with its number.
static MARKS: LazyLock<Regex> = LazyLock::new(|| compiled(r"(?m)^[ \t]*(?:(?:[>#*+-]+|\d{1,3}[.)])[ \t]+)+"));
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    let attributes = r#"(?:\s+[a-z-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*"#;
    compiled(&format!(r"(?i)</(?:{ELEMENTS})\s*>|\B<(?:{ELEMENTS}){attributes}\s*/?>|<br\s*/?>"))
});
static LINK: LazyLock<Regex> = LazyLock::new(|| compiled(r#"!?\[([^\[\]]+)\]\([^()\s]*(?:\s+"[^"]*")?\)"#));
static ENTITY: LazyLock<Regex> = LazyLock::new(|| compiled("&(quot|amp|lt|gt|apos|nbsp|#39|#34);"));

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is part of the program, and a test compiles it")
}

/// A part of a text that may say by itself what a whole memory said: a paragraph, a line, a sentence, or the text of a link
/// or of an element of HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// As it is written, or as it would be without links and tags.
    pub raw: String,
    /// The forms in which it is read.
    pub forms: Vec<String>,
}

/// The form in which a text is noted: normal, without labels.
pub fn noted(text: &str) -> String {
    let form = normal(&unlabelled(text));
    if form.is_empty() { normal(text) } else { form }
}

/// Whether a text has no words but labels.
pub fn says_nothing(text: &str) -> bool {
    normal(&unlabelled(text)).is_empty()
}

/// The forms in which a text that comes in is read, each once: as it is written, and without labels, marks of lines, links
/// and tags. At last, where it is another one, the form that earlier versions noted.
pub fn readings(text: &str) -> Vec<String> {
    let plain = unwrapped(text);
    let unmarked = MARKS.replace_all(&plain, "");
    let mut forms = vec![normal(text)];
    let read = [unlabelled(text), unlabelled(&plain), unlabelled(&unmarked)];
    let others = read.iter().filter(|read| **read != text).map(|read| normal(read));
    for form in others.chain(former_normal(text)) {
        if !form.is_empty() && !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

/// The parts of a text that are long enough to say the same wherever they stand, each once, the longer ones first.
pub fn parts(text: &str) -> Vec<Part> {
    let apart = set_apart(text);
    let texts = [Some(text), (apart != text).then_some(&*apart)];
    let mut seen = BTreeSet::new();
    let pieces: Vec<&str> = texts
        .into_iter()
        .flatten()
        .flat_map(|text| {
            let sentences = sentences(text).into_iter().map(|sentence| sentence.raw);
            text.split("\n\n").chain(text.lines()).chain(sentences)
        })
        .map(str::trim)
        .filter(|piece| seen.insert(*piece))
        .collect();
    let part = |raw: &str| Part { raw: raw.to_owned(), forms: readings(raw) };
    let is_long = |form: &String| form.split(' ').map(length).sum::<usize>() >= NAMING_WORDS_MIN;
    pieces.into_iter().map(part).filter(|part| part.forms.iter().any(is_long)).take(PARTS_MAX).collect()
}

/// Whether a text says one of the forms, whole or in a part.
pub fn says(text: &str, forms: &[String]) -> bool {
    let is_one = |read: &[String]| read.iter().any(|form| forms.contains(form));
    is_one(&readings(text)) || parts(text).iter().any(|part| is_one(&part.forms))
}

/// A text with what it links and what elements of HTML contain as paragraphs of their own.
pub fn set_apart(text: &str) -> Cow<'_, str> {
    without_wrappers(text, "\n\n")
}

fn unwrapped(text: &str) -> Cow<'_, str> {
    without_wrappers(text, " ")
}

fn without_wrappers<'a>(text: &'a str, between: &str) -> Cow<'a, str> {
    if !text.contains(['<', '&', '[']) {
        return Cow::Borrowed(text);
    }
    let text = TAG.replace_all(text, between);
    let text = LINK.replace_all(&text, |link: &Captures<'_>| {
        if between == " " { link[1].to_owned() } else { format!("{between}{}{between}", &link[1]) }
    });
    let sign = |entity: &Captures<'_>| match &entity[1] {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "nbsp" => " ",
        "apos" | "#39" => "'",
        _ => "\"",
    };
    Cow::Owned(ENTITY.replace_all(&text, sign).into_owned())
}

fn unlabelled(text: &str) -> Cow<'_, str> {
    LABEL.replace_all(text, "$1")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "The deploy job retries uploads 17 times because the storage answers \"slow down\" under load";

    fn is_read_in(text: &str) -> bool {
        says(text, &[noted(TEXT)])
    }

    #[test]
    fn what_wraps_a_text_makes_no_difference() {
        for text in [
            format!("What: {TEXT}."),
            format!("**What**: {TEXT}"),
            format!("**What:** {TEXT}"),
            format!("- **Why**: {TEXT}"),
            format!("## What\n\n{TEXT}"),
            format!("**Learned**\n{TEXT}"),
            format!("# {TEXT}"),
            format!("> {TEXT}"),
            format!("* {TEXT}"),
            format!("1. {TEXT}"),
            format!("12) {TEXT}"),
            format!("- > {TEXT}"),
            format!("<p>{TEXT}</p>"),
            format!("<div class=\"note\"><p>{TEXT}</p></div>"),
            format!("<ul><li>One more thing</li><li>{TEXT}</li></ul>"),
            format!("<P STYLE='x'>{TEXT}</P>"),
            TEXT.replace("storage", "<b>storage</b>"),
            TEXT.replace('"', "&quot;"),
            format!("[{TEXT}](https://example.com/a)"),
            format!("See [{TEXT}](https://example.com/a \"a title\") for more."),
            TEXT.replace("storage", "[storage](https://example.com)"),
            format!("Looked at the dashboards.\n\n{TEXT}\n\nNothing else."),
            format!("Looked at the dashboards.\n{TEXT}\nNothing else."),
            format!("- looked at the dashboards\n- {TEXT}\n- nothing else"),
            format!("We met on Monday. {TEXT}. Nothing else was decided."),
            format!("{TEXT}\n\nSource: chat"),
        ] {
            assert!(is_read_in(&text), "{text}");
        }
    }

    #[test]
    fn what_changes_the_meaning_is_no_wrapper() {
        for text in [
            format!("Before: {TEXT}"),
            format!("Production: {TEXT}"),
            format!("It is not so that {TEXT}"),
            format!("<del>{TEXT}</del>"),
            format!("- [x] {TEXT}"),
            format!("{TEXT} (wrong)"),
            TEXT.replace("17", "<17>"),
            TEXT.replace("17", "18"),
        ] {
            assert!(!is_read_in(&text), "{text}");
        }
        for (one, other) in [
            ("Wrap each name in <b>name</b> of the ledger", "Wrap each name in <i>name</i> of the ledger"),
            ("Write <b> before each name of the ledger", "Write <i> before each name of the ledger"),
            (
                "The names of it are a Vec<String> in the ledger",
                "The names of it are a Vec<u8> in the ledger",
            ),
            (
                "See [the page](https://a.example) for how it goes",
                "See [the page](https://b.example) for how it goes",
            ),
            ("Escape it as &lt; in the text of the ledger", "Escape it as &gt; in the text of the ledger"),
        ] {
            assert!(!says(one, &[noted(other)]) && !says(other, &[noted(one)]), "{one} / {other}");
        }
    }

    #[test]
    fn two_hundred_parts_that_differ_in_one_significant_word_differ() {
        let subjects = ["the cache", "Redis", "the worker", "src/store.rs", "`max_size`"];
        for n in 0..40_u32 {
            let subject = subjects[n as usize % subjects.len()];
            let base = format!("{subject} keeps {n} entries since v2.{n}.0 and is enabled on node-{n}.");
            for other in [
                base.replace(&format!("keeps {n} "), &format!("keeps {} ", n + 1)),
                base.replace(&format!("v2.{n}.0"), &format!("v2.{n}.1")),
                base.replace("is enabled", "is not enabled"),
                base.replace(&format!("node-{n}"), &format!("node-{}", n + 100)),
                base.replace("is enabled", "isn't enabled"),
            ] {
                let note = format!(
                    "Met on Monday.\n\n- What: {other}\n- <p>{other}</p>\n\n[{other}](https://a.example)"
                );
                assert!(says(&note, &[noted(&other)]), "{note}");
                assert!(!says(&note, &[noted(&base)]), "{note}");
            }
        }
    }

    #[test]
    fn parts_are_long_and_as_they_are_written() {
        let text = "## Goal\nShort.\n- the ledger of the second shop listens on port 5432\n- no.\nAnd the gateway of it has had no port of its own. So.";
        let raw: Vec<String> = parts(text).into_iter().map(|part| part.raw).collect();
        assert_eq!(
            raw,
            [
                text,
                "- the ledger of the second shop listens on port 5432",
                "And the gateway of it has had no port of its own. So.",
                "And the gateway of it has had no port of its own.",
            ]
        );
        assert!(says(text, &[noted("The ledger of the second shop listens on port 5432.")]));
        assert!(!says(text, &[noted("The ledger of the second shop listens on port 5433.")]));
        assert!(parts(&"One line of a long text goes so.\n\n".repeat(3)).len() < 4, "each once");
    }

    #[test]
    fn long_texts_of_marks_are_read_in_linear_time() {
        for sign in ["<", "[", "&", "What: ", "- ", "1. ", "](", "<p>", "** "] {
            assert!(parts(&sign.repeat(64 * 1024 / sign.len())).len() <= PARTS_MAX, "{sign}");
        }
    }

    #[test]
    fn the_form_of_earlier_versions_is_read_too() {
        let text = "on cdn\u{2011}7 the led\u{e0067}ger";
        assert_eq!(readings(text), ["on cdn-7 the ledger", "on cdn 7 the led\u{e0067}ger"]);
        assert_eq!(readings("on cdn-7"), ["on cdn-7"]);
    }
}
