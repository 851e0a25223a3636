//! Waiting and trying again, on a clock that stands still.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, stream};
use quarterdeck::model::retry::{Policy, retrying, until_done};
use quarterdeck::model::usage::Usage;
use quarterdeck::model::{Answer, Chunk, ModelError, Stop, StopReason};
use tokio::time::Instant;

use super::dialect::{failure, whole};

/// Without a limit in time: here it would pass in no time.
async fn all(answer: Answer) -> Vec<Result<Chunk, ModelError>> {
    answer.collect().await
}

fn busy(retry_after: Option<Duration>) -> ModelError {
    ModelError::Overloaded { message: "busy".to_owned(), retry_after }
}

fn started() -> Chunk {
    Chunk::Started { id: "m".to_owned(), model: "m".to_owned(), usage: Usage::default() }
}

fn text() -> Chunk {
    Chunk::Text { index: 0, text: "hi".to_owned() }
}

fn ended() -> Chunk {
    Chunk::Ended { stop: StopReason::EndTurn, usage: Usage::default() }
}

fn says(chunks: Vec<Result<Chunk, ModelError>>) -> Answer {
    stream::iter(chunks).boxed()
}

fn waits(chunks: &[Chunk]) -> Vec<Duration> {
    let wait = |chunk: &Chunk| {
        let Chunk::Retrying { wait, .. } = chunk else { return None };
        Some(*wait)
    };
    chunks.iter().filter_map(wait).collect()
}

#[tokio::test(start_paused = true)]
async fn each_wait_is_announced_and_longer_than_the_one_before() {
    let begun = Instant::now();
    let chunks = whole(
        all(retrying(Policy::default(), Stop::new(), |attempt| match attempt {
            ..=4 => says(vec![Ok(started()), Err(busy(None))]),
            _ => says(vec![Ok(started()), Ok(text()), Ok(ended())]),
        }))
        .await,
    );
    let waits = waits(&chunks);
    for (wait, full) in waits.iter().zip([500, 1000, 2000, 4000]) {
        let full = Duration::from_millis(full);
        assert!(*wait <= full && *wait >= full.mul_f64(0.75), "{wait:?} of {full:?}");
    }
    assert_eq!(waits.len(), 4);
    assert!(begun.elapsed() >= waits.iter().sum::<Duration>(), "it waited");
    let expected = |at| Chunk::Retrying {
        why: "overloaded".to_owned(),
        wait: waits[at],
        attempt: at as u32 + 2,
        of: 10,
    };
    let mut all: Vec<Chunk> = (0..4).flat_map(|at| [started(), expected(at)]).collect();
    all.extend([started(), text(), ended()]);
    assert_eq!(chunks, all);
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_server_wants_is_kept_to() {
    let wanted = Duration::from_secs(47);
    let begun = Instant::now();
    let chunks = whole(
        all(retrying(Policy::default(), Stop::new(), move |attempt| match attempt {
            1 => says(vec![Err(busy(Some(wanted)))]),
            _ => says(vec![Ok(ended())]),
        }))
        .await,
    );
    assert_eq!(waits(&chunks), [wanted]);
    assert_eq!(begun.elapsed().as_secs(), 47);
}

#[tokio::test(start_paused = true)]
async fn tries_are_limited_and_so_is_the_time() {
    let tries = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&tries);
    let always = move |attempt| {
        *counted.lock().unwrap() = attempt;
        says(vec![Err(busy(None))])
    };
    let answer = all(retrying(Policy::default(), Stop::new(), always.clone())).await;
    assert_eq!(answer.len(), 10, "nine announcements and an error");
    assert_eq!((failure(answer), *tries.lock().unwrap()), (busy(None), 10));

    let policy = Policy { total: Duration::from_secs(3), ..Policy::default() };
    let begun = Instant::now();
    let answer = all(retrying(policy, Stop::new(), always)).await;
    assert_eq!(failure(answer), busy(None));
    assert!(begun.elapsed() <= Duration::from_millis(3010), "{:?}", begun.elapsed());
    assert!(*tries.lock().unwrap() < 10);

    let hour = Some(Duration::from_secs(3600));
    let begun = Instant::now();
    let answer = all(retrying(policy, Stop::new(), move |_| says(vec![Err(busy(hour))]))).await;
    assert_eq!(failure(answer), busy(hour));
    assert!(begun.elapsed() <= Duration::from_millis(3010), "capped: {:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_tried_again_that_was_shown_or_will_not_pass() {
    let broken = || ModelError::StreamBroken { message: "x".to_owned() };
    let block = quarterdeck::protocol::content::Block::text("x");
    let (id, name, json) = ("t".to_owned(), "Bash".to_owned(), "{".to_owned());
    let shown = [
        text(),
        Chunk::Thinking { index: 0, text: "hm".to_owned() },
        Chunk::ToolStarted { index: 0, id, name },
        Chunk::ToolInput { index: 0, json },
        Chunk::Block { index: 0, block },
    ];
    for chunk in shown {
        let answer = vec![Ok(started()), Ok(chunk.clone()), Err(broken())];
        let mut once = Some(answer.clone());
        let attempt = move |_| says(once.take().expect("one attempt"));
        assert_eq!(all(retrying(Policy::default(), Stop::new(), attempt)).await, answer);
    }
    let lasting = ModelError::Authentication { message: "no".to_owned() };
    let answer = vec![Err(lasting)];
    let mut once = Some(answer.clone());
    let attempt = move |_| says(once.take().expect("one attempt"));
    assert_eq!(all(retrying(Policy::default(), Stop::new(), attempt)).await, answer);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_wait_and_an_answer_at_once() {
    let stop = Stop::new();
    let long = Some(Duration::from_secs(500));
    let mut answer =
        retrying(Policy::default(), stop.clone(), move |_| says(vec![Err(busy(long))]));
    assert!(matches!(answer.next().await, Some(Ok(Chunk::Retrying { .. }))));
    let begun = Instant::now();
    let waiting = tokio::spawn(async move { (answer.next().await, answer.next().await) });
    tokio::task::yield_now().await;
    stop.cancel();
    assert_eq!(waiting.await.unwrap(), (Some(Err(ModelError::Stopped)), None));
    assert_eq!(begun.elapsed(), Duration::ZERO);

    let stop = Stop::new();
    let attempt = |_| stream::iter([Ok(started())]).chain(stream::pending()).boxed();
    let mut answer = retrying(Policy::default(), stop.clone(), attempt);
    assert_eq!(answer.next().await, Some(Ok(started())));
    stop.cancel();
    assert_eq!(answer.next().await, Some(Err(ModelError::Stopped)));
    assert_eq!(answer.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_attempted_before_someone_listens_or_after_a_stop() {
    let never = |_| -> Answer { panic!("an attempt") };
    drop(retrying(Policy::default(), Stop::new(), never));
    let stop = Stop::new();
    stop.cancel();
    assert_eq!(all(retrying(Policy::default(), stop, never)).await, [Err(ModelError::Stopped)]);
}

#[tokio::test(start_paused = true)]
async fn what_comes_in_one_piece_is_tried_again_too() {
    let done = until_done(Policy::default(), async |attempt| match attempt {
        ..=3 => Err(busy(None)),
        _ => Ok(attempt),
    });
    assert_eq!(done.await, Ok(4));
    let once = until_done(Policy::once(), async |_| Err::<(), _>(busy(None)));
    assert_eq!(once.await, Err(busy(None)));
}
