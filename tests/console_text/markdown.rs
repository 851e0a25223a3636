//! Markdown as lines.

use quarterdeck::console::text::highlight::Pens;
use quarterdeck::console::text::markdown;
use quarterdeck::console::view::theme::Theme;
use ratatui::style::Modifier;

use super::support::plain;

const PAGE: &str = "# The plan
I will *look* at **all** of `src/stock.py`; see [the docs](https://docs.example.com/r) or <https://x.example>.

1. first item that is long enough to be wrapped over the edge
   - nested one
   - nested two
2. second

   with a paragraph
3. [x] done

> quoted words that
> go on

| file | finds | what is to be done about it |
|---|--:|---|
| src/stock.py | 3 | round once, at the end, with two places |
| src/report.py | 12 | nothing |

```rust
fn main() {
    let x: u32 = 12; // why
}
```

---
The end, with ~~no~~ <b>tags</b>.";

fn shown(source: &str, width: usize) -> String {
    plain(&markdown::lines(source, width, &Theme::named("dark").unwrap(), &Pens::at_once()))
}

#[test]
fn a_page_at_forty_columns() {
    insta::assert_snapshot!("markdown.page.40", shown(PAGE, 40));
}

#[test]
fn a_page_at_a_hundred_columns() {
    insta::assert_snapshot!("markdown.page.100", shown(PAGE, 100));
}

#[test]
fn no_row_is_wider_than_the_page_and_no_word_gets_lost() {
    let theme = Theme::named("dark").unwrap();
    let words: Vec<&str> =
        PAGE.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 4).collect();
    for width in 1..120 {
        let lines = markdown::lines(PAGE, width, &theme, &Pens::never());
        for line in &lines {
            assert!(line.width() <= width, "{width} columns: {line:?}");
        }
        // Narrower columns of a table have to tear words.
        if width > 40 {
            let all = plain(&lines);
            for word in &words {
                assert!(all.contains(word), "{word} is missing at {width} columns:\n{all}");
            }
        }
    }
}

#[test]
fn any_beginning_of_a_page_can_be_shown() {
    let theme = Theme::named("dark").unwrap();
    for end in (0..PAGE.len()).filter(|end| PAGE.is_char_boundary(*end)) {
        let lines = markdown::lines(&PAGE[..end], 60, &theme, &Pens::never());
        let last = PAGE[..end].split_whitespace().next_back().unwrap_or_default();
        let is_word = last.len() > 1 && last.chars().all(char::is_alphanumeric);
        assert!(!is_word || plain(&lines).contains(last), "{last} of {:?}", &PAGE[..end]);
    }
}

#[test]
fn a_fence_that_is_still_open_is_code() {
    let lines = markdown::lines(
        "so:\n```rust\nfn main() {",
        40,
        &Theme::named("dark").unwrap(),
        &Pens::at_once(),
    );
    assert_eq!(plain(&lines), "so:\n\n│ fn main() {");
    let theme = Theme::named("dark").unwrap();
    let word = lines[2].spans.iter().find(|span| span.content == "fn").unwrap();
    assert_eq!(word.style, theme.syntax.keyword);
}

#[test]
fn words_look_as_they_are_meant() {
    let theme = Theme::named("dark").unwrap();
    let source = "**bold** *slanted* `code` ~~gone~~ [words](http://x)";
    let lines = markdown::lines(source, 80, &theme, &Pens::never());
    let style = |word: &str| {
        lines[0]
            .spans
            .iter()
            .find(|span| span.content == word)
            .unwrap_or_else(|| panic!("{word}"))
            .style
    };
    assert_eq!(style("bold"), theme.strong);
    assert!(style("slanted").add_modifier.contains(Modifier::ITALIC));
    assert_eq!(style("code"), theme.code);
    assert!(style("gone").add_modifier.contains(Modifier::CROSSED_OUT));
    assert_eq!(style("words"), theme.link);
    assert_eq!(style(" (http://x)"), theme.faint);
}

#[test]
fn a_table_that_has_no_room_becomes_records() {
    let table = "| name | age | town | job |\n|---|---|---|---|\n| Ada | 36 | London | counts |";
    assert_eq!(shown(table, 20), "name: Ada\nage: 36\ntown: London\njob: counts");
}

#[test]
fn nesting_without_end_is_shown_all_the_same() {
    let deep = format!("{}deep", "> ".repeat(500));
    assert!(shown(&deep, 60).contains("deep"));
    let list: String = (0..100).map(|at| format!("{}- {at}\n", "  ".repeat(at))).collect();
    assert!(shown(&list, 60).contains("99"));
}
