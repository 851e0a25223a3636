//! The pictures in `screenshots/`: made from a playbook by `quarterdeck screenshot`, and what the
//! code draws today. `QUARTERDECK_GALLERY=1 cargo test --test pictures gallery` makes them anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

struct Picture {
    name: &'static str,
    size: &'static str,
    theme: &'static str,
    /// What is pressed once the team is at work and three wait for an answer, each with what is
    /// seen behind it.
    steps: &'static [(&'static str, &'static str)],
}

const fn dark(
    name: &'static str,
    size: &'static str,
    steps: &'static [(&'static str, &'static str)],
) -> Picture {
    Picture { name, size, theme: "dark", steps }
}

const PICTURES: &[Picture] = &[
    dark("overview", "160x45", &[]),
    dark("ask-diff", "160x45", &[("<C-y>", "yes, once")]),
    dark(
        "ask-command-scope",
        "120x36",
        &[("<C-y>", "yes, once"), ("<right>", "rm -r build"), ("a", "writes")],
    ),
    dark("ask-question", "140x40", &[("<C-y>", "yes, once"), ("<left>", "as the README promises")]),
    dark("tasks", "140x40", &[("<C-t>c", "critical")]),
    dark("zoom", "120x36", &[("<A-2><C-o>", "waiting for a change")]),
    dark("narrow", "80x24", &[]),
    dark("palette", "120x36", &[("<C-p>", "Answer the oldest ask")]),
    dark("large", "200x60", &[("<A-3>", "to ▌fixer")]),
    Picture { name: "light", size: "160x45", theme: "light", steps: &[] },
    Picture { name: "light-ask", size: "120x36", theme: "light", steps: &[("<C-y>", "yes, once")] },
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Picture {
    fn shoot(&self, output: &Path) {
        let user = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_quarterdeck"));
        command.arg("screenshot").arg("-o").arg(output);
        command.arg("--playbook").arg(root().join("tests/playbooks/gallery.yaml"));
        command.arg("--project").arg(root().join("tests/gallery"));
        command.args(["--size", self.size, "--theme", self.theme, "--patience", "60"]);
        let begin =
            [("find and fix the rounding bugs<ret>", "3 need you"), ("<esc>", "the tests follow")];
        for (keys, until) in begin.iter().chain(self.steps) {
            command.args(["--keys", keys, "--until", until]);
        }
        command.env("HOME", user.path()).env_remove("NO_COLOR").env_remove("QUARTERDECK_HOME");
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}: {}", self.name, String::from_utf8_lossy(&ran.stderr));
    }

    fn file(&self, ending: &str) -> PathBuf {
        root().join("screenshots").join(format!("{}.{ending}", self.name))
    }
}

/// Some at a time: they mostly wait.
fn each(what: impl Fn(&Picture) + Sync) {
    let what = &what;
    for some in PICTURES.chunks(4) {
        thread::scope(|scope| {
            for picture in some {
                scope.spawn(move || what(picture));
            }
        });
    }
}

#[test]
fn the_gallery_shows_what_the_code_draws() {
    if std::env::var_os("QUARTERDECK_GALLERY").is_some() {
        return each(|picture| {
            picture.shoot(&picture.file("txt"));
            picture.shoot(&picture.file("png"));
        });
    }
    let dir = tempfile::tempdir().unwrap();
    each(|picture| {
        let now = dir.path().join(format!("{}.txt", picture.name));
        picture.shoot(&now);
        let now = fs::read_to_string(now).unwrap();
        let kept = fs::read_to_string(picture.file("txt")).unwrap();
        assert!(now == kept, "{} is another now:\n{now}\nIt was:\n{kept}", picture.name);
        let image = fs::metadata(picture.file("png")).unwrap();
        assert!(image.len() > 10_000, "{} has a picture", picture.name);
    });
}

/// Nothing lies there that is not made here, but for the rehearsal, which `tests/readme.rs` knows.
#[test]
fn every_picture_of_the_gallery_is_in_the_table() {
    let found = fs::read_dir(root().join("screenshots")).unwrap();
    for entry in found {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|name| name == "rehearsal") {
            continue;
        }
        let known = PICTURES.iter().any(|one| [one.file("txt"), one.file("png")].contains(&path));
        assert!(known, "{} is not in the table", path.display());
    }
}
