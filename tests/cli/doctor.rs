//! The doctor finds what is wrong, puts right what is ours, asks before anything with content
//! goes, and leaves a healthy home alone.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::deck::Deck;
use crate::support::say;

const SESSION: &str = "0b5f1d1e-6a55-4d55-9c6b-1f6a3c0c9a10";

/// A home with a team `t` in a repository, where everything is as it should be.
struct Ward {
    deck: Deck,
    root: PathBuf,
}

impl Ward {
    fn new() -> Self {
        let deck = Deck::new();
        let root = deck.home().parent().unwrap().to_owned();
        for name in ["repo", "tmp", "user"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let ward = Self { deck, root };
        ward.git(&["init", "--quiet"]);
        fs::write(ward.repo().join("a"), "a").unwrap();
        ward.git(&["add", "--all"]);
        ward.git(&["commit", "--quiet", "-m", "one"]);
        let repo = ward.repo().display().to_string();
        ward.deck.run(&["team", "create", "t", "--cwd", &repo]).ok();
        for name in ["bob", "eve"] {
            ward.deck.run(&["team", "join", "t", name, "--cwd", &repo]).ok();
        }
        ward.deck.run(&["task", "add", "t", "one"]).ok();
        ward.deck.run(&["task", "claim", "t", "1", "--as", "bob"]).ok();
        ward.deck.run(&["send", "t", "bob", "hello"]).ok();
        ward
    }

    fn repo(&self) -> PathBuf {
        self.root.join("repo")
    }

    fn git(&self, args: &[&str]) {
        let who = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
        let ran = Command::new("git").args(who).args(args).current_dir(self.repo()).output();
        let ran = ran.unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }

    fn doctor(&self, args: &[&str]) -> (i32, Value) {
        let mut command = self.deck.command(&[&["doctor", "--json"], args].concat());
        command.current_dir(self.repo()).env("HOME", self.root.join("user"));
        command.env("XDG_CONFIG_HOME", self.root.join("user/config"));
        command.env("TMPDIR", self.root.join("tmp")).env("ANTHROPIC_API_KEY", "sk-never-shown");
        command.env_remove("TMUX").env_remove("QUARTERDECK_MODEL");
        command.env("TMUX_TMPDIR", self.root.join("tmp"));
        let ran = command.stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8(ran.stdout).unwrap();
        assert!(!told.contains("sk-never-shown"), "{told}");
        (ran.status.code().unwrap(), serde_json::from_str(&told).unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.deck.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The team is led by a session of ours that does not run.
    fn rest(&self) {
        self.write(&format!("quarterdeck/sessions/{SESSION}/events.jsonl"), "");
        self.patch(&self.deck.config(), |team| {
            team["leadSessionId"] = json!(SESSION);
            let members = team["members"].as_array_mut().unwrap();
            members.iter_mut().skip(1).for_each(|member| member["isActive"] = json!(false));
        });
    }

    fn patch(&self, path: &Path, change: impl FnOnce(&mut Value)) {
        let mut value: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        change(&mut value);
        fs::write(path, serde_json::to_string_pretty(&value).unwrap()).unwrap();
    }
}

fn long_ago(path: &Path) {
    let then = SystemTime::now() - Duration::from_secs(3 * 24 * 60 * 60);
    File::open(path).unwrap().set_modified(then).unwrap();
}

/// Every file with its text and time, but for the log and what git keeps for itself.
fn everything(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        if path.ends_with(".git") || path.ends_with("state") {
            continue;
        }
        if about.is_dir() {
            found.extend(everything(&path));
        } else {
            found.insert(path.clone(), (fs::read(&path).unwrap(), about.modified().unwrap()));
        }
    }
    found
}

/// What is wrong, by the words of it.
fn problems(told: &Value) -> Vec<String> {
    let wrong = |check: &&Value| check["state"] == "problem";
    let checks = told["checks"].as_array().unwrap().iter().filter(wrong);
    checks.map(|check| check["what"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_healthy_home_is_left_alone() {
    let ward = Ward::new();
    ward.rest();
    let before = everything(&ward.deck.home());
    let (code, told) = ward.doctor(&["--fix", "--yes"]);
    assert_eq!(problems(&told), [] as [&str; 0]);
    assert_eq!((code, &told["left"]), (0, &json!(0)));
    assert!(everything(&ward.deck.home()) == before, "something was changed");
    let areas: Vec<&str> =
        told["checks"].as_array().unwrap().iter().map(|c| c["area"].as_str().unwrap()).collect();
    for area in ["terminal", "programs", "model", "settings", "worktrees", "home", "teams"] {
        assert!(areas.contains(&area), "{areas:?}");
    }
}

/// Breaks something; the words that tell of it, and whether putting it right is asked about.
type Plant = (&'static str, fn(&Ward), bool);

const PLANTS: &[Plant] = &[
    (
        "tasks/t/7.json is broken",
        |ward| {
            ward.write("tasks/t/7.json", "{\"id\": \"7\",");
        },
        false,
    ),
    (
        "inboxes/bob.json is broken",
        |ward| {
            let inbox = ward.deck.inbox("bob");
            let text = fs::read_to_string(&inbox).unwrap();
            fs::write(
                &inbox,
                format!("{},\n  {{\"from\": \"x", text.trim_end_matches([']', '\n'])),
            )
            .unwrap();
        },
        false,
    ),
    (
        "state.json is broken",
        |ward| {
            ward.write(&format!("quarterdeck/sessions/{SESSION}/state.json"), "{{");
        },
        false,
    ),
    (
        "inboxes/eve.json.lock is a lock that nobody holds",
        |ward| {
            let lock = ward.deck.inbox("eve").with_extension("json.lock");
            fs::create_dir_all(&lock).unwrap();
            long_ago(&lock);
        },
        false,
    ),
    (
        "teams/ghost has no roster",
        |ward| {
            ward.write("teams/ghost/inboxes/x.json", "[]");
        },
        true,
    ),
    (
        "tasks/ghosts holds the tasks of a team that no longer exists",
        |ward| {
            ward.write("tasks/ghosts/1.json", "{\"id\": \"1\", \"subject\": \"s\"}");
        },
        true,
    ),
    (
        "eve@t is marked as working",
        |ward| {
            ward.patch(&ward.deck.config(), |team| team["members"][2]["isActive"] = json!(true));
        },
        false,
    ),
    (
        "task #2 of `t` is in progress, but has no owner",
        |ward| {
            ward.write(
                "tasks/t/2.json",
                "{\"id\": \"2\", \"subject\": \"s\", \"status\": \"in_progress\"}",
            );
        },
        false,
    ),
    (
        "zoe is gone, but still owns task #3",
        |ward| {
            ward.write("tasks/t/3.json", "{\"id\": \"3\", \"subject\": \"s\", \"owner\": \"zoe\", \"status\": \"in_progress\"}");
        },
        false,
    ),
    (
        "worktrees/left is left over, without changes",
        |ward| {
            ward.git(&[
                "worktree",
                "add",
                "--quiet",
                "-b",
                "worktree-left",
                ".claude/worktrees/left",
            ]);
        },
        false,
    ),
    (
        ".config.json.tmp was never finished",
        |ward| {
            long_ago(&ward.write("teams/t/.config.json.tmp", "{"));
        },
        false,
    ),
    (
        "quarterdeck-demo-old is left over from a rehearsal",
        |ward| {
            let dir = ward.root.join("tmp/quarterdeck-demo-old");
            fs::create_dir_all(dir.join("stock")).unwrap();
            long_ago(&dir);
        },
        true,
    ),
    (
        "team `lost` worked in",
        |ward| {
            ward.deck.run(&["team", "create", "lost", "--cwd", "/nowhere/at/all"]).ok();
            let config = ward.deck.home().join("teams/lost/config.json");
            ward.patch(&config, |team| team["leadSessionId"] = json!(SESSION));
        },
        true,
    ),
    // The last: making a team clears such a thing away.
    (
        ".gone.deleted-1000 is left over from `gone`",
        |ward| {
            ward.write("teams/.gone.deleted-1000/config.json", "{}");
        },
        true,
    ),
];

#[test]
fn each_planted_problem_is_found_and_put_right() {
    for (words, plant, asks) in PLANTS {
        let ward = Ward::new();
        ward.rest();
        plant(&ward);
        let before = everything(&ward.root);
        let (code, told) = ward.doctor(&[]);
        let found = problems(&told);
        assert!(found.len() == 1 && found[0].contains(words), "{words}: {found:#?}");
        assert_eq!(code, 1, "{words}");
        assert!(everything(&ward.root) == before, "{words}: looking changes nothing");
        if *asks {
            let (code, _) = ward.doctor(&["--fix"]);
            assert_eq!(code, 1, "{words}: nobody said yes");
            assert!(everything(&ward.root) == before, "{words}: so nothing is gone");
        }
        let args: &[&str] = if *asks { &["--fix", "--yes"] } else { &["--fix"] };
        let (code, told) = ward.doctor(args);
        assert_eq!((code, &told["left"]), (0, &json!(0)), "{words}: {told:#}");
        let (code, told) = ward.doctor(&[]);
        assert_eq!((code, problems(&told)), (0, Vec::new()), "{words}");
    }
}

#[test]
fn all_of_them_at_once_and_what_was_whole_is_still_there() {
    let ward = Ward::new();
    ward.rest();
    PLANTS.iter().for_each(|(_, plant, _)| plant(&ward));
    let (_, told) = ward.doctor(&[]);
    assert_eq!(problems(&told).len(), PLANTS.len(), "{told:#}");
    let (code, told) = ward.doctor(&["--fix", "--yes"]);
    assert_eq!((code, &told["left"]), (0, &json!(0)), "{told:#}");
    let mail = ward.deck.run(&["inbox", "t", "bob", "--json"]).ok().json();
    assert_eq!(mail.as_array().unwrap().last().unwrap()["text"], "hello");
    let task = ward.deck.run(&["task", "show", "t", "1", "--json"]).ok().json();
    assert_eq!((&task["owner"], &task["status"]), (&json!("bob"), &json!("in_progress")));
    for id in ["2", "3"] {
        let task = ward.deck.run(&["task", "show", "t", id, "--json"]).ok().json();
        assert_eq!((&task["owner"], &task["status"]), (&Value::Null, &json!("pending")), "{id}");
    }
    let aside: Vec<PathBuf> = everything(&ward.deck.home())
        .into_keys()
        .filter(|path| path.to_string_lossy().contains(".broken-"))
        .collect();
    assert_eq!(aside.len(), 3, "a broken file is kept beside: {aside:?}");
}

#[test]
fn a_worktree_with_work_in_it_stays() {
    let ward = Ward::new();
    ward.git(&["worktree", "add", "--quiet", "-b", "worktree-kept", ".claude/worktrees/kept"]);
    let work = ward.repo().join(".claude/worktrees/kept/new");
    fs::write(&work, "work").unwrap();
    let (code, told) = ward.doctor(&["--fix", "--yes"]);
    assert_eq!((code, problems(&told)), (0, Vec::new()));
    assert!(told.to_string().contains("holds work"), "{told:#}");
    assert!(work.exists());
}

/// A server of tmux for one test, which ends with it.
struct Tmux<'a>(&'a Ward);

impl Tmux<'_> {
    fn run(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-f", "/dev/null"]).args(args).env_remove("TMUX");
        let ran = command.env("TMUX_TMPDIR", self.0.root.join("tmp")).output().unwrap();
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }

    /// A new pane with this command; its id.
    fn pane(&self, command: &str) -> String {
        self.run(&["new-session", "-d", "-P", "-F", "#{pane_id}", command])
    }

    fn panes(&self) -> Vec<String> {
        let listed = self.run(&["list-panes", "-a", "-F", "#{pane_id}"]);
        listed.lines().map(str::to_owned).collect()
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn a_pane_that_a_member_left_open_is_closed_on_request_and_no_other() {
    if Command::new("tmux").arg("-V").output().is_err() {
        return say("left out: needs tmux");
    }
    let ward = Ward::new();
    ward.rest();
    let tmux = Tmux(&ward);
    let ours = tmux.pane("sleep 1000; : --agent-id eve@t");
    let other = tmux.pane("sleep 1000");
    // Ids are given again after a restart of tmux: bob's is somebody else's by now.
    ward.patch(&ward.deck.config(), |team| {
        let members = team["members"].as_array_mut().unwrap();
        for member in members {
            match member["name"].as_str() {
                Some("eve") => member["tmuxPaneId"] = json!(ours),
                Some("bob") => member["tmuxPaneId"] = json!(other),
                Some(_) | None => {}
            }
        }
    });
    let (code, told) = ward.doctor(&[]);
    let found = format!("pane {ours} of eve@t is still open");
    assert_eq!((code, problems(&told)), (1, vec![found]));
    // Somebody may still want to read what is in it.
    ward.doctor(&["--fix"]);
    assert_eq!(tmux.panes(), [ours.clone(), other.clone()]);
    let (code, told) = ward.doctor(&["--fix", "--yes"]);
    assert_eq!(code, 0, "{told:#}");
    assert_eq!(tmux.panes(), [other]);
}
