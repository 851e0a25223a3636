//! What the person said before, oldest first: walked with the arrows, searched with `Ctrl+R`.

/// More than these are not kept in memory, nor on disk.
pub const KEPT: usize = 2_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    said: Vec<String>,
    /// Where the walk is, and the draft it started from.
    walk: Option<(usize, String)>,
}

impl History {
    /// What earlier sessions said goes before what this one said.
    pub fn load(&mut self, earlier: Vec<String>) {
        let now = std::mem::replace(&mut self.said, earlier);
        self.said.extend(now);
        self.trim();
    }

    /// Adds a line, unless it is the last one again. Whether it was added.
    pub fn push(&mut self, text: &str) -> bool {
        self.walk = None;
        if text.trim().is_empty() || self.said.last().is_some_and(|last| last == text) {
            return false;
        }
        self.said.push(text.to_owned());
        self.trim();
        true
    }

    fn trim(&mut self) {
        let over = self.said.len().saturating_sub(KEPT);
        self.said.drain(..over);
    }

    /// The line before the one that is shown; `draft` is kept for the way back.
    pub fn older(&mut self, draft: &str) -> Option<String> {
        let at = match &self.walk {
            Some((at, _)) => at.checked_sub(1)?,
            None => self.said.len().checked_sub(1)?,
        };
        let kept = self.walk.take().map_or_else(|| draft.to_owned(), |(_, kept)| kept);
        self.walk = Some((at, kept));
        self.said.get(at).cloned()
    }

    /// The line after the one that is shown, at last the draft.
    pub fn newer(&mut self) -> Option<String> {
        let (at, kept) = self.walk.take()?;
        match self.said.get(at + 1) {
            Some(text) => {
                self.walk = Some((at + 1, kept));
                Some(text.clone())
            }
            None => Some(kept),
        }
    }

    /// Typing ends the walk.
    pub fn leave(&mut self) {
        self.walk = None;
    }

    pub fn is_walking(&self) -> bool {
        self.walk.is_some()
    }

    /// Lines that hold these words, the newest first, none twice.
    pub fn matches(&self, wanted: &str) -> Vec<&str> {
        let wanted = wanted.to_lowercase();
        let mut found: Vec<&str> = Vec::new();
        for text in self.said.iter().rev() {
            if text.to_lowercase().contains(&wanted) && !found.contains(&text.as_str()) {
                found.push(text);
            }
            if found.len() >= 100 {
                break;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walking_back_and_forth_returns_to_the_draft() {
        let mut history = History::default();
        history.load(vec!["one".into()]);
        assert!(history.push("two") && !history.push("two") && !history.push("  "));
        assert_eq!(history.older("half").as_deref(), Some("two"));
        assert_eq!(history.older("two").as_deref(), Some("one"));
        assert_eq!(history.older("one"), None, "there is nothing older");
        assert_eq!(history.newer().as_deref(), Some("two"));
        assert_eq!(history.newer().as_deref(), Some("half"));
        assert_eq!(history.newer(), None);
        assert_eq!(history.matches("O"), ["two", "one"]);
    }
}
