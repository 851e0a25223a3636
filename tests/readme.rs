//! What the README and the package promise: commands that run, tables that agree with the code,
//! files that are there, and notices of all that is bundled.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use quarterdeck::settings::check::KEYS;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// The blocks that are marked as runnable, each with its line.
fn runnable(text: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        if line.trim() == "```sh runnable" {
            let inside = lines.by_ref().map(|(line, _)| line).take_while(|line| *line != "```");
            let block: Vec<&str> = inside.collect();
            blocks.push((number, block.join("\n")));
        }
    }
    blocks
}

#[test]
fn every_runnable_block_runs() {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    };
    let (user, here, tmp) = (place("user"), place("here"), place("tmp"));
    let program = Path::new(env!("CARGO_BIN_EXE_quarterdeck")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let blocks = runnable(&readme());
    assert!(blocks.len() >= 5, "only {} blocks", blocks.len());
    for (line, block) in blocks {
        // One after the other in one place, as a reader would.
        let ran = Command::new("sh")
            .args(["-eu", "-c", &block])
            .current_dir(&here)
            .env_clear()
            .envs([("PATH", path.as_str()), ("LANG", "C.UTF-8"), ("SHELL", "/bin/sh")])
            .envs([("HOME", &user), ("TMPDIR", &tmp)])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let told = format!("{}{}", said(&ran.stdout), said(&ran.stderr));
        assert!(ran.status.success(), "README.md:{line}: {}\n{told}", ran.status);
        if block.contains("task dag") {
            // The drawing below the block is what it prints.
            let drawn: Vec<&str> =
                told.lines().skip_while(|line| !line.contains("#1 Map")).collect();
            assert!(readme().contains(&drawn[..6].join("\n")), "{told}");
        }
    }
}

#[test]
fn the_table_of_settings_is_the_codes() {
    let mut wanted = "| setting | what it is | default |\n| --- | --- | --- |\n".to_owned();
    for key in KEYS {
        writeln!(wanted, "| `{}` | {} | {} |", key.name, key.what, key.usual).unwrap();
    }
    let readme = readme();
    let (_, rest) = readme.split_once("<!-- settings -->\n").expect("the mark is there");
    let (shown, _) = rest.split_once("<!-- end of settings -->").expect("the end is marked");
    assert_eq!(shown, wanted, "put this into README.md:\n{wanted}");
}

#[test]
fn pictures_and_files_that_are_named_are_there() {
    let film = fs::metadata(root().join("screenshots/rehearsal.gif")).unwrap();
    assert!(film.len() <= 5_000_000, "the film has {} bytes", film.len());
    let readme = readme();
    for piece in readme.split("](").skip(1) {
        let target = piece.split(')').next().unwrap();
        assert!(target.contains("://") || root().join(target).exists(), "{target}");
    }
    for name in ["NOTICES.md", ".ci/run", "tests/playbooks", "assets/playbooks/demo.yaml"] {
        assert!(readme.contains(name) && root().join(name).exists(), "{name}");
    }
}

/// `QUARTERDECK_GALLERY=1 cargo test --test readme` makes it anew.
#[test]
fn the_first_screen_of_the_rehearsal_explains_itself() {
    let user = tempfile::tempdir().unwrap();
    let shoot = |output: &Path| {
        let ran = Command::new(env!("CARGO_BIN_EXE_quarterdeck"))
            .args(["screenshot", "--playbook", "demo", "--size", "120x34", "-o"])
            .arg(output)
            .env("HOME", user.path())
            .env_remove("QUARTERDECK_HOME")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    let kept = root().join("screenshots/rehearsal.txt");
    if std::env::var_os("QUARTERDECK_GALLERY").is_some() {
        shoot(&kept);
        shoot(&kept.with_extension("png"));
    }
    let now = user.path().join("now.txt");
    shoot(&now);
    let now = fs::read_to_string(now).unwrap();
    assert!(now == fs::read_to_string(kept).unwrap(), "it is another now:\n{now}");
    for words in
        ["Press Enter", "rehearsal with a scripted model", "ANTHROPIC_API_KEY", "fix the bugs"]
    {
        assert!(now.contains(words), "{words}:\n{now}");
    }
}

#[test]
fn the_package_has_what_it_needs_and_nothing_else() {
    let list = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8(list.stdout).unwrap();
    assert!(list.status.success(), "{}", String::from_utf8_lossy(&list.stderr));
    let files: Vec<&str> = said.lines().collect();
    let needed = [
        "src/main.rs",
        "src/cli/demo.rs",
        "assets/demo-project/.claude/settings.json",
        "assets/demo-project/stock.sh",
        "assets/playbooks/demo.yaml",
        "assets/models.toml",
        "assets/fonts/LICENSE-JetBrainsMono.txt",
        "assets/fonts/LICENSE-DejaVu.txt",
        "LICENSE",
        "NOTICES.md",
        "README.md",
    ];
    for name in needed {
        assert!(files.contains(&name), "{name} is missing:\n{said}");
    }
    let made = ["Cargo.toml", "Cargo.toml.orig", "Cargo.lock", ".cargo_vcs_info.json"];
    let whole = ["LICENSE", "NOTICES.md", "README.md"];
    for name in files {
        let is_wanted = name.starts_with("src/") || name.starts_with("assets/");
        assert!(is_wanted || made.contains(&name) || whole.contains(&name), "what for? {name}");
    }
}

#[test]
fn all_that_is_bundled_is_acknowledged() {
    let mut wanted = "# Notices\n\nQuarterdeck itself is under the MIT license (`LICENSE`). What \
                      is bundled with it has licenses of its own.\n\n## Fonts\n\n"
        .to_owned();
    for font in ["JetBrainsMono", "DejaVu"] {
        let text = fs::read_to_string(root().join(format!("assets/fonts/LICENSE-{font}.txt")));
        let text = text.unwrap();
        writeln!(wanted, "```\n{}\n```\n", text.trim_end()).unwrap();
    }
    wanted += "## Syntax definitions\n\nThey come with the crate two-face, from the collection of \
               the program bat.\n\n";
    let syntaxes = two_face::acknowledgement::listing();
    for license in syntaxes.for_syntaxes() {
        license.write_md(&mut wanted);
    }
    let wanted = wanted.trim_end().to_owned() + "\n";
    let file = root().join("NOTICES.md");
    if std::env::var_os("QUARTERDECK_WRITE_NOTICES").is_some() {
        fs::write(&file, &wanted).unwrap();
    }
    let shown = fs::read_to_string(&file).unwrap_or_default();
    assert!(shown == wanted, "QUARTERDECK_WRITE_NOTICES=1 cargo test --test readme writes it anew");
}
