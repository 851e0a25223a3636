//! The decision. The order of its steps is the policy: deny, what is never written, bypass, ask,
//! the limits of the mode, allow; and what is left is asked.

use std::path::PathBuf;

use serde_json::Value;

use super::rule::{Content, Effect, tool_name};
use super::run::{Fare, is_delicate};
use super::shell::pattern::Reach;
use super::touch::{Place, Touch, because, ruled, writes};
use super::view::Secrecy;
use super::{Access, Decision, Seat, View, Why, suggest};
use crate::protocol::op::Mode;

/// Whether a tool may be used with this input, which would touch `access`.
pub fn decide(view: &View, tool: &str, input: &Value, access: &[Access]) -> Decision {
    let tool = tool_name(tool);
    let free = [Access::Free];
    let access = if access.is_empty() { &free } else { access };
    let touches: Vec<Touch<'_>> = access.iter().map(|access| Touch::of(view, access)).collect();
    let name = ["subagent_type", "skill", "command", "name"];
    let name = name.iter().find_map(|key| input.get(key)?.as_str());
    let case = Case { view, tool, name, touches: &touches };
    match case.judge() {
        Decision::Ask { why, suggestions: _ } if view.mode == Mode::DontAsk => {
            Decision::Deny { why: Why::Mode { mode: view.mode, instead: why.to_string() } }
        }
        Decision::Ask { why, suggestions: _ } => {
            let suggestions = suggest::suggest(view, tool, name, &touches, &why);
            Decision::Ask { why, suggestions }
        }
        decision @ (Decision::Allow { .. } | Decision::Deny { .. }) => decision,
    }
}

struct Case<'a> {
    view: &'a View,
    tool: &'a str,
    /// What the input names, for rules that are compared as they are.
    name: Option<&'a str>,
    touches: &'a [Touch<'a>],
}

fn ask(why: Why) -> Decision {
    Decision::Ask { why, suggestions: Vec::new() }
}

impl Case<'_> {
    fn judge(&self) -> Decision {
        let denied = self.first(Effect::Deny);
        if let Some((why, Reach::Covers)) = &denied {
            return Decision::Deny { why: why.clone() };
        }
        if let Some(why) = self.touches.iter().find_map(|touch| self.protected(touch)) {
            return Decision::Deny { why };
        }
        if let Some((why, _)) = denied {
            return ask(why);
        }
        // Only what is denied or never touched holds here: who bypasses is not asked, not even by
        // an ask rule.
        if self.view.mode == Mode::BypassPermissions {
            let why = Why::Mode { mode: self.view.mode, instead: String::new() };
            return Decision::Allow { why };
        }
        if let Some((why, _)) = self.first(Effect::Ask) {
            return ask(why);
        }
        if let Some(why) = self.touches.iter().find_map(|touch| self.limit(touch)) {
            return Decision::Deny { why };
        }
        let mut allowed = Why::Free;
        for touch in self.touches {
            match self.allowed(touch) {
                Fare::Allowed(why) => allowed = why,
                Fare::Asked(why) => return ask(why),
            }
        }
        Decision::Allow { why: allowed }
    }

    /// The strongest word of the rules with this effect.
    fn first(&self, effect: Effect) -> Option<(Why, Reach)> {
        let mut may = None;
        for touch in self.touches {
            match ruled(self.view, effect, self.tool, self.name, touch) {
                Some((rule, Reach::Covers)) => return Some((because(rule), Reach::Covers)),
                Some((rule, reach)) => {
                    may.get_or_insert_with(|| (self.may_be(rule, touch), reach));
                }
                None => {}
            }
        }
        may
    }

    fn may_be(&self, rule: &super::Rule, touch: &Touch<'_>) -> Why {
        match touch {
            Touch::Run(commands) if commands.analysis.unclear.is_some() => {
                Why::Unparsable { what: commands.analysis.unclear.clone().unwrap_or_default() }
            }
            Touch::Run(_)
            | Touch::Read(_)
            | Touch::Write(_)
            | Touch::Fetch(_)
            | Touch::Spawn(_)
            | Touch::Mcp { .. }
            | Touch::Free => Why::MayBe { rule: rule.text.clone(), source: rule.source.clone() },
        }
    }

    fn protected(&self, touch: &Touch<'_>) -> Option<Why> {
        match touch {
            Touch::Write(place) => {
                let view = self.view;
                let found = view.protection(&place.path).or_else(|| view.protection(&place.given));
                let (path, what) = (place.path.clone(), found?.what);
                Some(Why::Protected { path, what })
            }
            Touch::Run(commands) => commands.protected(self.view).or_else(|| {
                let kept = commands.secret(self.view);
                kept.filter(|(_, secrecy)| *secrecy == Secrecy::Never)
                    .map(|(path, _)| Why::Secret { path })
            }),
            Touch::Read(place) => match self.secret(place) {
                Some((path, Secrecy::Never)) => Some(Why::Secret { path }),
                Some((_, Secrecy::Asked)) | None => None,
            },
            Touch::Fetch(_) | Touch::Spawn(_) | Touch::Mcp { .. } | Touch::Free => None,
        }
    }

    /// What the mode forbids, whatever the rules allow.
    fn limit(&self, touch: &Touch<'_>) -> Option<Why> {
        let mode = self.view.mode;
        let refuse = |instead: &str| Some(Why::Mode { mode, instead: instead.to_owned() });
        match mode {
            Mode::Plan => match touch {
                Touch::Write(place) if self.is_plan(place) => None,
                Touch::Write(_) => refuse("nothing but the plan is written before it is approved"),
                Touch::Run(commands) if !commands.only_looks(self.view) => {
                    refuse("only read-only commands run before the plan is approved")
                }
                Touch::Run(_)
                | Touch::Read(_)
                | Touch::Fetch(_)
                | Touch::Spawn(_)
                | Touch::Mcp { .. }
                | Touch::Free => None,
            },
            Mode::Delegate if self.view.seat == Seat::Lead => match touch {
                Touch::Spawn(_) | Touch::Free => None,
                Touch::Read(_)
                | Touch::Write(_)
                | Touch::Run(_)
                | Touch::Fetch(_)
                | Touch::Mcp { .. } => refuse("the lead only coordinates"),
            },
            Mode::Default
            | Mode::AcceptEdits
            | Mode::BypassPermissions
            | Mode::DontAsk
            | Mode::Delegate
            | Mode::Bubble => None,
        }
    }

    /// A file with keys that this would read. Searching a directory reads all that is below it.
    fn secret(&self, place: &Place) -> Option<(PathBuf, Secrecy)> {
        // Searching a directory asks nobody: the tools leave the secret files in it out.
        self.view.secret_at(place)
    }

    fn is_plan(&self, place: &Place) -> bool {
        let plan = self.view.plan_file.as_deref();
        plan.is_some_and(|plan| super::path::resolve(&self.view.cwd, plan) == place.path)
    }

    fn allowed(&self, touch: &Touch<'_>) -> Fare {
        let rule = || match ruled(self.view, Effect::Allow, self.tool, self.name, touch) {
            Some((rule, Reach::Covers)) => Some(rule),
            Some((_, Reach::May | Reach::No)) | None => None,
        };
        let no_rule = |what: String| Fare::Asked(Why::NoRule { what });
        match touch {
            Touch::Free | Touch::Spawn(_) => {
                rule().map_or(Fare::Allowed(Why::Free), |rule| Fare::Allowed(because(rule)))
            }
            Touch::Run(commands) => commands.fare(self.view, self.tool),
            Touch::Read(place) => match (self.secret(place), rule()) {
                (Some((path, _)), _) => Fare::Asked(Why::Secret { path }),
                (None, rule) => self.file(place, rule, Fare::Allowed(Why::OnlyLooks)),
            },
            Touch::Write(place) if self.view.mode == Mode::Plan && self.is_plan(place) => {
                Fare::Allowed(Why::Mode { mode: Mode::Plan, instead: String::new() })
            }
            Touch::Write(place) if is_delicate(&place.path) => {
                let rules = self.view.rules.iter().filter(|rule| rule.effect == Effect::Allow);
                let mut exact = rules.filter(|rule| matches!(*rule.content, Content::Paths(_)));
                let exact = exact.find(|rule| writes(rule, self.tool, place) == Reach::Covers);
                let delicate = Fare::Asked(Why::Delicate { path: place.path.clone() });
                exact.map_or(delicate, |rule| Fare::Allowed(because(rule)))
            }
            Touch::Write(place) => {
                let inside = match self.view.mode {
                    Mode::AcceptEdits => {
                        Fare::Allowed(Why::Mode { mode: Mode::AcceptEdits, instead: String::new() })
                    }
                    Mode::Default
                    | Mode::Plan
                    | Mode::BypassPermissions
                    | Mode::DontAsk
                    | Mode::Delegate
                    | Mode::Bubble => no_rule(format!("writing {}", place.path.display())),
                };
                self.file(place, rule(), inside)
            }
            Touch::Fetch(None) => {
                Fare::Asked(Why::Unparsable { what: "the address names no host".to_owned() })
            }
            Touch::Fetch(Some(host)) => rule().map_or_else(
                || no_rule(format!("fetching from {host}")),
                |rule| Fare::Allowed(because(rule)),
            ),
            Touch::Mcp { server, tool } => rule().map_or_else(
                || no_rule(format!("`mcp__{server}__{tool}`")),
                |rule| Fare::Allowed(because(rule)),
            ),
        }
    }

    /// A rule without a path holds inside the working directories only.
    fn file(&self, place: &Place, rule: Option<&super::Rule>, inside: Fare) -> Fare {
        let is_inside = self.view.is_inside(&place.path);
        match rule {
            Some(rule) if is_inside || matches!(*rule.content, Content::Paths(_)) => {
                Fare::Allowed(because(rule))
            }
            Some(_) | None if is_inside => inside,
            Some(_) | None => Fare::Asked(Why::Outside { path: place.path.clone() }),
        }
    }
}
