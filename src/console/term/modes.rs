//! The modes of the terminal that the console changes, and how each is undone.

use std::io::{self, Write, stdout};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, EnableMouseCapture, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::style::{Print, ResetColor};
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{execute, queue};

/// Has xterm and tmux tell Shift+Enter from Enter, and takes it back.
const MORE_KEYS: &str = "\x1b[>4;1m";
const USUAL_KEYS: &str = "\x1b[>4;0m";
/// The title that the window had is kept by the terminal, and put back.
const KEEP_TITLE: &str = "\x1b[22;2t";
const OLD_TITLE: &str = "\x1b[23;2t";

/// Whether the modes are ours now. The panic hook must know it without anything being passed.
static TAKEN: AtomicBool = AtomicBool::new(false);

pub fn enter(mouse: bool) -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    let mut out = stdout();
    queue!(
        out,
        Print(KEEP_TITLE),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableFocusChange,
        PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES),
        Print(MORE_KEYS),
        Hide,
    )?;
    if mouse {
        queue!(out, EnableMouseCapture)?;
    }
    out.flush()
}

/// Undoes all of it. Does nothing the second time.
pub fn leave() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // There is nobody left to tell when the terminal is gone.
    let _ = execute!(
        stdout(),
        EndSynchronizedUpdate,
        DisableMouseCapture,
        Print(USUAL_KEYS),
        PopKeyboardEnhancementFlags,
        DisableFocusChange,
        DisableBracketedPaste,
        ResetColor,
        LeaveAlternateScreen,
        Print(OLD_TITLE),
        Show,
    );
    let _ = disable_raw_mode();
}

pub fn set_mouse(mouse: bool) -> io::Result<()> {
    match mouse {
        true => execute!(stdout(), EnableMouseCapture),
        false => execute!(stdout(), DisableMouseCapture),
    }
}

/// A panic of the console gives the terminal back before it is told. One of an agent's task is
/// none of the screen's business: it ends up in the log.
pub fn restore_on_panic() {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let before = panic::take_hook();
        let console = thread::current().id();
        panic::set_hook(Box::new(move |info| {
            if thread::current().id() == console || !TAKEN.load(Ordering::SeqCst) {
                leave();
                before(info);
            } else {
                tracing::error!(panic = %info, "a task failed");
            }
        }));
    });
}
