//! Rules as settings files write them: `Tool` or `Tool(content)`.
//!
//! Parsing knows where a rule came from, since paths may be relative to that place. A rule that
//! is not understood is an error with its mistake named, never a rule that silently means less.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::path::{folded, resolve};
use super::shell::pattern::CommandPattern;

/// What a rule does to what it covers. The stronger stands first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    Deny,
    Ask,
    Allow,
}

impl Effect {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

/// Where a rule was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    File(PathBuf),
    CommandLine,
    /// What the machine's administrator wrote.
    Policy(PathBuf),
    /// Given while the session ran.
    Session,
    /// Lent for one turn by the person's own command of this name.
    Recipe(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, "{}", file.display()),
            Self::Policy(file) => write!(f, "managed policy {}", file.display()),
            Self::CommandLine => f.write_str("command line"),
            Self::Session => f.write_str("session"),
            Self::Recipe(name) => write!(f, "command /{name}"),
        }
    }
}

/// Rules in one text, separated by commas or blanks outside of parentheses.
pub fn split_rules(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut rule, mut depth) = (String::new(), 0_u32);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            found.push(std::mem::take(&mut rule));
        } else {
            rule.push(c);
        }
    }
    found.push(rule);
    found.retain(|rule| !rule.is_empty());
    found
}

/// The directories that paths in rules may be relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bases {
    pub cwd: PathBuf,
    /// Where `~` is. Rules with `~` need it.
    pub user: Option<PathBuf>,
    /// Where `/src` of a rule begins: the place that its settings file is for.
    pub settings: PathBuf,
}

#[derive(Debug, Clone)]
pub struct Rule {
    pub effect: Effect,
    pub source: Source,
    /// As it was written.
    pub text: String,
    pub tool: String,
    /// Shared, since views are copied for every use of a tool.
    pub(super) content: Arc<Content>,
}

/// What stands between the parentheses, understood by the tool it belongs to.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// Nothing: every use of the tool.
    All,
    Command(CommandPattern),
    Paths(PathPattern),
    Domain(String),
    /// Compared as it is: the type of an agent, the name of a skill.
    Exactly(String),
    /// Not understood: it may mean any use of the tool.
    Broken,
}

/// Why a rule cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{rule}` {mistake}")]
pub struct RuleError {
    pub rule: String,
    pub mistake: Mistake,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    #[error("is empty")]
    Empty,
    #[error("has no closing `)` at its end")]
    NotClosed,
    #[error("has a `)` without a `(`")]
    NotOpened,
    #[error("has nothing between its parentheses; leave them out to mean every use")]
    NoContent,
    #[error("names no tool: `{0}` has a character that no tool's name has")]
    ToolName(String),
    #[error("names no tool: write `{meant}` instead of `{given}`")]
    Letters { given: String, meant: &'static str },
    #[error("gives `{0}` a content, but the names of MCP tools stand alone")]
    McpContent(String),
    #[error("has no domain; write WebFetch(domain:example.org)")]
    NotADomain,
    #[error("begins with `!`; a rule cannot take back what another one says")]
    Negated,
    #[error("begins with `~`, and no home directory is known, or it names another user's")]
    NoUser,
    #[error("is not a valid path pattern: {0}")]
    Pattern(String),
}

/// The tools whose rules speak of files that are read, and of files that are written. A rule for
/// one holds for the others: what may not be read by Read may not be read by Grep.
const READERS: [&str; 4] = ["Read", "Grep", "Glob", "LS"];
/// Tools whose names are often written in other letters.
const TOOLS: [&str; 13] = [
    "Bash",
    "Read",
    "Grep",
    "Glob",
    "LS",
    "Edit",
    "Write",
    "MultiEdit",
    "NotebookEdit",
    "WebFetch",
    "WebSearch",
    "Agent",
    "Task",
];
const WRITERS: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];

pub(super) fn is_reader(tool: &str) -> bool {
    READERS.contains(&tool)
}

pub(super) fn is_writer(tool: &str) -> bool {
    WRITERS.contains(&tool)
}

/// The one name of a tool that has two.
pub(super) fn tool_name(tool: &str) -> &str {
    if tool == "Task" { "Agent" } else { tool }
}

impl Rule {
    pub fn parse(
        text: &str,
        effect: Effect,
        source: Source,
        bases: &Bases,
    ) -> Result<Self, RuleError> {
        let failed = |mistake| RuleError { rule: text.to_owned(), mistake };
        let (tool, content) = split(text.trim()).map_err(failed)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let name = tool.strip_suffix('*').filter(|name| name.starts_with("mcp__")).unwrap_or(tool);
        if tool != "*" && !name.chars().all(plain) {
            return Err(failed(Mistake::ToolName(tool.to_owned())));
        }
        // A rule for `bash` would never hold.
        let meant = TOOLS.iter().find(|known| known.eq_ignore_ascii_case(tool) && **known != tool);
        if let Some(meant) = meant {
            return Err(failed(Mistake::Letters { given: tool.to_owned(), meant }));
        }
        let tool = tool_name(tool).to_owned();
        let content = match content {
            None => Content::All,
            Some(_) if tool.starts_with("mcp__") => {
                return Err(failed(Mistake::McpContent(tool)));
            }
            Some("*" | ":*") => Content::All,
            Some(content) if tool == "Bash" => Content::Command(CommandPattern::parse(content)),
            Some(content) if is_reader(&tool) || is_writer(&tool) => {
                Content::Paths(PathPattern::parse(content, bases).map_err(failed)?)
            }
            Some(content) if tool == "WebFetch" || tool == "WebSearch" => {
                let domain = content.strip_prefix("domain:").map(str::trim);
                let domain = domain.filter(|domain| !domain.is_empty());
                let domain = domain.ok_or_else(|| failed(Mistake::NotADomain))?;
                Content::Domain(domain.trim_end_matches('.').to_ascii_lowercase())
            }
            Some(content) => Content::Exactly(content.to_owned()),
        };
        Ok(Self { effect, source, text: text.trim().to_owned(), tool, content: Arc::new(content) })
    }

    /// What holds instead of a rule that forbids or asks and cannot be understood: it may mean
    /// any use of its tool, and of every tool if that is not clear either.
    pub(super) fn in_place_of(text: &str, effect: Effect, source: Source) -> Option<Self> {
        let name = text.split('(').next().unwrap_or_default().trim();
        let known = TOOLS.iter().find(|known| known.eq_ignore_ascii_case(name)).copied();
        let mcp = Some(name).filter(|name| name.starts_with("mcp__"));
        let tool = tool_name(known.or(mcp).unwrap_or("*")).to_owned();
        let content = Arc::new(Content::Broken);
        let text = text.trim().to_owned();
        (effect != Effect::Allow).then_some(Self { effect, source, text, tool, content })
    }

    /// Whether a rule that is not understood may mean this use.
    pub(super) fn may_mean(&self, tool: &str) -> bool {
        let family = |is: fn(&str) -> bool| is(&self.tool) && (is(tool) || tool == "Bash");
        self.tool == "*" || self.tool == tool || family(is_reader) || family(is_writer)
    }

    /// The very host that the rule names, if it names one.
    pub fn host(&self) -> Option<&str> {
        match &*self.content {
            Content::Domain(domain) => Some(domain),
            Content::All
            | Content::Command(_)
            | Content::Paths(_)
            | Content::Exactly(_)
            | Content::Broken => None,
        }
    }

    /// Whether the rule speaks of an MCP tool: its own, or all of its server.
    pub(super) fn covers_mcp(&self, server: &str, tool: &str) -> bool {
        let name = format!("mcp__{server}__{tool}");
        let all = format!("mcp__{server}");
        let starred = self.tool.strip_suffix('*').filter(|start| start.starts_with("mcp__"));
        self.tool == name
            || self.tool == all
            || starred.is_some_and(|start| name.starts_with(start))
    }
}

fn split(text: &str) -> Result<(&str, Option<&str>), Mistake> {
    if text.is_empty() {
        return Err(Mistake::Empty);
    }
    let Some((tool, rest)) = text.split_once('(') else {
        return if text.contains(')') { Err(Mistake::NotOpened) } else { Ok((text, None)) };
    };
    let content = rest.strip_suffix(')').ok_or(Mistake::NotClosed)?.trim();
    if tool.is_empty() {
        return Err(Mistake::ToolName(text.to_owned()));
    }
    if content.is_empty() { Err(Mistake::NoContent) } else { Ok((tool, Some(content))) }
}

/// Paths by a pattern in the manner of gitignore, made absolute.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    set: GlobSet,
}

impl PathPattern {
    fn parse(text: &str, bases: &Bases) -> Result<Self, Mistake> {
        if text.starts_with('!') {
            return Err(Mistake::Negated);
        }
        let (base, rest) = if let Some(rest) = text.strip_prefix("//") {
            (PathBuf::from("/"), rest.to_owned())
        } else if text == "~" || text.starts_with("~/") {
            (bases.user.clone().ok_or(Mistake::NoUser)?, text[1..].to_owned())
        } else if text.starts_with('~') {
            return Err(Mistake::NoUser);
        } else if let Some(rest) = text.strip_prefix('/') {
            (bases.settings.clone(), rest.to_owned())
        } else if let Some(rest) = text.strip_prefix("./") {
            (bases.cwd.clone(), rest.to_owned())
        } else if text.trim_end_matches('/').contains('/') {
            (bases.cwd.clone(), text.to_owned())
        } else {
            // A bare name is meant wherever it occurs, as in gitignore.
            (bases.cwd.clone(), format!("**/{text}"))
        };
        let rest = rest.trim_matches('/');
        let mut set = GlobSetBuilder::new();
        for (base, rest) in [literal_part(&base, rest), (base, rest.to_owned())] {
            add(&mut set, &base, &rest)?;
        }
        let set = set.build().map_err(|error| Mistake::Pattern(error.to_string()))?;
        Ok(Self { set })
    }

    pub(super) fn covers(&self, path: &Path) -> bool {
        self.set.is_match(folded(path))
    }
}

/// The part of a pattern before its first wildcard, with its links followed: paths are compared
/// after theirs were.
fn literal_part(base: &Path, rest: &str) -> (PathBuf, String) {
    let wild = |part: &&str| part.contains(['*', '?', '[', '{', '\\']);
    let literal: Vec<&str> = rest.split('/').take_while(|part| !wild(part)).collect();
    let behind: Vec<&str> = rest.split('/').skip(literal.len()).collect();
    (resolve(base, Path::new(&literal.join("/"))), behind.join("/"))
}

/// A pattern means what it names and all that is below it.
fn add(set: &mut GlobSetBuilder, base: &Path, rest: &str) -> Result<(), Mistake> {
    let base = globset::escape(&folded(base).to_string_lossy());
    let base = base.trim_end_matches('/');
    let rest = if cfg!(target_os = "macos") { rest.to_lowercase() } else { rest.to_owned() };
    let whole = if rest.is_empty() { base.to_owned() } else { format!("{base}/{rest}") };
    let below = format!("{}/**", whole.trim_end_matches("/**"));
    for glob in [whole, below] {
        let glob = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
        set.add(glob.map_err(|error| Mistake::Pattern(error.kind().to_string()))?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Rule, RuleError> {
        let bases = Bases { cwd: "/w".into(), user: Some("/u".into()), settings: "/s".into() };
        Rule::parse(text, Effect::Allow, Source::Session, &bases)
    }

    #[test]
    fn a_mistake_is_named() {
        let mistakes = [
            ("", "is empty"),
            ("Bash(ls", "no closing `)`"),
            ("Bash)", "without a `(`"),
            ("Bash()", "nothing between"),
            ("Ba sh(x)", "names no tool"),
            ("(x)", "names no tool"),
            ("mcp__a__b(x)", "stand alone"),
            ("WebFetch(example.org)", "domain:example.org"),
            ("Read(!x)", "cannot take back"),
            ("Read(~bob/x)", "another user"),
            ("Read(./[)", "not a valid path pattern"),
        ];
        for (text, part) in mistakes {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "`{text}` says: {error}");
        }
    }

    #[test]
    fn a_path_pattern_begins_where_its_first_characters_say() {
        let covers = |rule: &str, path: &str| {
            let content = parse(rule).unwrap().content;
            let Content::Paths(paths) = &*content else { panic!("{rule}") };
            paths.covers(Path::new(path))
        };
        let cases = [
            ("Read(//etc/hosts)", "/etc/hosts", true),
            ("Read(//etc)", "/etc/ssh/x", true),
            ("Read(//etc/**)", "/etcetera", false),
            ("Read(~/x/*.txt)", "/u/x/a.txt", true),
            ("Read(~/x/*.txt)", "/u/x/y/a.txt", false),
            ("Edit(/src/**)", "/s/src/a/b.rs", true),
            ("Edit(/src/**)", "/w/src/a/b.rs", false),
            ("Edit(./src/**/*.rs)", "/w/src/a/b.rs", true),
            ("Edit(src/*.rs)", "/w/src/b.rs", true),
            ("Edit(src/*.rs)", "/w/lib/src/b.rs", false),
            ("Read(.env)", "/w/a/.env", true),
            ("Read(.env)", "/w/.env", true),
            ("Read(.env)", "/w/.envy", false),
            ("Read(node_modules/)", "/w/a/node_modules/b/c", true),
        ];
        for (rule, path, wanted) in cases {
            assert_eq!(covers(rule, path), wanted, "{rule} and {path}");
        }
    }
}
