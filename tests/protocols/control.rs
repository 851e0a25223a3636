//! What a program without a screen may do with each teammate: all that the person may.

use serde_json::{Value, json};

use super::stage::Stage;
use crate::support::rig::Going;

fn status(going: &mut Going, agent: &str, status: &str) -> Value {
    going.line_with(&format!("{agent} {status}"), |line| {
        line["type"] == "status" && line["agent"] == agent && line["status"] == status
    })
}

fn saying(going: &mut Going, agent: &str, kind: &str, words: &str) -> Value {
    going.line_with(words, |line| {
        line["type"] == kind && line["agent"] == agent && line.to_string().contains(words)
    })
}

#[test]
fn teammates_are_spoken_to_held_stopped_started_again_and_ended() {
    let stage = Stage::new("control.yaml");
    let mut going = stage.rig.driven(&["--permission-mode", "bypassPermissions"]);
    going.granted(&json!({ "subtype": "spawn", "name": "bob", "prompt": "The word is heron" }));
    status(&mut going, "bob", "idle");
    going.granted(&json!({ "subtype": "say", "agent": "bob", "text": "Say heron" }));
    saying(&mut going, "bob", "assistant", "heron, as you say");
    status(&mut going, "bob", "idle");
    // Held, it says nothing; let go, it does.
    going.granted(&json!({ "subtype": "pause", "agent": "bob" }));
    status(&mut going, "bob", "paused");
    going.granted(&json!({ "subtype": "say", "agent": "bob", "text": "Say swan" }));
    going.granted(&json!({ "subtype": "unpause", "agent": "bob" }));
    let next = going.line_with("bob", |line| {
        line["agent"] == "bob" && (line["type"] == "assistant" || line["status"] == "unpaused")
    });
    assert_eq!(next["status"], "unpaused", "{next}");
    saying(&mut going, "bob", "assistant", "swan, as you say");
    status(&mut going, "bob", "idle");
    // Urgent words end what it does now, and it goes on with them.
    going.granted(&json!({ "subtype": "say", "agent": "bob", "text": "Sleep now" }));
    saying(&mut going, "bob", "assistant", "sleep 600");
    let urgent = json!({ "subtype": "say", "agent": "bob", "text": "Say gull", "priority": "now" });
    going.granted(&urgent);
    saying(&mut going, "bob", "assistant", "gull, as you say");
    assert_eq!(status(&mut going, "bob", "idle")["reason"], "available");
    // Stopped by force, and started again from its transcript.
    going.granted(&json!({ "subtype": "stop", "agent": "bob" }));
    status(&mut going, "bob", "left");
    let gone = going.control(&json!({ "subtype": "say", "agent": "bob", "text": "Say crow" }));
    assert_eq!(gone["subtype"], "error", "{gone}");
    going.granted(&json!({ "subtype": "spawn", "name": "bob", "prompt": "Say stork" }));
    saying(&mut going, "bob", "assistant", "stork, as you say");
    status(&mut going, "bob", "idle");
    going.granted(&json!({ "subtype": "shutdown", "agent": "bob", "reason": "Thanks" }));
    saying(&mut going, "bob", "mail", "shutdown_approved");
    status(&mut going, "bob", "left");
    for wrong in [
        json!({ "subtype": "pause", "agent": "bob" }),
        json!({ "subtype": "stop" }),
        json!({ "subtype": "shutdown", "agent": "nobody" }),
        json!({ "subtype": "spawn", "name": "a/b", "prompt": "x" }),
        json!({ "subtype": "spawn", "name": "new" }),
    ] {
        let answer = going.control(&wrong);
        assert_eq!(answer["subtype"], "error", "{wrong}: {answer}");
    }
    going.end().code(0);
    let help = stage.rig.quarterdeck(&["run", "--help"]).code(0).stdout;
    for word in ["pause, unpause", "spawn", "stop ", "shutdown", "say "] {
        assert!(help.contains(word), "{word}");
    }
}
