//! The definitions that the program brings along: files as people write them, embedded.

use super::Source;
use super::file::{Read, read_file_text};

const FILES: &[&str] = &[
    include_str!("../../../assets/prompts/agents/bash.md"),
    include_str!("../../../assets/prompts/agents/explore.md"),
    include_str!("../../../assets/prompts/agents/general-purpose.md"),
    include_str!("../../../assets/prompts/agents/guide.md"),
    include_str!("../../../assets/prompts/agents/plan.md"),
    include_str!("../../../assets/prompts/agents/verification.md"),
];

pub fn all() -> impl Iterator<Item = Read> {
    FILES.iter().map(|text| read_file_text(text, &Source::Builtin))
}
