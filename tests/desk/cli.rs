//! Answers from another terminal, with the real program.

use quarterdeck::permission::desk::AskDesk;
use quarterdeck::protocol::ask::{Grantee, Judge, Lasts, Verdict};
use quarterdeck::protocol::event::Fact;
use serde_json::{Value, json};

use super::bench::{Bench, agent, in_time, until};

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", self.stderr))
    }
}

fn run(bench: &Bench, args: &[&str]) -> Ran {
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_quarterdeck"));
    program.args(args).env("QUARTERDECK_HOME", bench.root.join("home"));
    program.env("XDG_STATE_HOME", bench.root.join("state")).current_dir(&bench.root);
    let ran = program.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: ran.status.code().unwrap(), stdout: text(ran.stdout), stderr: text(ran.stderr) }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ask_is_listed_shown_and_approved_with_a_rule() {
    let bench = Bench::new();
    let desk = bench.open();
    let ask = bench.ask(&agent("ada"), "toolu_1", "make all");
    let waiting = bench.put(&desk, &ask);
    bench.is_open(&ask);
    let list = run(&bench, &["asks", "list", "5e55"]);
    assert!(list.stdout.contains("Bash: make all") && list.stdout.contains("ada@crew < team-lead"));
    let all = run(&bench, &["asks", "list", "latest", "--json"]).json();
    assert_eq!(all[0]["id"], "toolu_1@ada@crew");
    let shown = run(&bench, &["asks", "show", "latest", "toolu_1"]);
    assert!(shown.stdout.contains("choice:  Yes, once"), "{}", shown.stdout);
    let done = run(&bench, &["asks", "approve", "latest", "toolu", "--always", "team:hour"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stdout.contains("Bash(make all:*) for every agent, until 20"), "{}", done.stdout);
    let settled = in_time(waiting).await;
    let Verdict::Allow { grant: Some(grant), .. } = settled.verdict else { panic!("{settled:?}") };
    assert!(grant.to == Grantee::Team && matches!(grant.lasts, Lasts::Until(_)));
    assert_eq!(settled.by, Judge::Human);
    until("the grant", || desk.grants().len() == 1);
    let again = run(&bench, &["asks", "deny", "latest", "toolu_1", "--json"]);
    assert_eq!((again.code, &again.json()["reason"]), (1, &json!("settled")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ask_is_denied_with_words_or_approved_with_another_input() {
    let bench = Bench::new();
    let desk = bench.open();
    let asks = [
        bench.ask(&agent("ada"), "toolu_1", "make all"),
        bench.ask(&agent("ada"), "toolu_2", "make all"),
    ];
    let [one, two] = asks.each_ref().map(|ask| bench.put(&desk, ask));
    asks.iter().for_each(|ask| bench.is_open(ask));
    assert_eq!(run(&bench, &["asks", "deny", "latest", "toolu"]).code, 2, "which one?");
    assert_eq!(run(&bench, &["asks", "deny", "latest", "toolu_1", "--why", "use just"]).code, 0);
    let denied = Verdict::Deny { why: Some("use just".into()) };
    assert_eq!(in_time(one).await.verdict, denied);
    let edited = ["asks", "approve", "latest", "toolu_2", "--edit-input", r#"{"command":"ls"}"#];
    assert_eq!(run(&bench, &edited).code, 0);
    let Verdict::Allow { input, .. } = in_time(two).await.verdict else { panic!("denied") };
    assert_eq!(input, Some(json!({"command": "ls"})));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_is_refused_and_settles_nothing() {
    let bench = Bench::new();
    assert_eq!(run(&bench, &["asks", "list", "latest"]).code, 1, "no session yet");
    let desk = bench.open();
    let ask = bench.ask(&agent("ada"), "toolu_1", "make all");
    let _waiting = bench.put(&desk, &ask);
    bench.is_open(&ask);
    let refused: [(&[&str], i32); 7] = [
        (&["list", "nope"], 1),
        (&["show", "latest", "nope"], 1),
        (&["approve", "latest", "toolu_1", "--edit-input", "7"], 2),
        (&["approve", "latest", "toolu_1", "--always", "ever"], 2),
        (&["approve", "latest", "toolu_1", "--always", "agent:project"], 2),
        (&["approve", "latest", "toolu_1", "--always", "session", "--rule", "Bash("], 2),
        (&["approve", "latest", "toolu_1", "--rule", "Bash"], 2),
    ];
    for (args, code) in refused {
        let ran = run(&bench, &[&["asks"], args].concat());
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.is_empty());
    }
    assert_eq!(bench.settled(&ask.id), 0);
    assert_eq!(AskDesk::open_asks(&desk).unwrap().asks.len(), 1);
}

#[test]
fn grants_are_listed_and_taken_back_while_the_session_runs() {
    let bench = Bench::new();
    let desk = bench.open();
    let file = bench.project.join(".quarterdeck/settings.local.json");
    let given = desk.give(&super::bench::rule("Bash(make:*)"), None, Lasts::Project);
    desk.give(&super::bench::rule("Bash(ls:*)"), Some(&agent("ada")), Lasts::Session);
    let list = run(&bench, &["permissions", "grants", "latest"]).stdout;
    assert!(list.contains("Bash(make:*)") && list.contains("ada@crew"), "{list}");
    let gone = run(&bench, &["permissions", "revoke", "latest", &given[0].id]);
    assert_eq!((gone.code, gone.stdout.trim()), (0, "Revoked Bash(make:*)"));
    until("the desk to notice", || desk.grants().len() == 1);
    until("the event", || bench.count(|fact| matches!(fact, Fact::Revoked { .. })) == 1);
    assert!(!std::fs::read_to_string(file).unwrap().contains("make"));
    assert_eq!(run(&bench, &["permissions", "revoke", "latest", &given[0].id]).code, 1);
}
