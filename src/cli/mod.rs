//! The command line: one file per family of commands.
//!
//! Exit codes: 0 done, 1 the answer is no (the reason is on stderr, and on stdout with
//! `--json`), 2 wrong usage or bad input.

mod agents;
mod args;
mod asks;
mod config;
mod console;
mod dag;
mod demo;
mod doctor;
mod failure;
mod log;
mod mail;
mod manual;
mod model;
mod out;
mod permissions;
mod playbook;
mod printable;
mod replay;
mod run;
mod screenshot;
mod status;
mod stop;
mod task;
mod team;
mod worktree;

use std::env;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::settings::paths::Home;
use crate::store::{Durability, Store};
use args::{Cli, Command};
use console::ConsoleArgs;
use failure::Failure;
use out::Out;

/// Runs the program with the arguments of this process.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // `--help` and `--version` arrive here too; clap knows which stream they belong on.
            // Nothing can be done when that stream is closed.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    log::start();
    let mut out = Out::new(cli.json);
    let outcome = dispatch(cli, &mut out);
    out.finish(outcome)
}

fn dispatch(cli: Cli, out: &mut Out) -> Result<(), Failure> {
    let store = || -> Result<Store, Failure> {
        Ok(Store::open(Home::find(cli.home.as_deref())?, durability()))
    };
    let Some(command) = cli.command else {
        if cli.console == ConsoleArgs::default() && !console::has_terminal() {
            return out.text(Cli::command().render_help().to_string().trim_end());
        }
        return console::run(&store()?, &cli.console, out);
    };
    if cli.console != ConsoleArgs::default() {
        let what = "put session flags after the command, not before it";
        return Err(Failure::bad_input(what));
    }
    match command {
        Command::Console(arguments) => console::run(&store()?, &arguments, out),
        Command::Demo(arguments) => demo::run(&store()?, &arguments, out),
        Command::Replay(arguments) => replay::run(&store()?, &arguments, out),
        Command::Screenshot(arguments) => screenshot::run(&arguments, out),
        Command::Team(command) => team::run(&store()?, command, out),
        Command::Task(command) => task::run(&store()?, command, out),
        Command::Send(send) => mail::send(&store()?, &send, out),
        Command::Inbox(inbox) => mail::inbox(&store()?, &inbox, out),
        Command::Playbook(command) => playbook::run(command, out),
        Command::Model(command) => model::run(command, out),
        Command::Permissions(command) => permissions::run(&store()?, command, out),
        Command::Asks(command) => asks::run(&store()?, command, out),
        Command::Agents(command) => agents::run(&command, out),
        Command::Run(arguments) => run::run(&store()?, &arguments, out),
        Command::Worktree(command) => worktree::run(command, out),
        Command::Doctor(arguments) => doctor::run(&store()?, &arguments, out),
        Command::Config(command) => config::run(&command, out),
        Command::Completions(arguments) => manual::completions(&arguments),
        Command::Man(arguments) => manual::man(&arguments, out),
    }
}

fn durability() -> Durability {
    match env::var("QUARTERDECK_FSYNC").as_deref() {
        Ok("1" | "true" | "yes" | "on") => Durability::PowerLoss,
        Ok(_) | Err(_) => Durability::ProcessCrash,
    }
}
