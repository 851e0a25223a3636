//! Random texts and random edits: the outcome is that of plain replacement, and what is not
//! replaced stays as it is.

use proptest::prelude::*;
use serde_json::json;

use super::files_read::{ok, rig};
use crate::support::soak;

/// A text, a passage out of it, and what to put in its place.
fn edits() -> impl Strategy<Value = (String, String, String, bool)> {
    let text =
        prop::collection::vec(prop::sample::select(vec!["a", "b", "ä", " ", "\n", "\t"]), 1..40);
    (text, any::<prop::sample::Index>(), 1usize..6, "[abü\n]{0,6}", any::<bool>()).prop_map(
        |(text, from, length, new, all)| {
            let from = from.index(text.len());
            let old = text[from..text.len().min(from + length)].concat();
            (text.concat(), old, new, all)
        },
    )
}

fn times(text: &str, old: &str) -> usize {
    (0..text.len()).filter(|at| text.is_char_boundary(*at) && text[*at..].starts_with(old)).count()
}

#[test]
fn an_edit_is_plain_replacement() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rig = rig();
    let ends = prop::sample::select(vec!["\n", "\r\n"]);
    let marks = prop::sample::select(vec!["", "\u{FEFF}"]);
    let config = ProptestConfig::with_cases(if soak() { 2_000 } else { 100 });
    proptest!(config, |(edit in edits(), end in ends, mark in marks)| {
        let (text, old, new, all) = edit;
        prop_assume!(old != new);
        let raw = format!("{mark}{}", text.replace('\n', end));
        rig.write("a.txt", &raw);
        let output = runtime.block_on(async {
            ok(&rig.call("Read", json!({ "file_path": "a.txt" })).await);
            let input = json!({
                "file_path": "a.txt", "old_string": old, "new_string": new, "replace_all": all,
            });
            rig.call("Edit", input).await
        });
        let unique = times(&text, &old) == 1;
        prop_assert_eq!(output.failed, !all && !unique, "{:?}", output);
        let want = if output.failed { text } else { text.replace(&old, &new) };
        // A text without any line end of its own gets plain ones.
        let end = if raw.contains('\n') { end } else { "\n" };
        prop_assert_eq!(rig.read("a.txt"), format!("{mark}{}", want.replace('\n', end)));
        if !output.failed {
            let (added, removed) = (&output.data["added"], &output.data["removed"]);
            prop_assert!(added.as_u64().is_some() && removed.as_u64().is_some());
        }
    });
}

#[test]
fn lines_that_an_edit_does_not_touch_keep_their_ends() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rig = rig();
    let ends = prop::collection::vec(prop::sample::select(vec!["\n", "\r\n"]), 3..12);
    let config = ProptestConfig::with_cases(if soak() { 1_000 } else { 40 });
    proptest!(config, |(ends in ends, at in any::<prop::sample::Index>())| {
        let at = at.index(ends.len());
        let line = |number: usize| format!("line {number};");
        let raw: String = ends.iter().enumerate().map(|(n, end)| format!("{}{end}", line(n))).collect();
        rig.write("a.txt", &raw);
        runtime.block_on(async {
            ok(&rig.call("Read", json!({ "file_path": "a.txt" })).await);
            // With its neighbours as context, as models do.
            let old: Vec<String> =
                (at.saturating_sub(1)..ends.len().min(at + 2)).map(line).collect();
            let old = old.join("\n");
            let new = old.replace(&line(at), "changed");
            let input = json!({ "file_path": "a.txt", "old_string": old, "new_string": new });
            ok(&rig.call("Edit", input).await);
        });
        prop_assert_eq!(rig.read("a.txt"), raw.replacen(&line(at), "changed", 1));
    });
}
