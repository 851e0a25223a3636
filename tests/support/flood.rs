//! A session that tells more than anybody can read, for the real loop of the console: run in a
//! process of its own, in a terminal.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _};
use quarterdeck::console::keys::Keymap;
use quarterdeck::console::runtime::deck::Deck;
use quarterdeck::console::runtime::files::HistoryFile;
use quarterdeck::console::runtime::looks::Library;
use quarterdeck::console::runtime::{self, Opened, Options};
use quarterdeck::console::state::{Opening, State};
use quarterdeck::console::view::theme::Theme;
use quarterdeck::protocol::event::Event;
use quarterdeck::protocol::ids::AgentId;
use quarterdeck::protocol::op::Op;
use quarterdeck::protocol::time::Stamp;
use quarterdeck::session::{Refused, Session};
use quarterdeck::settings::paths::Home;
use serde_json::{Value, json};
use tokio::time::Instant;

/// What the child of a test or benchmark is told by its environment: how many seconds of 5,000
/// events each, or `endless`.
pub const HOW_LONG: &str = "QUARTERDECK_FLOOD";
/// Where the child may keep its history.
pub const HOME: &str = "QUARTERDECK_FLOOD_HOME";

pub const TEAMMATES: u64 = 20;
pub const EVENTS_A_SECOND: u64 = 5_000;
/// Events of a turn of a teammate: so many lines, the whole message, a call, its output, its end.
const TURN: u64 = 10;

/// Begins when the person says something.
struct Flood {
    /// How many events there are; none for one that never ends.
    most: Option<u64>,
    begun: Arc<AtomicBool>,
}

impl Session for Flood {
    fn submit(&self, _: Op) -> BoxFuture<'_, Result<(), Refused>> {
        self.begun.store(true, Ordering::SeqCst);
        async { Ok(()) }.boxed()
    }

    fn events(&self, _: u64) -> BoxStream<'static, Arc<Event>> {
        let opening = stream::iter(opening().map(Arc::new));
        let (most, begun) = (self.most, Arc::clone(&self.begun));
        let told = stream::unfold((0, None), move |(number, start)| {
            let begun = Arc::clone(&begun);
            async move {
                let start = match start {
                    Some(start) => start,
                    None => {
                        while !begun.load(Ordering::SeqCst) {
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                        Instant::now()
                    }
                };
                if most.is_some_and(|most| number >= most) {
                    // A session stays open when nobody works.
                    return futures::future::pending().await;
                }
                if most.is_some() {
                    let due = start + Duration::from_micros(number * 1_000_000 / EVENTS_A_SECOND);
                    if due > Instant::now() + Duration::from_millis(1) {
                        tokio::time::sleep_until(due).await;
                    }
                }
                Some((Arc::new(event(number)), (number + 1, Some(start))))
            }
        });
        opening.chain(told).boxed()
    }
}

pub fn name(teammate: u64) -> String {
    format!("t{teammate:02}")
}

/// The n-th line that a teammate says: whoever sees two of them knows which came first.
pub fn line(teammate: u64, number: u64) -> String {
    format!("{} says {number:06} and ends here.", name(teammate))
}

fn fact(seq: u64, who: &str, fact: &Value) -> Event {
    let event = json!({
        "seq": seq, "at": Stamp::from(std::time::SystemTime::now()), "agent": who, "fact": fact,
    });
    serde_json::from_value(event).expect("an event")
}

/// The team, as a session would tell of it.
fn opening() -> impl Iterator<Item = Event> {
    (0..TEAMMATES).map(|teammate| {
        let name = name(teammate);
        let id = format!("{name}@flood");
        let member = json!({"agentId": id, "name": name, "color": "blue", "joinedAt": 0});
        fact(teammate + 1, &id, &json!({"kind": "memberJoined", "member": member}))
    })
}

/// The n-th event: teammates take turns, and each tells of turns with lines, words and calls.
pub fn event(number: u64) -> Event {
    let (teammate, nth) = (number % TEAMMATES, number / TEAMMATES);
    let (turn, step) = (nth / TURN, nth % TURN);
    let id = format!("{}@flood", name(teammate));
    let said = |step: u64| line(teammate, turn * 6 + step);
    let use_id = format!("u{teammate}-{turn}");
    let input = json!({"command": "make"});
    let what = match step {
        0..=5 => json!({"kind": "speaking", "text": format!("{}\n\n", said(step))}),
        6 => {
            let text: String = (0..6).map(|step| format!("{}\n\n", said(step))).collect();
            let content = json!([
                {"type": "text", "text": text},
                {"type": "tool_use", "id": use_id, "name": "Bash", "input": input},
            ]);
            json!({
                "kind": "spoke", "id": use_id, "model": "m", "stop": "tool_use", "usage": {},
                "message": {"role": "assistant", "content": content}, "context": 1,
            })
        }
        7 => {
            json!({"kind": "toolStarted", "useId": use_id, "tool": "Bash", "summary": "make", "input": input})
        }
        8 => json!({"kind": "toolOutput", "useId": use_id, "text": "made\n"}),
        _ => {
            json!({"kind": "toolEnded", "useId": use_id, "failed": false, "summary": "made", "millis": 5})
        }
    };
    fact(TEAMMATES + 1 + number, &id, &what)
}

/// The last line that each teammate has said when all is told.
pub fn last_line(most: u64) -> u64 {
    most / TEAMMATES / TURN * 6 - 1
}

/// Runs the console on a flood, if this process was started for that.
pub fn run_if_told() -> bool {
    let Ok(how_long) = std::env::var(HOW_LONG) else { return false };
    let most = how_long.parse::<u64>().ok().map(|seconds| seconds * EVENTS_A_SECOND);
    let home = PathBuf::from(std::env::var_os(HOME).expect("a home"));
    let session = Flood { most, begun: Arc::default() };
    let state = State::new(Opening {
        lead: AgentId::parse("team-lead@flood").expect("an id"),
        now: Stamp::from(std::time::SystemTime::now()),
        session: "flood".to_owned(),
        project: "/demo".to_owned(),
        keymap: Keymap::default(),
        mouse: true,
        theme: "dark".to_owned(),
    });
    let options = Options {
        theme: Theme::named("dark").expect("a theme"),
        history: HistoryFile::of(&home, &home),
        library: Library {
            project: home.clone(),
            home: Home::at(&home),
            doctor: |_| Ok(Vec::new()),
        },
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let left = runtime.expect("a runtime").block_on(async {
        let deck = Deck::new(state.clone(), Theme::named("dark").expect("a theme"));
        let opened = Opened::showing(deck, true).expect("a terminal");
        runtime::run(&session, state, options, opened).await
    });
    left.expect("a terminal");
    true
}
