//! "And don't ask again": how far a yes may reach, from narrow to wide. Everything offered here
//! was tried: with it, the same use goes through.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::rule::{Bases, Effect, Rule, Source};
use super::{Access, Decision, Suggestion, View, decide};
use crate::protocol::ask::Permit;
pub use crate::protocol::scope::{Reach, Scope, Term, suggested};

/// What could be allowed from now on so that this use would not be asked about, narrow first.
pub fn scopes(
    view: &View,
    tool: &str,
    input: &Value,
    access: &[Access],
    suggestions: &[Suggestion],
) -> Vec<Scope> {
    let mut found: Vec<Scope> = Vec::new();
    let wider = access.iter().flat_map(|access| around(view, access));
    let every = Scope { reach: Reach::Tool, permits: vec![Permit::Rule(tool.to_owned())] };
    let suggested = suggestions.iter().filter_map(of_suggestion);
    for scope in wider.chain(suggested).chain([every]) {
        let new = found.iter().all(|known| known.permits != scope.permits);
        if new && helps(view, tool, input, access, &scope.permits) {
            found.push(scope);
        }
    }
    found.sort_by_key(|scope| scope.reach);
    found
}

fn of_suggestion(suggestion: &Suggestion) -> Option<Scope> {
    let permits = permits(suggestion);
    let reach = match suggestion {
        Suggestion::AddRules(_) => Reach::Like,
        Suggestion::AddDirectories(_) => Reach::Directory,
        Suggestion::SetMode(_) => return None,
    };
    Some(Scope { reach, permits })
}

/// A suggestion as something that can be given.
pub fn permits(suggestion: &Suggestion) -> Vec<Permit> {
    match suggestion {
        Suggestion::AddRules(rules) => rules.iter().cloned().map(Permit::Rule).collect(),
        Suggestion::AddDirectories(dirs) => dirs.iter().cloned().map(Permit::Directory).collect(),
        Suggestion::SetMode(mode) => vec![Permit::Mode(*mode)],
    }
}

fn around(view: &View, access: &Access) -> Vec<Scope> {
    let scope = |reach, rule: String| Scope { reach, permits: vec![Permit::Rule(rule)] };
    let file = |tool: &str, path: &Path| {
        let path: PathBuf = super::path::resolve(&view.cwd, path);
        let mut all = vec![scope(Reach::This, format!("{tool}(/{})", path.display()))];
        if let Some(dir) = path.parent().filter(|dir| *dir != Path::new("/")) {
            all.push(scope(Reach::Directory, format!("{tool}(/{}/**)", dir.display())));
        }
        all
    };
    match access {
        Access::Read(path) => file("Read", path),
        Access::Write(path) => file("Edit", path),
        Access::Run(command) => vec![scope(Reach::This, format!("Bash({command})"))],
        Access::Mcp { server, tool } => vec![
            scope(Reach::This, format!("mcp__{server}__{tool}")),
            scope(Reach::Tool, format!("mcp__{server}")),
        ],
        Access::Fetch(_) | Access::Spawn(_) | Access::Free => Vec::new(),
    }
}

/// Whether this would let the use through.
fn helps(view: &View, tool: &str, input: &Value, access: &[Access], permits: &[Permit]) -> bool {
    let bases =
        Bases { cwd: view.cwd.clone(), user: view.user.clone(), settings: view.cwd.clone() };
    let mut view = view.clone();
    for permit in permits {
        match permit {
            Permit::Rule(rule) => match Rule::parse(rule, Effect::Allow, Source::Session, &bases) {
                Ok(rule) => view.rules.push(rule),
                Err(_) => return false,
            },
            Permit::Directory(dir) => view.add_directory(Path::new(dir)),
            Permit::Mode(mode) => view.mode = *mode,
        }
    }
    matches!(decide(&view, tool, input, access), Decision::Allow { .. })
}
