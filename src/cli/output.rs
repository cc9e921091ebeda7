//! The only place that writes to the standard streams.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use super::error::{Error, Result};
use super::screen::Screen;
use super::table::{self, Shown, Table};
use cerebro_core::text;

/// Where a command's results go, and in what form.
///
/// A command says its result in both forms: for programs with [`Output::json`], and for people with the other methods.
/// With `--json`, what is for people is left out; without it, what is for programs.
#[derive(Debug)]
pub struct Output {
    json: bool,
    /// The terminal at standard output, if one is there.
    screen: Option<Screen>,
}

impl Output {
    /// Results as JSON if asked for; else as tables or plain lines, as standard output is a
    /// terminal or not.
    pub fn new(json: bool) -> Self {
        Self { json, screen: Screen::at_hand() }
    }

    /// Writes an answer as JSON if that was asked for. Returns whether it was, for a command that has more to do for people
    /// than to write.
    pub fn json(&self, value: &Value) -> Result<bool> {
        if !self.json {
            return Ok(false);
        }
        let text = if self.is_terminal() { format!("{value:#}\n") } else { format!("{value}\n") };
        self.write(&text)?;
        Ok(true)
    }

    /// Writes a table. If it is empty, writes `nothing` to standard error instead, unless that is empty too.
    pub fn table(&self, table: &Table, nothing: &str) -> Result<()> {
        if table.is_empty() {
            if !nothing.is_empty() {
                self.note(nothing);
            }
            return Ok(());
        }
        self.write_for_people(|| {
            self.screen.as_ref().map_or_else(|| table.plain(), |screen| table.drawn(screen))
        })
    }

    /// Writes facts, one per line, and leaves out those without a value. Off a terminal, a tab separates name and
    /// value.
    pub fn facts(&self, facts: &[(&str, String)]) -> Result<()> {
        self.write_for_people(|| fact_lines(facts, self.screen.as_ref().map(|screen| screen.width)))
    }

    /// A moment as facts show it.
    pub fn moment(&self, value: &(impl Shown + ?Sized)) -> String {
        let value = table::shown(value);
        self.screen.as_ref().map_or_else(|| value.clone(), |screen| screen.moment(&value))
    }

    /// Writes a text that ends with a line end; a terminal is kept from characters that steer it.
    pub fn text(&self, text: &str) -> Result<()> {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.write_for_people(|| {
            if self.is_terminal() {
                format!("{}{end}", text::strip_hidden(text))
            } else {
                format!("{text}{end}")
            }
        })
    }

    /// Writes what was done to a memory: a sentence on a terminal, id and outcome elsewhere.
    pub fn outcome(&self, id: &str, outcome: &str, detail: &str) -> Result<()> {
        if self.is_terminal() {
            self.text(&format!("{outcome} {id}{detail}"))
        } else {
            self.write_for_people(|| format!("{id}\t{outcome}\n"))
        }
    }

    fn write_for_people(&self, text: impl FnOnce() -> String) -> Result<()> {
        if self.json { Ok(()) } else { self.write(&text()) }
    }

    /// Writes bytes as they are, with `--json` too: a script, or the lines of an export. A reader that has gone is an
    /// error without words.
    pub fn write(&self, text: &str) -> Result<()> {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        written.map_err(|error| Error::stream("standard output", &error))
    }

    /// Writes a remark to standard error. With `--json` it is left out, because the result contains everything.
    pub fn note(&self, words: &str) {
        if !self.json {
            say(&format!("{}\n", text::strip_hidden(words)));
        }
    }

    /// Says several things beside the result.
    pub fn notes(&self, all: &[String]) {
        for words in all {
            self.note(words);
        }
    }

    /// Writes a warning to standard error, with `--json` too.
    pub fn warn(&self, words: &str) {
        say(&format!("warning: {}\n", text::strip_hidden(words)));
    }

    /// Says why the command failed, on standard error.
    pub fn error(&self, error: &Error) {
        if let Some(lines) = error.lines() {
            say(&text::strip_hidden(&lines));
        }
    }

    /// Whether a question that is no part of the command can be asked: a person is there, and reads words.
    pub fn can_ask(&self) -> bool {
        !self.json && Self::has_person()
    }

    fn has_person() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Asks for a yes. Fails without a terminal to answer on.
    pub fn confirm(&self, question: &str) -> Result<bool> {
        if !Self::has_person() {
            return Err(Error::usage(
                "the command asks first, and there is no terminal for the answer; nothing was done",
            )
            .hint(format!("`--yes` answers yes to: {question}")));
        }
        say(&prompt(question, self.screen.as_ref().map(|screen| screen.width)));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).map_err(|error| Error::stream("standard input", &error))?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Asks for a yes, unless `yes` was given. A no ends the command: `nothing` says what was not done.
    pub fn agree(&self, yes: bool, question: &str, nothing: &str) -> Result<()> {
        if yes || self.confirm(question)? {
            return Ok(());
        }
        self.note(nothing);
        Err(Error::reported())
    }

    /// A moving line on standard error, hidden when that is no terminal or shows the result itself.
    /// `{pos}` in the template counts; `total` makes it a bar.
    pub fn progress(&self, total: Option<u64>, template: &str) -> ProgressBar {
        let target = if self.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
        ProgressBar::with_draw_target(total, target).with_style(style)
    }

    /// Whether results are to be JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.screen.is_some()
    }

    /// The terminal at standard output, if results are drawn on one.
    pub fn screen(&self) -> Option<&Screen> {
        self.screen.as_ref()
    }
}

/// The narrowest column for values beside their names, and the indent of values on narrower terminals.
const VALUE_COLUMNS_MIN: usize = 16;
const NARROW_INDENT: usize = 2;
/// Columns for the answer behind a question: a blank and a letter.
const ANSWER_COLUMNS: usize = 2;

/// Writes to standard error. A failure is ignored: there is no other place to report it.
fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// A question as it is asked, wrapped between words at the terminal's width. The answer is typed behind it.
fn prompt(question: &str, columns: Option<usize>) -> String {
    let question = format!("{} [y/N]", text::strip_hidden(question));
    let Some(columns) = columns else { return format!("{question} ") };
    let fold = |line: &str| table::folded("", line, 0, columns.saturating_sub(ANSWER_COLUMNS));
    format!("{} ", question.lines().map(fold).collect::<String>().trim_end())
}

/// Names and values, one per line. Values are wrapped at `columns` on a terminal; elsewhere a tab precedes them.
pub fn fact_lines(facts: &[(&str, String)], columns: Option<usize>) -> String {
    let shown = || facts.iter().filter(|(_, value)| !value.is_empty());
    let widest = shown().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let line = |(name, value): &(&str, String)| {
        let value = text::one_line(&text::strip_hidden(value));
        let Some(columns) = columns else { return format!("{name}\t{value}\n") };
        let begin = widest + 3;
        // On a narrow terminal, values are not aligned.
        let (first, indent) = if columns >= begin + VALUE_COLUMNS_MIN {
            (format!("{:<begin$}", format!("{name}:")), begin)
        } else {
            (format!("{name}: "), NARROW_INDENT)
        };
        table::folded(&first, &value, indent, columns)
    };
    shown().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_aligned_for_people_and_tabbed_for_scripts() {
        let facts = [("id", "x".to_owned()), ("none", String::new()), ("topic key", "a\nb".to_owned())];
        assert_eq!(fact_lines(&facts, Some(80)), "id:         x\ntopic key:  a b\n");
        assert_eq!(fact_lines(&facts, None), "id\tx\ntopic key\ta b\n");
        assert_eq!(fact_lines(&[], Some(80)), "");
    }

    #[test]
    fn a_question_is_wrapped_between_words() {
        let question = "Import these sessions? Agents can search them.";
        assert_eq!(prompt(question, None), format!("{question} [y/N] "));
        assert_eq!(
            prompt(question, Some(33)),
            "Import these sessions? Agents\ncan search them. [y/N] ",
            "`can` would just fit, but not the answer"
        );
        assert_eq!(prompt("Two\nlines?", Some(80)), "Two\nlines? [y/N] ");
    }

    #[test]
    fn a_long_fact_goes_on_below_itself() {
        let facts = [("id", "x".to_owned()), ("title", "one two three four five".to_owned())];
        assert_eq!(fact_lines(&facts, Some(25)), "id:     x\ntitle:  one two three\n        four five\n");
        assert_eq!(fact_lines(&facts, Some(16)), "id: x\ntitle: one two\n  three four\n  five\n");
    }
}
