//! Who may hold what, and for how long.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use quarterdeck::settings::paths::Home;
use quarterdeck::store::Durability;
use quarterdeck::store::error::{LockError, StoreError};
use quarterdeck::store::lock::Locks;
use tempfile::TempDir;

use crate::support::deck::{Deck, leftovers};

struct Room {
    dir: TempDir,
    locks: Locks,
}

impl Room {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let locks = Locks::new(&Home::at(dir.path()), Durability::ProcessCrash);
        Self { dir, locks }
    }

    fn target(&self) -> PathBuf {
        self.dir.path().join("x.json")
    }

    fn lock_dir(&self) -> PathBuf {
        self.dir.path().join("x.json.lock")
    }

    /// A lock directory as another program leaves it, touched that long ago.
    fn foreign_lock(&self, age: Duration) {
        fs::create_dir(self.lock_dir()).unwrap();
        touch(&self.lock_dir(), SystemTime::now() - age);
    }
}

fn touch(path: &Path, at: SystemTime) {
    File::open(path).unwrap().set_modified(at).unwrap();
}

#[test]
fn a_foreign_lock_is_waited_for_and_the_error_tells_its_age() {
    let room = Room::new();
    room.foreign_lock(Duration::from_secs(4));
    let locks = room.locks.clone().with_patience(Duration::from_millis(100));
    let since = Instant::now();
    let mut held = locks.enter(&["x"]).unwrap();
    let refused = held.take(&room.target()).unwrap_err();
    assert!(since.elapsed() >= Duration::from_millis(100));
    let LockError::Held { lock, age, .. } = &refused else { panic!("{refused}") };
    assert_eq!(*lock, room.lock_dir());
    assert!((4.0..6.0).contains(&age.as_secs_f64()), "{refused}");
    assert!(refused.to_string().contains("the lock is 4."), "{refused}");
    assert!(room.lock_dir().exists(), "it is not ours to remove");

    let dir = room.lock_dir();
    thread::spawn(move || fs::remove_dir(dir));
    room.locks.enter(&["y"]).unwrap().take(&room.target()).unwrap();
}

#[test]
fn a_stale_lock_is_taken_over_and_one_from_the_future_is_not() {
    let room = Room::new();
    room.foreign_lock(Duration::from_secs(11));
    let since = Instant::now();
    let mut held = room.locks.enter(&["x"]).unwrap();
    held.take(&room.target()).unwrap();
    assert!(since.elapsed() < Duration::from_secs(5), "no waiting for what is stale");
    drop(held);
    assert!(!room.lock_dir().exists());

    // proper-lockfile's first timestamp may lie up to a second ahead.
    fs::create_dir(room.lock_dir()).unwrap();
    touch(&room.lock_dir(), SystemTime::now() + Duration::from_secs(1));
    let locks = room.locks.clone().with_patience(Duration::from_millis(50));
    let refused = locks.enter(&["x"]).unwrap().take(&room.target()).unwrap_err();
    assert!(matches!(refused, LockError::Held { age, .. } if age < Duration::from_secs(1)));
}

#[test]
fn threads_of_one_process_exclude_each_other() {
    let room = Room::new();
    let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let mut held = room.locks.enter(&["x"]).unwrap();
                    held.take(&room.target()).unwrap();
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

/// The protocol of the ecosystem (stat, rmdir, mkdir) lets two racers take over the same stale
/// lock; the domain around it must not.
#[test]
fn of_many_who_find_a_stale_lock_one_takes_it_over() {
    const RACERS: usize = 8;
    let rounds = if crate::support::soak() { 1000 } else { 100 };
    let room = Room::new();
    for _ in 0..rounds {
        room.foreign_lock(Duration::from_secs(60));
        let (inside, start) = (AtomicUsize::new(0), Barrier::new(RACERS));
        thread::scope(|scope| {
            for _ in 0..RACERS {
                scope.spawn(|| {
                    start.wait();
                    let mut held = room.locks.enter(&["x"]).unwrap();
                    held.take(&room.target()).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two holders");
                    thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
    }
}

#[test]
fn a_different_domain_does_not_wait() {
    let room = Room::new();
    let _held = room.locks.enter(&["a"]).unwrap();
    let locks = room.locks.clone().with_patience(Duration::from_millis(30));
    assert!(locks.enter(&["a", "b"]).is_ok());
    let refused = locks.enter(&["a"]).unwrap_err();
    assert!(matches!(refused, StoreError::Lock(LockError::Busy { .. })), "{refused}");
}

#[test]
fn a_lock_that_was_taken_over_writes_nothing() {
    let room = Room::new();
    let mut held = room.locks.enter(&["x"]).unwrap();
    held.take(&room.target()).unwrap();
    held.replace(&room.target(), b"first").unwrap();
    // Another program thought us dead.
    fs::remove_dir(room.lock_dir()).unwrap();
    fs::create_dir(room.lock_dir()).unwrap();
    touch(&room.lock_dir(), SystemTime::now() + Duration::from_secs(1));
    let refused = held.replace(&room.target(), b"second").unwrap_err();
    assert!(matches!(refused, StoreError::Lock(LockError::Lost { .. })), "{refused}");
    assert_eq!(fs::read(room.target()).unwrap(), b"first");
    drop(held);
    assert!(room.lock_dir().exists(), "it is theirs now");
    fs::remove_dir(room.lock_dir()).unwrap();
    assert_eq!(leftovers(room.dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_lock_held_for_long_is_kept_fresh() {
    let room = Room::new();
    let mut held = room.locks.enter(&["x"]).unwrap();
    held.take(&room.target()).unwrap();
    let first = fs::metadata(room.lock_dir()).unwrap().modified().unwrap();
    let end = Instant::now() + Duration::from_secs(15);
    while fs::metadata(room.lock_dir()).unwrap().modified().unwrap() == first {
        assert!(Instant::now() < end, "the lock was not refreshed");
        thread::sleep(Duration::from_millis(50));
    }
    held.replace(&room.target(), b"still ours").unwrap();
    drop(held);
    assert!(!room.lock_dir().exists());
}

/// A process of ours that dies with a lock in its hands is noticed at once, not after ten
/// seconds.
#[test]
fn a_dead_holder_of_ours_is_noticed_at_once() {
    let deck = Deck::with_team(&[]);
    let lock = deck.tasks().join(".lock.lock");
    let mut caught = 0;
    for _ in 0..400 {
        let mut writer = deck.start(&["task", "add", "t", "-", "--lines"], &"x\n".repeat(2000));
        let end = Instant::now() + Duration::from_secs(10);
        while !lock.exists() {
            assert!(Instant::now() < end, "the writer never locked the list");
            std::hint::spin_loop();
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        if !lock.exists() {
            continue; // it let go in time
        }
        let since = Instant::now();
        deck.run(&["task", "add", "t", "after the crash"]).ok();
        assert!(since.elapsed() < Duration::from_secs(5), "waited {:?}", since.elapsed());
        assert_eq!(leftovers(&deck.home()), Vec::<PathBuf>::new());
        caught += 1;
        if caught == 5 {
            return;
        }
    }
    panic!("only {caught} writers were caught with the lock in their hands");
}

#[test]
fn whatever_bears_the_name_of_a_lock_is_waited_for_and_no_longer() {
    let room = Room::new();
    let locks = room.locks.clone().with_patience(Duration::from_millis(50));
    std::os::unix::fs::symlink("/nonexistent", room.lock_dir()).unwrap();
    let refused = locks.enter(&["x"]).unwrap().take(&room.target()).unwrap_err();
    assert!(matches!(refused, LockError::Held { .. }), "{refused}");
    fs::remove_file(room.lock_dir()).unwrap();
    fs::write(room.lock_dir(), "a file").unwrap();
    let refused = locks.enter(&["x"]).unwrap().take(&room.target()).unwrap_err();
    assert!(matches!(refused, LockError::Held { .. }), "{refused}");
}

#[test]
fn a_record_removes_only_what_we_make_below_the_home() {
    let room = Room::new();
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join(".x.tmp");
    fs::create_dir(&victim).unwrap();
    let ours = room.dir.path().join(".x.json.tmp");
    fs::write(&ours, "left behind").unwrap();
    fs::write(room.target(), "kept").unwrap();
    drop(room.locks.enter(&["x"]).unwrap());
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    let entries = [
        format!("T {}\0", victim.display()),
        format!("T ../{name}/.x.tmp\0"),
        "T x.json\0".to_owned(),
        "T .x.json.tmp\0".to_owned(),
        "T torn".to_owned(),
    ];
    fs::write(room.dir.path().join("quarterdeck/locks/x"), entries.concat()).unwrap();
    drop(room.locks.enter(&["x"]).unwrap());
    assert!(victim.exists() && room.target().exists());
    assert!(!ours.exists(), "what was really left behind is gone");
}

#[test]
fn what_was_half_done_stays_known_until_somebody_mends_it() {
    let room = Room::new();
    let record = room.dir.path().join("quarterdeck/locks/x");
    drop(room.locks.enter(&["x"]).unwrap());
    fs::write(&record, "T .gone.tmp\0").unwrap();
    for _ in 0..2 {
        assert!(room.locks.enter_unmended(&["x"]).unwrap().is_unmended(), "nobody mended it");
    }
    room.locks.enter_unmended(&["x"]).unwrap().mended();
    assert!(!room.locks.enter_unmended(&["x"]).unwrap().is_unmended());
}

#[test]
fn all_waiting_of_one_operation_has_one_limit() {
    let room = Room::new();
    room.foreign_lock(Duration::ZERO);
    let locks = room.locks.clone().with_patience(Duration::from_millis(300));
    let held = room.locks.enter(&["x"]).unwrap();
    let waited = thread::scope(|scope| {
        let second = scope.spawn(|| {
            let since = Instant::now();
            let refused = locks.enter(&["x"]).unwrap().take(&room.target()).unwrap_err();
            let LockError::Held { waited, .. } = refused else { panic!("{refused}") };
            assert!(since.elapsed() >= waited);
            waited
        });
        thread::sleep(Duration::from_millis(200));
        drop(held);
        second.join().unwrap()
    });
    assert!(waited < Duration::from_millis(500), "both waits together: {waited:?}");
}
