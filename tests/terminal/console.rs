//! A pseudo-terminal with the program in it. Tests wait for a state that has a name, never for a
//! time; when it does not come, they show the last screen.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use tempfile::TempDir;
use vt100::{Callbacks, MouseProtocolMode, Parser, Screen};

/// Long, for a machine that does much else. Nothing that works takes it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A project, a home and a user of their own, and a playbook instead of a model.
pub struct Place {
    dir: TempDir,
}

impl Place {
    /// The lead has these turns, written as YAML list items.
    pub fn new(turns: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["project", "user", "home"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let turns: String = turns.lines().map(|line| format!("      {line}\n")).collect();
        let book = format!("name: test\npace: 0\nactors:\n  - who: team-lead\n    turns:\n{turns}");
        fs::write(dir.path().join("book.yaml"), book).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub fn book(&self) -> String {
        self.path("book.yaml").display().to_string()
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let path = std::env::var("PATH").unwrap_or_default();
        let user = self.path("user").display().to_string();
        vec![
            ("PATH", path),
            ("HOME", user),
            ("QUARTERDECK_HOME", self.path("home").display().to_string()),
            ("TERM", "xterm-256color".to_owned()),
            ("COLORTERM", "truecolor".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("SHELL", "/bin/sh".to_owned()),
        ]
    }

    /// Runs the program without a terminal.
    pub fn run(&self, args: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quarterdeck"));
        command.args(args).current_dir(self.path("project")).env_clear().envs(self.variables());
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    }
}

/// Answers what programs ask of a terminal.
#[derive(Default)]
struct Answers(Vec<u8>);

impl Callbacks for Answers {
    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        mark: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        sign: char,
    ) {
        match (mark, sign) {
            (Some(b'?'), 'u') => self.0.extend(b"\x1b[?0u"),
            (None, 'c') => self.0.extend(b"\x1b[?62;c"),
            (None, 'n') if params.first().is_some_and(|param| *param == [6]) => {
                let (row, column) = screen.cursor_position();
                self.0.extend(format!("\x1b[{};{}R", row + 1, column + 1).into_bytes());
            }
            _ => {}
        }
    }
}

struct Seen {
    parser: Parser<Answers>,
    /// The program has let go of the terminal.
    is_closed: bool,
}

pub struct Console {
    master: Box<dyn MasterPty + Send>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    child: Box<dyn Child + Send + Sync>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

impl Console {
    pub fn start(place: &Place, args: &[&str], columns: u16, rows: u16) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_quarterdeck"));
        command.args(args);
        command.cwd(place.path("project"));
        command.env_clear();
        for (name, value) in place.variables() {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let parser = Parser::new_with_callbacks(rows, columns, 0, Answers::default());
        let seen = Arc::new((Mutex::new(Seen { parser, is_closed: false }), Condvar::new()));
        read(pair.master.try_clone_reader().unwrap(), Arc::clone(&seen), Arc::clone(&writer));
        Self { master: pair.master, writer, child, seen }
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
    fn wait(&self, what: &str, ok: impl Fn(&Seen) -> bool) {
        let end = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().unwrap();
        while !ok(&seen) {
            let left = end.saturating_duration_since(Instant::now());
            let screen = seen.parser.screen().contents();
            assert!(!left.is_zero(), "waited for {what}, saw:\n{screen}");
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.process_id().unwrap().to_string();
        let sent = Command::new("kill").args([format!("-{name}"), id]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end, and checks that the terminal is as it was.
    #[track_caller]
    pub fn ends(mut self) -> (u32, String) {
        let status = self.child.wait().unwrap();
        self.wait("the end of output", |seen| seen.is_closed);
        let seen = self.seen.0.lock().unwrap();
        let screen = seen.parser.screen();
        let left = screen.contents();
        assert!(!screen.alternate_screen(), "still on the other screen:\n{left}");
        assert!(!screen.hide_cursor(), "the cursor is hidden:\n{left}");
        assert!(!screen.bracketed_paste(), "pastes are still bracketed:\n{left}");
        assert_eq!(screen.mouse_protocol_mode(), MouseProtocolMode::None, "{left}");
        (status.exit_code(), left)
    }
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
            now.parser.process(&bytes[..count]);
            let answers = std::mem::take(&mut now.parser.callbacks_mut().0);
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
