//! A shell command before the rules: every part is looked at on its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::rule::{Content, Effect, Rule};
use super::shell::pattern::Reach;
use super::shell::{self, Analysis, Direction, Harmless, Part, Redirect, Setting, Simple};
use super::touch::{Place, because, means_all_of, reads, writes};
use super::{View, Why};
use crate::protocol::op::Mode;

/// More changes of directory than this in one command are not followed.
const MOST_BASES: usize = 16;

/// Programs that write the files they name.
const WRITERS: [&str; 17] = [
    "rm", "mv", "cp", "tee", "touch", "dd", "ln", "truncate", "chmod", "chown", "sed", "install",
    "rsync", "rmdir", "unlink", "shred", "mkdir",
];

#[derive(Debug)]
pub(super) struct Commands<'a> {
    pub text: &'a str,
    pub analysis: Analysis,
    /// Every directory that the command may be in when it names a relative path.
    bases: Vec<PathBuf>,
    /// Where words lead, followed once however many rules look at them.
    followed: RefCell<HashMap<String, Rc<[Place]>>>,
}

/// How a command fares against the rules that allow.
#[derive(Debug)]
pub(super) enum Fare {
    Allowed(Why),
    Asked(Why),
}

impl<'a> Commands<'a> {
    pub(super) fn of(view: &View, text: &'a str) -> Self {
        let setting = Setting { user: view.user.as_deref(), aliases: &view.aliases };
        let mut analysis = shell::analyse(text, setting);
        let bases = match bases(view, &analysis) {
            Ok(bases) => bases,
            Err(what) => {
                analysis.unclear.get_or_insert_with(|| what.to_owned());
                vec![view.cwd.clone()]
            }
        };
        Self { text, analysis, bases, followed: RefCell::default() }
    }

    /// Whether a rule that forbids or asks speaks of any part.
    pub(super) fn concern(&self, rule: &Rule, tool: &str) -> Reach {
        match &rule.content {
            Content::All if means_all_of(rule, tool) => Reach::Covers,
            Content::Command(_) if rule.tool != tool => Reach::No,
            Content::Command(pattern) if pattern.is_whole(self.text) => Reach::Covers,
            Content::Command(pattern) => {
                let all = self.analysis.commands.iter().map(|simple| pattern.concerns(simple));
                let unclear = self.analysis.unclear.is_some();
                let least = if unclear { Reach::May } else { Reach::No };
                all.fold(least, stronger)
            }
            Content::Paths(_) => self.touches_files_of(rule),
            Content::All | Content::Domain(_) | Content::Exactly(_) => Reach::No,
        }
    }

    /// Whether a rule about files speaks of one that is named.
    fn touches_files_of(&self, rule: &Rule) -> Reach {
        let redirects = self.analysis.redirects.iter().filter(|redirect| redirect.target.fixed);
        let redirected = redirects.map(|redirect| {
            self.strongest(&redirect.target.text, |place| match redirect.direction {
                Direction::Read => reads(rule, "Read", place),
                Direction::Write => writes(rule, "Edit", place),
            })
        });
        let named = self.analysis.commands.iter().flat_map(|simple| {
            let words = match shell::harmless(simple) {
                Harmless::Words => Vec::new(),
                Harmless::Paths | Harmless::No => shell::path_words(simple),
            };
            words.into_iter().map(move |word| (simple, word))
        });
        let named = named.map(|(simple, word)| {
            self.strongest(word, |place| match is_writer(simple) {
                true => stronger(reads(rule, "Read", place), writes(rule, "Edit", place)),
                false => reads(rule, "Read", place),
            })
        });
        redirected.chain(named).fold(Reach::No, stronger)
    }

    fn strongest(&self, word: &str, reach: impl Fn(&Place) -> Reach) -> Reach {
        self.places(word).iter().map(reach).fold(Reach::No, stronger)
    }

    /// What a word may mean as a path, from every directory that the command may be in.
    fn places(&self, word: &str) -> Rc<[Place]> {
        if let Some(known) = self.followed.borrow().get(word) {
            return Rc::clone(known);
        }
        let found = self.bases.iter().map(|base| Place::of(base, Path::new(word)));
        let found: Rc<[Place]> = found.collect();
        self.followed.borrow_mut().insert(word.to_owned(), Rc::clone(&found));
        found
    }

    /// A file that is never written and that this command names for writing.
    pub(super) fn protected(&self, view: &View) -> Option<Why> {
        let written = self.analysis.redirects.iter().filter(|redirect| is_written(redirect));
        let written = written.map(|redirect| redirect.target.text.as_str());
        let named = self.analysis.commands.iter().filter(|simple| is_writer(simple));
        let named = named.flat_map(shell::path_words);
        for word in written.chain(named) {
            for place in self.places(word).iter() {
                let found = view.protection(&place.path).or_else(|| view.protection(&place.given));
                if let Some(found) = found {
                    return Some(Why::Protected { path: place.path.clone(), what: found.what });
                }
            }
        }
        None
    }

    /// Whether the whole command only looks, inside the working directories.
    pub(super) fn only_looks(&self, view: &View) -> bool {
        let own = self.analysis.commands.iter().filter(|simple| simple.part == Part::Own);
        self.analysis.unclear.is_none()
            && own.into_iter().all(|simple| self.looks(view, simple).is_ok())
            && self
                .analysis
                .redirects
                .iter()
                .all(|redirect| !is_written(redirect) && self.redirect(view, redirect).is_none())
    }

    /// Whether every part is allowed, by a rule or because it only looks.
    pub(super) fn fare(&self, view: &View, tool: &str) -> Fare {
        let allowing = || view.rules.iter().filter(|rule| rule.effect == Effect::Allow);
        let whole = allowing().find(|rule| match &rule.content {
            Content::Command(pattern) => rule.tool == tool && pattern.is_whole(self.text),
            Content::All | Content::Paths(_) | Content::Domain(_) | Content::Exactly(_) => false,
        });
        if let Some(rule) = whole {
            return Fare::Allowed(because(rule));
        }
        if let Some(what) = &self.analysis.unclear {
            return Fare::Asked(Why::Unparsable { what: what.clone() });
        }
        let mut by_rule = Vec::new();
        let mut looking = 0;
        for simple in self.analysis.commands.iter().filter(|simple| simple.part == Part::Own) {
            let rule = allowing().find(|rule| match &rule.content {
                Content::All => means_all_of(rule, tool),
                Content::Command(pattern) => rule.tool == tool && pattern.allows(simple),
                Content::Paths(_) | Content::Domain(_) | Content::Exactly(_) => false,
            });
            match (rule, self.looks(view, simple)) {
                (Some(rule), _) => by_rule.push(rule),
                (None, Ok(())) => looking += 1,
                (None, Err(why)) => return Fare::Asked(why),
            }
        }
        for redirect in &self.analysis.redirects {
            if let Some(why) = self.redirect(view, redirect) {
                return Fare::Asked(why);
            }
            // What only looks must not write, nor must a redirection without any command.
            let unruled = looking > 0 || by_rule.is_empty();
            if unruled && is_written(redirect) && !self.may_write(view, redirect) {
                let what = format!("writing {}", redirect.target.text);
                return Fare::Asked(Why::NoRule { what });
            }
        }
        Fare::Allowed(by_rule.last().map_or(Why::OnlyLooks, |rule| because(rule)))
    }

    /// Whether one command only looks, at things inside.
    fn looks(&self, view: &View, simple: &Simple) -> Result<(), Why> {
        match shell::harmless(simple) {
            Harmless::No => Err(Why::NoRule { what: format!("`{}`", simple.text()) }),
            Harmless::Words => Ok(()),
            Harmless::Paths => {
                // Without a path it looks at where it is.
                if self.bases.len() > 1 {
                    self.inside(view, ".")?;
                }
                for word in shell::path_words(simple) {
                    self.inside(view, word)?;
                }
                Ok(())
            }
        }
    }

    fn inside(&self, view: &View, word: &str) -> Result<(), Why> {
        for place in self.places(word).iter() {
            let rule = view.rules.iter().find(|rule| {
                rule.effect == Effect::Allow
                    && matches!(rule.content, Content::Paths(_))
                    && reads(rule, "Read", place) == Reach::Covers
            });
            if !view.is_inside(&place.path) && rule.is_none() {
                return Err(Why::Outside { path: place.path.clone() });
            }
        }
        Ok(())
    }

    /// Why a redirection cannot go through unasked.
    fn redirect(&self, view: &View, redirect: &Redirect) -> Option<Why> {
        if !redirect.target.fixed {
            let what = "where a redirection leads is known only when it runs".to_owned();
            return Some(Why::Unparsable { what });
        }
        let nothing = redirect.target.text == "/dev/null";
        if nothing || (redirect.direction == Direction::Write && !is_written(redirect)) {
            return None;
        }
        if let Err(why) = self.inside(view, &redirect.target.text) {
            return Some(why);
        }
        let places = self.places(&redirect.target.text);
        let mut places = places.iter().filter(|_| is_written(redirect));
        let delicate =
            places.find(|place| !view.is_inside(&place.path) || is_delicate(&place.path));
        delicate.map(|place| Why::Delicate { path: place.path.clone() })
    }

    fn may_write(&self, view: &View, redirect: &Redirect) -> bool {
        self.places(&redirect.target.text).iter().all(|place| {
            view.mode == Mode::AcceptEdits
                || view.rules.iter().any(|rule| {
                    rule.effect == Effect::Allow && writes(rule, "Edit", place) == Reach::Covers
                })
        })
    }
}

fn stronger(one: Reach, other: Reach) -> Reach {
    match (one, other) {
        (Reach::Covers, _) | (_, Reach::Covers) => Reach::Covers,
        (Reach::May, _) | (_, Reach::May) => Reach::May,
        (Reach::No, Reach::No) => Reach::No,
    }
}

/// What programs obey: a repository's configuration and hooks.
pub(super) fn is_delicate(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git" || part.as_os_str() == ".husky")
}

/// Nothing is kept of what goes to these.
fn is_written(redirect: &Redirect) -> bool {
    let sinks = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
    redirect.direction == Direction::Write && !sinks.contains(&redirect.target.text.as_str())
}

fn is_writer(simple: &Simple) -> bool {
    let name = simple.words.first().map(|name| name.text.rsplit('/').next().unwrap_or_default());
    name.is_some_and(|name| WRITERS.contains(&name))
}

/// Where relative paths may begin: here, and wherever a `cd` may lead.
fn bases(view: &View, analysis: &Analysis) -> Result<Vec<PathBuf>, &'static str> {
    let mut bases = vec![view.cwd.clone()];
    for simple in &analysis.commands {
        let name = simple.words.first().map_or("", |name| name.text.as_str());
        if !matches!(name, "cd" | "pushd" | "popd" | "chdir") {
            continue;
        }
        let unknown = "where `cd` leads is not known";
        let mut operands =
            simple.words.iter().skip(1).filter(|word| !matches!(&*word.text, "--" | "-P" | "-L"));
        let target = match (operands.next(), operands.next()) {
            (Some(word), None) if word.fixed && !word.text.starts_with('-') => word.text.clone(),
            (None, None) if name == "cd" => {
                view.user.as_ref().ok_or(unknown)?.to_string_lossy().into_owned()
            }
            (_, _) => return Err(unknown),
        };
        let from_each: Vec<PathBuf> =
            bases.iter().map(|base| super::path::resolve(base, Path::new(&target))).collect();
        for base in from_each {
            if !bases.contains(&base) {
                bases.push(base);
            }
        }
        if bases.len() > MOST_BASES {
            return Err("it changes its directory too often");
        }
    }
    Ok(bases)
}
