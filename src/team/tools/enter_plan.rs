//! EnterPlanMode: an agent decides to look and plan before it changes anything.

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::permission::Access;
use crate::team::plan;
use crate::team::tools::Slot;
use crate::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext};

const DESCRIPTION: &str = "\
Puts you into plan mode: from then on you can only look, and write one file, your plan. Use it \
when a task can be done in several sensible ways or touches a lot, so that the approach is settled \
before anything is changed. The result says where the plan belongs. ExitPlanMode, which you have only then, ends it.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {}

pub struct EnterPlanTool {
    spec: Spec,
    team: Slot,
}

impl EnterPlanTool {
    pub fn new(team: Slot) -> Self {
        Self { spec: Spec::of::<Input>("EnterPlanMode", DESCRIPTION, Needs::Nothing, false), team }
    }
}

impl Tool for EnterPlanTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, _: &ToolContext, _: &Value) -> Result<Vec<Access>, Bad> {
        Ok(vec![Access::Free])
    }

    fn summary(&self, _: &Value) -> String {
        String::new()
    }

    fn run<'a>(&'a self, cx: &'a ToolContext, _: &'a Call, _: Value) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            match self.team.get() {
                Some(team) => plan::enter(&team, cx).await,
                None => Output::failed("The session has ended."),
            }
        })
    }
}
