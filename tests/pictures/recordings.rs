//! Recordings: the player's pace and jumps, and that going back shows what was there.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use quarterdeck::console::keys::{Chord, Keymap};
use quarterdeck::console::picture;
use quarterdeck::console::runtime::playback::Playback;
use quarterdeck::console::state::Opening;
use quarterdeck::console::update::Msg;
use quarterdeck::console::view::theme::Theme;
use quarterdeck::protocol::event::{Event, Fact, Level};
use quarterdeck::protocol::ids::AgentId;
use quarterdeck::protocol::time::Stamp;
use quarterdeck::session::markdown;
use quarterdeck::session::replay::{Mark, Player, Recording};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

/// A journal with one event per time given in milliseconds.
fn recording(times: &[i64]) -> Recording {
    let dir = tempfile::tempdir().unwrap();
    let lines: String = (1u64..)
        .zip(times)
        .map(|(seq, at)| {
            let task = json!({ "id": seq.to_string(), "subject": format!("task {seq}"), "description": "", "status": "pending", "blocks": [], "blockedBy": [] });
            let fact = match seq % 3 {
                0 => json!({ "kind": "notice", "level": "error", "text": format!("trouble {seq}") }),
                1 => json!({ "kind": "taskChanged", "task": task }),
                _ => json!({ "kind": "heard", "from": "user", "message": { "role": "user", "content": format!("words {seq}") } }),
            };
            let at = Stamp::from_millis(1_790_000_000_000 + at);
            format!("{}\n", json!({ "seq": seq, "at": at, "agent": "team-lead@t", "fact": fact }))
        })
        .collect();
    let file = dir.path().join("events.jsonl");
    fs::write(&file, lines).unwrap();
    Recording::read(&file).unwrap()
}

#[test]
fn it_plays_at_its_speed_and_cuts_silences() {
    let mut player = Player::new(Arc::new(recording(&[0, 1000, 1500, 600_000])), 1.0);
    assert_eq!(player.advance(Duration::ZERO).len(), 1, "the first is there at once");
    assert_eq!(player.due_in(), Some(Duration::from_secs(1)));
    assert_eq!(player.advance(Duration::from_millis(900)).len(), 0);
    assert_eq!(player.advance(Duration::from_millis(600)).len(), 2);
    assert_eq!(player.due_in(), Some(Duration::from_secs(2)), "ten minutes are two seconds");
    player.faster();
    assert_eq!(player.due_in(), Some(Duration::from_secs(1)));
    player.toggle();
    assert_eq!((player.due_in(), player.advance(Duration::from_secs(9)).len()), (None, 0));
    player.toggle();
    assert_eq!(player.advance(Duration::from_secs(1)).len(), 1);
    assert!(player.is_over());
    player.toggle();
    assert_eq!((player.at(), player.is_playing()), (0, true), "it begins again");
}

#[test]
fn it_jumps_to_what_is_worth_seeing() {
    let mut player = Player::new(Arc::new(recording(&[0, 1, 2, 3, 4, 5])), 1.0);
    assert!(player.next(Mark::Error));
    assert_eq!((player.at(), player.is_playing()), (3, false));
    assert!(player.next(Mark::TaskChange));
    assert_eq!(player.at(), 4);
    assert!(!player.next(Mark::Ask), "there is none");
    assert_eq!(player.at(), 4);
    player.step(-1);
    assert_eq!(player.at(), 3);
    player.step(-9);
    assert_eq!(player.at(), 0);
}

fn screen(playback: &mut Playback) -> String {
    let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
    terminal.draw(|frame| playback.paint(frame)).unwrap();
    picture::text(terminal.backend().buffer())
}

/// The state is a fold over the events: wherever it comes from, a place looks the same.
#[test]
fn going_back_shows_what_was_there() {
    let recording = recording(&[0, 400, 800, 1200, 1600, 2000, 2400, 2800]);
    let lead = AgentId::parse("team-lead@t").unwrap();
    let opening = Opening {
        lead,
        now: recording.start(),
        session: "s".into(),
        project: "/demo".into(),
        keymap: Keymap::default(),
        mouse: false,
        theme: "dark".into(),
    };
    let theme = Theme::named("dark").unwrap();
    let player = Player::new(Arc::new(recording), 1.0);
    let mut playback = Playback::new(player, opening, theme);
    playback.hear(Msg::Resized { columns: 100, rows: 30 });
    let press = |playback: &mut Playback, keys: &str| {
        for chord in Chord::parse_all(keys).unwrap() {
            playback.hear(Msg::Key(chord));
        }
    };
    let mut there = Vec::new();
    for _ in 0..8 {
        press(&mut playback, "<right>");
        there.push(screen(&mut playback));
    }
    assert!(there[7].contains("words 8") && there[7].contains("8/8"), "{}", there[7]);
    for at in (0..7).rev() {
        press(&mut playback, "<left>");
        assert_eq!(screen(&mut playback), there[at], "after {} events", at + 1);
    }
    press(&mut playback, "G");
    assert_eq!(screen(&mut playback), there[7]);
    press(&mut playback, "gee");
    assert!(screen(&mut playback).contains("6/8"), "the second error is the sixth event");
    press(&mut playback, "zzz");
    assert!(!screen(&mut playback).contains("zzz"), "nothing is written in a recording");
}

#[test]
fn markdown_tells_who_said_what_in_order() {
    let recording = recording(&[0, 1000, 2000, 3000, 4000]);
    let events = recording.events();
    let text = markdown::of("A session", events.iter().map(Arc::as_ref));
    assert!(text.starts_with("# A session\n\n## team-lead ("), "{text}");
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no `{words}` in\n{text}"));
    assert!(at("- task #1 pending: task 1") < at("> words 2"), "{text}");
    assert!(at("> words 2") < at("> trouble 3"), "{text}");
    let quiet = Event {
        seq: 1,
        at: Stamp::from_millis(0),
        agent: None,
        fact: Fact::Notice { level: Level::Info, text: "hush".into() },
    };
    assert_eq!(markdown::of("x", [&quiet]), "# x\n");
}
