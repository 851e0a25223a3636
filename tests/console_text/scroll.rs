//! Where the person looks: following, going up, coming back, searching, choosing.

use serde_json::json;

use super::support::Story;

/// A story of so many cells, each with its number and three lines.
fn long(cells: usize) -> Story {
    let mut story = Story::new();
    for at in 0..cells {
        story.said(&format!("cell {at} begins\n\nwith words in the middle of it\n\nand it ends"));
    }
    story
}

fn first_line(picture: &str) -> &str {
    picture.lines().next().unwrap_or_default()
}

#[test]
fn the_end_is_followed_until_somebody_goes_up() {
    let mut story = long(20);
    assert!(story.picture(60, 10).ends_with("and it ends"));
    story.said("news");
    assert!(story.picture(60, 10).ends_with("news"));
    assert!(story.scroll.is_following());
    story.scroll.up(1, &story.transcript);
    let before = story.picture(60, 10);
    assert!(!before.contains("news") && !story.scroll.is_following());
    for at in 0..12 {
        story.said(&format!("later {at}"));
    }
    let after = story.picture(60, 10);
    assert_eq!(before.lines().next(), after.lines().next(), "the place is kept");
    assert!(after.contains("12 new below ↓"), "{after}");
    story.scroll.bottom();
    assert!(story.picture(60, 10).ends_with("later 11"));
    assert_eq!(story.scroll.new_below(&story.transcript), 0);
}

#[test]
fn going_down_to_the_end_follows_again() {
    let mut story = long(20);
    story.picture(60, 10);
    story.scroll.page_up(&story.transcript);
    story.picture(60, 10);
    assert!(!story.scroll.is_following());
    story.scroll.page_down(&story.transcript);
    story.picture(60, 10);
    assert!(story.scroll.is_following());
    story.said("news");
    assert!(story.picture(60, 10).ends_with("news"));
}

#[test]
fn pages_up_and_down_show_every_row_once() {
    let mut story = long(30);
    let all = {
        story.scroll.top(&story.transcript);
        story.picture(60, 400)
    };
    story.scroll.bottom();
    let mut pages = vec![story.picture(60, 11)];
    loop {
        story.scroll.up(11, &story.transcript);
        let page = story.picture(60, 11);
        if page == pages[pages.len() - 1] {
            break;
        }
        pages.push(page);
    }
    assert!(first_line(&pages[pages.len() - 1]).contains("cell 0 begins"));
    for line in all.lines().filter(|line| line.contains("begins")) {
        assert!(pages.iter().any(|page| page.contains(line)), "{line} was never shown");
    }
}

#[test]
fn up_and_down_by_rows_come_back_to_the_same_picture() {
    let mut story = long(30);
    story.picture(60, 10);
    story.scroll.up(40, &story.transcript);
    let before = story.picture(60, 10);
    for rows in [1, 3, 17] {
        story.scroll.up(rows, &story.transcript);
        story.picture(60, 10);
        story.scroll.down(rows, &story.transcript);
        assert_eq!(story.picture(60, 10), before);
    }
}

#[test]
fn a_resize_keeps_what_the_person_reads() {
    let mut story = long(200);
    story.picture(100, 20);
    story.scroll.up(300, &story.transcript);
    let before = story.picture(100, 20);
    let cell = story.seen().top;
    for width in [30, 140, 61, 18, 100] {
        story.picture(width, 20);
        assert_eq!(story.seen().top, cell, "at {width} columns");
    }
    assert_eq!(story.picture(100, 20), before);
}

#[test]
fn a_long_cell_keeps_its_place_over_a_resize() {
    let mut story = Story::new();
    let words: Vec<String> = (0..2_000).map(|at| format!("word{at}")).collect();
    story.said(&words.join(" "));
    story.picture(100, 20);
    story.scroll.up(80, &story.transcript);
    let number = |picture: &str| {
        let word = first_line(picture).split_whitespace().next().unwrap().to_owned();
        word.trim_start_matches("word").parse::<i64>().unwrap()
    };
    let before = number(&story.picture(100, 20));
    let narrow = number(&story.picture(50, 20));
    assert!((before - narrow).abs() < 60, "{before} and {narrow} of 2000");
}

#[test]
fn the_beginning_is_one_step_away() {
    let mut story = long(5_000);
    story.picture(80, 24);
    story.scroll.top(&story.transcript);
    assert!(first_line(&story.picture(80, 24)).contains("cell 0 begins"));
    assert!(!story.scroll.is_following());
}

#[test]
fn only_what_is_shown_is_laid_out() {
    for cells in [100, 2_000, 19_000] {
        let mut story = long(cells);
        story.picture(200, 60);
        assert!(story.cache.kept_rows() < 100, "{} rows of {cells} cells", story.cache.kept_rows());
        story.scroll.top(&story.transcript);
        story.picture(200, 60);
        assert!(story.cache.kept_rows() < 200, "{} rows of {cells} cells", story.cache.kept_rows());
        story.picture(90, 60);
        assert!(story.cache.kept_rows() < 300, "a resize lays out what is shown");
    }
}

#[test]
fn memory_is_bounded_however_long_it_goes_on() {
    let mut story = Story::new();
    for at in 0..30_000 {
        story.json(json!({"kind": "notice", "level": "info", "text": format!("notice {at}")}));
    }
    assert!(story.transcript.len() <= 20_000);
    assert!(story.picture(60, 10).ends_with("notice 29999"));
    story.scroll.top(&story.transcript);
    let picture = story.picture(60, 10);
    assert!(first_line(&picture).contains("earlier entries are in the journal"), "{picture}");
    let big = "z".repeat(60_000);
    for _ in 0..1_000 {
        story.said(&big);
    }
    let bytes: usize = story.transcript.cells().map(|cell| cell.text().len()).sum();
    assert!(bytes <= 17 * 1024 * 1024, "{bytes} bytes");
}

#[test]
fn a_search_goes_from_find_to_find_and_round() {
    let mut story = long(500);
    story.said("the needle is here");
    story.said("and one more Needle");
    story.picture(60, 12);
    assert!(story.scroll.search("cell 77 ", &mut story.transcript));
    let picture = story.picture(60, 12);
    assert!(picture.contains("cell 77 begins"), "{picture}");
    assert!(story.scroll.search("needle", &mut story.transcript), "small letters find all");
    assert!(story.picture(60, 12).contains("more Needle"));
    let newest = story.scroll.selected;
    assert!(story.scroll.find_previous(&mut story.transcript));
    assert_ne!(story.scroll.selected, newest);
    assert!(story.scroll.find_previous(&mut story.transcript), "round again");
    assert_eq!(story.scroll.selected, newest);
    assert!(story.scroll.find_next(&mut story.transcript));
    assert_ne!(story.scroll.selected, newest);
    assert!(story.scroll.search("Needle", &mut story.transcript));
    assert_eq!(story.scroll.selected, newest, "capital letters find themselves");
    assert!(!story.scroll.search("nowhere", &mut story.transcript));
}

#[test]
fn finds_are_marked_where_they_stand() {
    let mut story = Story::new();
    story.said("漢字 then needle and needle");
    story.scroll.search("needle", &mut story.transcript);
    let buffer = story.draw(60, 3);
    let marked: String = buffer
        .content
        .iter()
        .filter(|cell| cell.bg == story.theme.found_here.bg.unwrap())
        .map(ratatui::buffer::Cell::symbol)
        .collect();
    assert_eq!(marked, "needleneedle");
}

#[test]
fn a_search_opens_what_hides_its_find() {
    let mut story = long(3);
    story.wants("t1", "Bash", json!({"command": "cargo test"}));
    story.runs("t1", "Bash", "cargo test", json!({"command": "cargo test"}));
    story.json(json!({"kind": "toolOutput", "useId": "t1", "text": "one\ntreasure\nthree\n"}));
    story.ended("t1", false, "3 lines", json!({}));
    assert!(!story.picture(60, 20).contains("treasure"));
    assert!(story.scroll.search("treasure", &mut story.transcript));
    assert!(story.picture(60, 20).contains("treasure"));
}

#[test]
fn cells_are_chosen_one_after_the_other_and_come_into_view() {
    let mut story = long(30);
    story.picture(60, 12);
    let mut seen = Vec::new();
    for _ in 0..30 {
        story.scroll.select_previous(&story.transcript);
        let picture = story.picture(60, 12);
        let cell = story.scroll.chosen(&story.transcript).unwrap().text();
        assert!(picture.contains(cell.lines().next().unwrap()), "{cell} in\n{picture}");
        seen.push(story.scroll.selected.unwrap());
    }
    assert_eq!(seen.len(), 30);
    assert!(seen.windows(2).all(|pair| pair[0] > pair[1]), "each once, upwards");
    for _ in 0..30 {
        story.scroll.select_next(&story.transcript);
        story.picture(60, 12);
    }
    assert!(story.scroll.is_following(), "behind the last cell is the end");
}

#[test]
fn a_cell_higher_than_the_screen_is_read_before_the_next_is_chosen() {
    let mut story = Story::new();
    let lines: Vec<String> = (0..40).map(|at| format!("- row {at}")).collect();
    story.said("before").said(&lines.join("\n")).said("after");
    story.picture(60, 12);
    for _ in 0..3 {
        story.scroll.select_previous(&story.transcript);
        story.picture(60, 12);
    }
    let mut seen = String::new();
    while story.scroll.selected.is_some() {
        seen.push_str(&story.picture(60, 12));
        story.scroll.select_next(&story.transcript);
    }
    for at in 0..40 {
        assert!(seen.contains(&format!("row {at}")), "row {at} was skipped");
    }
}
