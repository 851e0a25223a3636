//! A pseudo-terminal with the program in it. Tests wait for a state that has a name, never for a
//! time; when it does not come, they show the last screen.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use vt100::{Callbacks, MouseProtocolMode, Parser, Screen};

use super::place::{self, Place};

/// Long, for a machine that does much else. Nothing that works takes it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the program does to a terminal beside the screen; and what a terminal answers.
#[derive(Default)]
pub struct Outside {
    answers: Vec<u8>,
    /// Modes that are set now and that the screen does not know.
    modes: BTreeSet<u16>,
    /// How many times the kitty keys were asked for and not given back.
    kitty: i32,
    /// The level of `modifyOtherKeys`.
    more_keys: u16,
    /// Frames that were begun.
    pub frames: usize,
    /// What was on the screen with each frame, where somebody wants to know.
    pub film: Option<Vec<String>>,
    pub bells: usize,
    pub titles: Vec<String>,
    /// In base64, as they came.
    pub copied: Vec<String>,
    /// Sequences to the desktop, their parts joined by `;`.
    pub words: Vec<String>,
}

impl Callbacks for Outside {
    fn audible_bell(&mut self, _: &mut Screen) {
        self.bells += 1;
    }

    fn set_window_title(&mut self, _: &mut Screen, title: &[u8]) {
        self.titles.push(String::from_utf8_lossy(title).into_owned());
    }

    fn copy_to_clipboard(&mut self, _: &mut Screen, _: &[u8], data: &[u8]) {
        self.copied.push(String::from_utf8_lossy(data).into_owned());
    }

    fn unhandled_osc(&mut self, _: &mut Screen, params: &[&[u8]]) {
        let parts: Vec<_> = params.iter().map(|part| String::from_utf8_lossy(part)).collect();
        self.words.push(parts.join(";"));
    }

    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        mark: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        sign: char,
    ) {
        let param = |at: usize| params.get(at).and_then(|param| param.first()).copied();
        match (mark, sign) {
            (Some(b'?'), 'h') => {
                self.frames += params.iter().filter(|mode| ***mode == [2026]).count();
                self.modes.extend(params.iter().flat_map(|mode| mode.iter()));
            }
            (Some(b'?'), 'l') => {
                if let (Some(film), true) = (&mut self.film, param(0) == Some(2026)) {
                    film.push(screen.contents());
                }
                params.iter().flat_map(|mode| mode.iter()).for_each(|mode| {
                    self.modes.remove(mode);
                });
            }
            (Some(b'>'), 'u') => self.kitty += 1,
            (Some(b'<'), 'u') => self.kitty -= 1,
            (Some(b'>'), 'm') if param(0) == Some(4) => {
                self.more_keys = param(1).unwrap_or_default();
            }
            (Some(b'?'), 'u') => self.answers.extend(b"\x1b[?0u"),
            (None, 'c') => self.answers.extend(b"\x1b[?62;c"),
            (None, 'n') if param(0) == Some(6) => {
                let (row, column) = screen.cursor_position();
                self.answers.extend(format!("\x1b[{};{}R", row + 1, column + 1).into_bytes());
            }
            _ => {}
        }
    }
}

pub struct Seen {
    parser: Parser<Outside>,
    /// The program has let go of the terminal.
    is_closed: bool,
    /// How often it asked for the mouse.
    pub mouse_wanted: usize,
    /// The last bytes of what came before.
    tail: Vec<u8>,
}

/// What asks a terminal for the mouse; each ends with the same letter.
const MOUSE: [&[u8]; 5] =
    [b"\x1b[?9h", b"\x1b[?1000h", b"\x1b[?1002h", b"\x1b[?1003h", b"\x1b[?1006h"];

impl Seen {
    fn take_in(&mut self, bytes: &[u8]) {
        // A sequence may come in two pieces.
        let joined = [self.tail.as_slice(), bytes].concat();
        let fresh = |at: usize, length: usize| at + length > self.tail.len();
        let asks = |want: &[u8]| {
            let windows = joined.windows(want.len()).enumerate();
            windows.filter(|(at, found)| *found == want && fresh(*at, want.len())).count()
        };
        let wanted = MOUSE.iter().map(|want| asks(want)).sum::<usize>();
        self.mouse_wanted += wanted;
        self.tail = joined[joined.len().saturating_sub(7)..].to_vec();
        self.parser.process(bytes);
    }

    pub fn text(&self) -> String {
        self.parser.screen().contents()
    }

    /// Whether the program has let go of the terminal.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub fn outside(&self) -> &Outside {
        self.parser.callbacks()
    }
}

pub struct Console {
    master: Box<dyn MasterPty + Send>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    child: Box<dyn Child + Send + Sync>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    /// The settings of the line before the program had it.
    line: String,
}

impl Console {
    pub fn start(place: &Place, args: &[&str], columns: u16, rows: u16) -> Self {
        Self::start_program(&place::program(), place, args, columns, rows)
    }

    pub fn start_program(
        program: &str,
        place: &Place,
        args: &[&str],
        columns: u16,
        rows: u16,
    ) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(place.path("project"));
        command.env_clear();
        for (name, value) in place.variables() {
            command.env(name, value);
        }
        let line = line_of(pair.master.as_ref());
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let parser = Parser::new_with_callbacks(rows, columns, 0, Outside::default());
        let seen = Arc::new((
            Mutex::new(Seen { parser, is_closed: false, mouse_wanted: 0, tail: Vec::new() }),
            Condvar::new(),
        ));
        read(pair.master.try_clone_reader().unwrap(), Arc::clone(&seen), Arc::clone(&writer));
        Self { master: pair.master, writer, child, seen, line }
    }

    /// The console on the playbook of a place, once it can be typed into.
    pub fn open(place: &Place, columns: u16, rows: u16) -> Self {
        Self::open_with(place, &[], columns, rows)
    }

    pub fn open_with(place: &Place, more: &[&str], columns: u16, rows: u16) -> Self {
        let book = place.book();
        let args: Vec<&str> =
            ["--playbook", &book].into_iter().chain(more.iter().copied()).collect();
        let console = Self::start(place, &args, columns, rows);
        console.until_text("to lead");
        console
    }

    /// The console with its whole team there.
    pub fn with_team(place: &Place, names: &[&str], columns: u16, rows: u16) -> Self {
        let mut console = Self::open(place, columns, rows);
        console.say("gather");
        console.until("the team is there and idle", |screen| {
            let text = screen.contents();
            text.contains("Everyone is here.")
                && names.iter().all(|name| text.contains(&format!("{name} is here.")))
                && text.contains("all quiet")
        });
        console
    }

    pub fn press(&mut self, keys: &str) {
        let mut writer = self.writer.lock().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// Types words and sees them before going on.
    pub fn type_words(&mut self, words: &str) {
        self.press(words);
        self.until(words, |screen| screen.contents().contains(words));
    }

    /// Types words into the composer, and sends them.
    pub fn say(&mut self, words: &str) {
        self.type_words(words);
        self.press("\r");
    }

    /// Waits for the dialog of an ask in which this is read, and for its keys to count.
    #[track_caller]
    pub fn until_asked(&self, words: &str) {
        self.until(&format!("an ask that can be answered: {words}"), |screen| {
            screen.contents().contains(words) && can_be_answered(screen)
        });
    }

    #[track_caller]
    pub fn until_no_ask_is_shown(&self) {
        self.until("no dialog", |screen| !screen.contents().contains("yes, once"));
    }

    /// A moment of a person who looks before going on: letters right behind the one that opened a
    /// page are typing, and go to the composer.
    pub fn reads(&self) {
        self.wait_for(Duration::from_millis(400), |_| false);
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.seen.0.lock().unwrap().parser.screen_mut().set_size(rows, columns);
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).unwrap();
    }

    /// Waits for a state; a failure shows the last screen.
    #[track_caller]
    pub fn until(&self, what: &str, ok: impl Fn(&Screen) -> bool) {
        self.wait(what, |seen| ok(seen.parser.screen()));
    }

    #[track_caller]
    pub fn until_text(&self, text: &str) {
        self.until(text, |screen| screen.contents().contains(text));
    }

    #[track_caller]
    pub fn wait(&self, what: &str, ok: impl Fn(&Seen) -> bool) {
        assert!(self.wait_for(PATIENCE, &ok), "waited for {what}, saw:\n{}", self.text());
    }

    /// Whether a state comes within a time.
    pub fn wait_for(&self, time: Duration, ok: impl Fn(&Seen) -> bool) -> bool {
        let end = Instant::now() + time;
        let mut seen = self.seen.0.lock().unwrap();
        while !ok(&seen) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
        true
    }

    pub fn text(&self) -> String {
        self.look(Seen::text)
    }

    pub fn look<T>(&self, at: impl Fn(&Seen) -> T) -> T {
        at(&self.seen.0.lock().unwrap())
    }

    /// Keeps what every frame shows from here on.
    pub fn start_film(&self) {
        self.seen.0.lock().unwrap().parser.callbacks_mut().film = Some(Vec::new());
    }

    pub fn end_film(&self) -> Vec<String> {
        let film = self.seen.0.lock().unwrap().parser.callbacks_mut().film.take();
        film.unwrap_or_default()
    }

    /// Kilobytes that the program has in memory, where that can be read.
    pub fn resident(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    pub fn process(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    pub fn signal(&self, name: &str) {
        let id = self.process().to_string();
        let sent = Command::new("kill").args([format!("-{name}"), id]).status().unwrap();
        assert!(sent.success());
    }

    /// Asserts that the terminal is nobody's: all that the console set is undone.
    #[track_caller]
    pub fn is_given_back(&self) {
        self.wait("the terminal is given back", |seen| !seen.parser.screen().alternate_screen());
        // The line is the last that is put back; it is no output that could be waited for.
        let end = Instant::now() + PATIENCE;
        while line_of(self.master.as_ref()) != self.line && Instant::now() < end {
            thread::yield_now();
        }
        assert_eq!(line_of(self.master.as_ref()), self.line, "the line is as it was");
        let seen = self.seen.0.lock().unwrap();
        let (screen, outside) = (seen.parser.screen(), seen.outside());
        let left = screen.contents();
        assert!(!screen.hide_cursor(), "the cursor is hidden:\n{left}");
        assert!(!screen.bracketed_paste(), "pastes are still bracketed:\n{left}");
        assert_eq!(screen.mouse_protocol_mode(), MouseProtocolMode::None, "{left}");
        assert_eq!(outside.modes, BTreeSet::new(), "modes that are still set:\n{left}");
        assert_eq!(outside.kitty, 0, "kitty keys are still on:\n{left}");
        assert_eq!(outside.more_keys, 0, "modified keys are still told:\n{left}");
    }

    /// Leaves by Ctrl+C twice.
    #[track_caller]
    pub fn quits(mut self) -> (u32, String) {
        self.press("\x03");
        self.until_text("again");
        self.press("\x03");
        self.ends()
    }

    /// Waits for the end, and checks that the terminal is as it was.
    #[track_caller]
    pub fn ends(mut self) -> (u32, String) {
        self.wait("the end of output", |seen| seen.is_closed);
        let status = self.child.wait().unwrap();
        self.is_given_back();
        (status.exit_code(), self.text())
    }
}

impl Drop for Console {
    /// A test that fails leaves nobody behind.
    fn drop(&mut self) {
        // It has ended already in a test that passes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line_of(master: &dyn MasterPty) -> String {
    let line = master.get_termios().unwrap();
    format!("{:?} {:?} {:?}", line.local_flags, line.input_flags, line.output_flags)
}

/// The keys of a dialog stand out from their words only when they count.
fn can_be_answered(screen: &Screen) -> bool {
    let (rows, columns) = screen.size();
    let found = screen.rows(0, columns).zip(0..rows).find_map(|(row, y)| {
        let at = row.find("y yes")?;
        Some((y, u16::try_from(row[..at].chars().count()).ok()?))
    });
    let Some((y, x)) = found else { return false };
    let colour = |x: u16| screen.cell(y, x).map(|cell| (cell.fgcolor(), cell.bold()));
    colour(x) != colour(x + 2)
}

/// Takes in all that the program writes.
fn read(
    mut from: Box<dyn Read + Send>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    answer: Arc<Mutex<Box<dyn Write + Send>>>,
) {
    thread::spawn(move || {
        let mut bytes = [0; 16 * 1024];
        // An error is the end, too: Linux tells the closing of a terminal by one.
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let mut now = seen.0.lock().unwrap();
            now.take_in(&bytes[..count]);
            let answers = std::mem::take(&mut now.parser.callbacks_mut().answers);
            drop(now);
            seen.1.notify_all();
            if !answers.is_empty() {
                // The program may be gone before it hears the answer.
                let _ = answer.lock().unwrap().write_all(&answers);
            }
        }
        seen.0.lock().unwrap().is_closed = true;
        seen.1.notify_all();
    });
}
