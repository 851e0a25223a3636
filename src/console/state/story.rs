//! A rehearsal on the console: what it ends with, and what comes then.

/// The story that a playbook tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// Words of the lead that nobody says before the story is told.
    pub last_words: String,
    /// What the composer suggests then; Enter sends it.
    pub offer: String,
    /// The console is left when the story is told.
    pub leave: bool,
    pub stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Playing,
    /// The lead says the last words.
    Ending,
    Told,
}
