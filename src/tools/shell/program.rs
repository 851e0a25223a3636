//! Which shell commands run in, and how one is started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::Pid;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};

use super::environment::Variables;
use super::tree::Leader;

/// What surrounds a command. It comes in as an argument and goes to `eval`, so nothing in it can
/// be taken for a part of this. Where the command ends up is written down however it ends,
/// unless it sets a trap of its own and leaves by `exit`.
///
/// Arguments: the snapshot, the file for the last directory, `aliases` and `functions` if they
/// are wanted, the command.
const AROUND: &str = r#"
unalias -a 2>/dev/null
__quarterdeck_aliases=$3
__quarterdeck_functions=$4
[ -r "$1" ] && . "$1" >/dev/null 2>&1
__quarterdeck_cwd=$2
__quarterdeck_command=$5
set --
trap 'command pwd -P >|"$__quarterdeck_cwd" 2>/dev/null' EXIT
eval "$__quarterdeck_command"
"#;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bash,
    Zsh,
    /// Any other: aliases, but no options and functions of the user.
    Plain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    pub path: PathBuf,
    pub kind: Kind,
}

/// Which parts of the snapshot were known when the command was decided upon.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub aliases: bool,
    pub functions: bool,
}

impl Program {
    /// The user's shell if it is one that we know, else bash, else whatever `sh` is.
    pub(super) fn choose(users: Option<&Path>) -> Self {
        let known = [users, Some(Path::new("/bin/bash")), Some(Path::new("/usr/bin/bash"))];
        let known = known.into_iter().flatten().filter(|path| path.is_absolute());
        let mut known = known.filter(|path| path.is_file()).filter_map(Self::of);
        known.next().unwrap_or_else(|| Self { path: "/bin/sh".into(), kind: Kind::Plain })
    }

    fn of(path: &Path) -> Option<Self> {
        let kind = match path.file_name()?.to_str()? {
            "bash" => Kind::Bash,
            "zsh" => Kind::Zsh,
            _ => return None,
        };
        Some(Self { path: path.to_owned(), kind })
    }

    pub(super) const fn name(&self) -> &'static str {
        match self.kind {
            Kind::Bash => "bash",
            Kind::Zsh => "zsh",
            Kind::Plain => "sh",
        }
    }

    /// The arguments with which this shell runs a command.
    pub(super) fn around(
        &self,
        snapshot: Option<&Path>,
        cwd_file: &Path,
        known: Known,
        command: &str,
    ) -> Vec<OsString> {
        // What start-up files would do is in the snapshot already.
        let quiet: &[&str] = match self.kind {
            Kind::Bash => &["--noprofile", "--norc", "-c"],
            Kind::Zsh => &["-f", "-c"],
            Kind::Plain => &["-c"],
        };
        let mut all: Vec<OsString> = quiet.iter().map(OsString::from).collect();
        all.extend([AROUND.into(), self.name().into()]);
        all.push(snapshot.map_or_else(OsString::new, Into::into));
        all.push(cwd_file.into());
        all.push(if known.aliases { "aliases" } else { "" }.into());
        all.push(if known.functions { "functions" } else { "" }.into());
        all.push(command.into());
        all
    }
}

/// What to start, and where.
#[derive(Debug)]
pub(super) struct Start<'a> {
    pub program: &'a Path,
    pub arguments: Vec<OsString>,
    pub environment: Variables,
    pub cwd: &'a Path,
    /// The program that gives it a session of its own, where there is one.
    pub setsid: Option<&'a Path>,
}

#[derive(Debug)]
pub(super) struct Running {
    pub child: Child,
    /// Both outputs, in the order of writing.
    pub output: Receiver,
    pub leader: Leader,
}

/// The program `setsid`, if the system has one.
pub(super) fn find_setsid(path: Option<&OsStr>) -> Option<PathBuf> {
    let path = path.unwrap_or(OsStr::new("/usr/bin:/bin"));
    std::env::split_paths(path).map(|dir| dir.join("setsid")).find(|file| file.is_file())
}

/// Starts a program in a process group of its own, and without our terminal if that can be: what
/// opens `/dev/tty` would draw over the console, or be stopped and never end. A process that
/// becomes the leader of a session leads a group too.
pub(super) fn start(what: Start<'_>) -> io::Result<Running> {
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(what.setsid.unwrap_or(what.program));
    match what.setsid {
        Some(_) => command.arg(what.program),
        None => command.process_group(0),
    };
    command
        .args(what.arguments)
        .env_clear()
        .envs(what.environment)
        .current_dir(what.cwd)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .kill_on_drop(true);
    let child = command.spawn()?;
    // Our copies of the writing end go with it; else the reader would never see an end.
    drop(command);
    let output = Receiver::from_owned_fd(reader.into())?;
    let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
    let pid = pid.ok_or_else(|| io::Error::other("the process is gone already"))?;
    Ok(Running { child, output, leader: Leader::of(pid) })
}
