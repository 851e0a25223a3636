//! An access made ready for rules: paths followed to where they lead, commands taken apart.

use std::path::{Path, PathBuf};

use super::path::resolve;
use super::rule::{Content, Effect, Rule, is_reader, is_writer};
use super::run::Commands;
use super::shell::pattern::Reach;
use super::{Access, View, Why};

#[derive(Debug)]
pub(super) enum Touch<'a> {
    Read(Place),
    Write(Place),
    Run(Commands<'a>),
    /// The host, if the address has one.
    Fetch(Option<String>),
    Spawn(&'a str),
    Mcp {
        server: &'a str,
        tool: &'a str,
    },
    Free,
}

/// A path as it was given and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub given: PathBuf,
    pub path: PathBuf,
}

impl Place {
    pub(super) fn of(base: &Path, path: &Path) -> Self {
        Self { given: base.join(path), path: resolve(base, path) }
    }
}

impl<'a> Touch<'a> {
    pub(super) fn of(view: &View, access: &'a Access) -> Self {
        match access {
            Access::Read(path) => Self::Read(Place::of(&view.cwd, path)),
            Access::Write(path) => Self::Write(Place::of(&view.cwd, path)),
            Access::Run(command) => Self::Run(Commands::of(view, command)),
            Access::Fetch(address) => {
                let url = reqwest::Url::parse(address).ok();
                let host = url.as_ref().and_then(reqwest::Url::host_str).map(str::to_owned);
                Self::Fetch(host.map(|host| host.trim_end_matches('.').to_ascii_lowercase()))
            }
            Access::Spawn(kind) => Self::Spawn(kind),
            Access::Mcp { server, tool } => Self::Mcp { server, tool },
            Access::Free => Self::Free,
        }
    }
}

/// What a rule says.
pub(super) fn because(rule: &Rule) -> Why {
    Why::Rule { rule: rule.text.clone(), effect: rule.effect, source: rule.source.clone() }
}

/// The first rule with this effect that speaks of the touch. For commands, see `Commands`.
pub(super) fn ruled<'v>(
    view: &'v View,
    effect: Effect,
    tool: &str,
    name: Option<&str>,
    touch: &Touch<'_>,
) -> Option<(&'v Rule, Reach)> {
    let rules = view.rules.iter().filter(|rule| rule.effect == effect);
    let mut may = None;
    for rule in rules {
        let reach = match touch {
            _ if matches!(*rule.content, Content::Broken) => match rule.may_mean(tool) {
                true => Reach::May,
                false => Reach::No,
            },
            Touch::Read(place) => reads(rule, tool, place),
            Touch::Write(place) => writes(rule, tool, place),
            Touch::Run(commands) => commands.concern(rule, tool),
            Touch::Fetch(host) => covers(fetches(rule, tool, host.as_deref())),
            Touch::Spawn(kind) => covers(names(rule, tool, Some(kind))),
            Touch::Mcp { server, tool: own } => {
                covers(rule.tool == "*" || rule.covers_mcp(server, own))
            }
            Touch::Free => covers(names(rule, tool, name)),
        };
        match reach {
            Reach::Covers => return Some((rule, Reach::Covers)),
            Reach::May => may = may.or(Some((rule, Reach::May))),
            Reach::No => {}
        }
    }
    may
}

const fn covers(yes: bool) -> Reach {
    if yes { Reach::Covers } else { Reach::No }
}

/// Whether the rule means every use of the tool.
pub(super) fn means_all_of(rule: &Rule, tool: &str) -> bool {
    matches!(*rule.content, Content::All) && (rule.tool == tool || rule.tool == "*")
}

fn names(rule: &Rule, tool: &str, name: Option<&str>) -> bool {
    match &*rule.content {
        Content::All => means_all_of(rule, tool),
        Content::Exactly(wanted) => {
            let start = wanted.strip_suffix(":*");
            let begins = |start: &str| name.is_some_and(|name| begins_with(name, start));
            rule.tool == tool && (name == Some(wanted.as_str()) || start.is_some_and(begins))
        }
        Content::Command(_) | Content::Paths(_) | Content::Domain(_) | Content::Broken => false,
    }
}

/// `Skill(review:*)` means `review` and `review now`.
fn begins_with(name: &str, start: &str) -> bool {
    name.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']))
}

fn fetches(rule: &Rule, tool: &str, host: Option<&str>) -> bool {
    match (&*rule.content, host) {
        (Content::Domain(domain), Some(host)) if rule.tool == tool => {
            let below = domain.strip_prefix("*.");
            let below = below.and_then(|domain| host.strip_suffix(domain));
            host == domain || below.is_some_and(|front| front.ends_with('.'))
        }
        (_, _) => means_all_of(rule, tool),
    }
}

pub(super) fn reads(rule: &Rule, tool: &str, place: &Place) -> Reach {
    file(rule, is_reader(&rule.tool), tool, place)
}

pub(super) fn writes(rule: &Rule, tool: &str, place: &Place) -> Reach {
    file(rule, is_writer(&rule.tool), tool, place)
}

fn file(rule: &Rule, family: bool, tool: &str, place: &Place) -> Reach {
    match &*rule.content {
        Content::Paths(paths) if family => {
            let leads = paths.covers(&place.path);
            // The name counts too when something is forbidden, not when it is allowed.
            let named = rule.effect != Effect::Allow && paths.covers(&place.given);
            covers(leads || named)
        }
        Content::All => covers(means_all_of(rule, tool) || (family && rule.tool != "*")),
        Content::Paths(_)
        | Content::Command(_)
        | Content::Domain(_)
        | Content::Exactly(_)
        | Content::Broken => Reach::No,
    }
}
