//! Lines, blocks and braille as shapes that fill their cell exactly, so that borders have no
//! gaps whatever a font does with them. Path data of SVG comes out.

use std::fmt::Write as _;

/// A cell of the picture: its corner and its size.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

/// Paths to fill and paths to draw along.
#[derive(Debug, Default, PartialEq)]
pub struct Shape {
    pub filled: String,
    pub stroked: String,
}

/// The shape of a character, for those that are drawn as one.
pub fn of(character: char, place: Place) -> Option<Shape> {
    let mut pen = Pen { place, shape: Shape::default() };
    match character {
        '\u{2500}'..='\u{257f}' => pen.line(character),
        '\u{2580}'..='\u{259f}' => pen.block(character),
        '\u{2800}'..='\u{28ff}' => pen.braille(character),
        _ => return None,
    }
    Some(pen.shape)
}

/// How strongly a shaded block is inked, in hundredths.
pub const fn shade(character: char) -> Option<u16> {
    match character {
        '░' => Some(25),
        '▒' => Some(50),
        '▓' => Some(75),
        _ => None,
    }
}

/// The arms of U+2500 to U+257F: left, right, up, down. 0 none, 1 light, 2 heavy, 3 double.
/// Dashes, arcs and diagonals are drawn in other ways.
const ARMS: &str = "\
    1100 2200 0011 0022 0000 0000 0000 0000 0000 0000 0000 0000 0101 0201 0102 0202 \
    1001 2001 1002 2002 0110 0210 0120 0220 1010 2010 1020 2020 0111 0211 0121 0112 \
    0122 0221 0212 0222 1011 2011 1021 1012 1022 2021 2012 2022 1101 2101 1201 2201 \
    1102 2102 1202 2202 1110 2110 1210 2210 1120 2120 1220 2220 1111 2111 1211 2211 \
    1121 1112 1122 2121 1221 2112 1212 2221 2212 2122 1222 2222 0000 0000 0000 0000 \
    3300 0033 0301 0103 0303 3001 1003 3003 0310 0130 0330 3010 1030 3030 0311 0133 \
    0333 3011 1033 3033 3301 1103 3303 3310 1130 3330 3311 1133 3333 0000 0000 0000 \
    0000 0000 0000 0000 1000 0010 0100 0001 2000 0020 0200 0002 1200 0012 2100 0021";

const THIN: f32 = 1.0;
const THICK: f32 = 2.5;
/// From the middle of a double line to each of the two.
const APART: f32 = 1.5;

struct Pen {
    place: Place,
    shape: Shape,
}

impl Pen {
    /// A rectangle, measured from the corner of the cell.
    fn rect(&mut self, x: f32, y: f32, width: f32, height: f32) {
        if width > 0.0 && height > 0.0 {
            let (x, y) = (self.place.x + x, self.place.y + y);
            // Writing into a string does not fail.
            let _ = write!(self.shape.filled, "M{x} {y}h{width}v{height}h-{width}z");
        }
    }

    /// The same, in eighths of the cell.
    fn eighths(&mut self, x: u8, y: u8, width: u8, height: u8) {
        let (w, h) = (self.place.width / 8.0, self.place.height / 8.0);
        let of = |count: u8, unit: f32| f32::from(count) * unit;
        self.rect(of(x, w), of(y, h), of(width, w), of(height, h));
    }

    fn line(&mut self, character: char) {
        match character {
            '╭' | '╮' | '╯' | '╰' => self.arc(character),
            '╱' | '╲' | '╳' => self.diagonal(character),
            '┄' | '┈' | '╌' => self.dashes(Way::Across, THIN),
            '┅' | '┉' | '╍' => self.dashes(Way::Across, THICK),
            '┆' | '┊' | '╎' => self.dashes(Way::Down, THIN),
            '┇' | '┋' | '╏' => self.dashes(Way::Down, THICK),
            _ => {
                let nth = usize::try_from(u32::from(character) - 0x2500).unwrap_or_default();
                let arms = ARMS.get(nth * 5..nth * 5 + 4).unwrap_or("0000");
                self.arms(arms.as_bytes());
            }
        }
    }

    fn arms(&mut self, arms: &[u8]) {
        let &[left, right, up, down] = arms else { return };
        let (w, h) = (self.place.width, self.place.height);
        let (cx, cy) = (w / 2.0, h / 2.0);
        // Arms reach as far over the middle as those across are thick, so corners are whole.
        let across = reach(up).max(reach(down));
        let along = reach(left).max(reach(right));
        let is_double = |arm: u8, other: u8| arm == b'3' || other == b'3';
        // Of two lines that turn into two others, the inner ones meet before the middle.
        let over = |offset: f32, (before, after): (u8, u8), reach: f32| {
            let beside = if offset < 0.0 { before } else { after };
            let turns = offset != 0.0 && is_double(before, after) && beside != b'0';
            if turns { THIN / 2.0 - APART } else { reach }
        };
        for (offset, thick) in strokes(left) {
            let end = cx + over(offset, (up, down), across);
            self.rect(0.0, cy + offset - thick / 2.0, end, thick);
        }
        for (offset, thick) in strokes(right) {
            let start = cx - over(offset, (up, down), across);
            self.rect(start, cy + offset - thick / 2.0, w - start, thick);
        }
        for (offset, thick) in strokes(up) {
            let end = cy + over(offset, (left, right), along);
            self.rect(cx + offset - thick / 2.0, 0.0, thick, end);
        }
        for (offset, thick) in strokes(down) {
            let start = cy - over(offset, (left, right), along);
            self.rect(cx + offset - thick / 2.0, start, thick, h - start);
        }
    }

    fn dashes(&mut self, way: Way, thick: f32) {
        let (w, h) = (self.place.width, self.place.height);
        for part in 0..3u8 {
            let at = f32::from(part) / 3.0;
            match way {
                Way::Across => self.rect(w * at, (h - thick) / 2.0, w / 5.0, thick),
                Way::Down => self.rect((w - thick) / 2.0, h * at, thick, h / 5.0),
            }
        }
    }

    fn arc(&mut self, character: char) {
        let Place { x, y, width, height } = self.place;
        let (cx, cy) = (x + width / 2.0, y + height / 2.0);
        let r = width / 2.0;
        // From the vertical side of the cell to its horizontal one.
        let (from, sideways, upwards) = match character {
            '╭' => (y + height, x + width, 1.0),
            '╮' => (y + height, x, 1.0),
            '╯' => (y, x, -1.0),
            _ => (y, x + width, -1.0),
        };
        let turn = cy + r * upwards;
        let end = if sideways > cx { cx + r } else { cx - r };
        let _ = write!(self.shape.stroked, "M{cx} {from}V{turn}Q{cx} {cy} {end} {cy}H{sideways}");
    }

    fn diagonal(&mut self, character: char) {
        let Place { x, y, width, height } = self.place;
        let (right, bottom) = (x + width, y + height);
        if character != '╲' {
            let _ = write!(self.shape.stroked, "M{right} {y}L{x} {bottom}");
        }
        if character != '╱' {
            let _ = write!(self.shape.stroked, "M{x} {y}L{right} {bottom}");
        }
    }

    fn block(&mut self, character: char) {
        match character {
            '▀' => self.eighths(0, 0, 8, 4),
            '▁'..='█' => {
                let rows = u8::try_from(u32::from(character) - 0x2580).unwrap_or_default();
                self.eighths(0, 8 - rows, 8, rows);
            }
            '▉'..='▏' => {
                let columns = u8::try_from(0x2590 - u32::from(character)).unwrap_or_default();
                self.eighths(0, 0, columns, 8);
            }
            '▐' => self.eighths(4, 0, 4, 8),
            '░' | '▒' | '▓' => self.eighths(0, 0, 8, 8),
            '▔' => self.eighths(0, 0, 8, 1),
            '▕' => self.eighths(7, 0, 1, 8),
            _ => self.quadrants(character),
        }
    }

    fn quadrants(&mut self, character: char) {
        // Upper left, upper right, lower left, lower right.
        let parts = match character {
            '▖' => [false, false, true, false],
            '▗' => [false, false, false, true],
            '▘' => [true, false, false, false],
            '▙' => [true, false, true, true],
            '▚' => [true, false, false, true],
            '▛' => [true, true, true, false],
            '▜' => [true, true, false, true],
            '▝' => [false, true, false, false],
            '▞' => [false, true, true, false],
            _ => [false, true, true, true],
        };
        for (nth, _) in (0u8..).zip(parts).filter(|(_, inked)| *inked) {
            self.eighths(nth % 2 * 4, nth / 2 * 4, 4, 4);
        }
    }

    fn braille(&mut self, character: char) {
        let dots = u32::from(character) - 0x2800;
        let Place { x, y, width, height } = self.place;
        let r = width / 8.0;
        for dot in (0..8u8).filter(|dot| dots >> dot & 1 == 1) {
            // Dots count down the left column, down the right one, then along the last row.
            let (column, row) = match dot {
                0..6 => (dot / 3, dot % 3),
                _ => (dot - 6, 3),
            };
            let left = x + width * (0.25 + 0.5 * f32::from(column)) - r;
            let middle = y + height * (0.125 + 0.25 * f32::from(row));
            let (there, back) = (2.0 * r, -2.0 * r);
            let _ = write!(
                self.shape.filled,
                "M{left} {middle}a{r} {r} 0 1 0 {there} 0a{r} {r} 0 1 0 {back} 0z"
            );
        }
    }
}

#[derive(Clone, Copy)]
enum Way {
    Across,
    Down,
}

/// The strokes of an arm: how far from the middle, how thick.
fn strokes(weight: u8) -> Vec<(f32, f32)> {
    match weight {
        b'1' => vec![(0.0, THIN)],
        b'2' => vec![(0.0, THICK)],
        b'3' => vec![(-APART, THIN), (APART, THIN)],
        _ => Vec::new(),
    }
}

fn reach(weight: u8) -> f32 {
    let far = strokes(weight).into_iter().map(|(offset, thick)| offset + thick / 2.0);
    far.fold(0.0, f32::max)
}
