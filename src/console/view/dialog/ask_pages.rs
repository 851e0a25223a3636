//! What stands below a request: its choices, the menu of reaches, or the words that are written.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::ask_body::asker;
use super::ask_rows::whole_rows;
use crate::console::keys::{Action, Chord, Context};
use crate::console::state::State;
use crate::console::state::asks::dialog::EditForm;
use crate::console::state::asks::scope::ScopeMenu;
use crate::console::state::asks::{AskDialog, Stage, Waiting, alike, gist};
use crate::console::state::editor::Editor;
use crate::console::text::sanitize::one_line;
use crate::console::text::width::{cut, width};
use crate::console::text::wrap::wrap_with;
use crate::console::update::asks::offers;
use crate::console::view::footer::key_of;
use crate::console::view::theme::Theme;
use crate::protocol::ask::{Ask, Grantee, Question};
use crate::protocol::scope::{Term, suggested};

/// The room that is left below the request.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub width: usize,
    pub height: usize,
}

/// The lines below the request. Where room is short, the same in fewer words.
pub fn lines(
    state: &State,
    known: &Waiting,
    dialog: &AskDialog,
    room: Room,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mut lines = match &dialog.stage {
        Stage::Choices => choices(state, known, dialog, room, theme),
        Stage::Scope(menu) => scope(state, &known.ask, menu, room, theme),
        Stage::Remark => written(state, "yes, and tell the agent:", &dialog.remark, room, theme),
        Stage::Instead => {
            let title = match known.ask.question {
                Question::Plan { .. } => "no, and what should be different:",
                Question::Tool { .. }
                | Question::Words { .. }
                | Question::Budget { .. }
                | Question::NoAnswerToShutdown => "no, and what to do instead:",
            };
            written(state, title, &dialog.instead, room, theme)
        }
        Stage::Edit(edit) => {
            let title = match edit.form {
                EditForm::Command => "yes, but run this instead:",
                EditForm::Content => "yes, but write this instead:",
                EditForm::Replacement => "yes, but change it to this:",
                EditForm::Json => "yes, but with this input:",
                EditForm::Plan => "yes, but by this plan:",
            };
            written(state, title, &edit.editor, room, theme)
        }
        Stage::Own(editor) => written(state, "in your own words:", editor, room, theme),
        Stage::Gone { how, .. } => {
            let text = Line::styled(format!("This is settled: {how}."), theme.attention);
            wrap_with(&text, room.width, &[], &[])
        }
    };
    if let Some(note) = &dialog.note {
        let note = Line::styled(one_line(note), theme.attention);
        lines.splice(0..0, wrap_with(&note, room.width, &[], &[]));
    }
    lines
}

/// One thing that can be pressed.
struct Key {
    keys: String,
    action: Option<Action>,
    /// In a word or two, and in a sentence.
    brief: String,
    label: String,
}

fn choices(
    state: &State,
    known: &Waiting,
    dialog: &AskDialog,
    room: Room,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let keys = keys(state, known, dialog);
    let seen = dialog.is_seen(state.now);
    let held = dialog.held.map(|held| held.action);
    let styled = |key: &Key, text: &str| {
        let is_held = held.is_some() && held == key.action;
        let (name, words) = match (is_held, seen) {
            (true, _) => (theme.selection, theme.selection),
            (false, true) => (theme.key, theme.text),
            (false, false) => (theme.faint, theme.faint),
        };
        [Span::styled(key.keys.clone(), name), Span::styled(format!(" {text}"), words)]
    };
    let full = table(&keys, room.width, &styled);
    if full.len() <= room.height {
        return full;
    }
    let mut flow = flow(&keys, room.width, &styled);
    flow.truncate(room.height.max(1));
    flow
}

/// The choices in two columns where they fit, long ones over both.
fn table(
    keys: &[Key],
    most: usize,
    styled: &dyn Fn(&Key, &str) -> [Span<'static>; 2],
) -> Vec<Line<'static>> {
    let column = most / 2;
    let columns = |key: &Key| width(&key.keys) + 1 + width(&key.label);
    let mut lines: Vec<Line<'static>> = Vec::new();
    let mut half: Option<usize> = None;
    for key in keys {
        let used = columns(key);
        let spans = styled(key, &key.label);
        match (half.take(), lines.last_mut()) {
            (Some(left), Some(line)) if used <= column => {
                line.spans.push(Span::raw(" ".repeat(column.saturating_sub(left))));
                line.spans.extend(spans);
            }
            (Some(_) | None, _) => {
                lines.extend(wrap_with(&Line::from(spans.to_vec()), most, &[], &[Span::raw("  ")]));
                half = (used < column).then_some(used);
            }
        }
    }
    lines
}

/// The choices one behind the other.
fn flow(
    keys: &[Key],
    most: usize,
    styled: &dyn Fn(&Key, &str) -> [Span<'static>; 2],
) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = vec![Line::default()];
    let mut used = 0;
    for key in keys {
        let columns = width(&key.keys) + 1 + width(&key.brief);
        if used > 0 && used + 2 + columns > most {
            lines.push(Line::default());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.spans.push(Span::raw("  "));
                used += 2;
            }
            line.spans.extend(styled(key, &key.brief));
            used += columns;
        }
    }
    lines
}

/// What this request offers, the likeliest first.
fn keys(state: &State, known: &Waiting, dialog: &AskDialog) -> Vec<Key> {
    let ask = &known.ask;
    let many = state.asks.together_with(&ask.id).len();
    let likes = state.asks.open().filter(|other| other.ask.id != ask.id);
    let likes = likes.filter(|other| alike(ask, &other.ask)).count();
    let mut keys: Vec<Key> = listed(ask, dialog).into_iter().collect();
    for (action, brief, label) in labels(ask, &asker(ask, state), many, likes) {
        let always = matches!(action, Action::Later);
        if !always && !offers(dialog, ask, action) {
            continue;
        }
        let bound = state.keymap.keys(Context::Ask, action);
        if let Some(first) = bound.first() {
            keys.push(Key { keys: first.brief(), action: Some(action), brief, label });
        }
    }
    let turns = match &ask.question {
        Question::Words { questions } if questions.len() > 1 => Some("other questions"),
        Question::Words { .. }
        | Question::Tool { .. }
        | Question::Plan { .. }
        | Question::Budget { .. }
        | Question::NoAnswerToShutdown => (state.asks.len() > 1).then_some("other requests"),
    };
    if let Some(label) = turns {
        let label = label.to_owned();
        keys.push(Key {
            keys: "←→".to_owned(), action: None, brief: "others".to_owned(), label
        });
    }
    keys
}

/// Two keys that belong together.
fn pair(state: &State, context: Context, one: Action, two: Action) -> String {
    let first = |action| state.keymap.keys(context, action).first().map(Chord::brief);
    [one, two].into_iter().filter_map(first).collect()
}

/// How a numbered list is used.
fn listed(ask: &Ask, dialog: &AskDialog) -> Option<Key> {
    let options = match &ask.question {
        Question::Words { questions } => questions.get(dialog.form.page)?.options.len(),
        Question::Budget { .. } | Question::NoAnswerToShutdown => ask.choices.len(),
        Question::Tool { .. } | Question::Plan { .. } => 0,
    };
    let keys = match options {
        0 => return None,
        1 => "1".to_owned(),
        several => format!("1-{}", several.min(9)),
    };
    let label = "take it, or arrows and Enter".to_owned();
    Some(Key { keys, action: Some(Action::Take), brief: "take".to_owned(), label })
}

fn labels(ask: &Ask, asker: &str, many: usize, likes: usize) -> Vec<(Action, String, String)> {
    let is_words = matches!(ask.question, Question::Words { .. });
    let is_plan = matches!(ask.question, Question::Plan { .. });
    let row = |action, brief: &str, label: String| (action, brief.to_owned(), label);
    let (yes, no) = match (many, is_words, is_plan) {
        (2.., ..) => (format!("yes to all {many}, once"), format!("no to all {many}")),
        (_, true, _) => ("send these answers".to_owned(), "no answer".to_owned()),
        (_, _, true) => ("yes, do it".to_owned(), "no".to_owned()),
        _ => ("yes, once".to_owned(), "no".to_owned()),
    };
    let own = if is_words { "in your own words" } else { "yes, with a remark" };
    let rule = suggested(ask).map(|grant| gist::rules(&grant.permits));
    let always = match rule {
        Some(rule) => format!("yes, and don't ask again: {rule}"),
        None => "yes, and don't ask again".to_owned(),
    };
    let mark = match (many, likes) {
        (2.., _) => "unmark them".to_owned(),
        (_, likes) => format!("mark all like it ({likes} more)"),
    };
    let instead = if is_plan { "no, with feedback" } else { "no, and say what instead" };
    let full = if is_plan { "the plan, full screen" } else { "full screen" };
    let go = format!("go to {asker}");
    let mut rows = vec![
        row(Action::AllowOnce, "yes", yes),
        row(Action::Deny, "no", no),
        row(Action::AllowWithRemark, if is_words { "own" } else { "remark" }, own.to_owned()),
        row(Action::DenyWithWords, "instead", instead.to_owned()),
        row(Action::AllowAlways, "always", always),
        row(Action::MarkAlike, "alike", mark),
        row(Action::EditInput, "edit", "edit it first".to_owned()),
        row(Action::Later, "later", "later".to_owned()),
        row(Action::FullView, "full", full.to_owned()),
        row(Action::GoToAsker, "go", go),
    ];
    let has_rules = ScopeMenu::of(ask).is_some();
    rows.retain(|(action, ..)| {
        match (*action == Action::AllowAlways, *action == Action::MarkAlike) {
            (true, _) => has_rules,
            (_, true) => likes > 0,
            (false, false) => true,
        }
    });
    rows
}

const fn term(term: Term) -> &'static str {
    match term {
        Term::Session => "this session",
        Term::Hour => "1 hour",
        Term::Project => "this project",
        Term::User => "always",
    }
}

const fn term_written(term: Term) -> &'static str {
    match term {
        Term::Session => "until this session ends",
        Term::Hour => "for one hour from now",
        Term::Project => "in the settings of this project",
        Term::User => "in your own settings",
    }
}

fn scope(
    state: &State,
    ask: &Ask,
    menu: &ScopeMenu,
    room: Room,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let (to, lasting) = menu.holds();
    let asker = asker(ask, state);
    let label = |text: &str| Span::styled(format!("{text:<7}"), theme.faint);
    let one_of = |(text, here): &(String, bool)| match here {
        true => vec![Span::styled(format!("[{text}]"), theme.selection)],
        false => vec![Span::styled(format!(" {text} "), theme.text)],
    };
    let mut lines = Vec::new();
    if room.height >= 8 {
        lines.push(Line::styled("yes, and don't ask again", theme.heading));
    }
    let widest = menu.reaches.iter().map(|reach| width(reach.label)).max().unwrap_or_default();
    let rules = room.width.saturating_sub(7 + 2 + widest + 2);
    let shown = room.height.saturating_sub(5).max(1);
    let from = menu.at.saturating_sub(shown.saturating_sub(1));
    for (at, reach) in menu.reaches.iter().enumerate().skip(from).take(shown) {
        let here = at == menu.at;
        let pointer = if here { theme.glyphs.prompt } else { " " };
        let style = if here { theme.selection } else { theme.text };
        let spans = vec![
            label(if at == from { "what" } else { "" }),
            Span::styled(format!("{pointer} "), theme.accent),
            Span::styled(format!("{:<widest$}", reach.label), style),
            Span::styled(format!("  {}", cut(&one_line(&reach.rule()), rules)), theme.code),
        ];
        lines.push(Line::from(spans));
    }
    let terms: Vec<(String, bool)> =
        Term::ALL.iter().map(|one| (term(*one).to_owned(), *one == lasting)).collect();
    let who =
        [(asker.clone(), to == Grantee::Asker), ("whole team".to_owned(), to == Grantee::Team)];
    let indent = [Span::raw(" ".repeat(7))];
    for (text, all) in [("lasts", terms.as_slice()), ("who", who.as_slice())] {
        lines.extend(in_rows(all.iter().map(one_of), &label(text), room.width));
    }
    let for_whom = match to {
        Grantee::Asker => asker,
        Grantee::Team => "the whole team".to_owned(),
    };
    let rule = menu.chosen().map(|offer| one_line(&offer.rule())).unwrap_or_default();
    let exact = vec![
        Span::styled(rule, theme.strong),
        Span::styled(format!(" for {for_whom}, {}", term_written(lasting)), theme.text),
    ];
    lines.extend(wrap_with(&Line::from(exact), room.width, &[label("writes")], &indent));
    lines.extend(in_rows(hints(state, theme).into_iter(), &Span::raw(""), room.width));
    lines
}

/// Words that belong together are never parted: what has no room goes to the next row.
fn in_rows(
    all: impl Iterator<Item = Vec<Span<'static>>>,
    first: &Span<'static>,
    most: usize,
) -> Vec<Line<'static>> {
    let mut rows = vec![Line::from(first.clone())];
    for part in all {
        let part = Line::from(part);
        let Some(row) = rows.last_mut() else { continue };
        if row.width() > first.width() && row.width() + 1 + part.width() > most {
            rows.push(Line::from(vec![Span::raw(" ".repeat(first.width()))]));
        } else if row.width() > first.width() {
            row.spans.push(Span::raw(" "));
        }
        if let Some(row) = rows.last_mut() {
            row.spans.extend(part.spans);
        }
    }
    rows
}

/// The keys of the menu.
fn hints(state: &State, theme: &Theme) -> Vec<Vec<Span<'static>>> {
    let context = Context::AskScope;
    let first = |action| state.keymap.keys(context, action).first().map(Chord::brief);
    let all = [
        (first(Action::Take).unwrap_or_default(), "grant it"),
        (pair(state, context, Action::Up, Action::Down), "what"),
        (pair(state, context, Action::Left, Action::Right), "lasts"),
        (first(Action::NextField).unwrap_or_default(), "who"),
        (first(Action::Later).unwrap_or_default(), "back"),
    ];
    all.iter().map(|one| key_words(one, theme)).collect()
}

fn key_words((key, what): &(String, &str), theme: &Theme) -> Vec<Span<'static>> {
    vec![Span::styled(key.clone(), theme.key), Span::styled(format!(" {what} "), theme.faint)]
}

/// A text that is being written, with its cursor. Scrolls so that the cursor is seen.
fn written(
    state: &State,
    title: &str,
    editor: &Editor,
    room: Room,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let cursor = Style::new().add_modifier(Modifier::REVERSED);
    let (row, column) = editor.cursor();
    let mut rows: Vec<Line<'static>> = Vec::new();
    let mut at = 0;
    for (number, line) in editor.lines().iter().enumerate() {
        let spans = if number == row {
            with_cursor(line, column, cursor)
        } else {
            vec![Span::raw(line.clone())]
        };
        let sign = if number == 0 { theme.glyphs.prompt } else { " " };
        let first = Span::styled(format!("{sign} "), theme.accent);
        let made = whole_rows(&Line::from(spans), room.width, &first, &Span::raw("  "));
        let has_cursor = |line: &Line<'_>| line.spans.iter().any(|span| span.style == cursor);
        if let Some(found) = made.iter().position(has_cursor) {
            at = rows.len() + found;
        }
        rows.extend(made);
    }
    let shown = room.height.saturating_sub(2).max(1);
    let from = (at + 1).saturating_sub(shown);
    let mut lines = vec![Line::styled(title.to_owned(), theme.heading)];
    lines.extend(rows.into_iter().skip(from).take(shown));
    let key = |action| key_of(state, Context::AskWords, action, theme);
    let keys = [
        (key(Action::Submit), "send"),
        (key(Action::Newline), "new line"),
        (key(Action::Later), "back"),
    ];
    let keys = keys.iter().map(|key| key_words(key, theme));
    lines.extend(in_rows(keys, &Span::raw(""), room.width).into_iter().take(1));
    lines
}

fn with_cursor(line: &str, column: usize, cursor: Style) -> Vec<Span<'static>> {
    let at = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let (before, rest) = line.split_at(at);
    let mut after = rest.chars();
    let under = after.next().map_or_else(|| " ".to_owned(), String::from);
    vec![
        Span::raw(before.to_owned()),
        Span::styled(under, cursor),
        Span::raw(after.as_str().to_owned()),
    ]
}
