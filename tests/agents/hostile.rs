//! Whatever stands in a file, reading it ends, and without a panic.

use proptest::prelude::*;
use quarterdeck::agent::definition::{Severity, Source, read_file_text, read_json};

/// Every text is a definition, or has an error.
fn check(text: &str) -> Result<(), TestCaseError> {
    let read = read_file_text(text, &Source::Project);
    let wrong = read.problems.iter().any(|problem| problem.severity == Severity::Error);
    prop_assert_eq!(read.definitions.is_empty(), wrong, "{:?}: {:?}", text, read);
    // YAML ends a line at a lone carriage return too.
    let lines = text.matches(['\n', '\r']).count() + 2;
    for problem in &read.problems {
        prop_assert!((1..=lines).contains(&problem.mistake.line), "{:?}: {}", text, problem);
    }
    Ok(())
}

fn line() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "name",
        "description",
        "tools",
        "model",
        "effort",
        "permissionMode",
        "background",
        "isolation",
        "maxTurns",
        "color",
        "memory",
        "mcpServers",
        "hooks",
        "skills",
        "x",
        "- a",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "",
            "*",
            "a",
            "[",
            "]",
            "{",
            "}",
            "[a, b]",
            "{a: b}",
            "'",
            "\"",
            "|",
            ">",
            "&a",
            "*a",
            "!!x",
            "a: b",
            "7",
            "-1",
            "true",
            "~",
            "- b",
            "\t",
            "Agent(a, b",
            "#",
            "---",
            "...",
            "? x",
            "%YAML",
            "@",
            "`",
            "a:",
            ": b",
            "\u{85}",
            "é\u{2028}",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,12}",
    ];
    let indent = prop::sample::select(vec!["", " ", "  ", "\t", "- "]);
    (indent, key, prop::sample::select(vec![": ", ":", " "]), value)
        .prop_map(|(indent, key, colon, value)| format!("{indent}{key}{colon}{value}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if crate::support::soak() { 200_000 } else { 1_500 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_front_matter_is_read(lines in prop::collection::vec(line(), 0..8), end in "(\n---\n.{0,9})?") {
        check(&format!("---\n{}{end}", lines.join("\n")))?;
        check(&format!("---\nname: a\ndescription: d\n{}\n---\n", lines.join("\n")))?;
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        check(&text)?;
        check(&format!("---\n{text}\n---\n"))?;
        read_json(&text);
    }
}

#[test]
fn deep_nesting_is_a_mistake_and_no_overflow() {
    for open in ["[", "{a: ", "- ", "? "] {
        let text = format!("---\nname: {}\n---\n", open.repeat(100_000));
        check(&text).unwrap();
        let text = format!("---\nname:\n  {}\n---\n", open.repeat(100_000));
        check(&text).unwrap();
    }
}
