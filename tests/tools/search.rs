//! Glob and Grep: what they find, what they leave out, and how much they say.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use quarterdeck::permission::{Access, Bases, Effect, Rule, Source, View};
use quarterdeck::protocol::content::Content;
use quarterdeck::protocol::op::Mode;
use quarterdeck::tools::glob::GlobTool;
use quarterdeck::tools::grep::GrepTool;
use quarterdeck::tools::{Call, Output, Tool};
use serde_json::{Value, json};

use super::rig::Rig;
use crate::support::soak;

fn tools() -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(GlobTool::new()), Arc::new(GrepTool::new())]
}

fn rig() -> Rig {
    Rig::new(Mode::Default, tools())
}

fn ruled(effect: Effect, rule: &str) -> Rig {
    Rig::with(Mode::Default, tools(), |view| add_rule(view, effect, rule))
}

fn add_rule(view: &mut View, effect: Effect, rule: &str) {
    let bases =
        Bases { cwd: view.cwd.clone(), user: view.user.clone(), settings: view.cwd.clone() };
    view.rules.push(Rule::parse(rule, effect, Source::Session, &bases).unwrap());
}

fn text(output: &Output) -> &str {
    match &output.content {
        Content::Text(text) => text,
        Content::Blocks(blocks) => panic!("{blocks:?}"),
    }
}

/// The answer of a call that must work.
async fn ask(rig: &Rig, tool: &str, input: Value) -> String {
    let output = rig.call(tool, input).await;
    assert!(!output.failed, "{output:?}");
    text(&output).to_owned()
}

async fn refused(rig: &Rig, tool: &str, input: Value) -> String {
    let output = rig.call(tool, input).await;
    assert!(output.failed, "{output:?}");
    text(&output).to_owned()
}

fn lines(text: &str) -> BTreeSet<&str> {
    text.lines().collect()
}

/// Makes a file this many seconds older than a fixed time.
fn age(path: &Path, seconds: u64) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - seconds);
    std::fs::File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
}

#[tokio::test]
async fn the_newest_file_comes_first_and_ties_go_by_path() {
    let rig = rig();
    for (name, seconds) in [("old.rs", 30), ("b.rs", 20), ("a.rs", 20), ("sub/new.rs", 10)] {
        age(&rig.write(name, "word\n"), seconds);
    }
    let wanted = "sub/new.rs\na.rs\nb.rs\nold.rs";
    assert_eq!(ask(&rig, "Glob", json!({"pattern": "**/*.rs"})).await, wanted);
    assert_eq!(ask(&rig, "Grep", json!({"pattern": "word"})).await, wanted);
    let content = json!({"pattern": "word", "output_mode": "content"});
    let wanted = "sub/new.rs:1:word\na.rs:1:word\nb.rs:1:word\nold.rs:1:word";
    assert_eq!(ask(&rig, "Grep", content).await, wanted);
}

#[tokio::test]
async fn every_form_of_a_pattern_finds_its_files() {
    let rig = rig();
    for name in
        ["main.rs", "src/a.ts", "src/deep/b.tsx", "src/deep/c.rs", "tests/t.rs", ".hid/x.rs"]
    {
        rig.write(name, "");
    }
    let absolute = rig.path("src/**/*.rs");
    let cases: Vec<(Value, &[&str])> = vec![
        (json!({"pattern": "**/*.rs"}), &["main.rs", "src/deep/c.rs", "tests/t.rs", ".hid/x.rs"]),
        (json!({"pattern": "*.rs"}), &["main.rs", "src/deep/c.rs", "tests/t.rs", ".hid/x.rs"]),
        (json!({"pattern": "./*.rs"}), &["main.rs"]),
        (json!({"pattern": "src/**/*.{ts,tsx}"}), &["src/a.ts", "src/deep/b.tsx"]),
        (json!({"pattern": "{src,tests}/**/*.rs"}), &["src/deep/c.rs", "tests/t.rs"]),
        (json!({"pattern": absolute}), &["src/deep/c.rs"]),
        (json!({"pattern": "*.rs", "path": "src"}), &["src/deep/c.rs"]),
        (json!({"pattern": "../tests/?.rs", "path": "src"}), &["tests/t.rs"]),
        (json!({"pattern": "src/deep"}), &["src/deep/b.tsx", "src/deep/c.rs"]),
        (json!({"pattern": "c.rs"}), &["src/deep/c.rs"]),
        (json!({"pattern": "src/a.ts"}), &["src/a.ts"]),
        (json!({"pattern": ".hid/*"}), &[".hid/x.rs"]),
    ];
    for (input, wanted) in cases {
        let found = ask(&rig, "Glob", input.clone()).await;
        assert_eq!(lines(&found), wanted.iter().copied().collect(), "{input}");
    }
    let none = ask(&rig, "Glob", json!({"pattern": "*.zig"})).await;
    assert!(none.starts_with("No files found"), "{none}");
    let wrong = refused(&rig, "Glob", json!({"pattern": "src/[a"})).await;
    assert!(wrong.contains("not understood"), "{wrong}");
    let missing = refused(&rig, "Glob", json!({"pattern": "*", "path": "nowhere"})).await;
    assert!(missing.contains("There is no"), "{missing}");
}

#[tokio::test]
async fn ignored_files_are_left_out_unless_they_are_named() {
    let rig = rig();
    rig.write(".gitignore", "*.log\ntarget/\ngenerated/**\n");
    for name in ["a.log", "target/out.d", "generated/g.rs", "kept.rs", ".env", ".git/config"] {
        rig.write(name, "word\n");
    }
    let every = ask(&rig, "Glob", json!({"pattern": "**/*"})).await;
    assert_eq!(lines(&every), BTreeSet::from([".env", ".gitignore", "kept.rs"]));
    let found = ask(&rig, "Grep", json!({"pattern": "word"})).await;
    assert_eq!(lines(&found), BTreeSet::from([".env", "kept.rs"]));
    // A glob narrows a search; it brings nothing back.
    let logs = ask(&rig, "Grep", json!({"pattern": "word", "glob": "*.log"})).await;
    assert!(logs.starts_with("No matches"), "{logs}");
    for (pattern, wanted) in [
        ("target/*.d", "target/out.d"),
        ("a.log", "a.log"),
        ("./a.log", "a.log"),
        ("generated/*", "generated/g.rs"),
        (".git/*", ".git/config"),
    ] {
        assert_eq!(ask(&rig, "Glob", json!({"pattern": pattern})).await, wanted);
    }
    for (path, wanted) in [
        ("target", "target/out.d"),
        ("a.log", "a.log"),
        ("generated", "generated/g.rs"),
        (".git", ".git/config"),
    ] {
        assert_eq!(ask(&rig, "Grep", json!({"pattern": "word", "path": path})).await, wanted);
    }
}

#[tokio::test]
async fn when_all_is_ignored_the_answer_says_so() {
    let rig = rig();
    rig.write(".gitignore", "*\n");
    rig.write("a.txt", "word\n");
    for (tool, input) in
        [("Grep", json!({"pattern": "word"})), ("Glob", json!({"pattern": "*.txt"}))]
    {
        let answer = ask(&rig, tool, input).await;
        assert!(answer.starts_with("No ") && answer.contains(".gitignore"), "{answer}");
    }
}

#[tokio::test]
async fn links_are_not_followed() {
    let rig = rig();
    rig.write("real.txt", "word\n");
    let outside = rig.dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret.txt"), "word\n").unwrap();
    symlink(&outside, rig.project.join("dir")).unwrap();
    symlink(outside.join("secret.txt"), rig.project.join("file.txt")).unwrap();
    symlink(&rig.project, rig.project.join("loop")).unwrap();
    assert_eq!(ask(&rig, "Grep", json!({"pattern": "word"})).await, "real.txt");
    assert_eq!(ask(&rig, "Glob", json!({"pattern": "**/*.txt"})).await, "real.txt");
    // A link that is named leads to what must be asked for.
    let access = GrepTool::new().access(&rig.cx, &json!({"pattern": "x", "path": "dir"})).unwrap();
    assert_eq!(access, [Access::Read(outside.canonicalize().unwrap())]);
    let access = GlobTool::new().access(&rig.cx, &json!({"pattern": "dir/*.txt"})).unwrap();
    assert_eq!(access, [Access::Read(outside.canonicalize().unwrap())]);
}

#[tokio::test]
async fn what_rules_forbid_is_in_no_result_and_its_content_in_no_number() {
    for effect in [Effect::Deny, Effect::Ask] {
        let rig = ruled(effect, "Read(./secrets/**)");
        rig.write("secrets/key.txt", "word\n");
        rig.write("open.txt", "word\n");
        let wanted = "open.txt\n1 file left out by rules";
        assert_eq!(ask(&rig, "Grep", json!({"pattern": "word"})).await, wanted);
        assert_eq!(ask(&rig, "Glob", json!({"pattern": "*.txt"})).await, wanted);
        for pattern in ["word", "other"] {
            let input = json!({"pattern": pattern, "path": "secrets", "output_mode": "content"});
            let answer = ask(&rig, "Grep", input).await;
            assert_eq!(answer, "No matches\n1 file left out by rules");
        }
    }
}

#[tokio::test]
async fn keys_of_the_user_are_left_out() {
    let rig = Rig::with(Mode::Default, tools(), |view| {
        let user = view.user.clone().unwrap();
        view.add_directory(&user);
    });
    let user = rig.dir.path().canonicalize().unwrap().join("user");
    std::fs::create_dir_all(user.join(".ssh")).unwrap();
    std::fs::write(user.join(".ssh/id"), "word\n").unwrap();
    std::fs::write(user.join("note"), "word\n").unwrap();
    let found = ask(&rig, "Grep", json!({"pattern": "word", "path": user})).await;
    assert_eq!(found, format!("{}\n1 file left out by rules", user.join("note").display()));
}

#[tokio::test]
async fn content_has_numbers_context_and_marks_as_ripgrep_prints_them() {
    let rig = rig();
    rig.write("f.txt", "1\n2\nhit\n4\n5\n6\n7\nHit\n9\n");
    let grep = async |more: Value| {
        let mut input = json!({"pattern": "hit", "path": "f.txt", "output_mode": "content"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ask(&rig, "Grep", input).await
    };
    assert_eq!(grep(json!({})).await, "f.txt:3:hit");
    assert_eq!(grep(json!({"-n": false})).await, "f.txt:hit");
    assert_eq!(grep(json!({"-i": true})).await, "f.txt:3:hit\nf.txt:8:Hit");
    assert_eq!(grep(json!({"-A": 1})).await, "f.txt:3:hit\nf.txt-4-4");
    assert_eq!(grep(json!({"-B": 1})).await, "f.txt-2-2\nf.txt:3:hit");
    let wanted = "f.txt-2-2\nf.txt:3:hit\nf.txt-4-4\n--\nf.txt-7-7\nf.txt:8:Hit\nf.txt-9-9";
    assert_eq!(grep(json!({"-i": true, "-C": 1})).await, wanted);
    assert_eq!(grep(json!({"-i": true, "context": 1})).await, wanted);
    let wanted = "f.txt-4-4\n--\nf.txt-7-7\n… 2 more lines (offset 4 gives them)";
    let page = json!({"-i": true, "-C": 1, "offset": 2, "head_limit": 2});
    assert_eq!(grep(page).await, wanted);
}

#[tokio::test]
async fn counts_have_a_total_and_summaries_and_data_say_what_was_found() {
    let rig = rig();
    age(&rig.write("src/a", "TODO\nx\nTODO\n"), 1);
    age(&rig.write("src/b", "TODO TODO\n"), 2);
    let input = json!({"pattern": "TODO", "path": "src", "output_mode": "count"});
    let output = rig.call("Grep", input).await;
    assert_eq!(text(&output), "src/a:2\nsrc/b:1\n3 matches in 2 files in all");
    assert_eq!(output.summary, "\"TODO\" in src: 3 matches in 2 files");
    assert_eq!(output.data, json!({"files": 2, "matches": 3, "truncated": false}));
    let output = rig.call("Grep", json!({"pattern": "TODO", "path": "src"})).await;
    assert_eq!(output.summary, "\"TODO\" in src: 2 files");
    let output = rig.call("Glob", json!({"pattern": "src/*"})).await;
    assert_eq!(output.summary, "src/*: 2 files");
    assert_eq!(output.data, json!({"files": 2, "matches": 2, "truncated": false}));
}

#[tokio::test]
async fn globs_and_types_narrow_a_search() {
    let rig = rig();
    for name in ["a.rs", "a.ts", "b.tsx", "c.test.ts", "sub/d.ts", "vendor/e.ts"] {
        rig.write(name, "word\n");
    }
    let cases: Vec<(Value, &[&str])> = vec![
        (json!({"glob": "*.rs"}), &["a.rs"]),
        (json!({"glob": "*.{rs,tsx}"}), &["a.rs", "b.tsx"]),
        (json!({"glob": "*.rs, *.tsx"}), &["a.rs", "b.tsx"]),
        (json!({"glob": "*.rs *.tsx"}), &["a.rs", "b.tsx"]),
        (json!({"glob": "*.ts,!*.test.ts,!vendor"}), &["a.ts", "sub/d.ts"]),
        (json!({"glob": "sub/**"}), &["sub/d.ts"]),
        (json!({"glob": "sub/*.ts", "path": "sub"}), &["sub/d.ts"]),
        (json!({"type": "rust"}), &["a.rs"]),
        (json!({"type": "rust", "glob": "*.ts"}), &["No matches", NONE_FITS]),
    ];
    for (mut input, wanted) in cases {
        input["pattern"] = json!("word");
        let found = ask(&rig, "Grep", input.clone()).await;
        assert_eq!(lines(&found), wanted.iter().copied().collect(), "{input}");
    }
    let unknown = refused(&rig, "Grep", json!({"pattern": "x", "type": "rs"})).await;
    assert!(unknown.contains("no type `rs`") && unknown.contains("rust"), "{unknown}");
}

const NONE_FITS: &str = "No file below this place fits the pattern.";

#[tokio::test]
async fn a_match_goes_over_lines_only_when_asked_to() {
    let rig = rig();
    rig.write("f", "struct A {\n    one: u8,\n}\nend\n");
    let input = json!({"pattern": r"struct A \{.*?\}", "output_mode": "content"});
    assert!(ask(&rig, "Grep", input.clone()).await.starts_with("No matches"));
    let mut wide = input;
    wide["multiline"] = json!(true);
    assert_eq!(ask(&rig, "Grep", wide).await, "f:1:struct A {\nf:2:    one: u8,\nf:3:}");
    let wrong = refused(&rig, "Grep", json!({"pattern": r"a\nb"})).await;
    assert!(wrong.contains("multiline"), "{wrong}");
}

#[tokio::test]
async fn a_wrong_pattern_is_explained() {
    let rig = rig();
    for pattern in ["interface{}", "foo(", "(?=x)", "[z"] {
        let wrong = refused(&rig, "Grep", json!({"pattern": pattern})).await;
        assert!(wrong.contains(r"`interface\{\}`"), "{wrong}");
    }
}

#[tokio::test]
async fn encodings_binary_files_and_large_files() {
    let rig = rig();
    let wide: Vec<u8> = "\u{FEFF}word ä\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    age(&rig.write("wide", wide), 1);
    age(&rig.write("broken", b"word \xFF\n"), 2);
    rig.write("binary", b"\0\0word\nword\n");
    rig.write("other-binary", b"\0\0");
    let large = rig.write("large", "word\n");
    std::fs::File::options().append(true).open(&large).unwrap().set_len(11 << 20).unwrap();
    let content = json!({"pattern": "word", "output_mode": "content"});
    let wanted = "wide:1:word ä\nbroken:1:word \u{FFFD}\n\
                  1 binary file with a match not shown: binary\n1 file over 10 MB not searched";
    assert_eq!(ask(&rig, "Grep", content).await, wanted);
    let files = ask(&rig, "Grep", json!({"pattern": "word"})).await;
    assert_eq!(files, "wide\nbroken\n1 file over 10 MB not searched");
}

#[tokio::test]
async fn a_large_file_that_is_named_is_searched() {
    let rig = rig();
    rig.write("large.txt", format!("{}last word\n", "filler\n".repeat(1_600_000)));
    let input = json!({"pattern": "word", "path": "large.txt", "output_mode": "content"});
    assert_eq!(ask(&rig, "Grep", input).await, "large.txt:1600001:last word");
}

#[tokio::test]
async fn answers_are_bounded_in_lines_and_characters() {
    let rig = rig();
    let line = format!("word {}\n", "x".repeat(5000));
    for file in 0..10 {
        age(&rig.write(&format!("f{file}"), line.repeat(30)), file);
    }
    let usual = json!({"pattern": "word", "output_mode": "content"});
    let output = rig.call("Grep", usual).await;
    assert!(text(&output).chars().count() < 30_200, "{}", text(&output).len());
    assert_eq!(output.data, json!({"files": 10, "matches": 300, "truncated": true}));
    let shown = text(&output).lines().filter(|line| line.contains("word")).count();
    assert!(text(&output).contains(&format!("… {} more lines", 300 - shown)), "{shown}");
    let widest = text(&output).lines().map(|line| line.chars().count()).max();
    assert!(widest < Some(520), "{widest:?}");
    // Page by page, every line comes once.
    let (mut offset, mut seen) = (0, Vec::new());
    while offset < 300 {
        let all =
            json!({"pattern": "word", "output_mode": "content", "offset": offset, "head_limit": 0});
        let answer = ask(&rig, "Grep", all).await;
        let page = answer.lines().filter_map(|line| line.split_once(":word"));
        seen.extend(page.map(|(place, _)| place.to_owned()));
        assert!(seen.len() > offset, "{answer}");
        offset = seen.len();
    }
    let wanted = (0..10).flat_map(|file| (1..=30).map(move |line| format!("f{file}:{line}")));
    assert_eq!(seen, wanted.collect::<Vec<_>>());
    let beyond = json!({"pattern": "word", "offset": 50});
    assert!(ask(&rig, "Grep", beyond).await.contains("there are 10"));
    for file in 0..300 {
        rig.write(&format!("many/{file}.rs"), "");
    }
    let output = rig.call("Glob", json!({"pattern": "*.rs"})).await;
    assert_eq!(text(&output).lines().count(), 251);
    assert!(text(&output).contains("… 50 more files"));
    assert_eq!(output.data["truncated"], json!(true));
}

#[tokio::test]
async fn a_stopped_search_ends_before_it_has_seen_every_file() {
    let rig = rig();
    for file in 0..3000 {
        rig.write(&format!("d{}/f{file}", file % 50), "word\n");
    }
    let (grep, glob) = (GrepTool::new(), GlobTool::new());
    let each: [(&dyn Tool, Value); 2] =
        [(&grep, json!({"pattern": "word"})), (&glob, json!({"pattern": "**/*"}))];
    for (tool, input) in each {
        // Stopped just after it began; if the machine let it come to its end first, again.
        let mut visited = 3000;
        for _ in 0..20 {
            let call = Call {
                id: "toolu_1".to_owned(),
                stop: rig.stop.child_token(),
                access: tool.access(&rig.cx, &input).unwrap(),
                view: rig.cx.view(),
            };
            let mut running = tool.run(&rig.cx, &call, input.clone());
            let began = std::future::poll_fn(|cx| Poll::Ready(running.as_mut().poll(cx))).await;
            assert!(began.is_pending());
            call.stop.cancel();
            let output = running.await;
            assert!(output.failed && text(&output).starts_with("Interrupted"), "{output:?}");
            visited = output.data["visited"].as_u64().unwrap();
            if visited < 3000 {
                break;
            }
        }
        assert!(visited < 3000, "{} saw every file", tool.spec().name);
    }
}

/// Names and lines as ripgrep finds them; nothing if it is not installed.
fn rg(dir: &Path, arguments: &[&str]) -> Option<BTreeSet<String>> {
    let same = ["--hidden", "--no-require-git", "--no-config", "-g", "!.git"];
    let ran = Command::new("rg").args(same).args(arguments).current_dir(dir).output().ok()?;
    let found = String::from_utf8(ran.stdout).unwrap();
    Some(found.lines().map(|line| line.trim_start_matches("./").to_owned()).collect())
}

fn trees() -> impl Strategy<Value = Vec<(String, String)>> {
    let part = prop::sample::select(vec!["a", "b", ".c", "d.rs", "e.txt", "out"]);
    let name = prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"));
    let line = prop::sample::select(vec!["foo", "bar foo", "baz", "", "fooo", "Foo", "f\u{e4}"]);
    let text = prop::collection::vec(line, 0..5).prop_map(|lines| lines.join("\n"));
    let dir = prop::sample::select(vec!["", "a/", "b/", "out/", "a/b/"]);
    let rule = prop::sample::select(vec![
        "out",
        "/a",
        "*.rs",
        "!d.rs",
        "b/",
        "a/**/e.txt",
        ".c",
        "/out/*",
    ]);
    let rules = prop::collection::vec(rule, 1..4).prop_map(|rules| rules.join("\n"));
    let kind = prop::sample::select(vec![".gitignore", ".ignore"]);
    let ignore = (dir, kind, rules).prop_map(|(dir, kind, rules)| (format!("{dir}{kind}"), rules));
    let files = prop::collection::vec((name, text), 1..14);
    (files, prop::collection::vec(ignore, 0..3))
        .prop_map(|(files, ignores)| files.into_iter().chain(ignores).collect())
}

#[test]
fn the_same_is_found_as_by_ripgrep() {
    if Command::new("rg").arg("--version").output().is_err() {
        let _ = writeln!(std::io::stderr(), "left out: needs ripgrep (see .ci/run)");
        return;
    }
    let config = ProptestConfig {
        cases: if soak() { 2000 } else { 12 },
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    proptest!(config, |(tree in trees())| {
        let rig = rig();
        for (name, text) in &tree {
            // A name may already be a directory, or below a file.
            let path = rig.project.join(name);
            if std::fs::create_dir_all(path.parent().unwrap()).is_ok() {
                let _ = std::fs::write(path, text);
            }
        }
        let ours = |tool: &str, input: Value| -> BTreeSet<String> {
            let found = runtime.block_on(ask(&rig, tool, input));
            let is_result = |line: &&str| !line.starts_with("No ") && !line.starts_with("Nothing ");
            found.lines().filter(is_result).map(str::to_owned).collect()
        };
        let dir = rig.project.as_path();
        prop_assert_eq!(ours("Glob", json!({"pattern": "**/*"})), rg(dir, &["--files"]).unwrap());
        let content = json!({"pattern": "fo+$", "output_mode": "content"});
        prop_assert_eq!(ours("Grep", content), rg(dir, &["-n", "fo+$"]).unwrap());
        let around = json!({"pattern": "bar", "output_mode": "content", "-C": 1});
        prop_assert_eq!(ours("Grep", around), rg(dir, &["-n", "-C1", "bar"]).unwrap());
        prop_assert_eq!(ours("Grep", json!({"pattern": "f.$", "-i": true})),
            rg(dir, &["-l", "-i", "f.$"]).unwrap());
    });
}

#[test]
fn the_schemas_have_the_names_of_the_protocol() {
    let names = |tool: &dyn Tool| -> Vec<String> {
        tool.spec().input["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let grep = GrepTool::new();
    let wanted =
        "pattern path glob type output_mode -A -B -C context -n -i multiline head_limit offset";
    assert_eq!(names(&grep), wanted.split(' ').collect::<Vec<_>>());
    assert_eq!(grep.spec().input["required"], json!(["pattern"]));
    let glob = GlobTool::new();
    assert_eq!(names(&glob), ["pattern", "path"]);
    assert_eq!(glob.spec().input["required"], json!(["pattern"]));
    assert!(grep.spec().side_by_side && glob.spec().side_by_side);
    let modes = grep.spec().input["properties"]["output_mode"].to_string();
    for mode in ["content", "files_with_matches", "count"] {
        assert!(modes.contains(mode), "{modes}");
    }
}
