//! What a decision costs: at most 50 µs for a typical command, the analysis included.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use quarterdeck::permission::{Access, Bases, Effect, Rule, Source, View, decide};
use quarterdeck::protocol::op::Mode;
use serde_json::Value;

/// A project with as many rules as people have.
fn view(cwd: &Path) -> View {
    let mut view = View::new(Mode::Default, cwd, Some(Path::new("/home/someone")));
    let bases = Bases { cwd: cwd.to_owned(), user: view.user.clone(), settings: cwd.to_owned() };
    let allow = [
        "cargo build",
        "cargo test",
        "cargo fmt",
        "cargo clippy",
        "cargo check",
        "npm run test",
        "npm run lint",
        "npm ci",
        "pnpm install",
        "git add",
        "git commit",
        "git fetch",
        "git stash",
        "git switch",
        "make",
        "just",
        "go test",
        "go vet",
        "pytest",
        "ruff",
        "gh pr view",
        "jq",
    ];
    let deny = ["rm", "sudo", "git push", "curl", "wget", "git reset --hard", "docker", "kubectl"];
    let mut add = |effect, text: String| {
        view.rules.push(Rule::parse(&text, effect, Source::Session, &bases).unwrap());
    };
    allow.iter().for_each(|start| add(Effect::Allow, format!("Bash({start}:*)")));
    deny.iter().for_each(|start| add(Effect::Deny, format!("Bash({start}:*)")));
    let ask = ["git rebase", "npm publish"];
    ask.iter().for_each(|start| add(Effect::Ask, format!("Bash({start}:*)")));
    ["Read(.env)", "Read(~/.ssh/**)", "Edit(/migrations/**)", "Read(*.pem)"]
        .iter()
        .for_each(|rule| add(Effect::Deny, (*rule).into()));
    ["Edit(./src/**)", "Edit(./tests/**)", "Read(//usr/share/**)", "Read(~/.cargo/**)"]
        .iter()
        .for_each(|rule| add(Effect::Allow, (*rule).into()));
    view
}

fn decisions(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let view = view(dir.path());
    assert_eq!(view.rules.len(), 40, "as many rules as people have");
    let commands = [
        ("short", "git status"),
        ("single", "cargo test -p x"),
        ("typical", "cargo test --lib 2>&1 | tail -20"),
        ("pipeline", "git log --oneline | grep x | head -5"),
        ("chain", "cd src && grep -rn \"fn main\" . | head -5 && git log --oneline -3"),
        ("chain of four", "cd src && cargo fmt && cargo test && git status"),
        ("asked", "python3 -c 'print(1)' && ls"),
    ];
    for (name, command) in commands {
        let access = [Access::Run(command.to_owned())];
        criterion.bench_function(&format!("decide/{name}"), |bencher| {
            bencher.iter(|| decide(black_box(&view), "Bash", &Value::Null, black_box(&access)));
        });
    }
    let access = [Access::Write("src/main.rs".into())];
    criterion.bench_function("decide/write", |bencher| {
        bencher.iter(|| decide(black_box(&view), "Edit", &Value::Null, black_box(&access)));
    });
}

criterion_group!(benches, decisions);
criterion_main!(benches);
