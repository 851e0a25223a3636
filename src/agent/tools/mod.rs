//! The tools by which an agent reaches other agents. They say what is wanted; who is there to do
//! it is the business of the crew.

pub mod agent;
pub mod send_message;
pub mod task_output;
pub mod task_stop;

use std::sync::Arc;

use crate::tools::Tool;

/// The tools of this layer, in the order the model sees them.
pub fn builtin() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(agent::AgentTool::new()),
        Arc::new(send_message::SendMessageTool::new()),
        Arc::new(task_output::TaskOutputTool::new()),
        Arc::new(task_stop::TaskStopTool::new()),
    ]
}
