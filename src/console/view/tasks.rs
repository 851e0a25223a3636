//! The tasks on the screen: a list with its edges in a panel, the graph where there is room.

use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;

use super::Cache;
use super::dag::{Drawing, Flow, Path, flow};
use super::dag_paint::paint;
use super::theme::Theme;
use crate::console::state::State;
use crate::console::state::asks::gist::age;
use crate::console::state::dialog::Dialog;
use crate::console::state::tasks::{Claim, Row, Stage, Tasks, Turn};
use crate::console::state::ui::Focus;
use crate::console::text::sanitize::one_line;
use crate::console::text::width::{cut, width};
use crate::protocol::ids::{AgentName, TaskId};
use crate::protocol::task::{Task, id_list};

/// What was laid out before, with all that it depends on.
#[derive(Debug, Default)]
pub struct Kept {
    drawing: Option<((u64, Flow), Drawing)>,
    rows: Option<(u64, Vec<Row>)>,
    path: Option<((u64, bool), Path)>,
}

impl Kept {
    pub fn drawing(&mut self, tasks: &Tasks, flow: Flow) -> &Drawing {
        let key = (tasks.revision(), flow);
        if self.drawing.as_ref().is_none_or(|(known, _)| *known != key) {
            self.drawing = Some((key, Drawing::new(tasks, flow)));
        }
        &self.drawing.get_or_insert_with(|| (key, Drawing::default())).1
    }

    fn rows(&mut self, tasks: &Tasks) -> &[Row] {
        let key = tasks.revision();
        if self.rows.as_ref().is_none_or(|(known, _)| *known != key) {
            self.rows = Some((key, tasks.outline()));
        }
        self.rows.as_ref().map_or(&[], |(_, rows)| rows)
    }

    fn path(&mut self, tasks: &Tasks) -> Path {
        let key = (tasks.revision(), tasks.shows_path);
        if self.path.as_ref().is_none_or(|(known, _)| *known != key) {
            self.path = Some((key, Path::shown(tasks)));
        }
        self.path.as_ref().map(|(_, path)| path.clone()).unwrap_or_default()
    }
}

/// A panel at least so wide shows the graph if all of it fits.
const GRAPH_FROM: u16 = 64;

/// The inside of the task panel.
pub fn draw_tasks(area: Rect, buf: &mut Buffer, state: &State, cache: &mut Cache, theme: &Theme) {
    if area.is_empty() {
        return;
    }
    if state.tasks.is_empty() {
        let words = Line::styled("no tasks yet", theme.faint);
        words.render(area, buf);
        return;
    }
    let space = Size::new(area.width, area.height);
    if area.width >= GRAPH_FROM {
        let flow = flow(&state.tasks, space);
        let size = cache.tasks.drawing(&state.tasks, flow).size;
        if size.width <= area.width && size.height <= area.height {
            draw_graph(area, buf, state, cache, theme);
            return;
        }
    }
    draw_list(area, buf, state, cache, theme);
}

/// The graph, as much of it as fits, around the selected task; how many are out of sight.
pub fn draw_graph(
    area: Rect,
    buf: &mut Buffer,
    state: &State,
    cache: &mut Cache,
    theme: &Theme,
) -> usize {
    let flow = flow(&state.tasks, Size::new(area.width, area.height));
    let path = cache.tasks.path(&state.tasks);
    let drawing = cache.tasks.drawing(&state.tasks, flow);
    paint(area, buf, state, drawing, &path, theme)
}

/// Whether keys go to the tasks.
pub fn has_keys(state: &State) -> bool {
    match state.top() {
        Some(layer) => matches!(layer, Dialog::Tasks),
        None => state.ui.focus == Focus::Tasks,
    }
}

fn draw_list(area: Rect, buf: &mut Buffer, state: &State, cache: &mut Cache, theme: &Theme) {
    let path = cache.tasks.path(&state.tasks);
    let rows = cache.tasks.rows(&state.tasks);
    let high = usize::from(area.height);
    let first = first_row(rows, state, high);
    let below = rows.len().saturating_sub(first + high);
    for (y, row) in (area.y..area.bottom()).zip(rows.iter().skip(first)) {
        let line = Rect { y, height: 1, ..area };
        if below > 0 && y + 1 == area.bottom() {
            let more = format!("{} {} more", theme.glyphs.ellipsis, below + 1);
            Line::styled(more, theme.faint).render(line, buf);
            return;
        }
        let Some(task) = state.tasks.get(&row.id) else { continue };
        let on_path = path.tasks.contains(&row.id);
        list_line(state, row, task, on_path, area.width, theme).render(line, buf);
        if has_keys(state) && state.tasks.selected.as_ref() == Some(&row.id) {
            buf.set_style(line, theme.selection);
        }
    }
}

/// The row at the top: the selected one is seen, or else what is going on.
fn first_row(rows: &[Row], state: &State, high: usize) -> usize {
    let is_wanted = |row: &Row| match has_keys(state) {
        true => state.tasks.selected.as_ref() == Some(&row.id),
        false => state.tasks.get(&row.id).is_some_and(Task::is_open),
    };
    let wanted = rows.iter().position(is_wanted).unwrap_or_default();
    let above = if has_keys(state) { high / 2 } else { 1 };
    wanted.saturating_sub(above).min(rows.len().saturating_sub(high))
}

fn list_line(
    state: &State,
    row: &Row,
    task: &Task,
    on_path: bool,
    most: u16,
    theme: &Theme,
) -> Line<'static> {
    let most = usize::from(most);
    let look = Look::of(state, task, theme);
    let mut left = vec![
        Span::styled(guides(&row.turns, most / 3, theme), theme.border),
        Span::styled(look.sign, look.sign_style),
        Span::styled(
            format!("{}{} ", one_line(task.id.as_str()), mark(on_path)),
            look.id_style(on_path, theme),
        ),
    ];
    let right = right_side(state, row, task, &look, theme);
    let columns = |spans: &[Span<'_>]| spans.iter().map(Span::width).sum::<usize>();
    let (taken, wanted) = (columns(&left), columns(&right));
    // Words first: what stands beside them goes where they need the room.
    let words = look.words.clone();
    let room = most.saturating_sub(taken);
    let (words, right) = match room.checked_sub(wanted + 1) {
        Some(room) if room >= width(&words).min(10) => (cut(&words, room).into_owned(), right),
        Some(_) | None => (cut(&words, room).into_owned(), Vec::new()),
    };
    let gap = room.saturating_sub(width(&words) + columns(&right));
    left.push(Span::styled(words, look.word_style));
    left.push(Span::raw(" ".repeat(gap)));
    left.extend(right);
    Line::from(left)
}

/// The sign beside tasks of the critical path.
fn mark(on_path: bool) -> &'static str {
    if on_path { "*" } else { "" }
}

fn guides(turns: &[Turn], most: usize, theme: &Theme) -> String {
    let signs = if theme.glyphs.is_ascii() {
        ["  ", "| ", "|-", "`-"]
    } else {
        ["  ", "│ ", "├─", "└─"]
    };
    let sign = |turn: &Turn| match turn {
        Turn::Blank => signs[0],
        Turn::Through => signs[1],
        Turn::Tee => signs[2],
        Turn::Corner => signs[3],
    };
    // Deep down, the nearest lines say the most.
    let fits = (most / 2).max(1);
    let cut = turns.len().saturating_sub(fits);
    let dots = if cut > 0 { theme.glyphs.ellipsis } else { "" };
    format!("{dots}{}", turns[cut..].iter().map(sign).collect::<String>())
}

fn right_side(
    state: &State,
    row: &Row,
    task: &Task,
    look: &Look,
    theme: &Theme,
) -> Vec<Span<'static>> {
    if let Stage::Blocked(blockers) = &look.stage {
        let others: Vec<&TaskId> =
            blockers.iter().filter(|id| row.parent.as_ref() != Some(id)).collect();
        if !others.is_empty() {
            let names = one_line(&id_list(others).replace('#', ""));
            return vec![Span::styled(format!("(blocked by {names})"), theme.faint)];
        }
    }
    let mut spans = Vec::new();
    if let Some(since) = look.elapsed(state, task) {
        spans.push(Span::styled(format!("{since} "), theme.faint));
    }
    spans.extend(owner_spans(state, task, look, theme));
    spans
}

/// The badge of the owner, and what is wrong with the claim.
pub fn owner_spans(state: &State, task: &Task, look: &Look, theme: &Theme) -> Vec<Span<'static>> {
    let Some(owner) = task.owner() else {
        let words = if look.stage == Stage::Ready { "ready" } else { "" };
        return vec![Span::styled(words, theme.accent)];
    };
    let mut spans = Vec::new();
    if let Some(words) = look.trouble() {
        spans.push(Span::styled(format!("{}{words} ", theme.glyphs.needs_you), theme.attention));
    }
    let badge = theme.badge(state.agents.color_of(owner));
    let badge = if look.stage == Stage::Done { theme.faint } else { badge };
    spans.push(Span::styled(owner_name(owner, theme), badge));
    spans
}

/// The name behind its badge; the lead has none.
pub fn owner_name(owner: &AgentName, theme: &Theme) -> String {
    match owner.is_lead() {
        true => "lead".to_owned(),
        false => format!("{}{}", theme.glyphs.badge, one_line(owner.as_str())),
    }
}

/// How a task looks, wherever it is drawn.
pub struct Look {
    pub stage: Stage,
    pub claim: Option<Claim>,
    pub sign: &'static str,
    pub sign_style: Style,
    pub words: String,
    pub word_style: Style,
}

impl Look {
    pub fn of(state: &State, task: &Task, theme: &Theme) -> Self {
        let stage = state.tasks.stage(task);
        let claim = state.claim(task);
        let badge =
            task.owner().map_or(theme.text, |owner| theme.badge(state.agents.color_of(owner)));
        let glyphs = &theme.glyphs;
        let (sign, sign_style, word_style) = match &stage {
            Stage::Done => (glyphs.done, theme.good, theme.faint),
            Stage::Working => (glyphs.working, badge, theme.text),
            Stage::Ready => (glyphs.open, theme.accent, theme.accent.add_modifier(Modifier::BOLD)),
            Stage::Taken => (glyphs.open, badge, theme.text),
            Stage::Blocked(_) => (glyphs.waits, theme.faint, theme.text),
            Stage::Foreign => ("?", theme.attention, theme.text),
        };
        let doing = task.active_form.as_deref().filter(|_| stage == Stage::Working);
        let words = one_line(doing.filter(|words| !words.is_empty()).unwrap_or(&task.subject));
        Self { stage, claim, sign, sign_style, words, word_style }
    }

    pub fn id_style(&self, on_path: bool, theme: &Theme) -> Style {
        match (on_path, &self.stage) {
            (true, _) => theme.attention,
            (false, Stage::Done | Stage::Blocked(_)) => theme.faint,
            (false, _) => theme.strong,
        }
    }

    /// For how long it is being done.
    pub fn elapsed(&self, state: &State, task: &Task) -> Option<String> {
        let since = state.tasks.since(&task.id).filter(|_| self.stage == Stage::Working)?;
        Some(age(state.now, since))
    }

    /// What is wrong with the claim.
    pub fn trouble(&self) -> Option<String> {
        match self.claim.as_ref()? {
            Claim::Held => None,
            Claim::Gone => Some("gone".to_owned()),
            Claim::Failed => Some("failed".to_owned()),
            Claim::Silent { seconds } => Some(format!("silent {}m", seconds / 60)),
        }
    }
}
