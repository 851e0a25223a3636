//! Which tools an agent gets, as tables.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use quarterdeck::permission::Access;
use quarterdeck::protocol::op::Mode;
use quarterdeck::tools::registry::{Limits, Role, ToolSet, builtin};
use quarterdeck::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext};
use serde_json::{Value, json};

use super::rig::Rig;

/// A tool with nothing but a name.
struct Named(Spec);

impl Tool for Named {
    fn spec(&self) -> &Spec {
        &self.0
    }

    fn access(&self, _: &ToolContext, _: &Value) -> Result<Vec<Access>, Bad> {
        Ok(vec![Access::Free])
    }

    fn summary(&self, _: &Value) -> String {
        String::new()
    }

    fn run<'a>(&'a self, _: &'a ToolContext, _: &'a Call, _: Value) -> BoxFuture<'a, Output> {
        async { Output::text("done") }.boxed()
    }
}

fn named(name: &'static str) -> Arc<dyn Tool> {
    let input = json!({ "type": "object", "properties": {} });
    let (needs, side_by_side) = (Needs::Nothing, true);
    Arc::new(Named(Spec {
        name: name.into(),
        description: name.into(),
        input,
        needs,
        side_by_side,
    }))
}

const ALL: [&str; 14] = [
    "Agent",
    "SendMessage",
    "TeamCreate",
    "TeamDelete",
    "Read",
    "Edit",
    "Bash",
    "WebFetch",
    "TaskList",
    "AskUserQuestion",
    "ExitPlanMode",
    "mcp__git__log",
    "mcp__git__show",
    "mcp__github__issue",
];

fn all() -> ToolSet {
    ToolSet::new(ALL.into_iter().map(named).collect())
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn names(tools: &ToolSet) -> String {
    tools.names().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_definition_gets_what_it_lists() {
    let mcp = "mcp__git__log mcp__git__show mcp__github__issue";
    let everything = format!(
        "Agent SendMessage TeamCreate TeamDelete Read Edit Bash WebFetch TaskList AskUserQuestion {mcp}"
    );
    let cases: &[(&[&str], &[&str], &str)] = &[
        (&["*"], &[], &everything),
        (&["Bash", "Read"], &[], "Read Bash"),
        (&["read", "BASH", " Edit "], &["edit"], "Read Bash"),
        (&["Bash(git:*)", "Agent(x, y)"], &[], "Agent Bash"),
        (&["Task"], &[], "Agent"),
        (
            &["*"],
            &["Task", "mcp__git", "WebFetch", "TeamCreate", "TeamDelete"],
            "SendMessage Read Edit Bash TaskList AskUserQuestion mcp__github__issue",
        ),
        // A rule in it denies some uses; the tool stays.
        (&["Bash"], &["Bash(rm:*)"], "Bash"),
        (&["Bash"], &["Bash(*)"], ""),
        (&["mcp__git"], &[], "mcp__git__log mcp__git__show"),
        (&["mcp__git__*"], &[], "mcp__git__log mcp__git__show"),
        (&["mcp__git*"], &[], mcp),
        (&["mcp__git__log"], &[], "mcp__git__log"),
        (&["*"], &["*"], ""),
        (&[], &[], ""),
    ];
    for (tools, disallowed, wanted) in cases {
        let limits = Limits {
            tools: Some(tools.iter().map(|tool| (*tool).to_owned()).collect()),
            disallowed: disallowed.iter().map(|tool| (*tool).to_owned()).collect(),
            ..Limits::of(Role::Lead)
        };
        let narrowed = all().narrowed(&limits);
        assert_eq!(names(&narrowed.tools), *wanted, "{tools:?} without {disallowed:?}");
        assert_eq!(narrowed.warnings, [""; 0], "{tools:?}");
    }
}

#[test]
fn a_role_limits_the_list() {
    let without = |left_out: &str| {
        let left_out = words(left_out);
        let kept = ALL.iter().filter(|name| !left_out.iter().any(|out| out == *name));
        kept.copied().collect::<Vec<_>>().join(" ")
    };
    let coordination = "Agent SendMessage TeamCreate TeamDelete TaskList AskUserQuestion";
    let cases = [
        (Role::Lead, false, without("ExitPlanMode")),
        (Role::Lead, true, without("")),
        (Role::Delegate, false, coordination.to_owned()),
        (Role::Teammate, false, without("TeamCreate TeamDelete ExitPlanMode")),
        (Role::Teammate, true, without("TeamCreate TeamDelete")),
        (Role::Subagent, false, without("TeamCreate TeamDelete ExitPlanMode")),
        (Role::Fork, false, without("")),
    ];
    for (role, planning, wanted) in cases {
        let limits = Limits { planning, ..Limits::of(role) };
        assert_eq!(names(&all().narrowed(&limits).tools), wanted, "{role:?}");
    }
    // Whatever its definition says, a fork goes on with its parent's list.
    let limits = Limits { tools: Some(words("Read")), ..Limits::of(Role::Fork) };
    assert_eq!(all().narrowed(&limits).tools.specs(), all().specs());
}

#[test]
fn names_of_no_tool_are_reported_and_the_rest_holds() {
    let tools = Some(words("Read WebSearch Raed mcp__jira websearch(x)"));
    let narrowed = all().narrowed(&Limits { tools, ..Limits::of(Role::Subagent) });
    assert_eq!(names(&narrowed.tools), "Read");
    assert_eq!(
        narrowed.warnings,
        [
            "there is no tool `WebSearch`; did you mean `WebFetch`?",
            "there is no tool `Raed`; did you mean `Read`?",
            "there is no tool `mcp__jira`",
            "there is no tool `websearch`; did you mean `WebFetch`?",
        ]
    );
}

#[test]
fn more_tools_come_behind_and_take_the_place_of_their_namesakes() {
    let input = json!({ "type": "object" });
    let spec = Spec {
        name: "Read".into(),
        description: "another".into(),
        input,
        needs: Needs::Reads,
        side_by_side: true,
    };
    let more = all().with([Arc::new(Named(spec)) as Arc<dyn Tool>, named("Skill")]);
    assert_eq!(names(&more), format!("{} Skill", ALL.join(" ")));
    assert_eq!(more.specs()[4].description, "another");
}

#[test]
fn the_built_in_tools_describe_themselves() {
    let tools = ToolSet::new(builtin());
    let specs = tools.specs();
    assert_eq!(specs, ToolSet::new(builtin()).specs(), "the same bytes every time");
    for name in ["WebFetch", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "AskUserQuestion"] {
        assert!(tools.get(name).is_some(), "{name}");
    }
    for spec in &specs {
        assert_eq!(tools.names().filter(|name| *name == spec.name).count(), 1, "{}", spec.name);
        assert!(spec.description.len() > 80, "{}", spec.name);
        assert_eq!(spec.input_schema["type"], "object", "{}", spec.name);
        assert!(spec.input_schema["properties"].is_object(), "{}", spec.name);
        let text = spec.input_schema.to_string();
        assert!(!text.contains("$ref") && !text.contains("$schema"), "{text}");
    }
    let update = &tools.get("TaskUpdate").unwrap().spec().input;
    assert_eq!(update["required"], json!(["taskId"]));
    let fields: Vec<&String> = update["properties"].as_object().unwrap().keys().collect();
    let wanted =
        "taskId subject description activeForm status addBlocks addBlockedBy owner metadata";
    assert_eq!(fields, words(wanted).iter().collect::<Vec<_>>());
    let create = &tools.get("TaskCreate").unwrap().spec().input;
    assert_eq!(create["required"], json!(["subject", "description"]));
    let fetch = &tools.get("WebFetch").unwrap().spec().input;
    assert_eq!(fetch["required"], json!(["url", "prompt"]));
}

#[tokio::test]
async fn a_wrong_name_is_answered_with_the_right_one() {
    let rig = Rig::new(Mode::Default, ALL.into_iter().map(named).collect());
    for (wrong, right) in [("web_fetch", "WebFetch"), ("bash", "Bash"), ("Tasklist", "TaskList")] {
        let output = rig.call(wrong, json!({})).await;
        let start =
            format!("There is no tool `{wrong}`. Did you mean `{right}`? There are: Agent,");
        assert!(output.failed && output.content.text().starts_with(&start), "{output:?}");
    }
    let output = rig.call("Teleport", json!({})).await;
    assert!(output.content.text().starts_with("There is no tool `Teleport`. There are:"));
    assert!(!rig.call("Task", json!({})).await.failed, "the older name of Agent");
}
