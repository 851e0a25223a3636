//! Outputs that are kept in files: not for ever, but for as long as somebody may look.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use quarterdeck::protocol::ids::SessionId;
use quarterdeck::tools::shell::Shell;

use super::rig::{Rig, bare_shell};
use super::shell::rig;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn age(file: &Path, days: u32) {
    let file = File::options().write(true).open(file).unwrap();
    file.set_modified(SystemTime::now() - DAY * days).unwrap();
}

/// The file of a command that printed much.
async fn output(rig: &Rig) -> PathBuf {
    let output = rig.bash("seq 1 20000").await;
    output.data["outputFile"].as_str().unwrap().into()
}

/// Begins one more session on the same home and temporary directory.
async fn begin(rig: &Rig) -> Shell {
    let root = rig.dir.path().canonicalize().unwrap();
    let shell = Shell::new(&rig.home, &SessionId::found("another"), bare_shell(&root));
    shell.prepare().await;
    shell
}

#[tokio::test]
async fn old_outputs_go_when_a_session_begins_and_those_of_living_ones_stay() {
    let rig = rig();
    let (old, newer) = (output(&rig).await, output(&rig).await);
    let dir = old.parent().unwrap();
    let (notes, left) = (dir.join("notes.txt"), dir.join("b00000001.output"));
    for file in [&notes, &left] {
        std::fs::write(file, "").unwrap();
        age(file, 8);
    }
    let elsewhere = rig.dir.path().join("elsewhere.output");
    std::fs::write(&elsewhere, "").unwrap();
    age(&elsewhere, 8);
    std::os::unix::fs::symlink(&elsewhere, dir.join("b00000002.output")).unwrap();
    age(&old, 8);
    age(&newer, 6);
    begin(&rig).await.end().await;
    assert!(!left.exists(), "nobody's any more");
    assert!(old.exists() && newer.exists(), "their session lives");
    assert!(notes.exists() && elsewhere.exists(), "not ours to remove");

    rig.cx.shell.end().await;
    begin(&rig).await.end().await;
    assert!(!old.exists() && newer.exists(), "a week is over for one of them");
}
