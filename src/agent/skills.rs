//! The skills that are there: a directory each, with a `SKILL.md` that says what it is for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::definition::{Sources, header};
use super::memory::beginning;
use crate::tools::registry::ToolSet;

/// As much of a file as its front matter takes.
const LONGEST_HEADER: u64 = 8_000;

/// As much of a description as is told, in characters.
const LONGEST_DESCRIPTION: usize = 500;

/// As many as are told.
const MOST_SKILLS: usize = 100;

/// Where skills are, beside the definitions of agents: the nearest first, the project's before
/// the user's, ours before those of others.
pub fn skill_places(project: &Path) -> Vec<PathBuf> {
    let Sources { project, user, .. } = Sources::of(project, None);
    project.iter().chain(&user).filter_map(|agents| Some(agents.parent()?.join("skills"))).collect()
}

/// Whether a name is one part of a path, and nothing else.
pub fn is_plain(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(fits)
}

/// The skills there are, by name, for whoever can read their files.
pub fn skills_roster(project: &Path, tools: &ToolSet) -> String {
    match tools.get("Read") {
        Some(_) => in_words(&found_in(&skill_places(project))),
        None => String::new(),
    }
}

/// By name: what each is for, and its file. The nearest of a name counts.
fn found_in(places: &[PathBuf]) -> BTreeMap<String, (String, PathBuf)> {
    let mut found = BTreeMap::new();
    for place in places {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let file = entry.path().join("SKILL.md");
            if !is_plain(&name) || found.contains_key(&name) {
                continue;
            }
            let Ok(text) = beginning(&file, LONGEST_HEADER) else { continue };
            let about = header(&text, "description").unwrap_or_default();
            let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
            found.insert(name, (about.chars().take(LONGEST_DESCRIPTION).collect(), file));
        }
    }
    found
}

fn in_words(skills: &BTreeMap<String, (String, PathBuf)>) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let lines = skills.iter().take(MOST_SKILLS);
    let lines =
        lines.map(|(name, (about, file))| format!("- `{name}`: {about} ({})", file.display()));
    let mut lines: Vec<String> = lines.collect();
    if skills.len() > MOST_SKILLS {
        lines.push(format!("- and {} more", skills.len() - MOST_SKILLS));
    }
    format!(
        "# Skills\n\nWays to do some kinds of work. Where one fits, read its file before you begin, \
         and follow it.\n\n{}",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_of_a_name_counts_and_all_stand_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let skill = |place: &str, name: &str, text: &str| {
            let dir = dir.path().join(place).join(name);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("SKILL.md"), text).unwrap();
        };
        skill("near", "tidy", "---\nname: tidy\ndescription: Tidies\n  up.\n---\nbody\n");
        skill("far", "tidy", "---\ndescription: Other.\n---\n");
        skill("far", "aim", "---\ndescription: Use it when: aiming\n---\n");
        skill("far", "bare", "no front matter");
        fs::create_dir_all(dir.path().join("far/empty")).unwrap();
        let places = [dir.path().join("near"), dir.path().join("far"), dir.path().join("none")];
        let words = in_words(&found_in(&places));
        let lines: Vec<&str> = words.lines().filter(|line| line.starts_with("- ")).collect();
        assert_eq!(lines.len(), 3, "{words}");
        assert!(lines[0].starts_with("- `aim`: Use it when: aiming ("), "{words}");
        assert!(lines[1].starts_with("- `bare`: "), "{words}");
        assert!(lines[2].starts_with("- `tidy`: Tidies up. ("), "{words}");
        assert!(lines[2].contains("near"), "{words}");
        assert_eq!(in_words(&BTreeMap::new()), "");
    }
}
