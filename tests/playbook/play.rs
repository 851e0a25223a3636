//! The player: which turn answers what.

use proptest::prelude::*;
use quarterdeck::model::rehearsal::Rehearsal;
use quarterdeck::model::rehearsal::player::Unmatched;
use quarterdeck::model::request::Purpose;
use quarterdeck::model::{Chunk, ModelError, StopReason};
use quarterdeck::protocol::content::{Block, ChatMessage, Known};
use serde_json::json;

use super::scene::{
    Talk, answer, blocks, caller, calls, mail, request, said, story, strict, turns,
};

#[tokio::test]
async fn a_story_is_played_from_beginning_to_end() {
    let model = strict(story());
    let mut talk = Talk::new(&model, caller("team-lead"));

    let first = talk.hear(ChatMessage::user("please fix the inventory")).await;
    let Some(Known::Thinking { thinking, .. }) = first[0].meaning() else { panic!("{first:?}") };
    assert_eq!(thinking, "First a team, then the inventory.");
    assert_eq!(said(&first), "On it: the inventory.");
    let made = calls(&first);
    assert_eq!(
        made[0].2,
        json!({ "team_name": "inventory-fix", "description": "Fix the inventory" })
    );
    let task = json!({
        "subject": "Map the code", "description": "in /demo, for team-lead",
        "metadata": { "tags": ["the inventory", 3, true, null], "depth": 1.5 },
    });
    assert_eq!((made[1].1.as_str(), &made[1].2), ("TaskCreate", &task));
    assert_ne!(made[0].0, made[1].0);

    let team = r#"{"team_name":"inventory-fix","lead":[{"name":"Anne"}]}"#;
    let results = vec![
        Block::tool_result(&made[0].0, team),
        Block::tool_result(&made[1].0, "Task #1 created successfully"),
    ];
    let second = talk.hear(ChatMessage::results(results)).await;
    assert_eq!(said(&second), "The team is inventory-fix, led by Anne.");

    let scout = calls(&second);
    let mut results = vec![Block::tool_result(&scout[0].0, "Spawned successfully.")];
    results.push(Block::text(mail_text("scout", "found 12 places")));
    let third = talk.hear(ChatMessage::results(results)).await;
    assert_eq!(said(&third), "12 places, thank you.");

    let denied = vec![Block::tool_error(&calls(&third)[0].0, "denied by the user")];
    let fourth = talk.hear(ChatMessage::results(denied)).await;
    assert_eq!(said(&fourth), "I may not do that: denied by the user");

    let body = r#"{"type":"shutdown_request","requestId":"shutdown-7@team-lead","from":"user"}"#;
    let fifth = talk.hear(mail("team-lead", body)).await;
    let reply = calls(&fifth);
    assert_eq!(reply[0].2["request_id"], "shutdown-7@team-lead");
    let sent = vec![Block::tool_result(&reply[0].0, "ok")];
    let sixth = talk.hear(ChatMessage::results(sent)).await;
    assert_eq!(said(&sixth), "Team inventory-fix is closed.");

    for _ in 0..3 {
        assert_eq!(talk.told("again, please").await, "Once more.");
    }
    let ids: Vec<String> = talk.messages.iter().flat_map(ids_of).collect();
    let different: std::collections::HashSet<&String> = ids.iter().collect();
    assert_eq!((ids.len(), different.len()), (5, 5), "{ids:?}");
}

fn mail_text(from: &str, text: &str) -> String {
    mail(from, text).content.text()
}

fn ids_of(message: &ChatMessage) -> Vec<String> {
    let uses = message.content.known().into_iter().filter_map(|known| {
        let Known::ToolUse { id, .. } = known else { return None };
        Some(id)
    });
    uses.collect()
}

#[tokio::test]
async fn no_turn_is_an_error_that_says_what_is_left() {
    let model = strict(story());
    let ask = [ChatMessage::user("what is the weather?")];
    let error = answer(&model, request(&caller("team-lead"), &ask)).await.unwrap_err();
    let message = "the playbook has no turn for team-lead here; the newest text is \
                   \"what is the weather?\", and the turns left are in lines 8, 19, 23, 27, 29, 33, 35";
    assert_eq!(error, ModelError::InvalidRequest { message: message.to_owned() });

    let error = answer(&model, request(&caller("nobody"), &ask)).await.unwrap_err();
    assert!(
        error.to_string().contains("no actor for nobody; it has team-lead, worker-*"),
        "{error}"
    );

    let long = [ChatMessage::user("x".repeat(5000))];
    let error = answer(&model, request(&caller("worker-1"), &long)).await.unwrap_err().to_string();
    assert!(error.contains("worker-1 (actor worker-*)") && error.len() < 400, "{error}");

    let polite = Rehearsal::new(story(), Unmatched::EndPolitely);
    for agent in ["team-lead", "nobody"] {
        let chunks = answer(&polite, request(&caller(agent), &ask)).await.unwrap();
        let Some(Chunk::Ended { stop, .. }) = chunks.last() else { panic!("{chunks:?}") };
        assert_eq!(*stop, StopReason::EndTurn);
    }
}

#[tokio::test]
async fn a_template_that_cannot_be_filled_is_an_error() {
    let model = strict(turns("- say: 'id {{result.id}}'"));
    let error =
        answer(&model, request(&caller("me"), &[ChatMessage::user("x")])).await.unwrap_err();
    assert!(error.to_string().contains("line 4 of the playbook"), "{error}");
    assert!(error.to_string().contains("no tool has answered yet"), "{error}");
}

#[tokio::test]
async fn the_same_request_plays_the_same_turn() {
    let model = strict(story());
    let ask = [ChatMessage::user("fix it")];
    let first = answer(&model, request(&caller("team-lead"), &ask)).await.unwrap();
    let again = answer(&model, request(&caller("team-lead"), &ask)).await.unwrap();
    assert_eq!(blocks(&first), blocks(&again));
}

#[tokio::test]
async fn two_workers_have_their_own_turns() {
    let model = strict(story());
    let mut one = Talk::new(&model, caller("worker-1"));
    let mut two = Talk::new(&model, caller("worker-2"));
    assert_eq!(one.told("start").await, "worker-1 starts.");
    assert_eq!(one.told("go on").await, "worker-1 goes on.");
    assert_eq!(two.told("start").await, "worker-2 starts.");
    assert_eq!(one.told("go on").await, "worker-1 has finished.");
    assert_eq!(two.told("go on").await, "worker-2 goes on.");
}

#[tokio::test]
async fn kinds_forks_and_internal_requests_have_their_own_actors() {
    let model = strict(story());
    let mut explorer = caller("explore-1");
    explorer.agent_type = Some("Explore".to_owned());
    assert_eq!(Talk::new(&model, explorer).told("look").await, "I have looked around.");

    // A fork goes on from its parent's conversation, whose answers are not its own.
    let mut fork = Talk::new(&model, caller("fork"));
    fork.caller.purpose = Purpose::Fork;
    for number in 0..3 {
        fork.messages.push(ChatMessage::user(format!("parent {number}")));
        fork.messages.push(ChatMessage::assistant(vec![Block::text("parent's answer")]));
    }
    let start = "<fork-boilerplate>\nYou are a fork.\n</fork-boilerplate>\nLook.";
    assert_eq!(fork.told(start).await, "First words of a fork.");
    assert_eq!(fork.told("and?").await, "Second words of a fork.");

    let mut lead = Talk::new(&model, caller("team-lead"));
    lead.hear(ChatMessage::user("fix it")).await;
    for (purpose, text) in [
        (Purpose::Compact, "What happened so far, in short."),
        (Purpose::Compact, "What happened so far, in short."),
        (Purpose::Title, "Rehearsal"),
    ] {
        let mut other = Talk::new(&model, caller("team-lead"));
        other.caller.purpose = purpose;
        other.messages.clone_from(&lead.messages);
        assert_eq!(other.told("now").await, text);
    }
}

#[tokio::test]
async fn mail_and_text_are_matched_newest_first_and_only_once_answered() {
    let model = strict(turns(
        "- {when: {mail_from: 'w*', matching: 'n=(?<n>\\d)'}, say: 'mail {{n}}'}\n\
         - {when: {user: 'n=(?<n>\\d)'}, say: 'text {{n}}'}\n\
         - {when: {user: hello}, say: never}\n\
         - {repeat: true, say: nothing}",
    ));
    let mut talk = Talk::new(&model, caller("me"));
    let both = format!("{}\n\n{}", mail_text("w1", "n=1"), mail_text("w2", "n=2"));
    assert_eq!(talk.told(&both).await, "mail 2", "the newest mail");
    let texts = vec![Block::text("n=3"), Block::text("other")];
    let heard = said(&talk.hear(ChatMessage::results(texts)).await);
    assert_eq!(heard, "nothing", "only the newest text counts");
    let texts = vec![Block::text("n=3"), Block::text("n=4")];
    assert_eq!(said(&talk.hear(ChatMessage::results(texts)).await), "text 4", "the newest text");
    assert_eq!(talk.told("bye").await, "nothing", "old texts are answered already");
}

#[tokio::test]
async fn text_before_a_call_counts_only_beside_its_result() {
    let model = strict(turns(
        "- {when: {user: go}, call: [{tool: Bash}]}\n\
         - {when: {user: go}, say: 'a second go'}\n\
         - {when: {user: go, result_of: Bash}, say: 'went'}",
    ));
    let mut talk = Talk::new(&model, caller("me"));
    let call = calls(&talk.hear(ChatMessage::user("go")).await);
    let result = ChatMessage::results(vec![Block::tool_result(&call[0].0, "ok")]);
    assert_eq!(said(&talk.hear(result).await), "went");
    assert_eq!(talk.told("go").await, "a second go");
}

#[tokio::test]
async fn a_result_can_be_told_by_its_words() {
    let model = strict(turns(
        "- {when: {user: go}, repeat: true, call: [{tool: Bash}]}\n\
         - {when: {error_of: Bash, matching: 'not allow'}, repeat: true, say: 'forbidden'}\n\
         - {when: {result_of: Bash, matching: 'FAIL (?<which>\\w+)'}, say: 'repaired {{which}}'}\n\
         - {when: {result_of: Bash}, repeat: true, say: 'fine'}",
    ));
    let mut talk = Talk::new(&model, caller("me"));
    for (words, wanted) in
        [("all ok", "fine"), ("FAIL total", "repaired total"), ("FAIL x", "fine")]
    {
        let call = calls(&talk.hear(ChatMessage::user("go")).await);
        let result = ChatMessage::results(vec![Block::tool_result(&call[0].0, words)]);
        assert_eq!(said(&talk.hear(result).await), wanted, "{words}");
    }
}

/// What may be said to the actor of the next test.
const LINES: [&str; 6] = ["a", "b", "ab", "c", "nothing", "a c"];

proptest! {
    /// Any prefix of a conversation, given to a model that has just been started, goes on as the
    /// conversation did.
    #[test]
    fn replaying_history_equals_having_been_there(words in prop::collection::vec(0..LINES.len(), 1..12)) {
        let playbook = turns(
            "- {when: {user: a}, say: one}\n- {when: {user: b}, say: two, call: [{tool: T}]}\n\
             - {when: {result_of: T}, say: three}\n- {when: {user: a}, say: four}\n\
             - {when: {user: '(?<x>c)'}, repeat: true, say: 'five {{x}}'}\n- {say: six}\n\
             - {when: {user: b}, repeat: true, say: seven}",
        );
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let live = Rehearsal::new(playbook.clone(), Unmatched::EndPolitely);
            let mut talk = Talk::new(&live, caller("me"));
            let mut open: Vec<String> = Vec::new();
            for word in words {
                let mut content: Vec<Block> = open.iter().map(|id| Block::tool_result(id, "r")).collect();
                content.push(Block::text(LINES[word]));
                let spoken = talk.hear(ChatMessage::results(content)).await;
                open = calls(&spoken).into_iter().map(|(id, _, _)| id).collect();
            }
            for end in (1..talk.messages.len()).step_by(2) {
                let fresh = Rehearsal::new(playbook.clone(), Unmatched::EndPolitely);
                let chunks = answer(&fresh, request(&talk.caller, &talk.messages[..end])).await.unwrap();
                assert_eq!(ChatMessage::assistant(blocks(&chunks)), talk.messages[end]);
            }
        });
    }
}
