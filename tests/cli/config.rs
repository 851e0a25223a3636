//! Settings from the command line, and what is made from the command line's own texts.

use std::fs;
use std::process::Stdio;

use crate::support::deck::{Deck, Ran};

/// Runs with a configuration of its own.
fn run(deck: &Deck, args: &[&str], editor: Option<&str>) -> Ran {
    let root = deck.home().parent().unwrap().to_owned();
    let mut command = deck.command(args);
    command.env("XDG_CONFIG_HOME", root.join("config")).env("HOME", &root);
    command.env_remove("VISUAL").env_remove("EDITOR").env_remove("QUARTERDECK_MODEL");
    command.envs(editor.map(|editor| ("EDITOR", editor)));
    let ran = command.stdin(Stdio::null()).output().unwrap();
    Ran {
        code: ran.status.code().unwrap(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
}

#[test]
fn settings_are_shown_with_the_file_that_says_them() {
    let deck = Deck::new();
    let root = deck.home().parent().unwrap().to_owned();
    fs::create_dir_all(root.join("config/quarterdeck")).unwrap();
    fs::create_dir_all(root.join(".quarterdeck")).unwrap();
    let own = root.join("config/quarterdeck/settings.json");
    fs::write(&own, r#"{"model": "opus", "compactAt": 0.5}"#).unwrap();
    let local = root.join(".quarterdeck/settings.local.json");
    fs::write(&local, "{\n  \"model\": \"haiku\",\n  \"stalledAfer\": 3\n}").unwrap();
    let ran = run(&deck, &["config", "show", "--json"], None).ok();
    let all = ran.json();
    let of = |name: &str| {
        let found = all.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
        (found["value"].clone(), found["from"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(of("model"), ("haiku".into(), local.display().to_string()));
    assert_eq!(of("compactAt"), (0.5.into(), own.display().to_string()));
    assert_eq!(of("shutdownAfter"), (serde_json::Value::Null, String::new()));
    let slip = ":3:3: unknown setting `stalledAfer` (did you mean `stalledAfter`?)";
    assert!(ran.stderr.contains(&format!("{}{slip}", local.display())), "{}", ran.stderr);
    let shown = run(&deck, &["config", "show"], None).ok().stdout;
    assert!(shown.contains("shutdownAfter") && shown.contains("60"), "{shown}");
    let files = run(&deck, &["config", "path"], None).ok().stdout;
    assert!(files.contains(&format!("✔  {}", own.display())), "{files}");
}

#[test]
fn a_wrong_value_is_named_with_file_and_line() {
    let deck = Deck::new();
    let root = deck.home().parent().unwrap().to_owned();
    fs::create_dir_all(root.join(".quarterdeck")).unwrap();
    let file = root.join(".quarterdeck/settings.json");
    for (text, words) in [
        ("{\n  \"compactAt\": 7\n}", "`compactAt` must be between 0.1 and 1 at line 2"),
        ("{\n\n  \"model\": 7\n}", "line 3"),
        ("{\n  \"model\": \"opus\",,\n}", "line 2"),
    ] {
        fs::write(&file, text).unwrap();
        let ran = run(&deck, &["config", "show"], None);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("settings.json: ") && ran.stderr.contains(words), "{ran:?}");
    }
}

#[test]
fn editing_makes_the_file_and_checks_it() {
    let deck = Deck::new();
    let file = deck.home().parent().unwrap().join("config/quarterdeck/settings.json");
    let none = run(&deck, &["config", "edit"], None);
    assert_eq!(none.code, 1, "{none:?}");
    assert!(none.stderr.contains("set $EDITOR"), "{none:?}");
    let good = run(&deck, &["config", "edit"], Some("true"));
    assert!(good.ok().stdout.contains("is valid"));
    assert!(file.is_file());
    let script = deck.home().parent().unwrap().join("spoil");
    fs::write(&script, "echo '{\"compactAt\": 9}' > \"$1\"").unwrap();
    let spoil = format!("sh {}", script.display());
    let bad = run(&deck, &["config", "edit"], Some(&spoil));
    assert_eq!(bad.code, 2, "{bad:?}");
    assert!(bad.stderr.contains("compactAt"), "{bad:?}");
}

#[test]
fn completions_and_manual_are_made_from_the_help() {
    let deck = Deck::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&deck, &["completions", shell], None).ok().stdout;
        assert!(script.contains("quarterdeck") && script.contains("doctor"), "{shell}");
    }
    let page = run(&deck, &["man"], None).ok().stdout;
    assert!(page.contains(".TH") && page.contains("quarterdeck"), "{page}");
    let dir = deck.home().parent().unwrap().join("man1");
    run(&deck, &["man", "--dir", dir.to_str().unwrap()], None).ok();
    for name in ["quarterdeck.1", "quarterdeck-doctor.1", "quarterdeck-task-add.1"] {
        assert!(dir.join(name).is_file(), "{name}");
    }
}
