//! Write and Edit: what must have been seen, what is kept, and errors that help.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use quarterdeck::tools::Output;
use serde_json::json;

use super::files_read::{ok, rig, why};
use super::rig::Rig;
use crate::support::{files_below, mode};

pub async fn read(rig: &Rig, name: &str) {
    ok(&rig.call("Read", json!({ "file_path": name })).await);
}

pub async fn write(rig: &Rig, name: &str, content: &str) -> Output {
    rig.call("Write", json!({ "file_path": name, "content": content })).await
}

pub async fn edit(rig: &Rig, name: &str, old: &str, new: &str) -> Output {
    let input = json!({ "file_path": name, "old_string": old, "new_string": new });
    rig.call("Edit", input).await
}

async fn edit_all(rig: &Rig, name: &str, old: &str, new: &str) -> Output {
    let input = json!({
        "file_path": name, "old_string": old, "new_string": new, "replace_all": true,
    });
    rig.call("Edit", input).await
}

/// A file that the agent has read.
async fn seen(content: impl AsRef<[u8]>) -> Rig {
    let rig = rig();
    rig.write("a.txt", content);
    read(&rig, "a.txt").await;
    rig
}

fn bytes(rig: &Rig) -> Vec<u8> {
    fs::read(rig.project.join("a.txt")).unwrap()
}

/// Nothing but the files that should be there.
fn only(rig: &Rig, names: &[&str]) {
    let found: Vec<_> = files_below(&rig.project);
    let want: Vec<_> = names.iter().map(|name| rig.project.join(name)).collect();
    assert_eq!(found, want);
}

#[tokio::test]
async fn a_new_file_is_made_with_its_directories() {
    let rig = rig();
    let output = write(&rig, "new/deep/a.rs", "fn a() {}\nfn b() {}\n").await;
    assert_eq!(ok(&output), "Made new/deep/a.rs (2 lines).");
    assert_eq!(output.summary, "new/deep/a.rs +2 -0");
    assert_eq!(output.data["added"], 2);
    assert_eq!(output.data["removed"], 0);
    assert_eq!(output.data["path"], rig.path("new/deep/a.rs"));
    assert_eq!(rig.read("new/deep/a.rs"), "fn a() {}\nfn b() {}\n");
    ok(&edit(&rig, "new/deep/a.rs", "fn a() {}\n", "").await);
    assert_eq!(rig.read("new/deep/a.rs"), "fn b() {}\n", "what one wrote, one knows");
    ok(&edit(&rig, "by/edit.txt", "", "made\n").await);
    assert_eq!(rig.read("by/edit.txt"), "made\n");
    only(&rig, &["by/edit.txt", "new/deep/a.rs"]);
}

#[tokio::test]
async fn what_was_not_read_is_not_overwritten() {
    let rig = rig();
    rig.write("a.txt", "old\n");
    assert!(why(&write(&rig, "a.txt", "new").await).contains("has not been read yet"));
    assert!(why(&edit(&rig, "a.txt", "old", "new").await).contains("has not been read yet"));
    assert!(why(&edit(&rig, "a.txt", "", "new").await).contains("old_string is empty"));
    read(&rig, "a.txt").await;
    rig.write("a.txt", "odd\n");
    assert!(why(&write(&rig, "a.txt", "new").await).contains("changed since you read it"));
    assert!(why(&edit(&rig, "a.txt", "odd", "new").await).contains("changed since you read it"));
    assert_eq!(rig.read("a.txt"), "odd\n");
    read(&rig, "a.txt").await;
    ok(&write(&rig, "a.txt", "new\n").await);
    assert_eq!(rig.read("a.txt"), "new\n");
    only(&rig, &["a.txt"]);
}

#[tokio::test]
async fn content_counts_and_not_the_time_of_a_file() {
    let rig = seen("same\n").await;
    rig.write("a.txt", "same\n");
    let file = fs::File::options().write(true).open(rig.project.join("a.txt")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    ok(&edit(&rig, "a.txt", "same", "other").await);
    let changed = rig.project.join("a.txt").metadata().unwrap().modified().unwrap();
    rig.write("a.txt", "OTHER\n");
    let file = fs::File::options().write(true).open(rig.project.join("a.txt")).unwrap();
    file.set_modified(changed).unwrap();
    assert!(why(&edit(&rig, "a.txt", "OTHER", "x").await).contains("changed since"));
}

#[tokio::test]
async fn a_part_counts_as_seen_and_an_empty_file_needs_no_look() {
    let rig = rig();
    rig.write("a.txt", "one\ntwo\nthree\n");
    ok(&rig.call("Read", json!({ "file_path": "a.txt", "offset": 2, "limit": 1 })).await);
    ok(&edit(&rig, "a.txt", "three", "3").await);
    rig.write("empty", "");
    ok(&edit(&rig, "empty", "", "filled\n").await);
    assert_eq!(rig.read("empty"), "filled\n");
    rig.write("empty2", "");
    ok(&write(&rig, "empty2", "filled\n").await);
}

#[tokio::test]
async fn an_edit_tells_what_it_did() {
    let rig = seen("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n").await;
    let output = edit(&rig, "a.txt", "five\n", "5\nV\n").await;
    let lines = "     2\ttwo\n     3\tthree\n     4\tfour\n     5\t5\n     6\tV\n     7\tsix\n     8\tseven\n     9\teight\n    10\tnine\n";
    assert_eq!(ok(&output), format!("Edited a.txt (+2 -1):\n{lines}"));
    assert_eq!(output.summary, "a.txt +2 -1");
    let diff = "--- a.txt\n+++ a.txt\n@@ -2,7 +2,8 @@\n two\n three\n four\n-five\n+5\n+V\n six\n seven\n eight\n";
    assert_eq!(output.data["diff"], diff);
    assert_eq!((&output.data["added"], &output.data["removed"]), (&json!(2), &json!(1)));
    let replaced = write(&rig, "a.txt", "one\n").await;
    assert_eq!(ok(&replaced), "Replaced the content of a.txt (+0 -9).");
}

#[tokio::test]
async fn every_place_is_changed_when_asked() {
    let rig = seen("aXbX\nX\n").await;
    let output = edit_all(&rig, "a.txt", "X", "yy").await;
    assert!(
        ok(&output).starts_with("Edited a.txt (+2 -2) in 3 places; the first:\n"),
        "{output:?}"
    );
    assert_eq!(rig.read("a.txt"), "ayybyy\nyy\n");
}

#[tokio::test]
async fn what_is_found_more_than_once_is_named() {
    let rig = seen("a\nb\n\na\nb\na\n").await;
    let found = why(&edit(&rig, "a.txt", "a\n", "c\n").await);
    assert!(found.contains("found 3 times; first at line 1 (lines 1, 4, 6)"), "{found}");
    ok(&edit(&rig, "a.txt", "\na\nb\n", "\nc\nb\n").await);
    assert_eq!(rig.read("a.txt"), "a\nb\n\nc\nb\na\n");
    let overlapping = seen("aaa").await;
    assert!(why(&edit(&overlapping, "a.txt", "aa", "b").await).contains("found 2 times"));
}

#[tokio::test]
async fn what_is_not_found_is_explained() {
    let text = "fn main() {\n    let total = compute(1, 2);\n    say(\"hello\");\n}\n";
    let rig = seen(text).await;
    let told = async |old: &str| why(&edit(&rig, "a.txt", old, "x").await);
    let space = told("fn main() {\n\tlet total = compute(1, 2);").await;
    assert!(space.contains("found with other white space at line 1"), "{space}");
    assert!(space.contains("    let total = compute(1, 2);"), "{space}");
    assert!(told("say( \"hello\" )").await.contains("other white space at line 3"));
    let numbers = told("     2\t    let total = compute(1, 2);\n     3\t    say(\"hello\");").await;
    assert!(numbers.contains("remove the line numbers"), "{numbers}");
    assert!(numbers.contains("found at line 2"), "{numbers}");
    assert!(told("     2→    let total").await.contains("remove the line numbers"));
    assert!(told("say(“hello”)").await.contains("other quotation marks"));
    let near = told("let totals = compute(1, 2, 3);").await;
    assert!(near.contains("The nearest is line 2:\n    let total = compute(1, 2);"), "{near}");
    assert!(told("nothing like it at all").await.contains("Read the file again"));
    assert!(told("caf\u{FFFD}").await.contains("U+FFFD"));
    assert!(why(&edit_all(&rig, "a.txt", "absent", "x").await).contains("not found"));
    let same = why(&edit(&rig, "a.txt", "main", "main").await);
    assert!(same.contains("are the same"), "{same}");
    let missing = why(&edit(&rig, "b.txt", "main", "x").await);
    assert_eq!(missing, "b.txt: there is no such file. Beside it there is: a.txt.");
    assert_eq!(rig.read("a.txt"), text);
    only(&rig, &["a.txt"]);
}

#[tokio::test]
async fn line_ends_are_kept() {
    let rig = seen("one\r\ntwo\r\nthree\r\n").await;
    ok(&edit(&rig, "a.txt", "one\ntwo\n", "1\n1.5\n2\n").await);
    assert_eq!(rig.read("a.txt"), "1\r\n1.5\r\n2\r\nthree\r\n");
    ok(&edit(&rig, "a.txt", "2\r\nthree", "2\r\ndrei").await);
    assert_eq!(rig.read("a.txt"), "1\r\n1.5\r\n2\r\ndrei\r\n");
    ok(&write(&rig, "a.txt", "x\ny\n").await);
    assert_eq!(rig.read("a.txt"), "x\r\ny\r\n");
    let only_ends = why(&edit(&rig, "a.txt", "x\r\n", "x\n").await);
    assert!(only_ends.contains("line ends are kept"), "{only_ends}");
    let mixed = seen("one\r\ntwo\nthree\r\nfour\n").await;
    ok(&edit(&mixed, "a.txt", "one\ntwo\nthree\n", "one\n2\nthree\n").await);
    assert_eq!(mixed.read("a.txt"), "one\r\n2\nthree\r\nfour\n");
}

#[tokio::test]
async fn marks_and_encodings_are_kept() {
    let rig = seen("\u{FEFF}one\n").await;
    ok(&edit(&rig, "a.txt", "one", "two").await);
    assert_eq!(rig.read("a.txt"), "\u{FEFF}two\n");
    ok(&write(&rig, "a.txt", "three\n").await);
    assert_eq!(rig.read("a.txt"), "\u{FEFF}three\n");
    ok(&write(&rig, "a.txt", "\u{FEFF}four\n").await);
    assert_eq!(rig.read("a.txt"), "\u{FEFF}four\n");
    for (mark, unit) in
        [(b"\xFF\xFE", u16::to_le_bytes as fn(u16) -> [u8; 2]), (b"\xFE\xFF", u16::to_be_bytes)]
    {
        let wide = |text: &str| -> Vec<u8> {
            mark.iter().copied().chain(text.encode_utf16().flat_map(unit)).collect()
        };
        let rig = seen(wide("grün\r\n𝄞\r\n")).await;
        ok(&edit(&rig, "a.txt", "grün\n", "blau\nrot\n").await);
        assert_eq!(bytes(&rig), wide("blau\r\nrot\r\n𝄞\r\n"));
        ok(&write(&rig, "a.txt", "neu\n").await);
        assert_eq!(bytes(&rig), wide("neu\r\n"));
    }
    let rig = seen(b"caf\xE9 one\n\xFFtwo\n").await;
    let output = edit(&rig, "a.txt", " one", " 1").await;
    assert_eq!(bytes(&rig), b"caf\xE9 1\n\xFFtwo\n");
    assert!(output.data["diff"].as_str().unwrap().contains("+caf\u{FFFD} 1"), "{output:?}");
}

#[tokio::test]
async fn permissions_links_and_owners_are_kept() {
    let rig = rig();
    let path = rig.write("real/run.sh", "echo one\n");
    fs::set_permissions(&path, Permissions::from_mode(0o4751)).unwrap();
    symlink("real/run.sh", rig.project.join("link")).unwrap();
    let owner = |path: &std::path::Path| {
        let metadata = path.metadata().unwrap();
        (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
    };
    // Only root may give files away; for others this stays as it is.
    let _ = std::os::unix::fs::chown(&path, Some(1234), Some(4321));
    fs::set_permissions(&path, Permissions::from_mode(0o4751)).unwrap();
    let before = owner(&path);
    read(&rig, "link").await;
    ok(&edit(&rig, "link", "one", "two").await);
    ok(&write(&rig, "link", "echo three\n").await);
    assert!(rig.project.join("link").is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), "echo three\n");
    assert_eq!(owner(&path), before);
    symlink("new.txt", rig.project.join("dangling")).unwrap();
    ok(&write(&rig, "dangling", "made through a link\n").await);
    assert_eq!(rig.read("new.txt"), "made through a link\n");
    assert!(rig.project.join("dangling").is_symlink());
    let other = rig.project.join("plain");
    fs::write(&other, "").unwrap();
    assert_eq!(mode(&rig.project.join("new.txt")), mode(&other), "as any program makes it");
}

#[tokio::test]
async fn a_read_only_file_stays_as_it_is() {
    let rig = seen("keep\n").await;
    let path = rig.project.join("a.txt");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    assert!(why(&edit(&rig, "a.txt", "keep", "lose").await).contains("read-only"));
    assert!(why(&write(&rig, "a.txt", "lose").await).contains("read-only"));
    assert_eq!(rig.read("a.txt"), "keep\n");
    only(&rig, &["a.txt"]);
}

#[tokio::test]
async fn a_hard_link_keeps_the_old_content() {
    let rig = seen("old\n").await;
    fs::hard_link(rig.project.join("a.txt"), rig.project.join("b.txt")).unwrap();
    ok(&edit(&rig, "a.txt", "old", "new").await);
    assert_eq!((rig.read("a.txt").as_str(), rig.read("b.txt").as_str()), ("new\n", "old\n"));
}

#[tokio::test]
async fn the_longest_names_work() {
    let rig = rig();
    let name = "n".repeat(255);
    ok(&write(&rig, &name, "one\n").await);
    ok(&edit(&rig, &name, "one", "two").await);
    assert_eq!(rig.read(&name), "two\n");
    only(&rig, &[&name]);
}

#[tokio::test]
async fn large_changes_are_told_within_bounds() {
    let rig = rig();
    let text: String = (0..60_000).map(|line| format!("{line} {}\n", line * 7)).collect();
    rig.write("big.txt", &text);
    ok(&rig.call("Read", json!({ "file_path": "big.txt", "limit": 1 })).await);
    let output = edit_all(&rig, "big.txt", "7", "seven").await;
    let diff = output.data["diff"].as_str().unwrap();
    assert!(diff.len() < 70_000 && diff.ends_with("… the diff continues\n"), "{}", diff.len());
    assert!(ok(&output).len() < 20_000);
    assert_eq!(rig.read("big.txt"), text.replace('7', "seven"));
}

#[tokio::test]
async fn a_binary_file_is_not_edited() {
    let rig = rig();
    rig.write("a.png", b"\x89PNG\r\n\x1a\n\0abc");
    read(&rig, "a.png").await;
    assert!(why(&edit(&rig, "a.png", "abc", "d").await).contains("image"));
}
