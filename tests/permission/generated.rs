//! Commands made from known parts. Whatever they are nested in, a command with a part that no
//! rule allows is never allowed.

use proptest::prelude::*;
use proptest::strategy::{BoxedStrategy, Union};
use proptest::test_runner::{Config, TestRunner};
use quarterdeck::permission::{Access, Decision, Effect, View, decide};
use quarterdeck::protocol::op::Mode;
use serde_json::Value;

use super::world::World;
use crate::support::{say, soak};

/// Allowed by a rule, or only looking.
const GOOD: &[&str] = &[
    "git status",
    "git log -1",
    "\"git\" status",
    "npm run test unit",
    "npm run test $X",
    "ls src",
    "echo hi",
    "cat src/main.rs",
    "grep -n fn src/main.rs",
    "git log --oneline 2>/dev/null",
    "echo 'rm x; rm y'",
    "echo \"rm x\"",
    "npm run test > out.txt",
    "pwd",
    "true",
];

/// Allowed by nothing.
const BAD: &[&str] = &[
    "rm x",
    "\\rm x",
    "\"r\"m x",
    "r$'\\x6d' x",
    "'rm' x",
    "FOO=1 rm x",
    "/bin/rm x",
    "make",
    "git push",
    "git -c a=b log",
    "git log --output=/etc/x",
    "git status > /etc/x",
    "$CMD x",
    "cat /etc/passwd",
    "cat link/x",
    "sudo git status",
    "xargs rm",
    "find . -delete",
    "find . -exec rm {} +",
    "bash -c 'rm x'",
    "eval rm x",
    "env A=1 git status",
    "time rm x",
    "PATH=/tmp git status",
    "echo x > ../y",
    "sort -o x y",
    "cd / && ls etc",
    "x=1",
    "export A=1",
    "source x",
    "git status >> ~/.bashrc",
    "python3 -c 'x'",
    "tee /etc/x",
];

#[derive(Debug, Clone)]
struct Made {
    text: String,
    /// Whether a part is in it that nothing allows.
    bad: bool,
}

fn leaf() -> BoxedStrategy<Made> {
    let good = prop::sample::select(GOOD).prop_map(|text| Made { text: text.into(), bad: false });
    let bad = prop::sample::select(BAD).prop_map(|text| Made { text: text.into(), bad: true });
    prop_oneof![4 => good, 1 => bad].boxed()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

type Around = fn(&str) -> String;
type Between = fn(&str, &str) -> String;

const AROUND: &[Around] = &[
    |a| format!("(\n{a}\n)"),
    |a| format!("({a}\n)"),
    |a| format!("{{ {a}\n}}"),
    |a| format!("echo $({a}\n)"),
    |a| format!("echo \"x $({a}\n) y\""),
    |a| format!("git log \"$(echo \"$({a}\n)\")\""),
    |a| format!("cat <({a}\n)"),
    |a| format!("echo hi > >({a}\n)"),
    |a| format!("git log ${{X:-$({a}\n)}}"),
    |a| format!("for f in a b; do {a}\ndone"),
    |a| format!("for f in $({a}\n); do true; done"),
    |a| format!("while {a}\ndo true; done"),
    |a| format!("until true; do {a}\ndone"),
    |a| format!("case x in x) {a}\n;; esac"),
    |a| format!("f() {{ {a}\n}}"),
    |a| format!("bash -c {}", quoted(a)),
    |a| format!("sh -c {}", quoted(a)),
    |a| format!("eval {}", quoted(a)),
    |a| format!("echo hi # it's nothing\n{a}"),
    |a| format!("true \\\n && {a}"),
    |a| format!("cat <<EOF\n$({a}\n)\nEOF\ntrue"),
    |a| format!("cat <<'EOF'\nit's text\nEOF\n{a}"),
    |a| format!("x=$({a}\n)"),
    |a| format!("[ -n \"$({a}\n)\" ]"),
];

const BETWEEN: &[Between] = &[
    |a, b| format!("{a}; {b}"),
    |a, b| format!("{a};{b}"),
    |a, b| format!("{a} && {b}"),
    |a, b| format!("{a}&&{b}"),
    |a, b| format!("{a} || {b}"),
    |a, b| format!("{a} | {b}"),
    |a, b| format!("{a} |& {b}"),
    |a, b| format!("{a} & {b}"),
    |a, b| format!("{a}\n{b}"),
    |a, b| format!("{a}\n\n  {b}"),
    |a, b| format!("if {a}\nthen {b}\nfi"),
    |a, b| format!("if true; then {a}\nelse {b}\nfi"),
    |a, b| format!("{a}\ncat <<EOF\nplain\nEOF\n{b}"),
];

fn command() -> impl Strategy<Value = Made> {
    leaf().prop_recursive(4, 12, 2, |inner| {
        let around = (prop::sample::select(AROUND), inner.clone())
            .prop_map(|(make, a)| Made { text: make(&a.text), bad: a.bad });
        let between = (prop::sample::select(BETWEEN), inner.clone(), inner)
            .prop_map(|(make, a, b)| Made { text: make(&a.text, &b.text), bad: a.bad || b.bad });
        Union::new([around.boxed(), between.boxed()])
    })
}

fn view(world: &World) -> View {
    let mut view = world.view(Mode::Default);
    for rule in ["Bash(git status)", "Bash(git log:*)", "Bash(npm run test:*)"] {
        view.rules.push(world.rule(Effect::Allow, rule));
    }
    view
}

fn runner() -> TestRunner {
    let cases = if soak() { 1_000_000 } else { 20_000 };
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

fn check(view: &View, command: &str) -> Decision {
    decide(view, "Bash", &Value::Null, &[Access::Run(command.to_owned())])
}

#[test]
fn no_command_with_a_part_that_nothing_allows_is_allowed() {
    let world = World::new();
    let view = view(&world);
    let good = std::cell::Cell::new((0_u32, 0_u32));
    let outcome = runner().run(&command(), |made| {
        let allowed = matches!(check(&view, &made.text), Decision::Allow { .. });
        prop_assert!(!(allowed && made.bad), "allowed: {}", made.text);
        if !made.bad {
            let (all, through) = good.get();
            good.set((all + 1, through + u32::from(allowed)));
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let (all, through) = good.get();
    say(&format!("{through} of {all} commands without such a part are allowed"));
    assert!(through * 3 > all, "only {through} of {all} good commands are allowed");
}

#[test]
fn a_denied_part_is_denied_wherever_it_stands() {
    let world = World::new();
    let mut view = view(&world);
    view.rules.push(world.rule(Effect::Allow, "Bash"));
    view.rules.push(world.rule(Effect::Deny, "Bash(rm:*)"));
    for make in AROUND {
        for part in ["rm x", "\\rm x", "\"r\"m x", "r$'\\x6d' x", "FOO=1 rm x", "time rm x"] {
            let text = make(part);
            let decision = check(&view, &text);
            assert_eq!(decision.as_str(), "deny", "{text}: {}", decision.why());
        }
    }
}

#[test]
fn nonsense_is_never_allowed_to_break_the_analysis() {
    let world = World::new();
    let view = view(&world);
    let pieces = [
        "git", "status", "rm", "x", " ", "\n", ";", "&", "|", "(", ")", "{", "}", "[", "]", "<",
        ">", "<<", "EOF", "$", "$(", "${", "$((", "`", "'", "\"", "\\", "#", "!", "*", "~", "=",
        "-c", "bash", "if", "then", "fi", "do", "done", "case", "esac", "in", "é", "\u{202e}",
        "\r", "\0",
    ];
    let text = prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..24);
    let outcome = runner().run(&text, |pieces| {
        let text = pieces.concat();
        let allowed = matches!(check(&view, &text), Decision::Allow { .. });
        // A shell that takes such a text without complaint is the judge of what was in it.
        prop_assert!(!allowed || !text.contains('\u{202e}'), "allowed: {text:?}");
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn deep_nesting_and_long_texts_are_asked() {
    let world = World::new();
    let view = view(&world);
    for (open, close) in [("(", ")"), ("$(", ")"), ("{ ", ";}"), ("\"$(", ")\""), ("`", "`")] {
        let text = format!("echo {}ls{}", open.repeat(5_000), close.repeat(5_000));
        assert_eq!(check(&view, &text).as_str(), "ask", "{open}");
    }
    let long = format!("echo {}", "a ".repeat(40_000));
    assert_eq!(check(&view, &long).as_str(), "ask");
}
