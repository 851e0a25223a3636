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

use self::around::Terminal;
use self::finding::{Cure, Finding, State};
use super::failure::Failure;
use super::out::Out;
use super::printable::one_line;
use crate::console::state::offers::{Checked, CheckedKind};
use crate::settings::paths::Home;
use crate::store::{Durability, Store};

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
    let mut told = Vec::new();
    for finding in found(store, Terminal::Free)? {
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
    out.answer(&value, || in_words(&lines(&told, left, doctor.fix)))?;
    match left {
        0 => Ok(()),
        1 => Err(printed(Failure::no("problems", "one problem is left"))),
        many => Err(printed(Failure::no("problems", format!("{many} problems are left")))),
    }
}

/// What the console shows of it, which has the terminal meanwhile. Nothing is put right.
pub fn report(home: &Home) -> Result<Vec<Checked>, String> {
    let store = Store::open(home.clone(), Durability::ProcessCrash);
    let found = found(&store, Terminal::InUse).map_err(|failure| failure.message().to_owned())?;
    let told: Vec<(Finding, Done)> = found.into_iter().map(|one| (one, Done::Not)).collect();
    let left = told.iter().filter(|(finding, done)| is_left(finding, done)).count();
    Ok(lines(&told, left, false))
}

fn found(store: &Store, terminal: Terminal) -> Result<Vec<Finding>, Failure> {
    let mut found = around::look(terminal);
    found.extend(places::look()?);
    found.extend(files::look(store));
    found.extend(teams::look(store));
    Ok(found)
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

fn in_words(lines: &[Checked]) -> String {
    let mut told = Vec::new();
    for Checked { kind, text } in lines {
        let text = one_line(text);
        let gap = if told.is_empty() { "" } else { "\n" };
        told.push(match kind {
            CheckedKind::Area | CheckedKind::End => format!("{gap}{text}"),
            CheckedKind::Fine => format!("  ✔ {text}"),
            CheckedKind::Note => format!("  · {text}"),
            CheckedKind::Wrong => format!("  ✖ {text}"),
            CheckedKind::Cure => format!("      {text}"),
        });
    }
    told.join("\n")
}

fn lines(told: &[(Finding, Done)], left: usize, fixing: bool) -> Vec<Checked> {
    let line = |kind, text: String| Checked { kind, text };
    let mut lines = Vec::new();
    let mut area = "";
    for (finding, done) in told {
        if finding.area != area {
            area = finding.area;
            lines.push(line(CheckedKind::Area, area.to_owned()));
        }
        let kind = match finding.state {
            State::Fine => CheckedKind::Fine,
            State::Note => CheckedKind::Note,
            State::Wrong => CheckedKind::Wrong,
        };
        lines.push(line(kind, finding.what.clone()));
        let Some(Cure { words, asks, .. }) = &finding.cure else { continue };
        let cure = match done {
            Done::Not if *asks => format!("--fix would ask, then: {words}"),
            Done::Not => format!("--fix would: {words}"),
            Done::Cured => format!("done: {words}"),
            Done::Declined => format!("left as it is; --fix --yes would: {words}"),
            Done::Failed(error) => format!("could not {words}: {error}"),
        };
        lines.push(line(CheckedKind::Cure, cure));
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
    lines.push(line(CheckedKind::End, end));
    lines
}

/// What scripts read was printed with the findings.
fn printed(failure: Failure) -> Failure {
    Failure::Printed(Box::new(failure))
}
