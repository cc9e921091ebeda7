//! The styles: in the terminal's own colours, or without colours.
//!
//! There are no fixed colours, so light and dark terminals use their own settings. Without colours, bold and reverse
//! text and marks show the same.

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

    /// Titles and numbers.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Active elements: the current screen, the focused heading, keys.
    pub fn accent(self) -> Style {
        self.coloured(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// Bars and lines in drawings.
    pub fn bar(self) -> Style {
        self.coloured(Color::Cyan)
    }

    /// Code in a text.
    pub fn code(self) -> Style {
        self.coloured(Color::Green)
    }

    /// Good states.
    pub fn good(self) -> Style {
        self.coloured(Color::Green)
    }

    /// States that need attention.
    pub fn warning(self) -> Style {
        self.coloured(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// Failures.
    pub fn bad(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// The chosen line of a list. `focused` means that keys go there.
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
