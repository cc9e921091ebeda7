//! Private and secret text, replaced by `[REDACTED:kind]` before anything is stored, embedded, sent
//! or logged. docs/redaction.md lists what is recognised.
//!
//! One search finds every place where a secret may be (`anchors`). Each place is examined once, as a token of a known form
//! (`prefixed`, `rules`) or as a value that is recognised by its surroundings (`context`, `column`, `command`, `cookie`). The
//! search ignores invisible code points, and line ends inside what may be a secret (`wrapped`). The text between `<private>`
//! blocks and earlier marks is searched piece by piece, so that no match spans a mark: a second redaction finds nothing
//! new. All work is linear in the text.

mod anchors;
mod before;
mod column;
mod command;
mod context;
mod cookie;
mod cursor;
mod guard;
mod name;
mod prefixed;
mod redacted;
mod rules;
mod value;
mod view;
mod wrapped;

use std::{
    borrow::Cow,
    collections::HashSet,
    ops::Range,
    sync::{LazyLock, OnceLock},
};

use regex::Regex;
use serde::Deserialize;

use anchors::{Anchor, Hit};
use rules::MATCHERS;
use view::View;
use wrapped::Joint;

pub use redacted::{Cleaned, RedactedText, redact_json, redact_list, redact_text};

/// A text after redaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// Borrowed if nothing was redacted.
    pub text: Cow<'a, str>,
    /// How many places were replaced.
    pub count: usize,
}

/// Which secrets to look for, besides private blocks and tokens of known forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Redaction {
    /// `context = true`: values that are recognised by their surroundings, such as `password: hunter2`.
    pub context: bool,
}

impl Default for Redaction {
    fn default() -> Self {
        Self { context: true }
    }
}

/// A place to replace, and the kind of secret there.
struct Span {
    range: Range<usize>,
    kind: &'static str,
    /// Of spans that begin at the same byte, the one with the lowest rank gives the kind.
    rank: usize,
}

/// The rank of secrets recognised by their surroundings: after all rules.
const CONTEXT_RANK: usize = usize::MAX;

/// Most passes over one text. Removing a secret may expose a complete one next to it; a few passes settle that.
const ROUNDS_MAX: usize = 8;

/// A mark of an earlier redaction.
static MARK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[REDACTED:[a-z0-9-]{1,40}\]").expect("the pattern is a constant"));

/// An opening or closing tag of a private block.
static PRIVATE_TAG: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)<\s*/?\s*private(?:\s[^<>]*|/)?>").expect("the pattern is a constant"));

/// The redaction that the settings ask for. It is global to the process, so that no entry point can forget it.
static CONFIGURED: OnceLock<Redaction> = OnceLock::new();

/// Sets the redaction of the whole process. Only the first call has an effect: a daemon makes it before it serves.
pub fn configure(redaction: Redaction) {
    CONFIGURED.get_or_init(|| redaction);
}

/// Replaces every `<private>` block and every configured secret by `[REDACTED:kind]`.
///
/// A block may have attributes and contain other blocks. A block that is not closed reaches to the end of the text.
/// Redacting twice is the same as redacting once.
pub fn redact(text: &str) -> Redacted<'_> {
    CONFIGURED.get().copied().unwrap_or_default().redact(text)
}

/// Whether a private block begins or ends in a text. One that is not closed reaches to the end, however far that is.
pub fn has_private_tag(text: &str) -> bool {
    PRIVATE_TAG.is_match(text)
}

/// The redacted text of something that is only shown, or is still to be parsed as a name.
pub fn redact_secrets(value: &str) -> String {
    redact_text(value).value.into()
}

/// Redacts a name as [`redact_secrets`] does, but leaves names of plain words alone. In lower case, a name such as
/// `XApp-Manager2024`, which was already redacted before normalisation, looks like a token.
pub fn redact_name(name: &str) -> String {
    let is_word = |part: &str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        part.len() <= 4 || (part.len() - letters.len() <= 4 && letters.chars().all(char::is_lowercase))
    };
    if name.split(['-', '_', '.', '/']).all(is_word)
        && !name.contains(char::is_uppercase)
        && !name.contains([':', '=', '@'])
    {
        return name.to_owned();
    }
    redact_secrets(name)
}

impl Redaction {
    /// Replaces every `<private>` block and every configured secret by `[REDACTED:kind]`.
    pub fn redact(self, text: &str) -> Redacted<'_> {
        let visible = View::visible(text);
        let joints = wrapped::joints(&visible.text);
        if !visible.hides() && joints.is_empty() {
            return replace(text, self.spans(text));
        }
        // An invisible code point or a line end may split a secret, or separate it from its neighbour. So the text is
        // searched with and without them until nothing new is found.
        let mut done = Redacted { text: Cow::Borrowed(text), count: 0 };
        for _ in 0..ROUNDS_MAX {
            let spans = self.spans_in_all_views(&done.text);
            if spans.is_empty() {
                break;
            }
            let next = replace(&done.text, spans);
            done = Redacted { count: done.count + next.count, text: Cow::Owned(next.text.into_owned()) };
        }
        done
    }

    fn spans_in_all_views(self, text: &str) -> Vec<Span> {
        let visible = View::visible(text);
        let mut spans = self.spans(&visible.text);
        let over_joints = self.spans_over_joints(&visible.text, &spans);
        spans.extend(over_joints);
        for span in &mut spans {
            span.range = visible.original(&span.range);
        }
        if visible.hides() {
            spans.extend(self.spans(text));
        }
        spans
    }

    /// The secrets that begin in one line and continue in the next. `known` are those that were found within lines.
    fn spans_over_joints(self, text: &str, known: &[Span]) -> Vec<Span> {
        let joints = wrapped::joints(text);
        let known = Known::of(known);
        let mut spans = Vec::new();
        for group in joints.chunk_by(|one, next| next.around.start <= one.around.end) {
            spans.extend(self.spans_over(text, &group.iter().collect::<Vec<_>>(), &known));
            // A word before a secret is no part of it, though what follows looks drawn.
            let certain: Vec<&Joint> = group.iter().filter(|joint| joint.continues_drawn).collect();
            if certain.len() < group.len() {
                spans.extend(self.spans_over(text, &certain, &known));
            }
        }
        spans
    }

    /// The secrets that are there without these line ends, which are near to each other.
    fn spans_over(self, text: &str, joints: &[&Joint], known: &Known) -> Vec<Span> {
        let (Some(first), Some(last)) = (joints.first(), joints.last()) else { return Vec::new() };
        let around = first.around.start..last.around.end;
        let relative = |range: &Range<usize>| range.start - around.start..range.end - around.start;
        let joined = View::without(&text[around.clone()], joints.iter().map(|joint| relative(&joint.range)));
        let mut spans = self.spans(&joined.text);
        for span in &mut spans {
            let range = joined.original(&span.range);
            span.range = range.start + around.start..range.end + around.start;
        }
        spans.retain(|span| known.is_split(span, joints));
        spans
    }

    fn spans(self, text: &str) -> Vec<Span> {
        let hits = anchors::hits(text);
        let has = |anchor: Anchor| hits.iter().any(|hit| hit.anchor == anchor);
        let mut spans = if has(Anchor::Private) { private_blocks(text) } else { Vec::new() };
        let mut excluded: Vec<Range<usize>> = spans.iter().map(|span| span.range.clone()).collect();
        if has(Anchor::Mark) {
            excluded.extend(MARK.find_iter(text).map(|found| found.range()));
        }
        for _ in 0..ROUNDS_MAX {
            let found = self.secrets(text, &mut excluded, &hits);
            if found.is_empty() {
                break;
            }
            excluded.extend(found.iter().map(|span| span.range.clone()));
            spans.extend(found);
        }
        spans
    }

    /// The secrets outside the excluded ranges. Sorts these.
    fn secrets(self, text: &str, excluded: &mut [Range<usize>], hits: &[Hit]) -> Vec<Span> {
        excluded.sort_unstable_by_key(|range| range.start);
        let mut spans = Vec::new();
        let mut hits = hits.iter().peekable();
        for piece in between(excluded, text.len()) {
            let mut search = Search::new(self, &text[piece.clone()], piece.start);
            // Anchors are ordered by their ends, and none lies in two pieces.
            while let Some(hit) = hits.next_if(|hit| hit.range.end <= piece.end) {
                if hit.range.start >= piece.start {
                    search.examine(hit.range.start - piece.start..hit.range.end - piece.start, hit.anchor);
                }
            }
            spans.extend(search.spans);
        }
        spans
    }
}

/// The secrets that were found within lines.
struct Known {
    /// Where they are, in order and without overlaps.
    ranges: Vec<Range<usize>>,
    /// Where each of them ends, in order.
    ends: Vec<usize>,
}

impl Known {
    fn of(spans: &[Span]) -> Self {
        let mut ranges: Vec<Range<usize>> = spans.iter().map(|span| span.range.clone()).collect();
        let mut ends: Vec<usize> = ranges.iter().map(|range| range.end).collect();
        ends.sort_unstable();
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup_by(|next, last| {
            let overlaps = next.start < last.end;
            if overlaps {
                last.end = last.end.max(next.end);
            }
            overlaps
        });
        Self { ranges, ends }
    }

    fn overlaps(&self, span: &Range<usize>) -> bool {
        let at = self.ranges.partition_point(|known| known.end <= span.start);
        self.ranges.get(at).is_some_and(|known| known.start < span.end)
    }

    /// Whether a secret that was found without the line ends is split by them, and does not only seem longer without them.
    fn is_split(&self, span: &Span, joints: &[&Joint]) -> bool {
        if span.kind == "private" {
            return false;
        }
        let goes_on = |joint: &&Joint| {
            if self.ends.binary_search(&joint.range.start).is_ok() {
                // The first line alone is a secret, so the next one must look drawn.
                return joint.drawn;
            }
            // A known form is better evidence than a name.
            span.rank < CONTEXT_RANK || joint.alone
        };
        let from = joints.partition_point(|joint| joint.range.start <= span.range.start);
        let mut crossed =
            joints[from..].iter().take_while(|joint| joint.range.end < span.range.end).peekable();
        if crossed.peek().is_none() {
            // What names its form may be split, as the address before the secret of a webhook.
            return span.rank < CONTEXT_RANK && !self.overlaps(&span.range);
        }
        crossed.all(goes_on)
    }
}

/// The search through one piece of a text.
struct Search<'a> {
    redaction: Redaction,
    piece: &'a str,
    /// The offset of the piece in the text.
    offset: usize,
    spans: Vec<Span>,
    /// For each rule, then for names, cookies and commands: the byte before which all anchors are examined already.
    examined_up_to: Vec<usize>,
}

impl<'a> Search<'a> {
    fn new(redaction: Redaction, piece: &'a str, offset: usize) -> Self {
        Self { redaction, piece, offset, spans: Vec::new(), examined_up_to: vec![0; MATCHERS.len() + 3] }
    }

    /// Examines one anchor, unless a longer match that was examined already covers it.
    fn examine(&mut self, at: Range<usize>, anchor: Anchor) {
        let slot = match anchor {
            Anchor::Rule(rule) => rule,
            Anchor::Private | Anchor::Mark => return,
            _ if !self.redaction.context => return,
            Anchor::Name => MATCHERS.len(),
            Anchor::Cookie => MATCHERS.len() + 1,
            Anchor::Command => MATCHERS.len() + 2,
        };
        if at.start < self.examined_up_to[slot] {
            return;
        }
        self.examined_up_to[slot] = match anchor {
            Anchor::Rule(rule) => {
                let (found, next) = MATCHERS[rule].secret(self.piece, &at);
                self.take(found, MATCHERS[rule].kind(), rule);
                next
            }
            Anchor::Cookie => {
                let (found, next) = cookie::secrets(self.piece, at);
                self.take(found, "cookie", CONTEXT_RANK);
                next
            }
            Anchor::Command => {
                let (found, next) = command::secrets(self.piece, at);
                self.take(found, "password", CONTEXT_RANK);
                next
            }
            _ => {
                let (found, kind, next) = context::secrets(self.piece, at);
                self.take(found, kind, CONTEXT_RANK);
                next
            }
        };
    }

    fn take(&mut self, found: impl IntoIterator<Item = Range<usize>>, kind: &'static str, rank: usize) {
        let offset = self.offset;
        let span = |range: Range<usize>| Span { range: offset + range.start..offset + range.end, kind, rank };
        self.spans.extend(found.into_iter().map(span));
    }
}

/// The pieces of a text of `len` bytes outside the excluded ranges, which are ordered by their starts.
fn between(excluded: &[Range<usize>], len: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::with_capacity(excluded.len() + 1);
    let mut at = 0;
    for range in excluded {
        if at < range.start {
            pieces.push(at..range.start);
        }
        at = at.max(range.end);
    }
    if at < len {
        pieces.push(at..len);
    }
    pieces
}

/// The outermost private blocks. A tag with words behind its name that are no attributes
/// (`<private key>`) may be prose: it opens a block only if some closing tag follows. A tag that may only be mentioned opens
/// one only if a closing tag belongs to it.
fn private_blocks(text: &str) -> Vec<Span> {
    let tags: Vec<_> = PRIVATE_TAG.find_iter(text).filter_map(|tag| Tag::read(text, &tag)).collect();
    let last_close = tags.iter().rposition(|tag| tag.closes);
    let closed = closed(&tags);
    let mut blocks = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (i, tag) in tags.iter().enumerate() {
        if tag.closes {
            if depth == 1 {
                blocks.push(Span { range: start..tag.range.end, kind: "private", rank: 0 });
            }
            depth = depth.saturating_sub(1);
            continue;
        }
        let is_prose = tag.doubtful && last_close.is_none_or(|close| close < i);
        let is_mentioned = tag.may_be_mentioned && !closed.contains(&i);
        if is_prose || is_mentioned {
            continue;
        }
        if depth == 0 {
            start = tag.range.start;
        }
        depth += 1;
    }
    if depth > 0 {
        blocks.push(Span { range: start..text.len(), kind: "private", rank: 0 });
    }
    blocks
}

/// The opening tags to which a closing tag belongs, by their positions.
fn closed(tags: &[Tag]) -> HashSet<usize> {
    let mut open = Vec::new();
    let mut closed = HashSet::new();
    for (i, tag) in tags.iter().enumerate() {
        if tag.closes {
            closed.extend(open.pop());
        } else {
            open.push(i);
        }
    }
    closed
}

struct Tag {
    range: Range<usize>,
    closes: bool,
    doubtful: bool,
    /// Whether it is alone between backticks, or may be the argument of a type: `Local<Private>`.
    may_be_mentioned: bool,
}

impl Tag {
    /// `None` for an empty element, which contains nothing.
    fn read(text: &str, found: &regex::Match<'_>) -> Option<Self> {
        let inner = found.as_str().trim_matches(['<', '>']).trim();
        let closes = inner.starts_with('/');
        let empty = inner.ends_with('/');
        let doubtful = inner.contains(char::is_whitespace) && !inner.contains('=');
        let (before, behind) = (&text[..found.start()], &text[found.end()..]);
        // What is before it may be a mark by now, and that must not make a difference.
        let is_argument = found.as_str() == "<Private>"
            && before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | ']'));
        let may_be_mentioned = is_argument || (before.ends_with('`') && behind.starts_with('`'));
        (closes || !empty).then(|| Self { range: found.range(), closes, doubtful, may_be_mentioned })
    }
}

/// Replaces each span by a mark. Overlapping spans become one, with the kind of the first.
fn replace(text: &str, mut spans: Vec<Span>) -> Redacted<'_> {
    if spans.is_empty() {
        return Redacted { text: Cow::Borrowed(text), count: 0 };
    }
    spans.sort_by_key(|span| (span.range.start, span.rank));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.range.start < last.range.end => {
                last.range.end = last.range.end.max(span.range.end);
            }
            _ => merged.push(span),
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for span in &merged {
        out.push_str(&text[at..span.range.start]);
        out.push_str("[REDACTED:");
        out.push_str(span.kind);
        out.push(']');
        at = span.range.end;
    }
    out.push_str(&text[at..]);
    Redacted { text: Cow::Owned(out), count: merged.len() }
}

#[cfg(test)]
mod tests;
