//! Themes, and which one fits a terminal.

use quarterdeck::console::view::glyphs::Glyphs;
use quarterdeck::console::view::surroundings::{Surroundings, Wish};
use quarterdeck::console::view::theme::{NAMES, Theme};
use ratatui::style::{Color, Modifier};

const BADGES: [&str; 8] = ["blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red"];

fn around(variables: &[(&str, &str)]) -> Surroundings {
    let get = |name: &str| variables.iter().find(|(known, _)| *known == name);
    Surroundings::read(|name| get(name).map(|(_, value)| (*value).to_owned()))
}

#[test]
fn every_theme_can_be_read_and_looks_different() {
    let themes: Vec<Theme> = NAMES.iter().map(|name| Theme::find(name).unwrap()).collect();
    for (at, theme) in themes.iter().enumerate() {
        assert_eq!(theme.name, NAMES[at]);
        let others = themes.iter().skip(at + 1);
        assert!(others.into_iter().all(|other| other.revision != theme.revision));
        let ascii = theme.clone().with_glyphs(Glyphs::ASCII);
        assert_ne!(ascii.revision, theme.revision, "signs count");
    }
}

#[test]
fn badges_can_be_told_apart_in_every_theme_with_colours() {
    for theme in NAMES.iter().map(|name| Theme::named(name).unwrap()) {
        let mut seen: Vec<Option<Color>> =
            BADGES.iter().map(|color| theme.badge(Some(color)).fg).collect();
        seen.dedup();
        let wanted = if theme.has_colours() { BADGES.len() } else { 1 };
        assert_eq!(seen.len(), wanted, "{}", theme.name);
        assert_eq!(theme.badge(None), theme.strong, "the lead has none");
        assert_eq!(theme.badge(Some("mauve")), theme.strong, "nor has an unknown one");
    }
}

#[test]
fn without_colours_there_are_none() {
    let theme = around(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]).theme(&Wish::default());
    let theme = theme.unwrap();
    assert_eq!(theme.name, "plain");
    let styles = [theme.text, theme.bad, theme.added, theme.selection, theme.syntax.string];
    for style in styles.into_iter().chain(BADGES.map(|color| theme.badge(Some(color)))) {
        assert_eq!((style.fg, style.bg), (None, None));
    }
    assert!(theme.selection.add_modifier.contains(Modifier::REVERSED));
}

#[test]
fn the_environment_alone_chooses() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("COLORTERM", "truecolor")], "dark"),
        (&[("COLORTERM", "truecolor"), ("COLORFGBG", "0;15")], "light"),
        (&[("COLORTERM", "24bit"), ("COLORFGBG", "15;default;0")], "dark"),
        (&[("TERM", "xterm-256color")], "sixteen"),
        (&[("TERM", "xterm-kitty")], "dark"),
        (&[("TERM_PROGRAM", "iTerm.app")], "dark"),
        (&[("WT_SESSION", "x")], "dark"),
        (&[("TERM", "dumb"), ("COLORTERM", "truecolor")], "plain"),
        (&[("NO_COLOR", "")], "sixteen"),
        (&[], "sixteen"),
    ];
    for (variables, name) in cases {
        assert_eq!(around(variables).theme_name(), *name, "{variables:?}");
    }
    let wish = Wish { theme: Some("light".to_owned()), ascii: false };
    assert_eq!(around(&[("NO_COLOR", "1")]).theme(&wish).unwrap().name, "light", "asked for");
    let wrong = Wish { theme: Some("neon".to_owned()), ascii: false };
    let error = around(&[]).theme(&wrong).unwrap_err().to_string();
    assert!(error.contains("neon") && error.contains("contrast"), "{error}");
}

#[test]
fn signs_are_those_that_the_terminal_can_show() {
    let ascii = |variables: &[(&str, &str)]| {
        around(variables).theme(&Wish::default()).unwrap().glyphs.is_ascii()
    };
    assert!(ascii(&[("TERM", "linux")]));
    assert!(ascii(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]));
    assert!(!ascii(&[("LANG", "C.UTF-8")]));
    assert!(!ascii(&[]));
    let wish = Wish { theme: None, ascii: true };
    assert!(around(&[]).theme(&wish).unwrap().glyphs.is_ascii());
}

#[test]
fn a_file_with_a_role_that_nobody_knows_is_refused() {
    let error = Theme::parse("mine", "text = \"reset\"\nshiny = \"red\"").unwrap_err();
    assert!(error.to_string().contains("shiny"), "{error}");
    let error = Theme::parse("mine", "text = \"reddish\"").unwrap_err();
    assert!(error.to_string().contains("reddish"), "{error}");
}
