//! The key table: no key twice, nothing out of reach, and the person's own file on top.

use std::collections::HashMap;

use quarterdeck::console::keys::{Action, Chord, Context, Keymap, table};

#[test]
fn no_key_means_two_things_in_one_place() {
    let mut seen: HashMap<(Context, Chord), Action> = HashMap::new();
    for row in table::rows() {
        assert!(!row.help.is_empty());
        for key in row.keys.split(' ') {
            let chord = Chord::parse(key).expect("a key");
            let before = seen.insert((row.context, chord), row.action);
            assert_eq!(before, None, "{key} in {}", row.context.name());
        }
    }
}

#[test]
fn the_inner_context_wins() {
    let keymap = Keymap::default();
    let tab = Chord::parse("<tab>").unwrap();
    let stack = [Context::Ask, Context::Everywhere];
    assert_eq!(keymap.resolve(&stack, tab), Some((Context::Ask, Action::DenyWithWords)));
    let stack = [Context::Composer, Context::Everywhere];
    assert_eq!(keymap.resolve(&stack, tab), Some((Context::Everywhere, Action::NextPanel)));
}

#[test]
fn every_chord_of_everywhere_is_also_behind_the_prefix() {
    let behind: Vec<Action> =
        table::rows().filter(|row| row.context == Context::Prefix).map(|row| row.action).collect();
    for row in table::rows().filter(|row| row.context == Context::Everywhere) {
        let is_itself = row.action == Action::Prefix;
        assert!(is_itself || behind.contains(&row.action), "{}", row.action.name());
    }
}

#[test]
fn a_key_file_replaces_keys_and_its_mistakes_name_their_lines() {
    let keymap = Keymap::with_file("keys.toml", "[everywhere]\nzoom = [\"<f5>\", \"<A-z>\"]\n");
    let keymap = keymap.expect("a key file");
    let resolve = |key: &str| {
        keymap.resolve(&[Context::Everywhere], Chord::parse(key).unwrap()).map(|(_, action)| action)
    };
    assert_eq!(resolve("<f5>"), Some(Action::Zoom));
    assert_eq!(resolve("<C-o>"), None, "the old one is gone");
    for (text, words) in [
        ("[everywhere]\nzoom = \"<f5>\"\nshow-tasks = \"<f5>\"\n", "lines 2 and 3"),
        ("[everywhere]\nzoom = \"<C-t>\"\n", "line 2: `<C-t>` already means `show-tasks`"),
        (
            "[everywhere]\nzom = \"<f5>\"\n",
            "line 2: there is no action `zom`; did you mean `zoom`?",
        ),
        ("[nowhere]\nzoom = \"<f5>\"\n", "line 1: there is no section `[nowhere]`"),
        ("[pane]\nup = \"<X-a>\"\n", "line 2: `<X-a>` is not a key"),
        ("[pane\n", "keys.toml: "),
    ] {
        let error = Keymap::with_file("keys.toml", text).expect_err(text).to_string();
        assert!(error.contains(words) && error.starts_with("keys.toml"), "{error}");
    }
    let swap = "[everywhere]\nzoom = \"<C-t>\"\nshow-tasks = \"<C-o>\"\n";
    assert!(Keymap::with_file("keys.toml", swap).is_ok(), "two keys may change places");
}
