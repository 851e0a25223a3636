//! What a program without a screen may do with each teammate: all that the person may.

use serde_json::{Value, json};

use super::stage::Stage;
use crate::support::rig::Going;

/// Makes a request that is granted, and waits for what it brings about; either may come first.
#[track_caller]
fn brings(going: &mut Going, request: &Value, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let id = going.request(request);
    let answers = |line: &Value| line["response"]["request_id"] == id.as_str();
    let first = going.line_with(what, |line| answers(line) || fits(line));
    let (answer, brought) = match answers(&first) {
        true => (first, going.line_with(what, fits)),
        false => (going.line_with(what, answers), first),
    };
    assert_eq!(answer["response"]["subtype"], "success", "{request}: {answer}");
    brought
}

/// As `brings`, for a state of bob.
#[track_caller]
fn makes(going: &mut Going, status: &str, request: &Value) -> Value {
    brings(going, request, status, |line| {
        line["type"] == "status" && line["agent"] == "bob" && line["status"] == status
    })
}

#[test]
fn teammates_are_spoken_to_held_stopped_started_again_and_ended() {
    let stage = Stage::new("control.yaml");
    let mut going = stage.rig.driven(&["--permission-mode", "bypassPermissions"]);
    let run = &mut going;
    let say = |text: &str| json!({ "subtype": "say", "agent": "bob", "text": text });
    makes(run, "idle", &json!({ "subtype": "spawn", "name": "bob", "prompt": "You are bob" }));
    makes(run, "idle", &say("Say heron"));
    // Held, it says nothing; let go, it does.
    makes(run, "paused", &json!({ "subtype": "pause", "agent": "bob" }));
    run.granted(&say("Say swan"));
    makes(run, "idle", &json!({ "subtype": "unpause", "agent": "bob" }));
    // Urgent words end what it does now, and it goes on with them.
    brings(run, &say("Sleep now"), "the command", |line| {
        line["type"] == "assistant" && line.to_string().contains("sleep 600")
    });
    let mut urgent = say("Say gull");
    urgent["priority"] = json!("now");
    assert_eq!(makes(run, "idle", &urgent)["reason"], "available");
    // Stopped by force, and started again from its transcript.
    makes(run, "left", &json!({ "subtype": "stop", "agent": "bob" }));
    let gone = run.control(&say("Say crow"));
    assert_eq!(gone["subtype"], "error", "{gone}");
    makes(run, "idle", &json!({ "subtype": "spawn", "name": "bob", "prompt": "Say stork" }));
    makes(run, "left", &json!({ "subtype": "shutdown", "agent": "bob", "reason": "Thanks" }));
    for wrong in [
        json!({ "subtype": "pause", "agent": "nobody" }),
        json!({ "subtype": "stop" }),
        json!({ "subtype": "shutdown", "agent": "nobody" }),
        json!({ "subtype": "spawn", "name": "a/b", "prompt": "x" }),
        json!({ "subtype": "spawn", "name": "new" }),
    ] {
        let answer = run.control(&wrong);
        assert_eq!(answer["subtype"], "error", "{wrong}: {answer}");
    }
    let said = going.end().code(0).stdout;
    let steps = [
        "heron, as you say",
        "\"paused\"",
        "\"unpaused\"",
        "swan, as you say",
        "gull, as you say",
        "stork, as you say",
        "shutdown_approved",
    ];
    let places: Vec<Option<usize>> = steps.iter().map(|step| said.find(step)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {said}");
    let help = stage.rig.quarterdeck(&["run", "--help"]).code(0).stdout;
    for word in ["pause, unpause", "spawn", "stop ", "shutdown", "say "] {
        assert!(help.contains(word), "{word}");
    }
}
