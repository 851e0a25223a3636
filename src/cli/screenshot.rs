//! `quarterdeck screenshot`: a picture of the real console on a real session, without a terminal.
//!
//! A playbook answers instead of a model. The session works in a scratch directory that is gone
//! afterwards, with a copy of the project if one is given, and keeps its files there, too.

use std::env;
use std::fs;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use ratatui::buffer::Buffer;

use super::console::{ConsoleArgs, keymap};
use super::demo;
use super::failure::Failure;
use super::out::Out;
use super::run::begin::{self, Begun};
use crate::console::keys::Chord;
use crate::console::picture::{self, Format, Look};
use crate::console::stage::{START, Stage, StageError};
use crate::console::state::{Opening, State};
use crate::console::view::theme::Theme;
use crate::settings::paths::Home;
use crate::store::{Durability, Store};

const EXAMPLES: &str = r#"Examples:
  quarterdeck screenshot --playbook demo -o first.png
  quarterdeck screenshot --playbook demo --keys "<ret>" --until "needs you" -o deck.png
  quarterdeck screenshot --playbook mine.yaml --keys "go<ret>" --until "asks to" \
      --keys "<C-y>" --until "once" --size 120x36 --theme light -o ask.svg
  quarterdeck screenshot --playbook demo --pace 400 --keys "<ret>" \
      --until "That was the rehearsal" --patience 120 -o rehearsal.gif

Each --keys is pressed in turn; then the --until at the same position is waited for. Keys are
written as in the console's help: `y`, `<C-y>`, `<S-up>`, `<ret>`."#;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Screenshot {
    /// The playbook that answers instead of a model; `demo` is the rehearsal with its project
    #[arg(long, value_name = "FILE")]
    pub playbook: PathBuf,
    /// Characters per second that the scripted model writes; 0 means at once
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub pace: u32,
    /// Columns and rows of the terminal
    #[arg(long, value_name = "WxH", default_value = "160x45", value_parser = size)]
    pub size: (u16, u16),
    /// Keys to press; can be repeated
    #[arg(long, value_name = "KEYS", allow_hyphen_values = true)]
    pub keys: Vec<String>,
    /// Text to wait for after them; can be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub until: Vec<String>,
    /// Where the picture goes: a .png, .svg or .txt file, or a .gif film of the whole script, in
    /// which every ask is allowed
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: PathBuf,
    /// dark, light, sixteen, contrast or plain
    #[arg(long, value_name = "NAME", default_value = "dark")]
    pub theme: String,
    /// default, acceptEdits, plan, bypassPermissions, dontAsk or delegate
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<String>,
    /// A directory to copy as the agents' project
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// How many seconds to wait for a text
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub patience: u64,
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let both = text.split_once('x').and_then(|(width, height)| {
        let number = |text: &str| text.parse().ok().filter(|number| (1..=500).contains(number));
        Some((number(width)?, number(height)?))
    });
    both.ok_or_else(|| "write it as 160x45, each between 1 and 500".to_owned())
}

pub fn run(args: &Screenshot, out: &mut Out) -> Result<(), Failure> {
    let bad = |error: &dyn std::fmt::Display| Failure::bad_input(error.to_string());
    let format = Format::of(&args.output).map_err(|error| bad(&error))?;
    let theme = Theme::find(&args.theme).map_err(|error| bad(&error))?;
    let script = script(args)?;
    // Before the directory changes.
    let here = env::current_dir()?;
    let is_demo = demo::is_demo(&args.playbook);
    let playbook = if is_demo { args.playbook.clone() } else { here.join(&args.playbook) };
    let output = here.join(&args.output);
    let project = args.project.as_ref().map(|dir| here.join(dir));
    let scratch = Scratch::new(project.as_deref())?;
    if is_demo {
        demo::fill(&scratch.project()).and_then(demo::Repository::made)?;
    }
    env::set_current_dir(scratch.project())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let session = ConsoleArgs {
        playbook: Some(playbook),
        pace: Some(args.pace),
        rehearsal: is_demo.then(|| demo::rehearsal(scratch.project(), false)),
        permission_mode: args.permission_mode.clone(),
        ..ConsoleArgs::default()
    };
    let look = Look::for_theme(&theme.name);
    let drawn = runtime.block_on(play(&scratch, &session, args, theme, &script, out));
    runtime.shutdown_timeout(Duration::from_millis(200));
    env::set_current_dir(&here)?;
    let bytes = match (drawn?.as_slice(), format) {
        (pictures, Format::Gif) => picture::film::of(pictures, &look),
        ([.., (last, _)], _) => picture::file(last, &look, format),
        ([], _) => Err(picture::PictureError::Size),
    };
    let bytes = bytes.map_err(|error| bad(&error))?;
    fs::write(&output, bytes)
        .map_err(|error| Failure::no("io", format!("{}: {error}", output.display())))?;
    let name = output.display().to_string();
    out.answer(&serde_json::json!({ "file": name }), || name.clone())
}

struct Step {
    keys: Vec<Chord>,
    until: Option<String>,
}

fn script(args: &Screenshot) -> Result<Vec<Step>, Failure> {
    let many = args.keys.len().max(args.until.len());
    let step = |nth: usize| {
        let keys = args.keys.get(nth).map_or("", String::as_str);
        let keys = Chord::parse_all(keys).map_err(|error| Failure::bad_input(error.to_string()))?;
        Ok(Step { keys, until: args.until.get(nth).cloned() })
    };
    (0..many).map(step).collect()
}

async fn play(
    scratch: &Scratch,
    session: &ConsoleArgs,
    args: &Screenshot,
    theme: Theme,
    script: &[Step],
    out: &mut Out,
) -> Result<Vec<(Buffer, Duration)>, Failure> {
    let store = Store::open(Home::at(scratch.home()), Durability::ProcessCrash);
    let Begun { live, .. } = begin::begin(&store, &session.as_run(), out, pending()).await?;
    let mut state = State::new(Opening {
        lead: live.office.lead(),
        now: START,
        session: "rehearsal".to_owned(),
        project: PROJECT.to_owned(),
        keymap: keymap()?,
        mouse: false,
        theme: theme.name.clone(),
    });
    if let Some(rehearsal) = &session.rehearsal {
        rehearsal.open(&live, &mut state);
    }
    let failed = |error: StageError| Failure::no("not_seen", error.to_string());
    let drawn = async {
        let stage = Stage::open(&live, state, theme, args.size)?;
        let mut stage =
            stage.showing(&scratch.project(), PROJECT).showing(&scratch.home(), "~/.quarterdeck");
        let is_film = Format::of(&args.output).is_ok_and(|format| format == Format::Gif);
        stage = if is_film { stage.filming() } else { stage };
        for step in script {
            stage.press(&step.keys).await;
            match &step.until {
                Some(text) => stage.until(text, Duration::from_secs(args.patience)).await?,
                None => stage.settle().await,
            }
        }
        stage.settle().await;
        let mut pictures = stage.film();
        pictures.push((stage.picture().await?, picture::film::LAST));
        Ok(pictures)
    };
    let drawn = drawn.await;
    live.end().await;
    drawn.map_err(failed)
}

/// Where the agents seem to work.
const PROJECT: &str = "/demo";

/// A directory of its own, gone when this is.
struct Scratch(PathBuf);

impl Scratch {
    fn new(project: Option<&Path>) -> Result<Self, Failure> {
        let name = format!("quarterdeck-{}", uuid::Uuid::new_v4().simple());
        let scratch = Self(env::temp_dir().join(name));
        fs::create_dir_all(scratch.project())?;
        fs::create_dir_all(scratch.home())?;
        if let Some(from) = project {
            copy(from, &scratch.project()).map_err(|error| {
                Failure::bad_input(format!("--project {}: {error}", from.display()))
            })?;
        }
        Ok(scratch)
    }

    fn project(&self) -> PathBuf {
        self.0.join("demo")
    }

    fn home(&self) -> PathBuf {
        self.0.join("home")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the temporary directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Files and directories; links are not followed.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            fs::create_dir_all(&target)?;
            copy(&source, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}
