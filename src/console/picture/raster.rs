//! A buffer as pixels, by way of SVG.

use ratatui::buffer::Buffer;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::palette::Look;
use super::svg::{size, svg};
use super::{PictureError, fonts};

/// Pixels per unit of a still: sharp on the displays of today.
const FINE: f32 = 2.0;
/// More pixels than this in either direction are refused.
const MOST: f32 = 20_000.0;

pub fn png(buffer: &Buffer, look: &Look) -> Result<Vec<u8>, PictureError> {
    let pixels = pixels(buffer, look, FINE)?;
    pixels.encode_png().map_err(|error| PictureError::Drawing(error.to_string()))
}

pub fn pixels(buffer: &Buffer, look: &Look, scale: f32) -> Result<Pixmap, PictureError> {
    let options = Options { fontdb: fonts::database(), ..Options::default() };
    let tree = Tree::from_str(&svg(buffer, look), &options)
        .map_err(|error| PictureError::Drawing(error.to_string()))?;
    let (width, height) = size(buffer);
    let (width, height) = (whole(width * scale)?, whole(height * scale)?);
    let mut pixels = Pixmap::new(width, height).ok_or(PictureError::Size)?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    Ok(pixels)
}

fn whole(length: f32) -> Result<u32, PictureError> {
    if !(1.0..=MOST).contains(&length) {
        return Err(PictureError::Size);
    }
    // The bounds are checked: nothing is cut but the fraction.
    format!("{:.0}", length.floor()).parse().map_err(|_| PictureError::Size)
}
