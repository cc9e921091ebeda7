//! Cuts a memory into passages that a model can read whole, each with the title before it.
//!
//! Each model counts in tokens of its own. Here a text is measured in halves of a word of prose, generously: long
//! identifiers, numbers, signs and scripts without blanks have more tokens than words. So no passage exceeds what
//! the model reads.

use crate::{domain::Memory, redact::RedactedText};

/// The share of a passage that the title may take: one in this many.
const TITLE_SHARE: usize = 4;
/// The share of a passage that is repeated at the beginning of the next one: one in this many.
const OVERLAP_SHARE: usize = 8;
/// The least that is left for the text, in halves of a word.
const ROOM_MIN: usize = 32;
/// The longest piece that is never cut.
const PIECE_BYTES_MAX: usize = 48;

/// The passages of a memory for a model that reads `words` words of prose. There is at least one, and together they
/// cover all of the text.
pub fn passages(memory: &Memory, words: usize) -> Vec<RedactedText> {
    of_text(&memory.title, &memory.content, words)
}

/// The passages of a title and a text.
pub fn of_text(title: &RedactedText, text: &RedactedText, words: usize) -> Vec<RedactedText> {
    let room = words * 2;
    let title = title.trim();
    let mut out = Vec::new();
    let title = if cost(title) <= room / TITLE_SHARE {
        title
    } else {
        // A title that leaves no room becomes passages of its own; its beginning goes before the others.
        out.extend(cut(title, room).into_iter().map(RedactedText::derived));
        cut(title, room / TITLE_SHARE).first().copied().unwrap_or_default()
    };
    let room = room.saturating_sub(cost(title)).max(ROOM_MIN);
    for text in cut(text.trim(), room) {
        // A repeated title would outweigh the text, and many repeat the content's first words.
        out.push(match (title.is_empty() || text.contains(title), text.is_empty()) {
            (true, _) => RedactedText::derived(text),
            (_, true) => RedactedText::derived(title),
            _ => RedactedText::derived(format!("{title}\n{text}")),
        });
    }
    out
}

/// A stretch of text that stays together: a word, a sign, or a part of an endless word.
struct Piece {
    start: usize,
    end: usize,
    cost: usize,
    /// How good it is to cut before it: 3 for a paragraph, 2 a line, 1 a sentence.
    border: u8,
}

/// The length of a text in halves of a word of prose.
fn cost(text: &str) -> usize {
    pieces(text).iter().map(|piece| piece.cost).sum()
}

/// Cuts a text into overlapping stretches of at most `room` halves of a word; an empty text gives one stretch.
fn cut(text: &str, room: usize) -> Vec<&str> {
    let pieces = pieces(text);
    let mut out = Vec::new();
    let mut from = 0;
    while from < pieces.len() {
        let end = end_of(&pieces, from, room);
        out.push(&text[pieces[from].start..pieces[end - 1].end]);
        if end == pieces.len() {
            break;
        }
        from = overlap(&pieces, from, end, room);
    }
    if out.is_empty() {
        out.push(text);
    }
    out
}

/// The piece at which the stretch that begins at `from` ends: as much as fits, moved back to the best border in its
/// second half.
fn end_of(pieces: &[Piece], from: usize, room: usize) -> usize {
    let mut spent = 0;
    let mut half = from;
    let mut end = from;
    while end < pieces.len() && (end == from || spent + pieces[end].cost <= room) {
        spent += pieces[end].cost;
        end += 1;
        if spent <= room / 2 {
            half = end;
        }
    }
    if end == pieces.len() {
        return end;
    }
    let best = (half.max(from) + 1..=end).max_by_key(|at| (pieces[*at].border, *at));
    best.unwrap_or(end).max(from + 1)
}

/// Where the next stretch begins: a little before the end of the last one, but always further on.
fn overlap(pieces: &[Piece], from: usize, end: usize, room: usize) -> usize {
    let mut spent = 0;
    let mut start = end;
    while start > from + 1 && spent + pieces[start - 1].cost <= room / OVERLAP_SHARE {
        start -= 1;
        spent += pieces[start].cost;
        if pieces[start].border > 0 {
            break;
        }
    }
    start
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    let mut border = 0;
    let mut breaks = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        if c.is_whitespace() {
            breaks += u8::from(c == '\n');
            border = border.max(match breaks {
                0 => 0,
                1 => 2,
                _ => 3,
            });
            continue;
        }
        let mut end = start + c.len_utf8();
        let mut word = Word::default();
        word.add(c);
        if c.is_alphanumeric() {
            while let Some((at, next)) = chars.next_if(|(at, next)| {
                next.is_alphanumeric() && at + next.len_utf8() - start <= PIECE_BYTES_MAX
            }) {
                end = at + next.len_utf8();
                word.add(next);
            }
        }
        out.push(Piece { start, end, cost: word.cost(), border });
        breaks = 0;
        let ends_sentence = matches!(c, '.' | '?' | '!' | '。' | ';')
            && chars.peek().is_none_or(|(_, next)| next.is_whitespace() || c == '。');
        border = u8::from(ends_sentence);
    }
    out
}

#[derive(Default)]
struct Word {
    letters: usize,
    digits: usize,
    /// Letters beyond ASCII; those of scripts without blanks count twice.
    foreign: usize,
    signs: usize,
}

impl Word {
    fn add(&mut self, c: char) {
        match c {
            'a'..='z' | 'A'..='Z' => self.letters += 1,
            '0'..='9' => self.digits += 1,
            _ if !c.is_alphanumeric() => self.signs += 1,
            '\u{2E80}'.. => self.foreign += 2,
            _ => self.foreign += 1,
        }
    }

    fn cost(&self) -> usize {
        // A word of prose, whatever its length up to 12 letters; then two for each further six.
        let ascii = match (self.letters, self.digits) {
            (0, digits) => digits.div_ceil(2),
            (letters, 0) => 2 + letters.saturating_sub(12).div_ceil(3),
            // A digest or an id: hardly two characters to a token.
            (letters, digits) => 1 + letters + digits,
        };
        ascii + self.foreign + self.signs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Body;

    fn memory(title: &str, content: &str) -> Memory {
        let (title, content) = (RedactedText::derived(title), RedactedText::derived(content));
        Memory { body: Body { title, content, ..Body::sample() }, ..Memory::sample() }
    }

    #[test]
    fn a_short_memory_is_one_passage_with_its_title() {
        assert_eq!(
            passages(&memory("Retry twice", " Because it flickers.\n"), 100),
            ["Retry twice\nBecause it flickers."]
        );
        assert_eq!(passages(&memory("", "text"), 100), ["text"]);
        assert_eq!(passages(&memory("Title", " "), 100), ["Title"]);
    }

    #[test]
    fn passages_are_cut_between_sentences_and_overlap() {
        let sentences: Vec<String> = (0..40).map(|n| format!("Sentence {n} has a few words more.")).collect();
        let found = passages(&memory("T", &sentences.join(" ")), 60);
        assert!(found.len() > 3, "{found:#?}");
        for passage in &found {
            assert!(passage.starts_with("T\nSentence") && passage.ends_with('.'), "{passage}");
        }
        for pair in found.windows(2) {
            let last = pair[0].rsplit("Sentence ").next().unwrap();
            assert!(pair[1].contains(last), "{pair:#?}");
        }
    }

    #[test]
    fn a_long_title_leaves_room_for_the_text() {
        let title = "word ".repeat(60);
        let found = passages(&memory(&title, &"other text ".repeat(100)), 50);
        assert!(found[0].starts_with("word") && !found[0].contains("other"));
        assert!(found.iter().any(|passage| passage.contains("other") && passage.contains("word")));
    }

    #[test]
    fn dense_texts_make_shorter_passages() {
        let of = |content: &str| passages(&memory("", content), 100).len();
        let prose = "the quick brown fox jumps over it ".repeat(30);
        assert_eq!(of(&prose), 3);
        assert!(of(&"0123456789abcdef".repeat(60)) > 4);
        assert!(of(&"汉字".repeat(200)) >= 4);
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_too_long(content in "(\\PC|\n| |[a-z]{1,9} ){0,600}", words in 40_usize..200) {
            let content = content.trim();
            let room = words * 2;
            let found = cut(content, room);
            let mut reached = 0;
            for text in &found {
                proptest::prop_assert!(cost(text) <= room, "{}", cost(text));
                let at = content[..].find(text).unwrap_or_default();
                // Each begins at or before the end of what was seen, blanks aside.
                let start = text.as_ptr() as usize - content.as_ptr() as usize;
                proptest::prop_assert!(content.is_empty() || at <= start);
                proptest::prop_assert!(start <= reached || content[reached..start].trim().is_empty());
                reached = reached.max(start + text.len());
            }
            proptest::prop_assert!(content[reached..].trim().is_empty());
        }
    }
}
