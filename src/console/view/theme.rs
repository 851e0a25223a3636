//! Roles, not colours: the rest of the console asks for `attention`, a theme file says what that
//! looks like. Colours stand nowhere else.

use std::collections::HashMap;
use std::str::FromStr as _;

use ratatui::style::{Color, Modifier, Style};
use serde::{Deserialize, Deserializer};

use super::glyphs::Glyphs;

/// The themes that a person can choose, in the order in which they are offered.
pub const NAMES: &[&str] = &["dark", "light", "sixteen", "contrast", "plain"];

const FILES: &[(&str, &str)] = &[
    ("dark", include_str!("../../../assets/themes/dark.toml")),
    ("light", include_str!("../../../assets/themes/light.toml")),
    ("sixteen", include_str!("../../../assets/themes/sixteen.toml")),
    ("contrast", include_str!("../../../assets/themes/contrast.toml")),
    ("plain", include_str!("../../../assets/themes/plain.toml")),
];

/// Why a theme cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    #[error("the theme file is invalid: {0}")]
    File(#[from] toml::de::Error),
    #[error("there is no theme `{0}`; use one of dark, light, sixteen, contrast, plain")]
    Unknown(String),
}

/// What everything looks like. Without a file it is all the terminal's own.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Theme {
    #[serde(skip)]
    pub name: String,
    #[serde(deserialize_with = "role")]
    pub text: Style,
    #[serde(deserialize_with = "role")]
    pub strong: Style,
    #[serde(deserialize_with = "role")]
    pub faint: Style,
    /// What the person can act on.
    #[serde(deserialize_with = "role")]
    pub accent: Style,
    #[serde(deserialize_with = "role")]
    pub good: Style,
    #[serde(deserialize_with = "role")]
    pub bad: Style,
    /// Somebody waits for the person.
    #[serde(deserialize_with = "role")]
    pub attention: Style,
    #[serde(deserialize_with = "role")]
    pub heading: Style,
    #[serde(deserialize_with = "role")]
    pub link: Style,
    #[serde(deserialize_with = "role")]
    pub code: Style,
    #[serde(deserialize_with = "role")]
    pub quote: Style,
    #[serde(deserialize_with = "role")]
    pub thought: Style,
    /// What the person said.
    #[serde(deserialize_with = "role")]
    pub prompt: Style,
    #[serde(deserialize_with = "role")]
    pub added: Style,
    /// The part of an added line that is new.
    #[serde(deserialize_with = "role")]
    pub added_mark: Style,
    #[serde(deserialize_with = "role")]
    pub removed: Style,
    #[serde(deserialize_with = "role")]
    pub removed_mark: Style,
    #[serde(deserialize_with = "role")]
    pub selection: Style,
    /// What a search found.
    #[serde(deserialize_with = "role")]
    pub found: Style,
    /// The find that is shown now.
    #[serde(deserialize_with = "role")]
    pub found_here: Style,
    #[serde(deserialize_with = "role")]
    pub border: Style,
    #[serde(deserialize_with = "role")]
    pub border_focused: Style,
    #[serde(deserialize_with = "role")]
    pub title: Style,
    /// A key that can be pressed, in hints.
    #[serde(deserialize_with = "role")]
    pub key: Style,
    /// Header and footer.
    #[serde(deserialize_with = "role")]
    pub bar: Style,
    /// The ground of a dialog.
    #[serde(deserialize_with = "role")]
    pub dialog: Style,
    pub syntax: Syntax,
    #[serde(skip)]
    pub glyphs: Glyphs,
    /// Differs between any two themes that look different: part of every cache key.
    #[serde(skip)]
    pub revision: u32,
    badges: HashMap<String, Badge>,
}

/// What the parts of code look like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Syntax {
    #[serde(deserialize_with = "role")]
    pub comment: Style,
    #[serde(deserialize_with = "role")]
    pub keyword: Style,
    #[serde(deserialize_with = "role")]
    pub string: Style,
    #[serde(deserialize_with = "role")]
    pub number: Style,
    #[serde(deserialize_with = "role")]
    pub constant: Style,
    #[serde(deserialize_with = "role")]
    pub function: Style,
    #[serde(deserialize_with = "role", rename = "type")]
    pub kind: Style,
    #[serde(deserialize_with = "role")]
    pub variable: Style,
    #[serde(deserialize_with = "role")]
    pub attribute: Style,
    #[serde(deserialize_with = "role")]
    pub punctuation: Style,
    #[serde(deserialize_with = "role")]
    pub wrong: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
struct Badge(#[serde(deserialize_with = "role")] Style);

impl Theme {
    /// One of the themes that come with the program.
    pub fn named(name: &str) -> Option<Self> {
        Self::find(name).ok()
    }

    /// The same, saying which there are.
    pub fn find(name: &str) -> Result<Self, ThemeError> {
        let known = FILES.iter().find(|(known, _)| *known == name);
        let (name, source) = known.ok_or_else(|| ThemeError::Unknown(name.to_owned()))?;
        Self::parse(name, source)
    }

    /// A theme from the text of a file.
    pub fn parse(name: &str, source: &str) -> Result<Self, ThemeError> {
        let theme: Self = toml::from_str(source)?;
        let revision = digest(source);
        Ok(Self { name: name.to_owned(), revision, ..theme })
    }

    #[must_use]
    pub fn with_glyphs(self, glyphs: Glyphs) -> Self {
        Self { revision: self.revision ^ digest(glyphs.badge), glyphs, ..self }
    }

    /// The badge of an agent, by the colour that its roster names. The lead has none.
    pub fn badge(&self, color: Option<&str>) -> Style {
        let found = color.and_then(|name| self.badges.get(name));
        found.map_or(self.strong, |badge| badge.0.add_modifier(Modifier::BOLD))
    }

    /// Whether colours that others chose, as in the output of a command, may be shown.
    pub fn has_colours(&self) -> bool {
        !self.badges.is_empty()
    }
}

/// The same for a frame: what stands out by its ground does so as a line of that colour.
pub fn as_line(style: Style) -> Style {
    let style = style.remove_modifier(Modifier::REVERSED);
    match style.bg {
        Some(ground) => Style { bg: None, ..style.fg(ground) },
        None => style,
    }
}

/// FNV-1a, which gives the same number in every run: pictures must not depend on it.
fn digest(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
}

/// A role as a file gives it: a colour, or a table.
#[derive(Deserialize)]
#[serde(untagged)]
enum Role {
    Letters(String),
    Look(Look),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Look {
    fg: Option<String>,
    bg: Option<String>,
    #[serde(default)]
    is: Vec<Is>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Is {
    Bold,
    Dim,
    Italic,
    Underlined,
    Reversed,
}

impl Is {
    fn modifier(&self) -> Modifier {
        match self {
            Self::Bold => Modifier::BOLD,
            Self::Dim => Modifier::DIM,
            Self::Italic => Modifier::ITALIC,
            Self::Underlined => Modifier::UNDERLINED,
            Self::Reversed => Modifier::REVERSED,
        }
    }
}

fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Style, D::Error> {
    let look = match Role::deserialize(deserializer)? {
        Role::Letters(fg) => Look { fg: Some(fg), bg: None, is: Vec::new() },
        Role::Look(look) => look,
    };
    let colour = |name: Option<String>| match name {
        Some(name) => Color::from_str(&name)
            .map(Some)
            .map_err(|_| serde::de::Error::custom(format!("`{name}` is not a colour"))),
        None => Ok(None),
    };
    let style = Style { fg: colour(look.fg)?, bg: colour(look.bg)?, ..Style::new() };
    Ok(look.is.iter().fold(style, |style, is| style.add_modifier(is.modifier())))
}
