//! Teammates of a kind of their own, and what they may start.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::{Op, SpawnWish};
use serde_json::json;

use super::rig::{Rig, facts, obedient_but, one, order, quiet, say, spawn};

fn define(rig: &Rig, name: &str, text: &str) {
    let dir = rig.project.join(".claude/agents");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join(format!("{name}.md")), text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_teammate_starts_nothing_that_goes_on_behind_its_back() {
    let mut rig = Rig::new();
    rig.office.auto_background_after = Some(Duration::ZERO);
    define(
        &rig,
        "helper",
        "---\nname: helper\ndescription: helps\nbackground: true\n---\nYou help.\n",
    );
    let cast = obedient_but(|asked| {
        let helps = asked.request.caller.agent_type.as_deref() == Some("helper");
        helps.then(|| say("helped"))
    });
    let live = rig.start(&cast).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let bob = one(&live, "bob");
    let helper = json!({ "description": "d", "prompt": "Help.", "subagent_type": "helper" });
    let ran = order(&live, bob.clone(), &[("Agent", helper)]).await;
    assert!(!ran[0].1 && ran[0].0.contains("helped"), "it is waited for: {ran:?}");
    let ended = facts(&live).into_iter().rev().find_map(|(_, fact)| match fact {
        Fact::ToolEnded { data, .. } if data["status"] == "completed" => {
            data["agentId"].as_str().map(str::to_owned)
        }
        _ => None,
    });
    let id = ended.expect("a result");
    // One that has ended is woken, and waited for, too.
    for wake in [
        ("SendMessage", json!({ "to": id, "message": "Once more", "summary": "s" })),
        ("Agent", json!({ "description": "d", "prompt": "Once more", "resume": id })),
    ] {
        let ran = order(&live, bob.clone(), &[wake]).await;
        assert!(!ran[0].1 && ran[0].0.contains("helped"), "{ran:?}");
    }
    quiet(&live).await;
    let behind = facts(&live).into_iter().filter(|(_, fact)| match fact {
        Fact::ToolEnded { data, .. } => data["status"] == "async_launched",
        _ => false,
    });
    assert_eq!(behind.count(), 0);
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_teammate_has_all_that_its_definition_gives() {
    let rig = Rig::new();
    define(
        &rig,
        "scholar",
        "---\nname: scholar\ndescription: knows\nmemory: project\nskills: [greek, \
         latin]\n---\nYou know much.\n",
    );
    let skill = rig.project.join(".claude/skills/greek");
    fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: greek\ndescription: letters\n---\nAlpha comes before beta.\n";
    fs::write(skill.join("SKILL.md"), text).unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let sees = Arc::clone(&seen);
    let cast = obedient_but(move |asked| {
        if asked.agent == "bob" {
            *sees.lock().unwrap() = format!("{:?}", asked.request.prefix);
        }
        None
    });
    let live = rig.start(&cast).await;
    let wish = SpawnWish {
        name: "bob".into(),
        prompt: "Wait.".into(),
        kind: Some("scholar".into()),
        ..SpawnWish::default()
    };
    live.submit(Op::Spawn { wish: Box::new(wish) }).await.unwrap();
    quiet(&live).await;
    let prompt = seen.lock().unwrap().clone();
    for part in ["You know much.", "Alpha comes before beta.", "agent-memory"] {
        assert!(prompt.contains(part), "{part} in {prompt}");
    }
    let told = facts(&live).into_iter().any(|(agent, fact)| {
        let bob = agent.is_some_and(|agent| agent.name == *"bob");
        matches!(fact, Fact::Notice { text, .. } if bob && text.contains("skill `latin`, which was not found"))
    });
    assert!(told, "what it does not have is said");
    live.end().await;
}
