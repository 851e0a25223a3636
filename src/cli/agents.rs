//! `quarterdeck agents`: the kinds of agents that there are here.

use std::env;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::out::{Out, table};
use crate::agent::definition::{Catalog, Definition, McpServer, Source, Sources};
use crate::permission::view::mode_name;

/// As much of a description as a list shows.
const SHORT: usize = 72;

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// All kinds of agents, and where each is defined; what is wrong with a file is on stderr
    List {
        #[command(flatten)]
        from: AgentsFrom,
    },
    /// One kind of agent with all its fields and its prompt
    Show {
        /// Its name; the case of letters does not matter
        name: String,
        #[command(flatten)]
        from: AgentsFrom,
    },
}

#[derive(Debug, Args)]
pub struct AgentsFrom {
    /// More agents: a JSON object of names, each with `description`, `prompt` and other fields
    #[arg(long, value_name = "JSON")]
    pub agents: Option<String>,
    /// The project [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

pub fn run(command: &AgentsCommand, out: &mut Out) -> Result<(), Failure> {
    match command {
        AgentsCommand::List { from } => list(&catalog(from, out)?, out),
        AgentsCommand::Show { name, from } => show(&catalog(from, out)?, name, out),
    }
}

fn catalog(from: &AgentsFrom, out: &mut Out) -> Result<Catalog, Failure> {
    let here = env::current_dir()?;
    let cwd = from.cwd.as_ref().map_or(here.clone(), |cwd| here.join(cwd));
    let catalog = Catalog::load(&Sources::of(&cwd, from.agents.clone()));
    for problem in &catalog.problems {
        out.remark(&problem.to_string());
    }
    Ok(catalog)
}

fn list(catalog: &Catalog, out: &mut Out) -> Result<(), Failure> {
    let values: Vec<Value> = catalog.definitions.iter().map(fields).collect();
    out.answer(&values, || {
        let mut rows = vec![["NAME", "SOURCE", "MODEL", "TOOLS", "DESCRIPTION"].map(str::to_owned)];
        for one in &catalog.definitions {
            let model =
                one.model.as_ref().map_or_else(|| "inherit".to_owned(), ToString::to_string);
            let source = one.source.to_string();
            rows.push([one.name.clone(), source, model, tools(one), short(&one.description)]);
        }
        table(&rows)
    })
}

fn show(catalog: &Catalog, name: &str, out: &mut Out) -> Result<(), Failure> {
    let Some(one) = catalog.get(name) else {
        let hint = match catalog.near(name) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`quarterdeck agents list` shows all".to_owned(),
        };
        let message = format!("there is no agent type `{name}`; {hint}");
        return Err(Failure::no("agent_not_found", message));
    };
    out.answer(&fields(one), || {
        let mut rows = Vec::new();
        if let Value::Object(fields) = fields(one) {
            for (key, value) in fields.into_iter().filter(|(key, _)| key != "prompt") {
                let value = match &value {
                    Value::String(text) => text.clone(),
                    Value::Array(items) if items.iter().all(Value::is_string) => {
                        let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
                    }
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::Array(_)
                    | Value::Object(_) => value.to_string(),
                };
                rows.push([key, value]);
            }
        }
        format!("{}\n\n{}", table(&rows), one.prompt)
    })
}

/// The fields as definitions write them; what a definition does not say is left out.
fn fields(one: &Definition) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            map.insert(key.to_owned(), value);
        }
    };
    let some = |list: &[String]| if list.is_empty() { Value::Null } else { json!(list) };
    put("name", json!(one.name));
    put("description", json!(one.description));
    put("source", json!(source_word(&one.source)));
    if let Source::Plugin(name) = &one.source {
        put("plugin", json!(name));
    }
    put("file", json!(one.file.as_ref().map(|file| file.display().to_string())));
    put("tools", json!(one.tools.clone().unwrap_or_else(|| vec!["*".to_owned()])));
    put("disallowedTools", some(&one.disallowed_tools));
    put("spawnable", json!(one.spawnable));
    put("model", json!(one.model.as_ref().map(ToString::to_string)));
    put("effort", json!(one.effort.map(|effort| effort.to_string())));
    put("permissionMode", json!(one.permission_mode.map(mode_name)));
    put("background", if one.background { json!(true) } else { Value::Null });
    put("isolation", json!(one.isolation));
    put("maxTurns", json!(one.max_turns));
    put("color", json!(one.color));
    put("memory", json!(one.memory));
    if !one.mcp_servers.is_empty() {
        put("mcpServers", one.mcp_servers.iter().map(server).collect());
    }
    put("requiredMcpServers", some(&one.required_mcp_servers));
    put("hooks", json!(one.hooks));
    put("skills", some(&one.skills));
    put("initialPrompt", json!(one.initial_prompt));
    put("prompt", json!(one.prompt));
    Value::Object(map)
}

fn server(server: &McpServer) -> Value {
    match server {
        McpServer::Shared(name) => json!(name),
        McpServer::Own { name, config } => json!({ name: config }),
    }
}

/// One word for scripts.
fn source_word(source: &Source) -> &'static str {
    match source {
        Source::Policy => "policy",
        Source::CommandLine => "commandLine",
        Source::Project => "project",
        Source::User => "user",
        Source::Plugin(_) => "plugin",
        Source::Builtin => "builtin",
    }
}

fn tools(one: &Definition) -> String {
    let tools = match &one.tools {
        None => "all".to_owned(),
        Some(tools) if tools.is_empty() => "none".to_owned(),
        Some(tools) => tools.join(", "),
    };
    match one.disallowed_tools.is_empty() {
        true => tools,
        false => format!("{tools} but {}", one.disallowed_tools.join(", ")),
    }
}

fn short(description: &str) -> String {
    let line = description.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHORT) {
        None => line.to_owned(),
        Some((cut, _)) => format!("{}…", line[..cut].trim_end()),
    }
}
