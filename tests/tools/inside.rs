//! An agent cannot answer its own questions: the real program, started by a command of an agent.

use std::process::Command;

use quarterdeck::permission::question::{Asker, question};
use quarterdeck::permission::{Access, Decision, View, decide};
use quarterdeck::protocol::ask::{Ask, Lasts, Permit};
use quarterdeck::protocol::op::Mode;
use quarterdeck::protocol::time::Stamp;
use quarterdeck::store::asks::{AskState, Asks};
use serde_json::json;

use super::rig::Rig;
use super::shell::{rig, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_quarterdeck");

/// What the agent asks when it wants to run a command.
fn ask(rig: &Rig, use_id: &str) -> Ask {
    let view = View { mode: Mode::Default, ..View::clone(&rig.cx.view()) };
    let (input, access) = (json!({ "command": "make" }), [Access::Run("make".to_owned())]);
    let decision = decide(&view, "Bash", &input, &access);
    let Decision::Ask { why, suggestions } = decision else { panic!("{decision:?}") };
    let asker = Asker {
        chain: &rig.cx.chain,
        color: None,
        use_id,
        tool: "Bash",
        input: &input,
        access: &access,
        lines: &[],
        at: Stamp::from_millis(1_000),
    };
    question(&asker, &view, &why, &suggestions)
}

/// Ways to lose the mark on the way.
const WAYS: [&str; 6] = [
    "",
    "env -u QUARTERDECK_SHELL_ID",
    "exec env -u QUARTERDECK_SHELL_ID",
    "env -i QUARTERDECK_HOME=\"$QUARTERDECK_HOME\" XDG_STATE_HOME=\"$XDG_STATE_HOME\"",
    "setsid -w env -u QUARTERDECK_SHELL_ID",
    "exec sh -c 'unset QUARTERDECK_SHELL_ID; exec \"$0\" \"$@\"'",
];

#[tokio::test(flavor = "multi_thread")]
async fn who_runs_in_the_shell_of_an_agent_decides_nothing() {
    let rig = rig();
    let asks = Asks::new(&rig.cx.store, &rig.cx.session);
    let (one, two) = (ask(&rig, "toolu_1"), ask(&rig, "toolu_2"));
    asks.raise(&one).unwrap();
    asks.raise(&two).unwrap();
    let given = rig.cx.desk.give(&Permit::Rule("Bash(make:*)".into()), None, Lasts::Session);
    let (home, state) = (rig.home.root().to_owned(), rig.dir.path().join("state"));
    let deny = |program: &mut Command| {
        program.args(["asks", "deny", "latest", "toolu_1", "--json"]);
        program.env("QUARTERDECK_HOME", &home).env("XDG_STATE_HOME", &state).output().unwrap()
    };
    // The mark is enough, also where nobody knows whose it is: on itself, or further up.
    let mut itself = Command::new(PROGRAM);
    let script = "env -u QUARTERDECK_SHELL_ID \"$0\" \"$@\"; exit $?";
    let mut below = Command::new("sh");
    below.args(["-c", script, PROGRAM]);
    for marked in [&mut itself, &mut below] {
        let ran = deny(marked.env("QUARTERDECK_SHELL_ID", "of another home"));
        assert_eq!(ran.status.code(), Some(1));
        let said = [ran.stdout, ran.stderr].concat();
        assert!(String::from_utf8_lossy(&said).contains("inside_agent"));
    }
    assert_eq!(asks.get(&one.id).unwrap().unwrap().state, AskState::Open);
    // A person in another terminal may.
    let ran = deny(&mut Command::new(PROGRAM));
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_ne!(asks.get(&one.id).unwrap().unwrap().state, AskState::Open);

    let (home, state) = (home.display(), state.display());
    let set = format!("export QUARTERDECK_HOME='{home}' XDG_STATE_HOME='{state}'");
    let revoke = format!("permissions revoke latest {}", given[0].id);
    let answer = "asks answer latest toolu_2 yes";
    for command in ["asks approve latest toolu_2", "asks deny latest toolu_2", answer, &revoke] {
        for way in WAYS {
            let output = rig.bash(&format!("{set}; {way} '{PROGRAM}' --json {command}")).await;
            let said = text(&output);
            assert!(output.failed && said.contains("inside_agent"), "{way} {command}: {said}");
            assert!(said.contains("Exit code 1"), "{said}");
        }
    }
    assert_eq!(asks.get(&two.id).unwrap().unwrap().state, AskState::Open);
    assert_eq!(rig.cx.desk.grants().len(), 1);
    // To look is free.
    let output = rig.bash(&format!("{set}; '{PROGRAM}' asks list latest")).await;
    assert!(!output.failed && text(&output).contains("toolu_2"), "{}", text(&output));
}
