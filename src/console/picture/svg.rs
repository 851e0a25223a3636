//! A buffer as SVG. Every glyph has its own place, so that no font and no renderer can shift a
//! column; blanks are never written, because renderers collapse them.

use std::collections::HashMap;
use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Modifier;
use unicode_width::UnicodeWidthStr;

use super::fonts::Font;
use super::palette::{Look, Rgb, hex, mixed};
use super::shapes::{self, Place};
use super::words::rows;

/// JetBrains Mono is 0.6 em wide: 15 pixels give columns of exactly nine.
const SIZE: f32 = 15.0;
const COLUMN: f32 = 9.0;
const ROW: f32 = 20.0;
/// From the top of a row to the line that letters stand on.
const BASELINE: f32 = 15.0;
/// Around everything.
const MARGIN: f32 = 12.0;

/// Width and height of the picture of a buffer.
pub fn size(buffer: &Buffer) -> (f32, f32) {
    let area = buffer.area;
    (f32::from(area.width) * COLUMN + 2.0 * MARGIN, f32::from(area.height) * ROW + 2.0 * MARGIN)
}

pub fn svg(buffer: &Buffer, look: &Look) -> String {
    let (width, height) = size(buffer);
    let mut page = Page { look, out: String::new(), run: None, fonts: HashMap::new() };
    let _ = write!(
        page.out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-size=\"{SIZE}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n",
        hex(look.ground)
    );
    for (y, row) in (0u16..).zip(rows(buffer)) {
        let cells: Vec<(u16, &Cell)> = row.collect();
        page.grounds(y, &cells);
        for (x, cell) in cells {
            page.cell(x, y, cell);
        }
        page.flush();
    }
    page.out.push_str("</svg>\n");
    page.out
}

/// Letters that look alike and stand in one row.
struct Run {
    look: Letters,
    y: f32,
    places: Vec<f32>,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
struct Letters {
    font: Font,
    ink: Rgb,
    bold: bool,
    italic: bool,
}

struct Page<'a> {
    look: &'a Look,
    out: String,
    run: Option<Run>,
    /// Looking into a font takes long.
    fonts: HashMap<char, Option<Font>>,
}

impl Page<'_> {
    /// The grounds of a row: neighbours of one colour are one rectangle.
    fn grounds(&mut self, y: u16, cells: &[(u16, &Cell)]) {
        let ground = |cell: &Cell| self.look.colours(cell).1;
        let alike = |one: &(u16, &Cell), two: &(u16, &Cell)| ground(one.1) == ground(two.1);
        let mut out = String::new();
        for run in cells.chunk_by(alike) {
            let (Some((first, cell)), Some((last, end))) = (run.first(), run.last()) else {
                continue;
            };
            let colour = ground(cell);
            if colour == self.look.ground {
                continue;
            }
            let columns = last - first + columns(end);
            let (x, top) = corner(*first, y);
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{top}\" width=\"{}\" height=\"{ROW}\" fill=\"{}\"/>",
                f32::from(columns) * COLUMN,
                hex(colour)
            );
        }
        self.out.push_str(&out);
    }

    fn cell(&mut self, x: u16, y: u16, cell: &Cell) {
        let (ink, ground) = self.look.colours(cell);
        let place = place(x, y, columns(cell));
        self.rules(cell, ink, place);
        let symbol = cell.symbol();
        let Some(character) = symbol.chars().next().filter(|_| !symbol.trim().is_empty()) else {
            return;
        };
        if let Some(shape) = shapes::of(character, place) {
            let strength = shapes::shade(character).unwrap_or(100);
            self.shape(&shape, mixed(ground, ink, strength));
            return;
        }
        match *self.fonts.entry(character).or_insert_with(|| Font::having(character)) {
            Some(font) => {
                let bold = cell.modifier.contains(Modifier::BOLD);
                let italic = cell.modifier.contains(Modifier::ITALIC);
                self.letter(symbol, Letters { font, ink, bold, italic }, place);
            }
            None => self.unknown(ink, place),
        }
    }

    /// Lines under and through a cell; they do not stop at blanks.
    fn rules(&mut self, cell: &Cell, ink: Rgb, place: Place) {
        let heights = [(Modifier::UNDERLINED, BASELINE + 2.0), (Modifier::CROSSED_OUT, ROW / 2.0)];
        for (_, height) in heights.iter().filter(|(rule, _)| cell.modifier.contains(*rule)) {
            let _ = writeln!(
                self.out,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"1\" fill=\"{}\"/>",
                place.x,
                place.y + height,
                place.width,
                hex(ink)
            );
        }
    }

    fn shape(&mut self, shape: &shapes::Shape, ink: Rgb) {
        let ink = hex(ink);
        if !shape.filled.is_empty() {
            let _ = writeln!(self.out, "<path fill=\"{ink}\" d=\"{}\"/>", shape.filled);
        }
        if !shape.stroked.is_empty() {
            let d = &shape.stroked;
            let _ = writeln!(self.out, "<path fill=\"none\" stroke=\"{ink}\" d=\"{d}\"/>");
        }
    }

    /// What no font has: a box as wide as the character.
    fn unknown(&mut self, ink: Rgb, place: Place) {
        let _ = writeln!(
            self.out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\"/>",
            place.x + 1.5,
            place.y + 4.5,
            place.width - 3.0,
            ROW - 8.0,
            hex(ink)
        );
    }

    fn letter(&mut self, symbol: &str, look: Letters, place: Place) {
        // Marks that combine would need places of their own: they end a run.
        let alone = symbol.chars().count() > 1;
        if alone || self.run.as_ref().is_none_or(|run| run.look != look) {
            self.flush();
        }
        let y = place.y + BASELINE;
        let fresh = || Run { look, y, places: Vec::new(), text: String::new() };
        let run = self.run.get_or_insert_with(fresh);
        run.places.push(place.x);
        run.text.push_str(symbol);
        if alone {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let Some(run) = self.run.take() else { return };
        let places: Vec<String> = run.places.iter().map(ToString::to_string).collect();
        let weight = if run.look.bold { " font-weight=\"bold\"" } else { "" };
        let slant = if run.look.italic { " font-style=\"italic\"" } else { "" };
        let _ = writeln!(
            self.out,
            "<text x=\"{}\" y=\"{}\" font-family=\"{}, monospace\" fill=\"{}\"{weight}{slant}>{}</text>",
            places.join(" "),
            run.y,
            run.look.font.family(),
            hex(run.look.ink),
            escaped(&run.text)
        );
    }
}

fn corner(x: u16, y: u16) -> (f32, f32) {
    (MARGIN + f32::from(x) * COLUMN, MARGIN + f32::from(y) * ROW)
}

fn place(x: u16, y: u16, columns: u16) -> Place {
    let (x, y) = corner(x, y);
    Place { x, y, width: f32::from(columns) * COLUMN, height: ROW }
}

fn columns(cell: &Cell) -> u16 {
    if cell.symbol().width() > 1 { 2 } else { 1 }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
