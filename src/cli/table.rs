//! Rows for people and for scripts: a drawn table on a terminal, values separated by tabs elsewhere.

use std::time::Duration;

use comfy_table::{Cell as Drawn, CellAlignment, ColumnConstraint, ContentArrangement, Row, presets};
use jiff::tz::TimeZone;
use serde_json::Value;

use super::screen::Screen;
use crate::answer::Text;
use crate::tui::fit;
use crate::view::span;
use cerebro_core::domain::Timestamp;
use cerebro_core::text;
pub use cerebro_core::text::bytes;

/// Narrowest text column, in characters, before an optional column is left out.
const TEXT_LEAST: usize = 28;
/// Columns that a text gets at least in a table; with less, each row is a list of its fields.
const TEXT_BARE: usize = 8;
/// Columns that a table's frame takes for each column and at its end.
const FRAME: usize = 3;
/// Characters of an id that are shown at least.
const ID_CHARS_MIN: usize = 7;

/// How a column is laid out on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// As wide as its values: ids and other short words.
    Fixed,
    /// Takes the remaining room, and is cut if there is none.
    Flexible,
    /// Numbers, to the right.
    Count,
    /// Moments: as local date and time on a terminal, as they came elsewhere.
    Moment,
    /// Ids: shortened on a narrow terminal, where the beginnings are unique.
    Id,
    /// Moments: as an age on a terminal, unchanged elsewhere. Left out if there is no room.
    Ago,
    /// Short words: left out on a terminal if all rows have the same word, or if there is no room.
    Spare,
}

/// A column of a list: its heading, its layout, and what it shows of an item.
pub type Column<T> = (&'static str, Layout, fn(&T) -> String);

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

    /// A table with a row for each item of an answer's list.
    pub fn of<T>(columns: &[Column<T>], items: &[T]) -> Self {
        let headings: Vec<_> = columns.iter().map(|(heading, layout, _)| (*heading, *layout)).collect();
        let row = |item: &T| columns.iter().map(|(.., value)| value(item)).collect();
        Self { rows: items.iter().map(row).collect(), ..Self::new(&headings) }
    }

    /// The same, for values that depend on more than their item.
    pub fn listing<T>(columns: &[(&str, Layout)], items: &[T], row: impl Fn(&T) -> Vec<String>) -> Self {
        let mut table = Self::new(columns);
        for item in items {
            table.add(row(item));
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

    /// The drawn table, as wide as the screen at most. Columns without any value are left out, and so are spare ones
    /// whose words say nothing or have no room. If the rest has no room either, or would be a single column, each row
    /// is a list.
    pub fn drawn(&self, screen: &Screen) -> String {
        let cells = self.cells(screen);
        let informative = self.informative(&cells);
        let mut places = informative.clone();
        while self.needed(&cells, &places, TEXT_LEAST) > screen.width {
            let spare = |at: &usize| matches!(self.columns[*at].1, Layout::Spare | Layout::Ago);
            let Some(last) = places.iter().rposition(spare) else { break };
            places.remove(last);
        }
        if places.len() == 1 && informative.len() > 1 {
            return self.listed(&cells, &informative, screen.width);
        }
        if self.needed(&cells, &places, TEXT_BARE) > screen.width {
            return self.listed(&cells, &places, screen.width);
        }
        let mut table = comfy_table::Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_truncation_indicator("…");
        table.set_width(u16::try_from(screen.width).unwrap_or(u16::MAX));
        table.set_header(places.iter().map(|at| &self.columns[*at].0));
        for row in &cells {
            let mut drawn: Row = places.iter().map(|at| cell(&row[*at], self.columns[*at].1)).into();
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

    /// What each cell shows on a screen.
    fn cells(&self, screen: &Screen) -> Vec<Vec<String>> {
        let id_chars: Vec<usize> = (0..self.columns.len()).map(|at| self.id_chars(at, screen)).collect();
        let cell = |(at, value): (usize, &String)| match self.columns[at].1 {
            Layout::Moment => screen.moment(&one_line(value)),
            Layout::Ago => screen.age(&one_line(value)),
            Layout::Id if is_random(value) => one_line(value).chars().take(id_chars[at]).collect(),
            Layout::Id | Layout::Fixed | Layout::Flexible | Layout::Count | Layout::Spare => one_line(value),
        };
        self.rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect()
    }

    /// How many characters distinguish the random ids of a column on a narrow screen.
    fn id_chars(&self, at: usize, screen: &Screen) -> usize {
        if screen.is_wide() || self.columns[at].1 != Layout::Id {
            return usize::MAX;
        }
        let mut ids: Vec<&str> =
            self.rows.iter().map(|row| row[at].as_str()).filter(|id| is_random(id)).collect();
        ids.sort_unstable();
        ids.dedup();
        let shared = |pair: &[&str]| pair[0].chars().zip(pair[1].chars()).take_while(|(a, b)| a == b).count();
        ids.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or(0).max(ID_CHARS_MIN)
    }

    /// The columns that carry information.
    fn informative(&self, cells: &[Vec<String>]) -> Vec<usize> {
        let tells = |at: &usize| {
            let is_used = cells.iter().any(|row| !row[*at].is_empty());
            let is_constant = cells.len() > 1 && cells.iter().all(|row| row[*at] == cells[0][*at]);
            is_used && !(is_constant && self.columns[*at].1 == Layout::Spare)
        };
        (0..self.columns.len()).filter(tells).collect()
    }

    /// How wide these columns are, when each text has at least so many columns.
    fn needed(&self, cells: &[Vec<String>], places: &[usize], least: usize) -> usize {
        let width = |at: &usize| {
            let (heading, layout) = &self.columns[*at];
            let widest = cells.iter().map(|row| fit::width(&row[*at])).chain([fit::width(heading)]).max();
            let widest = widest.unwrap_or_default();
            if *layout == Layout::Flexible { widest.min(least) } else { widest }
        };
        places.iter().map(|at| width(at) + FRAME).sum::<usize>() + 1
    }

    /// Each row as lines of its fields, with a blank line between two rows.
    fn listed(&self, cells: &[Vec<String>], places: &[usize], columns: usize) -> String {
        let heading = |at: &usize| self.columns[*at].0.as_str();
        let width = places.iter().map(|at| fit::width(heading(at))).max().unwrap_or_default();
        let mut out = String::new();
        for (number, row) in cells.iter().enumerate() {
            if number > 0 {
                out.push('\n');
            }
            for at in places.iter().filter(|at| !row[**at].is_empty()) {
                let first = format!("{}  ", fit::pad(heading(at), width));
                out += &folded(&first, &row[*at], width + 2, columns);
            }
        }
        out
    }
}

/// A value after its name, wrapped at the terminal's width between words, or within a word that is too long. Further
/// lines are indented.
pub fn folded(first: &str, value: &str, indent: usize, columns: usize) -> String {
    let mut lines = vec![first.to_owned()];
    let mut is_begun = false;
    for word in value.split(' ') {
        let last = lines.last().map_or(0, |line| fit::width(line));
        if last + usize::from(is_begun) + fit::width(word) > columns && last > indent {
            lines.push(" ".repeat(indent));
        } else if let Some(line) = lines.last_mut().filter(|_| is_begun) {
            line.push(' ');
        }
        for c in word.chars() {
            let mut own = [0; 4];
            let wide = fit::width(c.encode_utf8(&mut own));
            match lines.last_mut() {
                Some(line) if fit::width(line) + wide <= columns => line.push(c),
                _ => lines.push(format!("{}{c}", " ".repeat(indent))),
            }
        }
        is_begun = true;
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Whether an id begins with random characters, as those of memories and UUIDs do. Other ids begin with a name or a
/// date, which many share (`cerebro-cli-2026-11-24-…`).
fn is_random(id: &str) -> bool {
    let first = id.split(['-', '_']).next().unwrap_or_default();
    first.len() == id.len() || first.len() == 8 && first.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn cell(shown: &str, layout: Layout) -> Drawn {
    let drawn = Drawn::new(shown);
    if layout == Layout::Count { drawn.set_alignment(CellAlignment::Right) } else { drawn }
}

/// The text on one line, without characters that could steer a terminal.
fn one_line(value: &str) -> String {
    text::one_line(&text::strip_hidden(value))
}

/// A value of an answer in a form for people. It may still contain control characters: tables, facts and texts remove
/// those when they are written (`output`).
pub trait Shown {
    /// Nothing for a missing value and `false`, lists with commas.
    fn shown(&self) -> String;
}

/// A value as people read it.
pub fn shown(value: &(impl Shown + ?Sized)) -> String {
    value.shown()
}

impl Shown for Value {
    fn shown(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(is) => is.shown(),
            Self::String(text) => text.clone(),
            Self::Array(items) => items.shown(),
            other => other.to_string(),
        }
    }
}

impl Shown for bool {
    fn shown(&self) -> String {
        if *self { "yes".to_owned() } else { String::new() }
    }
}

impl Shown for f64 {
    fn shown(&self) -> String {
        Value::from(*self).shown()
    }
}

impl Shown for Text {
    fn shown(&self) -> String {
        self.raw().to_owned()
    }
}

impl<T: Shown + ?Sized> Shown for &T {
    fn shown(&self) -> String {
        (**self).shown()
    }
}

impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> String {
        self.as_ref().map(Shown::shown).unwrap_or_default()
    }
}

impl<T: Shown> Shown for [T] {
    fn shown(&self) -> String {
        self.iter().map(Shown::shown).collect::<Vec<_>>().join(", ")
    }
}

impl<T: Shown> Shown for Vec<T> {
    fn shown(&self) -> String {
        self.as_slice().shown()
    }
}

/// Values that people read as they are displayed.
macro_rules! displayed {
    ($($of:ty),+) => {
        $(impl Shown for $of {
            fn shown(&self) -> String {
                self.to_string()
            }
        })+
    };
}

displayed!(str, String, u32, u64, i64, usize);

/// A moment in RFC 3339 as local date and time; any other text as it is.
pub fn moment(value: &str, zone: &TimeZone) -> String {
    match value.parse::<Timestamp>() {
        Ok(at) => at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => value.to_owned(),
    }
}

/// How long before `now` a moment in RFC 3339 was, in its largest unit; its local date if it is long ago or in the
/// future. Any other text is returned unchanged.
pub fn age(value: &str, now: Timestamp, zone: &TimeZone) -> String {
    let Ok(at) = value.parse::<Timestamp>() else { return value.to_owned() };
    let seconds = now.duration_since(at).as_secs();
    match seconds {
        0..60 => "now".to_owned(),
        60..2_592_000 => format!("{} ago", span(seconds.unsigned_abs())),
        _ => at.to_zoned(zone.clone()).strftime("%Y-%m-%d").to_string(),
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

/// A time in milliseconds with one digit after the point, for tables and scripts.
pub fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

/// A number of milliseconds as people say it.
pub fn milliseconds(value: Option<u64>) -> String {
    match value {
        Some(ms) if ms < 10_000 => format!("{ms} ms"),
        Some(ms) => duration(ms / 1_000),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::screen::tests::screen;
    use super::*;

    const COLUMNS: &[(&str, Layout)] = &[
        ("id", Layout::Fixed),
        ("when", Layout::Moment),
        ("n", Layout::Count),
        ("note", Layout::Fixed),
        ("title", Layout::Flexible),
    ];

    fn table() -> Table {
        let long = "Long\t語 \u{1b}[31mwords\nand more of them";
        let rows = [
            ["abcdefghij27", "2026-11-21T23:30:00Z", "7", "", "Short"],
            ["bbcdefghij27", "never", "1234", "", long],
        ];
        Table::listing(COLUMNS, &rows, |row| row.map(str::to_owned).to_vec())
    }

    #[test]
    fn plain_lines_have_every_column_and_no_frame() {
        assert_eq!(
            table().plain(),
            "abcdefghij27\t2026-11-21T23:30:00Z\t7\t\tShort\n\
             bbcdefghij27\tnever\t1234\t\tLong 語 [31mwords and more of them\n"
        );
        assert_eq!(Table::new(COLUMNS).plain(), "");
    }

    #[test]
    fn a_table_of_which_one_column_is_left_is_a_list() {
        let columns = &[("id", Layout::Fixed), ("began", Layout::Ago), ("agent", Layout::Spare)];
        let rows = [
            ["cerebro-cli-2026-11-26-1d04f5ae", "2026-11-21T23:30:00Z", "codex"],
            ["cerebro-cli-2026-11-27-1d04f5ae", "2026-11-21T23:30:00Z", "zed"],
        ];
        let table = Table::listing(columns, &rows, |row| row.map(str::to_owned).to_vec());
        let drawn = table.drawn(&screen(40));
        assert!(
            drawn.contains("id     cerebro-cli-2026-11-27-1d04f5ae\n") && drawn.contains("agent  zed\n"),
            "{drawn}"
        );
        assert!(table.drawn(&screen(80)).contains('┌'));
    }

    #[test]
    fn a_drawn_table_fits_and_keeps_its_ids_whole() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let drawn = table().drawn(&Screen { zone, ..screen(60) });
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
    fn what_has_no_room_is_spared_and_then_listed() {
        let columns = &[
            ("id", Layout::Id),
            ("written", Layout::Ago),
            ("type", Layout::Spare),
            ("project", Layout::Spare),
            ("title", Layout::Flexible),
        ];
        let mut table = Table::new(columns);
        for (id, kind) in [("aaaaaaaaaaaa", "decision"), ("aaaaaaaabaaa", "bugfix")] {
            let title = "A title that takes all of the room there is";
            table.add([id, "2026-11-22T09:59:30Z", kind, "demo", title].map(str::to_owned).to_vec());
        }
        for (width, shown, hidden) in [
            (120, "aaaaaaaaaaaa now written decision", "demo"),
            (80, "aaaaaaaab now decision", "demo"),
            (60, "aaaaaaaab now", "decision demo"),
            (40, "aaaaaaaaa aaaaaaaab", "decision now"),
            (15, "title  A title\n       that", "│ now"),
        ] {
            let drawn = table.drawn(&screen(width));
            if width > 15 {
                assert!(shown.split(' ').all(|word| drawn.contains(word)), "{width}: {drawn}");
                assert!(drawn.lines().all(|line| fit::width(line) <= width), "{width}: {drawn}");
            } else {
                assert!(drawn.contains(shown), "{width}: {drawn}");
            }
            assert!(hidden.split(' ').all(|word| !drawn.contains(word)), "{width}: {drawn}");
        }
    }

    #[test]
    fn an_id_that_begins_with_a_name_is_shown_whole() {
        let mut table = Table::new(&[("id", Layout::Id), ("title", Layout::Flexible)]);
        for id in ["cerebro-cli-2026-11-24-k3f9", "4f0c2b1e-8a57-4d31-9b0e-5c1f6a7d8e90"] {
            table.add(vec![id.to_owned(), "Title".to_owned()]);
        }
        let drawn = table.drawn(&screen(80));
        assert!(drawn.contains(" cerebro-cli-2026-11-24-k3f9 "), "{drawn}");
        assert!(drawn.contains(" 4f0c2b1 "), "{drawn}");
    }

    #[test]
    fn ages_are_in_their_largest_unit() {
        let (now, zone) = ("2026-11-22T10:00:00Z".parse().unwrap(), TimeZone::UTC);
        for (at, want) in [
            ("2026-11-22T09:59:01Z", "now"),
            ("2026-11-22T09:59:00Z", "1 min ago"),
            ("2026-11-21T10:00:01Z", "23 h ago"),
            ("2026-11-21T10:00:00Z", "1 d ago"),
            ("2026-10-24T10:00:00Z", "29 d ago"),
            ("2026-10-23T10:00:00Z", "2026-10-23"),
            ("2026-11-22T10:00:01Z", "2026-11-22"),
            ("never", "never"),
        ] {
            assert_eq!(age(at, now, &zone), want, "{at}");
        }
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
    }
}
