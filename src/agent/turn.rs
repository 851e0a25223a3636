//! The turn loop: ask the model, run what it calls, ask again, until it has nothing more to do.
//!
//! Whatever ends a turn, the conversation is valid afterwards: every call has its result, and
//! what was said to the agent in between was delivered or still waits.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::context::{Agent, Pending, Talk};
use super::listen::{Broken, Reply, listen};
use super::queue::Item;
use super::rebuild::{blocks_of, in_order, uses_of};
use super::record::AnswerFacts;
use super::rounds;
use super::{budget, compact, hooks};
use crate::model::{ModelError, Stop, StopReason};
use crate::protocol::ask::dollars;
use crate::protocol::content::{Block, ChatMessage, Content, Known};
use crate::protocol::event::{Fact, Level};
use crate::protocol::ids::MessageId;
use crate::protocol::op::Mode;

/// Whose words mail is.
pub const MAIL: &str = "mail";

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    Done,
    Interrupted,
    /// It took as many answers as it may.
    MaxTurns,
    Budget {
        spent: f64,
        limit: f64,
    },
    /// A budget of the settings is spent; which, and how much of it.
    OverBudget(String),
    Failed(ModelError),
}

impl End {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::MaxTurns => "max_turns",
            Self::Budget { .. } | Self::OverBudget(_) => "budget",
            Self::Failed(_) => "failed",
        }
    }

    pub fn why(&self) -> String {
        match self {
            Self::Done | Self::Interrupted => String::new(),
            Self::MaxTurns => "it reached its limit of turns".to_owned(),
            Self::Budget { spent, limit } => {
                format!("{} of {} spent", dollars(*spent), dollars(*limit))
            }
            Self::OverBudget(why) => why.clone(),
            Self::Failed(error) => error.to_string(),
        }
    }
}

/// What a turn came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub end: End,
    /// The text of the last answer.
    pub text: String,
    pub rounds: u32,
}

/// What a lead that only coordinates is reminded of after each round of tools.
const DELEGATE: &str = include_str!("../../assets/prompts/delegate.md");

/// How often an answer that was cut off by its length is asked to go on.
const MOST_CONTINUED: u32 = 3;

/// How often in one turn a hook may have an agent go on that wants to stop.
const MOST_SENT_BACK: u32 = 10;

/// Runs one turn: what waits in the queue, or what the conversation ends with, is answered.
pub async fn turn(agent: &Agent, talk: &mut Talk) -> Outcome {
    let since = Instant::now();
    let stop = agent.life.child_token();
    agent.queue.turn_begins(stop.clone());
    agent.books.purse.begins(&agent.cx.me.to_string());
    agent.take_up_brain();
    agent.tell(Fact::TurnStarted);
    let mut round =
        Round { agent, talk, stop, rounds: 0, continued: 0, sent_back: 0, text: String::new() };
    let end = round.go().await;
    if end == End::Interrupted && !agent.life.is_cancelled() {
        let text = "[The user interrupted you here.]".to_owned();
        say(agent, round.talk, "system", vec![text], vec![]);
    }
    let outcome = Outcome { end, text: round.text, rounds: round.rounds };
    agent.queue.turn_ends();
    agent.take_back();
    agent.books.purse.ends(&agent.cx.me.to_string());
    agent.tell(Fact::TurnEnded {
        outcome: outcome.end.as_str().to_owned(),
        why: outcome.end.why(),
        rounds: outcome.rounds,
        millis: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    outcome
}

struct Round<'a> {
    agent: &'a Agent,
    talk: &'a mut Talk,
    stop: Stop,
    rounds: u32,
    continued: u32,
    sent_back: u32,
    text: String,
}

impl Round<'_> {
    async fn go(&mut self) -> End {
        // What is said before the results of open calls would tear them from their calls.
        if self.talk.pending.uses.is_empty()
            && let Some(text) = self.agent.plan_reminder()
        {
            say(self.agent, self.talk, "system", vec![text], vec![]);
        }
        let mut results = self.take_up().await;
        loop {
            self.deliver(std::mem::take(&mut results));
            if self.agent.queue.is_finishing() {
                return End::Done;
            }
            if self.agent.queue.is_paused() {
                tokio::select! {
                    () = self.agent.queue.unpaused() => {}
                    () = self.stop.cancelled() => {}
                }
                self.deliver(Vec::new());
            }
            if let Some(end) = self.limit() {
                return end;
            }
            if let Some(end) = budget::check(self.agent, &self.stop).await {
                return end;
            }
            let reply = match self.answer().await {
                Ok(reply) => reply,
                Err(end) => return end,
            };
            self.rounds += 1;
            let source = self.take_down(&reply);
            let uses = uses_of(&reply.message);
            if !uses.is_empty() {
                self.agent.calls.fetch_add(uses.len() as u64, Ordering::Relaxed);
                self.agent.set_said(self.talk.messages.clone());
                self.agent.set_branch_point(&source);
                results = rounds::run(self.agent, uses, &source, &self.stop).await;
            } else if let Some(end) = self.pause(&reply) {
                match self.sent_back(&end).await {
                    Some(words) => say(self.agent, self.talk, "system", vec![words], vec![]),
                    None => return end,
                }
            }
        }
    }

    /// What the hooks of the agent want done before it may stop.
    async fn sent_back(&mut self, end: &End) -> Option<String> {
        if *end != End::Done || self.stop.is_cancelled() {
            return None;
        }
        let again = self.sent_back > 0;
        let words = hooks::at_end(self.agent, &self.text, again, &self.stop).await?;
        if self.sent_back == MOST_SENT_BACK {
            let text = format!("A hook sent it back {MOST_SENT_BACK} times; it stops anyway.");
            self.agent.notice(Level::Warning, text);
            return None;
        }
        self.sent_back += 1;
        Some(format!("A hook says that you are not done: {words}"))
    }

    /// Makes the calls that were left open, and puts all results in the order of the calls.
    async fn take_up(&mut self) -> Vec<Block> {
        let Pending { uses, mut results } = std::mem::take(&mut self.talk.pending);
        if uses.is_empty() {
            return results;
        }
        let order = self.talk.messages.messages().next_back().map(uses_of).unwrap_or_default();
        self.agent.set_said(self.talk.messages.clone());
        let source = std::mem::take(&mut self.talk.last_answer);
        self.agent.set_branch_point(&source);
        results.extend(rounds::run(self.agent, uses, &source, &self.stop).await);
        in_order(&mut results, &order);
        results
    }

    /// Puts results, and whatever waits in the queue, into the conversation.
    fn deliver(&mut self, results: Vec<Block>) {
        if !results.is_empty() {
            // Each is in the transcript already.
            let message = ChatMessage::results(results);
            let fact =
                Fact::Heard { from: "tools".to_owned(), message: message.clone(), queued: vec![] };
            self.agent.tell(fact);
            self.talk.messages.push(message);
            if self.agent.mode() == Mode::Delegate && !self.stop.is_cancelled() {
                say(self.agent, self.talk, "system", vec![DELEGATE.trim().to_owned()], vec![]);
            }
        }
        // What is said to an agent that was just interrupted waits for its next turn.
        let held = self.agent.queue.is_paused() || self.agent.queue.is_finishing();
        if !self.stop.is_cancelled() && !held {
            hear(self.agent, self.talk, self.agent.queue.take());
        }
    }

    fn limit(&self) -> Option<End> {
        if self.stop.is_cancelled() {
            return Some(End::Interrupted);
        }
        if self.agent.limits.rounds.is_some_and(|most| self.rounds >= most) {
            return Some(End::MaxTurns);
        }
        self.agent.books.exhausted().map(|(spent, limit)| End::Budget { spent, limit })
    }

    /// The next answer of the model. A conversation that is too long is summarised first.
    async fn answer(&mut self) -> Result<Reply, End> {
        let wanted = self.agent.queue.take_compact();
        if wanted.is_some() || compact::is_due(self.agent, self.talk) {
            self.shorten(wanted.flatten().as_deref()).await?;
        }
        let (mut restarts, mut shortened) = (0, false);
        loop {
            let request = self.agent.request(self.talk.messages.clone(), None);
            let broken = match listen(self.agent, Arc::new(request), &self.stop).await {
                Ok(reply) => return Ok(reply),
                Err(broken) => broken,
            };
            self.enter(&broken);
            if broken.error == ModelError::Stopped {
                self.keep(broken);
                return Err(End::Interrupted);
            }
            let is_too_long = matches!(broken.error, ModelError::ContextTooLong { .. });
            if broken.shown {
                self.agent.tell(Fact::Restarted { why: broken.error.to_string() });
            }
            if is_too_long && !shortened {
                shortened = true;
                self.shorten(None).await?;
            } else if broken.begun
                && broken.error.is_passing()
                && restarts < self.agent.limits.restarts
            {
                restarts += 1;
            } else {
                return Err(End::Failed(broken.error));
            }
        }
    }

    async fn shorten(&mut self, wishes: Option<&str>) -> Result<(), End> {
        let shortened = compact::compact(self.agent, self.talk, wishes, &self.stop).await;
        shortened.map_err(|error| {
            if error == ModelError::Stopped { End::Interrupted } else { End::Failed(error) }
        })
    }

    /// What a broken answer cost counts, too.
    fn enter(&self, broken: &Broken) {
        if broken.usage.total() > 0 {
            let agent = self.agent;
            agent.books.enter(&agent.cx.me.to_string(), &agent.brain(), broken.usage);
        }
    }

    /// Of an interrupted answer, what was said stays said; calls that never ran do not.
    fn keep(&mut self, broken: Broken) {
        let is_text = |block: &Block| matches!(block.meaning(), Some(Known::Text { .. }));
        let said: Vec<Block> = broken.said.into_iter().filter(is_text).collect();
        if said.is_empty() {
            return;
        }
        let reply = Reply {
            id: String::new(),
            model: self.agent.brain().chosen.id.clone(),
            message: ChatMessage::assistant(said),
            stop: StopReason::Other("interrupted".to_owned()),
            usage: broken.usage,
        };
        self.write(&reply);
    }

    /// Writes an answer down and adds it to the conversation. Returns its record's id.
    fn take_down(&mut self, reply: &Reply) -> String {
        let agent = self.agent;
        let me = agent.cx.me.to_string();
        agent.books.enter_answer(&me, &agent.brain(), reply.usage, &reply.id);
        self.talk.tokens = reply.usage.total();
        self.write(reply)
    }

    fn write(&mut self, reply: &Reply) -> String {
        let agent = self.agent;
        let stop = reply.stop_name();
        let facts =
            AnswerFacts { id: &reply.id, model: &reply.model, stop: &stop, usage: reply.usage };
        // An answer without anything in it cannot be sent back.
        let is_empty = blocks_of(reply.message.content.clone()).is_empty();
        let record = match is_empty {
            true => Ok(String::new()),
            false => agent.recorder.spoke(&reply.message, &facts),
        };
        let record = record.unwrap_or_else(|error| {
            agent.notice(
                Level::Error,
                format!("An answer could not be written to the transcript: {error}"),
            );
            String::new()
        });
        let total = agent.books.total();
        let usd = (total.unpriced == 0).then_some(total.usd);
        let own = agent.books.of(&agent.cx.me.to_string());
        let own_usd = (own.unpriced == 0).then_some(own.usd);
        agent.tell(reply.fact(usd, own_usd, agent.brain().chosen.facts.window));
        let text = spoken(&reply.message);
        if !text.is_empty() {
            agent.echo(&text);
            self.text = text;
        }
        if !is_empty {
            self.talk.messages.push(reply.message.clone());
        }
        record
    }

    /// An answer without calls: whether the turn is over.
    fn pause(&mut self, reply: &Reply) -> Option<End> {
        if !matches!(reply.stop, StopReason::PauseTurn | StopReason::Refusal) {
            self.agent.cx.crew.spoke(&self.agent.cx.me, &spoken(&reply.message));
        }
        match reply.stop {
            StopReason::MaxTokens if self.continued < MOST_CONTINUED => {
                self.continued += 1;
                let text = "Your answer reached the length limit. Continue exactly where it ended.";
                say(self.agent, self.talk, "system", vec![text.to_owned()], vec![]);
                None
            }
            StopReason::PauseTurn => None,
            StopReason::Refusal => {
                let message = "the model refused to answer this".to_owned();
                Some(End::Failed(ModelError::InvalidRequest { message }))
            }
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::MaxTokens
            | StopReason::StopSequence
            | StopReason::Other(_) => {
                let more = !self.agent.queue.is_empty() && !self.stop.is_cancelled();
                (!more).then_some(End::Done)
            }
        }
    }
}

/// The words of an answer, without thinking and calls.
pub fn spoken(message: &ChatMessage) -> String {
    let Content::Blocks(blocks) = &message.content else { return message.content.text() };
    let texts = blocks.iter().filter_map(|block| match block.meaning() {
        Some(Known::Text { text }) => Some(text.as_str()),
        Some(
            Known::Thinking { .. }
            | Known::RedactedThinking { .. }
            | Known::ToolUse { .. }
            | Known::ToolResult { .. }
            | Known::Image { .. },
        )
        | None => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Puts what waited into the conversation. All mail is one message, each letter in its frame.
pub fn hear(agent: &Agent, talk: &mut Talk, items: Vec<Item>) {
    let group = |item: &Item| if item.mail.is_some() { MAIL.to_owned() } else { item.from.clone() };
    for items in items.chunk_by(|one, two| group(one) == group(two)) {
        let Some(first) = items.first() else { continue };
        items.iter().filter_map(|item| item.lent.as_ref()).for_each(|lent| agent.lend(lent));
        let texts: Vec<String> = items.iter().map(|item| item.text.clone()).collect();
        let ids = items.iter().map(|item| item.id).collect();
        let mail: Vec<MessageId> = items.iter().filter_map(|item| item.mail.clone()).collect();
        match mail.is_empty() {
            true => say(agent, talk, &first.from, texts, ids),
            false => {
                put(agent, talk, MAIL, ChatMessage::user(texts.join("\n\n")), ids, &mail);
                agent.cx.crew.delivered(&agent.cx.me, mail);
            }
        }
    }
}

/// Adds words to the conversation: on disk first, then for the model.
pub fn say(agent: &Agent, talk: &mut Talk, from: &str, texts: Vec<String>, queued: Vec<u64>) {
    let message = match <[String; 1]>::try_from(texts) {
        Ok([text]) => ChatMessage::user(text),
        Err(texts) => ChatMessage::results(texts.into_iter().map(Block::text).collect()),
    };
    put(agent, talk, from, message, queued, &[]);
}

fn put(
    agent: &Agent,
    talk: &mut Talk,
    from: &str,
    message: ChatMessage,
    queued: Vec<u64>,
    mail: &[MessageId],
) {
    if let Err(error) = agent.recorder.heard(&message, from != "user", mail) {
        agent.notice(
            Level::Error,
            format!("A message could not be written to the transcript: {error}"),
        );
    }
    agent.tell(Fact::Heard { from: from.to_owned(), message: message.clone(), queued });
    talk.messages.push(message);
}
