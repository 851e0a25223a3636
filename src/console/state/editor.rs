//! Text that is being written: the composer's, and that of dialogs which ask for words.
//!
//! The text area does the editing; nothing of it is seen outside. What is put in is made
//! harmless here, so that a paste can never reach the terminal raw.

use tui_textarea::{CursorMove, TextArea};

use crate::console::text::sanitize::printable;

#[derive(Debug, Clone)]
pub struct Editor {
    area: TextArea<'static>,
}

impl Default for Editor {
    fn default() -> Self {
        Self::holding(vec![String::new()])
    }
}

impl PartialEq for Editor {
    fn eq(&self, other: &Self) -> bool {
        self.lines() == other.lines() && self.cursor() == other.cursor()
    }
}

impl Editor {
    fn holding(lines: Vec<String>) -> Self {
        let mut area = TextArea::new(lines);
        area.set_max_histories(200);
        area.move_cursor(CursorMove::Bottom);
        area.move_cursor(CursorMove::End);
        Self { area }
    }

    /// With this text, the cursor behind it.
    pub fn with_text(text: &str) -> Self {
        let text = harmless(text);
        Self::holding(text.split('\n').map(str::to_owned).collect())
    }

    pub fn set_text(&mut self, text: &str) {
        *self = Self::with_text(text);
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Takes the text out and leaves nothing.
    pub fn take_text(&mut self) -> String {
        let text = self.text();
        self.clear();
        text
    }

    pub fn lines(&self) -> &[String] {
        self.area.lines()
    }

    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Line and character of the cursor, counted from nought.
    pub fn cursor(&self) -> (usize, usize) {
        let at = self.area.cursor();
        (at.0, at.1)
    }

    /// The text before the cursor in its line.
    pub fn before_cursor(&self) -> &str {
        let (row, column) = self.cursor();
        let Some(line) = self.lines().get(row) else { return "" };
        let end = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
        &line[..end]
    }

    pub fn is_at_first_line(&self) -> bool {
        self.cursor().0 == 0
    }

    pub fn is_at_last_line(&self) -> bool {
        self.cursor().0 + 1 >= self.lines().len()
    }

    pub fn insert_char(&mut self, c: char) {
        match c {
            '\n' | '\r' => self.newline(),
            c => {
                self.area.insert_str(harmless(c.encode_utf8(&mut [0; 4])));
            }
        }
    }

    pub fn insert_str(&mut self, text: &str) {
        self.area.insert_str(harmless(text));
    }

    pub fn newline(&mut self) {
        self.area.insert_newline();
    }

    pub fn backspace(&mut self) {
        self.area.delete_char();
    }

    /// Deletes so many characters before the cursor.
    pub fn delete_before(&mut self, characters: usize) {
        for _ in 0..characters {
            self.area.delete_char();
        }
    }

    pub fn delete(&mut self) {
        self.area.delete_next_char();
    }

    pub fn delete_word(&mut self) {
        self.area.delete_word();
    }

    pub fn delete_next_word(&mut self) {
        self.area.delete_next_word();
    }

    pub fn delete_to_start(&mut self) {
        self.area.delete_line_by_head();
    }

    pub fn delete_to_end(&mut self) {
        self.area.delete_line_by_end();
    }

    pub fn left(&mut self) {
        self.area.move_cursor(CursorMove::Back);
    }

    pub fn right(&mut self) {
        self.area.move_cursor(CursorMove::Forward);
    }

    pub fn up(&mut self) {
        self.area.move_cursor(CursorMove::Up);
    }

    pub fn down(&mut self) {
        self.area.move_cursor(CursorMove::Down);
    }

    pub fn word_left(&mut self) {
        self.area.move_cursor(CursorMove::WordBack);
    }

    pub fn word_right(&mut self) {
        self.area.move_cursor(CursorMove::WordForward);
    }

    pub fn home(&mut self) {
        self.area.move_cursor(CursorMove::Head);
    }

    pub fn end(&mut self) {
        self.area.move_cursor(CursorMove::End);
    }

    /// To a line and character, as near as there is one.
    pub fn jump(&mut self, row: usize, column: usize) {
        let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        self.area.move_cursor(CursorMove::Jump(short(row), short(column)));
    }

    pub fn undo(&mut self) {
        self.area.undo();
    }

    pub fn redo(&mut self) {
        self.area.redo();
    }
}

/// Line ends as `\n`, and nothing that a terminal would obey.
fn harmless(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    printable(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_in_and_out_and_is_harmless() {
        let mut editor = Editor::with_text("one\ntwo");
        assert_eq!(editor.cursor(), (1, 3));
        editor.insert_str("\r\nthree\x1b[31m");
        assert_eq!(editor.text(), "one\ntwo\nthree");
        editor.undo();
        assert_eq!(editor.text(), "one\ntwo");
        editor.up();
        editor.home();
        editor.insert_char('X');
        assert_eq!(editor.take_text(), "Xone\ntwo");
        assert!(editor.is_empty());
    }
}
