//! Views made from settings: whose word counts, and what a mistake does.

use std::path::{Path, PathBuf};

use quarterdeck::permission::{Access, Source, View, decide};
use quarterdeck::protocol::op::Mode;
use quarterdeck::settings::paths::Home;
use quarterdeck::settings::permissions::{Layer, Level};
use serde_json::Value;

use super::world::World;

fn layer(level: Level, mode: Option<&str>) -> Layer {
    let file = PathBuf::from(format!("/settings/{level:?}.json"));
    Layer { level, file, default_mode: mode.map(str::to_owned), ..Layer::default() }
}

fn load(world: &World, mode: Option<Mode>, layers: &[Layer]) -> (View, Vec<String>) {
    let home = Home::at(world.root.join("home"));
    let (view, warnings) = View::load(&home, mode, &world.w(), layers);
    (view, warnings.iter().map(ToString::to_string).collect())
}

fn decision(view: &View, tool: &str, access: Access) -> &'static str {
    decide(view, tool, &Value::Null, &[access]).as_str()
}

#[test]
fn a_project_cannot_lift_its_own_limits() {
    let world = World::new();
    for level in [Level::Project, Level::Local] {
        let (view, warnings) = load(&world, None, &[layer(level, Some("bypassPermissions"))]);
        assert_eq!(view.mode, Mode::Default, "{level:?}");
        assert!(warnings[0].contains("cannot set bypassPermissions"), "{warnings:?}");
    }
    for level in [Level::User, Level::CommandLine, Level::Policy] {
        let (view, warnings) = load(&world, None, &[layer(level, Some("bypassPermissions"))]);
        assert_eq!((view.mode, warnings), (Mode::BypassPermissions, vec![]), "{level:?}");
    }
    let both = [layer(Level::User, Some("acceptEdits")), layer(Level::Project, Some("auto"))];
    let (view, warnings) = load(&world, None, &both);
    assert_eq!(view.mode, Mode::Default);
    assert!(warnings[0].contains("unknown mode `auto`"), "{warnings:?}");
}

#[test]
fn the_last_word_on_the_mode_is_the_policys_and_then_the_command_lines() {
    let world = World::new();
    let user = layer(Level::User, Some("acceptEdits"));
    let (view, _) = load(&world, Some(Mode::Plan), std::slice::from_ref(&user));
    assert_eq!(view.mode, Mode::Plan);
    let (view, warnings) =
        load(&world, Some(Mode::BypassPermissions), &[user, layer(Level::Policy, Some("default"))]);
    assert_eq!(view.mode, Mode::Default);
    assert!(warnings[0].starts_with("managed policy /settings/Policy.json: "), "{warnings:?}");
}

#[test]
fn deny_holds_from_any_layer_and_each_rule_keeps_its_source() {
    let world = World::new();
    let policy = Layer { allow: vec!["Bash(make:*)".into()], ..layer(Level::Policy, None) };
    let user = Layer { deny: vec!["Bash(make install)".into()], ..layer(Level::User, None) };
    let given = Layer::of_command_line(
        Path::new("/"),
        vec!["Bash(cargo test:*)".into()],
        vec!["WebFetch".into()],
        vec![world.root.join("outside")],
    );
    let (view, warnings) = load(&world, None, &[user, given, policy]);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(decision(&view, "Bash", Access::Run("make all".into())), "allow");
    assert_eq!(decision(&view, "Bash", Access::Run("make install".into())), "deny");
    assert_eq!(decision(&view, "Bash", Access::Run("cargo test".into())), "allow");
    assert_eq!(decision(&view, "WebFetch", Access::Fetch("https://x.org".into())), "deny");
    assert_eq!(decision(&view, "Read", Access::Read(world.root.join("outside/x"))), "allow");
    let sources: Vec<&Source> = view.rules.iter().map(|rule| &rule.source).collect();
    assert_eq!(sources[1], &Source::CommandLine);
    assert_eq!(sources[3], &Source::Policy("/settings/Policy.json".into()));
    let own = Access::Write("/settings/Policy.json".into());
    assert_eq!(decision(&view, "Write", own), "deny");
}

#[test]
fn a_broken_rule_never_means_less() {
    let world = World::new();
    let allow = || vec!["Bash".into(), "Edit".into(), "Read".into()];
    let view_of = |deny: &[&str], ask: &[&str], mode| {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        let user = layer(Level::User, None);
        let user = Layer { allow: allow(), deny: texts(deny), ask: texts(ask), ..user };
        let (view, warnings) = load(&world, mode, &[user]);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        view
    };
    let run = || Access::Run("make".into());
    for (deny, ask) in [(&["Bash(rm"][..], &[][..]), (&["bash(rm:*)"], &[]), (&[], &["Bash()"])] {
        let view = view_of(deny, ask, None);
        assert_eq!(decision(&view, "Bash", run()), "ask", "{deny:?} {ask:?}");
        assert_eq!(decision(&view, "Write", Access::Write("x".into())), "allow");
    }
    let view = view_of(&["Bash(rm"], &[], Some(Mode::BypassPermissions));
    assert_eq!(decision(&view, "Bash", run()), "ask", "also where nobody is asked");
    let view = view_of(&["Edit(./[)"], &[], None);
    assert_eq!(decision(&view, "Write", Access::Write("x".into())), "ask");
    assert_eq!(decision(&view, "Bash", run()), "ask", "a command may write files too");
    assert_eq!(decision(&view, "Read", Access::Read("x".into())), "allow");
    let view = view_of(&["Ed it(x)"], &[], None);
    assert_eq!(decision(&view, "Read", Access::Read("x".into())), "ask", "nobody knows which tool");
    let view = view_of(&["Edit*"], &[], None);
    assert_eq!(decision(&view, "Write", Access::Write("x".into())), "ask");
}

#[test]
fn the_configuration_of_the_program_is_neither_read_nor_written() {
    let world = World::new();
    let (view, _) = load(&world, Some(Mode::BypassPermissions), &[]);
    let config = quarterdeck::settings::paths::config_dir().unwrap();
    for file in [config.join("models.toml"), config.join("settings.json")] {
        assert_eq!(decision(&view, "Read", Access::Read(file.clone())), "deny");
        assert_eq!(decision(&view, "Write", Access::Write(file.clone())), "deny");
        let cat = format!("cat {}", file.display());
        assert_eq!(decision(&view, "Bash", Access::Run(cat)), "deny");
    }
}
