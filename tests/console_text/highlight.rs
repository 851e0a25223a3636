//! Colours of code, away from the draw path.

use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use quarterdeck::console::text::highlight::Pens;
use quarterdeck::console::view::theme::Theme;
use ratatui::text::Line;

use super::support::plain;

const CODE: &str = "fn main() {\n    let x: u32 = 12; // why\n    println!(\"hi\");\n}\n";
const PATIENCE: Duration = Duration::from_secs(30);

fn pens() -> (Pens, Receiver<()>) {
    let (send, ready) = sync_channel(1000);
    let done = move || {
        // Nobody may listen any more when the worker is done.
        let _ = send.send(());
    };
    (Pens::new(done), ready)
}

fn has_colours(lines: &[Line<'_>], theme: &Theme) -> bool {
    lines.iter().flat_map(|line| &line.spans).any(|span| span.style == theme.syntax.keyword)
}

#[test]
fn code_is_plain_until_the_worker_is_done_and_then_coloured() {
    let theme = Theme::named("dark").unwrap();
    let (pens, ready) = pens();
    let before = pens.code("rust", CODE, &theme);
    assert_eq!((plain(&before), has_colours(&before, &theme)), (CODE.trim_end().to_owned(), false));
    assert_eq!(pens.missed(), 1);
    ready.recv_timeout(PATIENCE).expect("the worker calls when it is done");
    assert_eq!(pens.revision(), 1);
    let after = pens.code("rust", CODE, &theme);
    assert!(has_colours(&after, &theme));
    assert_eq!(plain(&after), plain(&before), "the same letters");
    assert_eq!(pens.missed(), 1, "nothing was missing any more");
}

#[test]
fn code_that_grows_keeps_the_colours_it_has() {
    let theme = Theme::named("dark").unwrap();
    let (pens, ready) = pens();
    pens.code("rust", CODE, &theme);
    ready.recv_timeout(PATIENCE).expect("done");
    let longer = format!("{CODE}fn more() {{}}\n");
    let lines = pens.code("rust", &longer, &theme);
    assert!(has_colours(&lines[..4], &theme), "the old lines at once");
    assert!(!has_colours(&lines[4..], &theme), "the new one later");
    ready.recv_timeout(PATIENCE).expect("done");
    assert!(has_colours(&pens.code("rust", &longer, &theme)[4..], &theme));
}

#[test]
fn every_theme_colours_the_same_code_without_another_reading() {
    let (dark, light) = (Theme::named("dark").unwrap(), Theme::named("light").unwrap());
    let (pens, ready) = pens();
    pens.code("rust", CODE, &dark);
    ready.recv_timeout(PATIENCE).expect("done");
    assert!(has_colours(&pens.code("rust", CODE, &dark), &dark));
    assert!(has_colours(&pens.code("rust", CODE, &light), &light));
}

#[test]
fn many_languages_are_known_and_unknown_ones_stay_plain() {
    let theme = Theme::named("dark").unwrap();
    let pens = Pens::at_once();
    let samples = [
        ("python", "def f(): return 1"),
        ("ts", "const x: number = 1"),
        ("toml", "key = \"value\""),
        ("sh", "if true; then echo hi; fi"),
        ("json", "{\"a\": 1}"),
        ("yaml", "a: 1"),
        ("go", "func main() {}"),
        ("c", "int main(void) { return 0; }"),
    ];
    for (language, code) in samples {
        let lines = pens.code(language, code, &theme);
        assert!(lines[0].spans.len() > 1, "{language}: {lines:?}");
        assert_eq!(plain(&lines), code);
    }
    assert_eq!(pens.code("klingon", "qapla", &theme)[0].spans.len(), 1);
}

#[test]
fn what_is_too_long_is_not_even_asked_for() {
    let theme = Theme::named("dark").unwrap();
    let (pens, _ready) = pens();
    let long = "let x = 1;\n".repeat(10_000);
    let wide = format!("let x = \"{}\";", "y".repeat(10_000));
    pens.code("rust", &long, &theme);
    pens.code("rust", &wide, &theme);
    assert_eq!(pens.missed(), 0);
}

#[test]
fn more_code_than_the_queue_takes_is_coloured_in_the_end() {
    let theme = Theme::named("dark").unwrap();
    let (pens, ready) = pens();
    let codes: Vec<String> = (0..300).map(|at| format!("let x{at} = {at};")).collect();
    let until = std::time::Instant::now() + PATIENCE;
    loop {
        let done =
            codes.iter().filter(|code| has_colours(&pens.code("rust", code, &theme), &theme));
        if done.count() == codes.len() {
            return;
        }
        assert!(std::time::Instant::now() < until, "still not all of them");
        ready.recv_timeout(PATIENCE).expect("something gets done");
    }
}
