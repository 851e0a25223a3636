//! What a `Bash(…)` rule covers: one command exactly, all with a beginning, or a wildcard.
//!
//! Allowing and denying ask different questions. To allow, every word that counts must be known
//! and equal. To deny, it is enough that the command could be the one that is meant.

use std::collections::BTreeMap;

use super::wrapper::base_name;
use super::{Setting, Simple, Word, analyse};

#[derive(Debug, Clone)]
pub(in crate::permission) struct CommandPattern {
    kind: Kind,
    /// As it was written, for commands of several parts.
    text: String,
}

#[derive(Debug, Clone)]
enum Kind {
    Exactly(Vec<String>),
    /// `git log:*` or `git log *`: these words, then anything.
    Beginning(Vec<String>),
    /// A `*` elsewhere stands for any text.
    Wild(Vec<String>),
}

/// How far a rule reaches a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::permission) enum Reach {
    Covers,
    /// It would, if words that are not known yet turn out so.
    May,
    No,
}

impl CommandPattern {
    pub(in crate::permission) fn parse(text: &str) -> Self {
        let text = text.trim();
        let beginning = text.strip_suffix(":*").or_else(|| text.strip_suffix(" *"));
        let kind = match beginning {
            Some(start) if !start.contains('*') => Kind::Beginning(words(start)),
            Some(_) | None if text.contains('*') => {
                Kind::Wild(text.split('*').map(str::to_owned).collect())
            }
            Some(_) | None => Kind::Exactly(words(text)),
        };
        Self { kind, text: text.to_owned() }
    }

    /// Whether the rule is this whole command, letter by letter.
    pub(in crate::permission) fn is_whole(&self, command: &str) -> bool {
        matches!(self.kind, Kind::Exactly(_)) && self.text == command.trim()
    }

    /// Whether the rule allows this command: nothing may stand in front that it does not mention.
    pub(in crate::permission) fn allows(&self, simple: &Simple) -> bool {
        self.reach(simple.env.iter().chain(&simple.words)) == Reach::Covers
    }

    /// Whether the rule speaks of this command, whatever stands in front of it and however its
    /// program is reached.
    pub(in crate::permission) fn concerns(&self, simple: &Simple) -> Reach {
        if self.names_another(simple) {
            return Reach::No;
        }
        let mut named = simple.words.clone();
        if let Some(name) = named.first_mut().filter(|name| name.fixed) {
            name.text = base_name(&name.text).to_owned();
        }
        let plain = without_git_options(&named);
        let reaches = [
            self.reach(simple.env.iter().chain(&simple.words)),
            self.reach(simple.words.iter()),
            self.reach(named.iter()),
            self.reach(plain.iter()),
        ];
        if reaches.contains(&Reach::Covers) {
            Reach::Covers
        } else if reaches.contains(&Reach::May) {
            Reach::May
        } else {
            Reach::No
        }
    }

    /// Whether the program is surely not the one that the rule begins with. Most are not.
    fn names_another(&self, simple: &Simple) -> bool {
        let (Kind::Exactly(wanted) | Kind::Beginning(wanted)) = &self.kind else { return false };
        match (wanted.first(), simple.words.first()) {
            (Some(wanted), Some(name)) if simple.env.is_empty() && name.fixed => {
                name.text != *wanted && base_name(&name.text) != wanted
            }
            (_, _) => false,
        }
    }

    fn reach<'w>(&self, words: impl Iterator<Item = &'w Word> + Clone) -> Reach {
        match &self.kind {
            Kind::Exactly(wanted) => {
                let same = reach_beginning(wanted, words.clone());
                let longer = same == Reach::Covers && words.count() != wanted.len();
                if longer { Reach::No } else { same }
            }
            Kind::Beginning(wanted) => reach_beginning(wanted, words),
            Kind::Wild(parts) => {
                let text: Vec<&str> = words.clone().map(|word| word.text.as_str()).collect();
                let fixed = words.clone().all(|word| word.fixed);
                match (wild(parts, &text.join(" ")), fixed) {
                    (true, true) => Reach::Covers,
                    (false, true) => Reach::No,
                    (_, false) => Reach::May,
                }
            }
        }
    }
}

/// The words of a rule, quotes taken off as those of commands are.
fn words(text: &str) -> Vec<String> {
    let none = BTreeMap::new();
    let analysis = analyse(text, Setting { user: None, aliases: &none });
    match analysis.commands.as_slice() {
        [only] if analysis.unclear.is_none() => {
            only.env.iter().chain(&only.words).map(|word| word.text.clone()).collect()
        }
        _ => text.split_whitespace().map(str::to_owned).collect(),
    }
}

fn reach_beginning<'w>(wanted: &[String], mut words: impl Iterator<Item = &'w Word>) -> Reach {
    for wanted in wanted {
        match words.next() {
            Some(word) if !word.fixed => return Reach::May,
            Some(word) if word.text == *wanted => {}
            Some(_) | None => return Reach::No,
        }
    }
    Reach::Covers
}

/// `git -C dir push` is `git push` to a rule that denies.
fn without_git_options(words: &[Word]) -> Vec<Word> {
    let Some((name, mut rest)) = words.split_first().filter(|(name, _)| name.text == "git") else {
        return words.to_vec();
    };
    while let Some((word, behind)) =
        rest.split_first().filter(|(word, _)| word.text.starts_with('-'))
    {
        let valued =
            ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"];
        let skipped = usize::from(valued.contains(&word.text.as_str()));
        rest = behind.get(skipped..).unwrap_or_default();
    }
    [std::slice::from_ref(name), rest].concat()
}

/// Whether the parts occur in order, the first at the beginning and the last at the end.
fn wild(parts: &[String], text: &str) -> bool {
    let Some((first, rest)) = parts.split_first() else { return false };
    let Some((last, middle)) = rest.split_last() else { return first == text };
    let Some(mut text) = text.strip_prefix(first.as_str()) else { return false };
    for part in middle {
        let Some(at) = text.find(part.as_str()) else { return false };
        text = text.get(at + part.len()..).unwrap_or_default();
    }
    text.ends_with(last.as_str())
}
