//! Text made safe, measured, wrapped, and the colours of commands.

use quarterdeck::console::text::sanitize::{exact, one_line, printable};
use quarterdeck::console::text::width::{cut, cut_start, fit, width};
use quarterdeck::console::text::wrap::{wrap, wrap_after};
use quarterdeck::console::text::{ansi, wrap as wrapping};
use quarterdeck::console::view::theme::Theme;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::support::plain;

#[test]
fn nothing_that_a_terminal_obeys_gets_through() {
    let cases = [
        ("plain é 漢 😀", "plain é 漢 😀"),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\b", "ab"),
        ("a\x1bPq#1\x1b\\b", "ab"),
        ("a\u{9d}0;title\u{9c}b", "ab"),
        ("a\r\nb\x08c\x00d\x7fe", "a\nbcde"),
        ("a\u{9b}2Jb", "ab"),
        ("rm \u{202e}txt", "rm <U+202E>txt"),
        ("zero\u{200b}width", "zero<U+200B>width"),
        ("tab\tstop\n", "tab    stop\n"),
        ("cut\x1b", "cut"),
        ("cut\x1b[3", "cut"),
        ("a\x1b(Bb\x1b7c", "abc"),
        ("torn \x1b[12\nnext", "torn \nnext"),
        ("open \x1b]0;for ever\nnext", "open \nnext"),
        ("tag\u{e0041}soft\u{ad}", "tag<U+E0041>soft<U+00AD>"),
        ("a\u{200d}b", "a<U+200D>b"),
        ("👩\u{200d}👧!", "👩👧!"),
        ("👩\u{200d}rm", "👩<U+200D>rm"),
        ("⚠\u{fe0f} x\u{fe0f}", "⚠\u{fe0f} x<U+FE0F>"),
        ("filler\u{3164}", "filler<U+3164>"),
    ];
    for (raw, clean) in cases {
        assert_eq!(printable(raw), clean, "{raw:?}");
    }
    assert_eq!(one_line("a\x1b]x\nb\n"), "a⏎b");
}

#[test]
fn a_letter_wears_as_many_marks_as_letters_do_and_no_more() {
    let flood = format!("a{}b", "\u{301}".repeat(100_000));
    let clean = printable(&flood);
    assert_eq!(clean.chars().count(), 2 + 8, "eight marks, and both letters");
    assert_eq!(width(&clean), 2);
}

#[test]
fn what_would_run_is_shown_with_everything_in_it() {
    let cases = [
        ("ls -l", "ls -l"),
        ("echo a\rrm -r b", "echo a<U+000D>rm -r b"),
        ("x\x1b[8mhidden", "x<U+001B>[8mhidden"),
        ("tab\there\nnext", "tab<U+0009>here\nnext"),
        ("👩\u{200d}👧", "👩<U+200D>👧"),
        ("a\u{202e}b", "a<U+202E>b"),
    ];
    for (raw, shown) in cases {
        assert_eq!(exact(raw), shown, "{raw:?}");
    }
}

#[test]
fn columns_are_counted_and_cut_as_they_are_drawn() {
    let cases = [("abc", 3), ("漢字", 4), ("e\u{301}", 1), ("👍🏽", 2), ("", 0), ("⚠\u{fe0f}", 2)];
    for (text, columns) in cases {
        assert_eq!(width(text), columns, "{text:?}");
    }
    assert_eq!(cut("hello", 5), "hello");
    assert_eq!(cut("hello!", 5), "hell…");
    assert_eq!(cut("漢字漢", 5), "漢字…");
    assert_eq!(cut("漢字漢", 4), "漢…", "half a letter is not shown");
    assert_eq!(cut("hello", 1), "…");
    assert_eq!(cut("hello", 0), "");
    assert_eq!(cut_start("/a/long/path.rs", 8), "…path.rs");
    assert_eq!(fit("漢", 4), "漢  ");
    assert_eq!(fit("hello", 4), "hel…");
    let line = "x".repeat(10_000_000);
    assert_eq!(cut(&line, 4), "xxx…", "a huge line costs no more than what is shown of it");
}

#[test]
fn lines_break_at_blanks_where_they_can() {
    let rows = |text: &str, most| plain(&wrap(&Line::raw(text.to_owned()), most));
    assert_eq!(rows("the quick brown fox", 10), "the quick\nbrown fox");
    assert_eq!(rows("the quick", 9), "the quick");
    assert_eq!(rows("averylongwordindeed ok", 8), "averylon\ngwordind\need ok");
    assert_eq!(rows("see averylongword", 8), "see\naverylon\ngword");
    assert_eq!(rows("  indented text here", 12), "  indented\n  text here");
    assert_eq!(rows("漢字漢字漢字", 5), "漢字\n漢字\n漢字");
    assert_eq!(rows("漢", 1), "", "nothing can show it");
    assert_eq!(rows("", 5), "");
    assert_eq!(rows("a  b", 80), "a  b", "blanks inside stay");
    let hung = wrap_after(&Line::raw("name: words that go on"), 14, 2);
    assert_eq!(plain(&hung), "name: words\n  that go on");
}

#[test]
fn styles_survive_a_break_and_a_word_of_two_styles_stays_whole() {
    let (red, bold) = (Style::new().fg(Color::Red), Style::new().add_modifier(Modifier::BOLD));
    let line = Line::from(vec![Span::styled("one tw", red), Span::styled("o three", bold)]);
    let rows = wrap(&line, 6);
    assert_eq!(plain(&rows), "one\ntwo\nthree");
    assert_eq!(rows[1].spans, vec![Span::styled("tw", red), Span::styled("o", bold)]);
}

#[test]
fn every_row_fits_whatever_the_line_holds() {
    let pieces = ["word", " ", "漢字", "👩", "e\u{301}", "-", "supercalifragilistic", "  ", "🇩🇪"];
    let mut seed = 7_usize;
    for most in 1..40 {
        for _ in 0..20 {
            let mut text = String::new();
            for _ in 0..30 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push_str(pieces[(seed >> 33) % pieces.len()]);
            }
            let bars = [Span::raw("│ ")];
            let rows = wrapping::wrap_with(&Line::raw(text.clone()), most, &bars, &bars);
            for row in &rows {
                assert!(row.width() <= most, "{most} columns for {row:?} of {text:?}");
            }
            let letters = |text: &str| text.replace([' ', '│', '\n'], "");
            if most > 3 {
                assert_eq!(letters(&plain(&rows)), letters(&text), "nothing gets lost");
            }
        }
    }
}

#[test]
fn commands_keep_their_colours_and_nothing_else() {
    let theme = Theme::named("dark").unwrap();
    let output = "\x1b[1;31mfail\x1b[0m ok\x1b[2J\n\x1b[38;5;208mfar\x1b[39m \x1b[48;2;1;2;3mrgb\x1b[m\nplain";
    let lines = ansi::lines(output, &theme);
    assert_eq!(plain(&lines), "fail ok\nfar rgb\nplain");
    let bold_red = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
    assert_eq!(lines[0].spans, vec![Span::styled("fail", bold_red), Span::raw(" ok")]);
    assert_eq!(lines[1].spans[0].style.fg, Some(Color::Indexed(208)));
    assert_eq!(lines[1].spans[2].style.bg, Some(Color::Rgb(1, 2, 3)));
    let none = Theme::named("plain").unwrap();
    let styles = ansi::lines(output, &none).into_iter().flat_map(|line| line.spans);
    assert!(styles.map(|span| span.style).all(|style| style == Style::new()), "NO_COLOR");
}

#[test]
fn a_progress_bar_shows_its_last_state() {
    let theme = Theme::named("dark").unwrap();
    assert_eq!(plain(&ansi::lines(" 10%\r 50%\r100%\ndone\r\n", &theme)), "100%\ndone");
    assert_eq!(plain(&ansi::lines("half\r", &theme)), "half", "until something replaces it");
}
