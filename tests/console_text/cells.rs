//! Transcripts as cells: events in, pictures out.

use std::collections::HashMap;

use quarterdeck::console::state::cell::{Cell, Kind};
use quarterdeck::protocol::event::{Event, Fact};
use serde_json::{Value, json};

use super::support::Story;

/// The journal of a headless run with a playbook: many tools, an edit, a subagent, a denial, a
/// retry.
fn real() -> Story {
    let journal = include_str!("../fixtures/console/journal.jsonl");
    let mut story = Story::new();
    let mut calls = HashMap::new();
    for line in journal.lines() {
        let event: Event = serde_json::from_str(line).unwrap();
        let agent = event.agent.clone().unwrap();
        if let Fact::AgentStarted { about } = &event.fact
            && let Some(use_id) = &about.use_id
        {
            calls.insert(agent.clone(), use_id.clone());
        }
        match calls.get(&agent) {
            Some(use_id) => story.transcript.absorb_child(use_id, &event),
            None => story.transcript.absorb(&event),
        }
    }
    story
}

fn picture(story: &mut Story) -> String {
    story.picture(72, 40)
}

fn ask(id: &str, question: &Value) -> Value {
    json!({"kind": "asked", "ask": {"id": id, "rev": 1, "chain": ["team-lead@session-1"],
        "at": "2026-11-16T03:04:53.900Z", "cwd": "/demo", "why": {}, "question": question}})
}

fn settle(id: &str, verdict: &Value) -> Value {
    json!({"kind": "settled", "ask": id, "rev": 1, "verdict": verdict, "by": {"kind": "human"}})
}

#[test]
fn a_real_journal_closed_and_open() {
    let mut story = real();
    insta::assert_snapshot!("transcript.journal.80x40", story.picture(80, 40));
    story.transcript.toggle_all();
    insta::assert_snapshot!("transcript.journal-open.60x80", story.picture(60, 80));
}

#[test]
fn an_answer_is_shown_while_it_is_spoken_and_then_as_it_is() {
    let mut story = Story::new();
    story.json(json!({"kind": "thinking", "text": "First look.\nThen chan"}));
    assert_eq!(picture(&mut story), " ▸ thinking: Then chan", "the end of a thought that goes on");
    story.json(json!({"kind": "speaking", "text": "One **wo"}));
    assert!(picture(&mut story).ends_with("One **wo"));
    story.json(json!({"kind": "speaking", "text": "rd**."}));
    assert!(picture(&mut story).ends_with("One word."));
    story.said("One whole word.");
    let shown = picture(&mut story);
    assert_eq!(shown, " ▸ thinking: First look.\n\n One whole word.", "once, as it ended");
}

#[test]
fn what_broke_off_is_taken_back() {
    let mut story = Story::new();
    story.json(json!({"kind": "speaking", "text": "Half an ans"}));
    story.json(json!({"kind": "restarted", "why": "connection lost"}));
    assert_eq!(picture(&mut story), " · the answer was cut off (connection lost); asking again");
    story.json(json!({"kind": "speaking", "text": "The answer"}));
    assert!(picture(&mut story).ends_with("\n The answer"));
    assert!(!picture(&mut story).contains("Half"));
}

#[test]
fn a_retry_counts_down_until_something_comes() {
    let mut story = Story::new();
    story.json(
        json!({"kind": "retrying", "why": "overloaded", "waitMs": 5000, "attempt": 2, "of": 10}),
    );
    assert_eq!(picture(&mut story), " ◌ overloaded, trying again in 5 s (2/10)");
    story.now += 3_200;
    assert_eq!(picture(&mut story), " ◌ overloaded, trying again in 2 s (2/10)");
    story.json(
        json!({"kind": "retrying", "why": "overloaded", "waitMs": 500, "attempt": 3, "of": 10}),
    );
    story.json(json!({"kind": "speaking", "text": "Here."}));
    assert_eq!(picture(&mut story), " ◌ overloaded; retried (3/10)\n\n Here.");
}

#[test]
fn a_call_goes_from_wish_to_result() {
    let mut story = Story::new();
    let input = json!({"command": "cargo test\n--all"});
    story.wants("t1", "Bash", input.clone());
    assert_eq!(picture(&mut story), " ○ Bash cargo test");
    story.json(ask("a1", &json!({"kind": "tool", "useId": "t1", "name": "Bash", "input": input})));
    assert_eq!(picture(&mut story), " ! Bash cargo test  waiting");
    story.json(settle(
        "a1",
        &json!({"kind": "allow", "remark": "be quick",
        "grant": {"permits": [{"rule": "Bash(cargo test:*)"}], "to": "asker", "lasts": "session"}}),
    ));
    story.runs("t1", "Bash", "cargo test", input);
    story.json(json!({"kind": "toolOutput", "useId": "t1", "text": "\u{1b}[32mCompiling\u{1b}[0m x\nrunning 3 tests\n"}));
    story.now += 12_300;
    let shown = picture(&mut story);
    assert_eq!(
        shown,
        " ● Bash cargo test  12s\n   └ running 3 tests\n ✔ you allowed Bash cargo test\n   and from now \
         on Bash(cargo test:*) for this agent, in this session\n   “be quick”"
    );
    story.ended("t1", true, "exit code 101", json!({"exitCode": 101}));
    let shown = picture(&mut story);
    assert!(
        shown.starts_with(" ✖ Bash cargo test  exit code 101 · 1.2s\n   └ Compiling x\n"),
        "{shown}"
    );
    let id = story.transcript.at(0).unwrap().id;
    story.transcript.toggle(id);
    let shown = picture(&mut story);
    assert!(
        shown.contains("   │ cargo test\n   │ --all\n   Compiling x\n   running 3 tests"),
        "{shown}"
    );
}

#[test]
fn a_denial_has_its_reason() {
    let mut story = Story::new();
    let input = json!({"command": "rm -r build"});
    story.wants("t1", "Bash", input.clone());
    story.json(json!({"kind": "decided", "useId": "t1", "tool": "Bash", "decision": "deny", "reason": "the deny rule `Bash(rm:*)`"}));
    assert_eq!(picture(&mut story), " ✖ Bash rm -r build  denied\n   └ the deny rule `Bash(rm:*)`");
    story.wants("t2", "Bash", input.clone());
    story.json(ask("a2", &json!({"kind": "tool", "useId": "t2", "name": "Bash", "input": input})));
    story.json(settle("a2", &json!({"kind": "deny", "why": "use cargo clean"})));
    story.json(json!({"kind": "decided", "useId": "t2", "tool": "Bash", "decision": "deny", "reason": "denied by the user"}));
    let shown = picture(&mut story);
    let end = " ✖ Bash rm -r build  denied\n ✖ you denied Bash rm -r build\n   “use cargo clean”";
    assert!(shown.ends_with(end), "{shown}");
}

#[test]
fn an_edit_is_a_change_before_and_after_it_is_done() {
    let mut story = Story::new();
    let input = json!({"file_path": "/demo/src.py", "old_string": "a = 1", "new_string": "a = 2"});
    story.json(json!({"kind": "agentStarted", "about": {"agentType": "team-lead", "model": "m", "mode": "default", "cwd": "/demo"}}));
    story.wants("t1", "Edit", input.clone());
    let unknown = picture(&mut story);
    assert_eq!(unknown, " ○ Edit src.py\n   - a = 1\n   + a = 2", "nobody has looked yet");
    let mut asked =
        ask("q1", &json!({"kind": "tool", "useId": "t1", "name": "Edit", "input": input.clone()}));
    asked["ask"]["lines"] = json!([42]);
    story.json(asked);
    let waiting = picture(&mut story);
    assert!(waiting.contains("    42 - a = 1\n    42 + a = 2"), "{waiting}");
    story.runs("t1", "Edit", "/demo/src.py", input);
    let running = picture(&mut story);
    assert!(running.contains("    42 - a = 1\n    42 + a = 2"), "{running}");
    let patch = "--- src.py\n+++ src.py\n@@ -41,2 +41,2 @@\n x = 0\n-a = 1\n+a = 2\n";
    story.ended(
        "t1",
        false,
        "src.py +1 -1",
        json!({"diff": patch, "added": 1, "removed": 1, "path": "/demo/src.py"}),
    );
    assert_eq!(
        picture(&mut story),
        " ● Edit src.py  +1 −1 · 1.2s\n    41   x = 0\n    42 - a = 1\n    42 + a = 2"
    );
}

#[test]
fn what_a_new_file_begins_with_is_its_first_line() {
    let mut story = real();
    let input = json!({"file_path": "/demo/new.py", "content": "a = 1\nb = 2\n"});
    story.wants("w1", "Write", input.clone());
    let question = json!({"kind": "tool", "useId": "w1", "name": "Write", "input": input});
    story.json(ask("q2", &question));
    let waiting = picture(&mut story);
    assert!(waiting.contains("     1 + a = 1\n     2 + b = 2"), "{waiting}");
}

#[test]
fn a_long_change_is_folded_until_it_is_opened() {
    let mut story = Story::new();
    let lines: Vec<String> = (1..=40).map(|at| format!("line {at}")).collect();
    story.wants("t1", "Write", json!({"file_path": "/demo/new.txt", "content": lines.join("\n")}));
    let shown = picture(&mut story);
    assert!(shown.ends_with("   … 28 more"), "{shown}");
    let id = story.transcript.at(0).unwrap().id;
    story.transcript.toggle(id);
    assert!(story.picture(72, 50).ends_with("40 + line 40"));
}

#[test]
fn mail_has_the_badges_of_both() {
    let mut story = Story::new();
    story.heard(
        "scout",
        "<teammate-message teammate_id=\"scout\" color=\"blue\" summary=\"three call sites\">\nIn `stock.py` &lt;b>\n</teammate-message>\n\n\
         <teammate-message teammate_id=\"fixer\">\n{\"type\":\"idle_notification\",\"from\":\"fixer\",\"timestamp\":\"t\",\"idleReason\":\"available\"}\n</teammate-message>",
    );
    story.json(json!({"kind": "mailSent", "to": "fixer", "message": {"from": "team-lead", "text": "Please fix them all.\nThanks.", "summary": "fix them"}}));
    assert_eq!(
        picture(&mut story),
        " ▌scout: three call sites\n   In stock.py <b>\n ✔ ▌fixer idle\n lead → ▌fixer: fix them"
    );
    let buffer = story.draw(72, 5);
    assert_eq!(buffer[(1, 0)].fg, story.theme.badge(Some("blue")).fg.unwrap());
    assert_eq!(buffer[(8, 3)].fg, story.theme.badge(Some("green")).fg.unwrap());
}

#[test]
fn who_has_shut_down_is_told_in_words() {
    let mut story = Story::new();
    story.heard(
        "system",
        "<teammate-message teammate_id=\"system\">\n{\"type\":\"teammate_terminated\",\"message\":\"scout has shut down.\"}\n</teammate-message>",
    );
    assert_eq!(picture(&mut story), " · scout has shut down.");
}

#[test]
fn frames_that_are_none_stay_words() {
    let mut story = Story::new();
    for text in
        ["<teammate-message teammate_id=\"x\">open", "<teammate-messages>no</teammate-messages>"]
    {
        story.heard("user", text);
        assert!(picture(&mut story).contains("<teammate-message"), "{text}");
    }
    let cells: Vec<&Kind> = story.transcript.cells().map(|cell| &cell.kind).collect();
    assert!(cells.iter().all(|kind| matches!(kind, Kind::Prompt { .. })), "{cells:?}");
}

#[test]
fn news_of_background_work_is_a_line_that_opens() {
    let mut story = Story::new();
    story.heard(
        "system",
        "<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n<summary>Agent \"scan\" completed</summary>\n<result>Found **3**</result>\n</task-notification>",
    );
    assert_eq!(picture(&mut story), " ✔ Agent \"scan\" completed");
    story.transcript.toggle_all();
    assert_eq!(picture(&mut story), " ✔ Agent \"scan\" completed\n   Found 3");
}

#[test]
fn a_subagent_works_below_its_call() {
    let mut story = Story::new();
    let input = json!({"description": "look", "prompt": "Look around"});
    story.wants("t1", "Agent", input.clone());
    story.runs("t1", "Agent", "explore: look", input);
    story.child("t1", json!({"kind": "agentStarted", "about": {"agentType": "explore", "model": "m", "mode": "default", "cwd": "/demo", "parent": "team-lead@session-1", "useId": "t1"}}));
    for at in 1..=5 {
        let id = format!("c{at}");
        story.child("t1", json!({"kind": "toolStarted", "useId": id, "tool": "Read", "summary": format!("file{at}.py"), "input": {}}));
        if at < 5 {
            story.child("t1", json!({"kind": "toolEnded", "useId": id, "failed": false, "summary": "", "millis": 1}));
        }
    }
    let shown = picture(&mut story);
    let steps = "   └ … 2 more\n   ├ · Read file3.py\n   ├ · Read file4.py\n   ├ ● Read file5.py";
    assert_eq!(shown, format!(" ● Agent explore: look\n{steps}"));
    story.child("t1", ask("a1", &json!({"kind": "noAnswerToShutdown"})));
    assert!(picture(&mut story).ends_with("└ waits for you"));
    story.child("t1", json!({"kind": "agentEnded", "status": "completed"}));
    story.ended("t1", false, "5 tools", json!({}));
    assert_eq!(picture(&mut story), " ● Agent explore: look  5 tools · 1.2s");
}

#[test]
fn plans_are_cards_that_say_what_became_of_them() {
    let mut story = Story::new();
    story.json(ask("p1", &json!({"kind": "plan", "file": "/h/plans/blue-fox.md", "text": "# Steps\n1. look\n2. mend"})));
    let card = "│ Steps\n │ 1. look\n │ 2. mend\n └────────────────────────";
    assert_eq!(picture(&mut story), format!(" ┌─ plan waits for you blue-fox.md\n {card}"));
    story.json(settle("p1", &json!({"kind": "deny", "why": "smaller steps"})));
    let shown = picture(&mut story);
    assert!(shown.starts_with(" ┌─ plan rejected: smaller steps blue-fox.md\n"), "{shown}");
    assert!(shown.contains("✖ you denied the plan\n   “smaller steps”"), "{shown}");
}

#[test]
fn answers_to_questions_are_told_with_their_names() {
    let mut story = Story::new();
    story.json(ask(
        "q1",
        &json!({"kind": "words", "questions": [{"question": "Which base?", "header": "Base"}]}),
    ));
    story.json(settle("q1", &json!({"kind": "answered", "answers": [["main", "dev"]]})));
    assert_eq!(picture(&mut story), " ✔ you answered\n   Base: main, dev");
}

#[test]
fn what_is_queued_stands_at_the_end_until_it_is_heard() {
    let mut story = Story::new();
    story.json(json!({"kind": "queued", "id": 3, "when": "next", "from": "user", "text": "and the\ntests"}));
    story.said("Working on it.");
    assert_eq!(picture(&mut story), " Working on it.\n\n ◌ next: and the tests");
    story.json(json!({"kind": "heard", "from": "user", "message": {"role": "user", "content": "and the\ntests"}, "queued": [3]}));
    assert_eq!(picture(&mut story), " Working on it.\n\n ❯ and the\n   tests");
}

#[test]
fn a_turn_ends_with_its_time_and_its_cost() {
    let mut story = Story::new();
    let spoke = |usd: f64| {
        json!({"kind": "spoke", "id": "m", "model": "m", "message": {"role": "assistant", "content": "ok"},
            "stop": "end_turn", "usage": {}, "ownUsd": usd, "context": 1})
    };
    story.json(spoke(0.30)).json(json!({"kind": "turnStarted"})).json(spoke(0.42));
    story.json(json!({"kind": "turnEnded", "outcome": "done", "rounds": 1, "millis": 62_000}));
    let shown = picture(&mut story);
    assert!(shown.ends_with(&format!(" ── 1m 02s · $0.12 · 03:04 {}", "─".repeat(44))), "{shown}");
    story.json(json!({"kind": "turnEnded", "outcome": "failed", "why": "no key", "rounds": 0, "millis": 5}));
    assert!(picture(&mut story).contains(" ✖ failed: no key\n"));
}

#[test]
fn the_rest_of_what_happens_is_told_in_lines() {
    let mut story = Story::new();
    story.json(
        json!({"kind": "compacted", "before": 180_000, "after": 3_400, "summary": "We fixed it."}),
    );
    story.json(json!({"kind": "modeChanged", "mode": "plan"}));
    story.json(json!({"kind": "paused"}));
    story.json(json!({"kind": "memberLeft", "name": "scout"}));
    story.json(json!({"kind": "notice", "level": "error", "text": "the disk is full"}));
    story.json(json!({"kind": "danced", "steps": 3}));
    story.json(json!({"kind": "agentEnded", "status": "killed"}));
    let lines: Vec<String> =
        picture(&mut story).lines().map(|line| line.trim_end_matches('─').to_owned()).collect();
    assert_eq!(
        lines,
        [
            " ── conversation summarised: 180k → 3.4k tokens ",
            " · mode is now plan",
            " ! paused",
            " ▌scout left",
            " ✖ the disk is full",
            " ! was stopped",
        ]
    );
}

#[test]
fn the_text_of_a_cell_can_be_copied() {
    let mut story = real();
    let copied: Vec<String> = story.transcript.cells().map(Cell::text).collect();
    assert!(copied.contains(&"## Plan\nI will **look** at `src.py`.".to_owned()), "as it was said");
    assert!(copied.iter().any(|text| text.contains("+    total = round(price * n, 2)")));
    story.scroll.select_previous(&story.transcript);
    assert!(story.scroll.chosen(&story.transcript).is_some());
}
