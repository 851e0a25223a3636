//! Runs a command in the user's shell, in the foreground or behind the agent's back.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::shell::jobs::Job;
use super::shell::{Cause, Front, Outcome, Request, Started, signal_name, spoken};
use super::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, first_line, parse};
use crate::permission::path::{is_below, resolve};
use crate::permission::{Access, View};
use crate::protocol::event::{Fact, Level};

const DEFAULT_LIMIT: Duration = Duration::from_secs(120);
const LONGEST_LIMIT: Duration = Duration::from_secs(600);

/// A kernel takes no argument longer than 128 KiB.
const LONGEST_COMMAND: usize = 120 * 1024;

const DESCRIPTION: &str = "\
Runs a command in the user's own shell and returns what it prints, stdout and stderr in the order \
of writing.

- Read, Grep, Glob, Edit and Write are the better choice for files: they show the user more than \
cat, grep, find, sed or echo do.
- Put paths with spaces in double quotes. Prefer absolute paths to `cd`; a `cd` lasts until the \
next command, but only inside the allowed directories. Variables and functions do not last.
- Nobody can type: stdin is empty and there is no terminal. Use options that ask nothing (`--yes`, \
`-m`), no editors, pagers or programs that draw the screen.
- Join commands that need each other with `&&`; make separate calls of those that do not.
- `timeout` is in milliseconds: 120000 unless you say otherwise, 600000 at most. Then the command \
is ended with everything it started.
- With `run_in_background` the call returns at once with an id and a file that the output grows \
in, and you are told when the command ends. Use it for servers, watchers and long builds you need \
not wait for; do not put `&` behind such a command, and do not wait for one with `sleep`.
- Of long output you get the beginning, the end and the path of a file with all of it.
- Give a `description` of five to ten words that says what the command does.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// The command.
    command: String,
    /// What the command does, in five to ten words.
    #[serde(default)]
    description: Option<String>,
    /// After how many milliseconds it is ended; 600000 at most. Does not count in the background.
    #[serde(default)]
    timeout: Option<u64>,
    /// Whether to return at once and let it run.
    #[serde(default)]
    run_in_background: Option<bool>,
}

pub struct Bash {
    spec: Spec,
}

impl Default for Bash {
    fn default() -> Self {
        Self { spec: Spec::of::<Input>("Bash", DESCRIPTION, Needs::Runs, false) }
    }
}

impl Tool for Bash {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, _cx: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        let input: Input = parse("Bash", input)?;
        let wrong = if input.command.trim().is_empty() {
            "The command is empty."
        } else if input.command.contains('\0') {
            "The command holds a zero byte, which no shell takes."
        } else if input.command.len() > LONGEST_COMMAND {
            "The command is longer than 120 KiB: put it into a file with Write and run the file."
        } else {
            return Ok(vec![Access::Run(input.command)]);
        };
        Err(Bad(wrong.to_owned()))
    }

    fn summary(&self, input: &Value) -> String {
        parse("Bash", input).map(|input| described(&input)).unwrap_or_default()
    }

    fn run<'a>(
        &'a self,
        cx: &'a ToolContext,
        call: &'a Call,
        input: Value,
    ) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            match parse("Bash", &input) {
                Ok(input) => run(cx, call, &input).await,
                Err(bad) => Output::failed(bad.0),
            }
        })
    }
}

fn described(input: &Input) -> String {
    let words = input.description.as_deref().map(first_line).filter(|words| !words.is_empty());
    words.unwrap_or_else(|| first_line(&input.command))
}

async fn run(cx: &ToolContext, call: &Call, input: &Input) -> Output {
    let project = call.view.working.first().unwrap_or(&call.view.cwd).clone();
    // Where it was decided upon, wherever the agent has gone meanwhile.
    let cwd = call.view.cwd.clone();
    if !cwd.is_dir() {
        return gone(cx, &cwd, &project);
    }
    let limit = input.timeout.map_or(DEFAULT_LIMIT, Duration::from_millis).min(LONGEST_LIMIT);
    let background = input.run_in_background.unwrap_or(false);
    let request = Request {
        command: &input.command,
        description: &described(input),
        cwd: &cwd,
        project: &project,
        limit,
        background,
        aliases: &call.view.aliases,
        functions: &call.view.functions,
        owner: &cx.me,
        use_id: &call.id,
        crew: &cx.crew,
    };
    tokio::select! {
        () = cx.shell.prepare() => {}
        () = call.stop.cancelled() => return Output::failed("Interrupted before it started."),
    }
    let started = cx.shell.run(request).await;
    if let Some(text) = cx.shell.trouble() {
        cx.journal.emit(Some(&cx.me), Fact::Notice { level: Level::Warning, text });
    }
    match started {
        Ok(started) => attend(cx, call, started, limit).await,
        Err(error) => Output::failed(format!("The command could not be started: {error}")),
    }
}

/// The directory to work in is not there any more.
fn gone(cx: &ToolContext, cwd: &Path, project: &Path) -> Output {
    if project.is_dir() && project != cwd {
        cx.cwd.set(project.to_owned());
        let (cwd, project) = (cwd.display(), project.display());
        return Output::failed(format!(
            "Did not run: the working directory {cwd} no longer exists. It is {project} again; \
             run the command again if it makes sense there."
        ));
    }
    Output::failed(format!("Did not run: the working directory {} does not exist.", cwd.display()))
}

/// Ends a command whose caller went away without it.
struct Link(Arc<Job>);

impl Drop for Link {
    fn drop(&mut self) {
        // What outlives a command that has ended is the session's to end.
        if !self.0.is_behind() && self.0.end().is_none() {
            self.0.stop.cancel();
        }
    }
}

/// Stays with a command until it ends or goes to the background.
async fn attend(cx: &ToolContext, call: &Call, started: Started, limit: Duration) -> Output {
    let Started { job, mut said, mut front } = started;
    let link = Link(Arc::clone(&job));
    let front = loop {
        tokio::select! {
            biased;
            Some(text) = said.recv() => call.say(cx, text),
            front = &mut front => break front,
            () = call.stop.cancelled(), if !job.is_behind() && !job.stop.is_cancelled() => {
                job.stop.cancel();
            }
        }
    };
    say_rest(cx, call, &mut said);
    drop(link);
    match front {
        Ok(Front::Ended(outcome)) => ended(cx, call, *outcome, limit),
        Ok(Front::Moved) => moved(&job),
        Err(_) => Output::failed("The command was lost; this is a bug in Quarterdeck."),
    }
}

fn say_rest(cx: &ToolContext, call: &Call, said: &mut mpsc::Receiver<String>) {
    while let Ok(text) = said.try_recv() {
        call.say(cx, text);
    }
}

fn moved(job: &Job) -> Output {
    let (id, file) = (&job.plan.id, job.plan.output.display());
    let text = format!(
        "The command runs in the background with the id {id}. Its output grows in {file}. You \
         will be told when it ends."
    );
    let data = json!({ "backgroundTaskId": id, "outputFile": job.plan.output });
    Output::text(text).with_summary(format!("in the background as {id}")).with_data(data)
}

fn ended(cx: &ToolContext, call: &Call, outcome: Outcome, limit: Duration) -> Output {
    let how = how(&outcome, limit);
    let mut text = outcome.text.trim_end().to_owned();
    let mut notes: Vec<String> = how.iter().cloned().collect();
    notes.extend(left_running(&outcome));
    notes.extend(outcome.cwd.as_ref().and_then(|cwd| follow(cx, &call.view, cwd)));
    if text.is_empty() && notes.is_empty() {
        text = "(no output)".to_owned();
    }
    let printed = first_line(outcome.text.trim_start());
    for note in notes {
        text.push_str(if text.is_empty() { "" } else { "\n\n" });
        text.push_str(&note);
    }
    let summary = match &how {
        Some(how) => first_line(how),
        None if printed.is_empty() => "no output".to_owned(),
        None => printed,
    };
    let data = json!({
        "exitCode": outcome.exit,
        "signal": outcome.signal.map(signal_name),
        "timedOut": outcome.cause == Cause::Timeout,
        "interrupted": outcome.cause == Cause::Stopped,
        "outputFile": outcome.file,
        "durationMs": u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX),
        "cwd": cx.cwd.get(),
    });
    let output = if how.is_some() { Output::failed(text) } else { Output::text(text) };
    output.with_summary(summary).with_data(data)
}

/// What is wrong with the way it ended.
fn how(outcome: &Outcome, limit: Duration) -> Option<String> {
    match (outcome.cause, outcome.exit, outcome.signal) {
        (Cause::Timeout, _, _) => Some(format!(
            "Timed out after {}, and was ended with everything it started.",
            spoken(limit)
        )),
        (Cause::Stopped, _, _) => {
            Some("Interrupted, and ended with everything it started.".to_owned())
        }
        (Cause::Itself, Some(0), _) => None,
        (Cause::Itself, Some(code), _) => Some(format!("Exit code {code}")),
        (Cause::Itself, None, Some(signal)) => {
            Some(format!("Killed by signal {}", signal_name(signal)))
        }
        (Cause::Itself, None, None) => Some("It is not known how the command ended.".to_owned()),
    }
}

fn left_running(outcome: &Outcome) -> Option<String> {
    if outcome.strays == 0 {
        return None;
    }
    let processes = match outcome.strays {
        1 => "1 process".to_owned(),
        many => format!("{many} processes"),
    };
    if outcome.cause != Cause::Itself {
        return Some(format!("{processes} could not be ended."));
    }
    let file = outcome.file.as_ref();
    let file = file.map(|file| format!("; what they print goes to {}", file.display()));
    Some(format!(
        "[{processes} of this command still run and will be ended with the session{}]",
        file.unwrap_or_default()
    ))
}

/// Goes where the command went, if the agent may work there; else says that it stays.
fn follow(cx: &ToolContext, view: &View, cwd: &Path) -> Option<String> {
    let now: PathBuf = resolve(Path::new("/"), cwd);
    // It stayed where it began, so whoever moved the agent meanwhile is not undone.
    if now == view.cwd {
        return None;
    }
    if view.working.iter().any(|dir| is_below(&now, dir)) {
        cx.cwd.set(now);
        return None;
    }
    let stays = cx.cwd.get();
    (now != stays).then(|| {
        let (now, stays) = (now.display(), stays.display());
        format!(
            "[{now} is outside the allowed directories: the working directory is {stays} again]"
        )
    })
}
