//! Read: what it shows, what it refuses, and that it never waits or loads too much.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use quarterdeck::protocol::content::{ImageSource, Known};
use quarterdeck::protocol::op::Mode;
use quarterdeck::tools::Output;
use quarterdeck::tools::edit::EditTool;
use quarterdeck::tools::read::ReadTool;
use quarterdeck::tools::write::WriteTool;
use serde_json::{Value, json};

use super::rig::Rig;
use super::shell::until;

pub fn rig() -> Rig {
    let tools: Vec<Arc<dyn quarterdeck::tools::Tool>> =
        vec![Arc::new(ReadTool::new()), Arc::new(WriteTool::new()), Arc::new(EditTool::new())];
    Rig::new(Mode::BypassPermissions, tools)
}

/// What a tool said, which went well.
pub fn ok(output: &Output) -> String {
    assert!(!output.failed, "{output:?}");
    output.content.text()
}

/// Why a tool did nothing.
pub fn why(output: &Output) -> String {
    assert!(output.failed, "{output:?}");
    output.content.text()
}

async fn read(rig: &Rig, name: &str) -> Output {
    rig.call("Read", json!({ "file_path": name })).await
}

async fn part(rig: &Rig, name: &str, offset: usize, limit: usize) -> Output {
    rig.call("Read", json!({ "file_path": name, "offset": offset, "limit": limit })).await
}

#[tokio::test]
async fn lines_are_numbered_as_cat_does() {
    let rig = rig();
    rig.write("a.txt", "one\n\ttwo\r\n\nfour");
    let output = read(&rig, "a.txt").await;
    assert_eq!(ok(&output), "     1\tone\n     2\t\ttwo\n     3\t\n     4\tfour\n");
    assert_eq!(output.summary, "a.txt: 4 lines");
    let absolute = read(&rig, &rig.path("a.txt")).await;
    assert_eq!(absolute.content, output.content);
}

#[tokio::test]
async fn a_part_says_where_it_goes_on() {
    let rig = rig();
    let text: String = (1..=5000).map(|line| format!("line {line}\n")).collect();
    rig.write("long.txt", &text);
    let whole = ok(&read(&rig, "long.txt").await);
    assert!(
        whole.contains("  2000\tline 2000\n[Lines 1 to 2000 of 5000. Continue with offset 2001.]")
    );
    let some = ok(&part(&rig, "long.txt", 10, 2).await);
    assert_eq!(
        some,
        "    10\tline 10\n    11\tline 11\n[Lines 10 to 11 of 5000. Continue with offset 12.]\n"
    );
    let end = ok(&part(&rig, "long.txt", 5000, 50).await);
    assert_eq!(end, "  5000\tline 5000\n[Lines 5000 to 5000, the end.]\n");
    let past = why(&part(&rig, "long.txt", 5001, 1).await);
    assert_eq!(past, "long.txt: offset 5001 is past the end; the file has 5000 lines.");
    let zero = ok(&part(&rig, "long.txt", 0, 1).await);
    assert!(zero.starts_with("     1\tline 1\n"), "{zero}");
    assert!(why(&part(&rig, "long.txt", 1, 0).await).contains("at least 1"));
}

#[tokio::test]
async fn answers_have_a_bound() {
    let rig = rig();
    rig.write("wide.txt", format!("{}\nshort\n", "ä".repeat(3000)));
    let wide = ok(&read(&rig, "wide.txt").await);
    let cut =
        format!("     1\t{}… [line cut at 2000 characters]\n     2\tshort\n", "ä".repeat(2000));
    assert_eq!(wide, cut);
    rig.write("dense.txt", format!("{}\n", "x".repeat(1900)).repeat(130));
    let dense = ok(&read(&rig, "dense.txt").await);
    assert!(dense.len() < 101_000, "{}", dense.len());
    assert!(
        dense.ends_with("[Lines 1 to 52 of 130. Continue with offset 53.]\n"),
        "{}",
        &dense[dense.len() - 90..]
    );
    rig.write("big.txt", "0123456789abcde\n".repeat(20_000));
    let refused = why(&read(&rig, "big.txt").await);
    assert!(
        refused.contains("320000 bytes are too much") && refused.contains("offset"),
        "{refused}"
    );
    assert!(ok(&part(&rig, "big.txt", 19_999, 5).await).starts_with(" 19999\t0123"));
}

#[tokio::test]
async fn a_part_of_a_file_that_no_memory_holds() {
    let rig = rig();
    let path = rig.write("huge.log", "first\nsecond\n");
    // Ten gigabytes, nearly all of it one line of nothing.
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(10 << 30).unwrap();
    let some = ok(&part(&rig, "huge.log", 1, 2).await);
    assert!(some.starts_with("     1\tfirst\n     2\tsecond\n["), "{some}");
    assert!(why(&part(&rig, "huge.log", 3, 1).await).contains("binary (a NUL in line 3)"));
    assert!(why(&read(&rig, "huge.log").await).contains("too much to show at once"));
    let edit = json!({ "file_path": "huge.log", "old_string": "first", "new_string": "1st" });
    assert!(why(&rig.call("Edit", edit).await).contains("use shell commands"));
}

/// How far this process is in a file that it has open.
fn read_of(file: &Path) -> u64 {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let its = open.filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == file));
    let about = its.filter_map(|entry| {
        let about = Path::new("/proc/self/fdinfo").join(entry.file_name());
        let about = fs::read_to_string(about).ok()?;
        about.lines().find_map(|line| line.strip_prefix("pos:"))?.trim().parse().ok()
    });
    about.max().unwrap_or_default()
}

#[tokio::test]
async fn an_interrupted_read_ends_at_once() {
    let rig = rig();
    let file = File::create(rig.project.join("endless")).unwrap();
    file.set_len(1 << 42).unwrap();
    let call = part(&rig, "endless", 2, 1);
    let stop = async {
        until("some of it to be read", || read_of(&rig.project.join("endless")) > 0).await;
        rig.stop.cancel();
    };
    let (output, ()) = tokio::join!(call, stop);
    assert!(why(&output).contains("Interrupted"), "{output:?}");
}

#[tokio::test]
async fn what_is_no_text_is_refused_with_a_reason() {
    let rig = rig();
    rig.write("empty", "");
    assert_eq!(ok(&read(&rig, "empty").await), "empty: the file is empty.");
    rig.write("a.bin", b"ab\0c");
    assert!(why(&read(&rig, "a.bin").await).contains("binary (a NUL at byte 2)"));
    rig.write("a.pdf", b"%PDF-1.7 ...");
    assert!(why(&read(&rig, "a.pdf").await).contains("pdftotext"));
    rig.write("half.txt", b"\xFF\xFEa\0b");
    assert!(why(&read(&rig, "half.txt").await).contains("UTF-16"));
    fs::create_dir(rig.project.join("dir")).unwrap();
    assert!(why(&read(&rig, "dir").await).contains("use Glob"));
    assert!(why(&read(&rig, "/").await).contains("directory"));
    assert!(why(&read(&rig, "").await).contains("empty"));
    assert!(why(&read(&rig, "a\0b").await).contains("NUL"));
    assert!(why(&read(&rig, "empty/below").await).contains("not a directory"));
    let wrong = rig.call("Read", json!({ "path": "x" })).await;
    assert!(why(&wrong).contains("file_path"), "{wrong:?}");
}

#[tokio::test]
async fn nothing_that_could_block_is_opened() {
    let rig = rig();
    let fifo = rig.project.join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let _socket = UnixListener::bind(rig.project.join("socket")).unwrap();
    for (name, kind) in [("fifo", "named pipe"), ("socket", "socket"), ("/dev/null", "device")] {
        for tool in ["Read", "Write", "Edit"] {
            let mut input = json!({ "file_path": name });
            match tool {
                "Write" => input["content"] = json!("x"),
                "Edit" => {
                    input["old_string"] = json!("a");
                    input["new_string"] = json!("b");
                }
                _ => {}
            }
            let called = tokio::time::timeout(Duration::from_secs(10), rig.call(tool, input));
            let refused = why(&called.await.expect("it did not block"));
            assert!(refused.contains(kind), "{tool} {name}: {refused}");
        }
    }
    assert!(fs::symlink_metadata(fifo).unwrap().file_type().is_fifo());
}

#[tokio::test]
async fn a_missing_file_brings_names_like_it() {
    let rig = rig();
    rig.write("src/parser.rs", "");
    rig.write("src/config.toml", "");
    rig.write("src/zebra.rs", "");
    let typo = why(&read(&rig, "src/praser.rs").await);
    assert_eq!(typo, "src/praser.rs: there is no such file. Beside it there is: parser.rs.");
    assert!(why(&read(&rig, "src/Config.yaml").await).contains("config.toml"));
    assert_eq!(why(&read(&rig, "src/qqqq").await), "src/qqqq: there is no such file.");
    assert!(why(&read(&rig, "nowhere/x").await).contains("nor its directory"));
}

#[tokio::test]
async fn images_are_known_by_their_content() {
    let rig = rig();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    rig.write("shot.txt", png);
    rig.write("b.png", b"\xFF\xD8\xFF\xE0rest");
    rig.write("c", b"GIF89a..");
    rig.write("d", b"RIFF\x04\0\0\0WEBPVP8 ");
    let kinds = [
        ("shot.txt", "image/png"),
        ("b.png", "image/jpeg"),
        ("c", "image/gif"),
        ("d", "image/webp"),
    ];
    for (name, kind) in kinds {
        let output = read(&rig, name).await;
        assert!(!output.failed, "{output:?}");
        let known = output.content.known();
        let [Known::Image { source: ImageSource::Base64 { media_type, data } }] = known.as_slice()
        else {
            panic!("{known:?}");
        };
        assert_eq!(media_type, kind);
        if name == "shot.txt" {
            assert_eq!(data, "iVBORw0KGgoAAAANSUhEUg==");
        }
    }
    rig.write("large.png", [png.as_slice(), &vec![7; 4_000_000]].concat());
    assert!(why(&read(&rig, "large.png").await).contains("make it smaller"));
    rig.write("not.png", "just text\n");
    assert_eq!(ok(&read(&rig, "not.png").await), "     1\tjust text\n");
}

#[tokio::test]
async fn other_encodings_are_shown_as_text() {
    let rig = rig();
    let wide: Vec<u8> = "grün\r\nzwei\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    rig.write("wide.txt", [b"\xFF\xFE".as_slice(), &wide].concat());
    let shown = ok(&read(&rig, "wide.txt").await);
    assert!(shown.starts_with("     1\tgrün\n     2\tzwei\n[The file is UTF-16"), "{shown}");
    rig.write("latin.txt", b"caf\xE9\n");
    let shown = ok(&read(&rig, "latin.txt").await);
    assert!(shown.starts_with("     1\tcaf\u{FFFD}\n[Not all of it is UTF-8"), "{shown}");
    rig.write("mark.txt", "\u{FEFF}first\n");
    assert_eq!(ok(&read(&rig, "mark.txt").await), "     1\tfirst\n");
    rig.write("n.ipynb", "{}\n");
    assert!(ok(&read(&rig, "n.ipynb").await).contains("valid JSON"));
}

#[tokio::test]
async fn a_link_is_read_where_it_leads() {
    let rig = rig();
    rig.write("real/a.txt", "text\n");
    symlink("real", rig.project.join("link")).unwrap();
    assert_eq!(ok(&read(&rig, "link/a.txt").await), "     1\ttext\n");
    symlink("loop", rig.project.join("loop")).unwrap();
    assert!(why(&read(&rig, "loop").await).contains("link"));
}

#[tokio::test]
async fn files_of_the_kernel_have_no_size_and_are_read() {
    if !std::path::Path::new("/proc/version").exists() {
        return;
    }
    let rig = rig();
    assert!(ok(&read(&rig, "/proc/version").await).starts_with("     1\tLinux"));
}

#[test]
fn schemas_have_the_names_of_the_ecosystem() {
    let rig = rig();
    let fields = |name: &str| {
        let tool = rig.tools.get(name).unwrap();
        let input = &tool.spec().input;
        let names = input["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        for field in input["properties"].as_object().unwrap().values() {
            assert!(field["description"].is_string(), "{name}: {field}");
        }
        (names, input["required"].clone(), tool.spec().side_by_side)
    };
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let read: (_, Value, _) =
        (names(&["file_path", "offset", "limit"]), json!(["file_path"]), true);
    assert_eq!(fields("Read"), read);
    let both = json!(["file_path", "content"]);
    assert_eq!(fields("Write"), (names(&["file_path", "content"]), both, false));
    let edit = names(&["file_path", "old_string", "new_string", "replace_all"]);
    assert_eq!(fields("Edit"), (edit, json!(["file_path", "old_string", "new_string"]), false));
    let summary = |name: &str, input: Value| rig.tools.get(name).unwrap().summary(&input);
    assert_eq!(summary("Read", json!({ "file_path": "a", "offset": 10, "limit": 11 })), "a:10-20");
    assert_eq!(summary("Read", json!({ "file_path": "a" })), "a");
    assert_eq!(summary("Edit", json!({ "file_path": "src/a.rs" })), "src/a.rs");
}
