//! The true judge: what was allowed is run by a real bash, among programs that only leave their
//! name in a log. If rules allow `ok1` and `ok2` alone, nothing else may have run, and nothing
//! may have been written outside.

use quarterdeck::permission::{Access, Decision, View, decide};
use serde_json::Value;

use super::dice::Dice;
use super::pieces::{COMMANDS, FILES, LOOKERS, NAMES, NOISE, OPTIONS, WORDS};
use super::yard::Yard;
use crate::support::{say, soak};

/// Enough to see what is wrong.
const MOST_WRONG: usize = 10;

fn quoted(text: &str) -> String {
    text.replace('\'', r"'\''")
}

fn made(dice: &mut Dice, template: &str, depth: usize) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('@') {
        text.push_str(before);
        let deeper = depth.saturating_sub(1);
        match behind.chars().next() {
            Some(kind @ ('C' | 'Q')) => {
                let all = if depth == 0 { &COMMANDS[..6] } else { COMMANDS };
                let template = dice.pick(all);
                let command = made(dice, template, deeper);
                text.push_str(&if kind == 'Q' { quoted(&command) } else { command });
            }
            Some('W') => {
                let all = if depth == 0 { &WORDS[..4] } else { WORDS };
                let template = dice.pick(all);
                text.push_str(&made(dice, template, deeper));
            }
            Some(kind @ ('F' | 'O')) => {
                let template = dice.pick(if kind == 'F' { FILES } else { OPTIONS });
                text.push_str(&made(dice, template, deeper));
            }
            Some('N') => text.push_str(dice.pick(NAMES)),
            Some('L') => text.push_str(dice.pick(LOOKERS)),
            Some(_) | None => {
                text.push('@');
                rest = behind;
                continue;
            }
        }
        rest = &behind[1..];
    }
    text + rest
}

fn noisy(dice: &mut Dice, mut text: String) -> String {
    for _ in 0..dice.below(3) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        if let Some(at) = (!places.is_empty()).then(|| dice.pick(&places)) {
            text.insert_str(at, dice.pick(NOISE));
        }
    }
    text
}

/// Whether it can be run without harm to the machine: no loop may start processes that it does
/// not wait for, nor may a function.
fn is_tame(command: &str) -> bool {
    let joined = ["&&", ">&", "&>", "<&"]
        .iter()
        .fold(command.to_owned(), |text, sign| text.replace(sign, ""));
    let leaves = joined.contains('&') || joined.contains("coproc");
    let repeats = ["while", "until", "for", "select", "()", "function", "trap"];
    !(leaves && repeats.iter().any(|word| command.contains(word)))
}

fn allows(view: &View, command: &str) -> bool {
    let access = [Access::Run(command.to_owned())];
    matches!(decide(view, "Bash", &Value::Null, &access), Decision::Allow { .. })
}

/// What one thread found: how many commands it made, ran, and saw start a program.
#[derive(Default)]
struct Count {
    tried: usize,
    ran: usize,
    useful: usize,
    wrong: Vec<String>,
}

/// Runs so many commands of those that are allowed.
fn run(wanted: usize, salt: u64) -> Count {
    let mut yard = Yard::new();
    let mut view = yard.view();
    let mut dice = Dice::salted(salt);
    let mut count = Count::default();
    while count.ran < wanted && count.wrong.len() < MOST_WRONG {
        count.tried += 1;
        let template = dice.pick(COMMANDS);
        let depth = 1 + dice.below(3);
        let command = made(&mut dice, template, depth);
        let command = if dice.below(2) == 0 { noisy(&mut dice, command) } else { command };
        if command.len() < 12 || !is_tame(&command) || !allows(&view, &command) {
            assert!(count.tried < wanted * 2_000, "too little is allowed: {}", count.ran);
            continue;
        }
        count.ran += 1;
        let (log, output) = yard.run(&command);
        count.useful += usize::from(!log.is_empty());
        if let Some(what) = yard.wrong(&log, &output) {
            let found = format!("seed {}: {command:?} {what}", dice.seed);
            say(&found);
            count.wrong.push(found);
            yard = Yard::new();
            view = yard.view();
        }
        yard.tidy();
    }
    count
}

#[test]
fn what_is_allowed_runs_nothing_else_in_a_real_shell() {
    let yard = Yard::new();
    let judged = |command: &str| {
        let (log, output) = yard.run(command);
        let wrong = yard.wrong(&log, &output);
        yard.tidy();
        wrong.unwrap_or_default()
    };
    assert_eq!(judged("ok1 x > o1; git log -p"), "", "what is harmless");
    assert!(judged("bad1 x").starts_with("ran \"bad1 ran"), "the log tells what ran");
    assert!(judged("cat link/secret").starts_with("showed"), "what is read is seen");
    assert!(judged("cat link/secret > o1").starts_with("copied"), "what is copied is seen");
    assert!(judged("ok1 > dangling").starts_with("wrote"), "what is written is seen");

    let wanted: usize = if soak() { 10_000 } else { 250 };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let counts: Vec<Count> = std::thread::scope(|scope| {
        let start = |salt: usize| {
            scope.spawn(move || run(wanted.div_ceil(threads), u64::try_from(salt).unwrap()))
        };
        let all: Vec<_> = (0..threads).map(start).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let sum = |of: fn(&Count) -> usize| counts.iter().map(of).sum::<usize>();
    let (tried, ran, useful) = (sum(|c| c.tried), sum(|c| c.ran), sum(|c| c.useful));
    say(&format!("{ran} of {tried} commands were allowed and run, {useful} with a program"));
    let wrong: Vec<String> = counts.into_iter().flat_map(|count| count.wrong).collect();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(useful * 5 > ran, "only {useful} of {ran} commands ran a program");
}
