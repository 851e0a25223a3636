//! The loop: paint when due, the human first, agents in bursts. Everything that acts is here.

pub mod deck;
mod effects;
pub mod files;
mod frame_clock;
mod input;
pub mod looks;
mod outside;
pub mod playback;

use std::io;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use futures::stream::{BoxStream, FuturesUnordered};
use futures::{FutureExt, StreamExt};
use jiff::tz::TimeZone;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, mpsc};

pub use deck::Deck;
pub use frame_clock::FrameClock;

use self::effects::{Hands, Sending};
use self::files::HistoryFile;
use self::input::Input;
use self::looks::Library;
use super::state::State;
use super::state::ui::Size;
use super::term::{Screen, alert};
use super::text::highlight::Pens;
use super::update::{Effect, Look, Msg, Parting, wake};
use super::view::Cache;
use super::view::theme::Theme;
use crate::protocol::event::Event;
use crate::protocol::time::Stamp;
use crate::session::Session;

/// So many events are taken in at once before keys and frames have their turn.
const BURST: usize = 256;

/// What the loop needs beside the session.
pub struct Options {
    pub theme: Theme,
    /// Where things are looked up; files are exported to its project.
    pub library: Library,
    pub history: HistoryFile,
}

/// The terminal, taken and drawn on. To begin a session takes longer than a glance (the shell is
/// asked what it knows, git what there is), so the person sees the console before that. What they
/// type meanwhile waits in the terminal.
pub struct Opened {
    screen: Screen,
    signals: Signals,
}

impl Opened {
    /// Takes the terminal and shows this.
    pub fn showing(mut deck: Deck, mouse: bool) -> io::Result<Self> {
        let signals = Signals::new()?;
        let mut screen = Screen::open(mouse)?;
        let (columns, rows) = screen.size()?;
        deck.absorb(Msg::Resized { columns, rows });
        screen.draw(|frame| deck.paint(frame))?;
        Ok(Self { screen, signals })
    }

    /// Waits for a signal to end.
    pub async fn told_to_end(&mut self) {
        self.signals.next().await;
    }
}

/// The console on a session until the person leaves; says how they left.
pub async fn run(
    session: &dyn Session,
    state: State,
    options: Options,
    opened: Opened,
) -> io::Result<Parting> {
    let Opened { mut screen, mut signals } = opened;
    let (told, mut hearing) = mpsc::channel(64);
    let coloured = Arc::new(Notify::new());
    let pens = {
        let coloured = Arc::clone(&coloured);
        Pens::new(move || coloured.notify_one())
    };
    let mut cache = Cache::with_pens(pens);
    cache.zone = TimeZone::system();
    let mut deck = Deck::with_cache(state, options.theme, cache);
    let (columns, rows) = screen.size()?;
    deck.absorb(Msg::Resized { columns, rows });
    let hands = Hands {
        session,
        told,
        library: options.library,
        history: options.history,
        terminal: alert::Terminal::of(|name| std::env::var(name).ok()),
    };
    hands.load_history();
    hands.look(Look::Recipes);
    let mut desk = Desk {
        deck,
        clock: FrameClock::default(),
        input: Input::open(),
        events: session.events(0),
        sending: FuturesUnordered::new(),
        coloured,
        is_over: false,
        left: None,
    };
    desk.clock.ask(Instant::now());
    loop {
        desk.turn(&mut screen, &hands, &mut hearing, &mut signals).await?;
        if let Some(parting) = desk.left.take() {
            // What was said last is submitted before the session is told to end.
            while desk.sending.next().await.is_some() {}
            return Ok(parting);
        }
    }
}

/// All that the loop moves.
struct Desk<'a> {
    deck: Deck,
    clock: FrameClock,
    input: Input,
    events: BoxStream<'static, Arc<Event>>,
    sending: FuturesUnordered<Sending<'a>>,
    /// Code got its colours.
    coloured: Arc<Notify>,
    is_over: bool,
    left: Option<Parting>,
}

/// What the loop woke up for.
enum Woken {
    Frame,
    Input(Option<io::Result<Msg>>),
    Told(Msg),
    Sent(Option<Msg>),
    Happened(Option<Arc<Event>>),
    Late,
    Signal,
}

impl<'a> Desk<'a> {
    async fn turn(
        &mut self,
        screen: &mut Screen,
        hands: &Hands<'a>,
        hearing: &mut mpsc::Receiver<Msg>,
        signals: &mut Signals,
    ) -> io::Result<()> {
        let late = wake(&self.deck.state);
        let woken = tokio::select! {
            biased; // a due frame first (it is rate-limited), then the human, then the agents
            () = self.clock.due(), if self.clock.asked() => Woken::Frame,
            msg = self.input.next() => Woken::Input(msg),
            () = signals.next() => Woken::Signal,
            Some(msg) = hearing.recv() => Woken::Told(msg),
            Some(done) = self.sending.next(), if !self.sending.is_empty() => Woken::Sent(done),
            event = self.events.next(), if !self.is_over => Woken::Happened(event),
            () = self.coloured.notified() => Woken::Late,
            () = until(late), if late.is_some() => Woken::Late,
        };
        if let Woken::Frame = woken {
            // A resize that came together with a key is not always told.
            let (columns, rows) = screen.size()?;
            if self.deck.state.size != (Size { columns, rows }) {
                let effects = self.deck.absorb(Msg::Resized { columns, rows });
                self.carry_out(effects, screen, hands, signals).await?;
            }
            screen.draw(|frame| self.deck.paint(frame))?;
            self.clock.painted(Instant::now());
            panic_if_told();
            return Ok(());
        }
        let effects = self.taken_in(woken)?;
        self.clock.ask(Instant::now());
        self.carry_out(effects, screen, hands, signals).await
    }

    /// Takes in what came, and whatever came right behind it.
    fn taken_in(&mut self, woken: Woken) -> io::Result<Vec<Effect>> {
        let mut effects = self.deck.absorb(Msg::Tick(now()));
        match woken {
            Woken::Frame | Woken::Late | Woken::Sent(None) => {}
            Woken::Signal | Woken::Input(None) => {
                effects.extend(self.deck.absorb(Msg::EndRequested));
            }
            Woken::Input(Some(msg)) => {
                effects.extend(self.deck.absorb(msg?));
                for _ in 1..BURST {
                    // An effect may want the terminal: what was typed after it stays unread.
                    let next = if effects.is_empty() { self.input.ready() } else { None };
                    let Some(msg) = next else { break };
                    effects.extend(self.deck.absorb(msg));
                }
            }
            Woken::Told(msg) | Woken::Sent(Some(msg)) => effects.extend(self.deck.absorb(msg)),
            Woken::Happened(None) => {
                self.is_over = true;
                effects.extend(self.deck.absorb(Msg::SessionOver));
            }
            Woken::Happened(Some(event)) => {
                effects.extend(self.deck.absorb(Msg::Event(event)));
                for _ in 1..BURST {
                    let Some(Some(event)) = self.events.next().now_or_never() else { break };
                    effects.extend(self.deck.absorb(Msg::Event(event)));
                }
            }
        }
        Ok(effects)
    }
}

/// What a panic leaves behind can only be tested with one: debug builds have it on request.
#[expect(clippy::panic, reason = "the test of what a panic leaves behind")]
fn panic_if_told() {
    if cfg!(debug_assertions) && std::env::var_os("QUARTERDECK_TEST_PANIC").is_some() {
        panic!("told to panic");
    }
}

/// The time as the state counts it.
fn now() -> Stamp {
    Stamp::from(SystemTime::now())
}

async fn until(late: Option<Stamp>) {
    let Some(late) = late else { return std::future::pending().await };
    let left = late.millis().saturating_sub(now().millis());
    let left = u64::try_from(left).unwrap_or_default();
    tokio::time::sleep(std::time::Duration::from_millis(left)).await;
}

/// What tells the program to end. Ctrl+C is a key here; as a signal it comes from outside.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }

    /// Only those that mean it while another program has the terminal.
    async fn last(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
