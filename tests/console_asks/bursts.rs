//! Random typing never answers unless the rules say so.

use proptest::prelude::*;
use quarterdeck::protocol::ask::Verdict;

use super::story::{Story, bash};

/// One press: the key, and how long after the one before.
fn presses() -> impl Strategy<Value = Vec<(char, i64)>> {
    let keys = prop::sample::select("yn12w3aeo*dhxq Z".chars().collect::<Vec<_>>());
    prop::collection::vec((keys, prop_oneof![1..149_i64, 150..400_i64, 900..2_000_i64]), 1..30)
}

fn is_quick(presses: &[(char, i64)]) -> bool {
    presses.iter().rev().skip(1).all(|(_, after)| *after < 150)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("QUARTERDECK_SOAK").is_some() { 5_000 } else { 200 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Keys that follow each other within 150 ms are typing, all of them, whenever they begin.
    #[test]
    fn a_burst_is_text(mut keys in prop::collection::vec((any::<u8>(), 1..149_i64), 2..20), begin in 0..3_000_i64) {
        let letters = "yn123waeo*dhxq".as_bytes();
        let mut story = Story::new();
        story.asked(bash("a1", "fixer", "ls")).wait(begin);
        let mut typed = String::new();
        for (number, after) in &mut keys {
            let letter = char::from(letters[usize::from(*number) % letters.len()]);
            story.press(&letter.to_string());
            typed.push(letter);
            story.wait(*after);
        }
        story.wait(5_000);
        prop_assert_eq!(story.answers(), vec![]);
        prop_assert_eq!(story.draft(), typed, "nothing of it is lost");
    }

    /// Whatever is typed, an answer needs a letter that means one, that was pressed 300 ms after
    /// the dialog appeared, and that stood alone for 150 ms.
    #[test]
    fn only_a_lone_letter_on_a_page_that_was_seen_answers(keys in presses(), begin in 0..1_500_i64) {
        let mut story = Story::new();
        story.asked(bash("a1", "fixer", "ls")).asked(bash("a2", "scout", "pwd")).wait(begin);
        for (number, (key, after)) in keys.iter().enumerate() {
            // What the page was when the key came.
            let seen = story.asks().dialog.as_ref().is_some_and(|dialog| dialog.is_seen(story.state.now));
            story.press(&key.to_string().replace(' ', "<space>"));
            let alone = keys.get(number + 1).is_none_or(|_| *after >= 150);
            story.wait(*after);
            let answers = story.answers();
            if !answers.is_empty() {
                prop_assert!(seen, "{key} came too early");
                prop_assert!(alone, "{key} was part of a burst");
                prop_assert_eq!(answers.len(), 1);
                let wanted = match &answers[0].1 {
                    Verdict::Allow { grant: None, .. } => "y1",
                    Verdict::Allow { grant: Some(_), .. } => "ay",
                    Verdict::Deny { .. } => "n3",
                    other @ (Verdict::Chose { .. }
                    | Verdict::Answered { .. }
                    | Verdict::Withdrawn { .. }) => panic!("{other:?}"),
                };
                prop_assert!(wanted.contains(*key), "{key} gave {answers:?}");
            }
        }
        if is_quick(&keys) && keys.len() > 1 {
            prop_assert_eq!(story.asks().len(), 2);
        }
    }
}
