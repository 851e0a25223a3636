//! The queue of asks as a panel, and as one line where there is no room for a panel.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::state::State;
use crate::console::state::asks::{Waiting, gist};
use crate::console::state::ui::Focus;
use crate::console::text::width::{cut, fit, width};
use crate::console::view::dialog::ask::asker;
use crate::console::view::theme::Theme;
use crate::protocol::ask::Risk;

/// Names get this much at most; the gist matters more.
const NAME: usize = 12;

/// The lines of the queue: badge, tool, gist, age. The border around it is not ours.
pub fn draw_queue(area: Rect, buf: &mut Buffer, state: &State, theme: &Theme) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    let open: Vec<&Waiting> = state.asks.open().collect();
    if open.is_empty() {
        let text = cut("nobody waits for you", usize::from(area.width)).into_owned();
        buf.set_line(area.x, area.y, &Line::styled(text, theme.faint), area.width);
        return;
    }
    let rows = usize::from(area.height);
    let selected = state.asks.selected().map(|known| &known.ask.id);
    let at = open.iter().position(|known| Some(&known.ask.id) == selected).unwrap_or_default();
    // One line is kept for what does not fit.
    let room = if open.len() > rows && rows > 1 { rows - 1 } else { rows };
    let from = (at + 1).saturating_sub(room);
    let names = open.iter().map(|known| width(&asker(&known.ask, state))).max();
    let names = names.unwrap_or_default().min(NAME);
    for (y, known) in (area.y..).zip(open.iter().skip(from).take(room)) {
        let here = Some(&known.ask.id) == selected && state.ui.focus == Focus::Queue;
        let line = row(state, known, names, usize::from(area.width), theme);
        buf.set_line(area.x, y, &line, area.width);
        if here {
            buf.set_style(Rect { y, height: 1, ..area }, theme.selection);
        }
    }
    let hidden = open.len() - open.len().min(room);
    if room < rows && hidden > 0 {
        let text = format!("{hidden} more");
        buf.set_line(area.x, area.bottom() - 1, &Line::styled(text, theme.faint), area.width);
    }
}

fn row(state: &State, known: &Waiting, names: usize, most: usize, theme: &Theme) -> Line<'static> {
    let ask = &known.ask;
    let age = gist::age(state.now, ask.at);
    let mark = match (known.marked, known.changed || known.refused.is_some()) {
        (true, _) => "*",
        (false, true) => theme.glyphs.needs_you,
        (false, false) => " ",
    };
    let tool = gist::kind(ask);
    let style = if ask.risk == Risk::High { theme.bad } else { theme.strong };
    let used = 2 + names + 1 + width(&tool) + 2 + width(&age) + 1;
    let gist = fit(&gist::gist(ask), most.saturating_sub(used));
    Line::from(vec![
        Span::styled(mark.to_owned(), theme.attention),
        Span::styled(
            format!("{}{}", theme.glyphs.badge, fit(&asker(ask, state), names)),
            theme.badge(ask.color.as_deref()),
        ),
        Span::styled(format!(" {tool}"), style),
        Span::styled(format!("  {gist} "), theme.text),
        Span::styled(age, theme.faint),
    ])
}

/// The queue in one line: how many, and the oldest of them.
pub fn strip(state: &State, columns: usize, theme: &Theme) -> Line<'static> {
    let Some(oldest) = state.asks.oldest() else {
        return Line::styled(cut("nobody waits for you", columns).into_owned(), theme.faint);
    };
    let ask = &oldest.ask;
    let count = format!("{} {} ", theme.glyphs.needs_you, state.asks.len());
    let name = format!("{}{}", theme.glyphs.badge, cut(&asker(ask, state), NAME));
    let tool = format!(" {}", gist::kind(ask));
    let age = format!(" {}", gist::age(state.now, ask.at));
    let used = width(&count) + width(&name) + width(&tool) + width(&age) + 1;
    let gist = cut(&gist::gist(ask), columns.saturating_sub(used)).into_owned();
    let style = if ask.risk == Risk::High { theme.bad } else { theme.strong };
    Line::from(vec![
        Span::styled(count, theme.attention),
        Span::styled(name, theme.badge(ask.color.as_deref())),
        Span::styled(tool, style),
        Span::styled(format!(" {gist}"), theme.text),
        Span::styled(age, theme.faint),
    ])
}
