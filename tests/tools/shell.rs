//! Commands: what they print, how they end, where they leave the agent, what they cannot do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quarterdeck::permission::Access;
use quarterdeck::protocol::content::Content;
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::Mode;
use quarterdeck::tools::bash::Bash;
use quarterdeck::tools::shell::Options;
use quarterdeck::tools::{Output, Tool};
use serde_json::{Value, json};

use super::rig::Rig;
use crate::support::mode;

pub fn rig() -> Rig {
    rig_with(|_| {})
}

pub fn rig_with(change: impl FnOnce(&mut Options)) -> Rig {
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Bash::default())];
    Rig::shelled(Mode::BypassPermissions, tools, |_| {}, change)
}

pub fn text(output: &Output) -> &str {
    match &output.content {
        Content::Text(text) => text,
        Content::Blocks(_) => panic!("blocks"),
    }
}

impl Rig {
    pub async fn bash(&self, command: &str) -> Output {
        self.call("Bash", json!({ "command": command })).await
    }
}

/// Looks until something holds.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(20), "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn both_outputs_come_in_the_order_of_writing() {
    let rig = rig();
    let output = rig.bash("for n in 1 2 3; do echo out $n; echo err $n >&2; done").await;
    assert_eq!(text(&output), "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3");
    assert!(!output.failed);
    assert_eq!(output.data["exitCode"], 0);
    assert_eq!(output.summary, "out 1");
    assert_eq!(text(&rig.bash("true").await), "(no output)");
}

#[tokio::test]
async fn exit_codes_and_signals_are_reported() {
    let rig = rig();
    let output = rig.bash("echo before; exit 7").await;
    assert_eq!((text(&output), output.failed), ("before\n\nExit code 7", true));
    assert_eq!(output.data["exitCode"], 7);
    let output = rig.bash("echo before; kill -9 $$").await;
    assert_eq!((text(&output), output.failed), ("before\n\nKilled by signal SIGKILL", true));
    assert_eq!(
        (&output.data["exitCode"], &output.data["signal"]),
        (&Value::Null, &json!("SIGKILL"))
    );
    let output = rig.bash("set -e; false; echo never").await;
    assert_eq!(text(&output), "Exit code 1");
}

#[tokio::test]
async fn a_command_cannot_break_out_of_what_surrounds_it() {
    let rig = rig();
    for (command, printed) in [
        ("echo \"[$#][$1][$@]\"", "[0][][]"),
        ("echo \"'\" '\"' '$x' \\\\", "' \" $x \\"),
        ("cat <<'END'\n$HOME \"'`\nEND\n", "$HOME \"'`"),
        ("echo a # ' \" `", "a"),
        ("cat", "(no output)"),
        ("echo a |\n  tr a b\n\necho c", "b\nc"),
    ] {
        assert_eq!(text(&rig.bash(command).await), printed, "{command}");
    }
    for (command, words) in [("echo 'a", "unexpected EOF"), ("fi; echo x", "syntax error")] {
        let output = rig.bash(command).await;
        assert!(output.failed && text(&output).contains(words), "{}", text(&output));
    }
    assert_eq!(text(&rig.bash("echo fine").await), "fine");
}

#[tokio::test]
async fn the_working_directory_is_kept_however_a_command_ends() {
    let rig = rig();
    std::fs::create_dir_all(rig.project.join("a b/c")).unwrap();
    for (command, place) in
        [("cd 'a b'", "a b"), ("cd c; false", "a b/c"), ("cd ..; exit 3", "a b"), ("(cd c)", "a b")]
    {
        let output = rig.bash(command).await;
        assert_eq!(rig.cx.cwd.get(), rig.project.join(place), "{command}");
        assert_eq!(output.data["cwd"], json!(rig.project.join(place)));
    }
    assert_eq!(text(&rig.bash("pwd").await), rig.path("a b"));
}

#[tokio::test]
async fn a_directory_outside_the_allowed_ones_is_left_again_and_said() {
    let rig = rig();
    let output = rig.bash("cd / && pwd").await;
    let said = format!("the working directory is {} again", rig.project.display());
    assert!(text(&output).starts_with("/\n") && text(&output).contains(&said), "{}", text(&output));
    assert_eq!(rig.cx.cwd.get(), rig.project);
    let link = rig.project.join("link");
    std::os::unix::fs::symlink(rig.dir.path(), link).unwrap();
    let output = rig.bash("cd link").await;
    assert!(text(&output).contains("outside the allowed directories"), "{}", text(&output));
    assert_eq!(rig.cx.cwd.get(), rig.project);
}

#[tokio::test]
async fn a_working_directory_that_is_gone_is_said_and_left() {
    let rig = rig();
    rig.bash("mkdir d && cd d").await;
    std::fs::remove_dir(rig.project.join("d")).unwrap();
    let output = rig.bash("touch here").await;
    assert!(output.failed && text(&output).contains("no longer exists"), "{}", text(&output));
    assert!(!rig.project.join("here").exists());
    assert_eq!(text(&rig.bash("pwd").await), rig.project.display().to_string());
}

#[tokio::test]
async fn secrets_are_not_in_the_environment_and_what_must_be_is() {
    let rig = rig_with(|options| {
        for (name, value) in [
            ("ANTHROPIC_API_KEY", "hidden1"),
            ("MY_TOKEN", "hidden2"),
            ("COMPANY", "hidden3"),
            ("LANG", "C"),
        ] {
            options.environment.insert(name.into(), value.into());
        }
        options.named.withheld.push("COMPANY".to_owned());
    });
    let output = rig.bash("env").await;
    let lines: Vec<&str> = text(&output).lines().collect();
    assert!(!text(&output).contains("hidden"), "{}", text(&output));
    for line in ["CLAUDECODE=1", "QUARTERDECK=1", "GIT_EDITOR=true", "PAGER=cat", "LANG=C"] {
        assert!(lines.contains(&line), "{line}");
    }
    let leftover = rig.bash("tr '\\0' '\\n' < /proc/$$/environ | grep -c hidden").await;
    assert_eq!(text(&leftover), "0\n\nExit code 1");
}

#[tokio::test]
async fn a_command_leads_its_own_group_and_session_and_has_no_input() {
    let rig = rig();
    let command = "read -r _ _ _ _ group session _ < /proc/$$/stat; \
                   echo $((group == $$)) $((session == $$)); readlink /proc/$$/fd/0";
    assert_eq!(text(&rig.bash(command).await), "1 1\n/dev/null");
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle_and_kept_in_a_file() {
    let rig = rig();
    let output = rig.bash("seq 1 20000").await;
    let all: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
    let file = output.data["outputFile"].as_str().unwrap().to_owned();
    let text = text(&output);
    assert!(text.starts_with("1\n2\n") && text.ends_with("\n20000"), "both ends");
    assert!(text.contains(&format!(
        "[{} characters cut here; all of it is in {file}]",
        all.len() - 30_000
    )));
    assert!(text.chars().count() < 30_300);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), all);
    let file = std::path::Path::new(&file);
    assert!(file.starts_with(rig.dir.path().canonicalize().unwrap().join("tmp")));
    assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700));
    let short = rig.bash("seq 1 20").await;
    assert_eq!(short.data["outputFile"], Value::Null);
    let left = std::fs::read_dir(file.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "nothing but the one output is left");
}

#[tokio::test]
async fn what_is_no_text_becomes_text_without_breaking_characters() {
    let rig = rig();
    let output = rig.bash(r"printf '\303'; printf '\251\377|\360\237'; printf '\230\200\n'").await;
    assert_eq!(text(&output), "é\u{FFFD}|😀");
}

fn said(rig: &Rig) -> Vec<String> {
    let printed = rig.facts().into_iter().filter_map(|fact| {
        let Fact::ToolOutput { text, .. } = fact else { return None };
        Some(text)
    });
    printed.collect()
}

#[tokio::test]
async fn output_is_told_while_the_command_runs() {
    let rig = rig();
    // It ends only when its first line was heard.
    let command = "echo first; while [ ! -e go ]; do read -t 0.01 <> <(:); done; echo last";
    let call = rig.bash(command);
    let listen = async {
        until("the first line", || said(&rig).concat() == "first\n").await;
        rig.write("go", "");
    };
    let (output, ()) = tokio::join!(call, listen);
    assert_eq!(text(&output), "first\nlast");
    assert_eq!(said(&rig), ["first\n", "last\n"]);
}

#[tokio::test]
async fn a_flood_does_not_flood_the_journal() {
    let rig = rig();
    let output = rig.bash("seq 1 1000000").await;
    assert!(text(&output).ends_with("\n1000000"));
    let told = said(&rig);
    let size: usize = told.iter().map(String::len).sum();
    assert!((60_000..70_000).contains(&size), "{size} bytes in {} events", told.len());
    assert!(told.last().unwrap().contains("more characters, not shown here"));
    assert!(told.concat().starts_with("1\n2\n3\n"));
}

#[test]
fn fifty_megabytes_in_a_second_neither_block_nor_fill_the_memory() {
    let own = std::env::current_exe().unwrap();
    let arguments = ["--ignored", "--exact", "tools::shell::prints_fifty_megabytes", "--nocapture"];
    let ran = std::process::Command::new(own).args(arguments).output().unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{printed}{}", String::from_utf8_lossy(&ran.stderr));
    let grown = printed.split("grown by ").nth(1).and_then(|rest| rest.split(' ').next());
    let grown: u64 = grown.unwrap().parse().unwrap();
    assert!(grown <= 20 * 1024, "grown by {grown} KiB");
    crate::support::say(&printed);
}

#[test]
#[ignore = "a part of another test, in a process of its own"]
fn prints_fifty_megabytes() {
    let high = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let rig = rig();
        rig.bash("true").await;
        let (before, since) = (high(), Instant::now());
        let output = rig.bash("head -c 52428800 /dev/zero | tr '\\0' 'x'").await;
        let took = since.elapsed();
        assert!(!output.failed);
        let file = output.data["outputFile"].as_str().unwrap();
        assert_eq!(std::fs::metadata(file).unwrap().len(), 52_428_800);
        let line = format!("grown by {} KiB in {took:?}\n", high() - before);
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
    });
}

#[tokio::test]
async fn a_use_is_summed_up_by_its_description() {
    let rig = rig();
    let tool = Bash::default();
    let input = json!({ "command": "cargo test\necho", "description": "Run the tests" });
    assert_eq!(tool.summary(&input), "Run the tests");
    assert_eq!(tool.summary(&json!({ "command": "cargo test\necho" })), "cargo test");
    let access = tool.access(&rig.cx, &input).unwrap();
    assert_eq!(access, [Access::Run("cargo test\necho".to_owned())]);
    assert_eq!(tool.spec().input["required"], json!(["command"]));
    for bad in [
        json!({}),
        json!({ "command": " " }),
        json!({ "command": "a\0b" }),
        json!({ "command": "x".repeat(200_000) }),
    ] {
        assert!(tool.access(&rig.cx, &bad).is_err());
    }
}
