//! Which definition serves, when there are several.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use quarterdeck::agent::definition::{Catalog, Severity, Source, Sources};

use super::shelf::{Shelf, agent};

#[test]
fn the_strongest_of_one_name_serves_and_the_next_when_it_goes() {
    let shelf = Shelf::new();
    let levels = [
        ("policy/a.md", Source::Policy),
        ("", Source::CommandLine),
        ("near/deep/below/a.md", Source::Project),
        ("far/a.md", Source::Project),
        ("user/a.md", Source::User),
    ];
    for (file, _) in levels.iter().filter(|(file, _)| !file.is_empty()) {
        shelf.put(file, &agent("Explore", &format!("from {file}")));
    }
    let json = r#"{"EXPLORE": {"description": "from ", "prompt": "p"}}"#;
    let mut sources = shelf.sources();
    sources.command_line = Some(json.to_owned());
    for (file, source) in &levels {
        let catalog = Catalog::load(&sources);
        assert_eq!(catalog.problems, []);
        let one = catalog.get("explore").expect("a definition");
        assert_eq!(
            (&one.source, &one.description),
            (source, &format!("from {file}").trim().to_owned())
        );
        let same =
            catalog.definitions.iter().filter(|one| one.name.eq_ignore_ascii_case("explore"));
        assert_eq!(same.count(), 1);
        match file.is_empty() {
            true => sources.command_line = None,
            false => fs::remove_file(shelf.path(file)).unwrap(),
        }
    }
    assert_eq!(Catalog::load(&sources).get("eXplore").unwrap().source, Source::Builtin);
}

#[test]
fn a_broken_one_is_reported_and_hides_nobody() {
    let shelf = Shelf::new();
    let broken = shelf.put("near/a.md", "---\nname: a\ndescription: d\nmaxTurns: many\n---\n");
    shelf.put("near/b.md", &agent("b", "fine"));
    shelf.put("near/notes.txt", "no definition");
    shelf.put("near/.hidden.md", "no definition");
    shelf.put("user/a.md", &agent("a", "from the user"));
    let notes = shelf.put("user/README.md", "# About\n");
    let bytes = shelf.path("user/z.md");
    fs::write(&bytes, b"---\nname: \xff\n---\n").unwrap();
    let huge = shelf.path("user/zz.md");
    fs::write(&huge, "x".repeat(1024 * 1024 + 1)).unwrap();
    symlink("/nowhere/at/all", shelf.path("user/zzz.md")).unwrap();
    let catalog = shelf.load();
    assert_eq!(catalog.get("a").unwrap().description, "from the user");
    assert_eq!(catalog.get("b").unwrap().description, "fine");
    let said: Vec<String> = catalog.problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 4, "{said:#?}");
    let expected =
        format!("{}:4:11: error: `maxTurns` must be a whole number above 0", broken.display());
    assert_eq!(said[0], expected);
    for (said, file) in said[1..].iter().zip([notes, bytes, huge]) {
        assert!(said.starts_with(&format!("{}:", file.display())), "{said}");
    }
}

#[test]
fn two_of_one_name_in_one_place_are_said() {
    let shelf = Shelf::new();
    shelf.put("near/1.md", &agent("twin", "first"));
    let second = shelf.put("near/2.md", &agent("Twin", "second"));
    shelf.put("far/3.md", &agent("twin", "third"));
    let catalog = shelf.load();
    assert_eq!(catalog.get("twin").unwrap().description, "first");
    let [problem] = catalog.problems.as_slice() else { panic!("{:?}", catalog.problems) };
    assert_eq!((problem.severity, problem.file.as_ref()), (Severity::Warning, Some(&second)));
}

#[test]
fn agents_of_plug_ins_bear_the_name_of_the_plug_in() {
    let shelf = Shelf::new();
    shelf.put("plugins/tidy/agents/sweep.md", &agent("sweep", "tidy"));
    shelf.put("plugins/tidy/agents/explore.md", &agent("explore", "tidy"));
    shelf.put("plugins/wash/agents/sub/both.md", &agent("both", "wash"));
    shelf.put("plugins/dry/agents/both.md", &agent("both", "dry"));
    let catalog = shelf.load();
    assert_eq!(catalog.problems, []);
    assert_eq!(catalog.get("tidy:sweep").unwrap().source, Source::Plugin("tidy".into()));
    assert_eq!(catalog.get("Sweep").unwrap().name, "tidy:sweep");
    assert_eq!(catalog.get("explore").unwrap().source, Source::Builtin);
    assert!(catalog.get("both").is_none(), "there are two");
    assert_eq!(catalog.get("dry:both").unwrap().description, "dry");
}

#[test]
fn only_those_whose_servers_are_configured_are_available() {
    let shelf = Shelf::new();
    let with = |name: &str, line: &str| {
        let text = format!("---\nname: {name}\ndescription: d\n{line}\n---\n");
        shelf.put(&format!("near/{name}.md"), &text);
    };
    with("x-none", "");
    with("x-shared", "mcpServers: [github]");
    with("x-own", "mcpServers: [{ docs: { command: d } }]\nrequiredMcpServers: docs");
    with("x-required", "requiredMcpServers: [Hub, data]");
    let catalog = shelf.load();
    let cases: [(&[&str], &[&str]); 4] = [
        (&[], &["x-none", "x-own"]),
        (&["github"], &["x-none", "x-own", "x-shared"]),
        (&["GitHub", "my-database"], &["x-none", "x-own", "x-required"]),
        (&["github", "data"], &["x-none", "x-own", "x-required", "x-shared"]),
    ];
    for (servers, expected) in cases {
        let names: Vec<&str> = catalog
            .available(servers)
            .into_iter()
            .map(|one| one.name.as_str())
            .filter(|name| name.starts_with("x-"))
            .collect();
        assert_eq!(names, expected, "{servers:?}");
    }
}

#[test]
fn a_project_is_looked_through_from_here_up_to_its_root() {
    let shelf = Shelf::new();
    shelf.put("repo/.git/HEAD", "ref: refs/heads/main\n");
    shelf.put("repo/pkg/src/main.rs", "");
    let places = |cwd: &str| {
        let sources = Sources::of(&shelf.path(cwd), None);
        let inside = |place: &std::path::PathBuf| {
            place.strip_prefix(shelf.path("")).map(|place| place.display().to_string()).ok()
        };
        sources.project.iter().filter_map(inside).collect::<Vec<_>>()
    };
    let expected = [
        "repo/pkg/.quarterdeck/agents",
        "repo/pkg/.claude/agents",
        "repo/.quarterdeck/agents",
        "repo/.claude/agents",
    ];
    assert_eq!(places("repo/pkg"), expected);
    assert_eq!(places("repo/pkg/src/../"), expected);
    shelf.put("alone/x", "");
    assert_eq!(places("alone"), ["alone/.quarterdeck/agents", "alone/.claude/agents"]);
}

#[test]
fn a_place_that_cannot_be_read_or_leads_in_circles_is_no_end() {
    let shelf = Shelf::new();
    shelf.put("near/a.md", &agent("a", "near"));
    symlink(shelf.path("near"), shelf.path("near/again")).unwrap();
    shelf.put("far", "a file where a directory should be");
    let locked = shelf.path("user");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let catalog = shelf.load();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(catalog.get("a").unwrap().description, "near");
}
