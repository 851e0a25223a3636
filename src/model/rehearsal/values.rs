//! The simple values of a playbook: text, numbers, usage, faults.

use std::time::Duration;

use serde_json::Value;

use super::playbook::{Fault, FaultKind, GivenUsage};
use super::reading::{Pair, Reading, find};
use crate::protocol::yaml::{Data, Node};

const RATE_LIMITED: u16 = 429;

impl Reading<'_> {
    pub(super) fn usage(&mut self, node: &Node) -> GivenUsage {
        let known = ["input", "output", "cache_write", "cache_read"];
        let Some(pairs) = self.map(node, "`usage`", &known) else { return GivenUsage::default() };
        GivenUsage {
            input: self.whole_of(pairs, "input"),
            output: self.whole_of(pairs, "output"),
            cache_write: self.whole_of(pairs, "cache_write"),
            cache_read: self.whole_of(pairs, "cache_read"),
        }
    }

    pub(super) fn fault(&mut self, node: &Node) -> Option<Fault> {
        const KINDS: [&str; 5] = ["status", "cut_after", "stall_ms", "garbage", "too_long"];
        let known = [KINDS.as_slice(), &["times", "retry_after"]].concat();
        let pairs = self.map(node, "`fault`", &known)?;
        let given: Vec<&Pair> =
            pairs.iter().filter(|(key, _)| KINDS.contains(&key.name.as_str())).collect();
        if given.len() != 1 {
            let what = match given.is_empty() {
                true => "this fault has no kind".to_owned(),
                false => format!("this fault has {} kinds", given.len()),
            };
            let at = given.get(1).map_or(node.at, |(key, _)| key.at);
            self.mistakes.add_with(at, what, format!("give one of {}", KINDS.join(", ")));
        }
        let times = self.whole_of(pairs, "times").unwrap_or(1);
        let retry_after = self.whole_of(pairs, "retry_after").map(Duration::from_secs);
        let kinds: Vec<Option<FaultKind>> =
            given.iter().map(|(key, value)| self.kind(&key.name, value, retry_after)).collect();
        let kind = kinds.into_iter().next().flatten()?;
        Some(Fault { kind, times: u32::try_from(times).unwrap_or(u32::MAX) })
    }

    fn kind(&mut self, name: &str, node: &Node, wait: Option<Duration>) -> Option<FaultKind> {
        let plain = match name {
            "garbage" => Some(FaultKind::Garbage),
            "too_long" => Some(FaultKind::TooLong),
            _ => None,
        };
        if let Some(kind) = plain {
            return self.truth(node, &format!("`{name}`"))?.then_some(kind);
        }
        let number = self.whole(node, &format!("`{name}`"))?;
        match name {
            "cut_after" => Some(FaultKind::CutAfter(usize::try_from(number).unwrap_or(usize::MAX))),
            "stall_ms" => Some(FaultKind::Stall(Duration::from_millis(number))),
            _ => {
                let Some(status) = u16::try_from(number).ok().filter(|s| (400..600).contains(s))
                else {
                    let hint = "from 400 to 599";
                    self.mistakes.add_with(
                        node.at,
                        format!("{number} is not an error status"),
                        hint,
                    );
                    return None;
                };
                // The real API says how long to wait when it limits the rate.
                let usual = (status == RATE_LIMITED).then_some(Duration::from_secs(1));
                Some(FaultKind::Status { status, retry_after: wait.or(usual) })
            }
        }
    }

    /// A mapping with these keys and no others.
    pub(super) fn map<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        known: &[&str],
    ) -> Option<&'n [Pair]> {
        let pairs = self.any_map(node, what)?;
        for (key, _) in pairs.iter().filter(|(key, _)| !known.contains(&key.name.as_str())) {
            let name = &key.name;
            self.mistakes.add_unknown(key.at, format!("{what} has no `{name}`"), name, known);
        }
        Some(pairs)
    }

    pub(super) fn any_map<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Pair]> {
        match &node.data {
            Data::Map(pairs) => Some(pairs),
            Data::List(_) | Data::Scalar { .. } => {
                self.not(node, what, "a mapping");
                None
            }
        }
    }

    pub(super) fn list<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Node]> {
        match &node.data {
            Data::List(items) => Some(items),
            Data::Map(_) => {
                let found = format!("{what} must be a list, not a mapping");
                self.mistakes.add_with(node.at, found, "begin each item with `- `");
                None
            }
            Data::Scalar { .. } => {
                self.not(node, what, "a list");
                None
            }
        }
    }

    pub(super) fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        match node.scalar() {
            Value::String(text) => return Some(text),
            Value::Bool(_) | Value::Number(_) => {
                let found = format!("{what} must be text, not {}", node.kind());
                self.mistakes.add_with(node.at, found, "put it in quotes");
            }
            Value::Null | Value::Array(_) | Value::Object(_) => self.not(node, what, "text"),
        }
        None
    }

    pub(super) fn text_of(&mut self, pairs: &[Pair], key: &str) -> Option<String> {
        let (_, node) = find(pairs, key)?;
        self.text(node, &format!("`{key}`"))
    }

    pub(super) fn truth(&mut self, node: &Node, what: &str) -> Option<bool> {
        let truth = node.scalar().as_bool();
        if truth.is_none() {
            self.not(node, what, "true or false");
        }
        truth
    }

    /// A number that counts something: whole, and not below zero.
    fn whole(&mut self, node: &Node, what: &str) -> Option<u64> {
        let number = node.scalar();
        if let Some(number) = number.as_u64() {
            return Some(number);
        }
        match number {
            Value::Number(number) if number.as_f64().is_some_and(|number| number < 0.0) => {
                self.mistakes.add(node.at, format!("{what} must not be below zero"));
            }
            Value::Number(_) => {
                self.mistakes.add(node.at, format!("{what} must be a whole number"))
            }
            Value::Null
            | Value::Bool(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {
                self.not(node, what, "a number");
            }
        }
        None
    }

    pub(super) fn whole_of(&mut self, pairs: &[Pair], key: &str) -> Option<u64> {
        let (_, node) = find(pairs, key)?;
        self.whole(node, &format!("`{key}`"))
    }

    fn not(&mut self, node: &Node, what: &str, wanted: &str) {
        self.mistakes.add(node.at, format!("{what} must be {wanted}, not {}", node.kind()));
    }
}
