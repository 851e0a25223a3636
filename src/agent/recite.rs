//! Says to an agent what a recipe says. Its commands run and its files are read as if the agent
//! itself had called the tools: the permission engine is asked, and the person where it says so.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;

use super::context::Agent;
use super::recipes::{Part, Recipe};
use crate::model::Stop;
use crate::permission::View;
use crate::protocol::ask::{Ask, Question};
use crate::protocol::event::Level;
use crate::tools::call::call;
use crate::tools::context::Lent;
use crate::tools::{ToolContext, Use};

/// How the ids of uses begin that no model asked for.
const OWN_USE: &str = "recipe-";

/// The most files that one recipe brings along.
const MOST_FILES: usize = 20;

/// Whether an ask is of a recipe: it is void once the program has ended.
pub fn is_of_recipe(ask: &Ask) -> bool {
    matches!(&ask.question, Question::Tool { use_id, .. } if use_id.starts_with(OWN_USE))
}

impl Recipe {
    /// What it allows in the turn that hears it.
    pub fn lent(&self) -> Option<Lent> {
        let (by, rules) = (self.name.clone(), self.allowed.clone());
        (!rules.is_empty()).then_some(Lent { by, rules })
    }
}

/// The words of a recipe, with the output of its commands in their places and the files that it
/// names behind.
pub async fn recite(agent: &Agent, recipe: &Recipe, arguments: &str, stop: &Stop) -> String {
    let mut view = View::clone(&agent.views.borrow());
    // What is no rule is told when it is lent.
    view.lend(&recipe.name, &recipe.allowed);
    let (_views, view) = watch::channel(Arc::new(view));
    let cx = agent.cx.beside(view);
    let mut said = String::new();
    let mut files = BTreeSet::new();
    for part in recipe.parts(arguments) {
        match part {
            Part::Words(words) => {
                files.extend(named_files(&cx, &words));
                said.push_str(&words);
            }
            Part::Command(command) => {
                let why = format!("for /{}", recipe.name);
                let input = json!({ "command": command, "description": why });
                said.push_str(result_of(agent, &cx, "Bash", input, stop).await.trim_end());
            }
        }
    }
    for file in files.iter().take(MOST_FILES) {
        let text = result_of(agent, &cx, "Read", json!({ "file_path": file }), stop).await;
        said.push_str(&format!("\n\n<file path=\"{file}\">\n{}\n</file>", text.trim_end()));
    }
    said
}

/// What the agent would have been told.
async fn result_of(
    agent: &Agent,
    cx: &ToolContext,
    tool: &str,
    input: Value,
    stop: &Stop,
) -> String {
    let id = format!("{OWN_USE}{}", Uuid::new_v4().simple());
    let wanted = Use { id, tool: tool.to_owned(), input };
    let output = call(cx, &agent.offer().tools, wanted, stop).await;
    // Each begins where the agent works, wherever the one before it went.
    cx.cwd.set(agent.cx.cwd.get());
    output.content.text()
}

/// The files that words name with an `@` before them, as far as they are there.
fn named_files(cx: &ToolContext, words: &str) -> Vec<String> {
    let named = words.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let bare = named.map(|name| name.trim_end_matches(|c: char| ".,;:!?)]}>\"'`".contains(c)));
    let is_there = |name: &&str| !name.is_empty() && Path::is_file(&cx.resolve(name));
    bare.filter(is_there).map(str::to_owned).collect()
}

impl Agent {
    /// Lets it do what a command of the person allows, until its turn ends.
    pub fn lend(&self, lent: &Lent) {
        let mut wrong = Vec::new();
        self.views.send_modify(|view| {
            let mut changed = View::clone(view);
            wrong = changed.lend(&lent.by, &lent.rules);
            *view = Arc::new(changed);
        });
        for error in wrong {
            self.notice(Level::Warning, format!("/{}, allowed-tools: {error}", lent.by));
        }
        let rules = lent.rules.join(", ");
        self.notice(Level::Info, format!("/{} allows in this turn: {rules}", lent.by));
    }

    /// A turn is over, and what was lent for it.
    pub(super) fn take_back(&self) {
        self.views.send_if_modified(|view| {
            let mut changed = View::clone(view);
            let has_changed = changed.take_back();
            if has_changed {
                *view = Arc::new(changed);
            }
            has_changed
        });
    }
}
