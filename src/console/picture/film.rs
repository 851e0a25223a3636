//! Pictures that follow each other, as a GIF. A frame holds only what changed since the one
//! before it.

use std::time::Duration;

use gif::{DisposalMethod, Encoder, Frame, Repeat};
use ratatui::buffer::Buffer;
use resvg::tiny_skia::Pixmap;

use super::PictureError;
use super::palette::Look;
use super::raster::pixels;

/// Pixels per unit: a film is for web pages.
const COARSE: f32 = 1.0;

/// How long the last picture stays before the film begins again.
pub const LAST: Duration = Duration::from_secs(5);

/// A film of these pictures, each with the time that it is shown.
pub fn of(pictures: &[(Buffer, Duration)], look: &Look) -> Result<Vec<u8>, PictureError> {
    let mut film = Film::new(look.clone());
    for (buffer, time) in pictures {
        film.show(buffer, *time)?;
    }
    film.end()
}

/// A film that is being made.
pub struct Film {
    look: Look,
    encoder: Option<Encoder<Vec<u8>>>,
    /// What is shown, and for how long nothing came after it.
    shown: Option<Pixmap>,
    waiting: Option<Frame<'static>>,
}

impl Film {
    pub fn new(look: Look) -> Self {
        Self { look, encoder: None, shown: None, waiting: None }
    }

    /// Shows a buffer for a while. One that looks as the last one makes that stay longer.
    pub fn show(&mut self, buffer: &Buffer, time: Duration) -> Result<(), PictureError> {
        let hundredths = u16::try_from(time.as_millis() / 10).unwrap_or(u16::MAX);
        let drawn = pixels(buffer, &self.look, COARSE)?;
        let Some(changed) = changed(self.shown.as_ref(), &drawn) else {
            if let Some(frame) = &mut self.waiting {
                frame.delay = frame.delay.saturating_add(hundredths);
            }
            return Ok(());
        };
        self.write_waiting()?;
        if self.encoder.is_none() {
            let (width, height) = (short(drawn.width())?, short(drawn.height())?);
            let mut encoder = Encoder::new(Vec::new(), width, height, &[]).map_err(wrong)?;
            encoder.set_repeat(Repeat::Infinite).map_err(wrong)?;
            self.encoder = Some(encoder);
        }
        let mut cut = changed.cut(&drawn);
        let mut frame =
            Frame::from_rgba_speed(short(changed.width)?, short(changed.height)?, &mut cut, 10);
        (frame.left, frame.top) = (short(changed.x)?, short(changed.y)?);
        frame.delay = hundredths;
        frame.dispose = DisposalMethod::Keep;
        (self.waiting, self.shown) = (Some(frame), Some(drawn));
        Ok(())
    }

    fn write_waiting(&mut self) -> Result<(), PictureError> {
        if let (Some(frame), Some(encoder)) = (self.waiting.take(), &mut self.encoder) {
            encoder.write_frame(&frame).map_err(wrong)?;
        }
        Ok(())
    }

    /// The bytes of the file.
    pub fn end(mut self) -> Result<Vec<u8>, PictureError> {
        self.write_waiting()?;
        let encoder = self.encoder.ok_or(PictureError::Size)?;
        encoder.into_inner().map_err(|error| PictureError::Drawing(error.to_string()))
    }
}

/// A part of a picture, in pixels.
struct Part {
    x: u32,
    y: u32,
    width: u32,
    height: u32,
}

impl Part {
    fn cut(&self, from: &Pixmap) -> Vec<u8> {
        let mut out = Vec::new();
        for y in self.y..self.y + self.height {
            for x in self.x..self.x + self.width {
                if let Some(pixel) = from.pixel(x, y) {
                    out.extend([pixel.red(), pixel.green(), pixel.blue(), u8::MAX]);
                }
            }
        }
        out
    }
}

/// The smallest part that holds every change; all of it at the beginning.
fn changed(before: Option<&Pixmap>, now: &Pixmap) -> Option<Part> {
    let (width, height) = (now.width(), now.height());
    let same_size = |before: &&Pixmap| (before.width(), before.height()) == (width, height);
    let Some(before) = before.filter(same_size) else {
        return Some(Part { x: 0, y: 0, width, height });
    };
    let differs = |x: u32, y: u32| before.pixel(x, y) != now.pixel(x, y);
    let mut bounds: Option<(u32, u32, u32, u32)> = None;
    for y in 0..height {
        for x in (0..width).filter(|x| differs(*x, y)) {
            let (left, top, right, _) = bounds.unwrap_or((x, y, x, y));
            bounds = Some((left.min(x), top, right.max(x), y));
        }
    }
    let (left, top, right, bottom) = bounds?;
    Some(Part { x: left, y: top, width: right - left + 1, height: bottom - top + 1 })
}

fn short(length: u32) -> Result<u16, PictureError> {
    u16::try_from(length).map_err(|_| PictureError::Size)
}

fn wrong(error: gif::EncodingError) -> PictureError {
    PictureError::Drawing(error.to_string())
}
