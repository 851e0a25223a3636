//! Keys, pastes and the mouse as messages. The source can be let go of, so that an editor or a
//! shell gets every byte.

use std::future::poll_fn;
use std::io;
use std::task::{Context as TaskContext, Poll, Waker, ready};

use crossterm::event::{Event, EventStream, MouseButton, MouseEvent, MouseEventKind as Kind};
use futures::StreamExt as _;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::console::keys::Chord;
use crate::console::update::{Mouse, MouseKind, Msg};

pub struct Input {
    /// Dropped while somebody else reads: not asking it is not enough, it reads all the same.
    stream: Option<EventStream>,
    /// Who waits for the next message. The stream remembers whoever asked first, so everybody who
    /// asks must be the same: a look that wakes nobody would make it silent for ever.
    waiting: Waker,
}

impl Input {
    pub fn open() -> Self {
        Self { stream: Some(EventStream::new()), waiting: Waker::noop().clone() }
    }

    pub fn release(&mut self) {
        self.stream = None;
    }

    pub fn take_back(&mut self) {
        self.stream = Some(EventStream::new());
        remind_of_keys();
    }

    /// The next message. `None` when the terminal is gone.
    pub async fn next(&mut self) -> Option<io::Result<Msg>> {
        poll_fn(|cx| {
            self.waiting.clone_from(cx.waker());
            self.look(cx)
        })
        .await
    }

    /// A message that is there already.
    pub fn ready(&mut self) -> Option<Msg> {
        let waiting = self.waiting.clone();
        match self.look(&mut TaskContext::from_waker(&waiting)) {
            Poll::Ready(msg) => msg?.ok(),
            Poll::Pending => None,
        }
    }

    fn look(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<io::Result<Msg>>> {
        let Some(stream) = &mut self.stream else { return Poll::Pending };
        loop {
            match ready!(stream.poll_next_unpin(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(event)) => {
                    if matches!(event, Event::Resize(..)) {
                        remind_of_keys();
                    }
                    if let Some(msg) = message(event) {
                        return Poll::Ready(Some(Ok(msg)));
                    }
                }
            }
        }
    }
}

/// Keys that come together with a resize are left lying by the reader, which is told of both at
/// once, takes the resize, and is told of the keys no more: they would come with the next key.
/// Settings that are set to what they are make the terminal tell it again.
fn remind_of_keys() {
    let terminal = io::stdin();
    if let Ok(settings) = tcgetattr(&terminal) {
        // Where it fails nothing is worse than before.
        let _ = tcsetattr(&terminal, OptionalActions::Now, &settings);
    }
}

fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(key) => Chord::of_event(key).map(Msg::Key),
        Event::Paste(text) => Some(Msg::Paste(text)),
        Event::Resize(columns, rows) => Some(Msg::Resized { columns, rows }),
        Event::FocusGained => Some(Msg::Focus(true)),
        Event::FocusLost => Some(Msg::Focus(false)),
        Event::Mouse(event) => mouse(event).map(Msg::Mouse),
    }
}

fn mouse(event: MouseEvent) -> Option<Mouse> {
    let kind = match event.kind {
        Kind::Down(MouseButton::Left) => MouseKind::Down,
        Kind::Drag(MouseButton::Left) => MouseKind::Drag,
        Kind::Up(MouseButton::Left) => MouseKind::Up,
        Kind::ScrollUp => MouseKind::WheelUp,
        Kind::ScrollDown => MouseKind::WheelDown,
        Kind::Down(_)
        | Kind::Drag(_)
        | Kind::Up(_)
        | Kind::Moved
        | Kind::ScrollLeft
        | Kind::ScrollRight => return None,
    };
    Some(Mouse { kind, column: event.column, row: event.row })
}
