//! How a text is read when it is compared with texts that no longer hold: whole and part by part, with and without what
//! wraps it. All doors of the guard read a text here, and so does the code that records tombstones.
//!
//! Only a new text is read without marks, tags and links. A recorded text keeps them, so two texts that differ in one of
//! them are never the same.

use std::{array, borrow::Cow, collections::BTreeSet, iter};

use super::{
    NAMING_WORDS_MIN,
    containment::pieces,
    decoded::decoded,
    form::{exact, stored, stored_exact},
    length, normal,
    quoted::document,
    wrappers::{peeled, set_apart, unlabelled, unmarked, unwrapped, without_tail},
};

/// Most parts of one text that are read: some dozens in a compaction's summary, some thousand in a memory of 256 KiB.
const PARTS_MAX: usize = 4_000;
/// The longest part that is read, in bytes. A text as a whole is read anyway, and a longer one is hardly part of another.
const PART_BYTES_MAX: usize = 16 * 1024;
/// Most sentences and lines of one text that are read in rows, too, and most of these rows.
const ROWS_MAX: usize = 600;
/// Most sentences and lines in a row that are read as one text: a memory of so many is recognised inside a longer text.
const ROW_MAX: usize = 10;
/// Most repetitions of a text in a row that are read as the text itself.
const TIMES_MAX: usize = 4;
/// The number of ways to read a text: as written; without labels; also without links and tags; also without marks of lines.
const WAYS: usize = 4;
/// Most nested wrappers that are taken off a text.
const WRAPPERS_MAX: usize = 6;

/// A part of a text that may say by itself what a whole memory said: a paragraph, a line, a sentence, several sentences in a
/// row, or the text of a link, a string of JSON, a cell of a table or an element of HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The part as it is written, or without what wraps it.
    pub raw: String,
    /// The forms in which it is read.
    pub forms: Vec<String>,
}

/// The form in which a text is recorded: normal, without labels.
pub fn noted(text: &str) -> String {
    stored(&statement(text))
}

/// The form in which a text is recorded too: with its labels, which are recognised only at the beginning of lines.
pub fn noted_as_written(text: &str) -> String {
    stored(&normal(text))
}

/// The form in which a text is recorded if a correction does not change its normal form: with case and accents as they are
/// written.
pub fn noted_exactly(text: &str) -> String {
    stored_exact(&exact(text))
}

/// The form in which a content is recorded that is too short to say something by itself: after its title, as in a file with
/// a heading. `None` if both together are too short.
pub fn noted_with_title(title: &str, content: &str) -> Option<String> {
    let form = statement(&format!("{title}\n\n{content}"));
    is_long(&form).then(|| stored(&form))
}

/// The normal form of a text without labels, or of the labels if it has nothing else.
pub(super) fn statement(text: &str) -> String {
    let form = normal(&unlabelled(text));
    if form.is_empty() { normal(text) } else { form }
}

/// Whether a text may be long in some reading. It takes less work than to read it: everything is counted that may begin a word,
/// also in a text that is encoded or has no blanks.
fn may_be_long(text: &str) -> bool {
    let mut before = ' ';
    let mut begins = |c: char| {
        let begins = c.is_alphanumeric()
            && (!before.is_alphanumeric()
                || c.is_uppercase()
                || !c.is_ascii()
                || c.is_numeric() != before.is_numeric());
        before = c;
        begins
    };
    text.chars().filter(|c| begins(*c)).nth(NAMING_WORDS_MIN - 1).is_some()
}

fn is_long(form: &str) -> bool {
    form.split(' ').map(length).sum::<usize>() >= NAMING_WORDS_MIN
}

/// Whether a text has no words but labels.
pub fn says_nothing(text: &str) -> bool {
    normal(&unlabelled(text)).is_empty()
}

/// The forms in which a new text is looked up, each once: as it is written, and without what may wrap it.
pub fn readings(text: &str) -> Vec<String> {
    Spelled::of(text).forms()
}

/// The forms of a text: in each of the [`WAYS`], and exactly.
struct Spelled {
    ways: [String; WAYS],
    exact: String,
    /// Its normal forms without the outermost wrapper, without the next one, and so on; the same of what it encodes; and in
    /// small letters, if it is all in capitals.
    within: Vec<String>,
}

impl Spelled {
    fn of(text: &str) -> Self {
        Self { within: within(text), ..Self::in_row(text) }
    }

    /// A text as it is read in a row with others: in each way and exactly, but not without its outermost wrappers and not as it
    /// may be encoded.
    fn in_row(text: &str) -> Self {
        let plain = unwrapped(text);
        let bare = unmarked(&plain);
        let ways: [Cow<'_, str>; WAYS] =
            [Cow::Borrowed(text), unlabelled(text), unlabelled(&plain), unlabelled(&bare)];
        let mut spelled: [String; WAYS] = Default::default();
        for at in 0..WAYS {
            let same = ways[..at].iter().position(|way| *way == ways[at]);
            spelled[at] = same.map_or_else(|| normal(&ways[at]), |same| spelled[same].clone());
        }
        Self { ways: spelled, exact: exact(text), within: Vec::new() }
    }

    /// Several texts in a row as one.
    fn row(of: &[Self]) -> Self {
        let join = |pick: &dyn Fn(&Self) -> &str| {
            let words: Vec<&str> = of.iter().map(pick).filter(|words| !words.is_empty()).collect();
            words.join(" ")
        };
        Self {
            ways: array::from_fn(|way| join(&|one| &one.ways[way])),
            exact: join(&|one| &one.exact),
            within: Vec::new(),
        }
    }

    fn has_words(&self) -> bool {
        !self.ways[0].is_empty()
    }

    /// Whether it is long enough to mean the same in any context.
    fn is_long(&self) -> bool {
        self.ways.iter().chain(&self.within).any(|form| is_long(form))
    }

    /// The forms as they are stored, each once.
    fn forms(&self) -> Vec<String> {
        let ways = self.ways.iter().chain(&self.within);
        let ways = ways.flat_map(|way| [Some(way.clone()), said_once(way)]).flatten();
        let mut forms = Vec::new();
        for form in
            ways.filter(|way| !way.is_empty()).map(|way| stored(&way)).chain([stored_exact(&self.exact)])
        {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        forms
    }
}

/// The normal forms of what a text wraps or encodes. A text in capitals is also read in small letters, because the letters of
/// its options have lost their case.
fn within(text: &str) -> Vec<String> {
    let mut forms = within_wrappers(text);
    for plain in decoded(text) {
        forms.extend([
            normal(&plain),
            normal(&unlabelled(&plain)),
            normal(&unlabelled(&unmarked(&unwrapped(&plain)))),
        ]);
        forms.extend(within_wrappers(&plain));
    }
    if text.contains(char::is_uppercase) && !text.contains(char::is_lowercase) {
        let small = text.to_lowercase();
        forms.extend([normal(&small), normal(&unlabelled(&small))]);
    }
    forms
}

/// The normal forms of what is inside the wrappers of a text.
fn within_wrappers(text: &str) -> Vec<String> {
    let mut forms = Vec::new();
    let mut add = |bare: &str| forms.extend([normal(bare), normal(&unlabelled(bare))]);
    let mut layer = Cow::Borrowed(text);
    for _ in 0..WRAPPERS_MAX {
        let bare = iter::successors(without_tail(&layer), |bare| without_tail(bare));
        bare.take(WRAPPERS_MAX).for_each(|bare| add(&bare));
        let Some(bare) = peeled(&layer) else { break };
        add(&bare);
        layer = Cow::Owned(bare);
    }
    if let Cow::Owned(innermost) = &layer {
        add(&unmarked(&unwrapped(innermost)));
    }
    forms
}

/// The text that a form repeats, if the form is nothing but its repetitions.
fn said_once(form: &str) -> Option<String> {
    let words: Vec<&str> = form.split(' ').collect();
    let is_repeated = |times: &usize| {
        let length = words.len() / times;
        words.len().is_multiple_of(*times) && words.chunks(length).all(|chunk| chunk == &words[..length])
    };
    let times = (2..=TIMES_MAX.min(words.len())).rev().find(is_repeated)?;
    Some(words[..words.len() / times].join(" "))
}

/// The parts of a text that are long enough to mean the same in any context, each once, the longer ones first, and rows of
/// sentences last.
pub fn parts(text: &str) -> Vec<Part> {
    let mut found = Parts::default();
    found.read(text);
    found.list
}

/// The parts of a text as it is, and then those that it has behind a title only, as a file under a heading: a text that is
/// too short to say something by itself is known behind its title.
pub fn parts_with_title(title: &str, text: &str) -> Vec<Part> {
    let mut found = Parts::default();
    found.read(text);
    if !title.is_empty() {
        found.read(&format!("{title}\n\n{text}"));
    }
    found.list
}

/// A text without the lines that a diff in it removes: `-Old`, where other lines are added (`+New`) or counted (`@@ -1 +1 @@`).
fn without_removed(text: &str) -> Cow<'_, str> {
    let is_marked = |line: &str, mark: char| {
        line.strip_prefix(mark).is_some_and(|rest| rest.starts_with(|c: char| !c.is_whitespace()))
    };
    let is_diff = text.lines().any(|line| line.starts_with("@@ ") || is_marked(line, '+'));
    if !is_diff {
        return Cow::Borrowed(text);
    }
    text.split_inclusive('\n').filter(|line| !is_marked(line, '-')).collect()
}

#[derive(Default)]
struct Parts {
    seen: BTreeSet<String>,
    list: Vec<Part>,
    /// How many more parts of the text may be read.
    room: usize,
}

impl Parts {
    /// Reads at most [`PARTS_MAX`] parts of a text, without those that are here already. Of data, the strings are read.
    fn read(&mut self, text: &str) {
        self.room = PARTS_MAX;
        let text = &*without_removed(text);
        let strings = document(text).map(|strings| strings.join("\n\n"));
        // Data in one line is a part, too. Decoded, it would be no data any more.
        let line = (strings.is_some() && !text.contains('\n')).then_some(text);
        let inner = strings.as_deref().unwrap_or(text);
        let plain = decoded(inner);
        let mut texts: Vec<Cow<'_, str>> = Vec::new();
        for text in line.into_iter().chain([inner]).chain(plain.iter().map(String::as_str)) {
            texts.extend([Cow::Borrowed(text), set_apart(text)]);
        }
        texts.dedup();
        for text in &texts {
            let sentences = pieces(text);
            text.split("\n\n").chain(text.lines()).chain(sentences).for_each(|raw| {
                self.add(raw.trim(), Spelled::of);
            });
        }
        for text in &texts {
            self.add_rows(text);
        }
    }

    fn add(&mut self, raw: &str, spell: impl FnOnce(&str) -> Spelled) {
        if self.room == 0 || raw.len() > PART_BYTES_MAX || !may_be_long(raw) || self.seen.contains(raw) {
            return;
        }
        self.room -= 1;
        self.seen.insert(raw.to_owned());
        let spelled = spell(raw);
        if spelled.is_long() {
            self.list.push(Part { raw: raw.to_owned(), forms: spelled.forms() });
        }
    }

    /// Adds rows of two and more sentences and lines, all of two first.
    fn add_rows(&mut self, text: &str) {
        let pieces = pieces(text).into_iter().flat_map(|piece| piece.split_inclusive('\n'));
        let sentences: Vec<(&str, Spelled)> = pieces
            .take(ROWS_MAX)
            .map(|raw| (raw, Spelled::in_row(raw)))
            .filter(|(_, spelled)| spelled.has_words())
            .collect();
        let (raws, spelled): (Vec<&str>, Vec<Spelled>) = sentences.into_iter().unzip();
        let offset = |raw: &str| raw.as_ptr().addr() - text.as_ptr().addr();
        let mut room = ROWS_MAX;
        for count in 2..=ROW_MAX.min(raws.len()) {
            for (raws, spelled) in raws.windows(count).zip(spelled.windows(count)).take(room) {
                room -= 1;
                let end = offset(raws[count - 1]) + raws[count - 1].len();
                self.add(text[offset(raws[0])..end].trim(), |_| Spelled::row(spelled));
            }
        }
    }
}

/// Whether a text says one of the forms, whole or in a part.
pub fn says(text: &str, forms: &[String]) -> bool {
    let is_one = |read: &[String]| read.iter().any(|form| forms.contains(form));
    is_one(&Spelled::of(text).forms()) || parts(text).iter().any(|part| is_one(&part.forms))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "The deploy job retries uploads 17 times because the storage answers \"slow down\" under load";

    #[test]
    fn a_text_behind_its_title_is_read_once() {
        let text = "We looked at the dashboards on Monday. Nothing else was decided there.\n\nUse port 5433.";
        let both = parts_with_title("The port of the test database", text);
        let raws: Vec<&str> = both.iter().map(|part| part.raw.as_str()).collect();
        let each: BTreeSet<&str> = raws.iter().copied().collect();
        assert_eq!(each.len(), raws.len(), "each part is there once: {raws:?}");
        let alone = parts(text);
        assert_eq!(both[..alone.len()], alone, "those of the text come first");
        let titled = parts(&format!("The port of the test database\n\n{text}"));
        assert!(titled.iter().all(|part| both.contains(part)));
        assert_eq!(parts_with_title("", text), alone);
    }

    fn is_read_in(text: &str) -> bool {
        says(text, &[noted(TEXT)])
    }

    fn all_are_read<const N: usize>(texts: [String; N]) {
        for text in texts {
            assert!(is_read_in(&text), "{text}");
        }
    }

    #[test]
    fn what_wraps_a_text_makes_no_difference() {
        all_are_read([
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
        ]);
    }

    #[test]
    fn what_stands_before_or_behind_a_text_makes_no_difference() {
        all_are_read([
            format!("2026-11-01: {TEXT}"),
            format!("[2026-11-01 10:30] {TEXT}"),
            format!("2026-11-01T10:30:00Z {TEXT}"),
            format!("01.11.2026 – {TEXT}"),
            format!("Nov 1, 2026: {TEXT}"),
            format!("- **2026-11-01**: {TEXT}"),
            format!("As of 2026-11-01, {TEXT}"),
            format!("- [x] {TEXT}"),
            format!("* [ ] {TEXT}"),
            format!("☑ {TEXT}"),
            format!("(1) {TEXT}"),
            format!("a) {TEXT}"),
            format!("1. [x] 2026-11-01: Note: {TEXT}"),
            format!("Fact #2: {TEXT}"),
            format!("Decision (2026-11-01): {TEXT}"),
            format!("✅ {TEXT}"),
            format!("⚠️ {TEXT}"),
            format!("→ {TEXT}"),
            format!("-{TEXT}"),
            format!("Note that {TEXT}"),
            format!("Hinweis: {TEXT}"),
            format!("{TEXT} (see #12)."),
            format!("{TEXT} (#12)"),
            format!("{TEXT} [source: docs/upload.md]"),
            format!("{TEXT}. {TEXT}."),
            format!("{TEXT}\n\n{TEXT}\n{TEXT}"),
        ]);
    }

    #[test]
    fn a_text_is_found_in_data_and_markup() {
        all_are_read([
            serde_json::to_string(TEXT).unwrap(),
            serde_json::json!({ "text": TEXT }).to_string(),
            serde_json::json!([{ "kind": "note", "body": { "anything": [1, TEXT] } }]).to_string(),
            serde_json::to_string_pretty(&serde_json::json!({ "a": TEXT, "b": null })).unwrap(),
            format!("Some lines:\n{}\nand more", serde_json::json!({ "name": "n", "body": TEXT })),
            format!("rule = {}", serde_json::to_string(TEXT).unwrap()),
            format!("- rule: {}", serde_json::to_string(TEXT).unwrap()),
            // As Markdown emphasises, quotes and fences it.
            format!("> **{TEXT}**"),
            format!("_{TEXT}_"),
            format!("***{TEXT}.***"),
            format!("`{TEXT}`"),
            format!("```text\n{TEXT}\n```"),
            format!("~~~\n{TEXT}\n~~~"),
            format!("| n | what |\n|---|---|\n| 1 | {TEXT} |"),
            format!("He said it. \"{TEXT}.\" And he went."),
            format!("<memory id=\"7\">{TEXT}</memory>"),
            format!("<note><text>{TEXT}</text></note>"),
            format!("<!-- {TEXT} -->"),
            TEXT.replace(' ', "\u{a0}"),
            TEXT.replace('o', "o\u{200b}"),
            TEXT.replace("17", "１７"),
            TEXT.replace('"', "”"),
            TEXT.to_uppercase(),
        ]);
    }

    #[test]
    fn a_wrapper_is_taken_off_and_what_is_inside_keeps_its_own() {
        for text in [
            "2026-05-08 Mel: the heron is fed at noon by the keeper",
            "1. The heron is fed at noon by the keeper",
            "> The heron is fed at noon, he said",
            "The heron is fed at noon by the keeper (see #9)",
            "See this:\n```python\nrun(x)\n```\nand the <b>heron</b> is fed at noon",
            "Note: what the heron is fed with at noon",
            "- [ ] feed the heron at noon with -d and not with -D",
        ] {
            let quoted: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
            for wrapped in [
                format!("1. {text}"),
                format!("- [x] {text}"),
                format!("2026-11-01: {text}"),
                format!("Decision: {text}"),
                format!("{text} (see #12)."),
                format!("<note>{text}</note>"),
                format!("```text\n{text}\n```"),
                serde_json::json!({ "text": text }).to_string(),
                quoted.join("\n"),
                format!("{text}\n{text}"),
                text.replace(' ', " \n "),
                text.replace(' ', "\u{a0}"),
            ] {
                let read = readings(&wrapped);
                assert!(read.contains(&noted(text)) || read.contains(&noted_as_written(text)), "{wrapped}");
            }
        }
        let shout = |text: &str| readings(&text.to_uppercase()).contains(&noted(text));
        assert!(shout("Run it with -d or -v here") && shout("Run it with -D here"));
    }

    #[test]
    fn a_text_of_several_sentences_is_read_inside_a_longer_one() {
        let texts = [
            "The ledger listens on 5432. Its gateway, e.g. for reports, does so on 80. Nobody restarts either.",
            "**What**: the ledger listens on 5432.\n**Why**: the gateway needs it.\n**Where**: src/ledger.rs",
            "The ledger listens.\n\nThe gateway of it does not, of course.\n\n- one\n- two\n- three",
        ];
        for text in texts {
            for longer in [
                format!("We met on Monday. {text}\nNothing else was decided."),
                format!("We met on Monday.\n{text}\nNothing else was decided.\n"),
                format!("## Notes\n\n- met on Monday\n\n{text}\n\nNothing else was decided."),
            ] {
                assert!(says(&longer, &[noted(text)]), "{longer}");
                assert!(!says(&longer.replace("listens", "listened"), &[noted(text)]), "{longer}");
            }
        }
    }

    #[test]
    fn what_changes_the_meaning_is_no_wrapper() {
        for text in [
            format!("Before: {TEXT}"),
            format!("Production: {TEXT}"),
            format!("It is not so that {TEXT}"),
            format!("~~{TEXT}~~"),
            format!("❌ {TEXT}"),
            format!("Not any more: {TEXT}"),
            format!("Until 2026-11-01: {TEXT}"),
            format!("{TEXT} (wrong)"),
            format!("{TEXT} (see #12: no longer)"),
            serde_json::json!({ "before": TEXT }).to_string(),
            format!("<del>{TEXT}</del>"),
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
        let text = "## Goal\nShort.\n- the ledger of the second shop listens on port 5432\n- no.\nAnd the gateway of it has had \
                    no port of its own. So.";
        let raw: Vec<String> = parts(text).into_iter().map(|part| part.raw).collect();
        assert_eq!(
            raw[..4],
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
        for sign in [
            "<", "[", "&", "What: ", "- ", "1. ", "](", "<p>", "** ", "\"", "{\"a\":", "| ", "._", "\\",
            "2026-01-01 ", ".\"",
        ] {
            assert!(parts(&sign.repeat(64 * 1024 / sign.len())).len() <= PARTS_MAX, "{sign}");
        }
    }

    #[test]
    fn short_lines_are_not_read_and_long_texts_are_read_within_a_bound() {
        let read = |text: &str| {
            let mut found = Parts::default();
            found.read(text);
            PARTS_MAX - found.room
        };
        let short: String = (0..40_000).map(|n| format!("{n} a\n")).collect();
        assert!((1..=ROWS_MAX).contains(&read(&short)), "rows of several lines alone");
        // Each looks long.
        let signs: String = (0..20_000).map(|n| format!("1.2.3.4.5.{n}\n")).collect();
        assert_eq!(read(&signs), PARTS_MAX);
        let repeated = format!("{} it listens on port 5432.", "so ".repeat(PART_BYTES_MAX));
        assert_eq!(read(&repeated), 0, "the guard reads a text as a whole, too");
    }

    #[test]
    fn each_form_of_a_text_is_read_once() {
        let forms = readings("on cdn\u{2011}7 the led\u{e0067}ger für src/");
        assert_eq!(forms, ["\u{1d}on cdn-7 the ledger fur src/", "\u{1d}\u{1e}on cdn-7 the ledger für src/"]);
    }
}
