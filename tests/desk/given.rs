//! What is given while a session runs: to whom, for how long, and what it settles.

use std::fs;
use std::sync::Arc;

use quarterdeck::permission::grant::recorded;
use quarterdeck::permission::scope::{Reach, Term, scopes};
use quarterdeck::permission::{Access, Decision, View, decide};
use quarterdeck::protocol::ask::{Grantee, Judge, Lasts, Permit};
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::Mode;
use quarterdeck::protocol::time::Stamp;
use quarterdeck::store::files::now;
use quarterdeck::store::state::StateFile;
use serde_json::{Value, json};

use super::bench::{Bench, agent, allow_with, deny, in_time, rule, session, store, until};
use crate::support::say;

fn soon(millis: i64) -> Stamp {
    Stamp::from_millis(now().millis() + millis)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_settles_the_open_asks_it_covers_and_only_those() {
    let bench = Bench::new();
    let desk = bench.open();
    let asks = [
        bench.ask(&agent("ada"), "toolu_1", "make all"),
        bench.ask(&agent("ada"), "toolu_2", "make clean"),
        bench.ask(&agent("bob"), "toolu_3", "make all"),
        bench.ask(&agent("ada"), "toolu_4", "make all; cargo run"),
    ];
    let [one, two, three, four] = asks.each_ref().map(|ask| bench.put(&desk, ask));
    asks.iter().for_each(|ask| bench.is_open(ask));
    // Through the files, to the asker alone.
    let verdict = allow_with(rule("Bash(make:*)"), Grantee::Asker, Lasts::Session);
    bench.asks().settle(&asks[0].id, 1, verdict.clone(), Judge::Human).unwrap();
    assert_eq!(in_time(one).await.verdict, verdict);
    let Judge::Policy { name } = in_time(two).await.by else { panic!("not by the rule") };
    assert!(name.contains("Bash(make:*)") && name.contains("session"), "{name}");
    let open: Vec<_> = desk.open_asks().unwrap().asks.into_iter().map(|ask| ask.id).collect();
    assert_eq!(open, [asks[2].id.clone(), asks[3].id.clone()], "another agent, another command");
    // To all of them.
    let given = desk.give(&rule("Bash(make all)"), None, Lasts::Session);
    assert_eq!(given.len(), 1);
    assert!(matches!(in_time(three).await.by, Judge::Policy { .. }));
    desk.settle(&asks[3].id, 1, deny("no"), Judge::Human).unwrap();
    assert_eq!(in_time(four).await.by, Judge::Human);
    for ask in &asks {
        assert_eq!(bench.settled(&ask.id), 1);
    }
    assert!(desk.give(&rule("Bash(make all)"), None, Lasts::Session).is_empty(), "given already");
    assert_eq!(bench.count(|fact| matches!(fact, Fact::Granted { .. })), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_mode_settles_what_it_covers() {
    let bench = Bench::new();
    let desk = bench.open();
    let ask = bench.ask(&agent("ada"), "toolu_1", "make all");
    let waiting = bench.put(&desk, &ask);
    bench.is_open(&ask);
    let view = View::clone(&bench.views.borrow());
    bench.views.send_replace(Arc::new(View { mode: Mode::BypassPermissions, ..view }));
    let Judge::Policy { name } = in_time(waiting).await.by else { panic!("not by the mode") };
    assert!(name.contains("bypassPermissions"), "{name}");
    assert_eq!(bench.settled(&ask.id), 1);
}

fn may(view: &View, access: Access) -> bool {
    matches!(decide(view, "Bash", &Value::Null, &[access]), Decision::Allow { .. })
}

#[test]
fn a_view_has_what_was_given_to_its_agent_and_is_made_once() {
    let bench = Bench::new();
    let desk = bench.open();
    let base = Arc::clone(&bench.views.borrow());
    let view = |name: &str| desk.view(&base, &agent(name), &base.cwd);
    assert!(Arc::ptr_eq(&view("ada"), &base), "nothing is given");
    desk.give(&rule("Bash(make:*)"), Some(&agent("ada")), Lasts::Session);
    let make = || Access::Run("make all".into());
    assert!(may(&view("ada"), make()) && !may(&view("bob"), make()));
    assert!(Arc::ptr_eq(&view("ada"), &view("ada")));
    let since = std::time::Instant::now();
    (0..10_000).for_each(|_| drop(view("ada")));
    say(&format!("a view with grants: {:?}", since.elapsed() / 10_000));
    let elsewhere = desk.view(&base, &agent("ada"), &bench.root);
    assert_eq!((elsewhere.cwd.as_path(), may(&elsewhere, make())), (bench.root.as_path(), true));
    let outside = bench.root.join("other");
    fs::create_dir(&outside).unwrap();
    let read = || Access::Run(format!("cat {}/x", outside.display()));
    assert!(!may(&view("bob"), read()));
    desk.give(&Permit::Directory(outside.display().to_string()), None, Lasts::Session);
    assert!(may(&view("bob"), read()));
}

#[test]
fn what_is_given_ends_with_its_time_its_session_or_when_it_is_taken_back() {
    let bench = Bench::new();
    let desk = bench.open();
    let base = Arc::clone(&bench.views.borrow());
    let may_make = |desk: &Arc<quarterdeck::permission::desk::AskDesk>| {
        may(&desk.view(&base, &agent("ada"), &base.cwd), Access::Run("make all".into()))
    };
    desk.give(&rule("Bash(make:*)"), None, Lasts::Until(soon(150)));
    assert!(may_make(&desk));
    until("its end", || !may_make(&desk));
    assert!(desk.grants().is_empty());

    desk.give(&rule("Bash(make:*)"), None, Lasts::Until(soon(3_600_000)));
    let given = desk.give(&rule("Bash(ls:*)"), None, Lasts::Session);
    drop(desk);
    let desk = bench.open();
    assert!(may_make(&desk), "kept for a resume");
    assert_eq!(desk.grants().len(), 2);
    assert_eq!(desk.revoke(&given[0].id).unwrap().as_ref(), given.first());
    assert_eq!(desk.revoke(&given[0].id).unwrap(), None);
    assert_eq!(bench.count(|fact| matches!(fact, Fact::Revoked { .. })), 1);
    desk.end_session().unwrap();
    assert!(!may_make(&desk));
    drop(desk);
    assert!(bench.open().grants().is_empty(), "forgotten");
}

#[test]
fn what_has_ended_is_not_listed_and_goes_with_the_next_write() {
    let bench = Bench::new();
    let desk = bench.open();
    let (file, state) =
        (bench.home().state(&session()), StateFile::new(&store(&bench.root), &session()));
    let on_disk = || fs::read_to_string(&file).unwrap();
    let listed = || recorded(&state).unwrap().len();
    desk.give(&rule("Bash(ls:*)"), None, Lasts::Session);
    let kept = desk.give(&rule("Bash(cat:*)"), None, Lasts::Until(soon(3_600_000)));
    desk.give(&rule("Bash(make:*)"), None, Lasts::Until(soon(100)));
    until("its end", || listed() == 2);
    assert!(on_disk().contains("make"), "nobody wrote since");
    desk.give(&rule("Bash(just:*)"), None, Lasts::Session);
    assert!(!on_disk().contains("make"), "{}", on_disk());
    assert_eq!((listed(), desk.grants().len()), (3, 3));
    // Nor is it kept when another is taken back.
    desk.give(&rule("Bash(make:*)"), None, Lasts::Until(soon(100)));
    until("its end", || listed() == 3);
    assert!(on_disk().contains("make"));
    desk.revoke(&kept[0].id).unwrap();
    assert!(!on_disk().contains("make") && !on_disk().contains("cat"), "{}", on_disk());
    assert_eq!((listed(), desk.grants().len()), (2, 2));
    // It has ended; nobody took it back.
    assert_eq!(bench.count(|fact| matches!(fact, Fact::Revoked { .. })), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_session_leaves_no_question_open() {
    let bench = Bench::new();
    let desk = bench.open();
    let ask = bench.ask(&agent("ada"), "toolu_1", "make all");
    let waiting = bench.put(&desk, &ask);
    bench.is_open(&ask);
    desk.end_session().unwrap();
    assert_eq!(in_time(waiting).await.by, Judge::Asker);
    assert!(desk.open_asks().unwrap().asks.is_empty());
}

#[test]
fn members_of_the_state_that_others_keep_survive() {
    let bench = Bench::new();
    let file = bench.home().state(&session());
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let later = r#"{"grants": [{"id": "g-9", "spell": "of a later version"}], "cost": {"usd": 1.50}, "moon": [1e3]}"#;
    fs::write(&file, later).unwrap();
    let desk = bench.open();
    assert!(desk.grants().is_empty());
    desk.give(&rule("Bash(make:*)"), None, Lasts::Session);
    let state = StateFile::new(&store(&bench.root), &session());
    state.write("mode", &"plan").unwrap();
    desk.end_session().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    for part in ["\"mode\": \"plan\",\n  \"grants\"", "of a later version", "1.50", "1e3"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("make"), "{text}");
    assert_eq!(state.read::<String>("mode").unwrap().as_deref(), Some("plan"));
    fs::write(&file, "{ torn").unwrap();
    state.write("mode", &"default").unwrap();
    let kept = fs::read_dir(file.parent().unwrap()).unwrap().flatten();
    let kept: Vec<_> = kept.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(kept.iter().any(|name| name.starts_with("state.json.broken-")), "{kept:?}");
}

#[test]
fn scopes_go_from_narrow_to_wide_and_each_would_help() {
    let bench = Bench::new();
    let view = Arc::clone(&bench.views.borrow());
    let file = bench.project.join("src/a.rs").display().to_string();
    let cases = [
        (
            "Bash",
            Access::Run("cargo test".into()),
            vec!["Bash(cargo test)", "Bash(cargo test:*)", "Bash"],
        ),
        ("Bash", Access::Run("if".into()), vec!["Bash(if)"]),
        (
            "WebFetch",
            Access::Fetch("https://docs.rs/x".into()),
            vec!["WebFetch(domain:docs.rs)", "WebFetch"],
        ),
    ];
    let texts = |tool: &str, access: Access| {
        let access = [access];
        let suggestions = match decide(&view, tool, &json!({}), &access) {
            Decision::Ask { suggestions, .. } => suggestions,
            other @ (Decision::Allow { .. } | Decision::Deny { .. }) => panic!("{other:?}"),
        };
        let found = scopes(&view, tool, &json!({}), &access, &suggestions);
        assert!(found.is_sorted_by_key(|scope| scope.reach));
        found
            .into_iter()
            .map(|scope| (scope.reach, scope.permits[0].to_string()))
            .collect::<Vec<_>>()
    };
    for (tool, access, wanted) in cases {
        let found = texts(tool, access.clone());
        let found: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(found, wanted, "{access:?}");
    }
    let edit = texts("Edit", Access::Write(file.clone().into()));
    assert_eq!(edit[0], (Reach::This, format!("Edit(/{file})")));
    assert_eq!(edit[1], (Reach::Directory, format!("Edit(/{}/src/**)", bench.project.display())));
    assert_eq!(edit[2], (Reach::Tool, "Edit".to_owned()));
    let hour = Term::Hour.lasts(Stamp::from_millis(5));
    assert_eq!(hour, Lasts::Until(Stamp::from_millis(3_600_005)));
    assert_eq!(Term::Project.grantee(Grantee::Asker), Grantee::Team);
}
