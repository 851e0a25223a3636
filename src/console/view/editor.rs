//! Text that is being written, as rows of a width with the place of the cursor.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::console::state::editor::Editor;
use crate::console::text::width::width;

/// Text broken into rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Laid {
    pub rows: Vec<String>,
    /// Row and column of the cursor.
    pub cursor: (usize, usize),
}

/// Breaks the text at this width; at a blank where there is one.
pub fn laid(editor: &Editor, most: usize) -> Laid {
    let most = most.max(2);
    let (line_at, character_at) = editor.cursor();
    let mut rows = Vec::new();
    let mut cursor = (0, 0);
    for (index, line) in editor.lines().iter().enumerate() {
        let mut seen = 0;
        let broken = broken(line, most);
        let last = broken.len().saturating_sub(1);
        for (at, row) in broken.iter().enumerate() {
            let characters = row.chars().count();
            let is_here = index == line_at && character_at >= seen;
            if is_here && (character_at < seen + characters || at == last) {
                let before: String = row.chars().take(character_at - seen).collect();
                cursor = (rows.len(), width(&before));
            }
            seen += characters;
            rows.push(row.clone());
        }
        // A cursor behind the last cell of a full row stands at the beginning of the next.
        if index == line_at && cursor.1 >= most {
            rows.push(String::new());
            cursor = (rows.len() - 1, 0);
        }
    }
    Laid { rows, cursor }
}

fn broken(line: &str, most: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let (mut row, mut columns) = (String::new(), 0);
    for word in line.split_word_bounds() {
        let wide = width(word);
        if columns + wide > most && columns > 0 && wide <= most && !word.trim().is_empty() {
            rows.push(std::mem::take(&mut row));
            columns = 0;
        }
        for part in word.graphemes(true) {
            let wide = width(part);
            if columns + wide > most && columns > 0 {
                rows.push(std::mem::take(&mut row));
                columns = 0;
            }
            row.push_str(part);
            columns += wide;
        }
    }
    rows.push(row);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_breaks_at_words_and_the_cursor_goes_along() {
        let editor = Editor::with_text("one two three\nfour");
        let laid = laid(&editor, 8);
        assert_eq!(laid.rows, ["one two ", "three", "four"]);
        assert_eq!(laid.cursor, (2, 4));
        let mut editor = Editor::with_text("abcdefgh");
        assert_eq!(super::laid(&editor, 4).rows, ["abcd", "efgh", ""]);
        assert_eq!(super::laid(&editor, 4).cursor, (2, 0));
        editor.home();
        assert_eq!(super::laid(&editor, 4).cursor, (0, 0));
    }
}
