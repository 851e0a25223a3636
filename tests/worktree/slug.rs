//! What may name a worktree.

use proptest::prelude::*;
use quarterdeck::worktree::Slug;

#[test]
fn good_names_are_taken_and_bad_ones_are_explained() {
    let long = "a".repeat(64);
    for (text, name) in [
        ("feature-auth", "feature-auth"),
        ("user/feature", "user+feature"),
        ("a/b/c", "a+b+c"),
        ("v1.2_x", "v1.2_x"),
        (".hidden", ".hidden"),
        (long.as_str(), long.as_str()),
    ] {
        assert_eq!(Slug::new(text).map(|slug| slug.to_string()), Ok(name.to_owned()));
    }
    let too_long = "a".repeat(65);
    for (text, why) in [
        ("", "empty"),
        (too_long.as_str(), "64"),
        ("/etc", "absolute"),
        ("..", "`..`"),
        ("a/../b", "`..`"),
        ("a..b", "`..`"),
        ("a//b", "letters"),
        ("a/", "letters"),
        ("a b", "letters"),
        ("C:\\x", "letters"),
        ("é", "letters"),
        ("a\0b", "letters"),
        ("a\nb", "letters"),
        ("a+b", "letters"),
        ("$(x)", "letters"),
        (".", "`.git`"),
        ("./a", "`.git`"),
        (".git", "`.git`"),
        (".GIT", "`.git`"),
        ("a.lock", ".lock"),
        ("a.", "end in"),
    ] {
        let error = Slug::new(text).expect_err(text).to_string();
        assert!(error.contains(why), "{text:?}: {error}");
    }
}

#[test]
fn a_number_keeps_within_the_limit() {
    let slug = Slug::new(&"a".repeat(64)).unwrap().numbered(12);
    assert_eq!(slug.as_str().len(), 64);
    assert!(slug.as_str().ends_with("a-12"), "{slug}");
}

proptest! {
    #[test]
    fn whatever_is_taken_is_one_plain_component(text in "[a-z./+A-Z0-9_ -]{0,70}|\\PC{0,20}") {
        if let Ok(slug) = Slug::new(&text) {
            let name = slug.as_str();
            prop_assert!(!name.contains('/') && !name.contains("..") && name != ".");
            prop_assert!(name.len() <= 64 && !name.is_empty());
        }
    }
}
