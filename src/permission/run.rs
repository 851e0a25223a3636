//! A shell command before the rules: every part is looked at on its own.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::path::{resolve, resolve_in};
use super::rule::{Content, Effect, Rule};
use super::shell::pattern::Reach;
use super::shell::{self, Analysis, Direction, Harmless, Part, Redirect, Setting, Simple};
use super::touch::{Place, because, means_all_of, reads, writes};
use super::view::Secrecy;
use super::{View, Why};
use crate::protocol::op::Mode;

/// More changes of directory than this in one command are not followed.
const MOST_BASES: usize = 16;

/// Programs that write the files they name.
const WRITERS: [&str; 18] = [
    "rm", "mv", "cp", "tee", "touch", "dd", "ln", "truncate", "chmod", "chown", "sed", "install",
    "rsync", "rmdir", "unlink", "shred", "mkdir", "sudoedit",
];

/// Programs that take away all that is below what they name.
const REMOVERS: [&str; 4] = ["rm", "mv", "rmdir", "shred"];

/// Devices that anybody may name.
const OPEN_DEVICES: [&str; 7] = [
    "/dev/null",
    "/dev/zero",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/urandom",
];

#[derive(Debug)]
pub(super) struct Commands<'a> {
    pub text: &'a str,
    pub analysis: Analysis,
    /// Every directory that the command may be in when it names a relative path.
    bases: Vec<PathBuf>,
    functions: Arc<BTreeSet<String>>,
    /// Where words lead, followed once however many rules look at them.
    followed: RefCell<HashMap<String, Rc<[Place]>>>,
    /// The places that each command names, in the order of the commands.
    named: OnceCell<Vec<Named>>,
}

/// What one command names.
#[derive(Debug)]
struct Named {
    looks: Harmless,
    is_writer: bool,
    /// Behind each place the word that means it.
    places: Vec<Rc<[Place]>>,
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
        // A function of that name need not run what the program of that name would.
        let is_function = |simple: &&mut Simple| {
            simple.words.first().is_some_and(|name| view.functions.contains(&name.text))
        };
        for simple in analysis.commands.iter_mut().filter(is_function) {
            simple.part = Part::Own;
        }
        let functions = Arc::clone(&view.functions);
        let (followed, named) = (RefCell::default(), OnceCell::new());
        Self { text, analysis, bases, functions, followed, named }
    }

    /// Whether a rule that forbids or asks speaks of any part.
    pub(super) fn concern(&self, rule: &Rule, tool: &str) -> Reach {
        match &*rule.content {
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
            Content::All | Content::Domain(_) | Content::Exactly(_) | Content::Broken => Reach::No,
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
        let named = self.named().iter().flat_map(|named| {
            let places = named.places.iter().flat_map(|places| places.iter());
            places.map(|place| match named.is_writer {
                true => stronger(reads(rule, "Read", place), writes(rule, "Edit", place)),
                false => reads(rule, "Read", place),
            })
        });
        redirected.chain(named).fold(Reach::No, stronger)
    }

    fn named(&self) -> &[Named] {
        self.named.get_or_init(|| {
            let named = |simple: &Simple| {
                let looks = match simple.words.first() {
                    Some(name) if self.functions.contains(&name.text) => Harmless::No,
                    Some(_) | None => shell::harmless(simple),
                };
                let words = match looks {
                    Harmless::Words => Vec::new(),
                    Harmless::Paths | Harmless::No => shell::path_words(simple),
                };
                let places = words.into_iter().map(|word| self.places(word)).collect();
                Named { looks, is_writer: is_writer(simple), places }
            };
            self.analysis.commands.iter().map(named).collect()
        })
    }

    fn strongest(&self, word: &str, reach: impl Fn(&Place) -> Reach) -> Reach {
        self.places(word).iter().map(reach).fold(Reach::No, stronger)
    }

    /// What a word may mean as a path, from every directory that the command may be in.
    fn places(&self, word: &str) -> Rc<[Place]> {
        if let Some(known) = self.followed.borrow().get(word) {
            return Rc::clone(known);
        }
        let path = Path::new(word);
        let place = |base: &PathBuf| Place { given: base.join(path), path: resolve_in(base, path) };
        // An absolute path is the same from everywhere.
        let bases = if path.is_absolute() { 1 } else { self.bases.len() };
        let found: Rc<[Place]> = self.bases.iter().take(bases).map(place).collect();
        self.followed.borrow_mut().insert(word.to_owned(), Rc::clone(&found));
        found
    }

    /// A file that is never written and that this command names for writing.
    pub(super) fn protected(&self, view: &View) -> Option<Why> {
        let written = self.analysis.redirects.iter().filter(|redirect| is_written(redirect));
        let written = written.map(|redirect| redirect.target.text.as_str());
        for word in written {
            for place in self.places(word).iter() {
                let found = view.protection(&place.path).or_else(|| view.protection(&place.given));
                if let Some(found) = found {
                    return Some(Why::Protected { path: place.path.clone(), what: found.what });
                }
            }
        }
        let all = self.analysis.commands.iter().zip(self.named());
        all.into_iter().find_map(|(simple, named)| names_protected(view, simple, named))
    }

    /// A file with keys that this command names, and how well it is kept.
    pub(super) fn secret(&self, view: &View) -> Option<(PathBuf, Secrecy)> {
        let read = self.analysis.redirects.iter().filter(|redirect| redirect.target.fixed);
        let read = read.flat_map(|redirect| {
            let places = self.places(&redirect.target.text);
            places.iter().filter_map(|place| view.secret_at(place)).collect::<Vec<_>>()
        });
        let named = self.analysis.commands.iter().zip(self.named()).flat_map(|(simple, named)| {
            let here = self.bases.iter().filter(|_| shell::goes_deep(simple));
            let below = here.filter_map(|base| view.secret_below(base));
            let deep = shell::goes_deep(simple);
            let places = named.places.iter().flat_map(|places| places.iter());
            let found = places.filter_map(move |place| {
                view.secret_at(place)
                    .or_else(|| deep.then(|| view.secret_below(&place.path)).flatten())
            });
            found.chain(below).collect::<Vec<_>>()
        });
        read.chain(named).max_by_key(|(_, secrecy)| *secrecy)
    }

    /// Whether the whole command only looks, inside the working directories.
    pub(super) fn only_looks(&self, view: &View) -> bool {
        let all = self.analysis.commands.iter().zip(self.named());
        let mut own = all.filter(|(simple, _)| simple.part == Part::Own);
        self.analysis.unclear.is_none()
            && self.secret(view).is_none()
            && own.all(|(simple, named)| self.looks(view, simple, named).is_ok())
            && self
                .analysis
                .redirects
                .iter()
                .all(|redirect| !is_written(redirect) && self.redirect(view, redirect).is_none())
    }

    /// Whether every part is allowed, by a rule or because it only looks.
    pub(super) fn fare(&self, view: &View, tool: &str) -> Fare {
        let allowing = || view.rules.iter().filter(|rule| rule.effect == Effect::Allow);
        let whole = allowing().find(|rule| match &*rule.content {
            Content::Command(pattern) => rule.tool == tool && pattern.is_whole(self.text),
            Content::All
            | Content::Paths(_)
            | Content::Domain(_)
            | Content::Exactly(_)
            | Content::Broken => false,
        });
        if let Some(rule) = whole {
            return Fare::Allowed(because(rule));
        }
        if let Some(what) = &self.analysis.unclear {
            return Fare::Asked(Why::Unparsable { what: what.clone() });
        }
        if let Some((path, _)) = self.secret(view) {
            return Fare::Asked(Why::Secret { path });
        }
        let mut by_rule = Vec::new();
        let mut looking = 0;
        let all = self.analysis.commands.iter().zip(self.named());
        for (simple, named) in all.filter(|(simple, _)| simple.part == Part::Own) {
            let rule = allowing().find(|rule| match &*rule.content {
                Content::All => means_all_of(rule, tool),
                Content::Command(pattern) => rule.tool == tool && pattern.allows(simple),
                Content::Paths(_) | Content::Domain(_) | Content::Exactly(_) | Content::Broken => {
                    false
                }
            });
            if let Some(rule) = rule {
                by_rule.push(rule);
            } else if let Err(why) = self.looks(view, simple, named) {
                return Fare::Asked(why);
            } else {
                looking += 1;
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
    fn looks(&self, view: &View, simple: &Simple, named: &Named) -> Result<(), Why> {
        match named.looks {
            Harmless::No => Err(Why::NoRule { what: format!("`{}`", simple.text()) }),
            Harmless::Words => Ok(()),
            Harmless::Paths => {
                // Without a path it looks at where it is.
                if self.bases.len() > 1 {
                    inside(view, &self.places("."))?;
                }
                for places in &named.places {
                    inside(view, places)?;
                }
                let is_git = simple.words.first().is_some_and(|name| name.text == "git");
                match self.bases.iter().find(|base| is_git && has_loose_repository(base)) {
                    Some(base) => Err(Why::Delicate { path: base.clone() }),
                    None => Ok(()),
                }
            }
        }
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
        let places = self.places(&redirect.target.text);
        if let Err(why) = inside(view, &places) {
            return Some(why);
        }
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

/// Whether all these places may be read without asking.
fn inside(view: &View, places: &[Place]) -> Result<(), Why> {
    let allows = |rule: &&Rule, place: &Place| {
        rule.effect == Effect::Allow
            && matches!(*rule.content, Content::Paths(_))
            && reads(rule, "Read", place) == Reach::Covers
    };
    let mut outside = places.iter().filter(|place| !view.is_inside(&place.path));
    match outside.find(|place| !view.rules.iter().any(|rule| allows(&rule, place))) {
        Some(place) => Err(Why::Outside { path: place.path.clone() }),
        None => Ok(()),
    }
}

/// What is never written and may be written by this command. Devices and the kernel's files are
/// named by programs that only read, so for them only known writers count.
fn names_protected(view: &View, simple: &Simple, named: &Named) -> Option<Why> {
    let writes = named.is_writer || (named.looks != Harmless::Words && shell::may_write(simple));
    if !writes {
        return None;
    }
    let removes = program(simple).is_some_and(|name| REMOVERS.contains(&name));
    for place in named.places.iter().flat_map(|places| places.iter()) {
        let open = place.given.to_str().is_some_and(|given| OPEN_DEVICES.contains(&given));
        let found = view.protection(&place.path).or_else(|| view.protection(&place.given));
        let found = found.filter(|found| !open && (named.is_writer || !found.is_of_system()));
        let found = found.or_else(|| removes.then(|| view.protected_below(&place.path)).flatten());
        if let Some(found) = found {
            return Some(Why::Protected { path: place.path.clone(), what: found.what });
        }
    }
    None
}

/// Whether git would take a directory for a repository that is none of the user's: its files
/// lie open, where tools may write, and its configuration names programs.
fn has_loose_repository(dir: &Path) -> bool {
    for dir in dir.ancestors() {
        if dir.join(".git").symlink_metadata().is_ok() {
            return false;
        }
        if dir.join("HEAD").is_file() && dir.join("config").is_file() {
            return true;
        }
    }
    false
}

fn stronger(one: Reach, other: Reach) -> Reach {
    match (one, other) {
        (Reach::Covers, _) | (_, Reach::Covers) => Reach::Covers,
        (Reach::May, _) | (_, Reach::May) => Reach::May,
        (Reach::No, Reach::No) => Reach::No,
    }
}

/// What programs obey: a repository's configuration and hooks, and what editors, shells and
/// agents are told to run.
pub(super) fn is_delicate(path: &Path) -> bool {
    let names = [".git", ".husky", ".gitmodules", ".envrc", ".vscode", ".idea", ".mcp.json"];
    let ours = ["hooks", "agents", "commands", "skills", "plugins"];
    let mut above = "";
    for part in path.components().filter_map(|part| part.as_os_str().to_str()) {
        let in_ours = matches!(above, ".claude" | ".quarterdeck") && ours.contains(&part);
        if names.contains(&part) || in_ours {
            return true;
        }
        above = part;
    }
    false
}

/// Nothing is kept of what goes to these.
fn is_written(redirect: &Redirect) -> bool {
    let sinks = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
    redirect.direction == Direction::Write && !sinks.contains(&redirect.target.text.as_str())
}

fn program(simple: &Simple) -> Option<&str> {
    simple.words.first().map(|name| name.text.rsplit('/').next().unwrap_or_default())
}

fn is_writer(simple: &Simple) -> bool {
    program(simple).is_some_and(|name| WRITERS.contains(&name))
}

/// A directory as the shell tells it and where it really is. `cd ..` goes up from what is told,
/// unless the shell was asked for the other way.
#[derive(Debug, PartialEq, Eq)]
struct Base {
    told: PathBuf,
    real: PathBuf,
}

impl Base {
    fn changed(&self, target: &Path) -> Vec<Self> {
        let real = resolve_in(&self.real, target);
        let told = without_parents(&self.told.join(target));
        let climbs = target.components().any(|part| part == Component::ParentDir);
        if !climbs || told == real {
            return vec![Self { told, real }];
        }
        let elsewhere = resolve(Path::new("/"), &told);
        vec![Self { told: real.clone(), real }, Self { told, real: elsewhere }]
    }
}

/// Every `..` takes away the name in front of it, wherever that leads.
fn without_parents(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => clean.push(part),
        }
    }
    clean
}

/// Where relative paths may begin: here, and wherever a `cd` may lead.
fn bases(view: &View, analysis: &Analysis) -> Result<Vec<PathBuf>, &'static str> {
    let here = resolve(Path::new("/"), &view.cwd);
    let mut bases = vec![Base { told: here.clone(), real: here }];
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
        if analysis.repeats && !target.starts_with('/') {
            return Err("it changes its directory as often as it repeats");
        }
        let from_each: Vec<Base> =
            bases.iter().flat_map(|base| base.changed(Path::new(&target))).collect();
        for base in from_each {
            if !bases.contains(&base) {
                bases.push(base);
            }
        }
        if bases.len() > MOST_BASES {
            return Err("it changes its directory too often");
        }
    }
    Ok(bases.into_iter().map(|base| base.real).collect())
}
