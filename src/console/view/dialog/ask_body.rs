//! The request itself as lines: who, what, why, where, and the whole of what would be done.

use std::path::Path;
use std::sync::Arc;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::ask_rows::whole_rows;
use crate::console::state::State;
use crate::console::state::asks::{AskDialog, Waiting, gist};
use crate::console::text::diff::Diff;
use crate::console::text::highlight::Pens;
use crate::console::text::sanitize::{exact, one_line};
use crate::console::text::width::width;
use crate::console::text::wrap::wrap_with;
use crate::console::text::{diff, markdown};
use crate::console::view::theme::Theme;
use crate::protocol::ask::{Ask, Question, Risk, Spender, Words, measured};
use crate::protocol::ids::AgentId;

/// The words before a line that is no text of the request.
const LABEL: usize = 7;

/// What lines are made with.
#[derive(Clone, Copy)]
pub struct Hand<'a> {
    pub state: &'a State,
    pub width: usize,
    pub theme: &'a Theme,
    pub pens: &'a Pens,
    /// The title says the whole question.
    pub is_titled: bool,
}

/// The text of a request in two parts.
#[derive(Debug, Default)]
pub struct Request {
    /// Why it is asked and where.
    head: Vec<Line<'static>>,
    /// What would be done.
    content: Vec<Line<'static>>,
}

impl Request {
    /// Rows that it takes, with one between its parts.
    pub fn len(&self) -> usize {
        let between = !self.head.is_empty() && !self.content.is_empty();
        self.head.len() + usize::from(between) + self.content.len()
    }

    /// Its rows. What would be done comes first where little of it would be seen otherwise.
    pub fn rows(&self, content_first: bool) -> Vec<&Line<'static>> {
        static BLANK: Line<'static> =
            Line { spans: Vec::new(), style: Style::new(), alignment: None };
        let (first, second) = match content_first {
            true => (&self.content, &self.head),
            false => (&self.head, &self.content),
        };
        let between = (!first.is_empty() && !second.is_empty()).then_some(&BLANK);
        first.iter().chain(between).chain(second).collect()
    }
}

impl Hand<'_> {
    /// A line with a word before it, wrapped beside that word.
    fn labelled(&self, label: &str, text: Line<'static>) -> Vec<Line<'static>> {
        let first = Span::styled(format!("{label:<LABEL$}"), self.theme.faint);
        wrap_with(&text, self.width, &[first], &[Span::raw(" ".repeat(LABEL))])
    }

    fn plain(&self, text: Line<'static>) -> Vec<Line<'static>> {
        wrap_with(&text, self.width, &[], &[])
    }

    /// A text of several lines that must be seen as it is.
    fn exactly(&self, text: &str, language: &str, signs: (&str, &str)) -> Vec<Line<'static>> {
        let text = exact(text);
        let code = self.pens.code(language, &text, self.theme);
        let mut rows = Vec::new();
        for (at, line) in code.iter().enumerate() {
            let sign = if at == 0 { signs.0 } else { signs.1 };
            let first = Span::styled(sign.to_owned(), self.theme.faint);
            rows.extend(whole_rows(line, self.width, &first, &Span::raw("  ")));
        }
        rows
    }
}

/// The whole text of what is shown: the request, or all that are answered together.
pub fn request(known: &Waiting, dialog: &AskDialog, hand: Hand<'_>) -> Request {
    let together = hand.state.asks.together_with(&known.ask.id);
    if together.len() > 1 {
        return Request { head: Vec::new(), content: all_of(&together, hand) };
    }
    Request { head: head(known, hand), content: content(&known.ask, dialog, hand) }
}

/// Why it is asked, which rule made it ask, and where; who asks, where the title cannot say it.
fn head(known: &Waiting, hand: Hand<'_>) -> Vec<Line<'static>> {
    let (ask, theme) = (&known.ask, hand.theme);
    let mut lines = Vec::new();
    if known.changed {
        let text = "This request has changed since it was first shown.";
        lines.extend(hand.plain(Line::styled(text, theme.attention)));
    }
    if !hand.is_titled {
        lines.extend(hand.plain(who(ask, hand)));
    }
    if let Some(through) = through(ask, hand.state) {
        lines.extend(hand.labelled("for", Line::styled(through, theme.text)));
    }
    if let Some(why) = &ask.why.description {
        lines.extend(hand.labelled("why", Line::styled(one_line(why), theme.text)));
    }
    if let Some(rule) = &ask.why.rule {
        // The directory is named below.
        let rule = rule.replace(&format!(" {}/", ask.cwd.display()), " ");
        lines.extend(hand.labelled("asked", Line::styled(one_line(&rule), theme.faint)));
    }
    match &ask.question {
        Question::Plan { file, .. } => {
            let file = one_line(&file.to_string_lossy());
            lines.extend(hand.labelled("plan", Line::styled(file, theme.faint)));
        }
        Question::Tool { .. } => lines.extend(place(ask, hand)),
        Question::Words { .. } | Question::Budget { .. } | Question::NoAnswerToShutdown => {}
    }
    lines
}

/// Through whom it is asked, nearest first; nobody where the lead or a teammate asks itself.
fn through(ask: &Ask, state: &State) -> Option<String> {
    let [_, between @ .., _lead] = ask.chain.as_slice() else { return None };
    let names: Vec<String> = between.iter().map(|agent| name_of(agent, state)).collect();
    (!names.is_empty()).then(|| names.join(", for "))
}

fn name_of(agent: &AgentId, state: &State) -> String {
    let known = state.agents.get(agent).map(|known| one_line(&known.name));
    known.filter(|name| !name.is_empty()).unwrap_or_else(|| gist::name(agent))
}

/// Who asks, by the name that its pane has.
pub fn asker(ask: &Ask, state: &State) -> String {
    ask.chain.first().map_or_else(|| gist::asker(ask), |agent| name_of(agent, state))
}

/// The directory that it would run in.
fn place(ask: &Ask, hand: Hand<'_>) -> Vec<Line<'static>> {
    let dir = one_line(&ask.cwd.to_string_lossy());
    hand.labelled("in", Line::styled(dir, hand.theme.faint))
}

fn who(ask: &Ask, hand: Hand<'_>) -> Line<'static> {
    let theme = hand.theme;
    let mut spans = vec![
        Span::styled(
            format!("{}{}", theme.glyphs.badge, asker(ask, hand.state)),
            theme.badge(ask.color.as_deref()),
        ),
        Span::styled(format!(" {}", gist::wants(ask)), theme.strong),
    ];
    if ask.risk == Risk::High {
        spans.push(Span::styled(format!("  {}", gist::risk(ask.risk)), theme.bad));
    }
    Line::from(spans)
}

/// All requests that one answer is for, each whole.
fn all_of(together: &[Arc<Ask>], hand: Hand<'_>) -> Vec<Line<'static>> {
    let theme = hand.theme;
    let text = format!("{} requests are answered together:", together.len());
    let mut lines = hand.plain(Line::styled(text, theme.attention));
    for (at, ask) in together.iter().enumerate() {
        let mut line = who(ask, hand);
        line.spans.insert(0, Span::styled(format!("{} ", at + 1), theme.key));
        lines.push(Line::default());
        lines.extend(hand.plain(line));
        lines.extend(done(ask, hand));
        lines.extend(place(ask, hand));
    }
    lines
}

fn content(ask: &Ask, dialog: &AskDialog, hand: Hand<'_>) -> Vec<Line<'static>> {
    match &ask.question {
        Question::Words { questions } => words(questions, dialog, hand),
        Question::Budget { .. } | Question::NoAnswerToShutdown => {
            let mut lines = done(ask, hand);
            lines.extend(choices(ask, dialog, hand));
            lines
        }
        Question::Tool { .. } | Question::Plan { .. } => done(ask, hand),
    }
}

/// What would be done after a yes.
fn done(ask: &Ask, hand: Hand<'_>) -> Vec<Line<'static>> {
    match &ask.question {
        Question::Tool { name, input, .. } => tool(ask, name, input, hand),
        Question::Plan { text, .. } => {
            markdown::lines(&exact(text), hand.width, hand.theme, hand.pens)
        }
        Question::Budget { of, what, used, limit } => {
            let who = match of {
                Spender::Agent => "It has",
                Spender::Team => "The team has",
            };
            let (used, limit) = (measured(*what, *used), measured(*what, *limit));
            let text = format!("{who} used {used} of {limit}. May it continue?");
            hand.plain(Line::styled(text, hand.theme.text))
        }
        Question::NoAnswerToShutdown => {
            let text = "It was asked to end and has not answered. What it is working on may be \
                        lost if it is ended now.";
            hand.plain(Line::styled(text, hand.theme.text))
        }
        Question::Words { .. } => Vec::new(),
    }
}

fn tool(ask: &Ask, name: &str, input: &Value, hand: Hand<'_>) -> Vec<Line<'static>> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    // The directory is named above.
    let inside = |path| Path::new(path).strip_prefix(&ask.cwd).ok().and_then(Path::to_str);
    match (name, text("command"), text("file_path")) {
        ("Bash", Some(command), _) => {
            let mut lines = hand.exactly(command, "bash", ("$ ", "> "));
            lines.extend(rest(input, &["command", "description"], hand));
            lines
        }
        ("Edit", _, Some(path)) if text("old_string").is_some() => {
            let (old, new) = (text("old_string"), text("new_string"));
            let (old, new) = (exact(old.unwrap_or_default()), exact(new.unwrap_or_default()));
            let known = ["file_path", "old_string", "new_string"];
            let path = inside(path).unwrap_or(path);
            changed(path, &diff::of_edit(&old, &new, &ask.lines), (input, &known), hand)
        }
        ("Write", _, Some(path)) if text("content").is_some() => {
            let new = exact(text("content").unwrap_or_default());
            let path = inside(path).unwrap_or(path);
            changed(path, &diff::of_edit("", &new, &[1]), (input, &["file_path", "content"]), hand)
        }
        _ => {
            let pretty = serde_json::to_string_pretty(input).unwrap_or_else(|_| input.to_string());
            hand.exactly(&pretty, "json", ("", ""))
        }
    }
}

/// A change of a file, whole.
fn changed(
    path: &str,
    diff: &Diff,
    (input, known): (&Value, &[&str]),
    hand: Hand<'_>,
) -> Vec<Line<'static>> {
    let theme = hand.theme;
    let diff = diff.clone().in_file(path);
    let mut title = vec![Span::styled(exact(path).replace('\n', "⏎"), theme.strong)];
    title.push(Span::styled(format!("  +{}", diff.added), theme.good));
    title.push(Span::styled(format!(" {}{}", theme.glyphs.minus, diff.removed), theme.bad));
    let mut lines = hand.plain(Line::from(title));
    lines.extend(diff::lines(&diff, hand.width, theme, hand.pens));
    lines.extend(rest(input, known, hand));
    lines
}

/// Whatever else an input says: it counts too.
fn rest(input: &Value, known: &[&str], hand: Hand<'_>) -> Vec<Line<'static>> {
    let Some(fields) = input.as_object() else { return Vec::new() };
    let others = fields.iter().filter(|(key, _)| !known.contains(&key.as_str()));
    let line = |(key, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let text = format!("{}: {}", one_line(key), exact(&value).replace('\n', "⏎"));
        hand.plain(Line::styled(text, hand.theme.faint))
    };
    others.flat_map(line).collect()
}

/// The choices of a request that is no plain yes or no.
fn choices(ask: &Ask, dialog: &AskDialog, hand: Hand<'_>) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    let column = column(ask.choices.iter().map(|choice| choice.label.as_str()));
    for (at, choice) in ask.choices.iter().enumerate() {
        let more = choice.description.as_deref().unwrap_or_default();
        let here = dialog.cursor == Some(at);
        lines.extend(option((at, here, ""), (&choice.label, column), more, hand));
    }
    lines
}

/// How wide the labels of a list are, as long as they are no sentences.
fn column<'a>(labels: impl Iterator<Item = &'a str>) -> usize {
    labels.map(|label| width(&one_line(label))).max().unwrap_or_default().min(24)
}

/// One numbered line of a list: its place, whether the person is there, and its mark; its label
/// and how wide that may be; what follows from it.
fn option(
    (at, here, mark): (usize, bool, &str),
    (label, column): (&str, usize),
    more: &str,
    hand: Hand<'_>,
) -> Vec<Line<'static>> {
    let theme = hand.theme;
    let style = if here { theme.selection } else { theme.text };
    let pointer = if here { theme.glyphs.prompt } else { " " };
    let first = [
        Span::styled(format!("{pointer} "), theme.accent),
        Span::styled(format!("{} ", at + 1), theme.key),
        Span::styled(mark.to_owned(), theme.accent),
    ];
    let label = one_line(label);
    let blanks = column.saturating_sub(width(&label)) + 2;
    let mut text = vec![Span::styled(label, style)];
    if !more.is_empty() {
        let more = format!("{}{}", " ".repeat(blanks), one_line(more));
        text.push(Span::styled(more, theme.faint));
    }
    wrap_with(&Line::from(text), hand.width, &first, &[Span::raw("    ")])
}

/// One page of questions in words, or all answers.
fn words(questions: &[Words], dialog: &AskDialog, hand: Hand<'_>) -> Vec<Line<'static>> {
    let page = dialog.form.page;
    match questions.get(page) {
        Some(question) => one_question(question, page, questions.len(), dialog, hand),
        None => review(questions, dialog, hand),
    }
}

fn one_question(
    question: &Words,
    page: usize,
    many: usize,
    dialog: &AskDialog,
    hand: Hand<'_>,
) -> Vec<Line<'static>> {
    let theme = hand.theme;
    let mut lines = Vec::new();
    if many > 1 {
        let text = format!("{} of {many}  {}", page + 1, one_line(&question.header));
        lines.extend(hand.plain(Line::styled(text, theme.faint)));
    }
    for line in exact(&question.question).lines() {
        lines.extend(hand.plain(Line::styled(line.to_owned(), theme.strong)));
    }
    if question.multi_select {
        lines.extend(hand.plain(Line::styled("several may be taken", theme.faint)));
    }
    lines.push(Line::default());
    let answer = dialog.form.answer(page).cloned().unwrap_or_default();
    let column = column(question.options.iter().map(|offer| offer.label.as_str()));
    for (at, offer) in question.options.iter().enumerate() {
        let mark = match (question.multi_select, answer.taken.contains(&at)) {
            (true, true) => "[x] ",
            (true, false) => "[ ] ",
            (false, true) => "(o) ",
            (false, false) => "",
        };
        let here = dialog.cursor == Some(at);
        lines.extend(option((at, here, mark), (&offer.label, column), &offer.description, hand));
    }
    if !answer.own.is_empty() {
        lines.extend(hand.labelled("own", Line::styled(one_line(&answer.own), theme.text)));
    }
    lines
}

fn review(questions: &[Words], dialog: &AskDialog, hand: Hand<'_>) -> Vec<Line<'static>> {
    let theme = hand.theme;
    let mut lines = Vec::new();
    for (question, answer) in questions.iter().zip(dialog.form.answers(questions)) {
        let all: Vec<String> = answer.iter().map(|one| one_line(one)).collect();
        let (text, style) = match all.is_empty() {
            true => ("no answer yet".to_owned(), theme.attention),
            false => (all.join("; "), theme.strong),
        };
        lines.extend(hand.plain(Line::styled(one_line(&question.question), theme.faint)));
        let first = Span::styled(format!("{} ", theme.glyphs.arrow), theme.accent);
        lines.extend(wrap_with(
            &Line::styled(text, style),
            hand.width,
            &[first],
            &[Span::raw("  ")],
        ));
    }
    lines
}

/// Where in the text the line is that the person went to: it must be seen.
pub fn cursor_row(lines: &[&Line<'_>], theme: &Theme) -> Option<usize> {
    let pointer = format!("{} ", theme.glyphs.prompt);
    lines.iter().position(|line| line.spans.first().is_some_and(|span| span.content == pointer))
}
