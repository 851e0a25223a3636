//! TeamCreate: a team for this session, with its lead, its mail and its tasks.

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::permission::Access;
use crate::protocol::ids::{AgentId, AgentName, TeamName};
use crate::team::crew::{Founding, said};
use crate::team::tools::Slot;
use crate::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, parse};

const NAME: &str = "TeamCreate";

const DESCRIPTION: &str = "\
Makes a team that you lead, with a task list that all its members share. Use it when work has parts \
that can go on at the same time and should talk to each other; for one self-contained piece of \
work a subagent is enough.

Then: put the work on the list (TaskCreate, with dependencies by TaskUpdate), start teammates with \
the Agent tool and a `name`, and assign or let them take tasks. Their messages reach you by \
themselves, also that they are idle, which is no problem: a message wakes them. When all is done, \
send each a shutdown_request with SendMessage and end the team with TeamDelete. A session has one \
team at a time. Where the name is taken, a number is put behind it: the result has the name.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// Letters, digits, `-` and `_`.
    team_name: String,
    /// What the team is for.
    description: Option<String>,
    /// What you are in it, if not `team-lead`.
    agent_type: Option<String>,
}

pub struct TeamCreateTool {
    spec: Spec,
    team: Slot,
}

impl TeamCreateTool {
    pub fn new(team: Slot) -> Self {
        Self { spec: Spec::of::<Input>(NAME, DESCRIPTION, Needs::Nothing, false), team }
    }
}

fn read(input: &Value) -> Result<(TeamName, Founding), Bad> {
    let input: Input = parse(NAME, input)?;
    let name = TeamName::new(&input.team_name).map_err(|error| Bad(error.to_string()))?;
    let founding = Founding { description: input.description, lead_type: input.agent_type };
    Ok((name, founding))
}

impl Tool for TeamCreateTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, _: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        read(input).map(|_| vec![Access::Free])
    }

    fn summary(&self, input: &Value) -> String {
        input["team_name"].as_str().unwrap_or_default().to_owned()
    }

    fn run<'a>(&'a self, cx: &'a ToolContext, _: &'a Call, input: Value) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let (name, founding) = match read(&input) {
                Ok(read) => read,
                Err(bad) => return Output::failed(bad.0),
            };
            let Some(team) = self.team.get() else {
                return Output::failed("The session has ended.");
            };
            if cx.me != team.office().lead() {
                return Output::failed("Only the lead makes a team.");
            }
            match team.create(name, founding).await {
                // The name may have a number behind it.
                Ok(roll) => said(json!({
                    "team_name": roll.name,
                    "team_file_path": team.office().home().config(&roll.dir),
                    "lead_agent_id": AgentId::new(&AgentName::lead(), &roll.name).to_string(),
                }))
                .with_summary(roll.name.to_string()),
                Err(why) => Output::failed(why),
            }
        })
    }
}
