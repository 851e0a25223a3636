//! What `quarterdeck run` understands.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const EXAMPLES: &str = r#"Examples:
  quarterdeck run -p "What does this project do?"
  git diff | quarterdeck run -p - --tools "" --model haiku
  quarterdeck run -p "Fix the tests" --permission-mode acceptEdits --allowedTools "Bash(cargo test:*)"
  quarterdeck run -c -p "Now the documentation"
  quarterdeck run -p "Tidy up" --on-ask wait     (answer with: quarterdeck asks list latest)
  quarterdeck run --playbook demo.yaml -p go --output-format stream-json | jq -r .type
  quarterdeck run --input-format stream-json --output-format stream-json < lines.jsonl

It ends when the lead has answered, no agent works in the background and nothing waits for the
lead. Ctrl-C interrupts it and still prints the result; a second one ends it at once. With
--on-ask wait, open questions stay open: answer them, then resume with -c.

Lines of --input-format stream-json: messages, with an optional "priority" (now, next, later),
and requests, each answered by a `control_response` line with its request_id:
  {"type":"user","message":{"role":"user","content":"Fix the tests"}}
  {"type":"control_request","request_id":"1","request":{"subtype":"interrupt"}}
Requests, with their fields; "agent" is a name or an id, and means the lead if it is left out:
  interrupt            agent?: ends its turn
  background           tool_use_id: sends what this call started to the background
  stop_task            task_id: ends an agent, or a background command
  compact              agent?, instructions?: summarises its conversation
  set_permission_mode  mode, agent?
  aside                purpose (title, summary, side_question, memory), prompt, agent?: asks on the
                       side, without a trace in its conversation
  run_agent            prompt, agent_type?, description?, model?, run_in_background?, agent?:
                       runs a subagent and answers with its result
  say                  text, agent?, priority?: words to an agent, such as a teammate
  pause, unpause       agent?: pauses it at its next step, and resumes it
  spawn                name, prompt?, agent_type?, model?, mode?, worktree?: starts a teammate, or
                       restarts one that failed or left, from its transcript
  stop                 agent: ends it, whatever it is doing
  shutdown             agent, reason?: asks a teammate to end, as the lead would
  initialize           no fields: answers with what is available
`control_cancel_request` with a request_id cancels a request that is still running.

Exit codes: 0 done; 1 failed (out of turns, out of budget, or no answer from the model);
2 wrong usage or bad input; 130 interrupted."#;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Run {
    /// What the lead should do; `-`, or nothing, reads it from standard input
    #[arg(short = 'p', long = "prompt", value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// What to print: the last answer, one JSON object at the end, or one per event
    /// [default: text; json with --json]
    #[arg(long, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,
    /// What standard input holds: text, or one JSON message per line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub input_format: InputFormat,
    /// The model: an alias, or `provider/model`
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
    /// The same as `--permission-mode bypassPermissions`
    #[arg(long)]
    pub dangerously_skip_permissions: bool,
    /// Rules that allow, such as `Bash(git log:*),Edit`; can be repeated
    #[arg(long = "allowedTools", alias = "allowed-tools", value_name = "RULES")]
    pub allowed_tools: Vec<String>,
    /// Tools to take away, and rules that deny; can be repeated
    #[arg(long = "disallowedTools", alias = "disallowed-tools", value_name = "RULES")]
    pub disallowed_tools: Vec<String>,
    /// Only these tools, such as `Read,Grep,Bash`; an empty list means none
    #[arg(long, value_name = "TOOLS")]
    pub tools: Vec<String>,
    /// One more directory to work in; can be repeated
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,
    /// One more settings file
    #[arg(long, value_name = "FILE")]
    pub settings: Vec<PathBuf>,
    /// What happens to asks: refuse them, leave them for `quarterdeck asks`, or allow them
    #[arg(long, value_name = "WHAT", default_value = "deny")]
    pub on_ask: OnAsk,
    /// The most turns the lead may take for one message
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
    /// The most the session may spend, in US dollars
    #[arg(long, value_name = "USD", value_parser = positive)]
    pub max_budget_usd: Option<f64>,
    /// Resume the newest session of this directory
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub go_on: bool,
    /// Resume this session; the beginning of its id is enough
    #[arg(short = 'r', long, value_name = "ID")]
    pub resume: Option<String>,
    /// Play a playbook instead of asking a model; `demo` is the embedded rehearsal
    #[arg(long, value_name = "FILE")]
    pub playbook: Option<PathBuf>,
    /// Start agents without a type as forks that know the whole conversation
    #[arg(long)]
    pub fork: bool,
    /// Work in a separate git worktree; it is kept if anything changed in it
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub worktree: Option<String>,
    /// Send an agent that is waited for to the background after so many seconds
    #[arg(long, value_name = "SECONDS", hide = true, value_parser = positive)]
    pub auto_background_after: Option<f64>,
    /// Somebody looks at a screen: the session belongs to a console.
    #[arg(skip)]
    pub on_screen: bool,
    /// How fast a playbook is played on a screen.
    #[arg(skip)]
    pub pace: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    Text,
    StreamJson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnAsk {
    Deny,
    Wait,
    Allow,
}

/// A number above zero.
fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    match number > 0.0 && number < 1e9 {
        true => Ok(number),
        false => Err("it must be more than 0, and less than a billion".to_owned()),
    }
}
