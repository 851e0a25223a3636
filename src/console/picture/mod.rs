//! Pictures of the console: what it drew, as text, SVG, PNG or a moving GIF.
//!
//! All of them come from a ratatui buffer, with fonts that are part of the program, so that a
//! picture is the same on every machine.

use ratatui::buffer::Buffer;

pub mod film;
mod fonts;
pub mod palette;
mod raster;
mod shapes;
mod svg;
mod words;

pub use palette::Look;
pub use raster::png;
pub use svg::svg;
pub use words::text;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    #[error("`{0}` must end in .png, .svg, .txt or .gif")]
    Ending(String),
    #[error("the picture would be too large; use a smaller --size")]
    Size,
    #[error("the picture cannot be drawn: {0}")]
    Drawing(String),
}

/// The kinds of pictures, by the ending of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Png,
    Svg,
    Text,
    /// Moves: all that was seen on the way.
    Gif,
}

impl Format {
    pub fn of(file: &std::path::Path) -> Result<Self, PictureError> {
        let ending = file.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        match ending.as_deref() {
            Some("png") => Ok(Self::Png),
            Some("svg") => Ok(Self::Svg),
            Some("txt") => Ok(Self::Text),
            Some("gif") => Ok(Self::Gif),
            Some(_) | None => Err(PictureError::Ending(file.display().to_string())),
        }
    }
}

/// A buffer as the bytes of a file.
pub fn file(buffer: &Buffer, look: &Look, format: Format) -> Result<Vec<u8>, PictureError> {
    match format {
        Format::Png => png(buffer, look),
        Format::Svg => Ok(svg(buffer, look).into_bytes()),
        Format::Text => Ok(text(buffer).into_bytes()),
        Format::Gif => film::of(&[(buffer.clone(), film::LAST)], look),
    }
}
