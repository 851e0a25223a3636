//! The rehearsal: a scripted model leads a real team on a scratch copy of a small project.
//! Nothing outside that copy is touched.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

use clap::Args;

use super::console::{self, ConsoleArgs};
use super::failure::Failure;
use super::out::Out;
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
const GREETING: &str = "This is a rehearsal: a scripted model plays the agents, the tools and the \
                        files are real. For your own code set a key, for example \
                        ANTHROPIC_API_KEY, and start quarterdeck in your project. Press Enter to \
                        have the team fix two bugs in a small program.";

/// The first prompt, which Enter sends.
const FIRST: &str = "fix the bugs";

#[derive(Debug, Args)]
pub struct Demo {
    /// Characters that the scripted model writes in a second; 0 is at once
    #[arg(long, value_name = "N")]
    pub pace: Option<u32>,
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
    rehearse(store, args, out)
}

/// Opens the console on the rehearsal.
pub fn rehearse(store: &Store, args: ConsoleArgs, out: &mut Out) -> Result<(), Failure> {
    if !console::has_terminal() {
        return console::run(store, &args, out);
    }
    let project = enter_scratch()?;
    let args = ConsoleArgs {
        playbook: Some(PathBuf::from(NAME)),
        greeting: Some(GREETING.to_owned()),
        first: Some(FIRST.to_owned()),
        ..args
    };
    let left = console::run(store, &args, out);
    out.remark(&format!(
        "The scratch project is {}: `sh tests/run.sh` runs its tests, `git diff` shows what was done.",
        project.display()
    ));
    left
}

/// Whether this playbook is the embedded one.
pub fn is_demo(playbook: &Path) -> bool {
    playbook == Path::new(NAME) && !playbook.is_file()
}

/// Makes a scratch copy of the project and goes there.
pub fn enter_scratch() -> Result<PathBuf, Failure> {
    let made = scratch();
    let failed = |error: io::Error| {
        Failure::no("demo", format!("the scratch project could not be made: {error}"))
    };
    let project = made.map_err(failed)?;
    env::set_current_dir(&project)?;
    Ok(project)
}

fn scratch() -> io::Result<PathBuf> {
    let id = uuid::Uuid::new_v4().simple().to_string();
    let project = env::temp_dir().join(format!("quarterdeck-demo-{}", &id[..8])).join("stock");
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
    for arguments in
        [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "-m", "Stock"]]
    {
        git(&project, arguments)?;
    }
    project.canonicalize()
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
