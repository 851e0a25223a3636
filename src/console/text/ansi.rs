//! What a command printed, as lines: its colours are kept, everything else a terminal would obey
//! is left out.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::escape::{self, Piece};
use super::sanitize::printable;
use super::wrap;
use crate::console::view::theme::Theme;

/// The lines of an output. A carriage return writes over what stands on its line, as progress
/// bars do.
pub fn lines(output: &str, theme: &Theme) -> Vec<Line<'static>> {
    let mut reader = Reader { colours: theme.has_colours(), ..Reader::default() };
    for piece in escape::pieces(output) {
        match piece {
            Piece::Plain(text) => reader.text(text),
            Piece::Colour(parameters) if reader.colours => {
                reader.style = styled(reader.style, parameters);
            }
            Piece::Colour(_) => {}
        }
    }
    reader.done()
}

#[derive(Default)]
struct Reader {
    colours: bool,
    style: Style,
    row: Vec<Span<'static>>,
    /// A carriage return came: the next letter on this line replaces it.
    returned: bool,
    lines: Vec<Line<'static>>,
}

impl Reader {
    fn text(&mut self, text: &str) {
        let mut parts = text.split_inclusive(['\n', '\r']);
        for part in parts.by_ref() {
            let letters = part.trim_end_matches(['\n', '\r']);
            if !letters.is_empty() {
                if std::mem::take(&mut self.returned) {
                    self.row.clear();
                }
                wrap::push(&mut self.row, &printable(letters), self.style);
            }
            match part.chars().next_back() {
                Some('\n') => self.end(),
                Some('\r') => self.returned = true,
                Some(_) | None => {}
            }
        }
    }

    fn end(&mut self) {
        self.returned = false;
        self.lines.push(Line::from(std::mem::take(&mut self.row)));
    }

    fn done(mut self) -> Vec<Line<'static>> {
        if !self.row.is_empty() {
            self.end();
        }
        self.lines
    }
}

/// A style after `CSI parameters m`.
fn styled(style: Style, parameters: &str) -> Style {
    let mut numbers = parameters.split([';', ':']).map(|number| match number {
        "" => Some(0),
        number => number.parse::<u16>().ok(),
    });
    let mut style = style;
    while let Some(number) = numbers.next() {
        let Some(number) = number else { continue };
        style = match number {
            0 => Style::new(),
            1 => style.add_modifier(Modifier::BOLD),
            2 => style.add_modifier(Modifier::DIM),
            3 => style.add_modifier(Modifier::ITALIC),
            4 => style.add_modifier(Modifier::UNDERLINED),
            7 => style.add_modifier(Modifier::REVERSED),
            9 => style.add_modifier(Modifier::CROSSED_OUT),
            22 => style.remove_modifier(Modifier::BOLD | Modifier::DIM),
            23 => style.remove_modifier(Modifier::ITALIC),
            24 => style.remove_modifier(Modifier::UNDERLINED),
            27 => style.remove_modifier(Modifier::REVERSED),
            29 => style.remove_modifier(Modifier::CROSSED_OUT),
            30..=37 => style.fg(sixteen(number - 30)),
            38 => with(style, far(&mut numbers), Style::fg),
            39 => Style { fg: None, ..style },
            40..=47 => style.bg(sixteen(number - 40)),
            48 => with(style, far(&mut numbers), Style::bg),
            49 => Style { bg: None, ..style },
            90..=97 => style.fg(sixteen(number - 90 + 8)),
            100..=107 => style.bg(sixteen(number - 100 + 8)),
            // Blinking, hidden and the like: what is printed can be read.
            _ => style,
        };
    }
    style
}

fn with(style: Style, colour: Option<Color>, set: impl Fn(Style, Color) -> Style) -> Style {
    colour.map_or(style, |colour| set(style, colour))
}

fn sixteen(number: u16) -> Color {
    const COLOURS: [Color; 16] = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
        Color::DarkGray,
        Color::LightRed,
        Color::LightGreen,
        Color::LightYellow,
        Color::LightBlue,
        Color::LightMagenta,
        Color::LightCyan,
        Color::White,
    ];
    COLOURS.get(usize::from(number)).copied().unwrap_or(Color::Reset)
}

/// `5;n` or `2;r;g;b`, as they follow 38 and 48.
fn far(numbers: &mut impl Iterator<Item = Option<u16>>) -> Option<Color> {
    let mut byte = || u8::try_from(numbers.next()??).ok();
    match byte()? {
        5 => Some(Color::Indexed(byte()?)),
        2 => Some(Color::Rgb(byte()?, byte()?, byte()?)),
        _ => None,
    }
}
