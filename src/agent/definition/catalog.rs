//! All definitions in force: one for each name, by precedence.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{Read, read_file_text, read_json};
use super::sources::{Found, Sources, Survey};
use super::{Definition, McpServer, Problem, Severity, Source, builtin};
use crate::protocol::mistake::Mistake;
use crate::protocol::nearest::nearest;
use crate::store::files;

/// Nobody writes a longer prompt by hand.
const LONGEST_FILE: u64 = 1024 * 1024;

/// What is in force, and what is wrong with the rest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalog {
    /// By name.
    pub definitions: Vec<Definition>,
    pub problems: Vec<Problem>,
}

impl Catalog {
    pub fn load(sources: &Sources) -> Self {
        Self::from_survey(sources, &sources.survey())
    }

    fn from_survey(sources: &Sources, survey: &Survey) -> Self {
        let mut merge = Merge::default();
        for (source, dir, what) in &survey.unreadable {
            merge.problems.push(problem(source, dir, what.clone(), Severity::Error));
        }
        let (policy, rest): (Vec<&Found>, Vec<&Found>) =
            survey.found.iter().partition(|found| found.source == Source::Policy);
        for found in policy {
            merge.file(found);
        }
        if let Some(text) = &sources.command_line {
            merge.add(read_json(text), None);
        }
        for found in rest {
            merge.file(found);
        }
        for read in builtin::all() {
            merge.add(read, None);
        }
        merge.finish()
    }

    /// The definition of this name, whatever the case of its letters. A plug-in's may be called
    /// without the plug-in's name where that means only one.
    pub fn get(&self, name: &str) -> Option<&Definition> {
        let wanted = folded(name);
        let exact = self.definitions.iter().find(|one| folded(&one.name) == wanted);
        exact.or_else(|| {
            let ending = format!(":{wanted}");
            let mut fits =
                self.definitions.iter().filter(|one| folded(&one.name).ends_with(&ending));
            fits.next().filter(|_| fits.next().is_none())
        })
    }

    /// A name that was probably meant.
    pub fn near(&self, name: &str) -> Option<&str> {
        nearest(name, self.definitions.iter().map(|one| one.name.as_str()))
    }

    /// Those whose servers are all among the configured ones.
    pub fn available(&self, mcp_servers: &[&str]) -> Vec<&Definition> {
        self.definitions.iter().filter(|one| one.can_work_with(mcp_servers)).collect()
    }
}

impl Definition {
    /// A server that it shares must be there by its name; of one that it requires, part of the
    /// name is enough. Its own it brings along.
    pub fn can_work_with(&self, mcp_servers: &[&str]) -> bool {
        let shared = |server: &McpServer| match server {
            McpServer::Shared(name) => mcp_servers.contains(&name.as_str()),
            McpServer::Own { .. } => true,
        };
        let own = self.mcp_servers.iter().map(McpServer::name);
        let all: Vec<String> = own.chain(mcp_servers.iter().copied()).map(folded).collect();
        let required = |part: &String| all.iter().any(|name| name.contains(&folded(part)));
        self.mcp_servers.iter().all(shared) && self.required_mcp_servers.iter().all(required)
    }
}

/// Names are compared so.
fn folded(name: &str) -> String {
    name.to_lowercase()
}

fn problem(source: &Source, file: &Path, what: String, severity: Severity) -> Problem {
    let mistake = Mistake { line: 0, column: 0, what, hint: None };
    Problem { source: source.clone(), file: Some(file.to_owned()), mistake, severity }
}

/// Definitions in the order of precedence: who comes first, stays.
#[derive(Debug, Default)]
struct Merge {
    taken: HashMap<String, (Definition, Option<PathBuf>)>,
    problems: Vec<Problem>,
}

impl Merge {
    fn file(&mut self, found: &Found) {
        let text = match files::read_text(&found.file, LONGEST_FILE) {
            Ok(Some(text)) => text,
            // Somebody removed it just now.
            Ok(None) => return,
            Err(error) => {
                let what = error.to_string();
                self.problems.push(problem(&found.source, &found.file, what, Severity::Error));
                return;
            }
        };
        let mut read = read_file_text(&text, &found.source);
        for problem in &mut read.problems {
            problem.file = Some(found.file.clone());
        }
        for definition in &mut read.definitions {
            definition.file = Some(found.file.clone());
            if let Source::Plugin(plugin) = &found.source {
                definition.name = format!("{plugin}:{}", definition.name);
            }
        }
        self.add(read, Some(&found.place));
    }

    fn add(&mut self, read: Read, place: Option<&Path>) {
        self.problems.extend(read.problems);
        for definition in read.definitions {
            let key = folded(&definition.name);
            let Some((first, there)) = self.taken.get(&key) else {
                self.taken.insert(key, (definition, place.map(Path::to_owned)));
                continue;
            };
            // Two of one name in one place are hardly meant.
            if let (Some(file), Some(used)) = (&definition.file, &first.file)
                && there.as_deref() == place
            {
                let what = format!(
                    "`{}` is not used: {} has the same name",
                    definition.name,
                    used.display()
                );
                self.problems.push(problem(&definition.source, file, what, Severity::Warning));
            }
        }
    }

    fn finish(self) -> Catalog {
        let mut definitions: Vec<Definition> =
            self.taken.into_values().map(|(definition, _)| definition).collect();
        definitions.sort_by_cached_key(|one| folded(&one.name));
        Catalog { definitions, problems: self.problems }
    }
}

/// A catalog that follows its files.
#[derive(Debug)]
pub struct Watcher {
    sources: Sources,
    survey: Survey,
    /// Whether the versions in the survey can be trusted to differ from any later one.
    settled: bool,
    catalog: Arc<Catalog>,
}

impl Watcher {
    pub fn new(sources: Sources) -> Self {
        let survey = sources.survey();
        let settled = survey.is_settled();
        let catalog = Arc::new(Catalog::from_survey(&sources, &survey));
        Self { sources, survey, settled, catalog }
    }

    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog)
    }

    /// Looks at directories and versions of files, and reads them if something is another. Says
    /// whether the catalog is another now. Blocks.
    pub fn reload_if_changed(&mut self) -> bool {
        let survey = self.sources.survey();
        if self.settled && survey == self.survey {
            return false;
        }
        // Before reading: what is written meanwhile shows the next time.
        self.settled = survey.is_settled();
        let catalog = Catalog::from_survey(&self.sources, &survey);
        self.survey = survey;
        let changed = catalog != *self.catalog;
        if changed {
            self.catalog = Arc::new(catalog);
        }
        changed
    }
}
