//! Settings that change how agents are handled.

use std::fs;

use super::rig::Rig;

fn in_project(rig: &Rig, name: &str, text: &str) {
    let file = rig.project.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

const SPAWN: &str = r#"
- who: team-lead
  turns:
    - when: { user: go }
      call: [{ tool: Agent, input: { description: "a part", prompt: "do it" } }]
    - when: { user: "task-notification" }
      say: "a fork told me"
      repeat: true
    - when: { result_of: Agent }
      say: "{{result}}"
- who: fork
  turns: [{ say: "forked" }]
- who: type:general-purpose
  turns: [{ say: "general" }]
"#;

#[test]
fn the_setting_fork_makes_forks_of_agents_without_a_type() {
    let rig = Rig::with_actors(SPAWN);
    let ran = rig.run(&["-p", "go"]).code(0);
    assert!(ran.stdout.starts_with("general"), "off without a screen: {ran:?}");
    in_project(&rig, ".quarterdeck/settings.json", r#"{"fork": true}"#);
    assert_eq!(rig.run(&["-p", "go"]).code(0).stdout, "a fork told me\n");
    in_project(&rig, ".quarterdeck/settings.json", r#"{"compactAt": 7}"#);
    let refused = rig.run(&["-p", "go"]).code(2);
    assert!(refused.stderr.contains("compactAt"), "{refused:?}");
}

#[test]
fn agents_are_offered_when_the_servers_they_need_are_configured() {
    let rig = Rig::new("- say: hi\n  repeat: true");
    let text = "---\nname: librarian\ndescription: Looks things up\nrequiredMcpServers: [docs]\n---\nLook it up.\n";
    in_project(&rig, ".claude/agents/librarian.md", text);
    let offered = || rig.stream(&["-p", "x"]).code(0).lines().remove(0)["agents"].to_string();
    assert!(!offered().contains("librarian"), "{}", offered());
    in_project(&rig, ".mcp.json", r#"{"mcpServers": {"company-docs": {"command": "x"}}}"#);
    assert!(offered().contains("librarian"), "{}", offered());
}
