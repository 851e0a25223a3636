//! `quarterdeck` alone, or `quarterdeck console`: a session with the full-screen console on it.

use std::env;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;

use super::failure::Failure;
use super::out::Out;
use super::run::args::{InputFormat, OnAsk, Run};
use super::run::begin::{self, Begun};
use super::{demo, doctor, model};
use crate::console::keys::Keymap;
use crate::console::runtime::files::HistoryFile;
use crate::console::runtime::looks::Library;
use crate::console::runtime::{self, Deck, Opened, Options};
use crate::console::state::story::Story;
use crate::console::state::{Opening, State};
use crate::console::update::{Msg, Parting};
use crate::console::view::surroundings::{Surroundings, Wish};
use crate::console::view::theme::Theme;
use crate::model::choose::Origin;
use crate::protocol::event::{Event, Fact, Level};
use crate::protocol::ids::{AgentId, AgentName, SessionId, TeamName};
use crate::protocol::time::Stamp;
use crate::session::live::Live;
use crate::settings::{layers, paths};
use crate::store::Store;
use crate::worktree::{self, Outcome};

#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct ConsoleArgs {
    /// The model of the lead: an alias, or `provider/model`
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// The agent definition that the lead follows
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// More agent definitions: a JSON object of names and fields
    #[arg(long, value_name = "JSON")]
    pub agents: Option<String>,
    /// default, acceptEdits, plan, bypassPermissions, dontAsk or delegate
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<String>,
    /// One more directory to work in; can be repeated
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,
    /// One more settings file
    #[arg(long, value_name = "FILE")]
    pub settings: Vec<PathBuf>,
    /// The most the session may spend, in US dollars
    #[arg(long, value_name = "USD")]
    pub max_budget_usd: Option<f64>,
    /// Resume the newest session of this directory
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub go_on: bool,
    /// Resume this session; the beginning of its id is enough
    #[arg(short = 'r', long, value_name = "ID")]
    pub resume: Option<String>,
    /// Play a playbook instead of asking a model
    #[arg(long, value_name = "FILE")]
    pub playbook: Option<PathBuf>,
    /// Characters per second that a playbook's model writes; 0 means at once
    #[arg(long, value_name = "N", requires = "playbook")]
    pub pace: Option<u32>,
    /// What is rehearsed, if it is a rehearsal.
    #[arg(skip)]
    pub rehearsal: Option<Rehearsal>,
    /// Work in a separate git worktree; it is kept if anything changed in it
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub worktree: Option<String>,
    /// dark, light, sixteen, contrast or plain [default: what suits the terminal]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
}

/// How a rehearsal begins and ends on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsal {
    /// What the lead says before anybody asked, a line each.
    pub greeting: &'static [&'static str],
    /// What the composer suggests at first.
    pub first: &'static str,
    pub story: Story,
    /// The scratch copy that it works in.
    pub project: PathBuf,
}

impl Rehearsal {
    /// The lead greets, and the first prompt is suggested.
    pub fn open(&self, live: &Live, state: &mut State) {
        for line in self.greeting {
            let told = Fact::Notice { level: Level::Info, text: (*line).to_owned() };
            live.office.journal.emit(Some(&live.office.lead()), told);
        }
        state.composer.offer = Some(self.first.to_owned());
        state.story = Some(self.story.clone());
    }
}

impl ConsoleArgs {
    /// The same session, as `run` would begin it.
    pub fn as_run(&self) -> Run {
        Run {
            prompt: None,
            output_format: None,
            input_format: InputFormat::Text,
            model: self.model.clone(),
            agent: self.agent.clone(),
            agents: self.agents.clone(),
            permission_mode: self.permission_mode.clone(),
            dangerously_skip_permissions: false,
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            tools: Vec::new(),
            add_dir: self.add_dir.clone(),
            settings: self.settings.clone(),
            on_ask: OnAsk::Wait,
            max_turns: None,
            max_budget_usd: self.max_budget_usd,
            go_on: self.go_on,
            resume: self.resume.clone(),
            playbook: self.playbook.clone(),
            fork: false,
            worktree: self.worktree.clone(),
            auto_background_after: None,
            on_screen: true,
            pace: self.pace,
        }
    }
}

impl ConsoleArgs {
    /// The same, but for another session.
    fn going_on_with(&self, session: &SessionId) -> Self {
        Self {
            resume: Some(session.to_string()),
            go_on: false,
            rehearsal: None,
            worktree: None,
            ..self.clone()
        }
    }
}

/// Whether there is a terminal to draw on.
pub fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

pub fn run(store: &Store, args: &ConsoleArgs, out: &mut Out) -> Result<(), Failure> {
    if !has_terminal() {
        let what = "the console needs a terminal; `quarterdeck run -p TEXT` works without one";
        return Err(Failure::bad_input(what));
    }
    // What can be wrong is found before anything is started.
    let theme = theme(args)?;
    let keymap = keymap()?;
    if is_first_run(args)? {
        return demo::rehearse(store, args.clone(), false, out);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut args = args.clone();
    let outcome = loop {
        let opened = console(store, &args, theme.clone(), keymap.clone(), out);
        match runtime.block_on(opened) {
            Ok(None) => break Ok(()),
            Ok(Some(next)) => args = args.going_on_with(&next),
            Err(failure) => break Err(failure),
        }
    };
    // A tool that hangs in a blocking call must not keep the program from ending.
    runtime.shutdown_timeout(Duration::from_millis(200));
    outcome
}

/// Whether nothing says which model to use: then there is a rehearsal to see.
fn is_first_run(args: &ConsoleArgs) -> Result<bool, Failure> {
    if args.playbook.is_some() || args.go_on || args.resume.is_some() {
        return Ok(false);
    }
    let (_, origin) = model::chosen(&model::catalog()?, args.model.as_deref())?;
    Ok(origin == Origin::NothingConfigured)
}

/// The theme that was asked for, or the one that suits the terminal.
pub fn theme(args: &ConsoleArgs) -> Result<Theme, Failure> {
    let around = Surroundings::read(|name| env::var(name).ok());
    let wish = Wish { theme: args.theme.clone(), ascii: args.ascii };
    around.theme(&wish).map_err(|error| Failure::bad_input(error.to_string()))
}

/// The keys of the table with those of `keys.toml` in the configuration on top.
pub fn keymap() -> Result<Keymap, Failure> {
    let Some(file) = paths::config_dir().map(|dir| dir.join("keys.toml")) else {
        return Ok(Keymap::default());
    };
    let name = file.display().to_string();
    match fs::read_to_string(&file) {
        Ok(text) => {
            Keymap::with_file(&name, &text).map_err(|error| Failure::bad_input(error.to_string()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Keymap::default()),
        Err(error) => Err(Failure::bad_input(format!("{name}: {error}"))),
    }
}

/// What is seen while the session begins: the console as it will be, with nobody in it yet.
fn first_frame(args: &ConsoleArgs, theme: Theme, keymap: Keymap) -> Deck {
    let now = Stamp::from(SystemTime::now());
    let lead = AgentId::new(&AgentName::lead(), &TeamName::found("session"));
    let project = env::current_dir().unwrap_or_default().display().to_string();
    let mut state = State::new(Opening {
        lead: lead.clone(),
        now,
        session: String::new(),
        project,
        keymap,
        mouse: !args.no_mouse,
        theme: theme.name.clone(),
    });
    let rehearsal = args.rehearsal.as_ref();
    if let Some(rehearsal) = rehearsal {
        state.composer.offer = Some(rehearsal.first.to_owned());
    }
    let mut deck = Deck::new(state, theme);
    for line in rehearsal.map_or(&[][..], |rehearsal| rehearsal.greeting) {
        let fact = Fact::Notice { level: Level::Info, text: (*line).to_owned() };
        let event = Event { seq: 0, at: now, agent: Some(lead.clone()), fact };
        deck.absorb(Msg::Event(Arc::new(event)));
    }
    deck
}

async fn console(
    store: &Store,
    args: &ConsoleArgs,
    theme: Theme,
    keymap: Keymap,
    out: &mut Out,
) -> Result<Option<SessionId>, Failure> {
    let no_terminal = |error: io::Error| Failure::no("terminal", format!("the terminal: {error}"));
    let first = first_frame(args, theme.clone(), keymap.clone());
    let mut opened = Opened::showing(first, !args.no_mouse).map_err(no_terminal)?;
    out.hold_remarks();
    let begun = begin::begin(store, &args.as_run(), out, opened.told_to_end()).await;
    let remarks = out.take_remarks();
    let Begun { live, tree } = match begun {
        Ok(begun) => begun,
        Err(failure) => {
            drop(opened);
            remarks.iter().for_each(|remark| out.remark(remark));
            return Err(failure);
        }
    };
    let project = live.office.project.clone();
    let mut state = State::new(Opening {
        lead: live.office.lead(),
        now: Stamp::from(SystemTime::now()),
        session: live.session().to_string(),
        project: project.display().to_string(),
        keymap,
        mouse: !args.no_mouse,
        theme: theme.name.clone(),
    });
    state.offers.kinds = live.agent_types();
    state.offers.models = live.office.brains.names();
    // A mistake in the settings was told when the session began.
    let settings = layers::load(&layers::files(&project)).unwrap_or_default();
    state.asks.opening = settings.asks.open;
    if let Some(seconds) = settings.stalled_after {
        state.agents.be_patient_for(Duration::from_secs_f64(seconds).as_secs());
    }
    if let Some(rehearsal) = &args.rehearsal {
        rehearsal.open(&live, &mut state);
    }
    for remark in remarks {
        state.say(Level::Warning, remark);
    }
    let options = Options {
        theme,
        history: HistoryFile::of(&store.home().ours(), &project),
        library: Library { project, home: store.home().clone(), doctor: doctor::report },
    };
    let left = runtime::run(&live, state, options, opened).await;
    let parting = left.as_ref().unwrap_or(&Parting::Suspend).clone();
    let farewell = match &args.rehearsal {
        Some(rehearsal) => Farewell::of_rehearsal(&rehearsal.project, &parting),
        None => Farewell::of(&live, &parting),
    };
    match parting {
        Parting::End => live.end().await,
        Parting::Suspend => live.suspend().await,
        Parting::Resume(next) => {
            live.suspend().await;
            tree.map(worktree::clean_up);
            return Ok(Some(next));
        }
    }
    out.remark(&farewell.happened);
    if let Some(Outcome::Kept { path, branch, changes, .. }) = tree.map(worktree::clean_up) {
        let (path, summary) = (path.display(), changes.summary);
        out.remark(&format!("The work is in {path} on {branch}: {summary}"));
    }
    out.remark(&farewell.resume);
    left.map(|_| None).map_err(no_terminal)
}

/// What the shell shows when the console is gone.
struct Farewell {
    happened: String,
    resume: String,
}

impl Farewell {
    /// The session lives in the scratch copy, not where the shell is.
    fn of_rehearsal(project: &Path, parting: &Parting) -> Self {
        let project = project.display();
        let (happened, resume) = match parting {
            Parting::End => (
                format!(
                    "The rehearsal worked in {project}: `git diff` there shows what changed, `sh \
                     tests/run.sh` runs its tests."
                ),
                "Play it again: quarterdeck demo   Your own code: set ANTHROPIC_API_KEY, then run \
                 quarterdeck in your project"
                    .to_owned(),
            ),
            Parting::Suspend | Parting::Resume(_) => (
                "The rehearsal is paused; open asks stay open.".to_owned(),
                format!("Resume with: cd {project} && quarterdeck -c --playbook demo"),
            ),
        };
        Self { happened, resume }
    }

    fn of(live: &Live, parting: &Parting) -> Self {
        let spent = live.spent();
        let cost = match spent.usd {
            usd if usd > 0.0 => format!(" It cost ${usd:.2} so far."),
            _ => String::new(),
        };
        let happened = match parting {
            Parting::End => format!("The session has ended, and all agents with it.{cost}"),
            Parting::Suspend | Parting::Resume(_) => {
                format!("The session is paused; open asks stay open.{cost}")
            }
        };
        let id = live.session().as_str();
        let id = id.get(..8).unwrap_or(id);
        Self { happened, resume: format!("Resume with: quarterdeck -c   or: quarterdeck -r {id}") }
    }
}
