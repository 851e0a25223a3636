//! What a search costs beside ripgrep, on a warm tree of 24,000 files: Grep against `rg -n`, Glob
//! against `rg --files --sortr modified`. At most 1.5 times its wall time.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

#[path = "../tests/tools/rig.rs"]
mod rig;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use quarterdeck::permission::{Bases, Effect, Rule, Source};
use quarterdeck::protocol::op::Mode;
use quarterdeck::tools::glob::GlobTool;
use quarterdeck::tools::grep::GrepTool;
use rig::Rig;
use serde_json::{Value, json};

const DIRS: usize = 600;
const FILES_IN_EACH: usize = 40;
const ROUNDS: usize = 15;

/// Files of a few hundred bytes to some ten thousand, one of 50 with the word that is sought.
fn grow(root: &Path) {
    std::fs::create_dir(root.join(".git")).unwrap();
    std::fs::write(root.join(".gitignore"), "*.log\n/build/\n").unwrap();
    for dir in 0..DIRS {
        let place = root.join(format!("part{}/module{}/deep{dir}", dir % 7, dir % 61));
        std::fs::create_dir_all(&place).unwrap();
        for file in 0..FILES_IN_EACH {
            let number = dir * FILES_IN_EACH + file;
            let ending = ["rs", "ts", "py", "md", "log"][number % 5];
            let mut text = String::new();
            for line in 0..(5 + (number * 7919) % 200) {
                writeln!(text, "    let value_{line} = compute({number}, \"{line}\"); // plain")
                    .unwrap();
            }
            if number.is_multiple_of(50) {
                writeln!(text, "fn needle_{number}() {{}}").unwrap();
            }
            std::fs::write(place.join(format!("file{file}.{ending}")), text).unwrap();
        }
    }
}

fn rg(root: &Path, arguments: &[&str]) -> usize {
    let ran = Command::new("rg").args(arguments).current_dir(root).output();
    ran.expect("ripgrep is needed for this benchmark").stdout.split(|byte| *byte == b'\n').count()
        - 1
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Both in turn, so that what else the machine does falls on both.
fn compare(name: &str, mut ours: impl FnMut(), mut theirs: impl FnMut()) {
    let time = |run: &mut dyn FnMut()| {
        let since = Instant::now();
        run();
        since.elapsed()
    };
    time(&mut ours);
    time(&mut theirs);
    let times = (0..ROUNDS).map(|_| (time(&mut ours), time(&mut theirs)));
    let (ours, theirs): (Vec<_>, Vec<_>) = times.unzip();
    let (ours, theirs) = (median(ours), median(theirs));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("{name}: ours {ours:.1?}, rg {theirs:.1?}, ratio {ratio:.2} (at most 1.5)");
}

fn searches(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let rig = Rig::new(Mode::Default, vec![Arc::new(GrepTool::new()), Arc::new(GlobTool::new())]);
    grow(&rig.project);
    let ruled = Rig::with(Mode::Default, vec![Arc::new(GrepTool::new())], |view| {
        let bases = Bases { cwd: view.cwd.clone(), user: None, settings: view.cwd.clone() };
        let rule = Rule::parse("Read(.env)", Effect::Deny, Source::Session, &bases).unwrap();
        view.rules.push(rule);
        view.add_directory(&rig.project);
    });
    let ours = |rig: &Rig, tool: &str, input: &Value| {
        let output = runtime.block_on(rig.call(tool, input.clone()));
        assert!(!output.failed, "{output:?}");
        output.data["matches"].as_u64().unwrap()
    };
    let rare = json!({"pattern": "fn needle_[0-9]+", "output_mode": "content"});
    let common = json!({"pattern": "compute", "output_mode": "content"});
    let glob = json!({"pattern": "**/*.rs"});
    let elsewhere =
        json!({"pattern": "fn needle_[0-9]+", "output_mode": "content", "path": rig.project});
    let (root, rare_rg) = (rig.project.as_path(), ["-n", "fn needle_[0-9]+"]);
    let common_rg = ["-n", "compute"];
    let glob_rg = ["--files", "--sortr", "modified", "-g", "**/*.rs"];
    // The same work on both sides, or the figures mean nothing.
    for (tool, input, arguments) in
        [("Grep", &rare, &rare_rg[..]), ("Grep", &common, &common_rg), ("Glob", &glob, &glob_rg)]
    {
        assert_eq!(ours(&rig, tool, input), rg(root, arguments) as u64, "{arguments:?}");
    }
    compare("Grep, few matches", || _ = ours(&rig, "Grep", &rare), || _ = rg(root, &rare_rg));
    compare("Grep, many matches", || _ = ours(&rig, "Grep", &common), || _ = rg(root, &common_rg));
    compare(
        "Grep, with a rule",
        || _ = ours(&ruled, "Grep", &elsewhere),
        || _ = rg(root, &rare_rg),
    );
    compare("Glob", || _ = ours(&rig, "Glob", &glob), || _ = rg(root, &glob_rg));

    let mut group = criterion.benchmark_group("tools");
    group.sample_size(10);
    group.bench_function("grep/ours", |b| b.iter(|| ours(&rig, "Grep", &rare)));
    group.bench_function("grep/rg", |b| b.iter(|| rg(root, &rare_rg)));
    group.bench_function("glob/ours", |b| b.iter(|| ours(&rig, "Glob", &glob)));
    group.bench_function("glob/rg", |b| b.iter(|| rg(root, &glob_rg)));
    group.finish();
}

criterion_group!(benches, searches);
criterion_main!(benches);
