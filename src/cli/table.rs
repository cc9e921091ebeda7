//! Rows for people and for scripts: a drawn table on a terminal, values between tabs elsewhere.

use comfy_table::{Cell as Drawn, CellAlignment, ColumnConstraint, ContentArrangement, Row, presets};
use jiff::tz::TimeZone;
use serde_json::Value;

use cerebro_core::domain::Timestamp;
use cerebro_core::text;

/// The width of a terminal that says it has none: some that programs make were never given a size.
const WIDTH_UNKNOWN: u16 = 80;

/// How a column is laid out on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// As wide as its values: ids and other short words.
    Fixed,
    /// Takes the room that is left, and is cut where there is none.
    Flexible,
    /// Numbers, to the right.
    Count,
    /// Moments: as local date and time on a terminal, as they came elsewhere.
    Moment,
}

/// A table under way.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<(String, Layout)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of the columns with these headings.
    pub fn new(columns: &[(&str, Layout)]) -> Self {
        let columns = columns.iter().map(|(heading, layout)| ((*heading).to_owned(), *layout)).collect();
        Self { columns, rows: Vec::new() }
    }

    /// A table of the objects in `list`; each column shows the field that `fields` names at its
    /// place.
    pub fn of(columns: &[(&str, Layout)], fields: &[&str], list: &Value) -> Self {
        let mut table = Self::new(columns);
        for item in list.as_array().into_iter().flatten() {
            table.add(fields.iter().map(|field| shown(&item[*field])).collect());
        }
        table
    }

    /// Adds a row with a value for each column.
    pub fn add(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// One line a row, values between tabs, no heading: every column always has its place.
    pub fn plain(&self) -> String {
        let mut out = String::new();
        for row in &self.rows {
            let values: Vec<String> = row.iter().map(|value| one_line(value)).collect();
            out.push_str(&values.join("\t"));
            out.push('\n');
        }
        out
    }

    /// The drawn table, at most `width` columns wide if that is known. Columns without any value
    /// are left out.
    pub fn drawn(&self, width: Option<u16>, zone: &TimeZone) -> String {
        let used = |at: &usize| self.rows.iter().any(|row| !row[*at].is_empty());
        let places: Vec<usize> = (0..self.columns.len()).filter(used).collect();
        let mut table = comfy_table::Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_truncation_indicator("…");
        if let Some(width) = width.or_else(|| (table.width() == Some(0)).then_some(WIDTH_UNKNOWN)) {
            table.set_width(width);
        }
        table.set_header(places.iter().map(|at| &self.columns[*at].0));
        for row in &self.rows {
            let mut drawn: Row = places.iter().map(|at| cell(&row[*at], self.columns[*at].1, zone)).into();
            drawn.max_height(1);
            table.add_row(drawn);
        }
        for (column, at) in table.column_iter_mut().zip(&places) {
            if self.columns[*at].1 != Layout::Flexible {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        format!("{}\n", table.trim_fmt())
    }
}

fn cell(value: &str, layout: Layout, zone: &TimeZone) -> Drawn {
    let value = one_line(value);
    match layout {
        Layout::Fixed | Layout::Flexible => Drawn::new(value),
        Layout::Count => Drawn::new(value).set_alignment(CellAlignment::Right),
        Layout::Moment => Drawn::new(moment(&value, zone)),
    }
}

/// The text on one line, without characters that could steer a terminal.
fn one_line(value: &str) -> String {
    text::one_line(&text::strip_control_chars(value))
}

/// A value as people read it: nothing for null and `false`, lists with commas.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(false) => String::new(),
        Value::Bool(true) => "yes".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// A moment in RFC 3339 as local date and time; any other text as it is.
pub fn moment(value: &str, zone: &TimeZone) -> String {
    match value.parse::<Timestamp>() {
        Ok(at) => at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => value.to_owned(),
    }
}

/// A number of seconds as people say it, in its two largest units.
pub fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// A number of milliseconds as people say it; nothing for what is no number.
pub fn milliseconds(value: &Value) -> String {
    match value.as_u64() {
        Some(ms) if ms < 10_000 => format!("{ms} ms"),
        Some(ms) => duration(ms / 1_000),
        None => String::new(),
    }
}

/// A number of bytes as people say it, in powers of 1,000 with one digit after the point.
pub fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match UNITS.iter().find(|(size, _)| count >= *size) {
        Some((size, unit)) => format!("{}.{} {unit}", count / size, count % size / (size / 10)),
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const COLUMNS: &[(&str, Layout)] = &[
        ("id", Layout::Fixed),
        ("when", Layout::Moment),
        ("n", Layout::Count),
        ("note", Layout::Fixed),
        ("title", Layout::Flexible),
    ];

    fn table() -> Table {
        let list = json!([
            { "id": "abcdefghij27", "at": "2026-11-21T23:30:00Z", "n": 7, "note": null, "title": "Short" },
            { "id": "bbcdefghij27", "at": "never", "n": 1_234,
              "title": "Long\t語 \u{1b}[31mwords\nand more of them" },
        ]);
        Table::of(COLUMNS, &["id", "at", "n", "note", "title"], &list)
    }

    #[test]
    fn plain_lines_have_every_column_and_no_frame() {
        assert_eq!(
            table().plain(),
            "abcdefghij27\t2026-11-21T23:30:00Z\t7\t\tShort\n\
             bbcdefghij27\tnever\t1234\t\tLong 語 [31mwords and more of them\n"
        );
        assert_eq!(Table::of(COLUMNS, &["id", "at", "n", "note", "title"], &Value::Null).plain(), "");
    }

    #[test]
    fn a_drawn_table_fits_and_keeps_its_ids_whole() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let drawn = table().drawn(Some(60), &zone);
        let lines: Vec<&str> = drawn.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{drawn}");
        assert_eq!(lines.len(), 6, "{drawn}");
        assert!(drawn.contains("abcdefghij27") && drawn.contains("bbcdefghij27"), "{drawn}");
        assert!(drawn.contains("2026-11-22 01:30") && drawn.contains("never"), "{drawn}");
        assert!(drawn.contains("    7 ") && drawn.contains(" 1234 "), "counts stand to the right: {drawn}");
        assert!(!drawn.contains("note"), "an empty column is drawn: {drawn}");
        assert!(drawn.contains('…') && !drawn.contains('\u{1b}'), "{drawn}");
    }

    #[test]
    fn values_are_shown_as_people_read_them() {
        for (value, want) in [
            (json!(null), ""),
            (json!(false), ""),
            (json!(true), "yes"),
            (json!(["a", "b"]), "a, b"),
            (json!(1.5), "1.5"),
        ] {
            assert_eq!(shown(&value), want);
        }
        for (seconds, want) in [(0, "0 s"), (61, "1 min 1 s"), (7_260, "2 h 1 min"), (90_000, "1 d 1 h")] {
            assert_eq!(duration(seconds), want);
        }
        for (count, want) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_050, "1.0 kB"),
            (12_345_678, "12.3 MB"),
            (5_000_000_000, "5.0 GB"),
        ] {
            assert_eq!(bytes(count), want);
        }
    }
}
