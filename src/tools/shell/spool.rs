//! What a command printed: its beginning and its end in memory, all of it in a file once it is
//! too long for a conversation. Memory does not grow with the output.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use crate::store::files;

/// As much as a model gets of one command, in characters.
pub const LONGEST: usize = 30_000;

/// As much of it as is taken from either end.
const HALF: usize = LONGEST / 2;

#[derive(Debug)]
pub(super) struct Spool {
    path: PathBuf,
    decoder: Decoder,
    head: String,
    head_chars: usize,
    /// What comes after the head; cut at its beginning now and then.
    tail: String,
    chars: u64,
    /// All bytes until there is a file.
    early: Vec<u8>,
    file: Kept,
    written: u64,
    limit: u64,
}

#[derive(Debug)]
enum Kept {
    NotYet,
    In(File),
    /// The file is full or cannot be written.
    Stopped(String),
}

impl Spool {
    pub(super) fn new(path: PathBuf, limit: u64) -> Self {
        Self {
            path,
            decoder: Decoder::default(),
            head: String::new(),
            head_chars: 0,
            tail: String::new(),
            chars: 0,
            early: Vec::new(),
            file: Kept::NotYet,
            written: 0,
            limit,
        }
    }

    /// Takes what was printed, and gives it back as text.
    pub(super) fn take(&mut self, bytes: &[u8]) -> String {
        if matches!(self.file, Kept::NotYet) {
            self.early.extend_from_slice(bytes);
        } else {
            self.store(bytes);
        }
        let text = self.decoder.take(bytes);
        self.remember(&text);
        text
    }

    /// Nothing more comes: what stands half decoded is broken.
    pub(super) fn finish(&mut self) -> String {
        let text = self.decoder.finish();
        self.remember(&text);
        text
    }

    fn remember(&mut self, text: &str) {
        let count = text.chars().count();
        self.chars += count as u64;
        let room = HALF - self.head_chars;
        let cut = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
        self.head.push_str(&text[..cut]);
        self.head_chars += count.min(room);
        self.tail.push_str(&text[cut..]);
        // A character has four bytes at most: what is cut here is surely more than HALF back.
        if self.tail.len() > 16 * HALF {
            let keep = last_chars(&self.tail, HALF).to_owned();
            self.tail = keep;
        }
        if self.chars > LONGEST as u64 {
            self.keep();
        }
    }

    /// From now on all of it is in the file.
    pub(super) fn keep(&mut self) {
        if !matches!(self.file, Kept::NotYet) {
            return;
        }
        self.file = match files::create(&self.path) {
            Ok(file) => Kept::In(file),
            Err(error) => Kept::Stopped(format!("it could not be kept: {error}")),
        };
        let early = std::mem::take(&mut self.early);
        self.store(&early);
    }

    fn store(&mut self, bytes: &[u8]) {
        let Kept::In(file) = &mut self.file else { return };
        let room = self.limit.saturating_sub(self.written);
        let fits = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        if let Err(error) = file.write_all(&bytes[..fits]) {
            self.file = Kept::Stopped(format!("the rest could not be kept: {error}"));
            return;
        }
        self.written += fits as u64;
        if fits < bytes.len() {
            let what = format!("only the first {} bytes are kept", self.limit);
            self.file = Kept::Stopped(what);
        }
    }

    /// Where all of it is, if it is in a file.
    pub(super) fn file(&self) -> Option<PathBuf> {
        (self.written > 0 || matches!(self.file, Kept::In(_))).then(|| self.path.clone())
    }

    /// The last line, if it is not complete.
    pub(super) fn open_line(&self) -> &str {
        let text = if self.tail.is_empty() { &self.head } else { &self.tail };
        text.rsplit('\n').next().unwrap_or_default()
    }

    /// What the model gets.
    pub(super) fn text(&self) -> String {
        let tail = last_chars(&self.tail, HALF);
        let cut = self.chars - (self.head_chars + tail.chars().count()) as u64;
        if cut == 0 {
            return format!("{}{tail}", self.head);
        }
        let place = match (&self.file, self.file()) {
            (Kept::Stopped(what), Some(file)) => format!("{}; {what}", file.display()),
            (Kept::Stopped(what), None) => what.clone(),
            (Kept::In(_) | Kept::NotYet, _) => format!("all of it is in {}", self.path.display()),
        };
        format!("{}\n\n[{cut} characters cut here; {place}]\n\n{tail}", self.head)
    }
}

/// The end of a text, so many characters long.
fn last_chars(text: &str, count: usize) -> &str {
    let start = count.checked_sub(1).and_then(|back| text.char_indices().rev().nth(back));
    start.map_or(text, |(at, _)| &text[at..])
}

/// Bytes to text. A character that arrives in two pieces stays whole; what is no text becomes
/// the sign for that.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The beginning of a character.
    begun: Vec<u8>,
}

impl Decoder {
    pub(super) fn take(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        let mut rest = all.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(good) => {
                    text.push_str(good);
                    return text;
                }
                Err(error) => {
                    let (good, bad) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(good));
                    let Some(length) = error.error_len() else {
                        self.begun = bad.to_vec();
                        return text;
                    };
                    text.push('\u{FFFD}');
                    rest = &bad[length..];
                }
            }
        }
    }

    pub(super) fn finish(&mut self) -> String {
        let left = std::mem::take(&mut self.begun);
        String::from_utf8_lossy(&left).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_is_the_same_however_it_is_cut(bytes in any::<Vec<u8>>(), size in 1usize..5) {
            let mut decoder = Decoder::default();
            let mut text: String = bytes.chunks(size).map(|chunk| decoder.take(chunk)).collect();
            text.push_str(&decoder.finish());
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn long_output_keeps_both_ends_and_the_file_has_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.output");
        let mut spool = Spool::new(path.clone(), 1 << 30);
        let all: String = (0..100_000).map(|line| format!("{line} é\n")).collect();
        for chunk in all.as_bytes().chunks(7001) {
            spool.take(chunk);
        }
        let text = spool.text();
        assert!(text.starts_with("0 é\n1 é\n") && text.ends_with("99998 é\n99999 é\n"));
        assert!(text.contains(&format!("all of it is in {}", path.display())), "the path");
        let cut = all.chars().count() - LONGEST;
        assert!(text.contains(&format!("[{cut} characters cut here")), "how much");
        assert_eq!(std::fs::read_to_string(path).unwrap(), all);
    }

    #[test]
    fn short_output_needs_no_file_and_exactly_the_limit_is_not_cut() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(dir.path().join("x.output"), 1 << 30);
        let text = "é".repeat(LONGEST);
        spool.take(text.as_bytes());
        assert_eq!((spool.text(), spool.file()), (text.clone(), None));
        spool.take(b"x");
        assert!(spool.file().is_some());
        assert!(spool.text().contains("[1 characters cut here"));
    }

    #[test]
    fn a_full_file_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.output");
        let mut spool = Spool::new(path.clone(), 40_000);
        for _ in 0..50 {
            spool.take(&[b'x'; 1000]);
        }
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 40_000);
        assert!(spool.text().contains("only the first 40000 bytes are kept"));
    }
}
