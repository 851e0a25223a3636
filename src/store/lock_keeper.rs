//! Keeps long-held locks fresh: one thread for the whole process, asleep while nothing is held.
//!
//! A lock is held for milliseconds, so this hardly ever has anything to do. It matters when a
//! disk is slow: without it other programs would think us dead after ten seconds.

use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::lock::Inner;

/// Half the time after which a lock is stale.
const REFRESH: Duration = Duration::from_secs(5);

/// How often the thread looks whether a refresh is due, while anything is held.
const LOOK: Duration = Duration::from_secs(1);

type Shared = Arc<Mutex<Inner>>;

#[derive(Default)]
struct Held {
    all: Vec<(Shared, Instant)>,
    /// The thread waits to be woken; otherwise it looks by itself.
    asleep: bool,
}

#[derive(Default)]
struct Keeper {
    held: Mutex<Held>,
    wake: Condvar,
}

static KEEPER: LazyLock<Arc<Keeper>> = LazyLock::new(|| {
    let keeper = Arc::new(Keeper::default());
    let own = Arc::clone(&keeper);
    if let Err(error) = thread::Builder::new().name("locks".into()).spawn(move || own.run()) {
        tracing::warn!(%error, "locks held for more than ten seconds will not be kept fresh");
    }
    keeper
});

/// Refreshes these locks every five seconds, until they are forgotten.
pub(super) fn watch(locks: &Shared) {
    let mut held = KEEPER.held.lock().unwrap_or_else(PoisonError::into_inner);
    held.all.push((Arc::clone(locks), Instant::now()));
    if held.asleep {
        KEEPER.wake.notify_one();
    }
}

pub(super) fn forget(locks: &Shared) {
    let mut held = KEEPER.held.lock().unwrap_or_else(PoisonError::into_inner);
    held.all.retain(|(known, _)| !Arc::ptr_eq(known, locks));
}

impl Keeper {
    fn run(&self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            held.asleep = held.all.is_empty();
            held = if held.asleep {
                self.wake.wait(held).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.wake.wait_timeout(held, LOOK).unwrap_or_else(PoisonError::into_inner).0
            };
            held.asleep = false;
            let due = held.all.iter_mut().filter(|(_, last)| last.elapsed() >= REFRESH);
            let due: Vec<Shared> = due
                .map(|(locks, last)| {
                    *last = Instant::now();
                    Arc::clone(locks)
                })
                .collect();
            drop(held);
            for locks in due {
                locks.lock().unwrap_or_else(PoisonError::into_inner).refresh();
            }
            held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        }
    }
}
