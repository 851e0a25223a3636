//! The signs of the console, in Unicode and in ASCII. Colour is never the only sign.

use ratatui::symbols::border;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    /// States of an agent.
    pub working: &'static str,
    pub needs_you: &'static str,
    pub idle: &'static str,
    pub waits: &'static str,
    pub failed: &'static str,
    pub ended: &'static str,
    pub paused: &'static str,
    /// Stands before the name of an agent, in its colour.
    pub badge: &'static str,
    /// States of a task, beside those above.
    pub open: &'static str,
    pub done: &'static str,
    pub prompt: &'static str,
    pub arrow: &'static str,
    pub bullet: &'static str,
    /// A cell that can be opened, and one that is.
    pub closed_fold: &'static str,
    pub open_fold: &'static str,
    /// Hangs something below the line above.
    pub hook: &'static str,
    pub quote: &'static str,
    pub rule: &'static str,
    pub bar: &'static str,
    pub below: &'static str,
    pub above: &'static str,
    pub ellipsis: &'static str,
    pub dot: &'static str,
    pub minus: &'static str,
    pub times: &'static str,
    pub spinner: &'static [&'static str],
    /// Bars of growing height, for small charts.
    pub levels: &'static [&'static str],
    pub border: border::Set<'static>,
    pub border_focused: border::Set<'static>,
    /// Where lines of tables and borders meet.
    pub cross: &'static str,
    pub tee_left: &'static str,
    pub tee_right: &'static str,
    pub tee_top: &'static str,
    pub tee_bottom: &'static str,
}

impl Default for Glyphs {
    fn default() -> Self {
        Self::UNICODE
    }
}

impl Glyphs {
    pub const UNICODE: Self = Self {
        working: "●",
        needs_you: "!",
        idle: "✔",
        waits: "◌",
        failed: "✖",
        ended: "·",
        paused: "‖",
        badge: "▌",
        open: "○",
        done: "✔",
        prompt: "❯",
        arrow: "→",
        bullet: "•",
        closed_fold: "▸",
        open_fold: "▾",
        hook: "└",
        quote: "▎",
        rule: "─",
        bar: "│",
        below: "↓",
        above: "↑",
        ellipsis: "…",
        dot: "·",
        minus: "−",
        times: "×",
        spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
        levels: &["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
        border: border::PLAIN,
        border_focused: border::THICK,
        cross: "┼",
        tee_left: "├",
        tee_right: "┤",
        tee_top: "┬",
        tee_bottom: "┴",
    };

    pub const ASCII: Self = Self {
        working: "*",
        needs_you: "!",
        idle: "=",
        waits: "o",
        failed: "x",
        ended: ".",
        paused: "\"",
        badge: "#",
        open: "o",
        done: "+",
        prompt: ">",
        arrow: "->",
        bullet: "-",
        closed_fold: ">",
        open_fold: "v",
        hook: "\\",
        quote: "|",
        rule: "-",
        bar: "|",
        below: "v",
        above: "^",
        ellipsis: "...",
        dot: "-",
        minus: "-",
        times: "x",
        spinner: &["|", "/", "-", "\\"],
        levels: &["_", ".", "-", "=", "+", "*", "#", "@"],
        border: ASCII_BORDER,
        border_focused: ASCII_HEAVY_BORDER,
        cross: "+",
        tee_left: "+",
        tee_right: "+",
        tee_top: "+",
        tee_bottom: "+",
    };

    pub fn is_ascii(&self) -> bool {
        self.badge == Self::ASCII.badge
    }
}

const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

const ASCII_HEAVY_BORDER: border::Set<'static> =
    border::Set { horizontal_top: "=", horizontal_bottom: "=", ..ASCII_BORDER };
