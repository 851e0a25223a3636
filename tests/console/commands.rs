//! Slash commands and the palette.

use quarterdeck::console::commands::COMMANDS;
use quarterdeck::console::state::dialog::Dialog;
use quarterdeck::console::update::Effect;
use quarterdeck::protocol::op::{Mode, Op, SpawnWish};

use super::story::{Story, agent, inventory, lead};

#[test]
fn every_command_has_help_and_can_be_found_in_the_palette() {
    for command in COMMANDS {
        assert!(!command.help.is_empty() && !command.help.ends_with('.'), "/{}", command.name);
        let mut story = Story::new().keys(&format!("<C-p>/{}", command.name));
        assert!(story.screen().contains(&format!("/{}", command.name)), "/{}", command.name);
    }
}

#[test]
fn an_unknown_one_suggests_the_nearest_and_stays_to_be_mended() {
    let mut story = Story::new().keys("/taks<ret>");
    assert!(story.screen().contains("did you mean /task"));
    assert_eq!((story.draft().as_str(), story.effects()), ("/taks", Vec::new()));
}

#[test]
fn a_path_is_no_command() {
    let mut story = Story::new().keys("/etc/hosts is odd<ret>");
    assert!(matches!(&story.ops()[..], [Op::Say { text, .. }] if text == "/etc/hosts is odd"));
}

#[test]
fn commands_reach_the_session() {
    let spawn = SpawnWish {
        name: "ada".to_owned(),
        prompt: "map the code".to_owned(),
        kind: Some("Explore".to_owned()),
        worktree: true,
        ..SpawnWish::default()
    };
    let table = [
        ("/spawn ada --type Explore --worktree map the code", Op::Spawn { wish: Box::new(spawn) }),
        ("/mode plan scout", Op::Mode { agent: agent("scout"), mode: Mode::Plan }),
        (
            "/compact mind the tests",
            Op::Compact { agent: lead(), wishes: Some("mind the tests".into()) },
        ),
        ("/stop fixer", Op::Stop { agent: agent("fixer") }),
        ("/stop", Op::Interrupt { agent: lead() }),
        ("/pause scout", Op::Pause { agent: agent("scout") }),
        ("/go-on scout", Op::Unpause { agent: agent("scout") }),
        (
            "/shutdown scout all done",
            Op::Shutdown { agent: agent("scout"), reason: "all done".into() },
        ),
    ];
    for (line, wanted) in table {
        let mut story = inventory().keys("<esc>").keys(line).keys("<esc>").wait(600).keys("<ret>");
        assert_eq!(story.ops(), [wanted], "{line}");
        assert_eq!(story.draft(), "", "{line}");
    }
}

#[test]
fn mistakes_say_what_to_write() {
    for (line, words) in [
        ("/spawn", "Write /spawn <name>"),
        ("/spawn bad/name x", "1 to 64 letters"),
        ("/mode fast", "There is no mode fast"),
        ("/stop scuot", "did you mean scout"),
        ("/theme pink", "There is no theme pink"),
        ("/layout round", "overview, focus or grid"),
        ("/shutdown lead", "ends with the session"),
    ] {
        let mut story = inventory().keys("<esc>").keys(line).keys("<esc>").wait(600).keys("<ret>");
        assert!(story.screen().contains(words), "{line}: {}", story.screen());
        assert_eq!(story.ops(), [], "{line}");
    }
}

#[test]
fn arguments_are_completed() {
    let mut story = inventory().keys("<esc>/mode pl");
    assert!(story.state().composer.completion.is_some());
    story = story.keys("<tab> sc<tab>");
    assert_eq!(story.draft(), "/mode plan scout");
}

#[test]
fn enter_runs_a_command_that_wants_nothing_more_at_once() {
    let mut story = Story::new().keys("/cos<ret>");
    assert!(story.screen().contains(" cost "));
    assert_eq!(story.draft(), "");
}

#[test]
fn pages_show_the_team_costs_contexts_and_permissions() {
    for (line, words) in [
        ("/team", "claude-opus-4-5"),
        ("/cost", "$0.42 in all"),
        ("/context", "12k of 200k"),
        ("/permissions", "given in this session"),
    ] {
        let mut story = inventory().keys("<esc>").keys(line).keys("<ret>");
        assert!(story.screen().contains(words), "{line}: {}", story.screen());
    }
}

/// `/stop` in the palette must not stop whoever happens to be selected.
#[test]
fn the_palette_writes_what_takes_words_and_runs_the_rest() {
    for command in COMMANDS {
        let mut story = inventory().keys("<esc>").keys(&format!("<C-p>/{}", command.name));
        let picked = match story.state().top() {
            Some(Dialog::Picker(picker)) => picker.picked().expect("an entry"),
            other => panic!("{other:?}"),
        };
        assert!(picked.label.starts_with(&format!("/{}", command.name)), "{picked:?}");
        story = story.keys("<ret>");
        let written = if command.arguments.is_empty() { "" } else { command.name };
        assert_eq!(story.draft().trim_matches(['/', ' ']), written, "/{}", command.name);
        if !command.arguments.is_empty() {
            assert_eq!(story.effects(), [], "/{}", command.name);
        }
    }
}

#[test]
fn pages_are_copied() {
    let mut story = inventory().keys("<esc>/cost<ret>");
    story.effects();
    story = story.keys("c");
    let effects = story.effects();
    let [Effect::Copy(text)] = &effects[..] else { panic!("{effects:?}") };
    assert!(text.starts_with("$0.42 in all") && text.contains("scout"), "{text}");
    let mut help = Story::new().keys("<f1>c");
    let effects = help.effects();
    let [Effect::Copy(text)] = &effects[..] else { panic!("{effects:?}") };
    assert!(text.contains("answer the oldest ask") && text.contains("Ctrl+Y"), "{text}");
}

#[test]
fn a_theme_is_worn_while_it_is_chosen_and_taken_off_again() {
    let mut story = Story::new().keys("/theme<ret><down>");
    assert_eq!(story.effects().last(), Some(&Effect::Theme("light".to_owned())));
    story = story.keys("<esc>");
    assert_eq!(story.effects(), [Effect::Theme("dark".to_owned())]);
    story = story.keys("/theme<ret><down><ret>");
    assert_eq!(story.state().theme, "light");
}

#[test]
fn a_session_is_exported_as_markdown() {
    let mut story = inventory().keys("<esc>/export notes.md<ret>");
    let exported = story.effects().into_iter().find_map(|effect| {
        let Effect::Export { name, text } = effect else { return None };
        Some((name, text))
    });
    let (name, text) = exported.expect("an export");
    assert_eq!(name, "notes.md");
    for words in ["# inventory-fix", "## scout", "rounded twice", "- [x] #1 map the code (scout)"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
