//! Wrappers of a statement that do not change its meaning: labels, marks of lines, dates, Markdown, HTML and JSON. Each has
//! a pattern here, with an example.
//!
//! `Before:`, `Production:`, `<del>` and `~~` are no wrappers, because they change the meaning.

use std::{borrow::Cow, sync::LazyLock};

use regex::{Captures, Regex};
use serde_json::Value;

/// Words that introduce a statement: `What: …`, `**Note**: …`, `## Decision`.
const LABELS: &str = "what|why|where|when|how|who|learned|learnt|lesson|notes?|n\\.?b\\.?|facts?|decisions?|decided|rules?|summary|\
    tl;?dr|context|findings?|found|results?|conclusion|reasons?|rationale|important|remember|reminder|tip|info|fyi|hint|text|content|\
    title|name|description|details?|discovery|discoveries|insights?|memory|observations?|constraints?|patterns?|preferences?|answer|\
    statement|message|value|topic|subject|warum|wo|wann|wie|wer|gelernt|notiz|hinweis|merke|fakt|entscheidung|entschieden|\
    regel|zusammenfassung|kontext|ergebnis|fazit|grund|wichtig|tipp|inhalt|titel|beschreibung|erkenntnis|beobachtung";
/// Whose statement it is, in a conversation that was written down: `User: …`, `Assistant said: …`.
const SPEAKERS: &str = "user|human|assistant|agent|claude|codex|gemini|copilot|cursor";
/// Phrases that introduce a statement: `Note that …`, `Also, …`.
const PHRASES: &str = concat!(
    r"(?:please\s+)?(?:note|remember|recall|keep\s+in\s+mind)\s+that",
    r"|(?:also|additionally|furthermore|moreover|besides|in\s+addition|außerdem|zudem),"
);
/// A day at the beginning, with or without the time: `2026-11-01: …`, `[2026-11-01 10:30] …`, `Nov 1, 2026 – …`.
const DATE: &str = concat!(
    r"[*_]*[(\[]?(?:(?:as\s+of|on|stand|vom|am)\s+)?(?:",
    r"\d{4}-\d\d-\d\d(?:[T\s]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?",
    r"|\d{1,2}[./]\d{1,2}[./]\d{4}",
    r"|(?:\d{1,2}\.?\s+)?(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]*\.?",
    r"(?:\s+\d{1,2}(?:st|nd|rd|th)?,?)?\s+\d{4}",
    r")[)\]]?[*_]*[:,]?[*_]*\s+(?:[-–—|]\s+)?"
);
/// Signs that draw the eye to a line: arrows, boxes, ticks and pictures. What denies, forbids, asks or throws away is none of
/// these: crosses, no-entry signs, question marks, bins, graves, thumbs down, red lights.
const SIGNS: &str = concat!(
    r"(?:[\u{2190}-\u{21ff}\u{2610}\u{2611}\u{2713}\u{2714}[\p{Extended_Pictographic}--[",
    r"\u{2049}\u{2620}\u{26b0}\u{26b1}\u{26d4}\u{2716}\u{274c}\u{274e}\u{2753}\u{2754}\u{1f198}\u{1f44e}\u{1f480}\u{1f494}",
    r"\u{1f4f5}\u{1f515}\u{1f534}\u{1f5d1}\u{1f645}\u{1f6a7}\u{1f6ab}\u{1f6ad}-\u{1f6b1}\u{1f6b3}\u{1f6b7}\u{1f6d1}\u{1faa6}",
    r"]]][\u{1f3fb}-\u{1f3ff}]?\u{fe0f}?\u{200d}?)+[ \t]*"
);
/// Elements of HTML that do not change the meaning. `del`, `s`, `sub` and `sup` do.
const ELEMENTS: &str = "a|article|b|blockquote|body|br|center|code|dd|div|dl|dt|em|font|footer|h[1-6]|header|hr|html|i|kbd|li|\
    main|mark|ol|p|pre|q|section|small|span|strong|summary|table|tbody|td|th|thead|tr|tt|u|ul";
/// Elements that change the meaning of what they enclose.
const CHANGING: [&str; 5] = ["del", "s", "strike", "sub", "sup"];
/// Names of values that do not hold, or hold only in some place.
const DENYING: [&str; 19] = [
    "before", "old", "was", "former", "formerly", "previous", "wrong", "not", "deprecated", "outdated",
    "removed", "production", "prod", "staging", "test", "dev", "windows", "linux", "macos",
];

/// A line that is only a label, and a label before a statement.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    let mark = r"(?:[>#*+\-\u{2022}]+[ \t]+)*";
    let named = format!(r"[*_`]*(?:{LABELS})[*_`]*");
    compiled(&format!(
        r"(?mi)^[ \t]*(?:#{{1,6}}[ \t]+{named}|{mark}[*_]{{2}}{named})[ \t]*$|(^[ \t]*{mark}|[.!?;]\s+){named}[ \t]*:[*_]*(?:[ \t]+|$)"
    ))
});
/// What lines begin with: quotes, headings, comments, items with their numbers and boxes.
static MARKS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"(?mi)^[ \t]*(?:(?:[>#*+\-\u{2022}]+|/{2,3}!?|\(?\d{1,3}[.)]|\[[ x-]?\])[ \t]+)+")
});
/// What a text begins with: one of these, or a date, a sign, a label or a phrase.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    let item = r"(?:[>#*+\-\u{2022}]+|/{2,3}!?|\(?\d{1,3}[.)]|[a-z]\)|\[[ x-]?\])\s+";
    let label = format!(
        r"[*_`]*(?:{LABELS}|step|item|point|punkt|schritt|(?:the\s+)?(?:{SPEAKERS})(?:\s+(?:said|says|wrote))?)[*_`]*{}",
        r"(?:\s+#?\d{1,3})?(?:\s*\(\d{4}-\d\d-\d\d\))?(?:\s*:[*_]*|\s+[-–—])\s+"
    );
    compiled(&format!(
        r"(?i)\A(?:{item}|{DATE}|{SIGNS}|{label}|(?:{PHRASES})\s+|-(?P<kept>(?-i:\p{{Lu}}\p{{Ll}})))"
    ))
});
/// What a text ends with: where it is written, too. `X (see #12).`, `X [1]`
static TAIL: LazyLock<Regex> = LazyLock::new(|| {
    let source = concat!(
        r"(?:see|cf\.?|ref\.?|via|siehe|vgl\.?|source|quelle):?\s+",
        r"(?:(?:also|auch|issue|pr|page|section|commit|ticket|docs?)\s+)?[^\s()\[\]]{1,120}"
    );
    compiled(&format!(r"(?i)\s*(?:[(\[](?:{source}|#\d{{1,7}})[)\]]|\[\^?\d{{1,3}}\])(?P<stop>[.!]?)\s*\z"))
});
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    let attributes = r#"(?:\s+[a-z-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*"#;
    compiled(&format!(r"(?i)</(?:{ELEMENTS})\s*>|\B<(?:{ELEMENTS}){attributes}\s*/?>|<br\s*/?>|<!--|-->"))
});
/// An element of any name around a whole text: `<note>…</note>`.
static ENCLOSED: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?s)^\s*<([A-Za-z][\w-]*)(?:\s[^<>]*)?>(.*)</([A-Za-z][\w-]*)\s*>\s*$"));
static LINK: LazyLock<Regex> = LazyLock::new(|| compiled(r#"!?\[([^\[\]]+)\]\([^()\s]*(?:\s+"[^"]*")?\)"#));
static ENTITY: LazyLock<Regex> = LazyLock::new(|| {
    compiled("(?i)&(?:#x(?P<hex>[0-9a-f]{1,6})|#(?P<number>[0-9]{1,7})|(?P<name>[a-z]{2,6}));")
});
/// A sign that Markdown or JSON escapes: `max\_size`.
static ESCAPED: LazyLock<Regex> = LazyLock::new(|| compiled(r#"\\([_*#<>`"'~])"#));
/// The lines around a block of code.
static FENCE: LazyLock<Regex> = LazyLock::new(|| compiled(r"(?m)^[ \t>]*(?:```+|~~~+)[ \t]*[\w+-]*[ \t]*$"));
/// A line with a string as JSON, YAML and TOML write it, with or without its name. Between single quotes, YAML doubles those
/// of the string.
static STRING: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r#"^\s*(?:-\s+)?(?:["']?(?P<name>[\w.-]{1,60})["']?\s*[:=]\s*)?"#,
        r#"(?:(?P<string>"(?:[^"\\]|\\.)*")|'(?P<plain>(?:[^']|'')*)')\s*,?\s*$"#,
    ))
});

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is part of the program, and a test compiles it")
}

/// A text without labels.
pub(super) fn unlabelled(text: &str) -> Cow<'_, str> {
    LABEL.replace_all(text, "$1")
}

/// A text without the marks of its lines.
pub(super) fn unmarked(text: &str) -> Cow<'_, str> {
    MARKS.replace_all(text, "")
}

/// A text without links, tags, entities, escapes and fences.
pub(super) fn unwrapped(text: &str) -> Cow<'_, str> {
    if has_wrappers(text) { Cow::Owned(without_wrappers(text, " ")) } else { Cow::Borrowed(text) }
}

/// A text without the reference at its end. `None` if it has none, or nothing else.
pub(super) fn without_tail(text: &str) -> Option<String> {
    replaced(&TAIL, text.trim(), "$stop")
}

fn replaced(wrapper: &Regex, text: &str, kept: &str) -> Option<String> {
    match wrapper.replace(text, kept) {
        Cow::Owned(bare) if !bare.trim().is_empty() => Some(bare),
        _ => None,
    }
}

/// A text without its outermost wrapper. `None` if it has none, or nothing else.
pub(super) fn peeled(text: &str) -> Option<String> {
    let text = text.trim();
    sole_string(text)
        .or_else(|| enclosed(text).or_else(|| fenced(text)).or_else(|| emphasised(text)).map(str::to_owned))
        .or_else(|| unquoted(text))
        .filter(|bare| !bare.trim().is_empty())
        .or_else(|| replaced(&MARK, text, "$kept"))
}

/// What is inside the emphasis of a whole text: `_…_`, `**…**`.
fn emphasised(text: &str) -> Option<&str> {
    ["**", "__", "*", "_"].into_iter().find_map(|sign| text.strip_prefix(sign)?.strip_suffix(sign))
}

/// What is inside the element that encloses a whole text.
fn enclosed(text: &str) -> Option<&str> {
    if !text.starts_with('<') {
        return None;
    }
    let found = ENCLOSED.captures(text)?;
    let (first, last) = (found.get(1)?.as_str(), found.get(3)?.as_str());
    let changes = CHANGING.iter().any(|name| name.eq_ignore_ascii_case(first));
    (first.eq_ignore_ascii_case(last) && !changes).then_some(found.get(2)?.as_str())
}

/// What is inside the fence around a whole text.
fn fenced(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    let fence = ["```", "~~~"].into_iter().find(|fence| first.starts_with(fence))?;
    let language = first.trim_start_matches(['`', '~']).trim();
    let is_language = language.chars().all(|c| c.is_alphanumeric() || matches!(c, '+' | '-' | '_'));
    rest.trim_end().strip_suffix(fence).filter(|_| is_language)
}

/// A text of which each line is a quote.
fn unquoted(text: &str) -> Option<String> {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty());
    let bare = lines.map(|line| line.strip_prefix('>').map(|rest| rest.strip_prefix(' ').unwrap_or(rest)));
    let bare: Vec<&str> = bare.collect::<Option<_>>()?;
    Some(bare.join("\n"))
}

/// A text with what it links, what elements of HTML contain, its strings of JSON and its cells of tables as paragraphs of
/// their own.
pub fn set_apart(text: &str) -> Cow<'_, str> {
    if !has_wrappers(text) && !text.contains(['|', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut apart = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let strings = strings(line);
        if strings.is_empty() {
            let is_row = line.trim_start().starts_with('|');
            apart.push_str(&if is_row { Cow::Owned(line.replace('|', "\n\n")) } else { Cow::Borrowed(line) });
        }
        for string in strings {
            apart.extend(["\n\n", string.as_str(), "\n\n"]);
        }
    }
    Cow::Owned(without_wrappers(&apart, "\n\n"))
}

fn has_wrappers(text: &str) -> bool {
    text.contains(['<', '&', '[', '\\', '`', '~', '"'])
}

fn without_wrappers(text: &str, between: &str) -> String {
    let text = TAG.replace_all(text, between);
    let text = LINK.replace_all(&text, |link: &Captures<'_>| {
        if between == " " { link[1].to_owned() } else { format!("{between}{}{between}", &link[1]) }
    });
    let text = FENCE.replace_all(&text, "");
    let text = ESCAPED.replace_all(&text, "$1");
    ENTITY.replace_all(&text, entity).into_owned()
}

/// The character that an entity of HTML stands for; an unknown one stays.
fn entity(found: &Captures<'_>) -> String {
    let coded = |name: &str, radix| {
        let digits = found.name(name)?;
        u32::from_str_radix(digits.as_str(), radix).ok().and_then(char::from_u32)
    };
    let named = || {
        Some(match found.name("name")?.as_str() {
            "quot" => '"',
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "nbsp" => ' ',
            "apos" => '\'',
            "lsquo" => '‘',
            "rsquo" => '’',
            "ldquo" => '“',
            "rdquo" => '”',
            "ndash" => '–',
            "mdash" => '—',
            "hellip" => '…',
            _ => return None,
        })
    };
    let sign = coded("hex", 16).or_else(|| coded("number", 10)).or_else(named);
    sign.map_or_else(|| found[0].to_owned(), String::from)
}

/// The string of a text that has no other one: `"…"`, `{"text": "…"}`.
fn sole_string(text: &str) -> Option<String> {
    let mut strings = strings(text);
    let is_sole = strings.len() == 1;
    strings.pop().filter(|_| is_sole)
}

/// The strings of a line, or of a text, that is a value of JSON or names one.
fn strings(text: &str) -> Vec<String> {
    let text = text.trim();
    if !text.contains(['"', '\'']) {
        return Vec::new();
    }
    if let Some(found) = STRING.captures(text) {
        let holds = found.name("name").is_none_or(|name| !denies(name.as_str()));
        let string = || match found.name("plain") {
            Some(plain) => Some(plain.as_str().replace("''", "'")),
            None => serde_json::from_str(&found["string"]).ok(),
        };
        return holds.then(string).flatten().into_iter().collect();
    }
    let mut found = Vec::new();
    if text.starts_with(['{', '[']) {
        let value = serde_json::from_str(text.trim_end_matches(','));
        collect(value.unwrap_or_default(), &mut found);
    }
    found
}

/// The strings of a value. The parser bounds its depth.
fn collect(value: Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(values) => values.into_iter().for_each(|value| collect(value, found)),
        Value::Object(values) => {
            values.into_iter().filter(|(name, _)| !denies(name)).for_each(|(_, value)| collect(value, found));
        }
        _ => {}
    }
}

fn denies(name: &str) -> bool {
    DENYING.contains(&&*name.trim().to_ascii_lowercase())
}
