//! Whether a quiet command waits for somebody to type something, which nobody will.
//!
//! The evidence: a process that sleeps in the reading of a terminal, or was stopped for trying to
//! from the background, or a last line that looks like a question. A process that reads a pipe
//! is no evidence: every `a | b` has one.

use super::tree::{Tree, waits_for_terminal};

const QUESTIONS: [&str; 8] = [
    "[y/n]",
    "(y/n)",
    "[yes/no]",
    "(yes/no)",
    "(y/n/q)",
    "press enter",
    "press any key",
    "password:",
];

pub(super) fn waits(tree: &Tree, open_line: &str) -> bool {
    is_question(open_line)
        || tree.living().iter().any(|one| one.stopped || waits_for_terminal(one.pid))
}

/// A line without an end that asks for something.
fn is_question(line: &str) -> bool {
    let line = line.trim_end().to_lowercase();
    line.ends_with(['?', ':', '>']) || QUESTIONS.iter().any(|words| line.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_look_like_questions() {
        for line in ["Password: ", "Overwrite? ", "Go on? [y/N] ", "Proceed (Y/n)", "mysql> "] {
            assert!(is_question(line), "{line}");
        }
        for line in ["", "Compiling x v1.0", "listening on 127.0.0.1:8080", "50 % done"] {
            assert!(!is_question(line), "{line}");
        }
    }
}
