//! Which key means what: the table, with the person's own keys on top.
//!
//! The key file is TOML, one table per context: `[composer]`, `send = "<ret>"` or a list. Naming
//! an action replaces all its keys in that context. What cannot be meant is an error at start.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::table::{Row, rows};
use super::{Action, Chord, Context, Key};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    bindings: BTreeMap<(Context, Chord), Action>,
    /// The keys of a row, in the order in which they are shown.
    keys: BTreeMap<(Context, Action), Vec<Chord>>,
}

/// A key file that cannot be used; says where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {what}")]
pub struct KeyFileError {
    pub file: String,
    pub what: String,
}

/// One or several keys, as a key file has them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Given {
    One(String),
    Several(Vec<String>),
}

type KeyFile = BTreeMap<toml::Spanned<String>, BTreeMap<toml::Spanned<String>, Given>>;

impl Default for Keymap {
    /// The table alone.
    fn default() -> Self {
        let mut keymap = Self { bindings: BTreeMap::new(), keys: BTreeMap::new() };
        for row in rows() {
            // The table's own test says that all of them parse.
            let chords = row.keys.split(' ').filter_map(|key| Chord::parse(key).ok());
            for chord in chords {
                keymap.bind(row.context, chord, row.action);
            }
        }
        keymap
    }
}

impl Keymap {
    fn bind(&mut self, context: Context, chord: Chord, action: Action) {
        self.bindings.entry((context, chord)).or_insert(action);
        self.keys.entry((context, action)).or_default().push(chord);
    }

    /// `stack` runs from the focused surface outwards; the innermost that knows the key wins.
    pub fn resolve(&self, stack: &[Context], chord: Chord) -> Option<(Context, Action)> {
        stack.iter().find_map(|context| {
            self.bindings.get(&(*context, chord)).map(|action| (*context, *action))
        })
    }

    /// The keys of an action in a context, the first one first.
    pub fn keys(&self, context: Context, action: Action) -> &[Chord] {
        self.keys.get(&(context, action)).map_or(&[], Vec::as_slice)
    }

    /// The first key of an action in a context, as it is shown; nothing where it has none.
    pub fn key(&self, context: Context, action: Action) -> String {
        self.keys(context, action).first().map(Chord::shown).unwrap_or_default()
    }

    /// The keys of all nine jumps in one word, `Alt+1…9`, where they are alike.
    pub fn jumps(&self, context: Context) -> Option<String> {
        let first = *self.keys(context, Action::JumpTo1).first()?;
        let alike = (1..=9).all(|digit| {
            let wanted =
                char::from_digit(digit, 10).map(|digit| Chord { key: Key::Char(digit), ..first });
            let jump = usize::try_from(digit).ok().and_then(|digit| Action::jump_to(digit - 1));
            jump.map(|jump| self.keys(context, jump)) == wanted.as_ref().map(std::slice::from_ref)
        });
        alike.then(|| format!("{}…9", first.shown()))
    }

    /// The rows of a context with the keys that are in force.
    pub fn rows(&self, context: Context) -> impl Iterator<Item = (&'static Row, &[Chord])> {
        rows().filter(move |row| row.context == context).filter_map(move |row| {
            let keys = self.keys(context, row.action);
            (!keys.is_empty()).then_some((row, keys))
        })
    }

    /// The table with the keys of a file on top. `file` is what the errors call it.
    pub fn with_file(file: &str, text: &str) -> Result<Self, KeyFileError> {
        let wrong = |what: String| KeyFileError { file: file.to_owned(), what };
        let given: KeyFile =
            toml::from_str(text).map_err(|error| wrong(error.to_string().trim().to_owned()))?;
        let line = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
        let mut keymap = Self::default();
        // Where in the file each chord was given.
        let mut places: BTreeMap<(Context, Chord), (usize, Action)> = BTreeMap::new();
        let mut changed: Vec<(Context, Action)> = Vec::new();
        for (section, entries) in &given {
            let named = Context::ALL.iter().find(|one| one.name() == section.get_ref().as_str());
            let Some(&context) = named else {
                let at = line(section.span().start);
                let known = Context::ALL.map_names();
                let what = format!(
                    "line {at}: there is no section `[{}]`; use {known}",
                    section.get_ref()
                );
                return Err(wrong(what));
            };
            for (name, keys) in entries {
                let at = line(name.span().start);
                let action = Action::named(name.get_ref()).ok_or_else(|| {
                    let near = crate::protocol::nearest::nearest(
                        name.get_ref(),
                        Action::ALL.iter().map(|action| action.name()),
                    );
                    let hint =
                        near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                    wrong(format!("line {at}: there is no action `{}`{hint}", name.get_ref()))
                })?;
                keymap.forget(context, action);
                changed.push((context, action));
                for key in keys.list() {
                    let chord =
                        Chord::parse(key).map_err(|error| wrong(format!("line {at}: {error}")))?;
                    if let Some((other, meaning)) = places.insert((context, chord), (at, action)) {
                        // The file is read by name; the person reads it from the top.
                        let mut both = [(other, meaning.name()), (at, action.name())];
                        both.sort_unstable();
                        let [(first, one), (second, two)] = both;
                        return Err(wrong(format!(
                            "lines {first} and {second}: `{key}` means both `{one}` and `{two}` in [{}]",
                            context.name()
                        )));
                    }
                }
            }
        }
        for ((context, chord), (at, action)) in places {
            let taken = keymap.bindings.get(&(context, chord));
            if let Some(taken) = taken.filter(|taken| !changed.contains(&(context, **taken))) {
                let what = format!(
                    "line {at}: `{chord}` already means `{}` in [{}] (a built-in key); give that one another key too",
                    taken.name(),
                    context.name()
                );
                return Err(wrong(what));
            }
            keymap.bind(context, chord, action);
        }
        Ok(keymap)
    }

    fn forget(&mut self, context: Context, action: Action) {
        self.keys.remove(&(context, action));
        self.bindings.retain(|(where_, _), what| (*where_, *what) != (context, action));
    }
}

impl Given {
    fn list(&self) -> &[String] {
        match self {
            Self::One(key) => std::slice::from_ref(key),
            Self::Several(keys) => keys,
        }
    }
}

/// Names of contexts for an error.
trait Names {
    fn map_names(&self) -> String;
}

impl Names for &[Context] {
    fn map_names(&self) -> String {
        self.iter().map(|context| format!("[{}]", context.name())).collect::<Vec<_>>().join(", ")
    }
}

/// The README's table: one line per place, in the order of the help.
pub fn readme(keymap: &Keymap) -> String {
    let mut text = String::from("| where | keys |\n| --- | --- |\n");
    for context in Context::ALL {
        let mut cells: Vec<String> = Vec::new();
        for (row, keys) in keymap.rows(*context) {
            let (keys, help) = match (row.action.jump(), keymap.jumps(*context)) {
                (Some(0), Some(all)) => (format!("`{all}`"), "jump to the lead, or to a teammate"),
                (Some(_), Some(_)) => continue,
                (Some(_), None) | (None, _) => {
                    let keys: Vec<String> =
                        keys.iter().map(|chord| format!("`{}`", chord.shown())).collect();
                    (keys.join(" "), row.help)
                }
            };
            cells.push(format!("{keys} {}", help.replace('|', "\\|")));
        }
        if !cells.is_empty() {
            text.push_str(&format!("| {} | {} |\n", context.title(), cells.join(" · ")));
        }
    }
    text
}
