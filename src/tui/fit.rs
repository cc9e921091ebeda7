//! Text in columns: without control sequences, and measured, cut, padded and wrapped by columns.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

pub use crate::view::{clean, clean_line, count};

/// The columns of a text on a terminal: 2 for a wide character, none for a combining one.
pub fn width(text: &str) -> usize {
    text.width()
}

/// A text in at most `columns` columns. `…` shows where it is cut.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for cluster in text.graphemes(true) {
        let wide = width(cluster);
        if used + wide + 1 > columns {
            break;
        }
        out.push_str(cluster);
        used += wide;
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// A text in exactly `columns` columns: cut, or with blanks at the end.
pub fn pad(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let blanks = columns.saturating_sub(width(&text));
    format!("{text}{}", " ".repeat(blanks))
}

/// A text in exactly `columns` columns: cut, or with blanks at the start.
pub fn pad_left(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let blanks = columns.saturating_sub(width(&text));
    format!("{}{text}", " ".repeat(blanks))
}

/// Adds a text at the end of a line of `columns`, as much of it as there is room for behind `before`.
pub fn tail(spans: &mut Vec<Span<'static>>, before: &str, text: &str, columns: usize, style: Style) {
    let used: usize = spans.iter().map(|span| width(&span.content)).sum();
    let text = cut(text, columns.saturating_sub(used + width(before)));
    spans.push(Span::styled(format!("{before}{text}"), style));
}

/// One grapheme cluster of a text to wrap.
struct Cluster<'a> {
    text: &'a str,
    style: Style,
    width: usize,
}

/// Breaks styled text into lines of at most `columns`, between words if possible. `first` comes before the first line
/// and `rest` before the others; both count.
pub fn wrap(
    spans: &[(String, Style)],
    columns: usize,
    first: &[Span<'static>],
    rest: &[Span<'static>],
) -> Vec<Line<'static>> {
    let lead = |spans: &[Span<'static>]| spans.iter().map(|span| width(&span.content)).sum::<usize>();
    let room = columns.saturating_sub(lead(first).max(lead(rest))).max(4);
    let clusters: Vec<Cluster<'_>> = spans
        .iter()
        .flat_map(|(text, style)| {
            text.graphemes(true).map(|text| Cluster { text, style: *style, width: width(text) })
        })
        .collect();
    let mut lines = Vec::new();
    let mut start = 0;
    while start < clusters.len() {
        let end = line_end(&clusters[start..], room) + start;
        let lead = if lines.is_empty() { first } else { rest };
        lines.push(line(lead, trimmed(&clusters[start..end])));
        start = end;
        // Blanks at a break are skipped.
        while lines_break_here(&clusters, start) {
            start += 1;
        }
    }
    if lines.is_empty() {
        lines.push(line(first, &[]));
    }
    lines
}

/// A text on at most `rows` lines. `…` shows that it is cut.
pub fn rows(text: &str, style: Style, columns: usize, rows: usize) -> Vec<Line<'static>> {
    let mut lines = wrap(&[(text.to_owned(), style)], columns, &[], &[]);
    if lines.len() > rows {
        lines.truncate(rows);
        if let Some(last) = lines.last_mut() {
            *last = Line::from(Span::styled(cut(&format!("{last}…"), columns), style));
        }
    }
    lines
}

fn lines_break_here(clusters: &[Cluster<'_>], at: usize) -> bool {
    at > 0 && clusters.get(at).is_some_and(|cluster| cluster.text == " ")
}

/// The end of the line that begins here: after the last blank that fits, or inside a long word.
fn line_end(clusters: &[Cluster<'_>], room: usize) -> usize {
    let (mut used, mut after_blank) = (0, None);
    for (n, cluster) in clusters.iter().enumerate() {
        used += cluster.width;
        if used > room {
            return if cluster.text == " " { n } else { after_blank.unwrap_or(n.max(1)) };
        }
        if cluster.text == " " {
            after_blank = Some(n + 1);
        }
    }
    clusters.len()
}

fn trimmed<'a, 'b>(clusters: &'a [Cluster<'b>]) -> &'a [Cluster<'b>] {
    let blank = clusters.iter().rev().take_while(|cluster| cluster.text == " ").count();
    &clusters[..clusters.len() - blank]
}

fn line(lead: &[Span<'static>], clusters: &[Cluster<'_>]) -> Line<'static> {
    let mut spans = lead.to_vec();
    for run in clusters.chunk_by(|a, b| a.style == b.style) {
        let text: String = run.iter().map(|cluster| cluster.text).collect();
        spans.push(Span::styled(text, run[0].style));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_and_filled_by_what_a_terminal_shows() {
        for (text, columns, want) in [
            ("abc", 5, "abc  "),
            ("abcdef", 4, "abc…"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日… "),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("👩‍👩‍👧 x", 1, "…"),
            ("", 2, "  "),
            ("x", 0, ""),
        ] {
            assert_eq!(pad(text, columns), want, "{text}");
            assert_eq!(width(&pad(text, columns)), columns, "{text}");
        }
        assert_eq!(pad_left("7", 3), "  7");
    }

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        assert_eq!(clean_line("a\u{1b}[31mb\u{9b}\u{202e}c\td\r\n e"), "a[31mbc d e");
        assert_eq!(clean("a\n\tb"), "a\n    b");
    }

    #[test]
    fn counts_have_commas() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn lines_break_between_words_and_never_inside_a_character() {
        let lines = |text: &str, columns| -> Vec<String> {
            let spans = [(text.to_owned(), Style::new())];
            wrap(&spans, columns, &[Span::raw("- ")], &[Span::raw("  ")])
                .iter()
                .map(Line::to_string)
                .collect()
        };
        assert_eq!(lines("one two three", 9), ["- one two", "  three"]);
        assert_eq!(lines("abcdefghij", 7), ["- abcde", "  fghij"]);
        assert_eq!(lines("日本語日本語", 8), ["- 日本語", "  日本語"]);
        assert_eq!(lines("", 8), ["- "]);
    }

    #[test]
    fn a_text_that_does_not_fit_its_rows_says_so() {
        let lines = |text, count| -> Vec<String> {
            rows(text, Style::new(), 9, count).iter().map(Line::to_string).collect()
        };
        assert_eq!(lines("one two three", 2), ["one two", "three"]);
        assert_eq!(lines("one two three", 1), ["one two…"]);
        assert_eq!(lines("abcdefghi jkl", 1), ["abcdefgh…"]);
    }
}
