//! Markdown as lines of a given width. Half a document is fine: an open fence is a fence, an open
//! emphasis is a star, so text can be shown while it is spoken.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::highlight::Pens;
use super::sanitize::printable;
use super::table::Table;
use super::width::width;
use super::wrap::{push, wrap_with};
use crate::console::view::theme::Theme;

/// Deeper nesting of lists and quotes is shown no deeper.
const DEEPEST: usize = 8;

/// The lines of a text.
pub fn lines(source: &str, most: usize, theme: &Theme, pens: &Pens) -> Vec<Line<'static>> {
    let source = printable(source);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page::new(most.max(1), theme, pens);
    for event in Parser::new_ext(&source, options) {
        page.event(event);
    }
    page.flush();
    page.lines
}

/// What a line begins with, for one level of nesting.
struct Level {
    first: Option<Span<'static>>,
    others: Span<'static>,
    /// The number of the next item, in a list that has numbers.
    next: Option<u64>,
    is_list: bool,
}

struct Page<'a> {
    most: usize,
    theme: &'a Theme,
    pens: &'a Pens,
    lines: Vec<Line<'static>>,
    /// The line that grows, and the styles that its next words have.
    row: Vec<Span<'static>>,
    styles: Vec<Style>,
    levels: Vec<Level>,
    links: Vec<(String, usize)>,
    fence: Option<(String, String)>,
    table: Option<Table>,
    /// Whether a blank line is due before the next block.
    gap: bool,
}

impl<'a> Page<'a> {
    fn new(most: usize, theme: &'a Theme, pens: &'a Pens) -> Self {
        Self {
            most,
            theme,
            pens,
            lines: Vec::new(),
            row: Vec::new(),
            styles: Vec::new(),
            levels: Vec::new(),
            links: Vec::new(),
            fence: None,
            table: None,
            gap: false,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => {
                let style = self.style().patch(self.theme.code);
                push(&mut self.row, &code, style);
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
            Event::Html(text) | Event::InlineHtml(text) => self.html(&text),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.block();
                let rule = self.theme.glyphs.rule.repeat(self.room().min(40));
                self.row.push(Span::styled(rule, self.theme.border));
                self.flush();
                self.gap = true;
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push_style(&mut self, style: Style) {
        self.styles.push(self.style().patch(style));
    }

    fn start(&mut self, tag: Tag<'_>) {
        let theme = self.theme;
        match tag {
            Tag::Heading { level, .. } => {
                self.block();
                self.push_style(heading(level, theme));
            }
            Tag::BlockQuote(_) => {
                self.block();
                let bar = Span::styled(format!("{} ", theme.glyphs.quote), theme.border);
                self.nest(Level { first: None, others: bar, next: None, is_list: false });
                self.push_style(theme.quote);
            }
            Tag::CodeBlock(kind) => {
                self.block();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => language(&info).to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.fence = Some((language, String::new()));
            }
            Tag::List(first) => {
                let inner = self.levels.iter().any(|level| level.is_list);
                if inner {
                    self.flush()
                } else {
                    self.block()
                }
                self.nest(Level { first: None, others: Span::raw(""), next: first, is_list: true });
            }
            Tag::Item => self.item(),
            Tag::Table(alignments) => {
                self.block();
                self.table = Some(Table { alignments, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                self.table.iter_mut().for_each(|table| table.rows.push(Vec::new()));
            }
            Tag::Emphasis => self.push_style(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.push_style(theme.strong),
            Tag::Strikethrough => {
                self.push_style(Style::new().add_modifier(Modifier::CROSSED_OUT));
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), row_length(&self.row)));
                self.push_style(theme.link);
            }
            Tag::Paragraph | Tag::HtmlBlock | Tag::FootnoteDefinition(_) => self.block(),
            Tag::TableCell
            | Tag::Superscript
            | Tag::Subscript
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::FootnoteDefinition => {
                self.flush();
                self.gap = true;
            }
            // What a heading is about stands right below it.
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.levels.pop();
                self.styles.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.code(),
            TagEnd::List(_) => {
                self.flush();
                self.levels.pop();
                self.gap = !self.levels.iter().any(|level| level.is_list);
            }
            TagEnd::Item => {
                self.flush();
                self.levels.pop();
                self.gap = false;
            }
            TagEnd::Table => self.whole_table(),
            TagEnd::TableCell => {
                let cell = Line::from(std::mem::take(&mut self.row));
                let row = self.table.as_mut().and_then(|table| table.rows.last_mut());
                row.into_iter().for_each(|row| row.push(cell.clone()));
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.link(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.fence {
            code.push_str(text);
            return;
        }
        let style = self.style();
        let mut lines = text.split('\n');
        push(&mut self.row, lines.next().unwrap_or_default(), style);
        for line in lines {
            self.flush();
            push(&mut self.row, line, style);
        }
    }

    /// Tags are shown as they are: nothing that was said gets lost.
    fn html(&mut self, text: &str) {
        self.push_style(self.theme.faint);
        self.text(text.strip_suffix('\n').unwrap_or(text));
        self.styles.pop();
        if text.ends_with('\n') {
            self.flush();
        }
    }

    fn item(&mut self) {
        self.flush();
        let list = self.levels.last_mut().and_then(|level| level.next.as_mut());
        let mark = match list {
            Some(next) => {
                *next += 1;
                format!("{}. ", next.saturating_sub(1))
            }
            None => format!("{} ", self.theme.glyphs.bullet),
        };
        let others = Span::raw(" ".repeat(width(&mark)));
        let first = Some(Span::styled(mark, self.theme.accent));
        self.gap = false;
        self.nest(Level { first, others, next: None, is_list: false });
    }

    fn nest(&mut self, level: Level) {
        self.levels.push(level);
    }

    /// The address follows the words, unless the words are the address.
    fn link(&mut self) {
        self.styles.pop();
        let Some((address, from)) = self.links.pop() else { return };
        let row: String = self.row.iter().map(|span| span.content.as_ref()).collect();
        let words = row.get(from.min(row.len())..).unwrap_or_default();
        let plain = address.strip_prefix("mailto:").unwrap_or(&address);
        if !address.is_empty() && words != plain {
            push(&mut self.row, &format!(" ({address})"), self.theme.faint);
        }
    }

    fn code(&mut self) {
        let Some((language, code)) = self.fence.take() else { return };
        let bar = Span::styled(format!("{} ", self.theme.glyphs.bar), self.theme.border);
        self.nest(Level { first: None, others: bar, next: None, is_list: false });
        for line in self.pens.code(&language, &code, self.theme) {
            self.put(&line);
        }
        self.levels.pop();
        self.gap = true;
    }

    fn whole_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        for line in table.lines(self.room(), self.theme) {
            self.put(&line);
        }
        self.gap = true;
    }

    /// The columns that are left beside what stands before the line.
    fn room(&self) -> usize {
        let before: usize = self.shown_levels().map(|level| width(&level.others.content)).sum();
        self.most.saturating_sub(before).max(1)
    }

    fn shown_levels(&self) -> impl Iterator<Item = &Level> {
        let all = self.levels.len();
        self.levels.iter().skip(all.saturating_sub(DEEPEST))
    }

    /// A block begins: what was open ends, and one blank line stands between.
    fn block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let before: Vec<_> = self.shown_levels().map(|level| level.others.clone()).collect();
            self.lines.push(trimmed(before));
        }
    }

    fn flush(&mut self) {
        if self.row.is_empty() {
            return;
        }
        let line = Line::from(std::mem::take(&mut self.row));
        self.put(&line);
    }

    /// Adds a line behind what its levels begin with: marks of items stand once.
    fn put(&mut self, line: &Line<'static>) {
        let others: Vec<_> = self.shown_levels().map(|level| level.others.clone()).collect();
        let skip = self.levels.len().saturating_sub(DEEPEST);
        let first = |level: &mut Level| level.first.take().unwrap_or(level.others.clone());
        let first: Vec<_> = self.levels.iter_mut().skip(skip).map(first).collect();
        self.lines.extend(wrap_with(line, self.most, &first, &others));
    }
}

fn trimmed(spans: Vec<Span<'static>>) -> Line<'static> {
    let blank = spans.iter().all(|span| span.content.trim().is_empty());
    if blank { Line::default() } else { Line::from(spans) }
}

fn row_length(row: &[Span<'_>]) -> usize {
    row.iter().map(|span| span.content.len()).sum()
}

/// The language that a fence names, without what else stands there.
fn language(info: &str) -> &str {
    info.split([' ', ',', '{', ':']).next().unwrap_or_default()
}

fn heading(level: HeadingLevel, theme: &Theme) -> Style {
    match level {
        HeadingLevel::H1 => theme.heading.add_modifier(Modifier::UNDERLINED),
        HeadingLevel::H2 => theme.heading,
        HeadingLevel::H3 | HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => {
            theme.heading.add_modifier(Modifier::ITALIC)
        }
    }
}
