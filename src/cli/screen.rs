//! The properties of a terminal, for everything that is drawn on one.

use std::env;
use std::io::{self, IsTerminal};

use jiff::tz::TimeZone;

use super::table::{age, moment};
use cerebro_core::domain::Timestamp;

/// The width assumed for a terminal that reports 0, as some pseudo-terminals do.
const WIDTH_UNKNOWN: u16 = 80;
/// Below this width ids are shown by their beginnings.
const WIDE: usize = 100;

/// What a terminal is like.
#[derive(Debug, Clone)]
pub struct Screen {
    /// Its columns.
    pub width: usize,
    /// Whether it shows colours.
    pub colour: bool,
    /// The zone of the moments that it shows.
    pub zone: TimeZone,
    /// When it is drawn on.
    pub now: Timestamp,
}

impl Screen {
    /// The one at standard output; none if that is a file or a pipe.
    pub fn at_hand() -> Option<Self> {
        if !io::stdout().is_terminal() {
            return None;
        }
        let width = comfy_table::Table::new().width().filter(|width| *width > 0).unwrap_or(WIDTH_UNKNOWN);
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let colour = !is_set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb");
        Some(Self { width: usize::from(width), colour, zone: TimeZone::system(), now: Timestamp::now() })
    }

    /// Whether whole ids have room beside what they name.
    pub fn is_wide(&self) -> bool {
        self.width >= WIDE
    }

    /// How long ago a moment in RFC 3339 was; any other text as it is.
    pub fn age(&self, value: &str) -> String {
        age(value, self.now, &self.zone)
    }

    /// A moment in RFC 3339 as local date and time; any other text as it is.
    pub fn moment(&self, value: &str) -> String {
        moment(value, &self.zone)
    }

    /// The text in a style, if the terminal has styles.
    pub fn styled(&self, style: Style, text: &str) -> String {
        if self.colour { format!("\u{1b}[{}m{text}\u{1b}[0m", style.code()) } else { text.to_owned() }
    }
}

/// How a text is highlighted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// The name of a thing.
    Title,
    /// What is not read first.
    Faint,
    /// A match of the query.
    Match,
    /// What is typed to get the thing.
    Id,
}

impl Style {
    /// The parameters of the escape sequence, of the eight colours that every terminal has.
    fn code(self) -> &'static str {
        match self {
            Self::Title => "1",
            Self::Faint => "2",
            Self::Match => "1;33",
            Self::Id => "36",
        }
    }
}

#[cfg(test)]
pub mod tests {
    use std::path::Path;

    use super::*;

    /// A terminal without colours, on a day that does not pass.
    pub fn screen(width: usize) -> Screen {
        let now = "2026-11-22T10:00:00Z".parse().unwrap_or(Timestamp::UNIX_EPOCH);
        Screen { width, colour: false, zone: TimeZone::UTC, now }
    }

    /// Compares what was drawn with a file of `tests/golden/cli`; with `CEREBRO_BLESS` set the file is written.
    pub fn compare(name: &str, drawn: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cli").join(format!("{name}.txt"));
        if env::var_os("CEREBRO_BLESS").is_some() {
            std::fs::write(&path, drawn).unwrap();
        }
        let wanted = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(drawn, wanted, "{name}: CEREBRO_BLESS=1 writes {}", path.display());
    }

    #[test]
    fn colours_are_left_out_where_there_are_none() {
        let plain = screen(80);
        assert_eq!(plain.styled(Style::Match, "x"), "x");
        let colourful = Screen { colour: true, ..plain };
        assert_eq!(colourful.styled(Style::Match, "x"), "\u{1b}[1;33mx\u{1b}[0m");
    }
}
