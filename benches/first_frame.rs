//! How long it takes from the start of the program to the first whole screen, in a terminal: the
//! rehearsal, which makes its project first, and a session with a playbook.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use std::hint::black_box;
use std::io::Read;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

/// The footer is the last line of the first frame.
const LAST: &[u8] = b"help";

fn start(args: &[&str]) -> Duration {
    let dir = tempfile::tempdir().expect("a directory");
    let size = PtySize { rows: 40, cols: 140, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).expect("a terminal");
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_quarterdeck"));
    command.args(args);
    command.cwd(dir.path());
    command.env_clear();
    let path = std::env::var("PATH").expect("a path");
    let here = dir.path().to_str().expect("a name");
    let variables = [
        ("PATH", path.as_str()),
        ("HOME", here),
        ("TMPDIR", here),
        ("TERM", "xterm-256color"),
        ("LANG", "C.UTF-8"),
        ("SHELL", "/bin/sh"),
    ];
    variables.iter().for_each(|(name, value)| command.env(name, value));
    let mut reader = pair.master.try_clone_reader().expect("a reader");
    let begin = Instant::now();
    let mut child = pair.slave.spawn_command(command).expect("the program starts");
    let mut seen = Vec::new();
    let mut bytes = [0; 64 * 1024];
    while !seen.windows(LAST.len()).any(|part| part == LAST) {
        let count = reader.read(&mut bytes).expect("output");
        assert!(count > 0, "it ended");
        seen.extend_from_slice(&bytes[..count]);
    }
    let took = begin.elapsed();
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
    took
}

fn first_frame(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("first_frame");
    group.sample_size(20);
    for (name, args) in [("rehearsal", &[][..]), ("session", &["--playbook", "demo"][..])] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|times| (0..times).map(|_| black_box(start(args))).sum());
        });
    }
    group.finish();
}

criterion_group!(benches, first_frame);
criterion_main!(benches);
