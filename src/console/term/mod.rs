//! The terminal: taken when the console opens, given back however the program leaves.
//!
//! Nothing here asks the terminal anything: an answer could take seconds, or never come. What a
//! terminal does not know it ignores.

pub mod alert;
mod modes;

use std::io::{self, BufWriter, Stdout, Write, stdout};

use crossterm::execute;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate, SetTitle};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};
use ratatui::{Frame, Terminal};

/// Owns the terminal. However the program leaves, dropping this gives the shell back.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    mouse: bool,
}

impl Screen {
    pub fn open(mouse: bool) -> io::Result<Self> {
        modes::restore_on_panic();
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, stdout()));
        // The guard first: if a mode cannot be set, dropping it undoes those that were.
        let mut screen = Self { terminal: Terminal::new(backend)?, mouse };
        screen.take()?;
        Ok(screen)
    }

    fn take(&mut self) -> io::Result<()> {
        modes::enter(self.mouse)?;
        self.redraw()
    }

    /// Gives the terminal to somebody else for a while.
    pub fn lend(&mut self) {
        modes::leave();
    }

    /// Takes it back.
    pub fn take_back(&mut self) -> io::Result<()> {
        self.take()
    }

    pub fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Paints in one go: no half-drawn frame is ever seen where the terminal can help it.
    pub fn draw(&mut self, paint: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let drawn = self.terminal.draw(paint).map(|_| ());
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        drawn
    }

    /// Draws every cell anew with the next frame.
    pub fn redraw(&mut self) -> io::Result<()> {
        // Not `clear`: that one asks the terminal where the cursor is, and waits for the answer.
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }

    pub fn set_mouse(&mut self, mouse: bool) -> io::Result<()> {
        self.mouse = mouse;
        modes::set_mouse(mouse)
    }

    pub fn set_title(&mut self, title: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), SetTitle(title))
    }

    /// Sends bytes that the terminal obeys.
    pub fn send(&mut self, sequence: &str) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        backend.write_all(sequence.as_bytes())?;
        io::Write::flush(backend)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        modes::leave();
    }
}
