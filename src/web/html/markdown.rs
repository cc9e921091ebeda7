//! Renders a memory's Markdown as HTML, with a small set of elements.
//!
//! Every text is escaped, including HTML, which is shown as text. Only links to the web and to mail addresses are
//! rendered as links. A picture becomes a link, so that reading a memory contacts no other host. Headings never skip a
//! level.

use std::fmt::Write as _;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::view;
use cerebro_core::text as plain;

/// How many lists and quotations inside each other are indented. Beyond, a narrow window would have no room for words.
const INDENTED_MAX: usize = 6;

/// HTML that can be put into a page unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markup(String);

impl std::fmt::Display for Markup {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

/// Renders a text. `level` is that of the heading above it.
pub fn render(text: &str, level: u8) -> Markup {
    let text = view::clean(text);
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES;
    let mut page = Page { out: String::with_capacity(2 * text.len()), level, ..Page::default() };
    for event in Parser::new_ext(&text, options) {
        page.take(event);
    }
    Markup(page.out)
}

/// Renders as much of the text as takes at most `most` bytes of HTML. Also returns whether the text was cut.
pub fn render_within(text: &str, level: u8, most: usize) -> (Markup, bool) {
    let mut shown = text;
    loop {
        let html = render(shown, level);
        let bytes = html.0.len();
        if bytes <= most {
            return (html, shown.len() < text.len());
        }
        // The rest may take more per byte; slightly less than its share converges sooner.
        let kept = shown.len() * most / bytes * 9 / 10;
        shown = plain::cut_bytes(shown, kept.min(shown.len() - 1));
    }
}

/// Writes a text with all HTML escaped.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

/// Whether a link is allowed: only one to the web or to a mail address.
fn leads_out(url: &str) -> bool {
    let url = url.trim_start().to_ascii_lowercase();
    ["https://", "http://", "mailto:"].iter().any(|scheme| url.starts_with(scheme))
}

/// The page under construction.
#[derive(Default)]
struct Page {
    out: String,
    /// The level of the last heading.
    level: u8,
    /// The levels of the headings that are open.
    headings: Vec<u8>,
    /// For each open link, whether it was rendered as a link.
    links: Vec<bool>,
    /// How many lists and quotations are open.
    nested: usize,
    /// The alignment of the open table's columns, and the index of the next cell.
    columns: Vec<Alignment>,
    cell: usize,
    is_head: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => escape(&mut self.out, &text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.out.push_str("<code>");
                escape(&mut self.out, &text);
                self.out.push_str("</code>");
            }
            // A memory is a note rather than prose, so its line breaks are kept.
            Event::SoftBreak | Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::TaskListMarker(done) => self.task(done),
            Event::FootnoteReference(name) => escape(&mut self.out, &name),
        }
    }

    /// Replaces the bullet of an item with a check box.
    fn task(&mut self, done: bool) {
        const ITEM: &str = "<li>";
        if self.out.ends_with(ITEM) {
            self.out.truncate(self.out.len() - ITEM.len());
            self.out.push_str("<li class=\"task\">");
        }
        self.out.push_str(if done { "☑ " } else { "☐ " });
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.out.push_str("<p>"),
            Tag::Heading { level, .. } => self.begin_heading(level),
            Tag::BlockQuote(_) => self.begin_nested("blockquote", 1),
            Tag::CodeBlock(kind) => self.begin_code(&kind),
            Tag::List(None) => self.begin_nested("ul", 1),
            Tag::List(Some(first)) => self.begin_nested("ol", first),
            Tag::Item => self.out.push_str("<li>"),
            Tag::Emphasis => self.out.push_str("<em>"),
            Tag::Strong => self.out.push_str("<strong>"),
            Tag::Strikethrough => self.out.push_str("<del>"),
            Tag::Link { dest_url, .. } => self.begin_link(&dest_url, ""),
            Tag::Image { dest_url, .. } => self.begin_link(&dest_url, "picture: "),
            Tag::Table(columns) => {
                self.columns = columns;
                self.out.push_str(
                    "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table>\n",
                );
            }
            Tag::TableHead => {
                (self.is_head, self.cell) = (true, 0);
                self.out.push_str("<thead><tr>");
            }
            Tag::TableRow => {
                self.cell = 0;
                self.out.push_str("<tr>");
            }
            Tag::TableCell => self.begin_cell(),
            // The others belong to options that are not enabled.
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.out.push_str("</p>\n"),
            TagEnd::Heading(_) => {
                let level = self.headings.pop().unwrap_or(2);
                let _ = writeln!(self.out, "</h{level}>");
            }
            TagEnd::BlockQuote(_) => self.end_nested("blockquote"),
            TagEnd::CodeBlock => self.out.push_str("</code></pre>\n"),
            TagEnd::List(false) => self.end_nested("ul"),
            TagEnd::List(true) => self.end_nested("ol"),
            TagEnd::Item => self.out.push_str("</li>\n"),
            TagEnd::Emphasis => self.out.push_str("</em>"),
            TagEnd::Strong => self.out.push_str("</strong>"),
            TagEnd::Strikethrough => self.out.push_str("</del>"),
            TagEnd::Link | TagEnd::Image if self.links.pop() == Some(true) => self.out.push_str("</a>"),
            TagEnd::Table => self.out.push_str("</tbody></table></div>\n"),
            TagEnd::TableHead => {
                self.is_head = false;
                self.out.push_str("</tr></thead><tbody>\n");
            }
            TagEnd::TableRow => self.out.push_str("</tr>\n"),
            TagEnd::TableCell => self.out.push_str(if self.is_head { "</th>" } else { "</td>" }),
            _ => {}
        }
    }

    /// Begins a list, with the number of its first item, or a quotation.
    fn begin_nested(&mut self, name: &str, first: u64) {
        self.nested += 1;
        let class = if self.nested > INDENTED_MAX { " class=\"deep\"" } else { "" };
        let _ = match first {
            1 => writeln!(self.out, "<{name}{class}>"),
            first => writeln!(self.out, "<{name}{class} start=\"{first}\">"),
        };
    }

    fn end_nested(&mut self, name: &str) {
        self.nested = self.nested.saturating_sub(1);
        let _ = writeln!(self.out, "</{name}>");
    }

    /// Begins a heading. It is at most one level below the one before, whatever its level in the text.
    fn begin_heading(&mut self, level: HeadingLevel) {
        let wanted = level as u8 + 1;
        self.level = wanted.clamp(2, self.level.saturating_add(1).clamp(2, 6));
        self.headings.push(self.level);
        let _ = write!(self.out, "<h{}>", self.level);
    }

    fn begin_code(&mut self, kind: &CodeBlockKind<'_>) {
        let language = match kind {
            CodeBlockKind::Fenced(language) if !language.is_empty() => language.as_ref(),
            _ => "Code",
        };
        self.out.push_str("<pre tabindex=\"0\" role=\"group\" aria-label=\"");
        escape(&mut self.out, language);
        self.out.push_str("\"><code>");
    }

    /// Begins a link. A link inside a link, such as a picture, is not rendered as one.
    fn begin_link(&mut self, url: &str, before: &str) {
        let is_link = leads_out(url) && !self.links.contains(&true);
        self.links.push(is_link);
        if is_link {
            self.out.push_str("<a rel=\"noopener noreferrer\" href=\"");
            escape(&mut self.out, url.trim_start());
            self.out.push_str("\">");
        }
        self.out.push_str(before);
    }

    fn begin_cell(&mut self) {
        let class = match self.columns.get(self.cell) {
            Some(Alignment::Right) => " class=\"end\"",
            Some(Alignment::Center) => " class=\"middle\"",
            _ => "",
        };
        self.cell += 1;
        let name = if self.is_head { "th scope=\"col\"" } else { "td" };
        let _ = write!(self.out, "<{name}{class}>");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn html(text: &str) -> String {
        render(text, 1).to_string()
    }

    #[test]
    fn notes_are_shown_as_they_are_meant() {
        assert_eq!(
            html("a *b* **c** `d<e>`\nf"),
            "<p>a <em>b</em> <strong>c</strong> <code>d&lt;e&gt;</code><br>\nf</p>\n"
        );
        assert_eq!(html("3. x\n4. y"), "<ol start=\"3\">\n<li>x</li>\n<li>y</li>\n</ol>\n");
        assert_eq!(html("- [x] done"), "<ul>\n<li class=\"task\">☑ done</li>\n</ul>\n");
        assert!(html("| a | b |\n|---|--:|\n| 1 | 2 |").contains("<td>1</td><td class=\"end\">2</td>"));
    }

    #[test]
    fn html_is_text() {
        let attack =
            "<script>alert(1)</script>\n\nx <img src=x onerror=alert(1)> y\n\n<!-- c -->\n\n<p onclick='x'>";
        let shown = html(attack);
        for tag in ["<script", "<img", "<!--", "<p onclick"] {
            assert!(!shown.contains(tag), "{shown}");
        }
        assert!(shown.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{shown}");
    }

    #[test]
    fn links_lead_out_or_are_none() {
        for url in [
            "javascript:alert(1)", "JAVASCRIPT:x", "data:text/html,x", "/memories/x/delete", "file:///etc",
            "vbscript:x",
        ] {
            let shown = html(&format!("[text]({url}) ![alt]({url})"));
            assert!(!shown.contains("href"), "{shown}");
            assert!(shown.contains("text") && shown.contains("alt"), "{shown}");
        }
        let shown = html("[a](https://example.org/?x=\"&y) ![pic](http://example.org/p.png)");
        assert!(shown.contains("<a rel=\"noopener noreferrer\" href=\"https://example.org/"), "{shown}");
        assert!(shown.contains(">picture: pic</a>") && !shown.contains("<img"), "{shown}");
        let nested = html("[![pic](http://example.org/p.png)](http://example.org)");
        assert_eq!(nested.matches("<a ").count(), 1, "{nested}");
    }

    #[test]
    fn a_text_that_html_writes_longer_is_cut_sooner() {
        for text in
            ["\"".repeat(16_000), "日本語 ".repeat(2_000), "- *a*\n".repeat(4_000), "\\< ".repeat(5_000)]
        {
            let (html, is_cut) = render_within(&text, 1, 20_000);
            assert!(html.to_string().len() <= 20_000 && is_cut, "{}", html.to_string().len());
            assert!(html.to_string().len() > 8_000, "{}", html.to_string().len());
        }
        assert_eq!(render_within("a *b*", 1, 40), (render("a *b*", 1), false));
        assert_eq!(render_within("", 1, 0), (Markup::default(), false));
    }

    #[test]
    fn only_the_outer_lists_and_quotations_are_indented() {
        let shown = html(&format!("{}deep\n\n1. after", "> ".repeat(INDENTED_MAX + 3)));
        assert_eq!(shown.matches("<blockquote>").count(), INDENTED_MAX, "{shown}");
        assert_eq!(shown.matches("<blockquote class=\"deep\">").count(), 3, "{shown}");
        assert!(shown.contains("<ol>"), "what follows is indented again: {shown}");
        let list: String = (0..INDENTED_MAX + 2).map(|n| format!("{}- item\n", "  ".repeat(n))).collect();
        assert_eq!(html(&list).matches("<ul class=\"deep\">").count(), 2);
    }

    #[test]
    fn headings_never_skip_a_level() {
        assert_eq!(html("### c\n###### f\n# a\n## b").matches("<h2>").count(), 2);
        assert_eq!(html("### c\n###### f\n# a\n## b"), "<h2>c</h2>\n<h3>f</h3>\n<h2>a</h2>\n<h3>b</h3>\n");
    }

    proptest! {
        /// Whatever is stored, only these elements and attributes come out.
        #[test]
        fn no_text_makes_another_element(text in "([<>\"'&`*_#\\[\\]()!|\n -]|script|img|onerror=|href|javascript:|[a-z]){0,80}") {
            let shown = html(&text);
            for tag in shown.split('<').skip(1) {
                let name: String = tag.chars().skip_while(|c| *c == '/').take_while(char::is_ascii_alphanumeric).collect();
                let known = ["p", "br", "hr", "em", "strong", "del", "code", "pre", "ul", "ol", "li", "a", "blockquote",
                    "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "div"];
                prop_assert!(known.contains(&name.as_str()), "<{tag}");
                prop_assert!(!tag.contains("onerror=") || tag.find("onerror=") > tag.find('>'), "<{tag}");
            }
        }
    }
}
