//! What the program brings along.

use quarterdeck::agent::definition::{Catalog, Source, Sources};

#[test]
fn the_built_in_agents_have_the_tools_they_should() {
    let catalog = Catalog::load(&Sources::default());
    assert_eq!(catalog.problems, []);
    let all: Vec<(&str, Option<Vec<&str>>)> = catalog
        .definitions
        .iter()
        .map(|one| {
            let tools = one.tools.as_ref();
            (one.name.as_str(), tools.map(|tools| tools.iter().map(String::as_str).collect()))
        })
        .collect();
    let search = ["Read", "Grep", "Glob"];
    let expected = [
        ("bash", Some(vec!["Bash"])),
        ("explore", Some(search.to_vec())),
        ("general-purpose", None),
        ("guide", Some([search.as_slice(), &["WebFetch"]].concat())),
        ("plan", Some(search.to_vec())),
        ("verification", Some([search.as_slice(), &["Bash"]].concat())),
    ];
    assert_eq!(all, expected);
    for one in &catalog.definitions {
        assert_eq!(one.source, Source::Builtin);
        assert!(one.prompt.contains("last message"), "{}: says what to return", one.name);
        assert!(one.prompt.len() < 3_000, "{}: {} bytes", one.name, one.prompt.len());
    }
}
