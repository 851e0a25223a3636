//! Keys on a transcript, what the rest of the screen shows of it, and keys that are the person's
//! own.

use quarterdeck::console::keys::Keymap;
use quarterdeck::console::state::cell::{Kind, Phase};
use quarterdeck::console::state::ui::Focus;
use quarterdeck::console::update::{Editing, Effect, Msg};
use quarterdeck::console::view::layout;
use quarterdeck::protocol::ask::{Judge, Verdict};
use quarterdeck::protocol::event::{AgentAbout, Fact};
use quarterdeck::protocol::ids::AskId;
use quarterdeck::protocol::op::Mode;
use ratatui::layout::Rect;
use serde_json::json;

use super::story::{Story, agent, inventory, lead};

#[test]
fn c_copies_the_cell_v_opens_all_of_it_and_m_writes_to_the_agent() {
    let story = Story::new().team(&["ada"]).said("ada", "first words").said("ada", "last words");
    let mut story = story.keys("<S-down><tab>");
    assert_eq!(story.state().ui.focus, Focus::Pane);
    story = story.keys("c");
    assert_eq!(story.effects(), [Effect::Copy("last words".to_owned())]);
    story.buffer();
    story = story.keys("kkc");
    assert_eq!(story.effects(), [Effect::Copy("first words".to_owned())]);
    story = story.keys("v");
    let text = "ada\n\nfirst words\n\nlast words".to_owned();
    let wanted = Effect::OpenEditor { purpose: Editing::Reading, text, ending: "md" };
    assert_eq!(story.effects(), [wanted]);
    story = story.keys("<C-o>m");
    assert!(story.state().is_composing());
    assert_eq!(story.selected(), "ada");
    assert_eq!(story.keys("hi").draft(), "hi");
}

#[test]
fn there_is_nothing_to_copy_in_an_empty_pane() {
    let mut story = Story::new().keys("<tab>c");
    assert_eq!(story.effects(), []);
    assert!(story.screen().contains("nothing to copy"));
}

#[test]
fn the_screen_is_drawn_anew_and_a_shell_opens() {
    let mut story = inventory().keys("<esc><C-l>");
    assert_eq!(story.effects(), [Effect::Redraw]);
    story = story.keys("<C-z>");
    assert_eq!(story.effects(), [Effect::Shell]);
    story = story.keys("<C-y><C-l><C-z>");
    assert_eq!(story.effects(), [Effect::Redraw, Effect::Shell], "over an ask, too");
    assert!(story.state().asks.dialog.is_some());
}

#[test]
fn the_title_of_the_window_is_given_again_after_a_shell() {
    let mut story = inventory();
    let size = story.state().size;
    let (columns, rows) = (size.columns - 10, size.rows);
    story.deck.absorb(Msg::Focus(false));
    assert_eq!(story.deck.absorb(Msg::Tick(story.state().now)), [], "it is known");
    let wishes = story.deck.absorb(Msg::TakenBack { columns, rows });
    assert_eq!(wishes, [Effect::Title("(2) quarterdeck · inventory-fix".to_owned())]);
    assert_eq!((story.state().size.columns, story.state().ui.is_watched), (columns, true));
}

/// tmux turns Esc and a letter into Alt and a letter: nobody meant that.
#[test]
fn unbound_alt_chords_do_nothing() {
    let mut story = inventory().keys("<esc>half");
    story.effects();
    let before = story.screen();
    for letter in "acegijlmnopqrstuvwxyzXQ/".chars() {
        story = story.keys_every(&format!("<A-{letter}>"), 0);
    }
    assert_eq!(story.effects(), []);
    assert_eq!((story.draft().as_str(), story.screen()), ("half", before));
    let mut asked = inventory().wait(1_000);
    for letter in "ynaweod".chars() {
        asked = asked.keys(&format!("<A-{letter}>"));
    }
    assert_eq!(asked.ops(), [], "nor do they answer");
    assert!(asked.state().asks.dialog.is_some());
}

fn symbols(story: &mut Story, area: Rect) -> String {
    let buffer = story.buffer();
    let cells = area.positions().map(|at| buffer[at].symbol().to_owned());
    cells.collect()
}

#[test]
fn the_dialog_stands_beside_the_pane_of_whoever_asks() {
    let mut story = inventory().keys("<esc>").keys("<A-3>").wait(1_000);
    let plan = layout::arrange(story.state());
    let pane = plan.panes.iter().find(|spot| spot.agent == agent("fixer")).expect("a pane");
    let inner = pane.inner();
    let before = symbols(&mut story, inner);
    assert!(before.contains("stock.py"));
    story = story.keys("<C-y>");
    assert!(story.screen().contains("asks to run a command"));
    assert_eq!(symbols(&mut story, inner), before, "nothing of it is covered");
}

#[test]
fn idle_teammates_fold_first_and_the_others_have_titles() {
    let names: Vec<String> = (1..=20).map(|n| format!("mate{n:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut story = Story::new().team(&names).size(140, 35);
    for name in &names[..10] {
        story = story.working(name).done(name);
    }
    for name in &names[10..] {
        story = story.working(name);
    }
    story = story.ended("mate01", "completed", "");
    let plan = layout::arrange(story.state());
    let (_, folded) = plan.roster.expect("a roster");
    let idle = |name: &str| names[..10].contains(&name);
    let in_panes: Vec<_> = plan.panes.iter().map(|spot| spot.agent.name.as_str()).collect();
    assert!(in_panes.len() > 2, "{in_panes:?}");
    assert!(!in_panes.iter().any(|name| idle(name)), "{in_panes:?}");
    assert!(folded.iter().any(|id| idle(id.name.as_str())));
    let screen = story.screen();
    for title in ["working", "idle", "ended"] {
        assert!(
            screen.lines().any(|line| line.contains(&format!(" {title} "))),
            "{title}\n{screen}"
        );
    }
}

#[test]
fn an_edited_input_is_shown_as_changed() {
    let verdict = Verdict::Allow {
        input: Some(json!({ "command": "rm -r build/old" })),
        grant: None,
        remark: None,
    };
    let settled = Fact::Settled { ask: AskId::found("a1"), rev: 1, verdict, by: Judge::Human };
    let mut story = inventory().fact("fixer", settled).keys("<esc><A-3><C-o>");
    let screen = story.screen();
    assert!(screen.contains("you allowed Bash rm -r build"), "{screen}");
    assert!(screen.contains("changed to: rm -r build/old"), "{screen}");
}

/// Twins that a new rule covers are settled without the person: the transcript says so.
#[test]
fn what_a_rule_settled_is_told_with_the_rule() {
    let by = Judge::Policy { name: "Bash(ls:*)".to_owned() };
    let verdict = Verdict::Allow { input: None, grant: None, remark: None };
    let settled = Fact::Settled { ask: AskId::found("a1"), rev: 1, verdict, by };
    let mut story = Story::new().working("lead").asks("lead", "a1", "ls src").fact("lead", settled);
    story = story.wait(3_000);
    let screen = story.screen();
    assert!(screen.contains("allowed by Bash(ls:*): Bash ls src"), "{screen}");
}

#[test]
fn keys_of_the_persons_own_are_the_ones_that_are_named() {
    let file = "[everywhere]\nopen-palette = \"<f10>\"\nprefix = \"<C-q>\"\nshow-help = \"<f9>\"\n\
                jump-to-2 = \"<f5>\"\nescape = \"<f12>\"\n[ask-words]\nsubmit = \"<C-s>\"\n";
    let keymap = || Keymap::with_file("keys.toml", file).expect("keys");
    let story = || Story::with_keymap(keymap()).team(&["ada"]);
    assert!(Story::with_keymap(keymap()).screen().contains("F9 all keys"));
    assert!(story().keys("<C-q>").screen().contains("Ctrl+Q, then"));
    assert!(story().keys("<C-q>Q").screen().contains("Ctrl+Q Q is not bound"));
    let palette = story().keys("<f10>go to").screen();
    assert!(palette.contains("Go to ada") && palette.contains("F5"), "{palette}");
    assert!(palette.contains("Alt+1") && !palette.contains("Alt+2"), "{palette}");
    assert!(story().keys("/qqqqqq<ret>").screen().contains("F10 shows all of them"));
    let help = story().keys("<f9>").screen();
    assert!(help.contains("Alt+3") && !help.contains("Alt+1…9"), "each has its line: {help}");
    let busy = story().working("lead").wait(1_000).keys("x<f12>").screen();
    assert!(busy.contains("F12 interrupts lead only"), "{busy}");
    let asked = story().asks("ada", "a1", "ls").wait(2_000).keys("w").wait(200).screen();
    assert!(asked.contains("^S send"), "{asked}");
}

#[test]
fn without_a_mouse_from_the_start_a_key_takes_it() {
    let mut story = Story::new();
    story.deck.state.ui.mouse = false;
    story = story.keys("<f3>");
    assert_eq!(story.effects(), [Effect::Mouse(true)]);
}

/// No call of the lead wanted it, yet it is seen with what it does, and ends.
#[test]
fn what_the_person_had_started_beside_is_seen_below_a_line_of_its_own() {
    let about = AgentAbout {
        agent_type: "fork".to_owned(),
        description: "look again".to_owned(),
        model: "claude-opus-4-5".to_owned(),
        mode: Mode::Default,
        cwd: "/demo/inventory".to_owned(),
        color: None,
        parent: Some(lead()),
        use_id: Some("run-a1".to_owned()),
        background: true,
        chain_id: String::new(),
        depth: 1,
    };
    let mut story = Story::new().fact("a1", Fact::AgentStarted { about: Box::new(about) });
    story = story.wait(1_000);
    let screen = story.screen();
    assert!(screen.contains("● Agent look again  1.0s"), "{screen}");
    story = story.runs("a1", "u1", "Grep", "round(");
    assert!(story.screen().contains("Grep round("), "{}", story.screen());
    story = story.ended("a1", "completed", "");
    let phase = story.state().selected_agent().unwrap().transcript.cells().find_map(|cell| {
        if let Kind::Call(call) = &cell.kind { Some(call.phase.clone()) } else { None }
    });
    assert_eq!(phase, Some(Phase::Done));
}

#[test]
fn another_model_is_shown_once_it_answered() {
    let mut story = Story::new();
    let about = &mut story.deck.state.agents.get_mut(&lead()).unwrap().about;
    about.as_mut().unwrap().model = "anthropic/claude-haiku".to_owned();
    let mut story = story.keys("/team<ret>");
    assert!(story.screen().contains("anthropic/claude-haiku"));
    story = story.said("lead", "hi");
    assert!(story.screen().contains("claude-opus-4-5"));
    assert!(!story.screen().contains("claude-haiku"));
}

/// A frame steps back; what it says must not.
#[test]
fn titles_are_not_in_the_colour_of_their_frames_and_frames_have_no_ground() {
    for theme in ["dark", "light", "sixteen", "contrast"] {
        let mut story = inventory().keys("<esc>").theme(theme);
        let tasks = layout::arrange(story.state()).tasks.expect("a panel");
        let buffer = story.buffer();
        let (frame, title) =
            (&buffer[(tasks.right() - 2, tasks.y)], &buffer[(tasks.x + 3, tasks.y)]);
        assert_eq!((frame.symbol(), title.symbol()), ("─", "a"), "{theme}");
        assert!(frame.fg != title.fg || theme == "contrast", "{theme}: {:?}", title.fg);
        let mut asked = inventory().wait(1_000).theme(theme);
        let (screen, buffer) = (asked.screen(), asked.buffer());
        let y = screen.lines().position(|line| line.contains("┏")).expect("a dialog");
        let line = screen.lines().nth(y).unwrap();
        let x = line.chars().position(|c| c == '┏').unwrap();
        let at = (u16::try_from(x).unwrap(), u16::try_from(y).unwrap());
        let below = &buffer[(at.0 + 1, at.1 + 1)];
        assert_eq!(buffer[at].bg, below.bg, "{theme}");
    }
}
