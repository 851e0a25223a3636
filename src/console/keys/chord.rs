//! One press of keys as data, in the notation of helix: `y`, `<C-y>`, `<S-up>`, `<A-ret>`.
//!
//! Terminals tell the same press in several ways; here each press has one form. Shift is kept
//! only where the letter does not already say it.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    Char(char),
    Enter,
    Esc,
    Tab,
    Backspace,
    Delete,
    Insert,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    F(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chord {
    pub key: Key,
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

/// Keys that have a name, as it is written and as it is shown.
const NAMES: &[(Key, &str, &str)] = &[
    (Key::Enter, "ret", "Enter"),
    (Key::Esc, "esc", "Esc"),
    (Key::Tab, "tab", "Tab"),
    (Key::Backspace, "backspace", "Backspace"),
    (Key::Delete, "del", "Del"),
    (Key::Insert, "ins", "Ins"),
    (Key::Up, "up", "↑"),
    (Key::Down, "down", "↓"),
    (Key::Left, "left", "←"),
    (Key::Right, "right", "→"),
    (Key::Home, "home", "Home"),
    (Key::End, "end", "End"),
    (Key::PageUp, "pageup", "PgUp"),
    (Key::PageDown, "pagedown", "PgDn"),
    (Key::Char(' '), "space", "Space"),
    (Key::Char('<'), "lt", "<"),
    (Key::Char('>'), "gt", ">"),
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a key; write `y`, `<C-y>`, `<S-up>`, `<A-1>`, `<f2>`")]
pub struct BadChord(pub String);

impl Chord {
    pub const fn plain(key: Key) -> Self {
        Self { key, ctrl: false, alt: false, shift: false }
    }

    /// The character that this press types, if it types one.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other key types")]
    pub fn typed(&self) -> Option<char> {
        match self.key {
            Key::Char(c) if !self.ctrl && !self.alt => Some(c),
            _ => None,
        }
    }

    /// One press.
    pub fn parse(text: &str) -> Result<Self, BadChord> {
        let bad = || BadChord(text.to_owned());
        let mut chars = text.chars();
        if let (Some(only), None) = (chars.next(), chars.next()) {
            return Ok(Self::plain(Key::Char(only)));
        }
        let inner = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        let mut rest = inner.ok_or_else(bad)?;
        let mut chord = Self::plain(Key::Esc);
        loop {
            (chord, rest) = match rest.split_at_checked(2) {
                Some(("C-", more)) => (Self { ctrl: true, ..chord }, more),
                Some(("A-", more)) => (Self { alt: true, ..chord }, more),
                Some(("S-", more)) => (Self { shift: true, ..chord }, more),
                Some(_) | None => break,
            };
        }
        chord.key = key_named(rest).ok_or_else(bad)?;
        Ok(chord.normal())
    }

    /// Several presses in a row: `hello<ret>`.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, BadChord> {
        let mut chords = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let length = match (first, rest.find('>')) {
                ('<', Some(end)) => end + 1,
                _ => first.len_utf8(),
            };
            let (one, more) = rest.split_at(length);
            chords.push(match one {
                "\n" => Self::plain(Key::Enter),
                one => Self::parse(one)?,
            });
            rest = more;
        }
        Ok(chords)
    }

    /// What a terminal reported. Releases are nothing.
    pub fn of_event(event: KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let has = |modifier| event.modifiers.contains(modifier);
        let mut chord = Self {
            key: key_of(event.code)?,
            ctrl: has(KeyModifiers::CONTROL),
            alt: has(KeyModifiers::ALT),
            shift: has(KeyModifiers::SHIFT) || event.code == KeyCode::BackTab,
        };
        if has(KeyModifiers::SHIFT)
            && let Key::Char(c) = chord.key
            && c.is_ascii_lowercase()
        {
            chord.key = Key::Char(c.to_ascii_uppercase());
        }
        Some(chord.normal())
    }

    /// The one form of this press: Ctrl+letter in small letters, no Shift where the character
    /// says it already.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other keys have one form")]
    fn normal(self) -> Self {
        match self.key {
            Key::Char(c) if self.ctrl => {
                let shift = self.shift && c.is_ascii_alphabetic();
                Self { key: Key::Char(c.to_ascii_lowercase()), shift, ..self }
            }
            Key::Char(_) => Self { shift: false, ..self },
            _ => self,
        }
    }

    /// As people write it: `Ctrl+Y`, `Shift+↑`.
    pub fn shown(&self) -> String {
        self.with_modifiers("Ctrl+", "Alt+", "Shift+")
    }

    /// As the footer writes it, where room is short: `^Y`, `⇧↑`.
    pub fn brief(&self) -> String {
        self.with_modifiers("^", "M-", "⇧")
    }

    fn with_modifiers(&self, ctrl: &str, alt: &str, shift: &str) -> String {
        let mut text = String::new();
        for (held, word) in [(self.ctrl, ctrl), (self.alt, alt), (self.shift, shift)] {
            text.push_str(if held { word } else { "" });
        }
        let name = NAMES.iter().find(|(key, ..)| *key == self.key);
        match (self.key, name) {
            (_, Some((_, _, shown))) => text.push_str(shown),
            (Key::Char(c), None) if self.ctrl => text.extend(c.to_uppercase()),
            (Key::Char(c), None) => text.push(c),
            (Key::F(number), None) => text.push_str(&format!("F{number}")),
            (_, None) => {}
        }
        text
    }
}

fn key_named(name: &str) -> Option<Key> {
    if let Some((key, ..)) = NAMES.iter().find(|(_, written, _)| *written == name) {
        return Some(*key);
    }
    let mut chars = name.chars();
    match (chars.next()?, chars.next()) {
        (only, None) => Some(Key::Char(only)),
        ('f' | 'F', Some(_)) => name[1..].parse().ok().filter(|n| (1..=24).contains(n)).map(Key::F),
        _ => None,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "what we do not bind we do not name")]
fn key_of(code: KeyCode) -> Option<Key> {
    Some(match code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Tab | KeyCode::BackTab => Key::Tab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Insert => Key::Insert,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::F(number) => Key::F(number),
        _ => return None,
    })
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(key, ..)| *key == self.key).map(|(_, written, _)| *written);
        let bare = !self.ctrl && !self.alt && !self.shift;
        match (self.key, name) {
            (Key::Char(c), None) if bare => return write!(f, "{c}"),
            _ => f.write_str("<")?,
        }
        for (held, word) in [(self.ctrl, "C-"), (self.alt, "A-"), (self.shift, "S-")] {
            f.write_str(if held { word } else { "" })?;
        }
        match (self.key, name) {
            (_, Some(written)) => write!(f, "{written}>"),
            (Key::Char(c), None) => write!(f, "{c}>"),
            (Key::F(number), None) => write!(f, "f{number}>"),
            (_, None) => f.write_str(">"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notation_comes_back_as_it_was_written() {
        for text in ["y", "Y", "<C-y>", "<S-up>", "<A-1>", "<f2>", "<ret>", "<C-S-x>", "<space>"] {
            assert_eq!(Chord::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Chord::parse("<C-Y>"), Chord::parse("<C-y>"));
        for bad in ["<C->", "xy", "<nope>", "<f99>", ""] {
            assert!(Chord::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(
            Chord::parse_all("a<b<ret>").map(|all| all.len()),
            Err(BadChord("<b<ret>".into()))
        );
        assert_eq!(Chord::parse_all("hi<ret><C-x>y").unwrap().len(), 5);
    }

    #[test]
    fn a_press_has_one_form_however_the_terminal_tells_it() {
        let press = |code, modifiers| Chord::of_event(KeyEvent::new(code, modifiers)).unwrap();
        let shift = KeyModifiers::SHIFT;
        assert_eq!(press(KeyCode::Char('a'), shift), Chord::parse("A").unwrap());
        assert_eq!(press(KeyCode::Char('A'), shift), Chord::parse("A").unwrap());
        assert_eq!(press(KeyCode::BackTab, KeyModifiers::NONE), Chord::parse("<S-tab>").unwrap());
        assert_eq!(
            press(KeyCode::Char('Y'), KeyModifiers::CONTROL),
            Chord::parse("<C-y>").unwrap()
        );
        let mut released = KeyEvent::new(KeyCode::Char('y'), KeyModifiers::NONE);
        released.kind = KeyEventKind::Release;
        assert_eq!(Chord::of_event(released), None);
    }
}
