//! Wrappers of a statement that do not change its meaning: labels, marks of lines, comments, dates, Markdown, HTML and cells.
//! Each has a pattern here, with an example.
//!
//! `Before:`, `Production:`, `<del>` and `~~` are no wrappers, because they change the meaning.

use std::{borrow::Cow, sync::LazyLock};

use regex::{Captures, Regex};

use super::{
    compiled,
    decoded::without_entities,
    denies, normal,
    quoted::{condition, fields, is_denying, sole_string, strings},
};

/// Words that introduce a statement: `What: …`, `**Note**: …`, `## Decision`.
const LABELS: &str = "what|why|where|when|how|who|learned|learnt|lesson|notes?|n\\.?b\\.?|facts?|decisions?|decided|rules?|summary|\
    tl;?dr|context|findings?|found|results?|conclusion|reasons?|rationale|important|remember|reminder|tip|info|fyi|hint|text|content|\
    title|name|description|details?|discovery|discoveries|insights?|memory|observations?|constraints?|patterns?|preferences?|answer|\
    statement|message|value|topic|subject|warum|wo|wann|wie|wer|gelernt|notiz|hinweis|merke|fakt|entscheidung|entschieden|\
    regel|zusammenfassung|kontext|ergebnis|fazit|grund|wichtig|tipp|inhalt|titel|beschreibung|erkenntnis|beobachtung|psa|heads[ -]up|\
    confirmed|takeaways?|lessons?\\s+learned|good\\s+to\\s+know|warning|caution|attention|achtung|remark|memo|comment|learnings?";
/// Words that say who speaks, that something is said, and what kind of thing, and nothing about it: `The user told me that …`,
/// `One more thing: …`, `Policy: …`.
const SAYING: &str = concat!(
    r"user|human|assistant|agent|claude|codex|gemini|copilot|cursor|team|we|you|they|all|me|us|it|this|here|",
    r"please|just|quick|small|friendly|one|more|another|thing|also|key|project|current|new|update|correction|edit|",
    r"p\.?s\.?|todo|recap|told|said|says|wrote|know[ns]?|agreed|agree|discussed|mentioned|documented|established|verified|recall|aware|",
    r"out|i\s+was|self|turns\s+out|keep|bear|in\s+mind|saved|stored|recorded|beachten|merken|bitte|architecture|bugfix|config|",
    r"concept|manual|procedure|policy|convention|requirement|outcome|evidence|background|",
    r"root\s+cause|workaround|resolution|status"
);
/// Words among these, which end none of them: `A: …` may be one of two ways, and `a = …` a line of code.
const FILLING: &str = "i|the|a|an|our|my|is|are|be|have|has|as|to|of";
/// Asides, which a comma parts from what is said: `As we all know, …`, `Actually, …`, `…, as agreed`.
const ASIDES: &str = concat!(
    r"as\s+(?:(?:we|you|i|they)\s+(?:all\s+)?)?(?:know|said|noted|decided|agreed|discussed|mentioned|documented|expected|established)|",
    r"(?:hi|hello|hey)(?:\s+(?:all|team|everyone|folks|there))?|in\s+(?:addition|fact|short|summary)|for\s+the\s+record|by\s+the\s+way|",
    r"(?:according\s+to|per)\s+(?:the|our)\s+(?:docs?|documentation|manual|readme|wiki|team|user)|wie\s+besprochen|",
    r"for\s+your\s+information|",
    r"apparently|actually|currently|indeed|basically|additionally|furthermore|moreover|besides|finally|now|today|again|still|yes|yep|",
    r"ok|okay|well|btw|iirc|afaik|fyi|thanks|außerdem|zudem|übrigens"
);
/// Words that introduce a statement without any sign behind them: `So …`, `FYI …`.
const JOINING: &str = r"so|and|but|thus|hence|therefore|also|fyi|btw|psa|iirc|afaik|(?:it\s+)?turns\s+out";
/// A day, with or without the time: `2026-11-01 10:30`, `01.11.2026`, `Nov 1, 2026`, `November 2026`.
const DAY: &str = concat!(
    r"(?:(?:as\s+of|stand|vom)\s+)?(?:",
    r"\d{4}-\d\d-\d\d(?:[T\s]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?",
    r"|\d{1,2}[./]\d{1,2}[./]\d{4}",
    r"|(?:\d{1,2}\.?\s+)?(?:(?:jan|febr?)(?:uary?)?|mar(?:ch)?|märz?|apr(?:il)?|may|mai|jun[ei]?|jul[iy]?|aug(?:ust)?|",
    r"(?:sept?|nov|de[cz])(?:ember)?|o[ck]t(?:ober)?)\.?",
    r"(?:\s+\d{1,2}(?:st|nd|rd|th)?,?)?\s+\d{4}",
    r")"
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
const CHANGING: [&str; 4] = ["s", "strike", "sub", "sup"];
/// A line that is only a label, and a label before a statement.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    let mark = r"(?:[>#*+\-\u{2022}]+[ \t]+)*";
    let named = format!(r"[*_`]*(?:{LABELS})[*_`]*");
    compiled(&format!(
        r"(?mi)^[ \t]*(?:#{{1,6}}[ \t]+{named}|{mark}[*_]{{2}}{named})[ \t]*$|(^[ \t]*{mark}|[.!?;]\s+)(?:{named}[ \t]*:[*_]*(?:[ \t]+|$))+"
    ))
});
/// What a line of a list, a quote or a comment begins with: `> `, `## `, `// `, `;; `, `| `, `1.2) `, `[x] `.
const LINE_MARK: &str = r"[>#*+\-\u{2022};%|]+|/{2,3}!?|/\*+!?|\(?\d{1,3}(?:\.\d{1,3})*[.)]{1,2}|\[[ x-]?\]";
/// What lines begin with, behind the number that a listing gives them.
static MARKS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(r"(?mi)^[ \t]*(?:\d{{1,6}}[\t\u{{2192}}])?[ \t]*(?:(?:{LINE_MARK})[ \t]+)*"))
});
/// What a text begins with: one of these, or a date, a sign, a label or a phrase.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    // Numbers as lists, listings and laws write them: `(a) `, `iv. `, `12: `, `[^7]: `, `#7: `, `§ 3 `, `①`, `1️⃣`; and times and
    // levels of logs: `[10:30] `, `[INFO] `. A number without a sign counts only before a capital: `1.2 The …` is an item,
    // and `1.5 hours` are none.
    let item = concat!(
        r"(?:\d{1,3}[:\u{2192}]|\(?(?:[a-z]|[ivxl]{1,6})[.)]{1,2}|\[\^?\d{1,3}\][.:]?|#\d{1,5}[.:]?|§\s?\d{1,3}[.:]?",
        r"|(?:adr|rfc|req)[\s-]?\d{1,5}:|[(\[]\d{1,2}:\d\d(?::\d\d)?[)\]]",
        r"|\[(?:info|note|notice|debug|warn(?:ing)?)\]|(?-i:INFO|DEBUG):?)\s+",
        r"|[\u{2460}-\u{249b}\u{2776}-\u{2793}]\s*|\d\u{fe0f}?\u{20e3}\s*",
    );
    // Elsewhere a number may be that of a version or a place: `Claude 4: …`, `Team 2: …`.
    let counted = format!("(?:{LABELS}|step|item|point|punkt|schritt)");
    let word = format!("(?:{counted}|{SAYING}|{ASIDES})");
    let last =
        format!(r"(?:{word}(?-u:\b)[*_`]*|{counted}[*_`]*\s*#?\d{{1,3}})(?:\s*\(\d{{4}}-\d\d-\d\d\))?");
    let ends = r"(?:(?:\s*[:!][*_]*|\s+[-–—]+|[)\]]:?)\s+|\s*(?::=|=>|->|=)\s*|\s+that\s+)";
    let label = format!(r"(?:[(\[]|[*_`]*)(?:(?:{word}|{FILLING})(?-u:\b)[*_`]*\s*)*{last}{ends}");
    let date = format!(r"[*_]*[(\[]?(?:(?:on|am)\s+)?{DAY}[)\]]?[*_]*[:,]?[*_]*\s+(?:[-–—|]\s+)?");
    let address = format!(r"@(?:{SAYING})[:,]?\s+");
    let capital = r"(?:-|\d{1,3}(?:\.\d{1,3})+\s+)(?P<kept>(?-i:\p{Lu}\p{Ll}))";
    compiled(&format!(
        r"(?i)\A(?:(?:{LINE_MARK})\s+|\\item\s+|{item}|{date}|{SIGNS}|{label}|(?:{JOINING}),?\s+|(?:{ASIDES}),\s+|{address}|{capital})"
    ))
});
/// Words of a note at the end of a text. Other words there may restrict it: `X (manual)`, `X (Codex)`, `X (to do)`.
const CONFIRMING: &str = "notes?|info|important|reminder|decided|agreed|discussed|mentioned|documented|established|verified|\
    confirmed|saved|stored|recorded|updated|noted|true|valid|still";
/// A name before a text: `Cache: `, `**Cache** — `.
static SUBJECT: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"\A(?P<name>[^\n:]{1,80}?)(?::[*_`]*|\s+(?:--?|[–—]))\s+"));
/// The longest note at the end of a text, in characters.
const TAIL_CHARS_MAX: usize = 200;
/// What a text ends with: where, when and by whom it is written, too, what it is, or a sign. `X (see #12).`, `X [1]`,
/// `X (as of 2026-11-01)`, `X (confirmed)`, `X, as agreed`, `X ✅`, `X #topic`, `X — Ann`
static TAIL: LazyLock<Regex> = LazyLock::new(|| {
    let source = concat!(
        r"(?:see|cf\.?|ref\.?|siehe|vgl\.?|source|quelle):?\s+",
        r"(?:(?:also|auch|issue|pr|page|section|commit|ticket|docs?)\s+)?[^\s()\[\]]+"
    );
    let words = format!(r"(?:(?:{ASIDES}|{CONFIRMING})(?-u:\b):?\s*)");
    let name =
        r"(?:#\p{Alphabetic}[\w-]*\s*)+|(?:[–—]\s*|--?\s+)(?-i:\p{Lu}\p{L}+(?:\s\p{Lu}\p{L}*\.?){0,2})";
    compiled(&format!(
        r"(?i)\A(?:[(\[](?:{source}|#\d{{1,7}})[)\]]|\[\^?\d{{1,3}}\]|{}|,\s+(?:{ASIDES})|{SIGNS}|(?P<name>{name})){}",
        format_args!(r"(?:[(\[]|[-–—|]+\s+)(?:{words}*{DAY}|{words}+)[)\]]?"),
        r"(?P<stop>[.!]?)\s*\z"
    ))
});
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    let attributes = r#"(?:\s+[a-z-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*"#;
    compiled(&format!(
        r"(?i)</(?:{ELEMENTS})\s*>|\B<(?:{ELEMENTS}){attributes}\s*/?>|<br\s*/?>|<!--|-->|<!\[CDATA\[|\]\]>"
    ))
});
/// An element of any name around a whole text: `<note>…</note>`, `[quote]…[/quote]`; and a command: `\textbf{…}`.
static ENCLOSED: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r"(?s)^\s*[<\[](?P<name>[A-Za-z][\w-]*)(?:[\s=](?P<attributes>[^<>\[\]]*))?[>\]]",
        r"(?P<inside>.*)[<\[]/(?P<last>[A-Za-z][\w-]*)\s*[>\]]\s*$"
    ))
});
static COMMAND: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?s)^\s*\\(?:text[a-z]{2}|emph|underline)\{(?P<inside>.*)\}[.!]?\s*$"));
/// What was struck out: it is not said.
static STRUCK: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"(?is)<(?:del|s|strike)(?:\s[^<>]*)?>[^<>]*</(?:del|s|strike)\s*>|~~[^~\s](?:[^~\n]*[^~\s])?~~")
});
static LINK: LazyLock<Regex> = LazyLock::new(|| compiled(r#"!?\[([^\[\]]+)\]\([^()\s]*(?:\s+"[^"]*")?\)"#));
/// A sign that Markdown or JSON escapes: `max\_size`.
static ESCAPED: LazyLock<Regex> = LazyLock::new(|| compiled(r#"\\([_*#<>`"'~])"#));
/// What opens and closes a comment of a program, at the beginning and at the end of a line.
static COMMENT: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?m)^[ \t]*/\*+!?(?:[ \t]|$)|(?:^|[ \t])\*+/[ \t]*$"));
/// What colours a line in a terminal. Its first character is not stored.
static COLOUR: LazyLock<Regex> = LazyLock::new(|| compiled(r"\[\d{0,3}(?:;\d{1,3}){0,4}m"));
/// The lines around a block of code.
static FENCE: LazyLock<Regex> = LazyLock::new(|| compiled(r"(?m)^[ \t>]*(?:```+|~~~+)[ \t]*[\w+-]*[ \t]*$"));
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

/// A text without the note at its end: where it is written, or who says so. `None` if it has none, or nothing else.
pub(super) fn without_tail(text: &str) -> Option<String> {
    let text = text.trim();
    let end = text.char_indices().rev().take(TAIL_CHARS_MAX).last().map_or(0, |(at, _)| at);
    let mut before = ' ';
    for (at, c) in text[end..].char_indices() {
        let is_apart = std::mem::replace(&mut before, c).is_whitespace();
        let may_begin = match c {
            '(' | '[' | ',' => true,
            '-' | '|' | '#' => is_apart,
            _ => !c.is_ascii() && !c.is_alphanumeric(),
        };
        let Some(found) = may_begin.then(|| TAIL.captures(&text[end + at..])).flatten() else { continue };
        let restricts = |name: &str| is_denying(name) || denies(name) || name.contains(char::is_numeric);
        let is_other = found.name("name").is_some_and(|name| restricts(name.as_str()));
        let bare = format!("{}{}", text[..end + at].trim_end(), &found["stop"]);
        return (!is_other && !text[..end + at].trim().is_empty()).then_some(bare);
    }
    None
}

/// A text without its outermost wrapper. `None` if it has none, or nothing else.
pub(super) fn peeled(text: &str) -> Option<String> {
    let text = text.trim();
    sole_string(text)
        .or_else(|| enclosed(text).or_else(|| fenced(text)).or_else(|| emphasised(text)).map(str::to_owned))
        .or_else(|| unquoted(text))
        .filter(|bare| !bare.trim().is_empty())
        .or_else(|| without_mark(text))
        .or_else(|| without_subject(text))
}

/// A text without a name before it that it contains, so that the name restricts nothing: `Cache: The cache is flushed at noon`.
fn without_subject(text: &str) -> Option<String> {
    let found = SUBJECT.captures(text)?;
    let (name, rest) = (&found["name"], &text[found[0].len()..]);
    if is_denying(name) {
        return None;
    }
    let (name, said) = (normal(name), normal(rest));
    let holds = |word: &str| said.split(' ').any(|other| other == word);
    // A letter alone is one of several, and may be an article below.
    (name.len() > 1 && name.split(' ').all(holds)).then(|| rest.to_owned())
}

/// A text without what it begins with. `None` if that is nothing, or all, or makes it a question: `Is it agreed that …?`
fn without_mark(text: &str) -> Option<String> {
    // `Where text = …` would be a label.
    if condition(text) == Some(0) {
        return None;
    }
    let Cow::Owned(bare) = MARK.replace(text, "$kept") else { return None };
    let mark = text.strip_suffix(bare.as_str()).unwrap_or_default();
    let asks = text.ends_with('?') && mark.trim_end().to_lowercase().ends_with("that");
    (!asks && !bare.trim().is_empty()).then_some(bare)
}

/// What is inside the emphasis of a whole text: `_…_`, `**…**`, `== … ==`.
fn emphasised(text: &str) -> Option<&str> {
    ["**", "__", "*", "_", "="].into_iter().find_map(|sign| text.strip_prefix(sign)?.strip_suffix(sign))
}

/// What is inside the element or command that encloses a whole text.
fn enclosed(text: &str) -> Option<&str> {
    if !text.starts_with(['<', '[', '\\']) {
        return None;
    }
    if let Some(bare) = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'))
        && !bare.contains(['<', '>'])
    {
        return Some(bare);
    }
    if let Some(found) = COMMAND.captures(text) {
        return found.name("inside").map(|inside| inside.as_str());
    }
    let found = ENCLOSED.captures(text)?;
    let (name, last) = (found.name("name")?.as_str(), found.name("last")?.as_str());
    let is_denied = |part: &str| found.name(part).is_some_and(|part| is_denying(part.as_str()));
    let changes = CHANGING.iter().any(|known| known.eq_ignore_ascii_case(name));
    let holds = !changes && !is_denied("name") && !is_denied("attributes");
    (holds && name.eq_ignore_ascii_case(last)).then_some(found.name("inside")?.as_str())
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

/// A text with what it links, what elements of HTML contain, its strings of data and its cells of tables as paragraphs of
/// their own.
pub fn set_apart(text: &str) -> Cow<'_, str> {
    if !has_wrappers(text) && !text.contains(['|', '\'', '\t', ',', ';']) {
        return Cow::Borrowed(text);
    }
    // Elsewhere, `a | b` is an alternative or a pipe.
    let has_table = ["-|", "- |"].iter().any(|rule| text.contains(rule));
    let mut apart = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let Some(strings) = strings(line) else {
            apart_in(line, has_table, &mut apart);
            continue;
        };
        for string in &strings {
            apart.extend(["\n\n", string.as_str(), "\n\n"]);
        }
    }
    Cow::Owned(if has_wrappers(&apart) { without_wrappers(&apart, "\n\n") } else { apart })
}

/// Adds a line with its fields and cells as paragraphs.
fn apart_in(line: &str, is_in_table: bool, apart: &mut String) {
    let mut from = 0;
    for (place, text) in fields(line) {
        apart.push_str(&cells(&line[from..place.start], is_in_table));
        apart.extend(["\n\n", text.as_str(), "\n\n"]);
        from = place.end;
    }
    apart.push_str(&cells(&line[from..], is_in_table));
}

/// A line with its cells as paragraphs: those of tables, which may have no sign at the beginning of a line, and those of
/// files with separated values, which put no blank behind the sign between them.
fn cells(line: &str, is_in_table: bool) -> Cow<'_, str> {
    let has_bar = line.trim_start().starts_with('|') || is_in_table && line.contains(" | ");
    // One that says `wrong` or `staging` in a cell of its own only mentions the others.
    let is_denied = || {
        let mut cells = line.split(['|', '\t']).map(str::trim);
        cells.any(|cell| cell.chars().all(char::is_alphabetic) && is_denying(cell))
    };
    let is_row = (line.contains('\t') || has_bar) && !is_denied();
    let line = if is_row { Cow::Owned(line.replace(['|', '\t'], "\n\n")) } else { Cow::Borrowed(line) };
    if line.contains([',', ';']) { Cow::Owned(separated(&line)) } else { line }
}

/// A text with its separated values as paragraphs. A sign between two figures belongs to a number, and the one that ends an
/// entity to that.
fn separated(text: &str) -> String {
    let mut apart = String::with_capacity(text.len());
    let (mut before, mut is_in_entity) = (' ', false);
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        let after = signs.peek().copied().unwrap_or(' ');
        let is_between = !before.is_whitespace() && !after.is_whitespace();
        let is_in_number = before.is_numeric() && after.is_numeric();
        if matches!(sign, ',' | ';') && is_between && !is_in_number && !is_in_entity {
            apart.push_str("\n\n");
        } else {
            apart.push(sign);
        }
        is_in_entity = sign == '&' || is_in_entity && (sign == '#' || sign.is_ascii_alphanumeric());
        before = sign;
    }
    apart
}

fn has_wrappers(text: &str) -> bool {
    text.contains(['<', '&', '[', '\\', '`', '~', '"']) || text.contains("*/") || text.contains("/*")
}

fn without_wrappers(text: &str, between: &str) -> String {
    let text = STRUCK.replace_all(text, between);
    let text = TAG.replace_all(&text, between);
    let text = LINK.replace_all(&text, |link: &Captures<'_>| {
        if between == " " { link[1].to_owned() } else { format!("{between}{}{between}", &link[1]) }
    });
    let text = FENCE.replace_all(&text, "");
    let text = COMMENT.replace_all(&text, between);
    let text = COLOUR.replace_all(&text, |found: &Captures<'_>| {
        let behind = &text[found.get(0).map_or(0, |code| code.end())..];
        // `[15m]` is a time, and `[max` no code.
        let is_other =
            behind.starts_with(']') || &found[0] == "[m" && behind.starts_with(char::is_alphanumeric);
        if is_other { found[0].to_owned() } else { String::new() }
    });
    let text = ESCAPED.replace_all(&text, "$1");
    without_entities(&text).into_owned()
}
