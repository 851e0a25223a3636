//! The user's own shell, taken once: its functions, aliases, options and `PATH`, in a file that
//! every command begins with.
//!
//! The user's start-up files run in an interactive shell, since many of them do nothing in any
//! other. It gets a session without a terminal, so it can neither ask nor be stopped. What it
//! hands over is data to us; the file is written here, so that the aliases in it are exactly
//! those the permission engine is told of.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::environment::Variables;
use super::program::{Kind, Program, Running, Start, start};
use super::tree::Tree;
use crate::settings::paths::Home;
use crate::store::files;

/// More than this is not taken over.
const LARGEST: u64 = 8 * 1024 * 1024;

/// Parts, each closed by a zero byte: options, functions, their names, aliases, PATH, and a word that shows
/// that nothing is missing. Options that only suit a person at a prompt stay behind, and those
/// that would end our wrapper.
const BASH: &str = r#"
{
  { shopt -p; set +o; } | command grep -vE ' (monitor|history|histexpand|emacs|vi|errexit|nounset|noexec|onecmd|privileged|verbose|xtrace|posix|expand_aliases|login_shell|restricted_shell)$'
  printf '\0'
  while read -r _ _ __name; do
    case $__name in
      *[!A-Za-z0-9_.:@%+,/-]*|-*|'') ;;
      *) declare -f -- "$__name" ;;
    esac
  done < <(declare -F)
  printf '\0'
  declare -F | command sed 's/^[^ ]* [^ ]* //'
  printf '\0'
  alias -p
  printf '\0%s\0end\0' "$PATH"
} >|"$1" 2>/dev/null
"#;

const ZSH: &str = r#"
{
  setopt | command grep -vE '^(interactive|monitor|zle|shinstdin|login|privileged|restricted|errexit|nounset|noexec|verbose|xtrace|nohashdirs)$' | command sed 's/^/setopt /'
  printf '\0'
  functions
  printf '\0'
  print -rl -- ${(k)functions}
  printf '\0'
  for __name __text in "${(@kv)aliases}"; do
    print -r -- "alias -- ${(qq)__name}=${(qq)__text}"
  done
  printf '\0%s\0end\0' "$PATH"
} >|"$1" 2>/dev/null
"#;

#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// `None` where it could not be taken: commands then run in a bare shell.
    pub file: Option<PathBuf>,
    pub aliases: BTreeMap<String, String>,
    /// The names of functions, which may shadow any program.
    pub functions: BTreeSet<String>,
    pub trouble: Option<String>,
}

/// What is needed to take one.
#[derive(Debug)]
pub(super) struct Taking<'a> {
    pub program: &'a Program,
    pub file: &'a Path,
    pub environment: Variables,
    /// By what everything started here is known.
    pub mark: &'a str,
    pub limit: Duration,
    pub setsid: Option<&'a Path>,
}

pub(super) fn dir(home: &Home) -> PathBuf {
    home.root().join("shell-snapshots")
}

/// Takes a snapshot. Where that fails there is an empty one that says why.
pub(super) async fn take(taking: Taking<'_>) -> Snapshot {
    if taking.program.kind == Kind::Plain {
        return Snapshot::default();
    }
    let raw = taking.file.with_extension("raw");
    let taken = match ask(&taking, &raw).await {
        Ok(()) => read(&raw).and_then(|parts| write(&taking, &parts)),
        Err(error) => Err(error),
    };
    // Already gone where the shell never wrote it.
    let _ = fs::remove_file(&raw);
    taken.unwrap_or_else(|error| Snapshot {
        trouble: Some(format!(
            "Commands run without your shell's functions, aliases and options: {} {error}.",
            taking.program.path.display()
        )),
        ..Snapshot::default()
    })
}

/// Has the user's shell write down what it knows.
async fn ask(taking: &Taking<'_>, raw: &Path) -> io::Result<()> {
    let dir = raw.parent().unwrap_or(raw);
    files::make_dir(dir).map_err(io::Error::other)?;
    drop(files::create(raw)?);
    // Interactive shells want a terminal to themselves. Without a way to take it from them they
    // would be stopped, so then they only read what start-up files do for any shell.
    let flags = if taking.setsid.is_some() { "-lic" } else { "-lc" };
    let (script, rc) = match taking.program.kind {
        Kind::Zsh => (ZSH, "[ -r ~/.zshrc ] && . ~/.zshrc\n"),
        Kind::Bash | Kind::Plain => (BASH, "[ -r ~/.bashrc ] && . ~/.bashrc\n"),
    };
    // A login shell of bash reads only its profile, which may or may not go on to `.bashrc`.
    let reads_rc = taking.setsid.is_some() && taking.program.kind == Kind::Zsh;
    let rc = if reads_rc { "" } else { rc };
    let script = format!("{{ {rc}:; }} >/dev/null 2>&1 </dev/null\n{script}");
    let running = start(Start {
        program: &taking.program.path,
        arguments: vec![flags.into(), script.into(), "quarterdeck".into(), raw.into()],
        environment: taking.environment.clone(),
        cwd: Path::new("/"),
        setsid: taking.setsid,
    })?;
    finished(running, taking).await
}

/// Waits for the shell, within the limit; nothing that it started stays.
async fn finished(mut running: Running, taking: &Taking<'_>) -> io::Result<()> {
    let tree = Tree { mark: taking.mark.to_owned(), leaders: vec![running.leader] };
    let mut chatter = [0; 4096];
    let ended = tokio::time::timeout(taking.limit, async {
        loop {
            tokio::select! {
                status = running.child.wait() => break status,
                Ok(1..) = running.output.read(&mut chatter) => {}
            }
        }
    });
    let ended = ended.await;
    tree.end(Duration::from_millis(200)).await;
    match ended {
        Ok(status) => status.map(drop),
        Err(_) => {
            let limit = taking.limit.as_secs_f32();
            Err(io::Error::other(format!("did not finish starting within {limit} s")))
        }
    }
}

struct Parts {
    options: Vec<u8>,
    functions: Vec<u8>,
    names: BTreeSet<String>,
    aliases: BTreeMap<String, String>,
    path: OsString,
}

fn read(raw: &Path) -> io::Result<Parts> {
    let bytes = files::read_bytes(raw, LARGEST).map_err(io::Error::other)?.unwrap_or_default();
    let mut parts = bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    let mut next = || parts.next().unwrap_or_default();
    let (options, functions, names, aliases, path) = (next(), next(), next(), next(), next());
    if next() != b"end" {
        return Err(io::Error::other("did not say what it knows"));
    }
    let aliases = aliases_in(&String::from_utf8_lossy(&aliases));
    let names = String::from_utf8_lossy(&names).lines().map(str::to_owned).collect();
    Ok(Parts { options, functions, names, aliases, path: OsString::from_vec(path) })
}

fn write(taking: &Taking<'_>, parts: &Parts) -> io::Result<Snapshot> {
    let inherited = taking.environment.get(OsStr::new("PATH"));
    let path = joined(inherited.map_or(OsStr::new(""), OsString::as_os_str), &parts.path);
    let mut text = b"# What commands begin with; made from the start-up files.\n".to_vec();
    text.extend(b"export PATH=");
    text.extend(quoted(path.as_bytes()));
    text.push(b'\n');
    // Options before functions, which may need them to be read; aliases after, or they would be
    // replaced inside the functions.
    text.extend(&parts.options);
    text.push(b'\n');
    text.extend(b"if [ \"$__quarterdeck_functions\" = functions ]; then :\n");
    text.extend(&parts.functions);
    text.extend(b"\nfi\n");
    text.extend(b"if [ \"$__quarterdeck_aliases\" = aliases ]; then :\n");
    if taking.program.kind == Kind::Bash {
        text.extend(b"shopt -s expand_aliases\n");
    }
    for (name, meaning) in &parts.aliases {
        text.extend(b"alias -- ");
        text.extend(quoted(name.as_bytes()));
        text.push(b'=');
        text.extend(quoted(meaning.as_bytes()));
        text.push(b'\n');
    }
    text.extend(b"fi\n");
    let unready = files::temporary(taking.file);
    files::create(&unready)?.write_all(&text)?;
    fs::rename(&unready, taking.file)?;
    let (file, aliases) = (Some(taking.file.to_owned()), parts.aliases.clone());
    Ok(Snapshot { file, aliases, functions: parts.names.clone(), trouble: None })
}

/// What we were started with comes first (it may be an activated environment that a login shell
/// forgets), then what the start-up files add.
fn joined(inherited: &OsStr, added: &OsStr) -> OsString {
    let mut all: Vec<PathBuf> = Vec::new();
    for dir in std::env::split_paths(inherited).chain(std::env::split_paths(added)) {
        if !dir.as_os_str().is_empty() && !all.contains(&dir) {
            all.push(dir);
        }
    }
    std::env::join_paths(all).unwrap_or_else(|_| inherited.to_owned())
}

/// As one word of a shell, whatever is in it.
fn quoted(text: &[u8]) -> Vec<u8> {
    let mut word = vec![b'\''];
    for byte in text {
        match byte {
            b'\'' => word.extend(br"'\''"),
            other => word.push(*other),
        }
    }
    word.push(b'\'');
    word
}

/// The aliases that a shell lists: `alias ll='ls -l'`, one after the other.
fn aliases_in(list: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = list;
    while let Some((word, after)) = word_at(rest) {
        rest = after;
        if let Some((name, meaning)) = word.split_once('=')
            && !name.is_empty()
        {
            found.insert(name.to_owned(), meaning.to_owned());
        }
    }
    found
}

/// The next word, unquoted, and what follows it. `alias` and `--` are words too; no alias of
/// ours looks like them, for they hold no `=`.
fn word_at(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches([' ', '\n', '\t']);
    if text.is_empty() {
        return None;
    }
    let mut word = String::new();
    let mut quoted = false;
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\'' => quoted = !quoted,
            '\\' if !quoted => word.extend(chars.next().map(|(_, char)| char)),
            ' ' | '\n' | '\t' if !quoted => return Some((word, &text[at..])),
            other => word.push(other),
        }
    }
    Some((word, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_read_as_shells_list_them() {
        let list = "alias ll='ls -l'\nalias -- -='cd -'\nalias say='echo '\\''a b'\\'' = c'\n\
                    alias two='one\ntwo'\nalias -- 'q'='x'\nalias bare=ls\n";
        let expected = [
            ("-", "cd -"),
            ("bare", "ls"),
            ("ll", "ls -l"),
            ("q", "x"),
            ("say", "echo 'a b' = c"),
            ("two", "one\ntwo"),
        ];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(aliases_in(list), BTreeMap::from(expected));
    }

    #[test]
    fn the_path_we_were_given_comes_first() {
        let path = joined(OsStr::new("/venv/bin:/bin"), OsStr::new("/bin:/usr/bin::/home/x/bin"));
        assert_eq!(path, OsStr::new("/venv/bin:/bin:/usr/bin:/home/x/bin"));
    }
}
