//! Renders Markdown as lines of a terminal: headings, lists, code, quotes, emphasis. Line breaks in the text stay,
//! because memories are often notes rather than prose.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::fit;
use super::theme::Theme;

/// The text as lines of at most `columns` columns.
pub fn render(text: &str, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let text = fit::clean(text);
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES;
    let mut page = Page::new(columns.max(8), theme);
    for event in Parser::new_ext(&text, options) {
        page.take(event);
    }
    page.flush();
    while page.lines.last().is_some_and(is_blank) {
        page.lines.pop();
    }
    page.lines
}

fn is_blank(line: &Line<'_>) -> bool {
    line.spans.iter().all(|span| span.content.trim().is_empty())
}

/// The prefix of a block's lines: a mark for the first, blanks or a bar for the others.
struct Lead {
    first: Span<'static>,
    rest: Span<'static>,
    fresh: bool,
}

struct Page {
    columns: usize,
    theme: Theme,
    lines: Vec<Line<'static>>,
    /// The spans of the current block.
    spans: Vec<(String, Style)>,
    styles: Vec<Style>,
    leads: Vec<Lead>,
    /// The number of open blocks inside those that are too deep for a prefix of their own. A text may nest as many blocks as
    /// it has characters.
    too_deep: usize,
    /// The next number of each open list; `None` for a list with bullets.
    lists: Vec<Option<u64>>,
    code: bool,
}

impl Page {
    fn new(columns: usize, theme: Theme) -> Self {
        Self {
            columns,
            theme,
            lines: Vec::new(),
            spans: Vec::new(),
            styles: vec![Style::new()],
            leads: Vec::new(),
            too_deep: 0,
            lists: Vec::new(),
            code: false,
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push_style(&mut self, style: Style) {
        self.styles.push(self.style().patch(style));
    }

    fn pop_style(&mut self) {
        if self.styles.len() > 1 {
            self.styles.pop();
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code => self.code_lines(&text),
            Event::Text(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => {
                self.text(&text);
            }
            Event::Html(text) => {
                text.lines().for_each(|line| {
                    self.text(line);
                    self.flush();
                });
            }
            Event::Code(text) => {
                let style = self.style().patch(self.theme.code());
                self.spans.push((text.into_string(), style));
            }
            Event::SoftBreak | Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                let rule = "─".repeat(self.columns.min(40));
                self.lines.push(Line::styled(rule, self.theme.dim()));
            }
            Event::TaskListMarker(done) => self.text(if done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
        }
    }

    fn text(&mut self, text: &str) {
        let style = self.style();
        self.spans.push((text.to_owned(), style));
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.paragraph_gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                let underline =
                    if level == HeadingLevel::H1 { Modifier::UNDERLINED } else { Modifier::empty() };
                self.push_style(self.theme.accent().add_modifier(underline));
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.lead(Span::styled("▏ ", self.theme.dim()), Span::styled("▏ ", self.theme.dim()));
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.lines.push(Line::styled(format!("▏ {language}"), self.theme.dim()));
                }
                self.code = true;
            }
            Tag::List(start) => {
                self.flush();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(start);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => self.gap(),
            Tag::Emphasis => self.push_style(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::TableHead | Tag::Strong => self.push_style(self.theme.strong()),
            Tag::Strikethrough => self.push_style(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { .. } | Tag::Image { .. } => {
                self.push_style(Style::new().add_modifier(Modifier::UNDERLINED));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::TableRow => self.flush(),
            TagEnd::Heading(_) | TagEnd::TableHead => {
                self.flush();
                self.pop_style();
            }
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.flush();
                match self.too_deep.checked_sub(1) {
                    Some(left) => self.too_deep = left,
                    None => drop(self.leads.pop()),
                }
            }
            TagEnd::CodeBlock => self.code = false,
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::TableCell => self.text("  "),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image => {
                self.pop_style();
            }
            _ => {}
        }
    }

    fn item(&mut self) {
        self.flush();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        let blanks = " ".repeat(fit::width(&mark));
        self.lead(Span::styled(mark, self.theme.accent()), Span::raw(blanks));
    }

    fn lead(&mut self, first: Span<'static>, rest: Span<'static>) {
        let used: usize = self.leads.iter().map(|lead| fit::width(&lead.rest.content)).sum();
        if self.too_deep > 0 || used > self.columns / 2 {
            self.too_deep += 1;
        } else {
            self.leads.push(Lead { first, rest, fresh: true });
        }
    }

    /// Adds an empty line between blocks, but not at the start.
    fn gap(&mut self) {
        self.flush();
        if self.lists.is_empty() && self.lines.last().is_some_and(|line| !is_blank(line)) {
            self.lines.push(Line::default());
        }
    }

    /// Adds the gap before a paragraph. The first paragraph of an item or a quote has none.
    fn paragraph_gap(&mut self) {
        if self.leads.last().is_none_or(|lead| !lead.fresh) {
            self.gap();
        }
    }

    fn code_lines(&mut self, text: &str) {
        let bar = [Span::styled("▏ ", self.theme.dim())];
        let style = self.theme.code();
        for line in text.lines() {
            let spans = [(line.to_owned(), style)];
            self.lines.extend(fit::wrap(&spans, self.columns, &bar, &bar));
        }
    }

    /// Ends the current line.
    fn flush(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        let first: Vec<Span<'static>> = self
            .leads
            .iter_mut()
            .map(|lead| if std::mem::take(&mut lead.fresh) { lead.first.clone() } else { lead.rest.clone() })
            .collect();
        let rest: Vec<Span<'static>> = self.leads.iter().map(|lead| lead.rest.clone()).collect();
        self.lines.extend(fit::wrap(&spans, self.columns, &first, &rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, columns: usize) -> Vec<String> {
        render(text, columns, Theme { colour: true }).iter().map(Line::to_string).collect()
    }

    #[test]
    fn blocks_are_distinguished() {
        let text = "# Head\nWhat: x\nWhy: y\n\n- one\n- two words more\n  - deep\n\n1. first\n2. second\n\n> said\n\n\
                    ```rust\nlet x = 1;\n```\n\n---\nend `code` **bold**";
        assert_eq!(
            shown(text, 12),
            [
                "Head",
                "",
                "What: x",
                "Why: y",
                "",
                "• one",
                "• two words",
                "  more",
                "  • deep",
                "",
                "1. first",
                "2. second",
                "",
                "▏ said",
                "",
                "▏ rust",
                "▏ let x = 1;",
                "",
                "────────────",
                "",
                "end code",
                "bold",
            ]
        );
    }

    #[test]
    fn styles_distinguish_headings_code_and_emphasis() {
        let theme = Theme { colour: true };
        let lines = render("## H\n`c` **b** *i*", 40, theme);
        assert!(lines[0].spans[0].style.add_modifier.contains(Modifier::BOLD));
        let styles: Vec<Style> = lines[2].spans.iter().map(|span| span.style).collect();
        assert_eq!(styles[0].fg, theme.code().fg);
        assert!(styles.iter().any(|style| style.add_modifier.contains(Modifier::BOLD)));
        assert!(styles.iter().any(|style| style.add_modifier.contains(Modifier::ITALIC)));
    }

    #[test]
    fn stored_escapes_never_reach_the_terminal() {
        for line in shown("a\u{1b}[2Jb\n\n```\n\u{9b}31m\u{7}\n```\n- \u{1b}]0;x\u{7}", 40) {
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }

    #[test]
    fn a_text_of_nothing_but_quotes_is_shown_at_once() {
        let begun = std::time::Instant::now();
        for deep in [">".repeat(100_000), "- ".repeat(50_000)] {
            let text = format!("{deep} {}\n\nback", "word ".repeat(20_000));
            let lines = render(&text, 40, Theme { colour: false });
            assert!(lines.len() > 1_000 && lines.iter().all(|line| line.spans.len() < 40));
            assert_eq!(lines.last().unwrap().to_string(), "back");
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_page(text in "[#>*`\\-\\[\\]()0-9. |\n\ta-z日e\u{301}\u{1b}]{0,200}", columns in 1_usize..60) {
            for line in shown(&text, columns) {
                proptest::prop_assert!(fit::width(&line) <= columns.max(8) + 16, "{line:?}");
            }
        }
    }
}
