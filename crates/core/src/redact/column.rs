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

/// How the cells of a table are found in its rows.
enum Cells {
    /// So many cells with this sign between them; the position of the one.
    Parted { sign: char, count: usize, at: usize },
    /// What is below these bytes of the line of headings, which dashes underline. A row of an `only` column is one word.
    Aligned { column: Range<usize>, only: bool },
}

impl Cells {
    /// The cell in this row; `None` behind the table.
    fn of(&self, text: &str, row: Range<usize>) -> Option<Range<usize>> {
        match self {
            Self::Parted { sign, count, at } => {
                let cells = cells(text, row, *sign);
                (cells.len() == *count).then(|| cells[*at].clone())
            }
            Self::Aligned { column, only } => {
                let line = &text[row.clone()];
                let is_sentence = *only && line.trim().contains(' ');
                if line.trim().is_empty() || line.starts_with('(') || is_border(line) || is_sentence {
                    return None;
                }
                let words = line.split([' ', '\r']).filter(|word| !word.is_empty());
                let is_below = |word: &Range<usize>| {
                    word.start < row.start + column.end && row.start + column.start < word.end
                };
                words.map(|word| range_of(text, word)).find(is_below).or(Some(row.start..row.start))
            }
        }
    }
}

/// The secrets below this name, if it is a heading. Only the first line of a table has headings, so no row is read for two
/// lines.
pub(super) fn below(text: &str, name: &Range<usize>, named: impl Fn() -> Option<Named>) -> Vec<Range<usize>> {
    let Some((end, column)) = parted(text, name).or_else(|| aligned(text, name)) else { return Vec::new() };
    let Some(named) = named() else { return Vec::new() };
    let rows = lines(text, end..text.len()).skip(1);
    let values = rows.map_while(|row| column.of(text, row));
    let is_value = |value: &str| !value.contains(char::is_whitespace) && !is_constant(value);
    let is_one = |value: &str| is_value(value) && is_secret(named, value, Form::Prose);
    values.filter(|value| is_one(&text[value.clone()])).collect()
}

/// The end of the headings whose cells a sign parts, and the column of this name among them. Between bars, a line of
/// dashes follows them.
fn parted(text: &str, name: &Range<usize>) -> Option<(usize, Cells)> {
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
    let at = headings.iter().position(|cell| cell.start <= name.start && cell.end == name.end)?;
    let count = headings.len();
    let is_table = (2..=HEADINGS_MAX).contains(&count) && has_headings(is_heading);
    if !is_table {
        return None;
    }
    let next = lines(text, line.end..text.len()).nth(1)?;
    let is_bar = matches!(sign, '|' | '│');
    let end = if is_bar && is_border(&text[next.clone()]) {
        next.end
    } else {
        // Nothing else tells the headings of CSV from a row, or from code.
        let is_other = is_bar && text[line.clone()].contains(' ')
            || !has_headings(is_no_value)
            || is_import(&text[line.clone()]);
        (!is_other).then_some(line.end)?
    };
    // The row before has no bound, so it is read last.
    let before = lines(text, 0..line.start).rev().nth(1);
    let is_first = before.is_none_or(|row| cells(text, row, sign).len() != count);
    is_first.then_some((end, Cells::Parted { sign, count, at }))
}

/// The end of the headings that dashes underline, and the column of this name.
fn aligned(text: &str, name: &Range<usize>) -> Option<(usize, Cells)> {
    let behind = text[name.end..].trim_start_matches(['\r', ' ']);
    let gap = text.len() - name.end - behind.len();
    if !(gap > 1 || behind.starts_with('\n')) {
        return None;
    }
    let line = line_around(text, name)?;
    let border =
        lines(text, line.end..text.len()).nth(1).filter(|border| is_border(&text[border.clone()]))?;
    let mut dashes = text[border.clone()].split(' ').take(HEADINGS_MAX).map(|run| range_of(text, run));
    let column = dashes.find_map(|run| {
        let column = run.start - border.start..run.end - border.start;
        (column.start < name.end - line.start && name.start - line.start < column.end).then_some(column)
    })?;
    // A name is the end of its heading, so no two read the same rows.
    let rest = text.get(name.end..line.end.min(line.start + column.end)).unwrap_or_default();
    if !rest.trim().is_empty() {
        return None;
    }
    let only = text[border.clone()].trim().len() == column.len();
    Some((border.end, Cells::Aligned { column, only }))
}

/// Whether a line only underlines headings.
fn is_border(line: &str) -> bool {
    line.len() <= HEADINGS_BYTES_MAX
        && line.contains(['-', '─', '═'])
        && line.chars().all(|c| "-|+:= \r─│┼├┤═╪╞╡".contains(c))
}

/// Whether it parts cells.
fn is_sign(c: char) -> bool {
    matches!(c, ',' | ';' | '\t' | '|' | '│')
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
    let row = if matches!(sign, '|' | '│') { row.trim_matches(|c| is_edge(c) || c == sign) } else { row };
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

/// The values of `data:` and `stringData:` in the manifest in YAML whose line `kind: Secret` begins here.
pub(super) fn data(text: &str, kind: usize) -> Vec<Range<usize>> {
    let content = |line: &Range<usize>| text[line.clone()].trim_start_matches(' ');
    // The first line of an item of a list is as deep as the others.
    let is_item = |line: &Range<usize>| content(line).starts_with("- ");
    let depth = |line: &Range<usize>| line.len() - content(line).trim_start_matches("- ").len();
    let is_blank = |line: &Range<usize>| text[line.clone()].trim().is_empty();
    let own = lines(text, kind..text.len()).next().unwrap_or(kind..kind);
    let deep = depth(&own);
    let in_manifest = |line: &Range<usize>| {
        let content = content(line).trim_start_matches("- ");
        let ends = ["---", "```", "kind:"].iter().any(|end| content.starts_with(end)) || depth(line) < deep;
        is_blank(line) || !ends
    };
    let begins = |line: &Range<usize>| is_item(line) && depth(line) == deep;
    let mut start = kind;
    let mut before = lines(text, 0..kind).rev().skip(1).take_while(&in_manifest);
    while !begins(&(start..own.end))
        && let Some(line) = before.next()
    {
        start = line.start;
    }
    let behind = lines(text, own.start..text.len()).skip(1);
    let last = behind.take_while(|line| in_manifest(line) && !begins(line)).last();
    let (mut section, mut values) = ("", Vec::new());
    for line in lines(text, start..last.map_or(own.end, |line| line.end)).filter(|line| !is_blank(line)) {
        let content = text[line.clone()].trim().trim_start_matches("- ");
        if depth(&line) == deep {
            section = content;
        } else if let Some((_, value)) = content.split_once(": ") {
            let value = value.trim_matches(is_edge);
            let of_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
            let is_base64 =
                value.len().is_multiple_of(4) && value.bytes().all(of_base64) && !is_placeholder(value);
            let is_one = match section {
                "data:" => !value.is_empty() && is_base64,
                "stringData:" => is_secret(Named::Password, value, Form::Line),
                _ => false,
            };
            values.extend(is_one.then(|| range_of(text, value)));
        }
    }
    values
}
