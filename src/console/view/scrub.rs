//! The bar of a player: where a recording is, how fast it goes, and the keys for it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget as _};

use super::footer::short_key;
use super::theme::Theme;
use crate::console::keys::{Action, Context, Keymap};
use crate::session::replay::Player;

const KEYS: &[(&[Action], &str)] = &[
    (&[Action::PlayOrPause], "play"),
    (&[Action::StepBack, Action::StepForward], "step"),
    (&[Action::Faster, Action::Slower], "speed"),
    (&[Action::NextAsk], "ask"),
    (&[Action::NextMessage], "mail"),
    (&[Action::NextError], "error"),
    (&[Action::NextTaskChange], "task"),
    (&[Action::Quit], "quit"),
];

/// Over the last row of an area.
pub fn draw_scrub(area: Rect, buf: &mut Buffer, player: &Player, keymap: &Keymap, theme: &Theme) {
    if area.is_empty() {
        return;
    }
    let row = Rect { y: area.bottom() - 1, height: 1, ..area };
    Clear.render(row, buf);
    buf.set_style(row, theme.bar);
    let many = player.recording().events().len();
    let sign = match (player.is_playing(), theme.glyphs.is_ascii()) {
        (true, false) => "▶",
        (false, false) => "‖",
        (true, true) => ">",
        (false, true) => "=",
    };
    let hour = player.now().to_string().get(11..19).unwrap_or_default().to_owned();
    let head = format!(" {sign} {hour} ");
    let tail = format!(" {}/{many} {}× ", player.at(), player.speed());
    let mut keys = Vec::new();
    let mut room = usize::from(row.width).saturating_sub(head.len() + tail.len() + 12);
    for (actions, meaning) in KEYS {
        let key = keys_of(keymap, actions, theme);
        let key = [
            Span::styled(format!(" {key} "), theme.key),
            Span::styled((*meaning).to_owned(), theme.faint),
        ];
        let wide: usize = key.iter().map(Span::width).sum();
        // Half of the room is for the bar.
        if wide + 20 > room {
            break;
        }
        room -= wide;
        keys.extend(key);
    }
    let fixed =
        Line::from(keys.clone()).width() + Line::from(head.as_str()).width() + tail.chars().count();
    let bar = usize::from(row.width).saturating_sub(fixed);
    let done = (bar * player.at()).checked_div(many).unwrap_or_default();
    let signs = if theme.glyphs.is_ascii() { ["=", "-"] } else { ["━", "─"] };
    let mut spans = vec![
        Span::styled(head, theme.accent),
        Span::styled(signs[0].repeat(done), theme.accent),
        Span::styled(signs[1].repeat(bar - done), theme.faint),
        Span::styled(tail, theme.text),
    ];
    spans.extend(keys);
    Line::from(spans).render(row, buf);
}

/// The first key of each, one behind the other.
fn keys_of(keymap: &Keymap, actions: &[Action], theme: &Theme) -> String {
    let keys = actions.iter().filter_map(|action| keymap.keys(Context::Replay, *action).first());
    keys.map(|key| short_key(key, theme)).collect()
}
