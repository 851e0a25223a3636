//! What is looked up outside and shown here: worktrees, diffs, merges, sessions, the person's own
//! commands.

use std::fs;
use std::path::Path;

use quarterdeck::agent::recipes::{self, Part, Recipe};
use quarterdeck::console::runtime::looks::Library;
use quarterdeck::console::state::offers::{Past, Tree};
use quarterdeck::console::update::{Effect, Look, Msg, Parting, Seen, Show};
use quarterdeck::protocol::ids::SessionId;
use quarterdeck::protocol::op::Op;
use quarterdeck::settings::paths::Home;
use quarterdeck::worktree::Preview;

use super::story::{Story, lead};

fn seen(seen: Seen) -> Msg {
    Msg::Looked(Box::new(seen))
}

fn tree(name: &str) -> Tree {
    Tree {
        name: name.to_owned(),
        branch: format!("worktree-{name}"),
        path: format!("/demo/.claude/worktrees/{name}"),
        state: "2 commits".to_owned(),
    }
}

fn recipe(name: &str, text: &str, kind: Option<&str>) -> Recipe {
    Recipe {
        name: name.to_owned(),
        description: format!("what {name} does"),
        hint: "[file]".to_owned(),
        text: text.to_owned(),
        kind: kind.map(str::to_owned),
        allowed: Vec::new(),
    }
}

#[test]
fn worktrees_are_a_page_a_list_to_merge_from_or_only_known() {
    let look = |show| seen(Seen::Worktrees { trees: vec![tree("ada"), tree("bob")], show });
    let mut story = Story::new().msg(look(Show::Page));
    let screen = story.screen();
    assert!(screen.contains("ada  on worktree-ada") && screen.contains("2 commits"), "{screen}");
    let mut story = Story::new().msg(look(Show::Merge)).keys("bob<ret>");
    assert_eq!(story.effects(), [Effect::Look(Look::Merge { name: "bob".to_owned() })]);
    let mut story = Story::new().keys("/merge ");
    assert_eq!(story.effects(), [Effect::Look(Look::Worktrees(Show::Nothing))]);
    story = story.msg(look(Show::Nothing));
    assert!(story.state().layers.is_empty());
    assert_eq!(story.keys("b<tab>").draft(), "/merge bob");
    let mut none = Story::new();
    none = none.msg(seen(Seen::Worktrees { trees: Vec::new(), show: Show::Merge }));
    assert!(none.screen().contains("No agent left a worktree behind"));
}

fn preview(conflicts: &[&str], commits: u64) -> Msg {
    let preview = Preview {
        branch: "worktree-ada".to_owned(),
        into: "main".to_owned(),
        stat: vec![" src/a.rs | 2 +-".to_owned()],
        conflicts: conflicts.iter().map(|file| (*file).to_owned()).collect(),
        commits,
    };
    seen(Seen::Merge { preview, state: "2 commits".to_owned() })
}

#[test]
fn a_merge_is_shown_first_and_enter_alone_merges_nothing() {
    let mut story = Story::new().msg(preview(&[], 2));
    let screen = story.screen();
    for words in ["Merge worktree-ada?", "Merges 2 commits of worktree-ada into main", "src/a.rs"] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    story = story.keys("<ret>");
    assert_eq!(story.effects(), [], "the first line leaves it");
    let mut story = Story::new().msg(preview(&[], 2)).keys("m<ret>");
    assert_eq!(story.effects(), [Effect::Merge("worktree-ada".to_owned())]);
}

#[test]
fn what_does_not_fit_is_not_offered() {
    let mut story = Story::new().msg(preview(&["src/a.rs"], 2));
    let screen = story.screen();
    assert!(
        screen.contains("has conflicts") && screen.contains("git merge worktree-ada"),
        "{screen}"
    );
    story = story.keys("m<ret>");
    assert_eq!(story.effects(), []);
    let mut nothing = Story::new().msg(preview(&[], 0));
    assert!(nothing.screen().contains("main already has every commit"));
}

#[test]
fn a_diff_is_a_page_in_its_colours() {
    let text = "diff --git a/x b/x\n@@ -1 +1 @@\n-old line\n+new line\nuntracked: y".to_owned();
    let mut story = Story::new().msg(seen(Seen::Diff { of: "ada".to_owned(), text }));
    let picture = story.picture();
    assert!(picture.contains("changed where ada works"), "{picture}");
    let look = |words: &str| {
        let line = picture.lines().find(|line| line.contains(&format!("{words:?} ")));
        let line = line.unwrap_or_else(|| panic!("{words}: {picture}"));
        line.rsplit_once('"').unwrap().1.to_owned()
    };
    assert_ne!(look("+new line"), look("-old line"));
    let mut none = Story::new();
    none = none.msg(seen(Seen::Diff { of: "ada".to_owned(), text: String::new() }));
    assert!(none.screen().contains("Nothing was changed where ada works"));
}

fn past(id: &str, first: &str, is_running: bool, story: &Story) -> Past {
    let (id, changed) = (SessionId::found(id), story.state().now);
    Past { id, first: first.to_owned(), changed, is_running }
}

#[test]
fn another_session_is_picked_and_gone_on_with() {
    let story = Story::new();
    let own = story.state().about.session.clone();
    let sessions = vec![
        past(&own, "this one", false, &story),
        past("aaaa-1", "fix the parser", false, &story),
        past("aabb-2", "write the tests", true, &story),
    ];
    let look = |wanted: &str| {
        let (sessions, wanted) = (sessions.clone(), wanted.to_owned());
        seen(Seen::Sessions { sessions, wanted })
    };
    let mut story = story.msg(look(""));
    let screen = story.screen();
    assert!(screen.contains("fix the parser") && !screen.contains("this one stands"), "{screen}");
    assert!(!screen.contains(" this one "), "it is open already: {screen}");
    story = story.keys("tests<ret>");
    assert_eq!(story.effects(), [], "it is open in another place");
    story = story.msg(look("")).keys("parser<ret>");
    let wanted = Effect::Quit(Parting::Resume(SessionId::found("aaaa-1")));
    assert_eq!(story.effects(), std::slice::from_ref(&wanted));
    let mut story = Story::new().msg(look("aaaa"));
    assert_eq!(story.effects(), [wanted]);
    for (id, words) in [("aa", "matches several"), ("zz", "no other session zz"), ("aab", "open")] {
        let mut story = Story::new().msg(look(id));
        assert!(story.screen().contains(words), "{id}: {}", story.screen());
        assert_eq!(story.effects(), []);
    }
}

#[test]
fn own_commands_are_completed_and_said_in_the_persons_name() {
    let recipes = [
        recipe("review", "Review $1 well.\nAll: $ARGUMENTS", None),
        recipe("sweep", "Sweep up.", Some("Explore")),
        recipe("help", "never", None),
    ];
    let story = || Story::new().msg(seen(Seen::Recipes(recipes.clone().into())));
    let screen = story().keys("/re").screen();
    assert!(screen.contains("/review") && screen.contains("what review does"), "{screen}");
    assert!(story().keys("<C-p>/review").screen().contains("/review [file]"));
    let mut said = story().keys("/review a.rs now<esc>").wait(600).keys("<ret>");
    let wanted =
        Op::Recipe { agent: lead(), name: "review".to_owned(), arguments: "a.rs now".to_owned() };
    assert_eq!(said.ops(), std::slice::from_ref(&wanted));
    let why = "there is no command /review".to_owned();
    said = said.msg(Msg::Refused { op: Box::new(wanted), why });
    assert_eq!(said.draft(), "/review a.rs now", "it can be mended");
    let mut ours = story().keys("/help<ret>");
    assert!(ours.screen().contains("answer the oldest ask"), "ours comes first");
    assert!(story().keys("/revew<ret>").screen().contains("did you mean /review"));
}

#[test]
fn own_commands_and_skills_are_found_where_people_keep_them() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = dir.path().join(".claude").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put(
        "commands/zz-fix.md",
        "---\ndescription: mend it\nargument-hint: <what>\n---\nMend $1, $$5.",
    );
    put("commands/deep/zz-bare.md", "Only words.\n");
    put(
        "skills/zz-draw/SKILL.md",
        "---\nname: zz-draw\ndescription: draws\ncontext: fork\n---\nDraw.",
    );
    put("skills/zz-shy/SKILL.md", "---\nname: x\ndescription: y\nuser-invocable: false\n---\nNo.");
    put("commands/zz bad name.md", "no");
    let found: Vec<Recipe> = recipes::find(dir.path())
        .into_iter()
        .filter(|recipe| recipe.name.starts_with("zz"))
        .collect();
    let names: Vec<&str> = found.iter().map(|recipe| recipe.name.as_str()).collect();
    assert_eq!(names, ["zz-bare", "zz-draw", "zz-fix"]);
    assert_eq!(found[0].description, "Only words.");
    assert_eq!(found[1].kind.as_deref(), Some("general-purpose"));
    assert!(found[1].text.contains("skills/zz-draw") && found[1].text.ends_with("Draw."));
    assert_eq!((found[2].description.as_str(), found[2].hint.as_str()), ("mend it", "<what>"));
    assert_eq!(found[2].parts("the bow"), [Part::Words("Mend the, $.".to_owned())]);
    let more = Part::Words("Only words.\n\nARGUMENTS: more".to_owned());
    assert_eq!(found[0].parts("more"), [more]);
}

#[test]
fn commands_in_an_own_command_are_those_of_its_file() {
    let words = |text: &str| Part::Words(text.to_owned());
    let command = |text: &str| Part::Command(text.to_owned());
    let parts = |text: &str, arguments: &str| recipe("x", text, None).parts(arguments);
    let status = parts("State: !`git status $1`\n!`ls`", "-s");
    let wanted =
        [words("State: "), command("git status -s"), words("\n"), command("ls"), words("")];
    assert_eq!(status, wanted);
    // What the person writes behind the name runs nothing, nor does what only looks like it.
    assert_eq!(parts("Say $1", "!`rm-all`"), [words("Say !`rm-all`")]);
    let none = "stop!`now` and !`` and !`open";
    assert_eq!(parts(none, ""), [words(none)]);
}

#[test]
fn where_nothing_can_be_looked_up_it_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let library = Library {
        project: dir.path().to_owned(),
        home: Home::at(dir.path()),
        doctor: |_| Ok(Vec::new()),
    };
    let is_told = |msg: Msg| matches!(msg, Msg::Told { .. });
    assert!(is_told(library.look(Look::Worktrees(Show::Page))), "no repository");
    let of = "ada".to_owned();
    let gone = Path::new("/no/such/dir").display().to_string();
    assert!(is_told(library.look(Look::Diff { of, dir: gone })));
    assert!(is_told(library.look(Look::Merge { name: "x".to_owned() })));
    assert!(is_told(library.merge("x")));
    let sessions = library.look(Look::Sessions { wanted: String::new() });
    assert_eq!(sessions, seen(Seen::Sessions { sessions: Vec::new(), wanted: String::new() }));
}
