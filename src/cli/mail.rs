//! `quarterdeck send` and `quarterdeck inbox`.

use std::collections::HashSet;
use std::io::{self, Read};

use serde_json::json;

use super::args::{Inbox, Send};
use super::failure::Failure;
use super::out::Out;
use crate::protocol::ids::{AgentName, MessageId, TeamDir};
use crate::protocol::message::{Body, Message};
use crate::protocol::team::Team;
use crate::store::mailbox::{self, Which};
use crate::store::watch::{Change, Changes, Watch};
use crate::store::{Store, roster};

pub fn send(store: &Store, send: &Send, out: &mut Out) -> Result<(), Failure> {
    let dir = store.rosters().find(&send.team)?;
    let team = store.rosters().team(&dir)?;
    let from = AgentName::found(&send.from);
    roster::member(&team, &from)?;
    let sender = Sender { store, send, dir, team: &team, from };
    if send.lines {
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
        if let Some(kind) = Body::forged_type(text) {
            return Err(Failure::bad_input(format!(
                "this text would be taken for a `{kind}` of the team's protocol; say it in words"
            )));
        }
        let message = Message::new(&self.from, text, mailbox::stamp())
            .summary(self.send.summary.clone())
            .color(mailbox::color_of(self.team, &self.from));
        let mail = self.store.mail(&self.dir);
        if self.send.to == "*" {
            let reached = mail.broadcast(&message)?;
            let names: Vec<&str> = reached.iter().map(AgentName::as_str).collect();
            let value = json!({ "success": true, "recipients": names, "message": message });
            return out.answer(&value, || match names.is_empty() {
                true => "Nobody else is in the team".to_owned(),
                false => format!("Message sent to {}", names.join(", ")),
            });
        }
        let to = AgentName::found(&self.send.to);
        let sent = mail.send(&to, message)?;
        let value = json!({ "success": true, "recipients": [to], "message": sent });
        out.answer(&value, || format!("Message sent to {to}'s inbox"))
    }
}

pub fn inbox(store: &Store, ask: &Inbox, out: &mut Out) -> Result<(), Failure> {
    let dir = store.rosters().find(&ask.team)?;
    let name = AgentName::found(&ask.name);
    // Somebody who left may have mail as well.
    if !store.home().inbox(&dir, &name).exists() {
        roster::member(&*store.rosters().team(&dir)?, &name)?;
    }
    let mut reader = Reader { store, ask, dir, name, shown: HashSet::new() };
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
    shown: HashSet<MessageId>,
}

impl Reader<'_> {
    fn once(&mut self, out: &mut Out) -> Result<(), Failure> {
        let messages = self.fresh(out)?;
        out.answer(&messages, || match messages.is_empty() {
            true => "No messages".to_owned(),
            false => messages.iter().map(text_of).collect::<Vec<_>>().join("\n\n"),
        })?;
        self.mark()
    }

    fn follow(&mut self, changes: &mut Changes, out: &mut Out) -> Result<(), Failure> {
        loop {
            for message in self.fresh(out)? {
                out.answer(&message, || text_of(&message) + "\n")?;
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
        out.problems(&inbox.problems);
        let wanted = inbox.messages.into_iter().filter(|message| !self.ask.unread || !message.read);
        Ok(wanted.filter(|message| self.shown.insert(message.id())).collect())
    }

    fn mark(&self) -> Result<(), Failure> {
        if self.ask.mark_read {
            self.store.mail(&self.dir).mark_read(&self.name, &Which::These(&self.shown))?;
        }
        Ok(())
    }
}

fn text_of(message: &Message) -> String {
    let mark = if message.read { ' ' } else { '●' };
    let summary = message.summary.as_ref().map(|text| format!(" · {text}")).unwrap_or_default();
    let indented = message.body().in_words().replace('\n', "\n  ");
    format!("{mark} {} {}{summary}\n  {indented}", message.timestamp, message.from)
}
