//! `--on-ask wait`, and the answers from another terminal.

use std::fs;

use super::rig::{Going, Rig};

fn waits(rig: &Rig) -> Going {
    rig.start(&["--on-ask", "wait", "--output-format", "stream-json", "-p", "x"])
}

fn one_ask(rig: &Rig) -> String {
    let asks = rig.asked();
    assert_eq!(asks.len(), 1, "{asks:?}");
    asks[0]["id"].as_str().unwrap().to_owned()
}

const TWICE: &str = r#"
- { call: [{ tool: Bash, input: { command: "echo one >> made" } }] }
- { when: { error_of: Bash }, say: "no: {{result}}" }
- { when: { result_of: Bash }, call: [{ tool: Bash, input: { command: "echo one >> made" } }] }
- { when: { error_of: Bash }, say: "no: {{result}}" }
- { when: { result_of: Bash }, say: "did it" }
"#;

fn made(rig: &Rig) -> String {
    fs::read_to_string(rig.project.join("made")).unwrap_or_default()
}

#[test]
fn each_ask_is_listed_shown_and_answered() {
    let rig = Rig::new(TWICE);
    let going = waits(&rig);
    let id = one_ask(&rig);
    let session = rig.session();
    let listed = rig.quarterdeck(&["asks", "list", &session]).code(0).stdout;
    assert!(listed.contains("echo one >> made"), "{listed}");
    let shown = rig.quarterdeck(&["asks", "show", &session[..8], &id]).code(0).stdout;
    assert!(shown.contains("team-lead") && shown.contains("echo one"), "{shown}");
    let edited = r#"{"command":"echo two >> made"}"#;
    rig.quarterdeck(&["asks", "approve", "latest", &id, "--edit-input", edited]).code(0);
    let second = super::rig::until("the second", || {
        rig.asked()
            .iter()
            .find_map(|ask| ask["id"].as_str().filter(|next| *next != id).map(str::to_owned))
    });
    let gone = rig.quarterdeck(&["asks", "approve", "latest", &id]).code(1);
    assert!(gone.stderr.contains("settled"), "{gone:?}");
    rig.quarterdeck(&["asks", "deny", "latest", &second, "--why", "once is enough"]).code(0);
    let ran = going.end().code(0);
    assert!(ran.result()["result"].as_str().unwrap().contains("once is enough"), "{ran:?}");
    assert_eq!(made(&rig), "two\n");
    assert!(ran.stderr.contains("quarterdeck asks show"), "{ran:?}");
    let settled = ran.lines().iter().filter(|line| line["type"] == "ask_settled").count();
    assert_eq!(settled, 2);
}

/// A redirection would suggest no rule.
const TOUCH: &str = r#"
- { call: [{ tool: Bash, input: { command: "touch one" } }] }
- { when: { error_of: Bash }, say: "no: {{result}}" }
- { when: { result_of: Bash }, call: [{ tool: Bash, input: { command: "touch one two" } }] }
- { when: { error_of: Bash }, say: "no: {{result}}" }
- { when: { result_of: Bash }, say: "did it" }
"#;

#[test]
fn what_is_always_allowed_is_not_asked_again() {
    let written = [("session", None), ("project", Some(".quarterdeck")), ("user", Some("user"))];
    for (scope, place) in written {
        let rig = Rig::new(TOUCH);
        let going = waits(&rig);
        let id = one_ask(&rig);
        let approve =
            ["asks", "approve", "latest", &id, "--always", scope, "--rule", "Bash(touch:*)"];
        rig.quarterdeck(&approve).code(0);
        let ran = going.end().code(0);
        assert_eq!(ran.result()["result"], "did it", "{scope}");
        assert!(rig.project.join("two").exists(), "{scope}");
        let asked = ran.lines().iter().filter(|line| line["type"] == "ask").count();
        assert_eq!(asked, 1, "{scope}: {ran:?}");
        let grants = rig.quarterdeck(&["permissions", "grants", "latest"]).code(0).stdout;
        assert!(grants.contains("Bash("), "{grants}");
        let Some(place) = place else { continue };
        let below = match place {
            "user" => rig.user(),
            place => rig.project.join(place),
        };
        let files = crate::support::files_below(&below);
        let settings = files.iter().find(|file| {
            file.extension().is_some_and(|ending| ending == "json")
                && fs::read_to_string(file).unwrap().contains("Bash(")
        });
        assert!(settings.is_some(), "{scope}: {files:?}");
        // The next session knows it too.
        let next = rig.run(&["-p", "x"]).code(0);
        assert_eq!(next.stdout, "did it\n", "{scope}");
    }
}

const QUESTIONS: &str = r#"
- call:
    - tool: AskUserQuestion
      input:
        questions:
          - { question: "Which way?", options: [{ label: Left }, { label: Right, description: "longer" }] }
          - { question: "What else?", multiSelect: true, options: [{ label: tests }, { label: docs }] }
- { when: { error_of: AskUserQuestion }, say: "unanswered: {{result}}" }
- { when: { result_of: AskUserQuestion }, say: "{{result}}" }
"#;

#[test]
fn questions_in_words_are_answered_with_options_and_words() {
    let answers: [(&[&str], &[&str]); 3] = [
        (&["2", "docs | 1"], &["→ Right", "→ docs; tests"]),
        (&["left", "neither"], &["→ Left", "→ neither"]),
        (
            &["straight on, 7 miles", "2|2|own words"],
            &["→ straight on, 7 miles", "→ docs; own words"],
        ),
    ];
    for (texts, said) in answers {
        let rig = Rig::new(QUESTIONS);
        let going = waits(&rig);
        let id = one_ask(&rig);
        let ran = rig.quarterdeck(&[&["asks", "answer", "latest", &id], texts].concat()).code(0);
        assert!(ran.stdout.starts_with("Answered "), "{ran:?}");
        let result = going.end().code(0).result()["result"].as_str().unwrap().to_owned();
        for part in said {
            assert!(result.contains(part), "{part} is not in {result}");
        }
    }
}

#[test]
fn answers_that_do_not_fit_are_refused() {
    let rig = Rig::new(QUESTIONS);
    let going = waits(&rig);
    let id = one_ask(&rig);
    let shown = rig.quarterdeck(&["asks", "show", "latest", &id]).code(0).stdout;
    assert!(shown.contains("1. Which way?") && shown.contains("2 Right: longer"), "{shown}");
    let few = rig.quarterdeck(&["asks", "answer", "latest", &id, "1"]).code(2);
    assert!(few.stderr.contains("2 questions and 1 answers"), "{few:?}");
    rig.quarterdeck(&["asks", "answer", "latest", &id, "1", "a||b"]).code(2);
    rig.quarterdeck(&["asks", "answer", "latest", &id]).code(2);
    let approved = rig.quarterdeck(&["asks", "approve", "latest", &id]).code(2);
    assert!(approved.stderr.contains("asks answer"), "{approved:?}");
    rig.quarterdeck(&["asks", "deny", "latest", &id, "--why", "later"]).code(0);
    assert!(going.end().code(0).result()["result"].as_str().unwrap().contains("later"));
    let tool = Rig::new(TWICE);
    let going = waits(&tool);
    let id = one_ask(&tool);
    let ran = tool.quarterdeck(&["asks", "answer", "latest", &id, "yes"]).code(2);
    assert!(ran.stderr.contains("approve or deny"), "{ran:?}");
    tool.quarterdeck(&["asks", "deny", "latest", &id]).code(0);
    going.end().code(0);
}

#[test]
fn a_question_survives_the_program_and_finds_its_answer() {
    let rig = Rig::new(QUESTIONS);
    let mut going = waits(&rig);
    let id = one_ask(&rig);
    going.child.kill().unwrap();
    going.child.wait().unwrap();
    rig.quarterdeck(&["asks", "answer", "latest", &id, "1", "2"]).code(0);
    let ran = rig.run(&["-c"]).code(0);
    assert!(ran.stdout.contains("→ Left") && ran.stdout.contains("→ docs"), "{ran:?}");
}

#[test]
fn nobody_answers_questions_when_asks_are_denied() {
    let ran = Rig::new(QUESTIONS).run(&["-p", "x"]).code(0);
    assert!(ran.stdout.starts_with("unanswered: "), "{ran:?}");
    assert!(ran.stdout.contains("nobody is here to answer"), "{ran:?}");
    let ran = Rig::new(QUESTIONS).run(&["-p", "x", "--on-ask", "allow"]).code(0);
    assert!(ran.stdout.contains("say what you assumed"), "{ran:?}");
}

#[test]
fn what_was_left_open_is_settled_by_the_next_run() {
    let rig = Rig::new(TWICE);
    let mut going = waits(&rig);
    one_ask(&rig);
    going.child.kill().unwrap();
    going.child.wait().unwrap();
    let ran = rig.run(&["-c", "--on-ask", "deny"]).code(0);
    assert!(ran.stdout.contains("nobody is here"), "{ran:?}");
}
