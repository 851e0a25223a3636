//! Slash commands and the palette.

use quarterdeck::console::commands::export::exported;
use quarterdeck::console::commands::{COMMANDS, named};
use quarterdeck::console::state::dialog::Dialog;
use quarterdeck::console::state::offers::{Offers, Tree};
use quarterdeck::console::update::{Effect, Look, Show};
use quarterdeck::protocol::content::{Block, ChatMessage};
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::{Mode, Op, SpawnWish, TaskChange};
use serde_json::json;

use super::story::{Story, agent, inventory, lead};

/// One line for every command: what it is told, what that does to the session, and what is offered
/// at `/name `. Adding a command without one fails.
#[test]
fn every_command_has_help_completion_an_error_and_a_deed() {
    let seen = |words: &'static str| Deed::Seen(words);
    let spawn = SpawnWish { name: "ada".into(), prompt: "map it".into(), ..SpawnWish::default() };
    let delegate = Op::Delegate {
        agent: lead(),
        kind: None,
        description: "look again".into(),
        prompt: "look again".into(),
    };
    let task = TaskChange::Create {
        subject: "sweep".into(),
        description: String::new(),
        blocked_by: Vec::new(),
    };
    let scout = || agent("scout");
    let diff = Look::Diff { of: "scout".into(), dir: "/demo/inventory".into() };
    let table: Vec<(&str, Deed, &str)> = vec![
        ("/help", seen("answer the oldest ask"), ""),
        ("/team", seen("claude-opus-4-5"), ""),
        ("/spawn ada map it", Deed::Op(Op::Spawn { wish: Box::new(spawn) }), ""),
        ("/tasks", seen("list call sites"), ""),
        ("/task sweep", Deed::Op(Op::Task { change: Box::new(task) }), ""),
        ("/agents", seen("Go to reviewer"), ""),
        ("/asks", seen("needs you 2"), ""),
        ("/permissions", seen("granted in this session"), ""),
        ("/mode plan scout", Deed::Op(Op::Mode { agent: scout(), mode: Mode::Plan }), "plan"),
        ("/model opus", Deed::Op(Op::Model { agent: lead(), model: "opus".into() }), "opus"),
        ("/cost", seen("$0.42 in all"), ""),
        ("/context", seen("12k of 200k"), ""),
        ("/compact", Deed::Op(Op::Compact { agent: lead(), wishes: None }), ""),
        ("/fork look again", Deed::Op(delegate), ""),
        ("/worktree", Deed::Wish(Effect::Look(Look::Worktrees(Show::Page))), ""),
        ("/diff scout", Deed::Wish(Effect::Look(diff)), "scout"),
        ("/merge", Deed::Wish(Effect::Look(Look::Worktrees(Show::Merge))), "agent-1"),
        ("/resume", Deed::Wish(Effect::Look(Look::Sessions { wanted: String::new() })), ""),
        ("/pause scout", Deed::Op(Op::Pause { agent: scout() }), "scout"),
        ("/go-on scout", Deed::Op(Op::Unpause { agent: scout() }), "scout"),
        ("/stop scout", Deed::Op(Op::Stop { agent: scout() }), "scout"),
        ("/shutdown scout", Deed::Op(Op::Shutdown { agent: scout(), reason: "".into() }), "scout"),
        ("/search rounded", seen("`rounded`"), ""),
        ("/export", seen(""), "quarterdeck-1b4e28ba.md"),
        ("/doctor", Deed::Wish(Effect::Look(Look::Doctor)), ""),
        ("/theme light", Deed::Wish(Effect::Theme("light".into())), "light"),
        ("/layout grid", seen("scout"), "grid"),
        ("/mouse off", Deed::Wish(Effect::Mouse(false)), "off"),
        ("/notices", seen(" notices "), ""),
        ("/clear", seen("lead"), ""),
        ("/quit", seen("Leave?"), ""),
    ];
    let told: Vec<&str> =
        table.iter().map(|(line, ..)| line[1..].split(' ').next().unwrap()).collect();
    let known: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
    assert_eq!(told, known);
    for (command, (line, deed, offered)) in COMMANDS.iter().zip(table) {
        let name = command.name;
        assert!(!command.help.is_empty() && !command.help.ends_with('.'), "/{name}");
        let palette = Story::new().keys(&format!("<C-p>/{name}")).screen();
        assert!(palette.contains(&format!("/{name}")), "/{name}: {palette}");
        offers_at(&format!("/{name} "), offered);
        if command.needs_words() {
            let mut story = fresh().keys(&format!("/{name}<esc>")).wait(600).keys("<ret>");
            assert!(story.screen().contains(&format!("Write /{name}")), "{}", story.screen());
            assert_eq!((story.ops(), story.draft()), (Vec::new(), format!("/{name}")));
        }
        let mut story = fresh().keys(line).keys("<esc>").wait(600).keys("<ret>");
        let effects = story.effects();
        match deed {
            Deed::Seen(words) => assert!(story.screen().contains(words), "{}", story.screen()),
            Deed::Op(op) => assert!(effects.contains(&Effect::Send(op)), "{line}: {effects:?}"),
            Deed::Wish(wish) => assert!(effects.contains(&wish), "{line}: {effects:?}"),
        }
        assert_eq!(story.draft(), "", "{line}");
    }
}

enum Deed {
    Op(Op),
    Wish(Effect),
    /// These words are on the screen.
    Seen(&'static str),
}

/// A team at work, with something to choose from; no ask is shown.
fn fresh() -> Story {
    let mut story = inventory().keys("<esc>");
    story.deck.state.offers = Offers {
        kinds: vec!["Explore".to_owned(), "general-purpose".to_owned()],
        models: vec!["opus".to_owned(), "haiku".to_owned()],
        trees: Some(vec![Tree {
            name: "agent-1".to_owned(),
            branch: "worktree-agent-1".to_owned(),
            path: "/demo/inventory/.claude/worktrees/agent-1".to_owned(),
            state: "1 commit".to_owned(),
        }]),
        ..Offers::default()
    };
    story.effects();
    story
}

/// Whether a text is among what is offered; nothing at all for an empty one.
#[track_caller]
fn offers_at(typed: &str, wanted: &str) {
    let story = fresh().keys(typed);
    let completion = story.state().composer.completion.as_ref();
    let offered: Vec<&str> =
        completion.iter().flat_map(|all| all.items.iter().map(|item| item.text.trim())).collect();
    match wanted {
        "" => assert_eq!(offered, Vec::<&str>::new(), "at `{typed}`"),
        wanted => assert!(offered.contains(&wanted), "at `{typed}`: {offered:?}"),
    }
}

#[test]
fn flags_of_spawn_and_what_stands_behind_them_are_completed() {
    offers_at("/spawn ada -", "--type");
    offers_at("/spawn ada --type ", "Explore");
    offers_at("/spawn ada --type gen", "general-purpose");
    offers_at("/spawn ada --model h", "haiku");
    offers_at("/spawn ada --mode pl", "plan");
    offers_at("/spawn ada --worktree map the co", "");
    let story = fresh().keys("/spawn ada --ty<tab>Exp<tab> --mo<down><tab>pla<tab> map it");
    assert_eq!(story.draft(), "/spawn ada --type Explore --mode plan map it");
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
        ("/permissions", "granted in this session"),
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
            assert_eq!(story.ops(), [], "/{}", command.name);
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
fn every_command_of_the_manual_is_there() {
    let manual = "help team spawn tasks agents asks permissions mode model cost context compact \
                  fork stop shutdown worktree diff merge search resume export theme doctor clear \
                  quit";
    for name in manual.split_whitespace() {
        assert!(named(name).is_some(), "/{name}");
    }
}

#[test]
fn a_session_is_exported_as_markdown() {
    let mut story = inventory().keys("<esc>/export notes.md<ret>");
    let wanted = story.effects().into_iter().find_map(|effect| {
        let Effect::Export { name } = effect else { return None };
        Some(name)
    });
    assert_eq!(wanted.as_deref(), Some("notes.md"));
    let diff = "@@ -1 +1 @@\n-a ``` b\n+c\n";
    let ended = |use_id: &str, data| Fact::ToolEnded {
        use_id: use_id.to_owned(),
        failed: false,
        summary: String::new(),
        millis: 1,
        data,
    };
    let printed = ChatMessage::results(vec![
        Block::tool_result("u7", "12 passed"),
        Block::tool_result("u8", "a whole file"),
    ]);
    let (from, queued) = ("tools".to_owned(), Vec::new());
    story = story
        .runs("scout", "u7", "Bash", "cargo test")
        .runs("scout", "u8", "Read", "src/stock.py")
        .fact("scout", ended("u8", json!({ "diff": diff })))
        .fact("scout", Fact::Heard { from, message: printed, queued });
    let text = exported("1b4e28ba", &story.happened);
    for words in [
        "# Session 1b4e28ba\n",
        "## scout (",
        "rounded twice",
        "- asks to use **Bash** `{\"command\":\"rm -r build\"}`",
        "- **Bash** `cargo test`",
        "```\n12 passed\n```",
        "```diff\n@@ -1 +1 @@\n-a ``` b\n+c\n```",
        "## Tasks\n\n- [x] #1 map the code (scout)\n- [ ] #2",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("a whole file"), "the file itself has it: {text}");
}
