//! What slash commands do. An error is one sentence that says what to write instead.

use super::dialogs::{agent_entries, open_sheet};
use super::everywhere::{act, close_passing};
use super::leave::leave;
use super::{Effect, Look, Show, find, reach};
use crate::console::commands::{COMMANDS, Command, MODES, Verb, named, recipe, usual_export};
use crate::console::keys::{Action, Context};
use crate::console::state::State;
use crate::console::state::agents::{Agent, Kind};
use crate::console::state::dialog::{Dialog, Entry, Page, Pick, Picker};
use crate::console::state::ui::Arrangement;
use crate::console::text::sanitize::one_line;
use crate::console::text::width::cut;
use crate::console::view::theme;
use crate::protocol::ids::AgentName;
use crate::protocol::nearest::nearest;
use crate::protocol::op::{Mode, Op, SpawnWish, TaskChange};

type Outcome = Result<Vec<Effect>, String>;

/// Whether a line behind a slash is meant as a command, and not as the path of a file.
pub fn is_command(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    !word.is_empty() && !word.contains('/') && !word.contains('.')
}

/// Runs a line without its slash.
pub fn run(state: &mut State, line: &str) -> Outcome {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let Some(command) = named(name) else {
        if recipe(state, name).is_some() {
            let (name, arguments) = (name.to_owned(), rest.to_owned());
            return op(Op::Recipe { agent: state.selected.clone(), name, arguments });
        }
        let own = state.offers.recipes.iter().map(|recipe| recipe.name.as_str());
        let near = nearest(name, COMMANDS.iter().map(|command| command.name).chain(own));
        let hint = match near {
            Some(near) => format!("did you mean /{near}?"),
            None => {
                let key = state.keymap.key(Context::Everywhere, Action::OpenPalette);
                format!("{key} shows all of them.")
            }
        };
        return Err(format!("There is no command /{name}; {hint}"));
    };
    if command.needs_words() && rest.is_empty() {
        return Err(format!("Write /{} {}: {}.", command.name, command.arguments, command.help));
    }
    do_verb(state, command, rest)
}

fn do_verb(state: &mut State, command: &Command, rest: &str) -> Outcome {
    match command.verb {
        Verb::Help => Ok(act(state, Action::ShowHelp)),
        Verb::Team => page(state, Page::Team),
        Verb::Model if rest.is_empty() => page(state, Page::Team),
        Verb::Model => op(Op::Model { agent: state.selected.clone(), model: rest.to_owned() }),
        Verb::Fork => delegate(state, rest),
        Verb::Worktree => look(Look::Worktrees(Show::Page)),
        Verb::Diff => diff(state, rest),
        Verb::Merge if rest.is_empty() => look(Look::Worktrees(Show::Merge)),
        Verb::Merge => look(Look::Merge { name: rest.to_owned() }),
        Verb::Resume => look(Look::Sessions { wanted: rest.to_owned() }),
        Verb::Permissions => page(state, Page::Permissions),
        Verb::Cost => page(state, Page::Cost),
        Verb::Context => page(state, Page::Context),
        Verb::Notices => page(state, Page::Notices),
        Verb::Tasks => layer(state, Dialog::Tasks),
        Verb::Asks => layer(state, Dialog::Queue),
        Verb::Agents => {
            let entries = agent_entries(state);
            layer(state, Dialog::Picker(Picker::new("agents", entries)))
        }
        Verb::Spawn => spawn(rest),
        Verb::Task => {
            let change = TaskChange::Create {
                subject: rest.to_owned(),
                description: String::new(),
                blocked_by: Vec::new(),
            };
            op(Op::Task { change: Box::new(change) })
        }
        Verb::Mode => mode(state, rest),
        Verb::Compact => {
            let wishes = (!rest.is_empty()).then(|| rest.to_owned());
            op(Op::Compact { agent: state.selected.clone(), wishes })
        }
        Verb::Pause => op(Op::Pause { agent: whom(state, rest)?.id.clone() }),
        Verb::GoOn => op(Op::Unpause { agent: whom(state, rest)?.id.clone() }),
        Verb::Stop => stop(state, rest),
        Verb::Shutdown => shutdown(state, rest),
        Verb::Search => {
            let (query, hits) = (rest.to_owned(), find::everywhere(state, rest));
            page(state, Page::Found { query, hits })
        }
        Verb::Export => {
            let name = if rest.is_empty() { usual_export(state) } else { rest.to_owned() };
            Ok(vec![Effect::Export { name }])
        }
        Verb::Doctor => look(Look::Doctor),
        Verb::Theme => themes(state, rest),
        Verb::Layout => layout(state, rest),
        Verb::Mouse => match (rest, state.ui.mouse) {
            ("on", false) | ("off", true) => Ok(act(state, Action::ToggleMouse)),
            ("on" | "off", _) => Ok(Vec::new()),
            _ => Err("Write /mouse on, or /mouse off.".to_owned()),
        },
        Verb::Clear => {
            clear(state);
            Ok(Vec::new())
        }
        Verb::Quit => Ok(leave(state)),
    }
}

fn op(op: Op) -> Outcome {
    Ok(vec![Effect::Send(op)])
}

fn look(what: Look) -> Outcome {
    Ok(vec![Effect::Look(what)])
}

/// Has a subagent of the selected agent do something in the background.
fn delegate(state: &State, prompt: &str) -> Outcome {
    let (agent, kind) = (state.selected.clone(), None);
    let description = cut(&one_line(prompt), 60).into_owned();
    op(Op::Delegate { agent, kind, description, prompt: prompt.to_owned() })
}

fn diff(state: &State, name: &str) -> Outcome {
    let agent = whom(state, name)?;
    let about = agent.about.as_ref();
    let dir = about.map_or(state.about.project.clone(), |about| about.cwd.clone());
    look(Look::Diff { of: agent.name.clone(), dir })
}

fn page(state: &mut State, page: Page) -> Outcome {
    open_sheet(state, page);
    Ok(Vec::new())
}

fn layer(state: &mut State, layer: Dialog) -> Outcome {
    close_passing(state);
    if !state.layers.contains(&layer) {
        state.layers.push(layer);
    }
    Ok(Vec::new())
}

/// The agent of this name; the selected one where none is given.
fn whom<'a>(state: &'a State, name: &str) -> Result<&'a Agent, String> {
    let name = name.trim_start_matches('@');
    if name.is_empty() {
        return state.selected_agent().ok_or_else(|| "Nobody is selected.".to_owned());
    }
    state.agents.named(name).ok_or_else(|| {
        let near = nearest(name, state.agents.team().map(|agent| agent.name.as_str()));
        let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        format!("Nobody here is called {name}{hint}")
    })
}

fn stop(state: &State, name: &str) -> Outcome {
    let agent = whom(state, name)?;
    let id = agent.id.clone();
    match agent.kind {
        Kind::Lead => op(Op::Interrupt { agent: id }),
        Kind::Teammate | Kind::Subagent => op(Op::Stop { agent: id }),
    }
}

fn shutdown(state: &State, rest: &str) -> Outcome {
    let (name, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let agent = whom(state, name)?;
    if agent.kind == Kind::Lead {
        return Err("The lead ends with the session; use /quit.".to_owned());
    }
    op(Op::Shutdown { agent: agent.id.clone(), reason: reason.trim().to_owned() })
}

fn known_mode(name: &str) -> Result<Mode, String> {
    let found = MODES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, mode)| *mode).ok_or_else(|| {
        let names: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
        format!("There is no mode {name}; there are {}.", names.join(", "))
    })
}

fn mode(state: &State, rest: &str) -> Outcome {
    let (name, whose) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let mode = known_mode(name)?;
    op(Op::Mode { agent: whom(state, whose.trim())?.id.clone(), mode })
}

/// `/spawn NAME [--type T] [--model M] [--mode M] [--worktree] PROMPT`
fn spawn(rest: &str) -> Outcome {
    let mut words = rest.split_whitespace();
    let name = words.next().unwrap_or_default();
    let name = AgentName::new(name).map_err(|error| error.to_string())?;
    let mut wish = SpawnWish { name: name.to_string(), ..SpawnWish::default() };
    let mut prompt: Vec<&str> = Vec::new();
    while let Some(word) = words.next() {
        let mut value = || words.next().map(str::to_owned).ok_or(format!("{word} needs a value."));
        match word {
            "--type" if prompt.is_empty() => wish.kind = Some(value()?),
            "--model" if prompt.is_empty() => wish.model = Some(value()?),
            "--mode" if prompt.is_empty() => wish.mode = Some(known_mode(&value()?)?),
            "--worktree" if prompt.is_empty() => wish.worktree = true,
            word => prompt.push(word),
        }
    }
    wish.prompt = prompt.join(" ");
    op(Op::Spawn { wish: Box::new(wish) })
}

fn themes(state: &mut State, name: &str) -> Outcome {
    if !name.is_empty() {
        if !theme::NAMES.contains(&name) {
            return Err(format!(
                "There is no theme {name}; there are {}.",
                theme::NAMES.join(", ")
            ));
        }
        state.theme = name.to_owned();
        return Ok(vec![Effect::Theme(name.to_owned())]);
    }
    let entries = theme::NAMES.iter().map(|name| Entry {
        label: (*name).to_owned(),
        help: String::new(),
        keys: String::new(),
        pick: Pick::Theme((*name).to_owned()),
    });
    let mut picker = Picker::new("themes", entries.collect());
    picker.selected = theme::NAMES.iter().position(|name| **name == state.theme).unwrap_or(0);
    picker.before = Some(state.theme.clone());
    layer(state, Dialog::Picker(picker))
}

fn layout(state: &mut State, name: &str) -> Outcome {
    let all = [Arrangement::Overview, Arrangement::Focus, Arrangement::Grid];
    match all.into_iter().find(|known| known.name() == name) {
        Some(arrangement) => {
            state.ui.arrangement = arrangement;
            Ok(Vec::new())
        }
        None => Err("Write /layout overview, focus or grid.".to_owned()),
    }
}

fn clear(state: &mut State) {
    state.notices.dismiss();
    state.asks.unmark();
    for id in state.rotation() {
        if let Some(agent) = state.agents.get_mut(&id) {
            agent.scroll.end_search();
            agent.scroll.bottom();
            agent.unseen = 0;
        }
    }
    reach::mend_focus(state);
}
