//! `quarterdeck doctor`: what the console finds on this machine, and what is wrong in the home
//! directory, each with what would put it right.
//!
//! Only what is ours is put right. What holds something that somebody wrote is asked about first.

mod around;
mod cure;
mod files;
mod finding;
mod places;
mod teams;

use std::io::{self, IsTerminal, Write};

use clap::Args;
use serde_json::{Value, json};

use self::finding::{Cure, Finding, State};
use super::failure::Failure;
use super::out::Out;
use super::printable::one_line;
use crate::store::Store;

#[derive(Debug, Args)]
pub struct Doctor {
    /// Fix what is ours; asks before removing anything with content
    #[arg(long)]
    pub fix: bool,
    /// With --fix: remove without asking
    #[arg(long, requires = "fix")]
    pub yes: bool,
}

/// What became of a cure.
enum Done {
    Not,
    Cured,
    Declined,
    Failed(String),
}

pub fn run(store: &Store, doctor: &Doctor, out: &mut Out) -> Result<(), Failure> {
    let mut found = around::look();
    found.extend(places::look()?);
    found.extend(files::look(store));
    found.extend(teams::look(store));
    let mut told = Vec::new();
    for finding in found {
        let done = match &finding.cure {
            Some(cure) if doctor.fix => treat(store, &finding, cure, doctor.yes),
            Some(_) | None => Done::Not,
        };
        told.push((finding, done));
    }
    let left = told.iter().filter(|(finding, done)| is_left(finding, done)).count();
    let value = json!({
        "checks": told.iter().map(|(finding, done)| as_json(finding, done)).collect::<Vec<_>>(),
        "problems": told.iter().filter(|(finding, _)| finding.state == State::Wrong).count(),
        "left": left,
    });
    out.answer(&value, || in_words(&told, left, doctor.fix))?;
    match left {
        0 => Ok(()),
        1 => Err(printed(Failure::no("problems", "one problem is left"))),
        many => Err(printed(Failure::no("problems", format!("{many} problems are left")))),
    }
}

fn is_left(finding: &Finding, done: &Done) -> bool {
    finding.state == State::Wrong && !matches!(done, Done::Cured)
}

fn treat(store: &Store, finding: &Finding, cure: &Cure, yes: bool) -> Done {
    if cure.asks && !yes && !is_wanted(finding, cure) {
        return Done::Declined;
    }
    match cure::apply(store, &cure.deed) {
        Ok(()) => Done::Cured,
        Err(error) => Done::Failed(error),
    }
}

/// Asks on the terminal; without one the answer is no.
fn is_wanted(finding: &Finding, cure: &Cure) -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    let mut stderr = io::stderr().lock();
    let question = format!("{}\n  {}? [y/N] ", one_line(&finding.what), one_line(&cure.words));
    let mut answer = String::new();
    // Whoever cannot be asked has not said yes.
    let asked = stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush());
    asked.is_ok()
        && io::stdin().read_line(&mut answer).is_ok()
        && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

fn as_json(finding: &Finding, done: &Done) -> Value {
    let mut value = json!({
        "area": finding.area,
        "state": finding.state.as_str(),
        "what": finding.what,
        "fix": finding.cure.as_ref().map(|cure| &cure.words),
        "asks": finding.cure.as_ref().is_some_and(|cure| cure.asks),
    });
    match done {
        Done::Not => {}
        Done::Cured => value["fixed"] = true.into(),
        Done::Declined => value["fixed"] = false.into(),
        Done::Failed(error) => {
            value["fixed"] = false.into();
            value["error"] = error.as_str().into();
        }
    }
    value
}

fn in_words(told: &[(Finding, Done)], left: usize, fixing: bool) -> String {
    let mut lines = Vec::new();
    let mut area = "";
    for (finding, done) in told {
        if finding.area != area {
            area = finding.area;
            lines.push(format!("{}{area}", if lines.is_empty() { "" } else { "\n" }));
        }
        lines.push(format!("  {} {}", finding.state.sign(), one_line(&finding.what)));
        let Some(cure) = &finding.cure else { continue };
        let words = one_line(&cure.words);
        lines.push(match done {
            Done::Not if cure.asks => format!("      --fix would ask, then: {words}"),
            Done::Not => format!("      --fix would: {words}"),
            Done::Cured => format!("      done: {words}"),
            Done::Declined => format!("      left as it is; --fix --yes would: {words}"),
            Done::Failed(error) => format!("      could not {words}: {}", one_line(error)),
        });
    }
    let wrong = told.iter().filter(|(finding, _)| finding.state == State::Wrong).count();
    let end = match (wrong, left, fixing) {
        (0, _, _) => "No problems found.".to_owned(),
        (_, 0, true) => "All problems are fixed.".to_owned(),
        (_, 1, true) => "One problem is left.".to_owned(),
        (_, many, true) => format!("{many} problems are left."),
        (1, ..) => "One problem. `quarterdeck doctor --fix` fixes what it can.".to_owned(),
        (many, ..) => {
            format!("{many} problems. `quarterdeck doctor --fix` fixes what it can.")
        }
    };
    lines.push(format!("\n{end}"));
    lines.join("\n")
}

/// What scripts read was printed with the findings.
fn printed(failure: Failure) -> Failure {
    Failure::Printed(Box::new(failure))
}
