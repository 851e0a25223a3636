//! Transcripts as they are written, and sessions that go on.

use std::fs;
use std::time::{Duration, SystemTime};

use quarterdeck::agent::turn::End;
use quarterdeck::protocol::ids::SessionId;
use quarterdeck::protocol::op::{Mode, Op};
use quarterdeck::session::resume;
use serde_json::{Value, json};

use super::rig::{Rig, Script, ask, bash, calls, results, say};
use super::valid::assert_valid;

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The order of PROTOCOL.md 13.
const ORDER: [&str; 17] = [
    "parentUuid",
    "isSidechain",
    "teamName",
    "agentName",
    "userType",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "agentId",
    "type",
    "message",
    "requestId",
    "uuid",
    "timestamp",
    "toolUseResult",
    "sourceToolAssistantUUID",
];

#[tokio::test]
async fn a_transcript_has_the_fields_of_the_protocol_in_their_order() {
    let rig = Rig::new();
    let agent = json!({"description": "d", "prompt": "p", "subagent_type": "general-purpose"});
    let script = Script::of([
        calls(&[bash("a", "echo one"), bash("b", "echo two")]),
        calls(&[("c", "Agent", agent)]),
        say("of the agent"),
        say("end"),
    ]);
    let live = rig.start(&script).await;
    ask(&live, "go").await;
    let session = live.session().clone();
    live.end().await;
    let path = rig.transcript(&session);
    let all = records(&fs::read_to_string(&path).unwrap());
    assert_eq!(crate::support::mode(&path), 0o600);
    let kinds: Vec<&str> = all.iter().map(|record| record["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["user", "assistant", "user", "user", "assistant", "user", "assistant"],
        "each result as soon as it is there"
    );
    let mut parent = Value::Null;
    for record in &all {
        let keys: Vec<&String> = record.as_object().unwrap().keys().collect();
        let places: Vec<usize> = keys
            .iter()
            .map(|key| {
                ORDER.iter().position(|known| known == key).unwrap_or_else(|| panic!("{key}"))
            })
            .collect();
        assert!(places.is_sorted(), "{keys:?}");
        for needed in [
            "parentUuid",
            "isSidechain",
            "userType",
            "cwd",
            "sessionId",
            "version",
            "gitBranch",
            "type",
            "message",
            "uuid",
            "timestamp",
        ] {
            assert!(record.get(needed).is_some(), "{needed} in {record}");
        }
        assert_eq!(record["parentUuid"], parent);
        assert_eq!(record["sessionId"], session.as_str());
        assert_eq!(record["isSidechain"], false);
        assert_eq!(record["cwd"], rig.project.to_str().unwrap());
        parent = record["uuid"].clone();
    }
    for result in [&all[2], &all[3]] {
        assert_eq!(result["sourceToolAssistantUUID"], all[1]["uuid"]);
        assert!(result["toolUseResult"].is_object(), "{result}");
    }
    let message = &all[1]["message"];
    let keys: Vec<&String> = message.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["model", "id", "type", "role", "content", "stop_reason", "stop_sequence", "usage"]
    );
    let subagents = path.with_extension("").join("subagents");
    let own = crate::support::files_below(&subagents);
    let transcript = own.iter().find(|path| path.extension().unwrap() == "jsonl").unwrap();
    for record in records(&fs::read_to_string(transcript).unwrap()) {
        assert_eq!(record["isSidechain"], true);
        assert!(transcript.to_str().unwrap().contains(record["agentId"].as_str().unwrap()));
    }
}

#[tokio::test]
async fn conversation_cost_and_mode_come_back() {
    let rig = Rig::new();
    let script = Script::of([calls(&[bash("a", "echo one")]), say("first")]);
    let live = rig.start(&script).await;
    ask(&live, "remember me").await;
    let agent = live.lead().cx.me.clone();
    live.submit(Op::Mode { agent, mode: Mode::AcceptEdits }).await.unwrap();
    let (session, spent) = (live.session().clone(), live.spent());
    live.end().await;

    let script = Script::of([say("second")]);
    let live = rig.start_again(&script, Some(session.clone())).await;
    assert_eq!(live.lead().mode(), Mode::AcceptEdits);
    assert_eq!(live.spent(), spent);
    assert_eq!(ask(&live, "again").await.end, End::Done);
    let asked = script.turns().remove(0).messages;
    assert_valid(&asked);
    assert_eq!(asked[0].content.text(), "remember me");
    assert_eq!(results(&asked[2])[0].1.trim(), "one");
    assert_eq!(asked[3].content.text(), "first");
    assert_eq!(asked[4].content.text(), "again");
    live.end().await;

    let home = rig.store.home();
    let named = |id: &str| resume::named(home, &rig.project, id);
    assert_eq!(named(&session.as_str()[..6]), Ok(session.clone()));
    assert!(named("zzz").is_err() && named("").is_err());
    assert_eq!(resume::sessions(home, &rig.project), [session]);
}

/// Two requests of a session begin with the same bytes, and so does one after a restart.
#[tokio::test]
async fn a_resumed_conversation_is_what_it_was() {
    let rig = Rig::new();
    let script = Script::of([calls(&[bash("a", "echo 1"), bash("b", "echo 2")]), say("x")]);
    let live = rig.start(&script).await;
    ask(&live, "go").await;
    let session: SessionId = live.session().clone();
    live.end().await;
    let before = script.turns();
    let script = Script::of([say("y")]);
    let live = rig.start_again(&script, Some(session)).await;
    ask(&live, "again").await;
    live.end().await;
    let after = script.turns().remove(0);
    assert_eq!(after.messages[..3], before[1].messages[..3]);
    assert_eq!((&after.system, &after.tools), (&before[0].system, &before[0].tools));
}

#[tokio::test]
async fn who_comes_back_may_change_what_it_had_read_if_nobody_else_did() {
    for changed in [false, true] {
        let rig = Rig::new();
        let file = rig.project.join("notes.txt");
        fs::write(&file, "one\n").unwrap();
        let read = json!({"file_path": file});
        let live = rig.start(&Script::of([calls(&[("a", "Read", read)]), say("read")])).await;
        ask(&live, "look").await;
        let session = live.session().clone();
        live.end().await;
        if changed {
            fs::write(&file, "one, and more\n").unwrap();
            let later = SystemTime::now() + Duration::from_secs(2);
            fs::File::open(&file).unwrap().set_modified(later).unwrap();
        }
        let edit = json!({"file_path": file, "old_string": "one", "new_string": "two"});
        let script = Script::of([calls(&[("b", "Edit", edit)]), say("done")]);
        let live = rig.start_again(&script, Some(session)).await;
        ask(&live, "change it").await;
        let wanted = if changed { "one, and more\n" } else { "two\n" };
        assert_eq!(fs::read_to_string(&file).unwrap(), wanted);
        live.end().await;
    }
}
