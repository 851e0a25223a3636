//! Short lines above the composer that go away by themselves.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget as _};

use super::layout::Plan;
use super::theme::Theme;
use crate::console::state::State;
use crate::console::text::width::{cut, width};
use crate::protocol::event::Level;

/// More than these are not shown at a time.
const SHOWN: usize = 3;

pub fn draw_notices(plan: &Plan, buf: &mut Buffer, state: &State, theme: &Theme) {
    let shown: Vec<_> = state.notices.shown(state.now).rev().take(SHOWN).collect();
    if state.composer.completion.is_some() {
        return;
    }
    let bottom = match state.layers.is_empty() {
        true => plan.composer.y,
        false => plan.footer.y,
    };
    let most = usize::from(plan.header.width.saturating_sub(6));
    for (notice, up) in shown.into_iter().zip(1_u16..) {
        let Some(y) = bottom.checked_sub(up).filter(|y| *y > plan.header.y) else { break };
        let style = match notice.level {
            Level::Info => theme.accent,
            Level::Warning => theme.attention,
            Level::Error => theme.bad,
        };
        let sign = match notice.level {
            Level::Info => theme.glyphs.dot,
            Level::Warning => theme.glyphs.needs_you,
            Level::Error => theme.glyphs.failed,
        };
        let text = format!(" {sign} {} ", cut(&notice.text, most.saturating_sub(4)));
        let wide = u16::try_from(width(&text)).unwrap_or(u16::MAX).min(plan.header.width);
        // At the right, where transcripts seldom reach.
        let x = plan.header.width.saturating_sub(wide + 1);
        let area = Rect::new(x, y, wide, 1).intersection(buf.area);
        Clear.render(area, buf);
        buf.set_style(area, theme.dialog);
        buf.set_stringn(area.x, area.y, &text, usize::from(area.width), style);
    }
}
