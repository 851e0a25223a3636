//! Things that are shown one after the other, each in its time.

use std::time::Duration;

use futures::stream::{self, Stream};
use tokio::time::Instant;

use super::playbook::Pace;
use crate::model::Stop;

#[derive(Debug)]
pub enum Step<T, E> {
    /// Something with so many characters.
    Show(T, usize),
    /// A pause. Even an empty one lets the other side take what it was given.
    Wait(Duration),
    /// The end.
    Fail(E),
}

/// Shows the steps at this pace. A stop ends it at once, with what `stopped` makes.
pub fn paced<T, E>(
    steps: Vec<Step<T, E>>,
    pace: Pace,
    stop: Stop,
    stopped: fn() -> E,
) -> impl Stream<Item = Result<T, E>> {
    let show = Show { steps: steps.into_iter(), pace, stop, due: None };
    stream::unfold(Some(show), move |show| async move {
        let mut show = show?;
        match show.next().await {
            Ok(item) => item.map(|item| (Ok(item), Some(show))),
            Err(End::Stopped) => Some((Err(stopped()), None)),
            Err(End::Failed(error)) => Some((Err(error), None)),
        }
    })
}

struct Show<T, E> {
    steps: std::vec::IntoIter<Step<T, E>>,
    pace: Pace,
    stop: Stop,
    /// When the last item was due: waits do not add up their delays.
    due: Option<Instant>,
}

enum End<E> {
    Stopped,
    Failed(E),
}

impl<T, E> Show<T, E> {
    async fn next(&mut self) -> Result<Option<T>, End<E>> {
        while let Some(step) = self.steps.next() {
            match step {
                Step::Show(item, characters) => {
                    self.wait(self.pace.time_of(characters)).await?;
                    return Ok(Some(item));
                }
                Step::Wait(time) => {
                    tokio::task::yield_now().await;
                    self.wait(time).await?;
                }
                Step::Fail(error) => {
                    self.wait(Duration::ZERO).await?;
                    return Err(End::Failed(error));
                }
            }
        }
        Ok(None)
    }

    async fn wait(&mut self, time: Duration) -> Result<(), End<E>> {
        if self.stop.is_cancelled() {
            return Err(End::Stopped);
        }
        if time.is_zero() {
            return Ok(());
        }
        let due = self.due.unwrap_or_else(Instant::now) + time;
        self.due = Some(due);
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(End::Stopped),
            () = tokio::time::sleep_until(due) => Ok(()),
        }
    }
}
