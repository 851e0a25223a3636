//! The only place that acts: what `update` wished for is done here.

use std::io;
use std::time::Instant;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::files::{self, HistoryFile};
use super::looks::Library;
use super::outside::{self, Outcome};
use super::{Desk, Signals};
use crate::console::term::{Screen, alert};
use crate::console::update::{Editing, Effect, Look, Msg};
use crate::protocol::event::Level;
use crate::protocol::op::Op;
use crate::session::Session;

/// An op on its way; a message where it was refused.
pub type Sending<'a> = BoxFuture<'a, Option<Msg>>;

/// What effects reach out with.
pub struct Hands<'a> {
    pub session: &'a dyn Session,
    pub told: mpsc::Sender<Msg>,
    pub library: Library,
    pub history: HistoryFile,
    pub terminal: alert::Terminal,
}

impl<'a> Hands<'a> {
    pub fn load_history(&self) {
        let (told, history) = (self.told.clone(), self.history.clone());
        tokio::task::spawn_blocking(move || {
            // Nobody listens when the console was left meanwhile.
            let _ = told.blocking_send(Msg::HistoryLoaded(history.load()));
        });
    }

    fn list_files(&self) {
        let (told, project) = (self.told.clone(), self.library.project.clone());
        tokio::task::spawn_blocking(move || {
            // Nobody listens when the console was left meanwhile.
            let _ = told.blocking_send(Msg::FilesListed(files::list(&project)));
        });
    }

    pub fn look(&self, what: Look) {
        self.beside(move |library| library.look(what));
    }

    /// Does something that blocks, and tells what came of it.
    fn beside(&self, work: impl FnOnce(&Library) -> Msg + Send + 'static) {
        let (told, library) = (self.told.clone(), self.library.clone());
        tokio::task::spawn_blocking(move || {
            // Nobody listens when the console was left meanwhile.
            let _ = told.blocking_send(work(&library));
        });
    }

    fn submit(&self, op: Op) -> Sending<'a> {
        let again = op.clone();
        let submitted = self.session.submit(op);
        Box::pin(async move {
            let refused = submitted.await.err()?;
            Some(Msg::Refused { op: Box::new(again), why: refused.to_string() })
        })
    }

    fn tell(&self, level: Level, text: String) -> Msg {
        Msg::Told { level, text }
    }
}

/// Gives a text to the clipboard of the terminal, and says so.
pub(super) fn copy(text: &str, terminal: &alert::Terminal, screen: &mut Screen) -> io::Result<Msg> {
    let told = |level, text: String| Msg::Told { level, text };
    // Nothing is no reason to lose what the clipboard holds.
    if text.trim().is_empty() {
        return Ok(told(Level::Info, "There is nothing to copy here.".to_owned()));
    }
    Ok(match terminal.copy(text) {
        Some(sequence) => {
            screen.send(&sequence)?;
            told(Level::Info, format!("Copied {} characters.", text.chars().count()))
        }
        None => told(Level::Warning, "This is too long for a terminal's clipboard.".to_owned()),
    })
}

impl<'a> Desk<'a> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is done at once")]
    pub(super) async fn carry_out(
        &mut self,
        effects: Vec<Effect>,
        screen: &mut Screen,
        hands: &Hands<'a>,
        signals: &mut Signals,
    ) -> io::Result<()> {
        let mut effects = std::collections::VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            let answer = match effect {
                Effect::OpenEditor { purpose, text, ending } => {
                    let job = outside::editor(&text, ending);
                    self.lend(screen, hands, signals, purpose, job).await?
                }
                Effect::Shell => {
                    self.lend(screen, hands, signals, Editing::Reading, outside::shell()).await?
                }
                other => self.do_at_once(other, screen, hands)?,
            };
            if let Some(msg) = answer {
                effects.extend(self.deck.absorb(msg));
            }
        }
        Ok(())
    }

    fn do_at_once(
        &mut self,
        effect: Effect,
        screen: &mut Screen,
        hands: &Hands<'a>,
    ) -> io::Result<Option<Msg>> {
        match effect {
            Effect::Send(op) => {
                let mut sending = hands.submit(op);
                // Begun at once, so that what is said twice arrives in its order.
                match (&mut sending).now_or_never() {
                    Some(answer) => return Ok(answer),
                    None => self.sending.push(sending),
                }
            }
            Effect::CopyArea(drag) => {
                let text = self.deck.text_of(&drag);
                return copy(&text, &hands.terminal, screen).map(Some);
            }
            Effect::Copy(text) => return copy(&text, &hands.terminal, screen).map(Some),
            Effect::Ring { title, body } => screen.send(&hands.terminal.ring(&title, &body))?,
            Effect::Title(title) => screen.set_title(&title)?,
            Effect::Redraw => screen.redraw()?,
            Effect::Mouse(on) => screen.set_mouse(on)?,
            Effect::Remember(text) => {
                if let Err(error) = hands.history.append(&text) {
                    tracing::warn!(%error, "what was said is not kept");
                }
            }
            Effect::ListFiles => hands.list_files(),
            Effect::Look(what) => hands.look(what),
            Effect::Merge(branch) => hands.beside(move |library| library.merge(&branch)),
            Effect::Theme(name) => self.deck.wear(&name),
            Effect::Export { name } => {
                let session = self.deck.state.about.session.clone();
                hands.beside(move |library| library.export(&session, &name));
            }
            Effect::Quit(parting) => self.left = Some(parting),
            // They take the terminal away: `carry_out` does them.
            Effect::OpenEditor { .. } | Effect::Shell => {}
        }
        Ok(None)
    }

    /// Gives the terminal to a program until that ends. The session goes on meanwhile, and
    /// rings when somebody asks.
    async fn lend(
        &mut self,
        screen: &mut Screen,
        hands: &Hands<'a>,
        signals: &mut Signals,
        purpose: Editing,
        job: io::Result<outside::Job>,
    ) -> io::Result<Option<Msg>> {
        let mut job = match job {
            Ok(job) => job,
            Err(error) => return Ok(Some(hands.tell(Level::Error, error.to_string()))),
        };
        self.input.release();
        screen.lend();
        self.deck.absorb(Msg::Focus(false));
        let outcome = match job.start() {
            Ok(child) => self.attend(child, screen, hands, signals).await,
            Err(error) => Err(error),
        };
        screen.take_back()?;
        self.input.take_back();
        let (columns, rows) = screen.size()?;
        for effect in self.deck.absorb(Msg::TakenBack { columns, rows }) {
            self.do_at_once(effect, screen, hands)?;
        }
        self.clock.ask(Instant::now());
        Ok(match outcome {
            Err(error) => Some(hands.tell(Level::Error, format!("{}: {error}", job.name()))),
            Ok(outcome) => match (purpose, job.result(outcome)) {
                (Editing::Reading, Ok(_)) => None,
                (_, Err(error)) => Some(hands.tell(Level::Error, error.to_string())),
                (purpose, Ok(text)) => Some(Msg::Edited { purpose, text }),
            },
        })
    }

    async fn attend(
        &mut self,
        mut child: tokio::process::Child,
        screen: &mut Screen,
        hands: &Hands<'a>,
        signals: &mut Signals,
    ) -> io::Result<Outcome> {
        use futures::StreamExt as _;
        loop {
            let effects = tokio::select! {
                status = child.wait() => {
                    return status.map(|status| Outcome { is_good: status.success() });
                }
                () = signals.last() => {
                    self.left = Some(crate::console::update::Parting::Suspend);
                    child.kill().await?;
                    return Ok(Outcome { is_good: false });
                }
                event = self.events.next(), if !self.is_over => match event {
                    Some(event) => {
                        let mut effects = self.deck.absorb(Msg::Tick(super::now()));
                        effects.extend(self.deck.absorb(Msg::Event(event)));
                        effects
                    }
                    None => {
                        self.is_over = true;
                        self.deck.absorb(Msg::SessionOver)
                    }
                },
            };
            for effect in effects {
                if matches!(effect, Effect::Ring { .. } | Effect::Send(_)) {
                    self.do_at_once(effect, screen, hands)?;
                }
            }
        }
    }
}
