//! What the colours of a terminal look like in a picture. The only place beside the theme that
//! names them, because a picture has no terminal that would know.

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

pub type Rgb = [u8; 3];

/// The colours of the terminal that a picture pretends to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub ground: Rgb,
    pub ink: Rgb,
    sixteen: [Rgb; 16],
}

impl Look {
    pub const DARK: Self = Self {
        ground: [0x16, 0x17, 0x1f],
        ink: [0xc8, 0xcd, 0xe0],
        sixteen: [
            [0x2b, 0x2e, 0x3f],
            [0xf7, 0x76, 0x8e],
            [0x9e, 0xce, 0x6a],
            [0xe0, 0xaf, 0x68],
            [0x7a, 0xa2, 0xf7],
            [0xbb, 0x9a, 0xf7],
            [0x7d, 0xcf, 0xff],
            [0xb4, 0xba, 0xd0],
            [0x6b, 0x73, 0x94],
            [0xff, 0x9a, 0xab],
            [0xb9, 0xe5, 0x8c],
            [0xf2, 0xc9, 0x8a],
            [0x9c, 0xbc, 0xff],
            [0xd0, 0xb8, 0xff],
            [0xa6, 0xe1, 0xff],
            [0xee, 0xf0, 0xf8],
        ],
    };

    pub const LIGHT: Self = Self {
        ground: [0xfb, 0xfa, 0xf7],
        ink: [0x2e, 0x32, 0x3e],
        sixteen: [
            [0x2e, 0x32, 0x3e],
            [0xb4, 0x26, 0x3c],
            [0x3b, 0x72, 0x1c],
            [0x8a, 0x5d, 0x06],
            [0x24, 0x56, 0xb4],
            [0x78, 0x3c, 0xb0],
            [0x0e, 0x70, 0x86],
            [0x6a, 0x6f, 0x80],
            [0x8b, 0x90, 0x9e],
            [0xd2, 0x44, 0x5a],
            [0x4f, 0x8f, 0x2a],
            [0xa8, 0x76, 0x14],
            [0x3f, 0x72, 0xd4],
            [0x96, 0x58, 0xd0],
            [0x1c, 0x90, 0xa8],
            [0x1c, 0x1e, 0x26],
        ],
    };

    /// The terminal that a theme is made for.
    pub fn for_theme(name: &str) -> Self {
        if name == "light" { Self::LIGHT } else { Self::DARK }
    }

    fn rgb(&self, color: Color, reset: Rgb) -> Rgb {
        let nth = match color {
            Color::Reset => return reset,
            Color::Rgb(r, g, b) => return [r, g, b],
            Color::Indexed(index) => return self.indexed(index),
            Color::Black => 0,
            Color::Red => 1,
            Color::Green => 2,
            Color::Yellow => 3,
            Color::Blue => 4,
            Color::Magenta => 5,
            Color::Cyan => 6,
            Color::Gray => 7,
            Color::DarkGray => 8,
            Color::LightRed => 9,
            Color::LightGreen => 10,
            Color::LightYellow => 11,
            Color::LightBlue => 12,
            Color::LightMagenta => 13,
            Color::LightCyan => 14,
            Color::White => 15,
        };
        self.sixteen[nth]
    }

    /// The 256 colours of xterm: sixteen, a cube, a ramp of greys.
    fn indexed(&self, index: u8) -> Rgb {
        let step = |level: u8| if level == 0 { 0 } else { 55 + 40 * level };
        match index {
            0..16 => self.sixteen[usize::from(index)],
            16..232 => {
                let cube = index - 16;
                [step(cube / 36), step(cube / 6 % 6), step(cube % 6)]
            }
            232.. => [8 + 10 * (index - 232); 3],
        }
    }

    /// Letters and ground of a cell.
    pub fn colours(&self, cell: &Cell) -> (Rgb, Rgb) {
        let mut ink = self.rgb(cell.fg, self.ink);
        let mut ground = self.rgb(cell.bg, self.ground);
        if cell.modifier.contains(Modifier::REVERSED) {
            (ink, ground) = (ground, ink);
        }
        if cell.modifier.contains(Modifier::DIM) {
            ink = mixed(ink, ground, 45);
        }
        if cell.modifier.contains(Modifier::HIDDEN) {
            ink = ground;
        }
        (ink, ground)
    }
}

/// So many hundredths of the second colour in the first.
pub fn mixed(one: Rgb, two: Rgb, hundredths: u16) -> Rgb {
    let mix = |a: u8, b: u8| {
        let sum = u16::from(a) * (100 - hundredths.min(100)) + u16::from(b) * hundredths.min(100);
        u8::try_from(sum / 100).unwrap_or(u8::MAX)
    };
    [mix(one[0], two[0]), mix(one[1], two[1]), mix(one[2], two[2])]
}

pub fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}
