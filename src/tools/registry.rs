//! Which tools an agent has.

use std::sync::Arc;

use super::Tool;

/// The tools of one agent, in the order the model sees them.
#[derive(Clone, Default)]
pub struct ToolSet {
    tools: Vec<Arc<dyn Tool>>,
}

impl ToolSet {
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { tools }
    }

    /// The tool of this name; `Task` is an older name of `Agent`.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let name = if name == "Task" { "Agent" } else { name };
        self.tools.iter().find(|tool| tool.spec().name == name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }
}
