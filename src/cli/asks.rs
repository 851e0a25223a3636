//! `quarterdeck asks …` and the grants of a session: answers from another terminal.
//!
//! The session itself acts on them: a verdict is a file, and whoever runs the session sees it.

use std::fs;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::args::{Approve, AsksCommand};
use super::failure::Failure;
use super::out::{Out, table};
use super::permissions::known_mode;
use crate::permission::grant;
use crate::permission::question::lasting;
use crate::permission::scope::Term;
use crate::protocol::ask::{
    Ask, Grant, GrantRecord, Grantee, Judge, Lasts, Permit, Question, Spender, Verdict, Words,
    measured,
};
use crate::protocol::ids::SessionId;
use crate::protocol::json::from_text;
use crate::store::asks::{AskRecord, AskState, Asks, SettleError, Stale};
use crate::store::state::StateFile;
use crate::store::{Store, StoreError, files};
use crate::tools::shell::Shell;

/// An agent must not answer its own questions, nor take back what was decided: whoever settles
/// something from here is taken for the person.
fn only_people(store: &Store) -> Result<(), Failure> {
    if !Shell::is_inside(store.home()) {
        return Ok(());
    }
    Err(Failure::no(
        "inside_agent",
        "this is an agent's shell, and only you may answer; use another terminal",
    ))
}

pub fn run(store: &Store, command: AsksCommand, out: &mut Out) -> Result<(), Failure> {
    match command {
        AsksCommand::List { session } => list(&asks_of(store, &session)?, out),
        AsksCommand::Show { session, ask } => show(&asks_of(store, &session)?, &ask, out),
        AsksCommand::Approve(approve) => {
            only_people(store)?;
            self::approve(&asks_of(store, &approve.session)?, &approve, out)
        }
        AsksCommand::Answer { session, ask, texts } => {
            only_people(store)?;
            let asks = asks_of(store, &session)?;
            let record = open_ask(&asks, &ask, out)?;
            let answers = answers(&record.ask, &texts)?;
            settle(&asks, &record.ask, Verdict::Answered { answers }, out)
        }
        AsksCommand::Deny { session, ask, why } => {
            only_people(store)?;
            let asks = asks_of(store, &session)?;
            let record = open_ask(&asks, &ask, out)?;
            settle(&asks, &record.ask, Verdict::Deny { why }, out)
        }
    }
}

fn asks_of(store: &Store, name: &str) -> Result<Asks, Failure> {
    Ok(Asks::new(store, &session(store, name)?))
}

/// The session of this name: a whole id, the name of its team, the beginning of an id, or the
/// one used last.
pub fn session(store: &Store, name: &str) -> Result<SessionId, Failure> {
    let mut known: Vec<(SystemTime, SessionId)> = Vec::new();
    let dir = store.home().ours().join("sessions");
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let stem = entry.file_name().to_string_lossy().into_owned();
        let id = SessionId::found(&stem);
        // What is not its own file name is no session that a person can name.
        if id.file_stem() != stem {
            continue;
        }
        let used = fs::metadata(store.home().journal(&id)).or_else(|_| entry.metadata());
        let used = used.and_then(|found| found.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        known.push((used, id));
    }
    known.sort();
    if name == "latest" {
        let latest = known.pop().map(|(_, id)| id);
        return latest.ok_or_else(|| {
            Failure::no("session_not_found", "there is no session yet; `quarterdeck` starts one")
        });
    }
    let ids = known.iter().map(|(_, id)| id.as_str());
    if !ids.clone().any(|id| id == name)
        && let Some(session) = session_of_team(store, name)
    {
        return Ok(session);
    }
    match chosen(name, ids) {
        Chosen::One(id) => Ok(SessionId::found(id)),
        Chosen::None => {
            Err(Failure::no("session_not_found", format!("there is no session or team `{name}`")))
        }
        Chosen::Many(all) => Err(ambiguous("session", name, &all)),
    }
}

/// The session that leads a team.
fn session_of_team(store: &Store, name: &str) -> Option<SessionId> {
    let rosters = store.rosters();
    let team = rosters.find(name).and_then(|dir| rosters.team(&dir)).ok()?;
    team.lead_session_id.as_deref().map(SessionId::found)
}

enum Chosen<'a> {
    One(&'a str),
    None,
    Many(Vec<&'a str>),
}

/// The whole name, or the only one that begins so.
fn chosen<'a>(name: &str, all: impl Iterator<Item = &'a str>) -> Chosen<'a> {
    let mut found: Vec<&str> = all.filter(|id| id.starts_with(name)).collect();
    match (found.iter().position(|id| *id == name), found.as_slice()) {
        (Some(at), _) => Chosen::One(found.swap_remove(at)),
        (None, [one]) => Chosen::One(one),
        (None, []) => Chosen::None,
        (None, [_, ..]) => Chosen::Many(found),
    }
}

fn ambiguous(what: &str, name: &str, all: &[&str]) -> Failure {
    Failure::bad_input(format!("`{name}` matches more than one {what}: {}", all.join(", ")))
}

/// The ask of this name, settled or not.
fn find(asks: &Asks, name: &str, out: &mut Out) -> Result<AskRecord, Failure> {
    let mut problems = Vec::new();
    let mut all = asks.each(|_| true, &mut problems)?;
    out.problems(&problems);
    let id = match chosen(name, all.iter().map(|record| record.ask.id.as_str())) {
        Chosen::One(id) => id.to_owned(),
        Chosen::None => {
            return Err(Failure::no("ask_not_found", format!("there is no ask `{name}`")));
        }
        Chosen::Many(found) => return Err(ambiguous("ask", name, &found)),
    };
    let at = all.iter().position(|record| record.ask.id.as_str() == id);
    at.map(|at| all.swap_remove(at)).ok_or_else(|| Failure::no("ask_not_found", "the ask is gone"))
}

fn open_ask(asks: &Asks, name: &str, out: &mut Out) -> Result<AskRecord, Failure> {
    let record = find(asks, name, out)?;
    match &record.state {
        AskState::Open => Ok(record),
        AskState::Settled { by, settled_at: at, .. } => {
            let stale = Stale::Settled { ask: record.ask.id.clone(), by: by.clone(), at: *at };
            Err(Failure::no("settled", stale.to_string()))
        }
    }
}

fn who(ask: &Ask) -> String {
    let chain: Vec<String> = ask.chain.iter().map(ToString::to_string).collect();
    chain.join(" < ")
}

/// The question in one line.
fn gist(ask: &Ask) -> String {
    match &ask.question {
        Question::Tool { name, input, .. } => {
            let keys = ["command", "file_path", "notebook_path", "url", "path", "pattern"];
            let what = keys.iter().find_map(|key| input.get(key)?.as_str());
            format!("{name}: {}", what.map_or_else(|| input.to_string(), str::to_owned))
        }
        Question::Plan { file, .. } => format!("Plan: {}", file.display()),
        Question::Words { questions } => {
            let all: Vec<&str> = questions.iter().map(|words| words.question.as_str()).collect();
            all.join(" ")
        }
        Question::Budget { of, what, used, limit } => {
            let who = match of {
                Spender::Agent => "its",
                Spender::Team => "the team's",
            };
            format!(
                "Continue after {} of {who} {}?",
                measured(*what, *used),
                measured(*what, *limit)
            )
        }
        Question::NoAnswerToShutdown => "It is not answering: end it?".to_owned(),
    }
}

fn list(asks: &Asks, out: &mut Out) -> Result<(), Failure> {
    let open = asks.open()?;
    out.problems(&open.problems);
    out.answer(&open.asks, || {
        if open.asks.is_empty() {
            return "No open asks".to_owned();
        }
        let mut rows = vec![["ASK", "SINCE", "RISK", "WHO", "WHAT"].map(str::to_owned)];
        for ask in &open.asks {
            let risk = format!("{:?}", ask.risk).to_lowercase();
            rows.push([ask.id.to_string(), ask.at.to_string(), risk, who(ask), gist(ask)]);
        }
        table(&rows)
    })
}

fn show(asks: &Asks, name: &str, out: &mut Out) -> Result<(), Failure> {
    let record = find(asks, name, out)?;
    out.answer(&record, || {
        let ask = &record.ask;
        let mut lines = vec![
            format!("{} (version {}) of {}", ask.id, ask.rev, ask.at),
            format!("who:     {}", who(ask)),
            format!("what:    {}", gist(ask)),
            format!("where:   {}", ask.cwd.display()),
        ];
        lines.extend(ask.why.description.as_ref().map(|why| format!("why:     {why}")));
        lines.extend(ask.why.rule.as_ref().map(|rule| format!("asked:   {rule}")));
        lines.push(format!("risk:    {}", format!("{:?}", ask.risk).to_lowercase()));
        if let Question::Tool { input, .. } = &ask.question {
            lines.push(format!("input:   {input}"));
        }
        if let Question::Plan { text, .. } = &ask.question {
            lines.extend(text.lines().map(|line| format!("  {line}")));
        }
        if let Question::Words { questions } = &ask.question {
            lines.extend(questions.iter().enumerate().flat_map(|(at, words)| in_words(at, words)));
        }
        lines.extend(ask.choices.iter().map(|choice| format!("choice:  {}", choice.label)));
        if let AskState::Settled { verdict, by, settled_at } = &record.state {
            lines.push(format!("settled: {settled_at} {} by {}", json!(verdict), json!(by)));
        }
        lines.join("\n")
    })
}

fn approve(asks: &Asks, approve: &Approve, out: &mut Out) -> Result<(), Failure> {
    let record = open_ask(asks, &approve.ask, out)?;
    let ask = &record.ask;
    if let Question::Words { .. } = &ask.question {
        let text = "this is a question; answer it with: quarterdeck asks answer SESSION ASK TEXT…";
        return Err(Failure::bad_input(text));
    }
    let input = approve.edit_input.as_deref().map(edited).transpose()?;
    check_edit(ask, input.as_ref())?;
    let grant = match (&approve.always, &approve.mode) {
        (Some(scope), _) => Some(granted(ask, scope, approve.rule.as_deref())?),
        (None, Some(mode)) => {
            let permits = vec![Permit::Mode(known_mode(mode)?)];
            Some(Grant { permits, to: Grantee::Asker, lasts: Lasts::Session })
        }
        (None, None) => None,
    };
    settle(asks, ask, Verdict::Allow { input, grant, remark: approve.why.clone() }, out)
}

/// A tool may run with another input, and a plan be approved in other words.
fn check_edit(ask: &Ask, input: Option<&Value>) -> Result<(), Failure> {
    let Some(input) = input else { return Ok(()) };
    match &ask.question {
        Question::Tool { .. } => Ok(()),
        Question::Plan { .. } if input.get("plan").is_some_and(Value::is_string) => Ok(()),
        Question::Plan { .. } => {
            Err(Failure::bad_input("write the changed plan as {\"plan\": \"…\"}"))
        }
        Question::Words { .. } | Question::Budget { .. } | Question::NoAnswerToShutdown => {
            Err(Failure::bad_input("only a tool's input or a plan can be edited"))
        }
    }
}

/// A question with its options, each with the number that takes it.
fn in_words(at: usize, words: &Words) -> Vec<String> {
    let several = if words.multi_select { " (several, with | between them)" } else { "" };
    let mut lines = vec![format!("{}. {}{several}", at + 1, words.question)];
    lines.extend(words.options.iter().enumerate().map(|(at, offer)| {
        let more = if offer.description.is_empty() { "" } else { ": " };
        format!("   {} {}{more}{}", at + 1, offer.label, offer.description)
    }));
    lines
}

/// What was typed, as answers to the questions in their order.
fn answers(ask: &Ask, texts: &[String]) -> Result<Vec<Vec<String>>, Failure> {
    let Question::Words { questions } = &ask.question else {
        return Err(Failure::bad_input("this is not a question: approve or deny it"));
    };
    if texts.len() != questions.len() {
        let asked: Vec<String> =
            questions.iter().enumerate().flat_map(|(at, words)| in_words(at, words)).collect();
        return Err(Failure::bad_input(format!(
            "there are {} questions and {} answers; write one for each: {}",
            questions.len(),
            texts.len(),
            asked.join(" ")
        )));
    }
    questions.iter().zip(texts).map(|(words, text)| answer(words, text)).collect()
}

fn answer(words: &Words, text: &str) -> Result<Vec<String>, Failure> {
    let parts: Vec<&str> = match words.multi_select {
        true => text.split('|').map(str::trim).collect(),
        false => vec![text.trim()],
    };
    if parts.iter().any(|part| part.is_empty()) {
        return Err(Failure::bad_input(format!("an answer is empty: {}", words.question)));
    }
    let meant = |part: &str| {
        let named = words.options.iter().find(|offer| offer.label.eq_ignore_ascii_case(part));
        let counted = || {
            let number: usize = part.parse().ok()?;
            words.options.get(number.checked_sub(1)?)
        };
        named.or_else(counted).map_or_else(|| part.to_owned(), |offer| offer.label.clone())
    };
    let mut taken: Vec<String> = Vec::new();
    for label in parts.into_iter().map(meant) {
        if !taken.contains(&label) {
            taken.push(label);
        }
    }
    Ok(taken)
}

fn edited(text: &str) -> Result<Value, Failure> {
    match from_text::<Value>(text) {
        Ok(input @ Value::Object(_)) => Ok(input),
        Ok(_) => Err(Failure::bad_input("the input must be a JSON object")),
        Err(error) => Err(Failure::bad_input(format!("the input is not JSON: {error}"))),
    }
}

/// `session`, `team:hour`, `agent:session`…
fn granted(ask: &Ask, scope: &str, rule: Option<&str>) -> Result<Grant, Failure> {
    let (to, term) = match scope.split_once(':') {
        Some(("agent", term)) => (Grantee::Asker, term),
        Some(("team", term)) => (Grantee::Team, term),
        Some(_) => (Grantee::Asker, ""),
        None => (Grantee::Asker, scope),
    };
    let Some(term) = Term::named(term) else {
        return Err(Failure::bad_input(format!(
            "unknown scope `{scope}`; write session, hour, project or user, if you like with \
             agent: or team: in front"
        )));
    };
    if scope.starts_with("agent:") && term.grantee(to) != to {
        let text = "rules in settings apply to every agent; leave out `agent:`";
        return Err(Failure::bad_input(text));
    }
    if let Some(rule) = rule {
        grant::check(rule, &ask.cwd).map_err(|error| Failure::bad_input(error.to_string()))?;
    }
    lasting(ask, rule, to, term, files::now())
        .ok_or_else(|| Failure::bad_input("this ask suggests no rule; name one with --rule RULE"))
}

fn settle(asks: &Asks, ask: &Ask, verdict: Verdict, out: &mut Out) -> Result<(), Failure> {
    let settled = asks.settle(&ask.id, ask.rev, verdict, Judge::Human);
    let record = settled.map_err(|error| match error {
        SettleError::Store(error) => Failure::from(error),
        SettleError::Stale(stale) => {
            let reason = match &stale {
                Stale::Unknown { .. } => "ask_not_found",
                Stale::Changed { .. } => "changed",
                Stale::Settled { .. } => "settled",
            };
            Failure::no(reason, stale.to_string())
        }
    })?;
    out.answer(&record, || match &record.state {
        AskState::Settled { verdict: Verdict::Allow { grant: Some(grant), .. }, .. } => {
            let all: Vec<String> = grant.permits.iter().map(ToString::to_string).collect();
            let to = match grant.to {
                Grantee::Asker => "this agent",
                Grantee::Team => "every agent",
            };
            format!("Allowed {}\n{} for {to}, {}", ask.id, all.join(", "), lasts(grant.lasts))
        }
        AskState::Settled { verdict: Verdict::Allow { .. }, .. } => format!("Allowed {}", ask.id),
        AskState::Settled { verdict: Verdict::Answered { .. }, .. } => {
            format!("Answered {}", ask.id)
        }
        AskState::Settled { .. } | AskState::Open => format!("Denied {}", ask.id),
    })
}

fn lasts(lasts: Lasts) -> String {
    match lasts {
        Lasts::Session => "for the session".to_owned(),
        Lasts::Until(end) => format!("until {end}"),
        Lasts::Project => "in the project's settings".to_owned(),
        Lasts::User => "in your settings".to_owned(),
    }
}

/// What was given in a session.
pub fn grants(store: &Store, name: &str, out: &mut Out) -> Result<(), Failure> {
    let state = StateFile::new(store, &session(store, name)?);
    let records = grant::recorded(&state)?;
    out.answer(&records, || {
        if records.is_empty() {
            return "No grants".to_owned();
        }
        let mut rows = vec![["ID", "WHAT", "WHO", "HOW LONG"].map(str::to_owned)];
        rows.extend(records.iter().map(row));
        table(&rows)
    })
}

fn row(record: &GrantRecord) -> [String; 4] {
    let who = record.agent.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string);
    [record.id.clone(), record.permit.to_string(), who, lasts(record.lasts)]
}

/// Takes back what was given, also from the settings file it stands in.
pub fn revoke(store: &Store, name: &str, id: &str, out: &mut Out) -> Result<(), Failure> {
    only_people(store)?;
    let session = session(store, name)?;
    let records = grant::recorded(&StateFile::new(store, &session))?;
    let id = match chosen(id, records.iter().map(|record| record.id.as_str())) {
        Chosen::One(id) => id,
        Chosen::None => {
            return Err(Failure::no("grant_not_found", format!("there is no grant `{id}`")));
        }
        Chosen::Many(all) => return Err(ambiguous("grant", id, &all)),
    };
    let gone = || Failure::no("grant_not_found", format!("grant `{id}` is no longer in force"));
    let record = revoked(store, &session, id)?.ok_or_else(gone)?;
    out.answer(&record, || format!("Revoked {}", record.permit))
}

fn revoked(
    store: &Store,
    session: &SessionId,
    id: &str,
) -> Result<Option<GrantRecord>, StoreError> {
    let record = grant::revoke(store, session, id)?;
    Asks::new(store, session).nudge()?;
    Ok(record)
}
