//! When a run is over: not before everything is told, and then at once.

use super::rig::Rig;

const BACKGROUND: &str = r#"
  - who: team-lead
    turns:
      - when: { user: "^x$" }
        call:
          - { tool: Agent, input: { description: one, prompt: p, subagent_type: explore, run_in_background: true } }
          - { tool: Agent, input: { description: two, prompt: p, subagent_type: explore, run_in_background: true } }
      - { when: { user: "task-notification" }, repeat: true, say: "heard" }
      - { when: { any: true }, repeat: true, say: "waiting" }
  - who: type:explore
    turns:
      - say: "report of a scout"
"#;

/// The scouts end at about the moment at which the lead's turn does.
#[test]
fn no_notification_is_lost_however_the_ends_meet() {
    let rounds = if crate::support::soak() { 100 } else { 3 };
    for round in 0..rounds {
        let rig = Rig::with_actors(BACKGROUND);
        let ran = rig.stream(&["-p", "x"]).code(0);
        let told: usize = ran
            .lines()
            .iter()
            .filter(|line| line["type"] == "user" && line["agent"] == "team-lead")
            .map(|line| line["message"].to_string().matches("</task-notification>").count())
            .sum();
        assert_eq!(told, 2, "round {round}: {ran:?}");
        assert_eq!(ran.result()["result"], "heard", "round {round}");
    }
}

#[test]
fn a_background_command_does_not_keep_a_run() {
    let rig = Rig::new(
        r#"
- { call: [{ tool: Bash, input: { command: "echo $$ > pid; exec sleep 1000", run_in_background: true } }] }
- { call: [{ tool: Bash, input: { command: "while [ ! -s pid ]; do sleep 0.01; done" } }] }
- { say: done }
"#,
    );
    let ran = rig.run(&["-p", "x", "--on-ask", "allow"]).code(0);
    assert_eq!(ran.stdout, "done\n");
    let pid = std::fs::read_to_string(rig.project.join("pid")).unwrap();
    assert!(!super::rig::alive(pid.trim()), "it ends with the session");
}

#[test]
fn what_the_readme_shows_is_true() {
    let readme = include_str!("../../README.md");
    let section = readme.split("## Headless").nth(1).expect("a section").split("\n## ").next();
    let section = section.expect("its text");
    let rig = Rig::new("- { repeat: true, say: fine }");
    // Those that name a playbook run as they are, in tests/readme.rs.
    let needs_a_model = |line: &&str| !line.contains("--playbook");
    let lines = section.lines().filter_map(|line| line.strip_prefix("quarterdeck run "));
    let shown: Vec<&str> = lines.filter(needs_a_model).collect();
    assert!(shown.len() >= 4, "{shown:?}");
    for line in shown {
        // In a shell, as it is typed, on a playbook instead of a model.
        let program = env!("CARGO_BIN_EXE_quarterdeck");
        let line = line.split("  #").next().unwrap_or_default();
        let mut shell = rig.program(&[]);
        let typed = format!("{program} run --playbook {} {line}", rig.book());
        let mut sh = std::process::Command::new("sh");
        sh.args(["-c", &typed]).current_dir(&rig.project).env_clear();
        sh.envs(shell.get_envs().filter_map(|(key, value)| Some((key, value?))));
        shell.stdin(std::process::Stdio::null());
        let ran = sh.stdin(std::process::Stdio::null()).output().unwrap();
        assert!(ran.status.success(), "{typed}: {ran:?}");
    }
}
