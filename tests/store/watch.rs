//! Changes below a home, made the way the store and other programs make them.

mod site;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use quarterdeck::protocol::ids::{AgentName, TaskId, TeamDir};
use quarterdeck::protocol::message::Message;
use quarterdeck::protocol::time::Stamp;
use quarterdeck::settings::paths::Home;
use quarterdeck::store::watch::{Change, InboxStem, Pace, Watch};
use quarterdeck::store::{Durability, Store, files};
use tempfile::TempDir;

use site::*;

#[test]
fn what_is_there_at_the_start_is_not_reported() {
    let mut site = Site::with(Pace::default().events_only(), |home| {
        put(&home.config(&team()), &roster(&["team-lead"]));
        put(&home.inbox(&team(), &AgentName::lead()), &inbox(&["hello"]));
        put(&home.task(&team(), &TaskId::from(1)), &task(1, "old"));
    });
    site.expect_nothing_else();
    fs::remove_file(site.task(1)).expect("remove");
    site.expect(&[task_gone(1)]);
    put(&site.inbox("team-lead"), &inbox(&["✓hello"]));
    site.expect(&[mail_changed("team-lead", 0)]);
    fs::remove_file(site.roster()).expect("remove");
    site.expect(&[team_gone()]);
    site.expect_nothing_else();
}

#[test]
fn a_task_is_reported_when_it_comes_changes_and_goes() {
    let mut site = Site::new();
    put(&site.task(1), &task(1, "new"));
    site.expect(&[task_changed(1)]);
    for subject in ["a", "b", "c", "d"] {
        put(&site.task(1), &task(1, subject));
        site.expect(&[task_changed(1)]);
    }
    put(&site.task(1), &task(1, "d"));
    site.expect_nothing_else(); // the same content is no change
    fs::remove_file(site.task(1)).expect("remove");
    site.expect(&[task_gone(1)]);
    put(&site.task(1), &task(1, "d"));
    site.expect(&[task_changed(1)]);
    site.expect_nothing_else();
}

#[test]
fn writes_of_one_moment_are_one_change() {
    let pace = Pace::default().events_only().window(Duration::from_millis(500));
    let mut site = Site::with(pace, |home| {
        put(&home.inbox(&team(), &AgentName::found("alice")), &inbox(&["one"]));
    });
    for round in 0..20 {
        put(&site.task(1), &task(1, &format!("version {round}")));
    }
    put(&site.inbox("alice"), &inbox(&["✓one"]));
    put(&site.inbox("alice"), &inbox(&["✓one", "two", "✓three"]));
    site.expect(&[arrived("alice", 1), task_changed(1)]);
    site.expect_nothing_else();
}

#[test]
fn our_own_writes_are_reported_once_and_locks_never() {
    let mut site = Site::new();
    let store = Store::open(site.home.clone(), Durability::ProcessCrash);
    fs::create_dir_all(site.home.tasks(&team())).expect("a list");
    let mut held = store.locks().enter(&["tasks", "team"]).expect("the domain");
    held.take(&site.home.tasks(&team()).join(".lock")).expect("the list's lock");
    held.take(&site.task(7)).expect("the task's lock");
    held.replace(&site.task(7), task(7, "ours").as_bytes()).expect("a write");
    drop(held);
    fs::write(site.home.tasks(&team()).join(".highwatermark"), "7").expect("write");
    fs::rename(site.task(7), site.home.tasks(&team()).join("7.json.broken-1")).expect("aside");
    let seen = site.up_to_a_mark();
    // It may be gone again before anybody looked.
    assert!(seen.is_empty() || seen == [task_changed(7), task_gone(7)], "{seen:?}");
    let mut held = store.locks().enter(&["tasks", "team"]).expect("the domain");
    held.take(&site.task(8)).expect("the task's lock");
    held.replace(&site.task(8), task(8, "ours").as_bytes()).expect("a write");
    drop(held);
    site.expect(&[task_changed(8)]);
    site.expect_nothing_else();
}

#[test]
fn members_that_join_and_leave_are_named() {
    let mut site = Site::new();
    put(&site.roster(), &roster(&["team-lead", "zoe"]));
    site.expect(&[team_changed(), joined("team-lead"), joined("zoe")]);
    put(&site.roster(), &roster(&["team-lead", "zoe", "adam"]));
    site.expect(&[team_changed(), joined("adam")]);
    put(&site.roster(), &roster(&["team-lead", "adam", "bob"]));
    site.expect(&[team_changed(), left("zoe"), joined("bob")]);
    put(&site.roster(), &roster(&["adam", "bob", "team-lead"]));
    site.expect(&[team_changed()]);
    site.expect_nothing_else();
}

#[test]
fn new_mail_is_told_from_marks_and_removals() {
    let mut site = Site::new();
    put(&site.inbox("a.b"), "[]");
    site.expect(&[mail_changed("a.b", 0)]);
    put(&site.inbox("a.b"), &inbox(&["one", "two"]));
    site.expect(&[arrived("a.b", 2)]);
    put(&site.inbox("a.b"), &inbox(&["✓one", "two"]));
    site.expect(&[mail_changed("a.b", 1)]);
    put(&site.inbox("a.b"), &inbox(&["✓one", "✓two", "three"]));
    site.expect(&[arrived("a.b", 1)]);
    let third = Message::new(&AgentName::found("bob"), "three", Stamp::from_millis(0)).id();
    assert_eq!(site.newest, [third], "only what was not there before");
    put(&site.inbox("a.b"), &inbox(&["three"]));
    site.expect(&[mail_changed("a.b", 1)]);
    put(&site.inbox("a.b"), &inbox(&["four"]));
    site.expect(&[arrived("a.b", 1)]);
    fs::remove_file(site.inbox("a.b")).expect("remove");
    site.expect(&[mail_changed("a.b", 0)]);
    site.expect_nothing_else();
    let Change::MailArrived { inbox, .. } = arrived("a.b", 1) else { panic!("not mail") };
    assert!(inbox.is_of(&AgentName::found("a-b")) && !inbox.is_of(&AgentName::found("a_b")));
}

#[test]
fn a_message_that_is_none_does_not_hide_the_others() {
    let mut site = Site::new();
    let odd = |rest: &str| format!("[{{\"text\": 5}}, 7, {}", &inbox(&["one"])[1..]) + rest;
    put(&site.inbox("alice"), &odd(""));
    site.expect(&[arrived("alice", 1)]);
    put(&site.inbox("alice"), &odd("\n"));
    site.expect(&[mail_changed("alice", 1)]);
    site.expect_nothing_else();
}

#[test]
fn a_file_that_is_being_rewritten_in_place_is_one_change() {
    let pace = Pace::default().events_only().patience(Duration::from_secs(60));
    let mut site = Site::with(pace, |home| {
        put(&home.inbox(&team(), &AgentName::found("alice")), &inbox(&["one"]));
    });
    let path = site.inbox("alice");
    let other_program = thread::spawn(move || {
        let whole = inbox(&["one", "two"]);
        let (first, second) = whole.split_at(whole.len() / 2);
        let mut file = fs::File::create(&path).expect("truncate");
        files::nap(Duration::from_millis(40));
        file.write_all(first.as_bytes()).expect("write");
        files::nap(Duration::from_millis(40));
        file.write_all(second.as_bytes()).expect("write");
    });
    site.expect(&[arrived("alice", 2)]);
    other_program.join().expect("the other program");
    site.expect_nothing_else();
}

#[test]
fn a_new_file_that_is_written_in_place_is_one_change() {
    let pace = Pace::default().events_only().patience(Duration::from_secs(60));
    let mut site = Site::with(pace, |home| {
        fs::create_dir_all(home.tasks(&team())).expect("a list");
    });
    let path = site.task(3);
    let other_program = thread::spawn(move || {
        let mut file = fs::File::create(&path).expect("create");
        files::nap(Duration::from_millis(40));
        file.write_all(task(3, "slow").as_bytes()).expect("write");
    });
    put(&site.task(4), &task(4, "quick"));
    site.expect_all(&[task_changed(3), task_changed(4)]);
    other_program.join().expect("the other program");
    site.expect_nothing_else();
}

#[test]
fn a_file_that_stays_broken_is_reported_once_and_hides_nothing() {
    // By scans alone: each mark that is seen proves another look at everything.
    let pace = Pace::default().scan_only().scan_every(Duration::from_millis(5));
    let pace = pace.patience(Duration::from_millis(500));
    let mut site = Site::with(pace, |home| {
        put(&home.task(&team(), &TaskId::from(1)), &task(1, "whole"));
    });
    fs::write(site.task(1), "{ \"id\": ").expect("write");
    put(&site.task(2), &task(2, "another"));
    site.expect(&[task_changed(2)]);
    let trouble = site.next("the trouble");
    let Change::Trouble { path, why } = &trouble else { panic!("{trouble:?}") };
    assert_eq!(*path, site.task(1));
    assert_eq!(why, "EOF while parsing a value at line 1 column 8");
    for _ in 0..5 {
        site.expect_nothing_else();
    }
    fs::write(site.task(1), "").expect("write");
    let trouble = site.next("the trouble of another version");
    assert!(matches!(&trouble, Change::Trouble { path, .. } if *path == site.task(1)));
    for _ in 0..5 {
        site.expect_nothing_else();
    }
    // The reader must learn that it is whole again, even if it is as before.
    put(&site.task(1), &task(1, "whole"));
    site.expect(&[task_changed(1)]);
    site.expect_nothing_else();
}

#[test]
fn a_broken_roster_or_inbox_is_trouble_and_not_gone() {
    let mut site = Site::with(Pace::default().events_only(), |home| {
        put(&home.config(&team()), &roster(&["team-lead"]));
        put(&home.inbox(&team(), &AgentName::lead()), &inbox(&["hello"]));
    });
    put(&site.roster(), "[]");
    let trouble = site.next("the roster's trouble");
    assert!(matches!(&trouble, Change::Trouble { path, .. } if *path == site.roster()));
    put(&site.inbox("team-lead"), &inbox(&["hello", "more"]).replace(']', ""));
    let trouble = site.next("the inbox's trouble");
    assert!(matches!(&trouble, Change::Trouble { path, .. } if *path == site.inbox("team-lead")));
    put(&site.roster(), &roster(&["team-lead", "alice"]));
    site.expect(&[team_changed(), joined("alice")]);
    put(&site.inbox("team-lead"), &inbox(&["hello", "more"]));
    site.expect(&[arrived("team-lead", 2)]);
    site.expect_nothing_else();
}

#[test]
fn a_file_that_is_broken_at_the_start_is_reported_too() {
    let mut site = Site::with(Pace::default().events_only(), |home| {
        put(&home.inbox(&team(), &AgentName::lead()), "[{");
    });
    let trouble = site.next("the trouble");
    assert!(matches!(&trouble, Change::Trouble { path, .. } if *path == site.inbox("team-lead")));
    put(&site.inbox("team-lead"), &inbox(&["hello"]));
    site.expect(&[arrived("team-lead", 1)]);
    site.expect_nothing_else();
}

#[test]
fn a_team_that_comes_with_its_files_is_reported_whole() {
    let mut site = Site::new();
    let aside = site.home.teams().join(".team");
    put(&aside.join("config.json"), &roster(&["team-lead", "alice"]));
    put(&aside.join("inboxes/alice.json"), &inbox(&["hello"]));
    site.expect_nothing_else();
    fs::rename(&aside, site.home.team(&team())).expect("rename");
    site.expect(&[team_changed(), joined("team-lead"), joined("alice"), arrived("alice", 1)]);
    put(&site.inbox("alice"), &inbox(&["hello", "you"]));
    site.expect(&[arrived("alice", 2)]);
    site.expect_nothing_else();
}

#[test]
fn a_team_that_is_deleted_and_made_again_is_seen_each_time() {
    let mut site = Site::new();
    for _ in 0..3 {
        put(&site.roster(), &roster(&["team-lead"]));
        put(&site.inbox("alice"), &inbox(&["hello"]));
        put(&site.task(1), &task(1, "first"));
        let all = [team_changed(), joined("team-lead"), arrived("alice", 1), task_changed(1)];
        site.expect_all(&all);
        put(&site.inbox("alice"), &inbox(&["hello", "you"]));
        site.expect(&[arrived("alice", 2)]);
        fs::remove_dir_all(site.home.team(&team())).expect("remove");
        fs::remove_dir_all(site.home.tasks(&team())).expect("remove");
        site.expect_all(&[team_gone(), mail_changed("alice", 0), task_gone(1)]);
        site.expect_nothing_else();
    }
}

#[test]
fn a_team_that_is_moved_is_seen_under_its_new_name() {
    let mut site = Site::with(Pace::default().events_only(), |home| {
        let old = home.teams().join("old");
        put(&old.join("config.json"), &roster(&["team-lead"]));
        put(&old.join("inboxes/alice.json"), &inbox(&["hello"]));
    });
    let old = TeamDir::found("old").expect("a plain name");
    fs::rename(site.home.team(&old), site.home.team(&team())).expect("rename");
    let stem = InboxStem::of(&AgentName::found("alice"));
    site.expect_all(&[
        Change::TeamGone { team: old.clone() },
        Change::MailChanged { team: old, inbox: stem, unread: 0 },
        team_changed(),
        joined("team-lead"),
        arrived("alice", 1),
    ]);
    put(&site.inbox("alice"), &inbox(&["hello", "you"]));
    site.expect(&[arrived("alice", 2)]);
    put(&site.roster(), &roster(&["team-lead", "alice"]));
    site.expect(&[team_changed(), joined("alice")]);
    site.expect_nothing_else();
}

#[test]
fn directories_that_come_and_go_in_a_hurry_are_still_watched() {
    let mut site = Site::new();
    for round in 0..50 {
        put(&site.inbox("alice"), &inbox(&[&format!("round {round}")]));
        let gone = if round % 2 == 0 { site.home.team(&team()) } else { site.home.teams() };
        fs::remove_dir_all(gone).expect("remove");
        if round % 10 == 0 {
            site.up_to_a_mark();
        }
    }
    put(&site.inbox("alice"), &inbox(&["last"]));
    // Each round's mail looks the same from here, and all of it comes before a mark.
    assert_eq!(site.up_to_a_mark().last(), Some(&arrived("alice", 1)));
    put(&site.inbox("alice"), &inbox(&["last", "of all"]));
    site.expect(&[arrived("alice", 2)]);
    site.expect_nothing_else();
}

#[test]
fn a_directory_in_the_place_of_another_is_watched() {
    let mut site = Site::new();
    let list = site.home.tasks(&team());
    for _ in 0..10 {
        put(&site.task(1), &task(1, "first"));
        site.expect(&[task_changed(1)]);
        fs::remove_dir_all(&list).expect("remove");
        // Often of the same inode, since that has just become free.
        fs::create_dir(&list).expect("make again");
        assert_eq!(site.up_to_a_mark(), [task_gone(1)]);
    }
}

#[test]
fn many_files_at_once_are_reported_once_each() {
    let mut site = Site::new();
    for id in 1..=300 {
        put(&site.task(id), &task(id, "one of many"));
    }
    let wanted: Vec<Change> = (1..=300).map(task_changed).collect();
    site.expect_all(&wanted);
    site.expect_nothing_else();
    fs::remove_dir_all(site.home.tasks(&team())).expect("remove");
    let wanted: Vec<Change> = (1..=300).map(task_gone).collect();
    site.expect_all(&wanted);
    site.expect_nothing_else();
}

#[test]
fn a_reader_that_is_slow_misses_nothing() {
    let mut site = Site::new();
    for id in 1..=3000 {
        put(&site.task(id), &task(id, "one of very many"));
    }
    let mut missing: BTreeSet<TaskId> = (1..=3000).map(TaskId::from).collect();
    while !missing.is_empty() {
        let change = site.next(&format!("{} more tasks", missing.len()));
        let Change::TaskChanged { id, .. } = change else { panic!("{change:?}") };
        assert!(missing.remove(&id), "#{id} came twice");
    }
    site.expect_nothing_else();
}

#[test]
fn a_home_that_is_made_later_is_found_by_the_scan() {
    let pace = Pace::default().scan_every(Duration::from_millis(20));
    let mut site = Site::with(pace, |home| {
        fs::remove_dir_all(home.root()).expect("remove");
    });
    for _ in 0..2 {
        put(&site.roster(), &roster(&["team-lead"]));
        site.expect(&[team_changed(), joined("team-lead")]);
        put(&site.task(1), &task(1, "first"));
        site.expect(&[task_changed(1)]);
        fs::remove_dir_all(site.home.root()).expect("remove");
        site.expect_all(&[team_gone(), task_gone(1)]);
    }
}

#[test]
fn directories_of_the_home_may_come_and_go() {
    let mut site = Site::with(Pace::default().events_only(), |home| {
        fs::remove_dir_all(home.teams()).expect("remove");
        fs::remove_dir_all(home.task_lists()).expect("remove");
    });
    for _ in 0..3 {
        put(&site.roster(), &roster(&["team-lead"]));
        site.expect(&[team_changed(), joined("team-lead")]);
        put(&site.task(1), &task(1, "first"));
        site.expect(&[task_changed(1)]);
        fs::remove_dir_all(site.home.teams()).expect("remove");
        site.expect(&[team_gone()]);
        fs::remove_dir_all(site.home.task_lists()).expect("remove");
        site.expect(&[task_gone(1)]);
    }
    site.expect_nothing_else();
}

#[test]
fn scans_alone_find_everything() {
    let mut site =
        Site::with(Pace::default().scan_only().scan_every(Duration::from_millis(10)), |home| {
            put(&home.task(&team(), &TaskId::from(1)), &task(1, "old"))
        });
    put(&site.roster(), &roster(&["team-lead"]));
    site.expect(&[team_changed(), joined("team-lead")]);
    put(&site.inbox("alice"), &inbox(&["hello"]));
    site.expect(&[arrived("alice", 1)]);
    // The same size, and on a coarse clock the same time.
    fs::write(site.task(1), task(1, "new")).expect("write");
    site.expect(&[task_changed(1)]);
    fs::remove_dir_all(site.home.teams()).expect("remove");
    site.expect_all(&[team_gone(), mail_changed("alice", 0)]);
    fs::remove_file(site.task(1)).expect("remove");
    site.expect(&[task_gone(1)]);
    site.expect_nothing_else();
}

#[test]
fn a_home_may_be_named_from_the_working_directory() {
    let dir = TempDir::new().expect("a temporary directory");
    let here = std::env::current_dir().expect("a working directory");
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    let home = Home::at(up.join(dir.path().strip_prefix("/").expect("an absolute path")));
    let mut changes = Watch::start_with(&home, Pace::default().events_only()).expect("a watch");
    put(&home.config(&team()), &roster(&[]));
    assert_eq!(changes.next_blocking(), Some(team_changed()));
}

#[cfg(target_os = "linux")]
#[test]
fn dropping_the_changes_ends_the_thread_and_its_watches() {
    use std::os::unix::fs::MetadataExt;
    // The thread owns the watches, so they go when it ends.
    let watches = |inode: u64| {
        let wanted = format!(" ino:{inode:x} ");
        let files = fs::read_dir("/proc/self/fdinfo").expect("own files").filter_map(Result::ok);
        let infos = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        infos.filter(|info| info.contains("inotify") && info.contains(&wanted)).count()
    };
    let Site { home, changes, dir: _dir, .. } = Site::new();
    let inode = fs::metadata(home.root()).expect("the home").ino();
    assert_eq!(watches(inode), 1);
    drop(changes);
    let since = Instant::now();
    while watches(inode) > 0 {
        assert!(since.elapsed() < LIMIT, "still watched after {LIMIT:?}");
        thread::yield_now();
    }
}
