//! The rehearsal: a scripted model leads a real team on a scratch copy of a small project.
//! Nothing outside that copy is touched.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io, thread};

use clap::Args;

use super::console::{self, ConsoleArgs, Rehearsal};
use super::failure::Failure;
use super::out::Out;
use crate::console::state::story::{Stage, Story};
use crate::store::Store;

/// What `--playbook demo` means where no such file is.
pub const NAME: &str = "demo";

const FILES: [(&str, &str); 8] = [
    (".claude/settings.json", include_str!("../../assets/demo-project/.claude/settings.json")),
    ("README.md", include_str!("../../assets/demo-project/README.md")),
    ("data/stock.csv", include_str!("../../assets/demo-project/data/stock.csv")),
    ("lib/low.awk", include_str!("../../assets/demo-project/lib/low.awk")),
    ("lib/total.awk", include_str!("../../assets/demo-project/lib/total.awk")),
    ("stock.sh", include_str!("../../assets/demo-project/stock.sh")),
    ("tests/run.sh", include_str!("../../assets/demo-project/tests/run.sh")),
    ("tests/three.csv", include_str!("../../assets/demo-project/tests/three.csv")),
];

/// What the lead says before anybody asked.
const GREETING: &[&str] = &[
    "This is a rehearsal with a scripted model. For a real one, set ANTHROPIC_API_KEY and run \
     quarterdeck in your project.",
    "Welcome aboard. Press Enter and four agents fix two bugs in a small program; they ask you \
     before they change or run anything.",
    "Ctrl+Y opens the oldest request, y or n answers it, Shift+↑/↓ goes from one agent to the next, \
     and F1 shows all keys.",
];

/// The first prompt, which Enter sends.
const FIRST: &str = "fix the bugs";

/// What the lead says when the story is told. A test finds it in the playbook.
const LAST_WORDS: &str = "That was the rehearsal";

/// The command that is offered then.
const OFFER: &str = "/diff";

#[derive(Debug, Args)]
#[command(
    after_help = "It works only in a scratch copy of a small program, in the temporary directory. Without a screen: quarterdeck run --playbook demo -p \
                        'fix the bugs' --on-ask allow"
)]
pub struct Demo {
    /// Characters per second that the scripted model writes; 0 means at once
    #[arg(long, value_name = "N")]
    pub pace: Option<u32>,
    /// Leave the console when the story is over; for scripts that press the keys
    #[arg(long)]
    pub exit_after_demo: bool,
    /// dark, light, sixteen, contrast or plain [default: what suits the terminal]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
    /// Draw with ASCII signs only
    #[arg(long)]
    pub ascii: bool,
}

pub fn run(store: &Store, demo: &Demo, out: &mut Out) -> Result<(), Failure> {
    let args = ConsoleArgs {
        pace: demo.pace,
        theme: demo.theme.clone(),
        no_mouse: demo.no_mouse,
        ascii: demo.ascii,
        ..ConsoleArgs::default()
    };
    rehearse(store, args, demo.exit_after_demo, out)
}

/// Opens the console on the rehearsal.
pub fn rehearse(
    store: &Store,
    args: ConsoleArgs,
    leave: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    if !console::has_terminal() {
        return console::run(store, &args, out);
    }
    // Git works while the first screen is drawn: the story needs it much later.
    let (project, repository) = scratch().map_err(failed)?;
    env::set_current_dir(&project)?;
    let args = ConsoleArgs {
        playbook: Some(PathBuf::from(NAME)),
        rehearsal: Some(rehearsal(project, leave)),
        ..args
    };
    let left = console::run(store, &args, out);
    if let Err(error) = repository.made() {
        out.remark(&format!("quarterdeck: the scratch project has no repository: {error}"));
    }
    left
}

/// How it looks on the screen.
pub fn rehearsal(project: PathBuf, leave: bool) -> Rehearsal {
    let story = Story {
        last_words: LAST_WORDS.to_owned(),
        offer: OFFER.to_owned(),
        leave,
        stage: Stage::Playing,
    };
    Rehearsal { greeting: GREETING, first: FIRST, story, project }
}

/// Whether this playbook is the embedded one.
pub fn is_demo(playbook: &Path) -> bool {
    playbook == Path::new(NAME) && !playbook.is_file()
}

/// Makes a scratch copy of the project and goes there.
pub fn enter_scratch() -> Result<PathBuf, Failure> {
    let (project, repository) = scratch().map_err(failed)?;
    repository.made().map_err(failed)?;
    env::set_current_dir(&project)?;
    Ok(project)
}

fn failed(error: io::Error) -> Failure {
    Failure::no("demo", format!("the scratch project could not be made: {error}"))
}

/// A repository that is being made.
pub struct Repository(thread::JoinHandle<io::Result<()>>);

impl Repository {
    /// Waits for it.
    pub fn made(self) -> io::Result<()> {
        self.0.join().unwrap_or_else(|_| Err(io::Error::other("git took too long")))
    }
}

fn scratch() -> io::Result<(PathBuf, Repository)> {
    let id = uuid::Uuid::new_v4().simple().to_string();
    let project = env::temp_dir().join(format!("quarterdeck-demo-{}", &id[..8])).join("stock");
    let repository = fill(&project)?;
    Ok((project.canonicalize()?, repository))
}

/// Makes the project, with a repository of its own.
pub fn fill(project: &Path) -> io::Result<Repository> {
    let path = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&path).any(|dir| dir.join("git").is_file()) {
        return Err(io::Error::other("it needs git; install it with your system's packages"));
    }
    for (name, text) in FILES {
        let path = project.join(name);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(&path, text)?;
        if name.ends_with(".sh") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    let project = project.to_owned();
    Ok(Repository(thread::spawn(move || {
        git(&project, &["init", "--quiet"])?;
        git(&project, &["add", "--all"])?;
        git(&project, &["commit", "--quiet", "-m", "Stock"])
    })))
}

/// Git without anything of the person's configuration that could ask or refuse.
fn git(project: &Path, arguments: &[&str]) -> io::Result<()> {
    let run = Command::new("git")
        .args(["-c", "user.name=Quarterdeck", "-c", "user.email=demo@localhost"])
        .args(["-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"])
        .args(arguments)
        .current_dir(project)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .output()?;
    match run.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&run.stderr).trim().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::choose::demo_playbook;

    #[test]
    fn the_playbook_has_the_words_that_end_it_and_takes_what_is_suggested() {
        let book = include_str!("../../assets/playbooks/demo.yaml");
        assert_eq!(book.matches(LAST_WORDS).count(), 2, "with changes, and without any");
        let lead = &demo_playbook().actors[0];
        let taken = |when: &regex::Regex| when.is_match(FIRST);
        assert!(lead.turns.iter().any(|turn| turn.when.user.as_ref().is_some_and(taken)));
        assert!(crate::console::commands::named(OFFER.trim_start_matches('/')).is_some());
    }

    #[test]
    fn every_file_of_the_project_is_in_the_scratch_copy() {
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo-project");
        let mut found: Vec<String> = ignore::WalkBuilder::new(&assets)
            .standard_filters(false)
            .build()
            .filter_map(Result::ok)
            .filter(|entry| entry.path().is_file())
            .filter_map(|entry| {
                Some(entry.path().strip_prefix(&assets).ok()?.display().to_string())
            })
            .collect();
        found.sort();
        assert_eq!(found, FILES.map(|(name, _)| name.to_owned()));
    }
}
