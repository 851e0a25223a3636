//! `quarterdeck send` and `quarterdeck inbox`.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use serde_json::json;

use super::args::{Inbox, Send};
use super::failure::Failure;
use super::out::Out;
use super::printable::{one_line, printable};
use crate::protocol::ids::{AgentName, MessageId, TeamDir};
use crate::protocol::message::Message;
use crate::protocol::team::Team;
use crate::store::mailbox::{self, Reached, Which};
use crate::store::watch::{Change, Changes, Watch};
use crate::store::{Store, StoreError, roster};

pub fn send(store: &Store, send: &Send, out: &mut Out) -> Result<(), Failure> {
    let dir = store.rosters().find(&send.team)?;
    let team = store.rosters().team(&dir)?;
    let from = AgentName::found(&send.from);
    roster::member(&team, &from)?;
    let sender = Sender { store, send, dir, team: &team, from };
    if send.lines {
        if send.text != "-" {
            return Err(Failure::bad_input("--lines reads standard input: write `-` for TEXT"));
        }
        for line in io::stdin().lines() {
            let line = line?;
            if !line.is_empty() {
                sender.send(&line, out)?;
            }
        }
        return Ok(());
    }
    if send.text != "-" {
        return sender.send(&send.text, out);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    sender.send(text.strip_suffix('\n').unwrap_or(&text), out)
}

struct Sender<'a> {
    store: &'a Store,
    send: &'a Send,
    dir: TeamDir,
    team: &'a Team,
    from: AgentName,
}

impl Sender<'_> {
    fn send(&self, text: &str, out: &mut Out) -> Result<(), Failure> {
        if text.trim().is_empty() {
            return Err(Failure::bad_input("there is nothing to send"));
        }
        let message = Message::new(&self.from, text, mailbox::stamp())
            .summary(self.send.summary.clone())
            .color(mailbox::color_of(self.team, &self.from));
        let mail = self.store.mail(&self.dir);
        if self.send.to == "*" {
            return self.told_all(&mail.broadcast(&message)?, &message, out);
        }
        let to = AgentName::found(&self.send.to);
        let sent = mail.send(&to, message)?;
        let value = json!({ "success": true, "recipients": [to], "message": sent });
        out.answer(&value, || format!("Message sent to {to}'s inbox"))
    }
}

impl Sender<'_> {
    fn told_all(&self, reached: &Reached, message: &Message, out: &mut Out) -> Result<(), Failure> {
        let names: Vec<String> = reached.by.iter().map(|name| one_line(name.as_str())).collect();
        if !reached.failed.is_empty() {
            let why = |(name, error): &(AgentName, StoreError)| format!("{name} ({error})");
            let failed: Vec<String> = reached.failed.iter().map(why).collect();
            let (failed, names) = (failed.join("; "), names.join(", "));
            let message = format!("not delivered to {failed}; delivered to: {names}");
            return Err(Failure::no("partly_delivered", message));
        }
        let value = json!({ "success": true, "recipients": names, "message": message });
        out.answer(&value, || match names.is_empty() {
            true => "There is nobody else in the team".to_owned(),
            false => format!("Message sent to {}", names.join(", ")),
        })
    }
}

pub fn inbox(store: &Store, ask: &Inbox, out: &mut Out) -> Result<(), Failure> {
    let dir = store.rosters().find(&ask.team)?;
    let name = AgentName::found(&ask.name);
    // Somebody who left may have mail as well.
    if !store.home().inbox(&dir, &name).exists() {
        roster::member(&*store.rosters().team(&dir)?, &name)?;
    }
    let mut reader = Reader { store, ask, dir, name, shown: HashMap::new() };
    if ask.follow {
        // Watching begins before the first look, so nothing can fall between.
        let mut changes = Watch::start(store.home())?;
        reader.follow(&mut changes, out)
    } else {
        reader.once(out)
    }
}

struct Reader<'a> {
    store: &'a Store,
    ask: &'a Inbox,
    dir: TeamDir,
    name: AgentName,
    /// How many of each were shown: several messages may have one id.
    shown: HashMap<MessageId, usize>,
}

impl Reader<'_> {
    fn once(&mut self, out: &mut Out) -> Result<(), Failure> {
        let messages = self.fresh(out)?;
        out.answer(&messages, || match messages.is_empty() {
            true => "No messages".to_owned(),
            false => messages.iter().map(text_of).collect::<Vec<_>>().join("\n\n"),
        })?;
        // What nobody could see is not read.
        if out.is_gone() { Ok(()) } else { self.mark() }
    }

    fn follow(&mut self, changes: &mut Changes, out: &mut Out) -> Result<(), Failure> {
        loop {
            for message in self.fresh(out)? {
                out.answer(&message, || text_of(&message) + "\n")?;
            }
            if out.is_gone() {
                return Ok(());
            }
            self.mark()?;
            if !self.wait(changes) {
                return Err(Failure::no("team_gone", "the team is gone"));
            }
        }
    }

    /// Waits until there may be something new. `false` when there never will be.
    fn wait(&self, changes: &mut Changes) -> bool {
        loop {
            match changes.next_blocking() {
                Some(Change::MailArrived { team, inbox, .. })
                    if team == self.dir && inbox.is_of(&self.name) =>
                {
                    return true;
                }
                Some(Change::TeamGone { team }) if team == self.dir => return false,
                Some(_) => {}
                None => return false,
            }
        }
    }

    /// What was not shown before.
    fn fresh(&mut self, out: &mut Out) -> Result<Vec<Message>, Failure> {
        let inbox = self.store.mail(&self.dir).read(&self.name)?;
        out.many_problems(&inbox.problems);
        let mut seen: HashMap<MessageId, usize> = HashMap::new();
        let mut fresh = Vec::new();
        for message in inbox.messages {
            let id = message.id();
            let nth = seen.entry(id.clone()).or_default();
            *nth += 1;
            let shown = self.shown.entry(id).or_default();
            if *nth > *shown {
                *shown = *nth;
                if !self.ask.unread || !message.read {
                    fresh.push(message);
                }
            }
        }
        Ok(fresh)
    }

    fn mark(&self) -> Result<(), Failure> {
        if self.ask.mark_read {
            let shown: HashSet<MessageId> = self.shown.keys().cloned().collect();
            self.store.mail(&self.dir).mark_read(&self.name, &Which::These(&shown))?;
        }
        Ok(())
    }
}

fn text_of(message: &Message) -> String {
    let mark = if message.read { ' ' } else { '●' };
    let summary = message.summary.as_ref().map(|text| format!(" · {}", one_line(text)));
    let (at, from) = (one_line(&message.timestamp), one_line(message.from.as_str()));
    let indented = printable(&message.body().in_words()).replace('\n', "\n  ");
    format!("{mark} {at} {from}{}\n  {indented}", summary.unwrap_or_default())
}
