//! Text that is shown, with a bound: what an agent or a tool says can be of any size.

/// The most that one cell shows.
pub const LONGEST: usize = 64 * 1024;

/// The end of a text that may have been longer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    text: String,
    /// Bytes that stood before.
    dropped: usize,
}

impl Words {
    pub fn new(text: &str) -> Self {
        let mut words = Self::default();
        words.push(text);
        words
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn dropped(&self) -> usize {
        self.dropped
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Adds to the end. Where it becomes too much, the beginning goes: whole lines if it can be,
    /// and more than is needed, so that it does not have to go again with the next word.
    pub fn push(&mut self, more: &str) {
        if self.text.len() + more.len() <= LONGEST {
            self.text.push_str(more);
            return;
        }
        let keep = LONGEST / 4 * 3;
        let all = self.dropped + self.text.len() + more.len();
        let end = end_of(more, keep);
        let before = end_of(&self.text, keep - end.len());
        let mut text = format!("{before}{end}");
        let near = text.get(..text.floor_char_boundary(LONGEST / 4)).unwrap_or_default();
        if let Some(line) = near.find('\n') {
            text.drain(..=line);
        }
        self.dropped = all - text.len();
        self.text = text;
    }
}

fn end_of(text: &str, most: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(most));
    text.get(from..).unwrap_or_default()
}

/// A field that belongs on a line or two: names, summaries, reasons.
pub fn brief(text: &str) -> String {
    const LONGEST_FIELD: usize = 2 * 1024;
    match text.len() <= LONGEST_FIELD {
        true => text.to_owned(),
        false => {
            format!("{}…", text.get(..text.floor_char_boundary(LONGEST_FIELD)).unwrap_or_default())
        }
    }
}

/// The beginning of a text, for what says most at its beginning.
pub fn beginning(text: &str) -> String {
    match text.len() <= LONGEST {
        true => text.to_owned(),
        false => {
            let begin = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default();
            format!("{begin}\n… {} more bytes", text.len() - begin.len())
        }
    }
}
