//! Changes as lines.

use quarterdeck::console::text::diff::{self, Row, Sign};
use quarterdeck::console::text::highlight::Pens;
use quarterdeck::console::view::theme::Theme;

use super::support::plain;

const PATCH: &str = "--- src.py
+++ src.py
@@ -7,3 +7,4 @@
 def total(price, n):
-    total = round(price) * n
+    total = round(price * n, 2)
+    check(total)
     return total
@@ -120,2 +121,1 @@
 last
-gone
\\ No newline at end of file
";

fn shown(diff: &diff::Diff, width: usize) -> String {
    plain(&diff::lines(diff, width, &Theme::named("dark").unwrap(), &Pens::never()))
}

#[test]
fn a_patch_has_the_numbers_of_the_file() {
    let diff = diff::of_patch(PATCH);
    assert_eq!((diff.added, diff.removed), (2, 2));
    assert_eq!(
        shown(&diff, 50),
        "  7   def total(price, n):\n  8 -     total = round(price) * n\n  8 +     total = round(price * n, 2)\n  \
         9 +     check(total)\n 10       return total\n  …\n121   last\n121 - gone"
    );
}

#[test]
fn what_differs_within_a_line_stands_out() {
    let diff = diff::of_edit("a = round(price) * n\n", "a = round(price * n, 2)\n", &[1]);
    let rows = &diff.hunks[0].rows;
    let marked = |row: &Row| {
        let parts = row.parts.iter().filter(|(marked, _)| *marked);
        parts.map(|(_, text)| text.as_str()).collect::<String>()
    };
    assert_eq!((rows[0].sign, rows[1].sign), (Sign::Removed, Sign::Added));
    assert!(marked(&rows[1]).contains(", 2"), "{rows:?}");
    assert!(!marked(&rows[1]).contains("round"), "{rows:?}");
    let theme = Theme::named("dark").unwrap();
    let lines = diff::lines(&diff, 60, &theme, &Pens::never());
    let styles: Vec<_> = lines[1].spans.iter().map(|span| span.style).collect();
    assert!(styles.contains(&theme.added) && styles.contains(&theme.added_mark), "{styles:?}");
    assert_eq!(lines[1].width(), 60, "its ground goes to the edge");
}

#[test]
fn far_apart_changes_have_a_gap_between_them() {
    let old: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    let new = old.replace("line 5\n", "line five\n").replace("line 35\n", "");
    let diff = diff::of_edit(&old, &new, &[1]);
    assert_eq!(diff.hunks.len(), 2);
    let text = shown(&diff, 40);
    assert!(text.contains("  5 - line 5\n  5 + line five"), "{text}");
    assert!(text.contains("  …\n") && text.contains(" 35 - line 35"), "{text}");
    assert!(!text.contains("line 20"), "{text}");
}

#[test]
fn an_edit_is_numbered_by_where_it_stands_in_its_file() {
    let edit = |at: &[usize]| diff::of_edit("keep\nold\n", "keep\nnew\nmore\n", at);
    assert_eq!(shown(&edit(&[41]), 40), " 41   keep\n 42 - old\n 42 + new\n 43 + more");
    // In several places, each further down by what those above it add.
    let twice = edit(&[9, 1200]);
    assert_eq!((twice.added, twice.removed), (4, 2));
    assert_eq!(
        shown(&twice, 40),
        "   9   keep\n  10 - old\n  10 + new\n  11 + more\n   …\n1201   keep\n1201 - old\n1202 + \
         new\n1203 + more"
    );
    assert_eq!(shown(&edit(&[]), 40), "  keep\n- old\n+ new\n+ more", "a number nobody knows");
}

#[test]
fn a_change_in_very_many_places_says_that_there_are_more() {
    let places: Vec<usize> = (1..=101).collect();
    let text = shown(&diff::of_edit("a", "b", &places), 60);
    assert!(text.contains("100 - a") && !text.contains("101 - a"), "{text}");
    assert!(text.ends_with("the same in other places"), "{text}");
    assert!(!shown(&diff::of_edit("a", "b", &places[..100]), 60).contains("more places"));
}

#[test]
fn code_keeps_its_colours_in_a_change() {
    let theme = Theme::named("dark").unwrap();
    let diff = diff::of_edit("let x = 1;\n", "let x = \"one\";\n", &[1]).in_file("/demo/main.rs");
    let lines = diff::lines(&diff, 60, &theme, &Pens::at_once());
    let word = lines[1].spans.iter().find(|span| span.content.contains("let")).unwrap();
    assert_eq!(word.style, theme.added.patch(theme.syntax.keyword), "{lines:?}");
    assert_eq!(plain(&lines), "  1 - let x = 1;\n  1 + let x = \"one\";");
}

#[test]
fn a_change_fits_every_width() {
    let diff = diff::of_patch(PATCH).in_file("src.py");
    for width in 1..60 {
        for line in diff::lines(&diff, width, &Theme::named("dark").unwrap(), &Pens::never()) {
            assert!(line.width() <= width, "{width}: {line:?}");
        }
    }
}

#[test]
fn what_is_no_patch_is_no_change_and_a_note_is_kept() {
    assert!(diff::of_patch("not a patch\n-x").is_empty());
    let long = "@@ -1,1 +1,1 @@\n-a\n+b\n… the diff continues\n";
    let diff = diff::of_patch(long);
    assert_eq!(diff.note.as_deref(), Some("… the diff continues"));
    let empty = diff::of_edit("same\n", "same\n", &[7]);
    assert!(empty.is_empty());
}
