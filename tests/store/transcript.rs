//! Transcripts: links between records, conversations of other programs, damage of all kinds.

use std::fs;
use std::path::{Path, PathBuf};

use quarterdeck::protocol::ids::SessionId;
use quarterdeck::protocol::json::Json;
use quarterdeck::settings::paths::Home;
use quarterdeck::store::transcript::{
    Conversation, Transcript, conversation, lead_path, meta_path, read_meta, subagent_path,
    write_meta,
};
use quarterdeck::store::{Durability, Store};

use crate::support::{fixtures, mode};

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn open(path: &Path) -> Transcript {
    Transcript::open(path, Durability::ProcessCrash).unwrap()
}

fn file(dir: &tempfile::TempDir, lines: &[&str]) -> PathBuf {
    let path = dir.path().join("x.jsonl");
    fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    path
}

/// The `uuid`s of a conversation.
fn uuids(found: &Conversation) -> Vec<String> {
    found.records.iter().map(|it| it.get("uuid").unwrap().as_str().unwrap().into()).collect()
}

#[test]
fn records_without_links_are_linked_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p/x.jsonl");
    let mut transcript = open(&path);
    assert_eq!(transcript.newest(), None);
    let one = transcript.append(json(r#"{"type":"user","n":1.0}"#)).unwrap();
    transcript.append_unlinked(&json(r#"{"type":"mode","mode":"plan"}"#)).unwrap();
    let two = transcript.append(json(r#"{"uuid":null,"type":"assistant"}"#)).unwrap();
    let own = r#"{"uuid":"three","type":"user","parentUuid":null,"cut":"\ud83d"}"#;
    assert_eq!(transcript.append(json(own)).unwrap(), "three");
    drop(transcript);
    let mut transcript = open(&path);
    assert_eq!(transcript.newest(), Some("three"));
    let four = transcript.append(json(r#"{"type":"user"}"#)).unwrap();

    let want = [
        format!(r#"{{"parentUuid":null,"type":"user","n":1.0,"uuid":"{one}"}}"#),
        r#"{"type":"mode","mode":"plan"}"#.to_owned(),
        format!(r#"{{"parentUuid":"{one}","uuid":"{two}","type":"assistant"}}"#),
        own.to_owned(),
        format!(r#"{{"parentUuid":"three","type":"user","uuid":"{four}"}}"#),
    ];
    assert_eq!(fs::read_to_string(&path).unwrap(), want.join("\n") + "\n");
    assert_eq!(uuids(&transcript.conversation().unwrap()), ["three".to_owned(), four]);
    assert_eq!(mode(&path), 0o600);
    assert!(transcript.append(json("[]")).is_err());
    assert!(transcript.append_unlinked(&json("7")).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), want.join("\n") + "\n");
}

#[test]
fn the_transcripts_of_others_are_continued_without_touching_them() {
    let dir = tempfile::tempdir().unwrap();
    let files = fixtures(".jsonl");
    assert!(files.len() > 40, "only {} transcripts found", files.len());
    let mut branched = 0;
    for (n, fixture) in files.iter().enumerate() {
        let path = dir.path().join(format!("{n}.jsonl"));
        fs::copy(fixture, &path).unwrap();
        let before = fs::read(&path).unwrap();
        let mut transcript = open(&path);
        assert_eq!(fs::read(&path).unwrap(), before, "opening changes nothing");
        let found = transcript.conversation().unwrap();
        let name = fixture.display();
        assert_eq!(found.problems.total, 0, "{name}");

        // Every record follows the one before it, from a beginning to the newest.
        let known = uuids(&found);
        assert_eq!(known.last().map(String::as_str), transcript.newest(), "{name}");
        let mut before_it = found.missing.clone();
        for (record, uuid) in found.records.iter().zip(&known) {
            let parent = record.get("parentUuid").unwrap().as_str().map(Into::into);
            assert_eq!(parent, before_it, "{name}");
            before_it = Some(uuid.clone());
        }
        let lead = !fixture.to_string_lossy().contains("/subagents/");
        assert!(!lead || found.missing.is_none(), "{name}");
        let all = String::from_utf8(before.clone()).unwrap();
        let linked = all.lines().filter(|line| json(line).get("uuid").is_some()).count();
        branched += usize::from(linked > known.len());

        let added = transcript.append(json(r#"{"type":"user"}"#)).unwrap();
        let after = fs::read(&path).unwrap();
        assert_eq!(after[..before.len()], before, "{name}");
        let now = uuids(&transcript.conversation().unwrap());
        assert_eq!(now, [known, vec![added]].concat(), "{name}");
    }
    assert!(branched > 5, "transcripts with branches are among the fixtures");
}

#[test]
fn a_torn_record_is_cut_and_the_conversation_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let one = r#"{"parentUuid":null,"uuid":"1"}"#;
    let two = r#"{"parentUuid":"1","uuid":"2"}"#;
    for cut in 0..=two.len() {
        let path = file(&dir, &[one]);
        fs::write(&path, format!("{one}\n{}", &two[..cut])).unwrap();
        assert_eq!(uuids(&conversation(&path).unwrap()), ["1"], "a reader ignores it");
        let mut transcript = open(&path);
        transcript.append(json(r#"{"uuid":"3"}"#)).unwrap();
        let want: &[&str] = if cut == two.len() { &["1", "2", "3"] } else { &["1", "3"] };
        assert_eq!(uuids(&transcript.conversation().unwrap()), want, "cut at {cut}");
    }
}

#[test]
fn cycles_gaps_and_repetitions_end_somewhere() {
    let dir = tempfile::tempdir().unwrap();
    let walk = |lines: &[&str]| conversation(&file(&dir, lines)).unwrap();

    let cycle = walk(&[r#"{"parentUuid":"2","uuid":"1"}"#, r#"{"parentUuid":"1","uuid":"2"}"#]);
    assert_eq!((uuids(&cycle), cycle.missing), (vec!["1".into(), "2".into()], None));
    let own = walk(&[r#"{"parentUuid":"1","uuid":"1"}"#]);
    assert_eq!(uuids(&own), ["1"]);

    let gap = walk(&[r#"{"parentUuid":null,"uuid":"1"}"#, r#"{"parentUuid":"x","uuid":"2"}"#]);
    assert_eq!((uuids(&gap), gap.missing.as_deref()), (vec!["2".into()], Some("x")));

    let lines = [
        r#"{"parentUuid":null,"uuid":"1","n":1}"#,
        r#"{"parentUuid":"1","uuid":"2"}"#,
        r#"{"parentUuid":"2","uuid":"1","n":2}"#,
        r#"{"type":"mode"}"#,
    ];
    let repeated = walk(&lines);
    assert_eq!(repeated.records, [json(lines[0]), json(lines[1])]);
    assert_eq!(open(&dir.path().join("x.jsonl")).newest(), Some("2"));

    assert_eq!(conversation(&dir.path().join("none")).unwrap(), Conversation::default());
    assert_eq!(walk(&[]), Conversation::default());
}

#[test]
fn broken_records_are_named_and_odd_links_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        r#"{"parentUuid":null,"uuid":"1","cut":"\ud83d"}"#,
        r#"["no","object"]"#,
        r#"{"parentUuid":"9","parentUuid":"1","uuid":"2"}"#,
        r#"{"uuid":17,"parentUuid":"2"}"#,
        "rubbish",
        r#"{"parentUuid":"2","uuid":"3"}"#,
    ];
    let found = conversation(&file(&dir, &lines)).unwrap();
    let texts: Vec<String> = found.records.iter().map(Json::compact).collect();
    assert_eq!(texts, [lines[0], lines[2], lines[5]]);
    let places: Vec<&str> = found.problems.first.iter().map(|it| &it.what[..7]).collect();
    assert_eq!(places, ["line 2 ", "line 5 "]);
}

#[test]
fn a_long_conversation_is_followed_to_its_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let mut transcript = open(&dir.path().join("x.jsonl"));
    for n in 0..20_000 {
        transcript.append(json(&format!(r#"{{"n":{n}}}"#))).unwrap();
    }
    let found = transcript.conversation().unwrap();
    let numbers = found.records.iter().map(|it| it.get("n").unwrap().read::<u32>().unwrap());
    assert!(numbers.eq(0..20_000));
}

#[test]
fn paths_and_descriptions_are_the_ecosystems() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let (cwd, session) = (Path::new("/project"), SessionId::found("9f0f279d"));
    let project = dir.path().join("projects/-project");
    assert_eq!(lead_path(&home, cwd, &session), project.join("9f0f279d.jsonl"));
    let path = subagent_path(&home, cwd, &session, "aalice-0c53980e00c6d0ec");
    let subagents = project.join("9f0f279d/subagents");
    assert_eq!(path, subagents.join("agent-aalice-0c53980e00c6d0ec.jsonl"));
    assert_eq!(meta_path(&path), subagents.join("agent-aalice-0c53980e00c6d0ec.meta.json"));
    assert_eq!(subagent_path(&home, cwd, &session, "../x").parent(), Some(&*subagents));

    assert_eq!(read_meta(&path).unwrap(), None);
    let store = Store::open(home, Durability::ProcessCrash);
    let text = r#"{"agentType":"alice","spawnDepth":0,"later":[1.0]}"#;
    write_meta(&store, &path, &json(text)).unwrap();
    assert_eq!(fs::read_to_string(meta_path(&path)).unwrap(), text);
    assert_eq!(read_meta(&path).unwrap(), Some(json(text)));
    assert_eq!((mode(&meta_path(&path)), mode(&subagents)), (0o600, 0o700));
    for meta in fixtures(".meta.json") {
        let transcript = meta.with_extension("").with_extension("jsonl");
        assert!(transcript.exists() && meta_path(&transcript) == meta, "{}", meta.display());
        assert!(read_meta(&transcript).unwrap().is_some());
    }
}
