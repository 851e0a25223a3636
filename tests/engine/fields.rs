//! Fields of definitions, and the places they come from, as a run sees them.

use std::fs;

use serde_json::{Value, json};

use crate::support::rig::{Going, Ran, Rig};

const BOOK: &str = "engine/fields";
const FREE: [&str; 2] = ["--permission-mode", "bypassPermissions"];

fn definition(name: &str, fields: &str) -> String {
    format!("---\nname: {name}\ndescription: A {name}.\n{fields}---\nYou are a {name}.\n")
}

fn of_project(rig: &Rig, name: &str, fields: &str) {
    rig.write(&format!(".claude/agents/{name}.md"), &definition(name, fields));
}

/// The first request of the agent that a run started.
fn first_request(rig: &Rig, args: &[&str]) -> Value {
    let served = rig.serve();
    let ran = rig.ask(&served, args).code(0);
    let id = ran.started()[0]["agent"].as_str().unwrap().to_owned();
    served.of(&id)[0]["request"].clone()
}

fn notices(ran: &Ran) -> Vec<String> {
    let lines = ran.lines().into_iter().filter(|line| line["type"] == "notice");
    lines.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_a_definition_puts_first_stands_before_the_first_words_to_a_lead_only() {
    let rig = Rig::on(BOOK);
    of_project(&rig, "opener", "initialPrompt: OPENING\n");
    let served = rig.serve();
    let mut going = rig.drive(&served, &["--agent", "opener"]);
    for words in ["one", "two"] {
        going.say(words);
        going.line("result");
    }
    going.end().code(0);
    rig.ask(&served, &["-c", "--agent", "opener", "-p", "three"]).code(0);
    let last = served.of("team-lead").pop().unwrap()["request"]["messages"].clone();
    let said: Vec<&Value> =
        last.as_array().unwrap().iter().filter(|one| one["role"] == "user").collect();
    assert_eq!(said[0]["content"][0]["text"], "OPENING\n\none", "{last}");
    assert_eq!(last.to_string().matches("OPENING").count(), 1, "{last}");
    assert_eq!(said.len(), 3, "{last}");
    // A subagent's stands before its task.
    let first = first_request(&rig, &["-p", "named opener"]);
    assert_eq!(first["messages"][0]["content"][0]["text"], "OPENING\n\ngo", "{first}");
}

#[test]
fn an_agent_stops_after_the_turns_that_its_definition_allows() {
    let rig = Rig::on(BOOK);
    of_project(&rig, "short", "maxTurns: 1\n");
    let ran = rig.stream(&[&["-p", "named short"], &FREE[..]].concat()).code(0);
    let result = ran.result()["result"].as_str().unwrap().to_owned();
    assert!(result.contains("limit of turns") && result.contains("Half of it."), "{result}");
    assert_eq!(rig.read("count"), "x\n");
    // The same for a lead.
    let rig = Rig::on(BOOK);
    of_project(&rig, "boss", "maxTurns: 1\n");
    let ran = rig.stream(&["-p", "named explore", "--agent", "boss"]).code(1);
    assert_eq!(ran.result()["subtype"], "error_max_turns");
}

#[test]
fn a_memory_may_be_the_users_or_for_this_place_alone() {
    for (scope, at) in
        [("user", "user/.claude/agent-memory"), ("local", "project/.claude/agent-memory-local")]
    {
        let rig = Rig::on(BOOK);
        of_project(&rig, "keeper", &format!("memory: {scope}\n"));
        let dir = rig.root().join(at).join("keeper");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("MEMORY.md"), "OLD-MEMORY\n").unwrap();
        let system = first_request(&rig, &["-p", "named keeper"])["system"].to_string();
        assert!(system.contains("OLD-MEMORY"), "{scope}: {system}");
        assert!(system.contains(dir.to_str().unwrap()), "{scope}: {system}");
    }
}

#[test]
fn a_number_says_how_much_trouble_is_taken() {
    let rig = Rig::on(BOOK);
    let budget = "model: anthropic/claude-haiku-4-5\n";
    let table = [
        ("effort: 2000\n".to_owned(), json!(null), json!("low")),
        ("effort: 20000\n".to_owned(), json!(null), json!("high")),
        (format!("effort: 20000\n{budget}"), json!(20000), json!(null)),
        (format!("effort: low\n{budget}"), json!(2048), json!(null)),
    ];
    for (fields, tokens, level) in table {
        of_project(&rig, "keeper", &fields);
        let request = first_request(&rig, &["-p", "named keeper"]);
        let found = (&request["thinking"]["budget_tokens"], &request["output_config"]["effort"]);
        assert_eq!(found, (&tokens, &level), "{fields}: {}", request["thinking"]);
    }
}

#[test]
fn policy_and_plug_ins_bring_definitions_too() {
    let rig = Rig::on(BOOK);
    let put = |dir: &str, text: &str| {
        let dir = rig.root().join(dir);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("scout.md"), text).unwrap();
    };
    put("policy", "---\nname: scout\ndescription: d\n---\nPOLICY\n");
    put("user/.claude/plugins/harbour/agents", "---\nname: scout\ndescription: d\n---\nPLUGIN\n");
    of_project(&rig, "scout", "");
    let given = r#"{"scout": {"description": "d", "prompt": "GIVEN"}}"#;
    for (kind, words) in [("scout", "POLICY"), ("harbour:scout", "PLUGIN")] {
        let prompt = format!("named {kind}");
        let system = first_request(&rig, &["-p", &prompt, "--agents", given])["system"].to_string();
        assert!(system.contains(words), "{kind}: {system}");
    }
    let lines = rig.stream(&["-p", "hello"]).code(0).lines();
    let agents = lines[0]["agents"].as_array().unwrap();
    assert!(agents.contains(&json!("scout")) && agents.contains(&json!("harbour:scout")));
}

#[test]
fn a_definition_that_breaks_while_it_runs_is_told_of_and_hides_nobody() {
    let rig = Rig::on(BOOK);
    of_project(&rig, "scout", "");
    of_project(&rig, "other", "");
    let mut going = rig.driven(&[]);
    let answer = |going: &mut Going, words: &str| {
        going.say(words);
        going.line("result")["result"].as_str().unwrap().to_owned()
    };
    assert!(answer(&mut going, "named scout").starts_with("got: seen"));
    rig.write(".claude/agents/scout.md", "---\nname: scout\ndescription: d\nmaxTurns: many\n---\n");
    let refused = answer(&mut going, "named scout");
    assert!(refused.starts_with("refused: ") && refused.contains("other"), "{refused}");
    assert!(answer(&mut going, "named other").starts_with("got: seen"));
    // Mended, it is there again; and whoever asks what there is sees what is there now.
    of_project(&rig, "late", "");
    of_project(&rig, "scout", "");
    let known = going.granted(&json!({ "subtype": "initialize" }));
    let known = known["agents"].as_array().unwrap();
    assert!(known.contains(&json!("late")) && known.contains(&json!("scout")), "{known:?}");
    assert!(answer(&mut going, "named scout").starts_with("got: seen"));
    let ran = going.end().code(0);
    let told = notices(&ran);
    let about: Vec<&String> = told.iter().filter(|text| text.contains("scout.md:4:")).collect();
    assert_eq!(about.len(), 1, "{told:?}");
}

#[test]
fn memory_files_of_directories_above_count_and_what_is_left_out_is_told_once() {
    let rig = Rig::on(BOOK);
    fs::write(rig.root().join("AGENTS.md"), "ABOVE-WORDS\n").unwrap();
    rig.write("CLAUDE.md", &format!("HERE-WORDS\n{}", "x".repeat(50_000)));
    rig.write(
        ".claude/skills/zeal/SKILL.md",
        "---\nname: zeal\ndescription: Work with zeal.\n---\nz\n",
    );
    rig.write(".claude/skills/aim/SKILL.md", "---\nname: aim\ndescription: Aim well.\n---\na\n");
    let served = rig.serve();
    let ran = rig.ask(&served, &["-p", "named explore"]).code(0);
    let system = served.of("team-lead")[0]["request"]["system"].to_string();
    let parts = ["`aim`: Aim well.", "`zeal`: Work with zeal.", "ABOVE-WORDS", "HERE-WORDS"];
    let places: Vec<Option<usize>> = parts.iter().map(|part| system.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {system}");
    // The child reads the same files, and the person hears of them once.
    let told = notices(&ran);
    assert_eq!(told.iter().filter(|text| text.contains("only its first")).count(), 1, "{told:?}");
    let id = ran.started()[0]["agent"].as_str().unwrap().to_owned();
    let child = served.of(&id)[0]["request"]["system"].to_string();
    assert!(child.contains("`aim`: Aim well.") && child.contains("ABOVE-WORDS"), "{child}");
}

#[test]
fn a_model_beside_a_playbook_is_said_to_be_of_no_use() {
    let rig = Rig::on(BOOK);
    let ran = rig.run(&["-p", "hello", "--model", "opus"]).code(0);
    assert!(ran.stderr.contains("--model is ignored"), "{ran:?}");
    assert!(!rig.run(&["-p", "hello"]).code(0).stderr.contains("--model"));
}
