//! `quarterdeck completions` and `quarterdeck man`: the command line as shells and `man` want it,
//! made from the same texts as `--help`.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde_json::json;

use super::args::Cli;
use super::failure::Failure;
use super::out::Out;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quarterdeck completions bash > ~/.local/share/bash-completion/completions/quarterdeck
  quarterdeck completions zsh > ~/.zfunc/_quarterdeck
  quarterdeck completions fish > ~/.config/fish/completions/quarterdeck.fish")]
pub struct Completions {
    /// Whose completions
    pub shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quarterdeck man | man -l -
  quarterdeck man --dir ~/.local/share/man/man1")]
pub struct Man {
    /// Write a page for every command into this directory, instead of printing the first one
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

pub fn completions(wanted: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(wanted.shell, &mut Cli::command(), "quarterdeck", &mut script);
    print(&script)
}

pub fn man(wanted: &Man, out: &mut Out) -> Result<(), Failure> {
    let command = Cli::command();
    let Some(dir) = &wanted.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        return print(&page);
    };
    let failed = |error: io::Error| Failure::no("io", format!("{}: {error}", dir.display()));
    fs::create_dir_all(dir).map_err(failed)?;
    clap_mangen::generate_to(command, dir).map_err(failed)?;
    let shown = dir.display().to_string();
    out.answer(&json!({ "directory": shown }), || format!("{shown}: one page for every command"))
}

/// As it is: shells and `man` read it, not people.
fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => Ok(outcome?),
    }
}
