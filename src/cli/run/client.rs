//! Follows a session for a script: prints what was asked for, and knows when it is over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::Value;

use super::Signals;
use super::args::{OnAsk, OutputFormat, Run};
use super::control::Controls;
use super::input::{Input, Said, Words};
use super::lines::{Init, Lines, RunResult};
use crate::agent::life::Doing;
use crate::agent::turn::{End, spoken};
use crate::cli::failure::Failure;
use crate::cli::out::Out;
use crate::protocol::ask::{Ask, Judge, Question, Verdict};
use crate::protocol::event::{Event, Fact, Level};
use crate::protocol::op::Op;
use crate::session::live::Live;

/// How long what was told to stop may take.
const GRACE: Duration = Duration::from_secs(15);

const NOBODY_ALLOWS: &str = "nobody is here to allow it; do without it, or say what is needed";
const NOBODY_ANSWERS: &str =
    "nobody is here to answer; continue with what seems best, and say what you assumed";

/// How the session is to be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parting {
    Usual,
    /// Questions wait for their answers, and those who asked for them.
    AsksStay,
    /// Somebody lost patience.
    AtOnce,
}

/// Follows the events of a session and prints what was asked for.
pub struct Client<'a> {
    run: &'a Run,
    format: OutputFormat,
    live: &'a Live,
    out: &'a mut Out,
    lines: Lines,
    controls: Controls<'a>,
    turns: u32,
    /// The last words of the lead.
    said: String,
    since: Instant,
    /// How long the lead's model took, and since when it is at it.
    thought: Duration,
    thinks: Option<Instant>,
    /// How far events were seen.
    seen: u64,
    /// Whether something happened since the last result was printed.
    owes_result: bool,
    interrupted: bool,
    /// What was wrong with the input.
    bad_input: Option<Failure>,
    parting: Parting,
    patience: Option<tokio::time::Instant>,
}

impl<'a> Client<'a> {
    pub fn new(run: &'a Run, format: OutputFormat, live: &'a Live, out: &'a mut Out) -> Self {
        Self {
            run,
            format,
            live,
            out,
            lines: Lines::new(live.session()),
            controls: Controls::new(live),
            turns: 0,
            said: String::new(),
            since: Instant::now(),
            thought: Duration::ZERO,
            thinks: None,
            seen: live.began_after,
            owes_result: true,
            interrupted: false,
            bad_input: None,
            parting: Parting::Usual,
            patience: None,
        }
    }

    /// Until nothing is left to do: the lead waits, its queue is empty, nothing runs behind it
    /// and no more input comes. Whatever happens, a result is printed.
    pub async fn serve(
        &mut self,
        input: Input,
        signals: &mut Signals,
    ) -> (Result<(), Failure>, Parting) {
        let followed = self.follow(input, signals).await;
        let dismissed = match self.parting {
            Parting::Usual => self.dismiss().await,
            Parting::AsksStay | Parting::AtOnce => Ok(()),
        };
        let told = followed.and(dismissed).and_then(|()| match self.owes_result {
            true => self.tell(),
            false => Ok(()),
        });
        let outcome = told.and_then(|()| self.verdict());
        (outcome, self.parting)
    }

    /// Ends the teammates, and tells that, too.
    async fn dismiss(&mut self) -> Result<(), Failure> {
        if self.live.team().roll().is_none() {
            return Ok(());
        }
        self.live.team().dismiss().await;
        let latest = self.live.office.journal.latest();
        let mut events = self.live.events(self.seen);
        while self.seen < latest {
            let Some(event) = events.next().await else { break };
            self.event(&event)?;
        }
        Ok(())
    }

    async fn follow(&mut self, mut input: Input, signals: &mut Signals) -> Result<(), Failure> {
        self.greet()?;
        let live = self.live;
        let (mut doing, mut background) = (live.doing(), live.background());
        let mut moves = live.team().moves();
        let mut events = live.events(live.began_after);
        self.take_up_asks();
        loop {
            doing.borrow_and_update();
            moves.borrow_and_update();
            if live.is_idle() && self.seen >= live.office.journal.latest() {
                if self.interrupted || (input.is_over() && self.controls.is_idle()) {
                    return Ok(());
                }
                self.answer_dialogue(&input)?;
            }
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => self.event(&event)?,
                    None => return Ok(()),
                },
                changed = doing.changed() => if changed.is_err() { return Ok(()) },
                said = input.next(), if !input.is_over() && !self.interrupted => {
                    self.hear(said).await?;
                }
                answer = self.controls.next() => self.respond(answer)?,
                () = signals.next() => if self.signalled().await { return Ok(()) },
                () = sleep_until(self.patience) => return Ok(()),
                _ = background.changed() => {}
                _ = moves.changed() => {}
            }
        }
    }

    /// Whoever writes message after message may wait for a result before the next.
    fn answer_dialogue(&mut self, input: &Input) -> Result<(), Failure> {
        let is_due = input.is_dialogue() && self.owes_result && self.turns > 0;
        match is_due && self.format == OutputFormat::StreamJson {
            true => self.tell(),
            false => Ok(()),
        }
    }

    async fn hear(&mut self, said: Result<Option<Said>, Failure>) -> Result<(), Failure> {
        match said {
            Ok(None) => Ok(()),
            Ok(Some(Said::Control(control))) => match self.controls.take(control).await {
                Some(answer) => self.respond(answer),
                None => Ok(()),
            },
            Ok(Some(Said::Cancel(id))) => {
                self.controls.cancel(&id);
                Ok(())
            }
            Ok(Some(Said::Words(Words { text, when }))) => {
                self.owes_result = true;
                let to = self.live.lead().cx.me.clone();
                let said = self.live.submit(Op::Say { to, text, when }).await;
                said.map_err(|refused| Failure::no("refused", refused.to_string()))
            }
            // What was asked before it is still answered.
            Err(failure) => {
                self.owes_result = true;
                self.bad_input = Some(failure);
                Ok(())
            }
        }
    }

    /// Whether to leave without waiting for anything.
    async fn signalled(&mut self) -> bool {
        self.owes_result = true;
        if self.interrupted {
            self.parting = Parting::AtOnce;
            return true;
        }
        self.interrupted = true;
        if self.run.on_ask == OnAsk::Wait && self.is_asked().await {
            self.parting = Parting::AsksStay;
            return true;
        }
        self.patience = Some(tokio::time::Instant::now() + GRACE);
        self.live.interrupt_all();
        self.controls.cancel_all();
        false
    }

    async fn is_asked(&self) -> bool {
        let desk = Arc::clone(&self.live.office.desk);
        let open = tokio::task::spawn_blocking(move || desk.open_asks()).await;
        matches!(open, Ok(Ok(open)) if !open.asks.is_empty())
    }

    fn greet(&mut self) -> Result<(), Failure> {
        let lead = self.live.lead();
        let agents = self.live.agent_types();
        let cwd = lead.cx.cwd.get().to_string_lossy().into_owned();
        let init = Init {
            cwd: &cwd,
            model: &lead.brain().chosen.name(),
            mode: lead.mode(),
            tools: lead.tools.names().collect(),
            agents,
            mcp_servers: self.live.office.mcp_servers.iter().map(String::as_str).collect(),
        };
        let line = self.lines.init(&init);
        self.stream(&line)
    }

    fn event(&mut self, event: &Arc<Event>) -> Result<(), Failure> {
        self.seen = event.seq;
        if event.agent.as_ref() == Some(&self.live.lead().cx.me) {
            self.of_lead(&event.fact);
        }
        if let Some(line) = self.lines.line(event) {
            self.stream(&line)?;
        }
        if let Fact::Asked { ask } = &event.fact {
            self.asked(ask);
        } else if let Fact::Notice { level: Level::Warning | Level::Error, text } = &event.fact {
            self.out.remark(&format!("quarterdeck: {text}"));
        } else if let Fact::Retrying { why, wait_ms, attempt, of } = &event.fact {
            let wait = Duration::from_millis(*wait_ms);
            let text = crate::model::retry::sentence(why, wait, *attempt, *of);
            self.out.remark(&format!("quarterdeck: {text}"));
        }
        Ok(())
    }

    /// What the result will say of the lead.
    fn of_lead(&mut self, fact: &Fact) {
        if let Fact::Spoke { message, .. } = fact {
            self.turns += 1;
            self.owes_result = true;
            self.thought += self.thinks.take().map_or(Duration::ZERO, |since| since.elapsed());
            let said = spoken(message);
            if !said.is_empty() {
                self.said = said;
            }
        } else if let Fact::Heard { .. } = fact {
            self.thinks.get_or_insert_with(Instant::now);
        } else if let Fact::TurnEnded { .. } = fact {
            self.owes_result = true;
            self.thinks = None;
        }
    }

    /// What was asked before this start was told before it, too.
    fn take_up_asks(&mut self) {
        match self.live.office.desk.open_asks() {
            Ok(open) => {
                for ask in &open.asks {
                    self.asked(ask);
                }
            }
            Err(error) => self.out.remark(&format!("quarterdeck: {error}")),
        }
    }

    /// What becomes of a question when nobody looks at a screen.
    fn asked(&mut self, ask: &Ask) {
        let is_words = matches!(ask.question, Question::Words { .. });
        let (name, verdict) = match self.run.on_ask {
            OnAsk::Deny => {
                let why = if is_words { NOBODY_ANSWERS } else { NOBODY_ALLOWS };
                ("--on-ask deny", Verdict::Deny { why: Some(why.to_owned()) })
            }
            OnAsk::Allow => {
                ("--on-ask allow", Verdict::Allow { input: None, grant: None, remark: None })
            }
            OnAsk::Wait => {
                let (session, id) = (self.live.session(), &ask.id);
                self.out.remark(&format!(
                    "quarterdeck: waiting for an answer: quarterdeck asks show {session} '{id}'"
                ));
                return;
            }
        };
        let desk = Arc::clone(&self.live.office.desk);
        let (id, rev) = (ask.id.clone(), ask.rev);
        let by = Judge::Policy { name: name.to_owned() };
        tokio::task::spawn_blocking(move || {
            if let Err(error) = desk.settle(&id, rev, verdict, by) {
                tracing::info!(%error, "an ask was settled elsewhere");
            }
        });
    }

    /// How it stands: the kind of result, and what went wrong.
    fn standing(&self) -> (&'static str, Result<(), Failure>) {
        let broken = "error_during_execution";
        if self.interrupted {
            return (broken, Err(Failure::Interrupted));
        }
        let badly = |end: &End| Err(Failure::no("error", end.why()));
        let stands = match &*self.live.doing().borrow() {
            Doing::Waiting { last: None } => ("success", Ok(())),
            Doing::Waiting { last: Some(last) } => match &last.end {
                End::Done => ("success", Ok(())),
                End::Interrupted => (broken, Err(Failure::Interrupted)),
                End::MaxTurns => ("error_max_turns", badly(&last.end)),
                End::Budget { .. } | End::OverBudget(_) => ("error_budget", badly(&last.end)),
                End::Failed(_) => (broken, badly(&last.end)),
            },
            Doing::Ended => (broken, Err(Failure::no("error", "the lead was stopped"))),
            Doing::Working => (broken, Err(Failure::no("error", "the lead crashed; see the log"))),
        };
        match (&self.bad_input, stands) {
            (Some(bad), (_, Ok(()))) => (broken, Err(Failure::bad_input(bad.message()))),
            (_, stands) => stands,
        }
    }

    /// The exit code, and what is said beside the result.
    fn verdict(&self) -> Result<(), Failure> {
        let (_, stands) = self.standing();
        match self.format {
            OutputFormat::Text => stands,
            OutputFormat::Json | OutputFormat::StreamJson => {
                stands.map_err(|failure| Failure::Printed(Box::new(failure)))
            }
        }
    }

    fn tell(&mut self) -> Result<(), Failure> {
        self.owes_result = false;
        if self.format == OutputFormat::Text {
            return self.out.text(&self.said);
        }
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (subtype, stands) = self.standing();
        let spent = self.live.spent();
        let result = RunResult {
            subtype,
            text: self.said.clone(),
            why: stands.err().map(|failure| failure.message().to_owned()),
            turns: self.turns,
            millis: millis(self.since.elapsed()),
            api_millis: millis(self.thought),
            usd: (spent.unpriced == 0).then_some(spent.usd),
            usage: spent.usage,
        };
        let line = self.lines.result(&result);
        self.out.value(&line)
    }

    fn respond(&mut self, answer: Value) -> Result<(), Failure> {
        let line = self.lines.framed(answer, None);
        self.stream(&line)
    }

    fn stream(&mut self, line: &Value) -> Result<(), Failure> {
        match self.format {
            OutputFormat::StreamJson => self.out.value(line),
            OutputFormat::Text | OutputFormat::Json => Ok(()),
        }
    }
}

async fn sleep_until(moment: Option<tokio::time::Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
