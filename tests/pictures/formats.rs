//! One buffer in every format: what must be seen is looked for in the pixels.

use std::path::Path;
use std::time::Duration;

use quarterdeck::console::picture::{self, Format, Look, film::Film};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

const DARK: &Look = &Look::DARK;
const COLUMN: u32 = 18;
const ROW: u32 = 40;
const MARGIN: u32 = 24;

fn buffer(lines: &[&str]) -> Buffer {
    Buffer::with_lines(lines.iter().copied())
}

/// Width, height and RGBA pixels.
fn pixels(buffer: &Buffer) -> (u32, u32, Vec<u8>) {
    let png = picture::png(buffer, DARK).unwrap();
    let decoded = resvg::tiny_skia::Pixmap::decode_png(&png).unwrap();
    (decoded.width(), decoded.height(), decoded.data().to_vec())
}

/// Whether every pixel of a line of them has ink of this strength at least.
fn inked(picture: &(u32, u32, Vec<u8>), places: impl Iterator<Item = (u32, u32)>) -> bool {
    let (width, _, data) = picture;
    places.into_iter().all(|(x, y)| {
        let at = usize::try_from((y * width + x) * 4).unwrap();
        data[at] > 0x80
    })
}

#[test]
fn text_keeps_rows_and_drops_blanks_at_their_ends() {
    let text = picture::text(&buffer(&["┌ 世界 ┐  ", "│ ok   │", ""]));
    assert_eq!(text, "┌ 世界 ┐\n│ ok   │\n\n");
}

#[test]
fn borders_have_no_gaps() {
    let drawn = pixels(&buffer(&["┌──┐", "│  │", "╞══╡", "└──┘"]));
    assert_eq!((drawn.0, drawn.1), (4 * COLUMN + 2 * MARGIN, 4 * ROW + 2 * MARGIN));
    let middle_of_row = MARGIN + ROW / 2;
    let from = MARGIN + COLUMN / 2;
    let across = (from..from + 3 * COLUMN).map(|x| (x, middle_of_row));
    assert!(inked(&drawn, across), "the upper border");
    let down = (middle_of_row..middle_of_row + 3 * ROW).map(|y| (from, y));
    assert!(inked(&drawn, down), "the left border");
}

#[test]
fn blocks_fill_their_cells_to_the_edges() {
    let drawn = pixels(&buffer(&["██", "▌ "]));
    let both =
        (MARGIN..MARGIN + 2 * COLUMN).flat_map(|x| (MARGIN..MARGIN + ROW).map(move |y| (x, y)));
    assert!(inked(&drawn, both), "two full blocks");
    let left = (MARGIN..MARGIN + COLUMN / 2).map(|x| (x, MARGIN + ROW + 1));
    assert!(inked(&drawn, left), "the left half");
    assert!(
        !inked(&drawn, [(MARGIN + COLUMN / 2 + 1, MARGIN + ROW + 1)].into_iter()),
        "not the right"
    );
}

#[test]
fn every_glyph_has_its_own_place_and_blanks_are_never_written() {
    let svg = picture::svg(&buffer(&["a  b<&", "✔ ⏎ é"]), DARK);
    assert!(svg.contains(r#"<text x="12 39 48 57" y="27""#), "{svg}");
    assert!(svg.contains("ab&lt;&amp;</text>"), "{svg}");
    assert!(!svg.contains("✔ "), "{svg}");
    let signs = svg.lines().find(|line| line.contains('✔')).unwrap();
    assert!(signs.contains("DejaVu Sans Mono"), "{signs}");
}

#[test]
fn styles_are_seen() {
    let mut page = Buffer::empty(Rect::new(0, 0, 12, 1));
    let style = Style::new().fg(Color::Rgb(1, 2, 3)).bg(Color::Indexed(196));
    page.set_string(0, 0, "bold", style.add_modifier(Modifier::BOLD));
    page.set_string(5, 0, "x", Style::new().fg(Color::Red).add_modifier(Modifier::REVERSED));
    page.set_string(7, 0, "世", Style::new().add_modifier(Modifier::UNDERLINED));
    let svg = picture::svg(&page, DARK);
    assert!(
        svg.contains(r##"<rect x="12" y="12" width="36" height="20" fill="#ff0000"/>"##),
        "{svg}"
    );
    assert!(svg.contains(r##"fill="#010203" font-weight="bold">bold</text>"##), "{svg}");
    assert!(
        svg.contains(r##"<rect x="57" y="12" width="9" height="20" fill="#f7768e"/>"##),
        "{svg}"
    );
    assert!(svg.contains(r#"width="18" height="1""#), "underlined over both columns: {svg}");
    assert!(!svg.contains('世'), "no font here has it: a box stands for it");
}

#[test]
fn the_ending_of_a_file_says_what_it_is() {
    let of = |name: &str| Format::of(Path::new(name)).map_err(|error| error.to_string());
    assert_eq!(of("a/b.PNG"), Ok(Format::Png));
    assert_eq!(of("x.svg"), Ok(Format::Svg));
    assert_eq!(of("x.txt"), Ok(Format::Text));
    assert_eq!(of("x.gif"), Ok(Format::Gif));
    assert_eq!(of("x.jpg").unwrap_err(), "`x.jpg` must end in .png, .svg, .txt or .gif");
}

#[test]
fn a_film_shows_what_changed_and_how_long() {
    let mut film = Film::new(Look::DARK);
    let long = Duration::from_millis(200);
    film.show(&buffer(&["one  ", "     "]), long).unwrap();
    film.show(&buffer(&["one  ", "     "]), long).unwrap();
    film.show(&buffer(&["one  ", "  two"]), long).unwrap();
    let bytes = film.end().unwrap();
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(bytes.as_slice()).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        frames.push((frame.delay, frame.top, frame.width));
    }
    assert_eq!(frames.len(), 2, "{frames:?}");
    assert_eq!(frames[0].0, 40, "the same picture twice stays twice as long");
    assert!(frames[1].1 > 20 && frames[1].2 < 40, "only the new word: {frames:?}");
}
