//! The rehearsal model's stream: its order, its pace, its faults, its end.

use std::time::Duration;

use futures::StreamExt;
use quarterdeck::model::rehearsal::playbook::Pace;
use quarterdeck::model::usage::Usage;
use quarterdeck::model::{Chunk, ModelError, Stop, StopReason};
use quarterdeck::protocol::content::{Block, ChatMessage};
use serde_json::json;
use tokio::time::Instant;

use super::scene::{Talk, answer, blocks, caller, request, said, strict, turns};

fn ask() -> [ChatMessage; 1] {
    [ChatMessage::user("hello")]
}

#[tokio::test]
async fn chunks_come_in_order_and_add_up() {
    let model = strict(turns(
        "- {think: 'hm, what now', say: 'Two words.', call: [{tool: Read, input: {file_path: /demo/a}}]}",
    ));
    let chunks = answer(&model, request(&caller("me"), &ask())).await.unwrap();
    let mut texts = [String::new(), String::new(), String::new()];
    let mut kinds: Vec<&str> = Vec::new();
    for chunk in &chunks {
        let kind = match chunk {
            Chunk::Started { .. } => "started",
            Chunk::Thinking { index, text } | Chunk::Text { index, text } => {
                texts[*index].push_str(text);
                "delta"
            }
            Chunk::ToolStarted { .. } => "tool",
            Chunk::ToolInput { index, json } => {
                texts[*index].push_str(json);
                "delta"
            }
            Chunk::Block { .. } => "block",
            Chunk::Retrying { .. } => "retrying",
            Chunk::Ended { .. } => "ended",
        };
        if kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
    }
    assert_eq!(
        kinds,
        ["started", "delta", "block", "delta", "block", "tool", "delta", "block", "ended"]
    );
    assert_eq!(texts, ["hm, what now", "Two words.", r#"{"file_path":"/demo/a"}"#]);
    let call = &blocks(&chunks)[2];
    let Some(quarterdeck::protocol::content::Known::ToolUse { id, .. }) = call.meaning() else {
        panic!("{call:?}")
    };
    assert_eq!(*call, Block::tool_use(id, "Read", json!({ "file_path": "/demo/a" })));
    let Some(Chunk::Ended { stop, usage }) = chunks.last() else { panic!("{chunks:?}") };
    // 12 bytes of thinking, 10 of text, 4 and 23 of the call.
    assert_eq!((stop, usage.output), (&StopReason::ToolUse, 13));
}

#[tokio::test]
async fn usage_follows_the_cache_unless_it_is_given() {
    let model = strict(turns(
        "- {say: one}\n- {say: two}\n- {say: three, usage: {input: 1200, output: 40}}\n- {say: four, usage: {output: 7}}",
    ));
    let mut talk = Talk::new(&model, caller("me"));
    let mut all = Vec::new();
    for text in ["first", "second", "third", "fourth"] {
        talk.messages.push(ChatMessage::user(text));
        let chunks = answer(&model, request(&talk.caller, &talk.messages)).await.unwrap();
        let Some(Chunk::Ended { usage, .. }) = chunks.last() else { panic!("{chunks:?}") };
        all.push(*usage);
        talk.messages.push(ChatMessage::assistant(blocks(&chunks)));
    }
    assert_eq!((all[0].input, all[0].cache_read, all[0].output), (0, 0, 1));
    assert_eq!(all[1].cache_read, all[0].cache_write, "the whole first request");
    assert!(all[1].cache_write > 0);
    assert_eq!(all[2], Usage { input: 1200, output: 40, ..Usage::default() });
    assert_eq!(all[3].output, 7);
    assert!(
        all[3].cache_read > all[1].cache_read,
        "what was reported does not matter to the cache"
    );
}

#[tokio::test(start_paused = true)]
async fn the_pace_is_kept() {
    let text = "a word and another one, and so on for a while: 60 characters";
    assert_eq!(text.len(), 60);
    let model = strict(turns(&format!("- {{say: '{text}'}}")));
    let start = Instant::now();
    answer(&model, request(&caller("me"), &ask())).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO, "at once");

    let slow = model.at_pace(Pace::new(30));
    let mut stream = slow.attempt(request(&caller("me"), &ask()), Stop::new());
    let mut seen = 0;
    while let Some(chunk) = stream.next().await {
        if let Chunk::Text { text, .. } = chunk.unwrap() {
            seen += text.len();
            let due = Duration::from_millis(1000 * seen as u64 / 30);
            let late = start.elapsed().checked_sub(due).expect("not too early");
            assert!(late <= Duration::from_millis(2), "{late:?} late after {seen} characters");
        }
    }
    assert_eq!(seen, 60);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_an_answer_wherever_it_is() {
    let slow = strict(turns("- {say: 'one two three four five'}")).at_pace(Pace::new(1));
    let whole = answer(&slow, request(&caller("me"), &ask())).await.unwrap().len();
    for taken in 0..whole {
        let stop = Stop::new();
        let mut stream = slow.attempt(request(&caller("me"), &ask()), stop.clone());
        for _ in 0..taken {
            stream.next().await.unwrap().unwrap();
        }
        stop.cancel();
        let start = Instant::now();
        assert_eq!(stream.next().await, Some(Err(ModelError::Stopped)), "after {taken}");
        assert_eq!(stream.next().await, None);
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
    // While it waits for the next word.
    let stop = Stop::new();
    let mut stream = slow.attempt(request(&caller("me"), &ask()), stop.clone());
    stream.next().await.unwrap().unwrap();
    let pull = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        stop.cancel();
    };
    let (next, ()) = tokio::join!(stream.next(), pull);
    assert_eq!(next, Some(Err(ModelError::Stopped)));
}

/// What comes out of one attempt: the text, and how it ended.
async fn attempt(
    model: &quarterdeck::model::rehearsal::Rehearsal,
    agent: &str,
) -> (String, Option<ModelError>) {
    let mut stream = model.attempt(request(&caller(agent), &ask()), Stop::new());
    let mut text = String::new();
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(Chunk::Text { text: more, .. }) => text.push_str(&more),
            Ok(_) => {}
            Err(error) => return (text, Some(error)),
        }
    }
    (text, None)
}

#[tokio::test]
async fn a_refusal_happens_so_many_times_for_each_agent() {
    let text = "actors: [{who: 'w*', turns: [{say: fine, fault: {status: 529, times: 2}}]}]";
    let playbook = quarterdeck::model::rehearsal::playbook::Playbook::parse(text).unwrap();
    let model = strict(playbook.into());
    for agent in ["w1", "w2"] {
        // An answer that nobody listens to spends nothing.
        drop(model.attempt(request(&caller(agent), &ask()), Stop::new()));
        for _ in 0..2 {
            let (text, error) = attempt(&model, agent).await;
            assert_eq!(text, "");
            assert!(matches!(error, Some(ModelError::Overloaded { .. })), "{error:?}");
        }
        assert_eq!(attempt(&model, agent).await, ("fine".to_owned(), None));
    }
}

#[tokio::test]
async fn refusals_become_errors_of_their_kind() {
    for (status, passing) in [
        (401, false),
        (404, false),
        (400, false),
        (408, true),
        (429, true),
        (500, true),
        (529, true),
    ] {
        let model = strict(turns(&format!("- {{say: x, fault: {{status: {status}}}}}")));
        let (_, error) = attempt(&model, "me").await;
        assert_eq!(error.unwrap().is_passing(), passing, "{status}");
    }
    let model = strict(turns("- {say: x, fault: {status: 429, retry_after: 7}}"));
    let (_, error) = attempt(&model, "me").await;
    assert_eq!(error.unwrap().retry_after(), Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn a_cut_comes_after_so_many_bytes_of_the_stream() {
    let whole = "one two three four";
    let (mut seen, mut last) = (std::collections::BTreeSet::new(), 0);
    for bytes in (0..3000).step_by(40) {
        let model = strict(turns(&format!("- {{say: '{whole}', fault: {{cut_after: {bytes}}}}}")));
        let (text, error) = attempt(&model, "me").await;
        assert!(whole.starts_with(&text) && text.len() >= last, "{text} after {bytes}");
        last = text.len();
        match error {
            Some(ModelError::StreamBroken { .. }) => {}
            None => assert_eq!(text, whole),
            error => panic!("{error:?}"),
        }
        seen.insert((text, error.is_some()));
        assert_eq!(attempt(&model, "me").await, (whole.to_owned(), None), "then it works");
    }
    let seen: Vec<(&str, bool)> = seen.iter().map(|(text, cut)| (text.as_str(), *cut)).collect();
    let cut = ["", "one ", "one two ", "one two three ", whole].map(|text| (text, true));
    let mut expected = cut.to_vec();
    expected.insert(4, (whole, false));
    assert_eq!(seen, expected, "behind the end there is no fault");
}

#[tokio::test]
async fn a_call_that_is_cut_never_becomes_a_block() {
    let count = |bytes: usize| {
        let turn = "call: [{tool: Bash, input: {command: ls -l}}]";
        let model = strict(turns(&format!("- {{{turn}, fault: {{cut_after: {bytes}}}}}")));
        async move {
            let mut stream = model.attempt(request(&caller("me"), &ask()), Stop::new());
            let (mut started, mut blocks) = (0, 0);
            while let Some(Ok(chunk)) = stream.next().await {
                started += usize::from(matches!(chunk, Chunk::ToolStarted { .. }));
                blocks += usize::from(matches!(chunk, Chunk::Block { .. }));
            }
            (started, blocks)
        }
    };
    let mut all = Vec::new();
    for bytes in (0..3000).step_by(40) {
        all.push(count(bytes).await);
    }
    all.dedup();
    assert_eq!(all, [(0, 0), (1, 0), (1, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_stall_is_borne_for_a_while_and_garbage_is_not() {
    let start = Instant::now();
    let model = strict(turns("- {say: late, fault: {stall_ms: 5000}}"));
    assert_eq!(attempt(&model, "me").await, ("late".to_owned(), None));
    assert_eq!(start.elapsed(), Duration::from_secs(5));

    let model = strict(turns("- {say: never, fault: {stall_ms: 5000}}"))
        .with_patience(Duration::from_secs(2));
    let (_, error) = attempt(&model, "me").await;
    assert!(matches!(error, Some(ModelError::StreamBroken { .. })), "{error:?}");
    assert_eq!(start.elapsed(), Duration::from_secs(7));

    let model = strict(turns("- {say: fine, fault: {garbage: true}}"));
    let (_, error) = attempt(&model, "me").await;
    assert!(matches!(error, Some(ModelError::BadAnswer { .. })), "{error:?}");
    let again = answer(&model, request(&caller("me"), &ask())).await.unwrap();
    assert_eq!(said(&blocks(&again)), "fine");
}
