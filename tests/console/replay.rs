//! A recording on the console: its keys are the player's, an ask is only looked at, and nothing
//! is written or asked.

use std::fs;
use std::sync::Arc;

use quarterdeck::console::keys::{Chord, Keymap};
use quarterdeck::console::picture;
use quarterdeck::console::runtime::playback::Playback;
use quarterdeck::console::state::Opening;
use quarterdeck::console::update::{Effect, Msg, Parting};
use quarterdeck::console::view::theme::Theme;
use quarterdeck::session::replay::{Player, Recording};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::story::{Story, inventory, lead};

/// What a story told, as a recording.
pub fn recorded(story: &Story) -> Playback {
    recorded_with(story, Keymap::default())
}

fn recorded_with(story: &Story, keymap: Keymap) -> Playback {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("events.jsonl");
    let line = |event| format!("{}\n", serde_json::to_string(event).unwrap());
    fs::write(&file, story.happened.iter().map(line).collect::<String>()).unwrap();
    let recording = Recording::read(&file).unwrap();
    let opening = Opening {
        lead: lead(),
        now: recording.start(),
        session: "s".into(),
        project: "/demo".into(),
        keymap,
        mouse: false,
        theme: "dark".into(),
    };
    let player = Player::new(Arc::new(recording), 1.0);
    let mut playback = Playback::new(player, opening, Theme::named("dark").unwrap());
    playback.hear(Msg::Resized { columns: 140, rows: 40 });
    playback.player.pause();
    playback
}

fn press(playback: &mut Playback, keys: &str) -> Vec<Effect> {
    let chords = Chord::parse_all(keys).unwrap();
    let wishes = chords.into_iter().flat_map(|chord| playback.hear(Msg::Key(chord)));
    wishes.filter(|wish| !matches!(wish, Effect::Title(_))).collect()
}

fn screen(playback: &mut Playback) -> String {
    let mut terminal = Terminal::new(TestBackend::new(140, 40)).unwrap();
    terminal.draw(|frame| playback.paint(frame)).unwrap();
    picture::text(terminal.backend().buffer())
}

fn draft(playback: &Playback) -> String {
    playback.deck.state.composer.draft.whole()
}

#[test]
fn an_ask_of_long_ago_does_not_open_by_itself() {
    let mut playback = recorded(&inventory());
    press(&mut playback, "a");
    let at_first = playback.player.at();
    assert_eq!(playback.deck.state.asks.len(), 1);
    assert!(playback.deck.state.asks.dialog.is_none());
    press(&mut playback, "a");
    assert!(playback.player.at() > at_first, "`a` goes to the next ask, and answers none");
    assert_eq!(playback.deck.state.asks.len(), 2);
    press(&mut playback, " ");
    assert!(playback.deck.state.asks.dialog.is_none());
    assert_eq!(press(&mut playback, "q"), [Effect::Quit(Parting::End)]);
    assert_eq!(draft(&playback), "");
}

#[test]
fn an_ask_can_be_looked_at_while_the_player_keeps_its_keys() {
    let mut playback = recorded(&inventory());
    press(&mut playback, "a<C-y>");
    assert!(screen(&mut playback).contains("rm -r build"));
    assert!(playback.deck.state.asks.dialog.is_some());
    assert_eq!(press(&mut playback, "ynw*<tab><ret>zz"), [], "nothing answers it");
    assert!(playback.deck.state.asks.dialog.is_some(), "and nothing steps back");
    assert_eq!((playback.deck.state.asks.len(), draft(&playback).as_str()), (1, ""));
    let before = playback.player.is_playing();
    press(&mut playback, " ");
    assert_ne!(playback.player.is_playing(), before, "a blank plays and pauses");
    press(&mut playback, " ");
    press(&mut playback, "d");
    assert!(playback.deck.state.asks.dialog.as_ref().unwrap().full);
    press(&mut playback, "<esc>");
    assert!(playback.deck.state.asks.dialog.is_none(), "Esc closes it");
    press(&mut playback, "<C-y>a");
    assert_eq!(playback.deck.state.asks.len(), 2, "`a` still goes to the next ask");
    press(&mut playback, "<C-y>");
    assert_eq!(press(&mut playback, "q"), [Effect::Quit(Parting::End)]);
}

#[test]
fn what_a_recording_cannot_do_it_says() {
    let mut playback = recorded(&inventory());
    press(&mut playback, "G");
    assert_eq!(press(&mut playback, "<S-tab>"), []);
    assert!(screen(&mut playback).contains("This is a recording"));
}

#[test]
fn what_needs_no_session_is_done() {
    let mut playback = recorded(&inventory());
    press(&mut playback, "G<tab>");
    let copied = press(&mut playback, "c");
    assert!(matches!(&copied[..], [Effect::Copy(text)] if !text.is_empty()), "{copied:?}");
    let viewed = press(&mut playback, "v");
    assert!(matches!(&viewed[..], [Effect::OpenEditor { .. }]), "{viewed:?}");
    let theme = press(&mut playback, "<C-p>theme light");
    assert_eq!(theme, []);
    assert_eq!(draft(&playback), "");
}

#[test]
fn nothing_is_written_in_a_recording() {
    let mut playback = recorded(&inventory());
    press(&mut playback, "G");
    press(&mut playback, "hello<ret><C-r>x<esc><C-g><up><C-x>r<C-x>g");
    playback.hear(Msg::Paste("pasted".to_owned()));
    assert_eq!(draft(&playback), "");
    assert!(playback.deck.state.composer.search.is_none());
    assert!(playback.deck.state.composer.completion.is_none());
}

#[test]
fn pages_and_lists_keep_their_keys() {
    let mut playback = recorded(&inventory());
    press(&mut playback, "G<f1>");
    assert!(screen(&mut playback).contains("answer the oldest ask"));
    let at = playback.player.at();
    assert_eq!(press(&mut playback, "Gq"), [], "q closes the page");
    assert!(playback.deck.state.layers.is_empty());
    assert_eq!(playback.player.at(), at);
    press(&mut playback, "<C-p>team");
    assert!(screen(&mut playback).contains("/team"));
    press(&mut playback, "<ret>");
    assert!(screen(&mut playback).contains("claude-opus-4-5"));
}

#[test]
fn the_bar_names_the_keys_that_are_in_force() {
    let file = "[replay]\nplay-or-pause = \"P\"\nnext-ask = \"<C-f>\"\n";
    let keymap = Keymap::with_file("keys.toml", file).unwrap();
    let mut playback = recorded_with(&inventory(), keymap);
    let shown = screen(&mut playback);
    let bar = shown.lines().last().unwrap();
    assert!(bar.contains("P play") && bar.contains("^F ask") && bar.contains("←→ step"), "{bar}");
}
