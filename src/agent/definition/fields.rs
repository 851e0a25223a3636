//! The fields of a definition, each with the place where it stands.
//!
//! A field of a wrong kind is an error that says what was expected; a field that nobody knows is
//! a warning, since other programs may know it.

use serde_json::{Value, json};

use super::{Definition, EffortWish, Isolation, McpServer, MemoryScope, ModelWish, Source};
use crate::agent::hooks::Hooks;
use crate::model::request::Effort;
use crate::permission::view::mode_named;
use crate::protocol::mistake::Mistakes;
use crate::protocol::team::COLORS;
use crate::protocol::yaml::{Data, Key, Node};

const KNOWN: &[&str] = &[
    "name",
    "description",
    "tools",
    "disallowedTools",
    "model",
    "effort",
    "permissionMode",
    "background",
    "isolation",
    "maxTurns",
    "color",
    "memory",
    "mcpServers",
    "requiredMcpServers",
    "hooks",
    "skills",
    "initialPrompt",
];

const EFFORTS: &[(&str, Effort)] = &[
    ("low", Effort::Low),
    ("medium", Effort::Medium),
    ("high", Effort::High),
    ("max", Effort::High),
];

const ISOLATIONS: &[(&str, Isolation)] =
    &[("worktree", Isolation::Worktree), ("remote", Isolation::Remote)];

const MEMORIES: &[(&str, MemoryScope)] = &[
    ("user", MemoryScope::User),
    ("project", MemoryScope::Project),
    ("local", MemoryScope::Local),
];

const MODES: &[&str] =
    &["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "delegate", "bubble"];

/// The longest name, as for agents themselves; a plug-in's name stands before it.
const LONGEST_NAME: usize = 64;

/// How a definition is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The name is a field and the prompt is the body.
    File,
    /// The name is the key and the prompt is a field.
    Json,
}

pub struct Fields<'n> {
    root: &'n Node,
    shape: Shape,
    pub errors: Mistakes,
    pub warnings: Mistakes,
}

impl<'n> Fields<'n> {
    pub fn new(root: &'n Node, shape: Shape) -> Self {
        Self { root, shape, errors: Mistakes::default(), warnings: Mistakes::default() }
    }

    /// Reads everything, so that all mistakes are found at once.
    pub fn definition(
        &mut self,
        name: Option<&str>,
        body: String,
        source: &Source,
    ) -> Option<Definition> {
        let Data::Map(_) = &self.root.data else {
            let what = format!("a definition must be a mapping, not {}", self.root.kind());
            self.errors.add_with(self.root.at, what, "for example: name: reviewer");
            return None;
        };
        self.unknown();
        let name = self.name(name);
        let description = self.needed("description").map(|text| text.replace("\\n", "\n"));
        let prompt = match self.shape {
            Shape::File => Some(body),
            Shape::Json => self.needed("prompt"),
        };
        let (tools, spawnable) = self.tools();
        let definition = Definition {
            name: String::new(),
            description: String::new(),
            tools,
            disallowed_tools: self.words("disallowedTools").unwrap_or_default(),
            spawnable,
            model: self.model(),
            effort: self.effort(),
            permission_mode: self.mode(),
            background: self.truth("background").unwrap_or(false),
            isolation: self.choice("isolation", ISOLATIONS),
            max_turns: self.max_turns(),
            color: self.color(),
            memory: self.choice("memory", MEMORIES),
            mcp_servers: self.mcp_servers(),
            required_mcp_servers: self.words("requiredMcpServers").unwrap_or_default(),
            hooks: self.hooks(),
            skills: self.words("skills").unwrap_or_default(),
            initial_prompt: self.text("initialPrompt"),
            prompt: String::new(),
            source: source.clone(),
            file: None,
        };
        Some(Definition { name: name?, description: description?, prompt: prompt?, ..definition })
    }

    fn pairs(&self) -> &'n [(Key, Node)] {
        match &self.root.data {
            Data::Map(pairs) => pairs,
            Data::List(_) | Data::Scalar { .. } => &[],
        }
    }

    fn unknown(&mut self) {
        let mut known = KNOWN.to_vec();
        if self.shape == Shape::Json {
            known.push("prompt");
        }
        for (key, _) in self.pairs() {
            if !known.contains(&key.name.as_str()) {
                let what = format!("unknown field `{}`", key.name);
                self.warnings.add_unknown(key.at, what, &key.name, &known);
            }
        }
    }

    /// The value of a field; a field without a value is as good as absent.
    fn find(&self, key: &str) -> Option<&'n Node> {
        let (_, node) = self.pairs().iter().find(|(known, _)| known.name == key)?;
        let nothing = matches!(node.data, Data::Scalar { .. }) && node.scalar().is_null();
        (!nothing).then_some(node)
    }

    fn wrong(&mut self, node: &Node, key: &str, wanted: &str) {
        self.errors.add(node.at, format!("`{key}` must be {wanted}, not {}", node.kind()));
    }

    fn name(&mut self, given: Option<&str>) -> Option<String> {
        let (name, at) = match given {
            Some(name) => (name.to_owned(), self.root.at),
            None => (self.needed("name")?, self.find("name").map_or(self.root.at, |n| n.at)),
        };
        let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, ',' | '(' | ')');
        if name.contains(odd) || name.chars().count() > LONGEST_NAME {
            let what = format!("`{}` is not a valid name", name.escape_debug());
            let hint = "use at most 64 characters, without spaces, commas or parentheses";
            self.errors.add_with(at, what, hint);
            return None;
        }
        Some(name)
    }

    fn needed(&mut self, key: &str) -> Option<String> {
        match self.find(key) {
            Some(node) => {
                let text = self.text(key)?;
                if text.trim().is_empty() {
                    self.errors.add(node.at, format!("`{key}` is empty"));
                    return None;
                }
                Some(text.trim().to_owned())
            }
            None => {
                self.errors.add(self.root.at, format!("`{key}` is missing"));
                None
            }
        }
    }

    fn text(&mut self, key: &str) -> Option<String> {
        let node = self.find(key)?;
        match node.scalar() {
            Value::String(text) => return Some(text),
            Value::Bool(_) | Value::Number(_) => {
                let what = format!("`{key}` must be text, not {}", node.kind());
                self.errors.add_with(node.at, what, "put it in quotes");
            }
            Value::Null | Value::Array(_) | Value::Object(_) => self.wrong(node, key, "text"),
        }
        None
    }

    fn truth(&mut self, key: &str) -> Option<bool> {
        let node = self.find(key)?;
        match node.scalar() {
            Value::Bool(truth) => return Some(truth),
            Value::String(text) if text == "true" => return Some(true),
            Value::String(text) if text == "false" => return Some(false),
            Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => self.wrong(node, key, "true or false"),
        }
        None
    }

    fn choice<T: Copy>(&mut self, key: &str, table: &[(&str, T)]) -> Option<T> {
        let node = self.find(key)?;
        let text = self.text(key)?;
        let found = table.iter().find(|(word, _)| text.eq_ignore_ascii_case(word));
        if found.is_none() {
            let words: Vec<&str> = table.iter().map(|(word, _)| *word).collect();
            let what = format!("`{key}` cannot be `{text}`");
            self.errors.add_unknown(node.at, what, &text, &words);
        }
        found.map(|(_, value)| *value)
    }

    /// Words as a list, or as one text with commas between them.
    fn words(&mut self, key: &str) -> Option<Vec<String>> {
        let node = self.find(key)?;
        let items = match &node.data {
            Data::List(items) => items,
            Data::Map(_) => {
                self.wrong(node, key, "a list, or words separated by commas");
                return None;
            }
            Data::Scalar { .. } => return self.text(key).map(|text| split(&text)),
        };
        let mut words = Vec::new();
        for item in items {
            match item.scalar() {
                Value::String(text) => words.extend(split(&text)),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_) => {
                    let what = format!("every entry of `{key}` must be text, not {}", item.kind());
                    self.errors.add(item.at, what);
                }
            }
        }
        Some(words)
    }

    /// The tools, and the agents that may be started with one of them.
    fn tools(&mut self) -> (Option<Vec<String>>, Option<Vec<String>>) {
        let key = self.pairs().iter().find(|(key, _)| key.name == "tools");
        if let (Some((key, _)), None) = (key, self.find("tools")) {
            let hint = "write [] for no tools at all, or leave it out for all tools";
            self.errors.add_with(key.at, "`tools` has no value", hint);
        }
        let Some(words) = self.words("tools") else { return (None, None) };
        let mut tools = Vec::new();
        let (mut limited, mut any) = (None, false);
        for word in words {
            let open = word.split_once('(').map(|(tool, rest)| (tool.trim().to_owned(), rest));
            let tool = match open {
                Some((tool, rest)) if is_agent(&tool) => {
                    let kinds = split(rest.trim_end().trim_end_matches(')'));
                    limited.get_or_insert_with(Vec::new).extend(kinds);
                    "Agent".to_owned()
                }
                Some(_) => word,
                None if is_agent(&word) => {
                    any = true;
                    "Agent".to_owned()
                }
                None => word,
            };
            if !tools.contains(&tool) {
                tools.push(tool);
            }
        }
        let all = tools.iter().any(|tool| tool == "*");
        ((!all).then_some(tools), limited.filter(|_| !any))
    }

    fn model(&mut self) -> Option<ModelWish> {
        let node = self.find("model")?;
        let text = self.text("model")?;
        match text.trim() {
            "" => {
                self.errors.add(node.at, "`model` is empty");
                None
            }
            word if word.eq_ignore_ascii_case("inherit") => Some(ModelWish::Inherit),
            word => Some(ModelWish::Named(word.to_owned())),
        }
    }

    fn effort(&mut self) -> Option<EffortWish> {
        match self.find("effort")?.scalar() {
            Value::Number(_) => self.positive("effort").map(EffortWish::Number),
            Value::Null
            | Value::Bool(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => self.choice("effort", EFFORTS).map(EffortWish::Level),
        }
    }

    fn mode(&mut self) -> Option<crate::protocol::op::Mode> {
        let node = self.find("permissionMode")?;
        let text = self.text("permissionMode")?;
        let mode = mode_named(&text);
        if mode.is_none() {
            let what = format!("`permissionMode` cannot be `{text}`");
            self.errors.add_unknown(node.at, what, &text, MODES);
        }
        mode
    }

    fn max_turns(&mut self) -> Option<u32> {
        self.positive("maxTurns")
    }

    fn positive(&mut self, key: &str) -> Option<u32> {
        let node = self.find(key)?;
        let number = node.scalar().as_u64().and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| *number > 0);
        if number.is_none() {
            self.errors.add(node.at, format!("`{key}` must be a whole number above 0"));
        }
        number
    }

    /// A colour that we do not have is no reason to lose an agent.
    fn color(&mut self) -> Option<String> {
        let node = self.find("color")?;
        let color = self.text("color")?.trim().to_lowercase();
        if COLORS.contains(&color.as_str()) {
            return Some(color);
        }
        let what = format!("unknown colour `{color}`; another one is used");
        self.warnings.add_unknown(node.at, what, &color, COLORS);
        None
    }

    fn hooks(&mut self) -> Option<Value> {
        let node = self.find("hooks")?;
        match &node.data {
            Data::Map(events) => {
                for (event, groups) in events {
                    let one = json!({ event.name.as_str(): groups.to_json() });
                    match Hooks::read(&one) {
                        Ok((_, idle)) => {
                            idle.into_iter().for_each(|what| self.warnings.add(event.at, what));
                        }
                        Err(what) => self.errors.add(groups.at, what),
                    }
                }
                Some(node.to_json())
            }
            Data::List(_) | Data::Scalar { .. } => {
                self.wrong(node, "hooks", "a mapping of events");
                None
            }
        }
    }

    fn mcp_servers(&mut self) -> Vec<McpServer> {
        let Some(node) = self.find("mcpServers") else { return Vec::new() };
        match &node.data {
            Data::Map(pairs) => self.own_servers(pairs),
            Data::List(items) => items.iter().flat_map(|item| self.server(item)).collect(),
            Data::Scalar { .. } => {
                let words = self.words("mcpServers").unwrap_or_default();
                words.into_iter().map(McpServer::Shared).collect()
            }
        }
    }

    fn server(&mut self, item: &'n Node) -> Vec<McpServer> {
        match (&item.data, item.scalar()) {
            (Data::Map(pairs), _) => self.own_servers(pairs),
            (Data::Scalar { .. }, Value::String(name)) => vec![McpServer::Shared(name)],
            (Data::Scalar { .. } | Data::List(_), _) => {
                let what =
                    "every entry of `mcpServers` must be a name, or a name with its settings";
                self.errors.add(item.at, format!("{what}, not {}", item.kind()));
                Vec::new()
            }
        }
    }

    fn own_servers(&mut self, pairs: &'n [(Key, Node)]) -> Vec<McpServer> {
        let mut servers = Vec::new();
        for (key, node) in pairs {
            let name = key.name.clone();
            match &node.data {
                Data::Map(_) => servers.push(McpServer::Own { name, config: node.to_json() }),
                Data::List(_) | Data::Scalar { .. } => {
                    let what = format!("the settings of the server `{name}` must be a mapping");
                    self.errors.add(node.at, format!("{what}, not {}", node.kind()));
                }
            }
        }
        servers
    }
}

/// `Task` is an older name of `Agent`.
fn is_agent(tool: &str) -> bool {
    matches!(tool, "Agent" | "Task")
}

/// Words with commas between them; those in parentheses belong to their word.
fn split(text: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let words = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    let words = words.map(|word| word.trim().to_owned());
    words.filter(|word| !word.is_empty()).collect()
}
