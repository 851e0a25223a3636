//! The rehearsal as somebody meets it who has configured nothing: the whole story by keys, and
//! the same story without a screen.
//!
//! Another build can play it, such as a release, with a HOME of its own that is still there
//! afterwards:
//!
//! ```sh
//! QUARTERDECK_BINARY=$PWD/target/release/quarterdeck QUARTERDECK_BINARY_HOME=$(mktemp -d) \
//!     cargo test --test terminal rehearsal::the_whole
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::console::{Console, Seen};
use super::place::Place;
use crate::support::{files_below, soak};

/// The scratch copy that a rehearsal made: temporary files go where the place says.
fn scratch(place: &Place) -> PathBuf {
    let made = fs::read_dir(place.path("user")).unwrap().map(|entry| entry.unwrap().path());
    let is_ours = |path: &PathBuf| path.to_string_lossy().contains("quarterdeck-demo-");
    let found: Vec<PathBuf> = made.filter(is_ours).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].join("stock")
}

/// Every file that git does not hide, with its text.
fn files(project: &Path) -> BTreeMap<String, String> {
    let list = ["ls-files", "--cached", "--others"];
    let listed = Command::new("git").args(list).current_dir(project).output().unwrap();
    let names = String::from_utf8(listed.stdout).unwrap();
    let text = |name: &str| fs::read_to_string(project.join(name)).unwrap();
    names.lines().map(|name| (name.to_owned(), text(name))).collect()
}

/// Runs the tests of the project; what they say, and whether they pass.
fn tests_of(project: &Path) -> (bool, String) {
    let ran = Command::new("sh").arg("tests/run.sh").current_dir(project).output().unwrap();
    (ran.status.success(), String::from_utf8(ran.stdout).unwrap())
}

fn place() -> Place {
    Place::new("- say: nothing")
}

/// What the dialog of an ask shows, but for how long it waits; nothing where none is open.
fn dialog(text: &str) -> String {
    let from_top = text.lines().skip_while(|line| !line.contains("┏ !")).skip(1);
    let inside = |line: &str| line.split('┃').nth(1).map(str::to_owned);
    let shown: Vec<String> = from_top.map_while(inside).collect();
    shown.join("\n").replace(|c: char| c.is_ascii_digit(), "")
}

/// Answers every ask with `y`, but some otherwise: what an ask shows decides. Ends when the
/// program does, or when this is on the screen.
fn play(console: &mut Console, end: &str, mut otherwise: Vec<(&str, &str)>) {
    loop {
        let is_over = |text: &str| text.contains(end) && dialog(text).is_empty();
        console.wait("an ask, or the end", |seen| {
            let text = seen.text();
            dialog(&text).contains("y yes") || is_over(&text) || seen.is_closed()
        });
        if is_over(&console.text()) || console.look(Seen::is_closed) {
            break;
        }
        console.until_asked("y yes");
        let shown = dialog(&console.text());
        let known = otherwise.iter().position(|(words, _)| shown.contains(words));
        match known.map(|at| otherwise.remove(at)) {
            Some((_, "edit")) => edit(console),
            Some((_, name @ ("scout" | "fixer" | "tester" | "reviewer"))) => stop(console, name),
            Some((_, key)) => console.press(key),
            None => console.press("y"),
        }
        console
            .wait("that one is answered", |seen| dialog(&seen.text()) != shown || seen.is_closed());
    }
    assert_eq!(otherwise, [], "these were never asked");
}

/// Has a command run in other words.
fn edit(console: &mut Console) {
    console.press("e");
    console.until_text("run this instead");
    console.reads();
    console.press("\x05 2>&1");
    console.until_text("run.sh 2>&1");
    console.press("\r");
}

/// Puts the ask off and stops a teammate.
fn stop(console: &mut Console, name: &str) {
    console.press("\x1b");
    console.until("the ask is put off", |screen| dialog(&screen.contents()).is_empty());
    console.reads();
    console.say(&format!("/stop {name}"));
    // Said by the lead, or seen in the roster: a fast story may be told by now.
    let (said, seen) = (format!("{name} is gone"), format!("▌{name}·"));
    console.until("it is stopped", |screen| {
        let text = screen.contents();
        text.contains(&said) || text.contains(&seen)
    });
    // What was asked meanwhile was put off with it.
    console.press("\x19");
}

#[test]
fn the_whole_rehearsal_by_keys_ends_with_tests_that_pass() {
    let place = place();
    let mut console = Console::start(&place, &[], 140, 40);
    // Nothing is configured: it explains itself, and suggests how to begin.
    console.until_text("fix the bugs");
    let first = console.text();
    for words in
        ["Welcome aboard", "Press Enter", "rehearsal with a scripted model", "ANTHROPIC_API_KEY"]
    {
        assert!(first.contains(words), "{words}:\n{first}");
    }
    let project = scratch(&place);
    assert!(!tests_of(&project).0, "the bugs are there");
    console.press("\r");
    // One edit is denied, one command is changed before it may run, all else is allowed.
    let otherwise = vec![("lib/total.awk", "n"), ("Run all tests", "edit")];
    play(&mut console, "That was the rehearsal", otherwise);
    // The console offers the diff.
    console.until_text("❯ /diff");
    console.press("\r");
    console.until_text("$2 <= $4");
    console.press("\x1b");
    console.until("the page is closed", |screen| !screen.contents().contains("$2 <= $4"));
    let (passes, said) = tests_of(&project);
    assert!(passes && said.contains("ok    at the minimum is low"), "{said}");
    let (code, left) = console.quits();
    assert_eq!(code, 0, "{left}");
    let lines: Vec<&str> = left.trim().lines().collect();
    assert!(left.contains("tests/run.sh") && left.contains("quarterdeck demo"), "{lines:?}");

    // Who waits for the approval of its plan is not asked what keeps it from its task.
    let told = |file: &PathBuf| {
        let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
        text.contains("Task #7 (Review and write the changelog) is still in progress")
    };
    assert!(!files_below(&place.path("home")).iter().any(told));

    // Without a screen it comes to the same files, although nothing was denied.
    let other = self::place();
    other.run(&["run", "--playbook", "demo", "-p", "fix the bugs", "--on-ask", "allow"]);
    assert_eq!(files(&project), files(&scratch(&other)));
}

#[test]
fn whoever_denies_everything_gets_a_story_to_its_end_and_a_project_as_it_was() {
    let place = place();
    let ran = place.run(&["run", "--playbook", "demo", "-p", "please fix it", "--on-ask", "deny"]);
    assert!(ran.contains("That was the rehearsal"), "{ran}");
    let project = scratch(&place);
    let status = Command::new("git").args(["status", "--short"]).current_dir(&project).output();
    assert_eq!(String::from_utf8(status.unwrap().stdout).unwrap(), "");
    let tasks = place.run(&["task", "list", "stock-fix"]);
    assert_eq!(tasks.matches("[completed]").count(), 7, "{tasks}");
    // It can be played again in the same home, where the first team still is.
    let ran = place.run(&["run", "--playbook", "demo", "-p", "please fix it", "--on-ask", "deny"]);
    assert!(ran.contains("That was the rehearsal"), "{ran}");
    let tasks = place.run(&["task", "list", "stock-fix-2"]);
    assert_eq!(tasks.matches("[completed]").count(), 7, "{tasks}");
}

#[test]
fn free_prompts_are_answered_and_the_demo_can_end_by_itself() {
    let place = place();
    // Somebody who allows almost everything: only the plan is left to ask about.
    let config = place.path("user/.config/quarterdeck");
    fs::create_dir_all(&config).unwrap();
    let rules = r#"{"permissions": {"allow": ["Edit", "Write", "Bash"]}}"#;
    fs::write(config.join("settings.json"), rules).unwrap();
    let args = ["demo", "--pace", "0", "--exit-after-demo"];
    let mut console = Console::start(&place, &args, 140, 40);
    console.until_text("fix the bugs");
    for (words, answer) in
        [("what can you do", "I am a scripted model"), ("hello", "know one story")]
    {
        // What is suggested gives way to what is typed.
        console.say(words);
        console.until_text(&format!("❯ {words}"));
        console.until_text(answer);
    }
    console.say("fix the bugs");
    play(&mut console, "nothing that is ever said", Vec::new());
    let (code, left) = console.ends();
    assert_eq!(code, 0, "{left}");
    assert!(left.contains("Play it again: quarterdeck demo"), "{left}");
    assert!(tests_of(&scratch(&place)).0);
}

/// Whoever is stopped in the middle of the story leaves tasks behind; the others close them.
#[test]
fn the_story_comes_to_its_end_whoever_is_stopped_in_the_middle() {
    let all = [
        ("reviewer", "Push the branch"),
        ("tester", "tests/more-minimum.sh"),
        ("fixer", "lib/total.awk"),
        ("scout", "lib/low.awk"),
    ];
    let many = if soak() { all.len() } else { 2 };
    for (name, at) in all.into_iter().take(many) {
        let place = place();
        let mut console = Console::start(&place, &["demo", "--pace", "0"], 140, 40);
        console.until_text("❯ fix the bugs");
        console.press("\r");
        play(&mut console, "That was the rehearsal", vec![(at, name)]);
        let tasks = place.run(&["task", "list", "stock-fix"]);
        assert_eq!(tasks.matches("[completed]").count(), 7, "{name}:\n{tasks}");
        console.signal("TERM");
        console.ends();
    }
}
