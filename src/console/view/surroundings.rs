//! Which theme and signs fit the terminal, told by the environment alone: a question to the
//! terminal could stay without an answer, and the start would wait for it.

use super::glyphs::Glyphs;
use super::theme::{Theme, ThemeError};

/// What the environment says about the terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    pub no_color: Option<String>,
    pub colorterm: Option<String>,
    pub colorfgbg: Option<String>,
    pub term: Option<String>,
    pub term_program: Option<String>,
    pub wt_session: Option<String>,
    /// The first of `LC_ALL`, `LC_CTYPE` and `LANG` that says something.
    pub locale: Option<String>,
}

/// What the person asked for, on the command line or in their settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    pub theme: Option<String>,
    pub ascii: bool,
}

/// Terminals with 24-bit colours that do not always say so in `COLORTERM`.
const COLOURFUL: &[&str] =
    &["kitty", "ghostty", "alacritty", "wezterm", "foot", "contour", "-direct", "iterm", "vscode"];

impl Surroundings {
    /// Reads variables through `variable`; empty ones say nothing.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| variable(name).filter(|value| !value.is_empty());
        Self {
            no_color: get("NO_COLOR"),
            colorterm: get("COLORTERM"),
            colorfgbg: get("COLORFGBG"),
            term: get("TERM"),
            term_program: get("TERM_PROGRAM"),
            wt_session: get("WT_SESSION"),
            locale: ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(get),
        }
    }

    /// The theme to use. A theme that was asked for wins over everything.
    pub fn theme(&self, wish: &Wish) -> Result<Theme, ThemeError> {
        let theme = Theme::find(wish.theme.as_deref().unwrap_or_else(|| self.theme_name()))?;
        Ok(match wish.ascii || !self.shows_unicode() {
            true => theme.with_glyphs(Glyphs::ASCII),
            false => theme,
        })
    }

    pub fn theme_name(&self) -> &'static str {
        let term = self.term.as_deref().unwrap_or_default();
        if self.no_color.is_some() || term == "dumb" {
            return "plain";
        }
        match (self.has_all_colours(), self.is_light()) {
            (true, true) => "light",
            (true, false) => "dark",
            (false, _) => "sixteen",
        }
    }

    fn has_all_colours(&self) -> bool {
        let says = |value: &Option<String>, words: &[&str]| {
            let value = value.as_deref().unwrap_or_default().to_ascii_lowercase();
            words.iter().any(|word| value.contains(word))
        };
        says(&self.colorterm, &["truecolor", "24bit"])
            || says(&self.term, COLOURFUL)
            || says(&self.term_program, COLOURFUL)
            || self.wt_session.is_some()
    }

    /// `COLORFGBG` ends in the number of the background among the sixteen colours.
    fn is_light(&self) -> bool {
        let ground = self.colorfgbg.as_deref().and_then(|value| value.rsplit(';').next());
        matches!(ground, Some("7" | "15"))
    }

    /// The Linux console has a font of 256 or 512 letters; a locale may have no Unicode at all.
    fn shows_unicode(&self) -> bool {
        let known = |locale: &str| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        };
        !matches!(self.term.as_deref(), Some("linux" | "dumb"))
            && self.locale.as_deref().is_none_or(known)
    }
}
