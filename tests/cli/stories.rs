//! Whole sessions at the prompt, as pictures: what was typed, what came back.

use crate::support::deck::Deck;

/// Types commands and keeps a protocol of everything printed, with times and paths made steady.
struct Story {
    deck: Deck,
    told: String,
}

impl Story {
    fn new() -> Self {
        Self { deck: Deck::new(), told: String::new() }
    }

    fn types(mut self, args: &[&str]) -> Self {
        let ran = self.deck.run(args);
        let typed: Vec<String> = args
            .iter()
            .map(|arg| match arg.contains([' ', '*', '{', '#']) || arg.is_empty() {
                true => format!("'{arg}'"),
                false => (*arg).to_owned(),
            })
            .collect();
        self.told += &format!("$ quarterdeck {}\n{}{}", typed.join(" "), ran.stdout, ran.stderr);
        if ran.code != 0 {
            self.told += &format!("[exit {}]\n", ran.code);
        }
        self.told.push('\n');
        self
    }

    fn told(self) -> String {
        let mut told = self.told.replace(&*self.deck.home().to_string_lossy(), "/home");
        for (pattern, steady) in [("2026-", 24), ("20", 24)] {
            told = steady_times(&told, pattern, steady);
        }
        told
    }
}

/// Puts a fixed time in the place of every ISO time.
fn steady_times(text: &str, start: &str, length: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(start) {
        let (before, from) = rest.split_at(at);
        out += before;
        let is_time = from.get(..length).is_some_and(|time| {
            time.ends_with('Z') && time.as_bytes()[10] == b'T' && time.as_bytes()[19] == b'.'
        });
        if is_time {
            out += "2026-01-02T03:04:05.678Z";
            rest = &from[length..];
        } else {
            out += &from[..start.len()];
            rest = &from[start.len()..];
        }
    }
    out + rest
}

#[test]
fn a_team_at_work() {
    let story = Story::new()
        .types(&["team", "create", "inventory", "--description", "Fix the rounding bugs"])
        .types(&["team", "join", "inventory", "scout", "--type", "explore"])
        .types(&["team", "join", "inventory", "fixer", "--prompt", "Fix what scout finds"])
        .types(&["team", "join", "inventory", "fixer"])
        .types(&["task", "add", "inventory", "Map the code", "--active-form", "Mapping"])
        .types(&["task", "add", "inventory", "Fix rounding", "--blocked-by", "1"])
        .types(&["task", "add", "inventory", "Add tests", "--blocked-by", "2"])
        .types(&["task", "add", "inventory", "Write docs", "--blocked-by", "1"])
        .types(&["task", "add", "inventory", "Review", "--blocked-by", "3,4"])
        .types(&["task", "dag", "inventory"])
        .types(&["task", "claim", "inventory", "--as", "scout"])
        .types(&["task", "claim", "inventory", "2", "--as", "fixer"])
        .types(&["task", "update", "inventory", "1", "--status", "completed"])
        .types(&["task", "update", "inventory", "2", "--owner", "fixer"])
        .types(&["task", "list", "inventory"])
        .types(&["task", "list", "inventory", "--ready"])
        .types(&["task", "dag", "inventory"])
        .types(&[
            "send",
            "inventory",
            "fixer",
            "three call sites",
            "--from",
            "scout",
            "--summary",
            "found",
        ])
        .types(&["send", "inventory", "*", "stand-up in five"])
        .types(&["inbox", "inventory", "fixer", "--mark-read"])
        .types(&["inbox", "inventory", "fixer", "--unread"])
        .types(&["team", "list"])
        .types(&["team", "leave", "inventory", "fixer"])
        .types(&["team", "delete", "inventory"])
        .types(&["team", "delete", "inventory", "--force"])
        .types(&["team", "list"]);
    insta::assert_snapshot!("story.a-team-at-work", story.told());
}

#[test]
fn mistakes_say_what_to_do() {
    let story = Story::new()
        .types(&["team", "show", "nobody"])
        .types(&["team", "create", "../etc"])
        .types(&["team", "create", "t"])
        .types(&["team", "create", "T"])
        .types(&["team", "show", "nobody"])
        .types(&["team", "join", "t", "team-lead"])
        .types(&["team", "join", "t", "a.b"])
        .types(&["team", "leave", "t", "team-lead"])
        .types(&["team", "leave", "t", "bob"])
        .types(&["task", "add", "t", "x", "--blocked-by", "7"])
        .types(&["task", "add", "t", "x", "--metadata", "[1]"])
        .types(&["task", "show", "t", "../../etc/passwd"])
        .types(&["task", "add", "t", "one"])
        .types(&["task", "update", "t", "1", "--add-blocks", "1"])
        .types(&["task", "update", "t", "1", "--owner", "bob"])
        .types(&["task", "update", "t", "1", "--status", "done"])
        .types(&["task", "claim", "t", "9", "--as", "team-lead"])
        .types(&["task", "claim", "t", "9", "--as", "team-lead", "--json"])
        .types(&["send", "t", "bob", "hi"])
        .types(&["send", "t", "team-lead", "hi", "--from", "bob"])
        .types(&["send", "t", "team-lead", r#"{"type":"shutdown_approved"}"#])
        .types(&["inbox", "t", "bob"])
        .types(&["team", "crate", "t"]);
    insta::assert_snapshot!("story.mistakes", story.told());
}
