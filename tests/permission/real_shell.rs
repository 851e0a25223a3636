//! The true judge: what was allowed is run by a real bash, among programs that only leave their
//! name in a log. If rules allow `ok1` and `ok2` alone, nothing else may have run, and nothing
//! may have been written outside.

use quarterdeck::permission::{Access, Decision, View, decide};
use serde_json::Value;

use super::dice::Dice;
use super::yard::Yard;
use crate::support::{say, soak};

/// `@C` a command, `@Q` one in single quotes, `@W` a word, `@F` a file, `@N` a program, `@L` one
/// that only looks, `@O` an option of such.
const COMMANDS: &[&str] = &include!("shell_commands.in");
const WORDS: &[&str] = &[
    "a",
    "f1",
    "'a b'",
    "\"$x\"",
    "$x",
    "${x}",
    "$EVIL",
    "\"$EVIL\"",
    "${EVIL}",
    "$(@C)",
    "\"$(@C)\"",
    "`@C`",
    "'$(bad1)'",
    "'a[$(bad1)]'",
    "\\$\\(bad1\\)",
    "$'\\x62ad1'",
    "{a,b}",
    "{bad1,ok1}",
    "*",
    "~",
    "~/x",
    "$((1+1))",
    "$((EVIL))",
    "$(($EVIL))",
    "$[EVIL]",
    "${x:EVIL}",
    "${x:-a}",
    "${x:-$(@C)}",
    "${x:=bad1}",
    "${x@P}",
    "${!x}",
    "${x#a}",
    "${x//a/b}",
    "${#x}",
    "\"a\\\nb\"",
    "a\\\nb",
    "-v",
    "-n",
    "-eq",
    "=",
    "!",
    "bad1",
    "ok1",
    "a#b",
    "#a",
    "${x[$(bad1)]}",
    "<(@C)",
    "$\"a\"",
    "é",
    "1",
    "x=1",
    "a;b",
    "'a;bad1'",
    "\"a;bad1\"",
    "\\;",
    "\\\\",
    "$'\\''",
    "$'a\\'; bad1 '",
    "\"\\\"; bad1 \\\"\"",
    "'a'\\''; bad1 '\\'''",
    "\"`echo \\`@C\\``\"",
    "$",
    "\"$\"",
    "$''bad1",
    "[a]",
    "?1",
    "--",
    "-",
    "{}",
    "{}}",
    "}",
    "@(a|b)",
    "a=~/x",
    "$@",
    "\"$@\"",
    "$*",
    "${EVIL:0:1}",
    "$(<f1)",
    "$(( 1 + (2) ))",
    "$((x[0]))",
    "%1",
    "!!",
    "!bad1",
    "\"!!\"",
    "^a^b",
    "{ok1,bad1}",
    "~+",
    "~-/x",
    "~root",
    "a=b:~/x",
    "${x:-$'a'}",
    "${x:-$'\\x27'; bad1}",
    "\"${x:-$'a'}\"",
    "\"$(echo \"a $(@C) 'b'\")\"",
    "\"$(echo ')' \"@W\")\"",
    "\"${x:-\"$(@C)\"}\"",
    "!(a)",
    "+(a|$(bad1))",
    "?(a)",
    "$'\\xff'",
    "$'a\\0b'",
    "$'\\cA'",
    "\u{1}",
    "\u{a0}",
    "\u{2003}bad1",
    "\u{3000}",
    "\u{7f}",
    "$'\\u00a0'",
    ">(@C)",
    "${x^^}",
    "${x@Q}",
    "${x:?a}",
    "${x:+$(@C)}",
    "${*:1}",
    "$-",
    "$?",
    "$$",
    "$_",
    "$#",
    "${#}",
    "@@",
    "[$(bad1)]=1",
    "x[0]=1",
    "x[$(bad1)]=1",
    "x+=1",
    "'\n'",
    "\"\n\"",
    "$'\\n'",
    r"`echo '\`bad1\`'`",
];
const FILES: &[&str] = &[
    "o1",
    "\"o 2\"",
    "../out/x",
    "link/x",
    "./o3",
    "$x",
    "o{1,2}",
    "~/x",
    "sub/../o4",
    "link/../x",
    "/dev/null",
    "'o5'",
    "o\\6",
    "sub/o7",
    "sub/../../out/y",
    "\"$x\"/../../out/z",
    "$'..\\x2fout/w",
    "$'..\\x2fout/w'",
    "&1",
    "&2",
    "1",
    "flink",
    "dangling",
    "self/flink",
    "self/self/o9",
    "sub/up/out/x",
    "ink/../../../out/x",
    "ink/../../../../out/x",
    "ring",
    "keys/id_rsa",
    "~/.ssh/id_rsa",
    "~/.netrc",
    "../out/secret",
    "f1",
    "names",
    "deep/er",
    "out/x",
    "out/secret",
    "x",
    "none",
    ".git/config",
    ".git/hooks/pre-commit",
    "HEAD:f1",
    "/proc/self/environ",
    "/proc/self/cwd/../out/x",
    "/dev/fd/1",
    "/dev/stdout",
    "~+/../out/x",
    "~-",
    "*secret",
    "<(@C)",
    ">(@C)",
    "$'o\\xff'",
    "@(o1|o2)",
    "o1\u{a0}",
    ".",
    "..",
];
const LOOKERS: &[&str] = &[
    "cat",
    "head -n 1",
    "head -1",
    "tail -n +1",
    "sort",
    "nl",
    "tac",
    "rev",
    "od -c",
    "cut -c 1-",
    "paste",
    "paste f1",
    "fold",
    "comm f1",
    "join f1",
    "cmp f1",
    "diff f1",
    "diff -u f1",
    "stat",
    "du",
    "md5sum",
    "sha1sum",
    "readlink",
    "readlink -f",
    "realpath",
    "grep .",
    "grep -r .",
    "grep -rn a",
    "egrep .",
    "fgrep a",
    "rg .",
    "rg -uu .",
    "rg",
    "uniq",
    "uniq -c",
    "wc",
    "wc -l",
    "ls",
    "ls -l",
    "ls -R",
    "strings",
    "hexdump -C",
    "find",
    "find . -name",
    "git diff",
    "git log -p",
    "git log -p --",
    "git show",
    "git show HEAD",
    "git blame",
    "git ls-files",
    "git ls-files -o",
    "git status",
    "git rev-parse",
    "git --no-pager log",
    "git -P diff",
    "git branch",
    "git tag",
    "git remote",
    "git shortlog",
    "git describe",
    "git ls-tree HEAD",
    "git merge-base",
    "git rev-list",
    "tr a b <",
    "date",
    "printf %s",
    "echo",
    "test -e",
    "cd",
    "which",
    "type",
    "id",
    "basename",
    "seq 1",
    "pwd",
    "tree",
    "file",
];
const OPTIONS: &[&str] = &[
    "-o @F",
    "-o@F",
    "--output=@F",
    "--output @F",
    "--outp=@F",
    "-O",
    "-Obad1",
    "-f @F",
    "-f@F",
    "--files0-from=@F",
    "--files0-from=names",
    "--files0=names",
    "-T .",
    "--pre=bad1",
    "--pre bad1",
    "--pre-glob=*",
    "--ext-diff",
    "--ext",
    "--no-index",
    "--no-ind",
    "-L",
    "-R",
    "-H",
    "--follow",
    "-C ../out",
    "-C link",
    "--exec=bad1",
    "-x bad1",
    "-X bad1",
    "-exec bad1 \\;",
    "-execdir bad1 {} +",
    "-ok bad1 \\;",
    "-delete",
    "-fprint @F",
    "-fprintf @F a",
    "-fls @F",
    "-printf a",
    "-files0-from names",
    "-newer @F",
    "-samefile @F",
    "--compress-program=bad1",
    "-S 1b --compress-program bad1",
    "-l",
    "--paginate",
    "-p",
    "-n 1",
    "-n",
    "-v",
    "-a",
    "-c",
    "-d",
    "-s",
    "-i",
    "-e .",
    "-m @F",
    "--textconv",
    "--to-file=@F",
    "--from-file=@F",
    "--ignore-file=@F",
    "--exclude-from=@F",
    "--file=@F",
    "-z",
    "--",
    "-0",
    "--help",
    "--version",
    "--contents @F",
    "--contents=@F",
    "--ignore-revs-file=@F",
    "-S@F",
    "-G a",
    "--stdin",
    "--git-dir=../out",
    "--work-tree=..",
    "-c core.pager=bad1",
    "-c diff.external=bad1",
    "-c core.fsmonitor=bad1",
    "-c alias.log='!bad1'",
    "--exec-path=../evil",
    "--config-env=core.pager=N",
    "--show-signature",
    "--pretty=format:a",
    "--format=%h",
    "-p -S a",
    "--stat",
    "--hostname-bin=bad1",
    "--hyperlink-format=default",
    "--search-zip",
    "-D",
    "-u",
    "--reference=@F",
    "--check",
    "-rf",
    "-nr",
    "-rd @F",
    "--open-files-in-pager=bad1",
    "--upload-pack=bad1",
    "--submodule=diff",
    "--dirty",
    "--all",
    "--parseopt",
    "--sq-quote",
    "--filters",
    "--path-format=absolute",
    "--resolve-git-dir @F",
    "--exclude-standard",
    "--recurse-submodules",
    "-X@F",
    "--exclude-from @F",
    "-t",
    "-x",
    "-I@F",
    "--dereference",
    "--deref",
    "--recursive",
    "--recurs",
    "--config=@F",
    "--no-config",
    "--debug",
    "--trace",
    "@F",
    "@W",
];
const NAMES: &[&str] = &[
    "ok1",
    "\"ok1\"",
    "o\\k1",
    "$'ok1'",
    "o\"\"k1",
    "'ok'1",
    "ok\\\n1",
    "bad1",
    "b'a'd1",
    "\\bad1",
    "$'\\x62ad1'",
    "$'\\142ad1'",
    "../evil/ok1",
    "./ok1",
    "ok?",
    "o{k1,k2}",
    "$N",
    "ok1$N",
    "ok1\u{a0}",
];
/// What is put anywhere into some of the commands.
const NOISE: &[&str] = &[
    "\\", "\n", "'", "\"", "`", "#", ";", " ", "$", "(", ")", "{", "}", "|", "&", "<", ">", "\\\n",
    "=", "\t", "!", "*", "[", "]", "$(", "bad1", ";bad1", "\nbad1\n", "<<E\n", "\nE\n", "esac",
    "done", "$'", "${", "((", "))", "[[", "]]", "~", ",", "..", "\r", "\u{0}", "\u{b}", "\u{85}",
    "\u{2028}", "<(", ">(", "$((", ";;", "@(", "&>", ">&", "<<-E\n", "<<<", "\\\\", "\'\"", "in ",
];

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
