//! Words to the desktop: notifications, and text for its clipboard. Sequences as data; the
//! screen sends them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What a terminal understands, told by its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    pub notice: NoticeWay,
    /// Inside tmux, sequences for the terminal outside are wrapped.
    pub tmux: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeWay {
    /// OSC 9: iTerm2, WezTerm, Ghostty, Windows Terminal.
    Nine,
    /// OSC 777: urxvt, foot, kitty and those that follow them.
    SevenSevenSeven,
    Bell,
}

/// More text than this is not given to a terminal's clipboard.
const LONGEST_COPY: usize = 100_000;

impl Terminal {
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let program = variable("TERM_PROGRAM").unwrap_or_default().to_lowercase();
        let term = variable("TERM").unwrap_or_default().to_lowercase();
        let is_any = |text: &str, names: &[&str]| names.iter().any(|name| text.contains(name));
        let notice = if is_any(&program, &["iterm", "wezterm", "ghostty"])
            || term.contains("ghostty")
            || variable("WT_SESSION").is_some()
        {
            NoticeWay::Nine
        } else if is_any(&term, &["foot", "rxvt", "kitty"]) || variable("KITTY_WINDOW_ID").is_some()
        {
            NoticeWay::SevenSevenSeven
        } else {
            NoticeWay::Bell
        };
        Self { notice, tmux: variable("TMUX").is_some() }
    }

    /// Rings, and says why where the terminal can show it. The bell is always among it, since
    /// it is what multiplexers watch for.
    pub fn ring(&self, title: &str, body: &str) -> String {
        let (title, body) = (plain(title), plain(body));
        let notice = match self.notice {
            NoticeWay::Nine => format!("\x1b]9;{title}: {body}\x07"),
            NoticeWay::SevenSevenSeven => format!("\x1b]777;notify;{title};{body}\x07"),
            NoticeWay::Bell => String::new(),
        };
        if notice.is_empty() { "\x07".to_owned() } else { format!("{}\x07", self.outside(&notice)) }
    }

    /// Puts text into the clipboard. `None` where it is too long for that.
    pub fn copy(&self, text: &str) -> Option<String> {
        if text.len() > LONGEST_COPY {
            return None;
        }
        let sequence = format!("\x1b]52;c;{}\x07", STANDARD.encode(text));
        // tmux takes the plain one into its own buffer, and on to the terminal where it is told
        // to; the wrapped one reaches the terminal where passing through is allowed.
        Some(match self.tmux {
            true => format!("{sequence}{}", self.outside(&sequence)),
            false => sequence,
        })
    }

    fn outside(&self, sequence: &str) -> String {
        match self.tmux {
            true => format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b")),
            false => sequence.to_owned(),
        }
    }
}

/// Nothing that could end the sequence early or begin another.
fn plain(text: &str) -> String {
    let clean = crate::console::text::sanitize::one_line(text).replace(';', ",");
    clean.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &'static [(&str, &str)]) -> Terminal {
        Terminal::of(|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn each_terminal_is_rung_in_its_own_way() {
        assert_eq!(with(&[("TERM", "xterm-256color")]).ring("t", "b"), "\x07");
        assert_eq!(with(&[("TERM_PROGRAM", "iTerm.app")]).ring("t", "b"), "\x1b]9;t: b\x07\x07");
        assert_eq!(with(&[("TERM", "foot")]).ring("t", "b;c"), "\x1b]777;notify;t;b,c\x07\x07");
        let wrapped = with(&[("TERM_PROGRAM", "WezTerm"), ("TMUX", "x")]).ring("t", "b");
        assert_eq!(wrapped, "\x1bPtmux;\x1b\x1b]9;t: b\x07\x1b\\\x07");
        let hostile = with(&[("TERM", "foot")]).ring("a\x1b]0;x\x07", "b\x07\x1b[2J");
        assert_eq!(hostile.matches('\x1b').count(), 1, "{hostile:?}");
    }

    #[test]
    fn a_copy_is_encoded_and_too_much_is_refused() {
        assert_eq!(with(&[]).copy("hi").as_deref(), Some("\x1b]52;c;aGk=\x07"));
        assert_eq!(with(&[]).copy(&"x".repeat(200_000)), None);
        assert_eq!(
            with(&[("TMUX", "x")]).copy("hi").as_deref(),
            Some("\x1b]52;c;aGk=\x07\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\"),
            "to tmux itself, and to the terminal around it"
        );
    }
}
