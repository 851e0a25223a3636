//! The table in `tests/fixtures/permissions.yaml`.

use std::sync::Arc;

use quarterdeck::permission::view::mode_named;
use quarterdeck::permission::{Effect, Seat, View, decide};
use quarterdeck::protocol::op::Mode;
use serde_json::json;
use yaml_rust2::{Yaml, YamlLoader};

use super::world::{World, access};
use crate::support::say;

fn texts(list: &Yaml) -> Vec<&str> {
    list.as_vec().map(|all| all.iter().filter_map(Yaml::as_str).collect()).unwrap_or_default()
}

fn view_of(world: &World, group: &Yaml) -> View {
    let mode = group["mode"].as_str().map_or(Mode::Default, |name| mode_named(name).unwrap());
    let mut view = world.view(mode);
    if let Some(cwd) = group["cwd"].as_str() {
        view.cwd = world.fill(cwd).into();
        view.working.push(view.cwd.clone());
    }
    if group["seat"].as_str() == Some("lead") {
        view.seat = Seat::Lead;
    }
    let effects = [("allow", Effect::Allow), ("ask", Effect::Ask), ("deny", Effect::Deny)];
    for (name, effect) in effects {
        view.rules.extend(texts(&group[name]).into_iter().map(|text| world.rule(effect, text)));
    }
    if let Some(aliases) = group["aliases"].as_hash() {
        let text = |yaml: &Yaml| yaml.as_str().unwrap().to_owned();
        view.aliases = Arc::new(aliases.iter().map(|(k, v)| (text(k), text(v))).collect());
    }
    view
}

#[test]
fn every_case_of_the_table_is_decided_as_it_says() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/permissions.yaml");
    let table = YamlLoader::load_from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let world = World::new();
    let (mut cases, mut attempts, mut wrong) = (0, 0, Vec::new());
    for group in table[0].as_vec().unwrap() {
        let view = view_of(&world, group);
        for case in group["cases"].as_vec().unwrap() {
            let case = texts(case);
            let text = world.fill(case[2]);
            let (tool, access) = access(case[1], &text);
            let decision = decide(&view, &tool, &json!({ "skill": text }), &[access]);
            let kind = case.get(3).copied().unwrap_or(decision.why().kind());
            if decision.as_str() != case[0] || decision.why().kind() != kind {
                let name = group["group"].as_str().unwrap();
                let said = decision.as_str();
                wrong.push(format!("{name}: {case:?}, but {said}: {}", decision.why()));
            }
            cases += 1;
            attempts += usize::from(group["slip"].as_bool() == Some(true) && case[0] != "allow");
        }
    }
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases >= 150 && attempts >= 60, "{cases} cases, {attempts} attempts");
    say(&format!("{cases} cases, {attempts} of them attempts to slip by"));
}
