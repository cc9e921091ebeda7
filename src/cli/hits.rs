//! Hits for people: a few lines each, with the words of the query highlighted.

use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation;

use super::screen::{Screen, Style};
use super::table::shown;
use crate::answer::{Text, search::Hit};
use crate::tui::fit;
use crate::view::unmarked;
use cerebro_core::text::passage;

/// Shortest word of the query that is highlighted, in characters.
const WORD_CHARS_MIN: usize = 2;
/// Shortest common stem of two forms of a word, in characters.
const STEM_CHARS_MIN: usize = 3;
/// The endings by which forms of a word may differ.
const ENDINGS: [&str; 12] = ["", "s", "es", "e", "ed", "d", "ing", "er", "ers", "ly", "y", "ies"];
/// Before the lines of a hit that follow its title.
const INDENT: &str = "    ";
/// Columns that a preview is cut to on a wider screen: longer lines are hard to read.
const LINE_MAX: usize = 120;

/// The hits on a screen: id and title, what is known of it, and a line of its text.
pub fn drawn(hits: &[Hit], query: &str, screen: &Screen) -> String {
    let words: Vec<String> = query.unicode_words().map(str::to_lowercase).collect();
    // The project is shown only if the hits have different ones.
    let is_one = hits.iter().all(|hit| hit.project == hits[0].project);
    let mut out = String::new();
    for hit in hits {
        let id = hit.id.raw();
        let id = if screen.is_wide() { id } else { &id[..id.floor_char_boundary(7)] };
        let room = screen.width.saturating_sub(fit::width(id) + 2);
        let title = fit::cut(&hit.title.line(), room);
        let title = marked(&title, &words, screen, Some(Style::Title));
        let _ = writeln!(out, "{}  {title}", screen.styled(Style::Id, id));

        let claim = |ids: &[Text], words: &str| (!ids.is_empty()).then(|| format!("{words} {}", shown(ids)));
        let facts = [
            Some(shown(&hit.kind)),
            Some(screen.age(hit.date.raw())),
            hit.project.as_ref().filter(|_| !is_one).map(shown),
            claim(&hit.marks.superseded_by, "superseded by"),
            claim(&hit.marks.conflicts_with, "conflicts with"),
        ];
        let facts: Vec<String> = facts.into_iter().flatten().filter(|fact| !fact.is_empty()).collect();
        let room = screen.width.min(LINE_MAX).saturating_sub(INDENT.len());
        let facts = fit::cut(&fit::clean_line(&facts.join(" · ")), room);
        let _ = writeln!(out, "{INDENT}{}", screen.styled(Style::Faint, &facts));

        let preview = cut_around(&fit::clean_line(&unmarked(hit.preview.raw())), &words, room);
        if !preview.is_empty() {
            let _ = writeln!(out, "{INDENT}{}", marked(&preview, &words, screen, None));
        }
    }
    out
}

/// The text in so many columns: its beginning, or if that has none of the words, the part around the first of them.
fn cut_around(text: &str, words: &[String], columns: usize) -> String {
    let beginning = fit::cut(text, columns);
    let found = |text: &str| {
        let is_found = |piece: &str| words.iter().any(|word| is_form_of(&piece.to_lowercase(), word));
        text.split_word_bound_indices()
            .find(|(_, piece)| is_found(piece))
            .map(|(at, piece)| at..at + piece.len())
    };
    match found(text).filter(|_| found(&beginning).is_none()) {
        Some(at) => fit::cut(&passage(text, at.start, at.end, columns), columns),
        None => beginning,
    }
}

/// The text with all forms of the words highlighted; `else_style` is the style of the rest.
fn marked(text: &str, words: &[String], screen: &Screen, else_style: Option<Style>) -> String {
    if !screen.colour {
        return text.to_owned();
    }
    let style = |piece: &str| match else_style {
        Some(style) if !piece.trim().is_empty() => screen.styled(style, piece),
        _ => piece.to_owned(),
    };
    let (mut out, mut rest) = (String::new(), String::new());
    for piece in text.split_word_bounds() {
        let folded = piece.to_lowercase();
        if words.iter().any(|word| is_form_of(&folded, word)) {
            out.push_str(&style(&std::mem::take(&mut rest)));
            out.push_str(&screen.styled(Style::Match, piece));
        } else {
            rest.push_str(piece);
        }
    }
    out.push_str(&style(&rest));
    out
}

/// Whether two words are equal or, judging by their endings, forms of one word: `wait`, `waits`, `waiting`.
fn is_form_of(word: &str, other: &str) -> bool {
    let common: usize =
        word.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    if word == other {
        return word.chars().count() >= WORD_CHARS_MIN;
    }
    let is_ending = |rest: &str| ENDINGS.contains(&rest);
    word[..common].chars().count() >= STEM_CHARS_MIN
        && is_ending(&word[common..])
        && is_ending(&other[common..])
}

#[cfg(test)]
mod tests {
    use super::super::screen::tests::{compare, screen};
    use super::*;

    fn hits() -> Vec<Hit> {
        let hit = |id: &str, title: &str, kind: &str, date: &str, project: &str, preview: &str| Hit {
            id: id.into(),
            title: title.into(),
            kind: kind.into(),
            date: date.into(),
            project: Some(project.into()),
            preview: preview.into(),
            ..Hit::default()
        };
        let mut first = hit(
            "kaaaaaaaaaaa",
            "The writer waits for the lease of the queue",
            "decision",
            "2026-11-22T09:15:00Z",
            "acme/payments",
            "What: the **writer** no longer loses a `lease_17`. Why: two writers met at the commit, and the lease of the \
             queue was waited for by both until the first one gave up.",
        );
        first.marks.superseded_by = vec!["kbbbbbbbbbbb".into()];
        let long = "日本語の題名 and a long tail of words \u{1b}[31mthat has to be cut";
        vec![
            first,
            hit("kbbbbbbbbbbb", long, "bugfix", "2026-11-19T09:15:00Z", "personal", "Leasing, again."),
            hit("kccccccccccc", "Short", "note", "2026-01-02T09:15:00Z", "acme/web", ""),
        ]
    }

    #[test]
    fn hits_are_readable_at_three_widths() {
        for width in [40, 80, 200] {
            let drawn = drawn(&hits(), "writers waiting for a lease", &screen(width));
            assert!(drawn.lines().all(|line| fit::width(line) <= width), "{drawn}");
            assert!(!drawn.contains('\u{1b}'), "{drawn}");
            compare(&format!("search-{width}"), &drawn);
        }
    }

    #[test]
    fn what_was_looked_for_stands_out_where_there_are_colours() {
        let colourful = Screen { colour: true, ..screen(80) };
        let drawn = drawn(&hits(), "writers waiting for a lease", &colourful);
        for piece in
            ["\u{1b}[1;33mwriter\u{1b}[0m", "\u{1b}[1;33mwaits\u{1b}[0m", "\u{1b}[1;33mLeasing\u{1b}[0m"]
        {
            assert!(drawn.contains(piece), "{piece:?}: {drawn:?}");
        }
        assert!(!drawn.contains("\u{1b}[31m"), "a stored escape sequence reaches the terminal: {drawn:?}");
    }

    #[test]
    fn a_preview_begins_where_a_narrow_screen_can_show_a_word_of_the_query() {
        let words = ["lease".to_owned()];
        let text =
            "Two writers met at the commit of one batch and lost the leases of the queue, both of them.";
        let cut = cut_around(text, &words, 36);
        assert!(cut.contains("leases") && cut.starts_with('…') && fit::width(&cut) <= 36, "{cut}");
        for (text, words) in
            [(text, &["other".to_owned()]), ("A lease, and much more than fits here.", &words)]
        {
            assert_eq!(cut_around(text, words, 36), fit::cut(text, 36));
        }
    }

    #[test]
    fn forms_of_a_word_are_distinguished_from_other_words() {
        for (word, other, is_form) in [
            ("waits", "wait", true),
            ("waiting", "waited", true),
            ("queries", "query", true),
            ("lease", "least", false),
            ("lock", "lose", false),
            ("a", "a", false),
            ("übung", "übungs", true),
        ] {
            assert_eq!(is_form_of(word, other), is_form, "{word} {other}");
        }
    }
}
