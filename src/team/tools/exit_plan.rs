//! ExitPlanMode: the plan is done. Whoever was told to plan hands it in; whoever began by itself
//! just goes on.

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::permission::Access;
use crate::team::plan;
use crate::team::tools::Slot;
use crate::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, parse};

/// A question that changes nothing before it is answered, so it may be put again.
pub const NAME: &str = "ExitPlanMode";

const DESCRIPTION: &str = "\
Ends plan mode. The plan is what stands in your plan file; a `plan` given here is written there \
first. If you were told to plan, the plan must be approved, and the result says how you hear of it; \
if you began to plan by yourself, you are back in the mode you were in. Do not ask in words whether \
the plan is good: this tool does.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// The plan, where it is not in the plan file yet.
    plan: Option<String>,
}

pub struct ExitPlanTool {
    spec: Spec,
    team: Slot,
}

impl ExitPlanTool {
    pub fn new(team: Slot) -> Self {
        Self { spec: Spec::of::<Input>(NAME, DESCRIPTION, Needs::Nothing, false), team }
    }
}

impl Tool for ExitPlanTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, _: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        parse::<Input>(NAME, input).map(|_| vec![Access::Free])
    }

    fn summary(&self, _: &Value) -> String {
        String::new()
    }

    fn run<'a>(
        &'a self,
        cx: &'a ToolContext,
        call: &'a Call,
        input: Value,
    ) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let input: Input = match parse(NAME, &input) {
                Ok(input) => input,
                Err(bad) => return Output::failed(bad.0),
            };
            match self.team.get() {
                Some(team) => plan::leave(&team, cx, call, input.plan).await,
                None => Output::failed("The session has ended."),
            }
        })
    }
}
