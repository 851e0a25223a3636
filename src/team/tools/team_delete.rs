//! TeamDelete: the end of a team whose members have all left.

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::permission::Access;
use crate::team::tools::Slot;
use crate::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext};

const DESCRIPTION: &str = "\
Ends your team: its roster, mail and tasks are removed. It refuses while anybody but you is in it, \
also somebody idle: ask each to end with a shutdown_request first.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {}

pub struct TeamDeleteTool {
    spec: Spec,
    team: Slot,
}

impl TeamDeleteTool {
    pub fn new(team: Slot) -> Self {
        Self { spec: Spec::of::<Input>("TeamDelete", DESCRIPTION, Needs::Nothing, false), team }
    }
}

impl Tool for TeamDeleteTool {
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
            let Some(team) = self.team.get() else {
                return Output::failed("The session has ended.");
            };
            match cx.me == team.office().lead() {
                true => team.delete().await,
                false => Output::failed("Only the lead ends the team."),
            }
        })
    }
}
