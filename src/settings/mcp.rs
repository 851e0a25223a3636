//! Which MCP servers are configured, by name alone: nothing else of these files is looked at, for
//! they hold keys.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::paths;

/// The names of all servers that are configured for work in a project.
pub fn configured(project: &Path) -> BTreeSet<String> {
    let home = paths::user_dir().map(|dir| dir.join(".claude.json"));
    let own = paths::config_dir().map(|dir| dir.join("mcp.json"));
    let mut names = BTreeSet::new();
    for file in [home, own, Some(project.join(".mcp.json"))].into_iter().flatten() {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        names.extend(named_in(&text, project));
    }
    names
}

/// The servers of one file: its own, and those it has for this project. A file that cannot be
/// understood names none.
fn named_in(text: &str, project: &Path) -> BTreeSet<String> {
    let file: Value = serde_json::from_str(text).unwrap_or_default();
    let here = file.get("projects").and_then(|all| all.get(project.to_string_lossy().as_ref()));
    let places = [Some(&file), here].into_iter().flatten();
    let servers = places.filter_map(|place| place.get("mcpServers")?.as_object());
    servers.flat_map(|servers| servers.keys().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_the_user_and_of_the_project_are_found_by_name() {
        let text = r#"{"mcpServers": {"docs": {"env": {"KEY": "secret"}}}, "projects":
            {"/p": {"mcpServers": {"db": {}}}, "/q": {"mcpServers": {"other": {}}}}}"#;
        let found: Vec<String> = named_in(text, Path::new("/p")).into_iter().collect();
        assert_eq!(found, ["db", "docs"]);
        assert!(named_in("{", Path::new("/p")).is_empty());
    }
}
