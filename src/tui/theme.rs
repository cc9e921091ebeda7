//! How things look: the terminal's own colours, or none.
//!
//! There are no fixed colours, so light and dark terminals use their own settings. Without colour, the same things
//! are shown by bold, reverse and marks.

use ratatui::style::{Color, Modifier, Style};

/// The styles of everything that is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Whether colours are shown.
    pub colour: bool,
}

impl Theme {
    fn coloured(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// Ordinary text.
    pub fn plain(self) -> Style {
        Style::new()
    }

    /// Secondary text: labels, rules, dates.
    pub fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What matters in its place: titles, numbers.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What is active: the current screen, the focused heading, keys.
    pub fn accent(self) -> Style {
        self.coloured(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// Bars and lines of drawings.
    pub fn bar(self) -> Style {
        self.coloured(Color::Cyan)
    }

    /// Code within text.
    pub fn code(self) -> Style {
        self.coloured(Color::Green)
    }

    /// What is well.
    pub fn good(self) -> Style {
        self.coloured(Color::Green)
    }

    /// What needs a look.
    pub fn warning(self) -> Style {
        self.coloured(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// What failed.
    pub fn bad(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// The chosen line of a list; `focused` when keys go there.
    pub fn chosen(self, focused: bool) -> Style {
        let modifier = if focused { Modifier::REVERSED | Modifier::BOLD } else { Modifier::BOLD };
        Style::new().add_modifier(modifier)
    }

    /// The type of a memory.
    pub fn kind(self, kind: &str) -> Style {
        match kind {
            "bugfix" => self.coloured(Color::Red),
            "decision" | "architecture" => self.coloured(Color::Magenta),
            "pattern" | "config" | "concept" => self.coloured(Color::Blue),
            "discovery" | "learning" => self.coloured(Color::Green),
            "preference" => self.coloured(Color::Yellow),
            _ => self.dim(),
        }
    }

    /// One of a few distinct colours, for lanes and agents.
    pub fn lane(self, number: usize) -> Style {
        const COLOURS: [Color; 5] = [Color::Cyan, Color::Magenta, Color::Green, Color::Yellow, Color::Blue];
        self.coloured(COLOURS[number % COLOURS.len()])
    }
}
