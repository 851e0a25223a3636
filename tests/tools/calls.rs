//! One use of a tool, from the wish to the result: decided, asked, run once, and always said why.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use quarterdeck::permission::{Access, Bases, Effect, Rule, Source, View};
use quarterdeck::protocol::ask::{Ask, Grant, Grantee, Judge, Lasts, Permit, Verdict};
use quarterdeck::protocol::content::Content;
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::Mode;
use quarterdeck::store::asks::Asks;
use quarterdeck::store::journal::read_after;
use quarterdeck::tools::call::{Fate, Started, call};
use quarterdeck::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, Use, parse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::rig::Rig;

#[derive(Deserialize, JsonSchema)]
struct Wish {
    command: String,
}

/// Claims to run a command, and only remembers it.
struct Bash {
    spec: Spec,
    ran: Arc<Mutex<Vec<String>>>,
    /// Uses that run at the same time meet here.
    meet: Option<Arc<Barrier>>,
}

impl Tool for Bash {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, _cx: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        let wish: Wish = parse("Bash", input)?;
        Ok(vec![Access::Run(wish.command)])
    }

    fn summary(&self, input: &Value) -> String {
        input["command"].as_str().unwrap_or_default().to_owned()
    }

    fn run<'a>(&'a self, _: &'a ToolContext, _: &'a Call, input: Value) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let command = self.summary(&input);
            assert_ne!(command, "make panic", "a mistake in the tool");
            if let Some(meet) = &self.meet {
                meet.wait().await;
            }
            self.ran.lock().unwrap().push(command);
            Output::text("done")
        })
    }
}

struct Scene {
    rig: Rig,
    ran: Arc<Mutex<Vec<String>>>,
}

fn scene(mode: Mode) -> Scene {
    scene_with(mode, None, |_| {})
}

fn scene_with(mode: Mode, meet: Option<Arc<Barrier>>, change: impl FnOnce(&mut View)) -> Scene {
    let ran = Arc::<Mutex<Vec<String>>>::default();
    let spec = Spec::of::<Wish>("Bash", "runs", Needs::Runs, true);
    let tool = Bash { spec, ran: Arc::clone(&ran), meet };
    Scene { rig: Rig::with(mode, vec![Arc::new(tool)], change), ran }
}

fn deny_rule(view: &mut View, text: &str) {
    let bases = Bases { cwd: view.cwd.clone(), user: None, settings: view.cwd.clone() };
    view.rules.push(Rule::parse(text, Effect::Deny, Source::CommandLine, &bases).unwrap());
}

fn allow() -> Verdict {
    Verdict::Allow { input: None, grant: None, remark: None }
}

fn text(output: &Output) -> String {
    match &output.content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => format!("{blocks:?}"),
    }
}

impl Scene {
    fn ran(&self) -> Vec<String> {
        self.ran.lock().unwrap().clone()
    }

    /// Waits for a number of open asks.
    async fn asks(&self, count: usize) -> Vec<Ask> {
        let since = Instant::now();
        loop {
            let open = self.rig.cx.desk.open_asks().unwrap().asks;
            if open.len() == count {
                return open;
            }
            assert!(since.elapsed() < Duration::from_secs(20), "{} asks", open.len());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Uses the tool and answers what is asked.
    async fn answered(&self, command: &str, verdict: Verdict) -> Output {
        let answer = async {
            let ask = self.asks(1).await.remove(0);
            self.rig.cx.desk.settle(&ask.id, ask.rev, verdict, Judge::Human).unwrap();
        };
        let (output, ()) = tokio::join!(self.rig.call("Bash", json!({"command": command})), answer);
        output
    }

    /// What was decided, in order, and where a tool started and ended.
    fn story(&self) -> Vec<String> {
        let told = self.rig.facts().into_iter().filter_map(|fact| {
            if let Fact::Decided { decision, reason, .. } = fact {
                Some(format!("{decision}: {reason}"))
            } else if let Fact::Asked { .. } = fact {
                Some("asked".to_owned())
            } else if let Fact::Settled { .. } = fact {
                Some("settled".to_owned())
            } else if let Fact::ToolStarted { summary, .. } = fact {
                Some(format!("started {summary}"))
            } else if let Fact::ToolEnded { failed, .. } = fact {
                Some(format!("ended, failed {failed}"))
            } else {
                None
            }
        });
        told.collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_use_says_why_it_ran_or_not() {
    let scene = scene(Mode::Default);
    let output = scene.answered("make all", allow()).await;
    assert_eq!((output.failed, scene.ran()), (false, vec!["make all".to_owned()]));
    let wanted = [
        "ask: no rule allows `make all`",
        "asked",
        "settled",
        "allow: allowed by the user",
        "started make all",
        "ended, failed false",
    ];
    assert_eq!(scene.story(), wanted);
    scene.rig.call("Bash", json!({"command": "ls"})).await;
    scene.rig.call("Bash", json!({"cmd": "ls"})).await;
    scene.rig.call("Dance", json!({})).await;
    let story = scene.story().split_off(wanted.len());
    assert_eq!(story[0], "allow: it only reads, inside the working directories");
    assert_eq!(story[1..3], ["started ls", "ended, failed false"]);
    assert!(story[3].starts_with("deny: Bash cannot use this input"), "{story:?}");
    assert!(story[4].starts_with("deny: There is no tool `Dance`"), "{story:?}");
    assert_eq!(story.len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_denied_never_runs_and_the_model_hears_the_words() {
    let scene = scene(Mode::Default);
    let words = Verdict::Deny { why: Some("use just".into()) };
    let output = scene.answered("make all", words).await;
    assert!(output.failed && text(&output).ends_with("and says: use just"), "{output:?}");
    let output = scene.answered("make all", Verdict::Deny { why: None }).await;
    assert!(output.failed && text(&output).contains("did not allow"), "{output:?}");
    assert!(scene.ran().is_empty());
    assert!(scene.story().contains(&"deny: denied by the user: use just".to_owned()));
    assert!(!scene.story().iter().any(|line| line.starts_with("started")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_input_runs_as_it_was_edited_unless_it_is_forbidden_or_useless() {
    let scene = scene_with(Mode::Default, None, |view| deny_rule(view, "Bash(rm:*)"));
    let edit = |input: Value| Verdict::Allow {
        input: Some(input),
        grant: None,
        remark: Some("so".into()),
    };
    let output = scene.answered("make all", edit(json!({"command": "make one"}))).await;
    assert_eq!(scene.ran(), ["make one"]);
    assert!(text(&output).contains("The user changed the input before allowing it. so"));
    assert!(scene.story().contains(&"allow: allowed by the user, with a changed input".to_owned()));
    let output = scene.answered("make all", edit(json!({"command": "rm x"}))).await;
    assert!(output.failed && text(&output).contains("Bash(rm:*)"), "{output:?}");
    let output = scene.answered("make all", edit(json!({"cmd": 7}))).await;
    assert!(output.failed && text(&output).contains("cannot use this input"), "{output:?}");
    assert_eq!(scene.ran(), ["make one"]);
    let last = scene.story().pop().unwrap();
    assert!(last.starts_with("deny: Bash cannot use this input"), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_forbids_it_meanwhile_counts_more_than_a_verdict() {
    let scene = scene(Mode::Default);
    let using = scene.rig.call("Bash", json!({"command": "make all"}));
    let answer = async {
        let ask = scene.asks(1).await.remove(0);
        let mut view = View::clone(&scene.rig.views.borrow());
        deny_rule(&mut view, "Bash(make:*)");
        scene.rig.views.send_replace(Arc::new(view));
        scene.rig.cx.desk.settle(&ask.id, 1, allow(), Judge::Human).unwrap();
    };
    let (output, ()) = tokio::join!(using, answer);
    assert!(output.failed && text(&output).contains("Bash(make:*)"), "{output:?}");
    assert!(scene.ran().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_lets_the_next_use_through_and_is_named() {
    let scene = scene(Mode::Default);
    let permits = vec![Permit::Rule("Bash(make:*)".into())];
    let grant = Some(Grant { permits, to: Grantee::Asker, lasts: Lasts::Session });
    scene.answered("make all", Verdict::Allow { input: None, grant, remark: None }).await;
    scene.rig.call("Bash", json!({"command": "make clean"})).await;
    assert_eq!(scene.ran(), ["make all", "make clean"]);
    let story = scene.story();
    let last = story.iter().rev().find(|line| line.starts_with("allow")).unwrap();
    assert_eq!(last, "allow: the allow rule `Bash(make:*)` (session)");
}

#[tokio::test(flavor = "multi_thread")]
async fn uses_side_by_side_are_asked_and_run_side_by_side() {
    const USES: usize = 8;
    let meet = Arc::new(Barrier::new(USES));
    let scene = scene_with(Mode::Default, Some(meet), |_| {});
    let calls = (0..USES).map(|n| scene.rig.call("Bash", json!({"command": format!("make {n}")})));
    let answers = async {
        for ask in scene.asks(USES).await.into_iter().rev() {
            scene.rig.cx.desk.settle(&ask.id, 1, allow(), Judge::Human).unwrap();
        }
    };
    let (outputs, ()) = tokio::join!(futures::future::join_all(calls), answers);
    assert!(outputs.iter().all(|output| !output.failed), "{outputs:?}");
    assert_eq!(scene.ran().len(), USES);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_interrupted_while_asking_does_not_run() {
    let scene = scene(Mode::Default);
    let stop = async {
        scene.asks(1).await;
        scene.rig.stop.cancel();
    };
    let (output, ()) = tokio::join!(scene.rig.call("Bash", json!({"command": "make all"})), stop);
    assert!(output.failed && text(&output).contains("interrupted"), "{output:?}");
    assert!(scene.ran().is_empty() && scene.asks(0).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_cannot_be_put_runs_nothing_and_says_why() {
    let scene = scene(Mode::Default);
    let dir = scene.rig.home.asks(&scene.rig.cx.session);
    let since = Instant::now();
    // The watch makes the directory anew, so keep at it.
    while std::fs::write(&dir, "in the way").is_err() {
        assert!(since.elapsed() < Duration::from_secs(20));
        let _ = std::fs::remove_dir_all(&dir);
    }
    let output = scene.rig.call("Bash", json!({"command": "make all"})).await;
    assert!(output.failed && text(&output).contains("could not be asked"), "{output:?}");
    assert!(scene.ran().is_empty());
    assert!(scene.rig.facts().iter().any(|fact| matches!(fact, Fact::Notice { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_allowed_and_not_started_runs_and_what_started_is_known() {
    let scene = scene(Mode::Default);
    let wanted = |id: &str| Use {
        id: id.to_owned(),
        tool: "Bash".to_owned(),
        input: json!({"command": "make all"}),
    };
    // Put, and its process is gone before the verdict.
    tokio::select! {
        output = call(&scene.rig.cx, &scene.rig.tools, wanted("toolu_x"), &scene.rig.stop) => {
            panic!("{output:?}")
        }
        _ = scene.asks(1) => {}
    }
    let ask = scene.asks(1).await.remove(0);
    let others = Asks::new(&scene.rig.cx.store, &scene.rig.cx.session);
    others.settle(&ask.id, 1, allow(), Judge::Human).unwrap();
    let output = call(&scene.rig.cx, &scene.rig.tools, wanted("toolu_x"), &scene.rig.stop).await;
    assert_eq!((output.failed, scene.ran()), (false, vec!["make all".to_owned()]));

    let me = scene.rig.cx.me.clone();
    let started = Fact::ToolStarted {
        use_id: "toolu_y".into(),
        tool: "Bash".into(),
        summary: "make it".into(),
        input: json!({}),
    };
    scene.rig.cx.journal.emit(Some(&me), started);
    let events = read_after(scene.rig.cx.journal.path(), 0).unwrap().events;
    let known = Started::from_events(&events);
    let ended = Fate::Ended { failed: false, summary: "done".into() };
    assert_eq!(known.fate(&me, "toolu_x"), Some(&ended));
    let open = Fate::Interrupted { tool: "Bash".into(), summary: "make it".into() };
    assert_eq!(known.fate(&me, "toolu_y"), Some(&open));
    assert_eq!(known.fate(&me, "toolu_z"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_panics_ends_with_a_result() {
    let scene = scene(Mode::BypassPermissions);
    let output = scene.rig.call("Bash", json!({"command": "make panic"})).await;
    assert!(output.failed && text(&output).contains("bug in Quarterdeck"), "{output:?}");
    assert_eq!(scene.story().pop().unwrap(), "ended, failed true");
}
