//! What the console costs as a whole. Drawing and taking in events in process; and the real
//! program in a terminal: its first frame, a key while agents tell 5,000 things a second, and an
//! idle console. Budgets in DESIGN.md: a frame of 200×60 within 2 ms however long transcripts are,
//! the first within 50 ms, a key within 32 ms, idle no frame, < 0.5 % CPU and ≤ 25 MB.
//!
//! `cargo bench --bench console -- terminal` does only the second part.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]
#![allow(dead_code)] // the tests' terminal and flood are used in part

use std::fs;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion};
use quarterdeck::console::keys::Keymap;
use quarterdeck::console::runtime::Deck;
use quarterdeck::console::state::{Opening, State};
use quarterdeck::console::text::highlight::Pens;
use quarterdeck::console::update::Msg;
use quarterdeck::console::view::Cache;
use quarterdeck::console::view::theme::Theme;
use quarterdeck::protocol::event::Event;
use quarterdeck::protocol::ids::AgentId;
use quarterdeck::protocol::time::Stamp;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};

#[path = "../tests/terminal/console.rs"]
mod console;
#[path = "../tests/support/flood.rs"]
mod flood;
#[path = "../tests/terminal/place.rs"]
mod place;

use console::{Console, Seen};
use place::Place;

const ANSWER: &str = "## What I found\nThe totals are **rounded twice**, see `src/stock.py`:\n\n\
    1. once for the price\n2. once for the sum\n\n| file | finds |\n|---|--:|\n| stock.py | 3 |\n\n\
    ```python\ndef total(price, n):\n    return round(price * n, 2)\n```\n\nI will mend it now.\n";
/// Rows that the answer takes.
const ROWS: usize = 18;
const SIZE: Rect = Rect { x: 0, y: 0, width: 200, height: 60 };

/// A console that is told things.
struct Told {
    deck: Deck,
    seq: u64,
}

impl Told {
    fn new() -> Self {
        let state = State::new(Opening {
            lead: AgentId::parse("team-lead@t").unwrap(),
            now: Stamp::from_millis(1_790_000_000_000),
            session: "s".into(),
            project: "/demo".into(),
            keymap: Keymap::default(),
            mouse: true,
            theme: "dark".into(),
        });
        let cache = Cache::with_pens(Pens::at_once());
        let mut deck = Deck::with_cache(state, Theme::named("dark").unwrap(), cache);
        deck.absorb(Msg::Resized { columns: SIZE.width, rows: SIZE.height });
        Self { deck, seq: 0 }
    }

    fn tell(&mut self, who: &str, fact: &Value) {
        self.seq += 1;
        let at = Stamp::from_millis(1_790_000_000_000);
        let event = json!({"seq": self.seq, "at": at, "agent": format!("{who}@t"), "fact": fact});
        let event: Event = serde_json::from_value(event).unwrap();
        self.deck.absorb(Msg::Event(Arc::new(event)));
    }

    fn says(&mut self, who: &str) {
        let message = json!({"role": "assistant", "content": ANSWER});
        self.tell(who, &json!({"kind": "spoke", "id": "m", "model": "m", "message": message, "stop": "end_turn", "usage": {}, "context": 1}));
    }

    /// So many teammates with transcripts of about so many rows each, and a task for each.
    fn team(teammates: usize, rows: usize) -> Self {
        let mut told = Self::new();
        let names: Vec<String> = (0..teammates).map(|number| format!("worker-{number}")).collect();
        for (nth, name) in names.iter().enumerate() {
            let member = json!({"agentId": format!("{name}@t"), "name": name, "color": "blue", "joinedAt": 0});
            told.tell(name, &json!({"kind": "memberJoined", "member": member}));
            told.tell(name, &json!({"kind": "turnStarted"}));
            let after: Vec<String> =
                (nth > 0).then(|| (nth / 2 + 1).to_string()).into_iter().collect();
            let task = json!({"id": (nth + 1).to_string(), "subject": "a part of the work", "description": "",
                "status": "pending", "owner": name, "blocks": [], "blockedBy": after});
            told.tell(name, &json!({"kind": "taskChanged", "task": task}));
        }
        for _ in 0..rows / ROWS {
            told.says("team-lead");
            names.iter().for_each(|name| told.says(name));
        }
        told
    }
}

fn draw(told: &mut Told, buffer: &mut Buffer) {
    black_box(told.deck.paint_into(SIZE, buffer));
}

fn screens(c: &mut Criterion) {
    let mut buffer = Buffer::empty(SIZE);
    for (teammates, rows) in [(8, 1_000), (8, 100_000), (64, 1_000)] {
        let mut told = Told::team(teammates, rows);
        let name = format!("draw 200x60/{teammates} teammates, {rows} rows each");
        c.bench_function(&format!("{name}, again"), |b| b.iter(|| draw(&mut told, &mut buffer)));
        c.bench_function(&format!("{name}, with a new answer"), |b| {
            b.iter(|| {
                told.says("worker-3");
                draw(&mut told, &mut buffer);
            });
        });
        let state = told.deck.state.clone();
        c.bench_function(&format!("{name}, the first time"), |b| {
            b.iter_batched(
                || {
                    let cache = Cache::with_pens(Pens::never());
                    Deck::with_cache(state.clone(), Theme::named("dark").unwrap(), cache)
                },
                |mut deck| {
                    black_box(deck.paint_into(SIZE, &mut buffer));
                    deck
                },
                BatchSize::PerIteration,
            );
        });
    }
}

fn absorbing(c: &mut Criterion) {
    let events: Vec<Arc<Event>> =
        (0..10_000).map(|number| Arc::new(flood::event(number))).collect();
    c.bench_function("absorb 10000 events of 20 teammates", |b| {
        b.iter_batched(
            Told::new,
            |mut told| {
                for event in &events {
                    told.deck.absorb(Msg::Event(Arc::clone(event)));
                }
                told
            },
            BatchSize::LargeInput,
        );
    });
}

/// The middle, and the one that 99 of 100 stay below.
fn told_of(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    let millis = |time: Duration| time.as_secs_f64() * 1_000.0;
    let (half, most) = (millis(at(50)), millis(at(99)));
    println!("{what}: p50 {half:.1} ms, p99 {most:.1} ms ({} times)", times.len());
}

const TALK: &str = "- repeat: true\n  say: \"Ahoy from the lead.\"";

/// A session on a playbook, and the rehearsal, which makes its project first.
fn first_frame() {
    for (what, args) in [("a session", &["--playbook", "book.yaml"][..]), ("the rehearsal", &[])] {
        let times = (0..30).map(|_| {
            let place = Place::new(TALK);
            fs::copy(place.book(), place.path("project/book.yaml")).unwrap();
            let start = Instant::now();
            let console = Console::start(&place, args, 200, 60);
            console.until_text("to lead");
            let time = start.elapsed();
            console.signal("TERM");
            console.ends();
            time
        });
        told_of(&format!("start to the first frame of {what}"), times.collect());
    }
}

fn key_under_flood() {
    let place = Place::new(TALK);
    let home = place.path("home").display().to_string();
    let place = place.with(flood::HOW_LONG, "20").with(flood::HOME, home);
    let own = std::env::current_exe().unwrap().display().to_string();
    let mut console = Console::start_program(&own, &place, &[], 200, 60);
    console.until_text("t19");
    console.say("begin");
    console.until_text("says");
    let mut times = Vec::new();
    for number in 0..500_u32 {
        let letter = char::from(b'A' + u8::try_from(number % 26).unwrap());
        let start = Instant::now();
        console.press(&letter.to_string());
        console.until("the key", |screen| {
            let row = screen.rows(0, 200).nth(57).unwrap_or_default();
            row.trim_end_matches(['┃', ' ']).ends_with(letter)
        });
        times.push(start.elapsed());
        console.wait_for(Duration::from_millis(u64::from(number % 23)), |_| false);
        if number % 26 == 25 {
            console.press("\x03");
            console.wait_for(Duration::from_millis(40), |_| false);
        }
    }
    told_of("key to screen while 20 agents tell 5000 things a second", times);
    let resident = console.resident().unwrap_or_default();
    println!("resident under that flood: {:.1} MB", resident as f64 / 1024.0);
    console.signal("TERM");
    console.ends();
}

/// Time on a processor, of threads that have ended too; counted in hundredths of a second.
fn on_processor(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks =
        fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok());
    Duration::from_millis(10 * ticks.sum::<u64>())
}

fn idle() {
    let place = Place::new(TALK);
    let mut console = Console::open(&place, 200, 60);
    console.say("hello");
    console.until_text("Ahoy from the lead.");
    console.until_text("all quiet");
    let frames = |seen: &Seen| seen.outside().frames;
    // What still has a cause comes to its end.
    loop {
        let before = console.look(frames);
        if !console.wait_for(Duration::from_secs(3), |seen| frames(seen) != before) {
            break;
        }
    }
    let (before, cpu, time) =
        (console.look(frames), on_processor(console.process()), Instant::now());
    console.wait_for(Duration::from_secs(20), |_| false);
    let used = on_processor(console.process()) - cpu;
    let share = used.as_secs_f64() / time.elapsed().as_secs_f64() * 100.0;
    let resident = console.resident().unwrap_or_default();
    println!(
        "idle console with its lead: {} frames in 20 s, {share:.3} % CPU, {:.1} MB resident",
        console.look(frames) - before,
        resident as f64 / 1024.0
    );
    console.signal("TERM");
    console.ends();
}

fn main() {
    if flood::run_if_told() {
        return;
    }
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if wanted.is_empty() || wanted.iter().any(|word| word == "terminal") {
        first_frame();
        key_under_flood();
        idle();
    }
    let mut criterion = Criterion::default()
        .sample_size(20)
        .measurement_time(Duration::from_secs(2))
        .warm_up_time(Duration::from_millis(500))
        .configure_from_args();
    screens(&mut criterion);
    absorbing(&mut criterion);
    criterion.final_summary();
}
