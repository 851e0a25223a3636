//! Paints the laid-out task graph: boxes with their state and owner, lines between them, and the
//! part of it that the person looks at.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use ratatui::style::{Modifier, Style};
use ratatui::symbols::border;
use unicode_segmentation::UnicodeSegmentation as _;

use super::dag::{Drawing, Flow, Path, plain_sign};
use super::tasks::{Look, has_keys, owner_name};
use super::theme::Theme;
use crate::console::state::State;
use crate::console::state::tasks::{Pan, Stage};
use crate::console::text::sanitize::one_line;
use crate::console::text::width::{cut, width};
use crate::protocol::ids::TaskId;
use crate::protocol::task::Task;

/// Paints what fits; how many tasks are out of sight.
pub fn paint(
    area: Rect,
    buf: &mut Buffer,
    state: &State,
    drawing: &Drawing,
    path: &Path,
    theme: &Theme,
) -> usize {
    let selected = state.tasks.selected.as_ref();
    let around = selected.and_then(|id| drawing.area_of(id));
    let corner = corner(drawing.size, area, around, state.tasks.pan);
    let mut window = Window { area, buf, corner };
    let mut hidden = 0;
    lines(&mut window, drawing, selected, path, theme);
    for (id, place) in &drawing.boxes {
        let Some(task) = state.tasks.get(id) else { continue };
        if window.shows(*place) {
            let is_selected = selected == Some(id) && has_keys(state);
            let how = How { is_selected, on_path: path.tasks.contains(id) };
            task_box(&mut window, state, task, *place, how, theme);
        } else {
            hidden += 1;
        }
    }
    if !theme.glyphs.is_ascii() {
        exits(&mut window, drawing);
    }
    hidden
}

/// Joins the lines to the boxes that they leave.
fn exits(window: &mut Window<'_>, drawing: &Drawing) {
    for exit in &drawing.exits {
        let Some(place) = window.place(i32::from(exit.x), i32::from(exit.y)) else { continue };
        let Some(cell) = window.buf.cell_mut(place) else { continue };
        let joined = match (drawing.flow, cell.symbol()) {
            (Flow::Down, "─") => "┬",
            (Flow::Down, "━") => "┯",
            (Flow::Down, "═") => "╤",
            (Flow::Right, "│") => "├",
            (Flow::Right, "┃") => "┠",
            (Flow::Right, "║") => "╟",
            (Flow::Down | Flow::Right, _) => continue,
        };
        cell.set_symbol(joined);
    }
}

/// Where the drawing's cell (0, 0) stands, seen from the corner of the window: a drawing that is
/// smaller is centred, a larger one shows the selected task in the middle.
fn corner(size: Size, area: Rect, around: Option<Rect>, pan: Pan) -> (i32, i32) {
    let along = |whole: u16, room: u16, middle: Option<i32>, pan: i32| {
        let (whole, room) = (i32::from(whole), i32::from(room));
        if whole <= room {
            return (room - whole) / 2;
        }
        let wanted = middle.map_or(0, |middle| middle - room / 2).clamp(0, whole - room);
        -(wanted + pan).clamp(0, whole - room)
    };
    let middle = |from: u16, length: u16| i32::from(from) + i32::from(length) / 2;
    (
        along(size.width, area.width, around.map(|at| middle(at.x, at.width)), pan.x),
        along(size.height, area.height, around.map(|at| middle(at.y, at.height)), pan.y),
    )
}

/// A part of the screen through which a larger drawing is seen.
struct Window<'a> {
    area: Rect,
    buf: &'a mut Buffer,
    corner: (i32, i32),
}

impl Window<'_> {
    /// Where a cell of the drawing is on the screen, if it is.
    fn place(&self, x: i32, y: i32) -> Option<Position> {
        let along = |at: i32, from: u16| u16::try_from(at + i32::from(from)).ok();
        let x = along(x + self.corner.0, self.area.x)?;
        let y = along(y + self.corner.1, self.area.y)?;
        Some(Position::new(x, y)).filter(|place| self.area.contains(*place))
    }

    fn shows(&self, place: Rect) -> bool {
        let seen = |from: u16, length: u16, corner: i32, room: u16| {
            let from = i32::from(from) + corner;
            from < i32::from(room) && from + i32::from(length) > 0
        };
        seen(place.x, place.width, self.corner.0, self.area.width)
            && seen(place.y, place.height, self.corner.1, self.area.height)
    }

    fn put(&mut self, x: u16, y: u16, text: &str, style: Style) {
        let mut x = i32::from(x);
        for grapheme in text.graphemes(true) {
            let columns = i32::try_from(width(grapheme)).unwrap_or(1);
            let whole = self.place(x + columns - 1, i32::from(y));
            if let (Some(place), Some(_)) = (self.place(x, i32::from(y)), whole) {
                self.buf.set_string(place.x, place.y, grapheme, style);
            }
            x += columns;
        }
    }
}

fn lines(
    window: &mut Window<'_>,
    drawing: &Drawing,
    selected: Option<&TaskId>,
    path: &Path,
    theme: &Theme,
) {
    let first = u16::try_from(-window.corner.1).unwrap_or_default();
    let last = first.saturating_add(window.area.height).saturating_add(1);
    for y in first..last.min(drawing.size.height) {
        for ink in drawing.row(y) {
            let ends = drawing.ends(*ink);
            let touches = |id: Option<&TaskId>| {
                id.is_some_and(|id| ends.is_some_and(|(from, to)| from == id || to == id))
            };
            let on_path = ends.is_some_and(|(from, to)| path.has_step(from, to));
            let style = match () {
                () if on_path => theme.attention,
                () if touches(selected) => theme.accent,
                () => theme.faint,
            };
            let sign = if theme.glyphs.is_ascii() { plain_sign(ink.sign) } else { ink.sign };
            let sign = if on_path && !theme.glyphs.is_ascii() { heavy(sign) } else { sign };
            window.put(ink.x, y, sign.encode_utf8(&mut [0; 4]), style);
        }
    }
}

/// The critical path is told from other lines without colour, too.
const fn heavy(sign: char) -> char {
    match sign {
        '│' => '┃',
        '─' => '━',
        '╭' => '┏',
        '╮' => '┓',
        '╰' => '┗',
        '╯' => '┛',
        '├' => '┣',
        '┤' => '┫',
        '┬' => '┳',
        '┴' => '┻',
        '┼' => '╋',
        other => other,
    }
}

#[derive(Clone, Copy)]
struct How {
    is_selected: bool,
    on_path: bool,
}

fn task_box(
    window: &mut Window<'_>,
    state: &State,
    task: &Task,
    place: Rect,
    how: How,
    theme: &Theme,
) {
    let look = Look::of(state, task, theme);
    let set = match (theme.glyphs.is_ascii(), how.is_selected, how.on_path) {
        (true, true, _) => theme.glyphs.border_focused,
        (true, false, _) => theme.glyphs.border,
        (false, true, _) => border::THICK,
        (false, false, true) => border::DOUBLE,
        (false, false, false) => border::ROUNDED,
    };
    let style = match (&look.stage, how.is_selected, how.on_path) {
        (_, true, _) => theme.border_focused,
        (_, false, true) => theme.attention,
        (Stage::Ready, ..) => theme.accent,
        (Stage::Working, ..) => look.sign_style.remove_modifier(Modifier::BOLD),
        (_, false, false) => theme.faint,
    };
    let wide = usize::from(place.width);
    let inner = wide.saturating_sub(2);
    let (top, bottom) = (place.y, place.bottom() - 1);
    let rule =
        |left: &str, middle: &str, right: &str| format!("{left}{}{right}", middle.repeat(inner));
    window.put(place.x, top, &rule(set.top_left, set.horizontal_top, set.top_right), style);
    let words = cut(&look.words, inner.saturating_sub(2)).into_owned();
    let blanks = inner.saturating_sub(width(&words) + 1);
    window.put(place.x, top + 1, set.vertical_left, style);
    window.put(place.x + 1, top + 1, " ", theme.text);
    window.put(place.x + 2, top + 1, &format!("{words}{:blanks$}", ""), look.word_style);
    window.put(place.right() - 1, top + 1, set.vertical_right, style);
    let under = rule(set.bottom_left, set.horizontal_bottom, set.bottom_right);
    window.put(place.x, bottom, &under, style);
    head(window, state, task, &look, place, how, theme);
}

/// The upper border holds the state, the id, the owner and the time.
fn head(
    window: &mut Window<'_>,
    state: &State,
    task: &Task,
    look: &Look,
    place: Rect,
    how: How,
    theme: &Theme,
) {
    let right = match look.trouble() {
        Some(trouble) => Some((format!("{}{trouble}", theme.glyphs.needs_you), theme.attention)),
        None => look.elapsed(state, task).map(|since| (since, theme.faint)),
    };
    let mut room = usize::from(place.width).saturating_sub(4);
    if let Some((words, style)) = right {
        let columns = width(&words) + 2;
        let at = place.right().saturating_sub(u16::try_from(columns + 1).unwrap_or(0));
        window.put(at, place.y, &format!(" {words} "), style);
        room = room.saturating_sub(columns);
    }
    let mut x = place.x + 1;
    let mut write = |window: &mut Window<'_>, words: &str, style: Style| {
        let words = cut(words, room).into_owned();
        window.put(x, place.y, &words, style);
        room = room.saturating_sub(width(&words));
        x = x.saturating_add(u16::try_from(width(&words)).unwrap_or(0));
    };
    write(window, " ", theme.text);
    write(window, look.sign, look.sign_style);
    let id = format!("{} ", one_line(task.id.as_str()));
    write(window, &id, look.id_style(how.on_path, theme));
    if let Some(owner) = task.owner() {
        let badge = match look.stage == Stage::Done {
            true => theme.faint,
            false => theme.badge(state.agents.color_of(owner)),
        };
        write(window, &format!("{} ", owner_name(owner, theme)), badge);
    } else if look.stage == Stage::Ready {
        write(window, "ready ", theme.accent);
    }
}
