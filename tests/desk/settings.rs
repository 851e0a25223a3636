//! Grants that outlive a session: in the right file, with nothing else in it changed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;

use quarterdeck::permission::desk::AskDesk;
use quarterdeck::permission::{Access, Decision, decide};
use quarterdeck::protocol::ask::{Grantee, Judge, Lasts};
use serde_json::Value;

use super::bench::{Bench, agent, allow_with, in_time, rule};
use crate::support::{files_below, mode};

fn local(bench: &Bench) -> PathBuf {
    bench.project.join(".quarterdeck/settings.local.json")
}

fn user(bench: &Bench) -> PathBuf {
    bench.root.join("config/settings.json")
}

fn may_make(bench: &Bench, desk: &AskDesk, name: &str) -> bool {
    let base = Arc::clone(&bench.views.borrow());
    let view = desk.view(&base, &agent(name), &base.cwd);
    let decision = decide(&view, "Bash", &Value::Null, &[Access::Run("make all".into())]);
    matches!(decision, Decision::Allow { .. })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_writes_its_rule_to_the_file_it_names() {
    let bench = Bench::new();
    let desk = bench.open();
    for (n, (lasts, file)) in
        [(Lasts::Project, local(&bench)), (Lasts::User, user(&bench))].into_iter().enumerate()
    {
        let ask = bench.ask(&agent("ada"), &format!("toolu_{n}"), &format!("cargo run {n}"));
        let waiting = bench.put(&desk, &ask);
        bench.is_open(&ask);
        let verdict = allow_with(rule("Bash(make:*)"), Grantee::Asker, lasts);
        bench.asks().settle(&ask.id, 1, verdict, Judge::Human).unwrap();
        in_time(waiting).await;
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(
            text,
            "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(make:*)\"\n    ]\n  }\n}\n"
        );
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    }
    assert!(may_make(&bench, &desk, "bob"), "a settings file speaks to everybody");
    assert_eq!(bench.notices(), Vec::<String>::new());
    let files: Vec<_> = desk.grants().into_iter().filter_map(|grant| grant.file).collect();
    assert_eq!(files, [local(&bench), user(&bench)].map(|file| file.display().to_string()));
}

#[test]
fn everything_else_in_the_file_stays_as_it_is() {
    let bench = Bench::new();
    let real = bench.root.join("dotfiles/quarterdeck.json");
    fs::create_dir_all(real.parent().unwrap()).unwrap();
    fs::create_dir_all(local(&bench).parent().unwrap()).unwrap();
    let text = "{ \"$schema\":\"x\",\n\t\"permissions\" : { \"deny\":[\"Read(.env)\"],\n\t\t\"allow\": [\n\t\t\t\"Bash(ls)\",\n\t\t\t\"Read\" ] , \"moon\": 1.0e2 },\n\"odd\":\"\\ud83d\"}\n\n";
    fs::write(&real, text).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, local(&bench)).unwrap();
    let desk = bench.open();
    let given = desk.give(&rule("Bash(make:*)"), None, Lasts::Project);
    let wanted = text.replace("\"Read\" ]", "\"Read\",\n\t\t\t\"Bash(make:*)\" ]");
    assert_eq!(fs::read_to_string(&real).unwrap(), wanted);
    assert!(fs::symlink_metadata(local(&bench)).unwrap().is_symlink());
    assert_eq!(mode(&real), 0o640);
    assert!(desk.give(&rule("Bash(make:*)"), None, Lasts::Project).is_empty());
    assert_eq!(fs::read_to_string(&real).unwrap(), wanted, "no duplicates");
    desk.give(&rule("Read"), None, Lasts::Project);
    assert_eq!(fs::read_to_string(&real).unwrap(), wanted, "it stood there already");
    desk.revoke(&given[0].id).unwrap().unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), text, "taken back, to the blank");
    assert!(!may_make(&bench, &desk, "ada"));
    let left: Vec<_> = files_below(&bench.root.join("dotfiles"));
    assert_eq!(left, [real], "nothing is left behind");
}

#[test]
fn a_file_that_is_not_understood_is_left_alone_and_the_session_has_the_grant() {
    for text in ["{ // mine\n}", "", "[1]", "{\"permissions\": {\"allow\": \"all\"}}"] {
        let bench = Bench::new();
        fs::create_dir_all(local(&bench).parent().unwrap()).unwrap();
        fs::write(local(&bench), text).unwrap();
        let desk = bench.open();
        let given = desk.give(&rule("Bash(make:*)"), Some(&agent("ada")), Lasts::Project);
        assert_eq!(fs::read_to_string(local(&bench)).unwrap(), text);
        assert_eq!((given[0].lasts, &given[0].file), (Lasts::Session, &None));
        assert!(may_make(&bench, &desk, "ada") && !may_make(&bench, &desk, "bob"));
        let notices = bench.notices();
        let [notice] = notices.as_slice() else { panic!("{notices:?}") };
        assert!(notice.contains("holds for this session only: cannot change "), "{notice}");
    }
}

#[test]
fn a_link_that_leads_nowhere_makes_no_file() {
    let bench = Bench::new();
    fs::create_dir_all(local(&bench).parent().unwrap()).unwrap();
    let target = bench.root.join("autostart");
    symlink(&target, local(&bench)).unwrap();
    let desk = bench.open();
    assert_eq!(desk.give(&rule("Bash(make:*)"), None, Lasts::Project)[0].lasts, Lasts::Session);
    assert!(!target.exists());
    assert!(bench.notices()[0].contains("follow the link"), "{:?}", bench.notices());
}

#[test]
fn what_was_taken_out_of_a_file_by_hand_is_gone_after_a_restart() {
    let bench = Bench::new();
    let desk = bench.open();
    desk.give(&rule("Bash(make:*)"), None, Lasts::Project);
    drop(desk);
    let desk = bench.open();
    assert!(may_make(&bench, &desk, "ada"));
    desk.end_session().unwrap();
    assert!(may_make(&bench, &desk, "ada"), "it outlives the session");
    drop(desk);
    fs::write(local(&bench), "{}").unwrap();
    let desk = bench.open();
    assert!(!may_make(&bench, &desk, "ada"));
    assert!(desk.grants().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_cannot_be_used_is_not_given_and_says_why() {
    let bench = Bench::new();
    let desk = bench.open();
    let ask = bench.ask(&agent("ada"), "toolu_1", "make all");
    let waiting = bench.put(&desk, &ask);
    bench.is_open(&ask);
    let verdict = allow_with(rule("Bash(make"), Grantee::Team, Lasts::Project);
    desk.settle(&ask.id, 1, verdict.clone(), Judge::Human).unwrap();
    assert_eq!(in_time(waiting).await.verdict, verdict, "allowed once all the same");
    assert!(desk.grants().is_empty() && !local(&bench).exists());
    assert!(bench.notices()[0].contains("no closing"), "{:?}", bench.notices());
}
