//! Definitions that change while we run.

use std::fs;
use std::time::{Duration, Instant};

use quarterdeck::agent::definition::Watcher;

use super::shelf::{Shelf, agent};

#[test]
fn an_edited_added_or_removed_file_shows_at_the_next_look() {
    let shelf = Shelf::new();
    shelf.put("near/a.md", &agent("a", "old"));
    let mut watcher = Watcher::new(shelf.sources());
    let before = watcher.catalog();
    let description = |watcher: &Watcher, name: &str| {
        watcher.catalog().get(name).map(|one| one.description.clone())
    };
    assert!(!watcher.reload_if_changed());

    // As long as before, and within the tick of a coarse clock.
    shelf.put("near/a.md", &agent("a", "new"));
    assert!(watcher.reload_if_changed());
    assert_eq!(description(&watcher, "a").as_deref(), Some("new"));
    assert_eq!(before.get("a").unwrap().description, "old", "who holds the old one keeps it");
    assert!(!watcher.reload_if_changed());

    shelf.put("user/deep/b.md", &agent("b", "added"));
    assert!(watcher.reload_if_changed());
    assert_eq!(description(&watcher, "b").as_deref(), Some("added"));

    shelf.put("near/a.md", "broken");
    assert!(watcher.reload_if_changed());
    assert_eq!(description(&watcher, "a"), None);
    assert_eq!(watcher.catalog().problems.len(), 1);

    fs::remove_file(shelf.path("near/a.md")).unwrap();
    assert!(watcher.reload_if_changed());
    assert_eq!(watcher.catalog().problems, []);

    shelf.put("plugins/p/agents/c.md", &agent("c", "plug-in"));
    assert!(watcher.reload_if_changed());
    fs::remove_dir_all(shelf.path("plugins")).unwrap();
    assert!(watcher.reload_if_changed());
    assert_eq!(description(&watcher, "c"), None);
}

#[test]
fn nothing_is_read_again_once_files_have_settled() {
    let shelf = Shelf::new();
    let file = shelf.put("near/a.md", &agent("a", "old"));
    let mut watcher = Watcher::new(shelf.sources());
    // Until the file is old enough to be trusted, every look reads it.
    let end = Instant::now() + Duration::from_secs(10);
    while fs::metadata(&file).unwrap().modified().unwrap().elapsed().unwrap_or_default()
        < Duration::from_millis(100)
    {
        assert!(Instant::now() < end);
        std::thread::yield_now();
    }
    watcher.reload_if_changed();
    let before = watcher.catalog();
    assert!(!watcher.reload_if_changed());
    assert!(std::sync::Arc::ptr_eq(&before, &watcher.catalog()));
    shelf.put("near/a.md", &agent("a", "new"));
    assert!(watcher.reload_if_changed());
}
