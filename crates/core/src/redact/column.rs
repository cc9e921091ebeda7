//! Secrets below what names them: columns of CSV and of tables in Markdown, and the data of a Secret of Kubernetes.

use std::ops::Range;

use super::{
    cursor::QUOTES,
    name::Named,
    value::{Form, is_placeholder, is_secret},
};

/// The longest line of headings, in bytes, and most headings in it.
const HEADINGS_BYTES_MAX: usize = 1024;
const HEADINGS_MAX: usize = 64;
/// The longest heading, in bytes.
const HEADING_BYTES_MAX: usize = 40;

/// The secrets below this name, if it is a heading. Only the first line of a table has headings, so no row is read for two
/// lines.
pub(super) fn below(text: &str, name: &Range<usize>, named: impl Fn() -> Option<Named>) -> Vec<Range<usize>> {
    let column = || {
        // Most names are no heading; this is a quick exit.
        let behind = text[name.end..].trim_start_matches(is_edge).chars().next().unwrap_or('\n');
        if !(is_sign(behind) || behind == '\n') {
            return None;
        }
        let line = line_around(text, name)?;
        let before = || text[line.start..name.start].chars().rfind(|c| is_sign(*c));
        let sign = Some(behind).filter(|c| is_sign(*c)).or_else(before)?;
        let headings = cells(text, line.clone(), sign);
        let has_headings = |of: fn(&str) -> bool| headings.iter().all(|cell| of(&text[cell.clone()]));
        // Nothing else tells the headings of CSV from a row, or from code.
        let is_other = || !has_headings(is_no_value) || is_import(&text[line.clone()]);
        let is_table = (2..=HEADINGS_MAX).contains(&headings.len())
            && has_headings(is_heading)
            && (sign == '|' || !is_other());
        let at = headings.iter().position(|cell| cell.start <= name.start && cell.end == name.end)?;
        // The row before has no bound, so it is read last.
        let is_first = || {
            let before = lines(text, 0..line.start).rev().nth(1);
            before.is_none_or(|row| cells(text, row, sign).len() != headings.len())
        };
        (is_table && is_first()).then_some((sign, line.end, headings.len(), at))
    };
    let Some((sign, end, count, at)) = column() else { return Vec::new() };
    let Some(named) = named() else { return Vec::new() };
    let mut rows = lines(text, end..text.len()).skip(1);
    let is_border = |row: &str| row.contains('-') && row.trim_matches(['|', '-', ':', ' ', '\r']).is_empty();
    if sign == '|' && !rows.next().is_some_and(|row| is_border(&text[row])) {
        return Vec::new();
    }
    let rows = rows.map(|row| cells(text, row, sign)).take_while(|row| row.len() == count);
    let values = rows.map(|row| row[at].clone());
    let is_value = |value: &str| !value.contains(char::is_whitespace) && !is_constant(value);
    let is_one = |value: &str| is_value(value) && is_secret(named, value, Form::Prose);
    values.filter(|value| is_one(&text[value.clone()])).collect()
}

/// Whether it parts cells.
fn is_sign(c: char) -> bool {
    matches!(c, ',' | ';' | '\t' | '|')
}

/// Whether it may be around a cell.
fn is_edge(c: char) -> bool {
    matches!(c, ' ' | '\r') || QUOTES.contains(&c)
}

/// Whether a cell is a name, and no sentence or code.
fn is_heading(cell: &str) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/' | '#');
    (1..=HEADING_BYTES_MAX).contains(&cell.len()) && cell.chars().all(of_name)
}

/// Whether a cell is neither a path nor a figure such as `0.005s`, `12K` or `-`.
fn is_no_value(cell: &str) -> bool {
    let letters = cell.chars().filter(|c| c.is_alphabetic()).count();
    let is_figure = letters <= usize::from(cell.starts_with(|c: char| c.is_ascii_digit()));
    cell == "#" || !(is_figure || cell.contains('/'))
}

/// Whether a line of Python imports names.
fn is_import(line: &str) -> bool {
    ["from ", "import "].iter().any(|word| line.trim_start().starts_with(word))
}

/// `K8S_TOKEN`: the name of a variable, as tables of secrets list them.
fn is_constant(value: &str) -> bool {
    value.contains('_') && value.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// The line of a name; `None` if it is too long.
fn line_around(text: &str, name: &Range<usize>) -> Option<Range<usize>> {
    let from = text.ceil_char_boundary(name.start.saturating_sub(HEADINGS_BYTES_MAX));
    let to = text.floor_char_boundary(name.end + HEADINGS_BYTES_MAX);
    let start = text[from..name.start].rfind('\n').map(|at| from + at + 1).or((from == 0).then_some(0))?;
    let end = text[name.end..to].find('\n').map(|at| name.end + at).or((to == text.len()).then_some(to))?;
    Some(start..end)
}

/// The lines in a part of a text.
fn lines(text: &str, part: Range<usize>) -> impl DoubleEndedIterator<Item = Range<usize>> {
    text[part].split('\n').map(|line| range_of(text, line))
}

/// The cells of a row, without what is around them. A sign between double quotes parts none.
fn cells(text: &str, row: Range<usize>, sign: char) -> Vec<Range<usize>> {
    let row = &text[row];
    let row = if sign == '|' { row.trim_matches(|c| is_edge(c) || c == '|') } else { row };
    let mut quoted = false;
    let parts = row.split(|c| {
        quoted ^= c == '"';
        c == sign && !quoted
    });
    parts.map(|cell| range_of(text, cell.trim_matches(is_edge))).collect()
}

fn range_of(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

/// The values of `data:` in the manifest in YAML whose line `kind: Secret` begins here.
pub(super) fn data(text: &str, kind: usize) -> Vec<Range<usize>> {
    let depth = |line: &Range<usize>| line.len() - text[line.clone()].trim_start_matches(' ').len();
    let is_blank = |line: &Range<usize>| text[line.clone()].trim().is_empty();
    let own = depth(&(kind..text.len()));
    let in_manifest = |line: &Range<usize>| {
        let content = text[line.clone()].trim_start_matches(' ');
        let ends = ["---", "```", "kind:"].iter().any(|end| content.starts_with(end)) || depth(line) < own;
        is_blank(line) || !ends
    };
    let before = lines(text, 0..kind).rev().skip(1).take_while(&in_manifest).last();
    let behind = lines(text, kind..text.len()).skip(1).take_while(&in_manifest).last();
    let manifest = before.map_or(kind, |line| line.start)..behind.map_or(kind, |line| line.end);
    let (mut is_data, mut values) = (false, Vec::new());
    for line in lines(text, manifest).filter(|line| !is_blank(line)) {
        let content = text[line.clone()].trim();
        if depth(&line) == own {
            is_data = content == "data:";
        } else if let Some((_, value)) = content.split_once(": ").filter(|_| is_data) {
            let value = value.trim_matches(is_edge);
            let of_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
            let is_base64 =
                !value.is_empty() && value.len().is_multiple_of(4) && value.bytes().all(of_base64);
            values.extend((is_base64 && !is_placeholder(value)).then(|| range_of(text, value)));
        }
    }
    values
}
