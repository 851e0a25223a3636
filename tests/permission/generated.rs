//! Commands made from known parts. Whatever they are nested in, a command with a part that no
//! rule allows is never allowed.

use std::time::Instant;

use quarterdeck::permission::{Access, Decision, Effect, View, decide};
use quarterdeck::protocol::op::Mode;
use serde_json::Value;

use super::dice::Dice;
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

/// A command of up to `depth` levels. Most parts are good, so that most commands get far.
fn command(dice: &mut Dice, depth: u32) -> Made {
    if depth == 0 || dice.below(4) == 0 {
        let bad = dice.below(5) == 0;
        let text = if bad { dice.pick(BAD) } else { dice.pick(GOOD) };
        return Made { text: text.to_owned(), bad };
    }
    let a = command(dice, depth - 1);
    if dice.below(2) == 0 {
        return Made { text: dice.pick(AROUND)(&a.text), bad: a.bad };
    }
    let b = command(dice, depth - 1);
    Made { text: dice.pick(BETWEEN)(&a.text, &b.text), bad: a.bad || b.bad }
}

fn view(world: &World) -> View {
    let mut view = world.view(Mode::Default);
    for rule in ["Bash(git status)", "Bash(git log:*)", "Bash(npm run test:*)"] {
        view.rules.push(world.rule(Effect::Allow, rule));
    }
    view
}

fn rounds() -> usize {
    if soak() { 1_000_000 } else { 20_000 }
}

fn check(view: &View, command: &str) -> Decision {
    decide(view, "Bash", &Value::Null, &[Access::Run(command.to_owned())])
}

/// Tries so many commands. How many were good, and how many of those were allowed.
fn count_good(view: &View, rounds: usize, salt: usize) -> (usize, usize) {
    let mut dice = Dice::salted(u64::try_from(salt).unwrap());
    let (mut all, mut through) = (0, 0);
    for _ in 0..rounds {
        let made = command(&mut dice, 3);
        let allowed = matches!(check(view, &made.text), Decision::Allow { .. });
        assert!(!(allowed && made.bad), "seed {}, allowed: {}", dice.seed, made.text);
        all += usize::from(!made.bad);
        through += usize::from(!made.bad && allowed);
    }
    (all, through)
}

#[test]
fn no_command_with_a_part_that_nothing_allows_is_allowed() {
    let world = World::new();
    let view = view(&world);
    let begin = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let counts: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let view = &view;
        let part = |salt| scope.spawn(move || count_good(view, rounds().div_ceil(threads), salt));
        let all: Vec<_> = (0..threads).map(part).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let all: usize = counts.iter().map(|(all, _)| all).sum();
    let through: usize = counts.iter().map(|(_, through)| through).sum();
    say(&format!("{} commands in {:.1} s", rounds(), begin.elapsed().as_secs_f64()));
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
    let mut dice = Dice::new();
    for _ in 0..rounds() / 4 {
        let text: String = (0..dice.below(24)).map(|_| dice.pick(&pieces)).collect();
        let allowed = matches!(check(&view, &text), Decision::Allow { .. });
        assert!(!allowed || !text.contains('\u{202e}'), "seed {}, allowed: {text:?}", dice.seed);
    }
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
