//! Every surface of the console and every state of it that looks different: one table for
//! pictures, sizes and hostile text.

use std::sync::Arc;

use quarterdeck::console::state::offers::{Checked, CheckedKind};
use quarterdeck::console::update::{Msg, Seen};
use quarterdeck::protocol::event::{Fact, Level};
use quarterdeck::protocol::task::Status;
use serde_json::json;

use super::story::{Story, inventory};

pub struct Surface {
    pub name: &'static str,
    scene: fn() -> Story,
    keys: &'static str,
}

impl Surface {
    /// The story with the keys pressed, and some time for what only shows for a while to go.
    pub fn story(&self) -> Story {
        self.on((self.scene)())
    }

    /// The same keys on another story.
    pub fn on(&self, story: Story) -> Story {
        story.keys(self.keys).wait(400)
    }
}

const fn surface(name: &'static str, scene: fn() -> Story, keys: &'static str) -> Surface {
    Surface { name, scene, keys }
}

pub const SURFACES: &[Surface] = &[
    surface("grid", quiet, "<f2><f2>"),
    surface("focus", quiet, "<A-3><f2>"),
    surface("teammate", quiet, "<A-3>"),
    surface("pane", quiet, "<A-3><tab>"),
    surface("zoom", quiet, "<A-2><C-o>"),
    surface("find", quiet, "<A-2><C-o>/rounded<ret>"),
    surface("find-typing", quiet, "<A-2><C-o>/roun"),
    surface("tasks-panel", quiet, "<tab><tab>"),
    surface("tasks", quiet, "<C-t>"),
    surface("tasks-critical", quiet, "<C-t>c"),
    surface("task-details", quiet, "<C-t>jj<ret>"),
    surface("task-status", quiet, "<C-t>jj<space>"),
    surface("task-blockers", quiet, "<C-t>jjb"),
    surface("task-new", quiet, "<C-t>+add a note"),
    surface("task-delete", quiet, "<C-t>jjx"),
    surface("queue", quiet, "<C-x>a"),
    surface("queue-panel", quiet, "<tab><tab><tab>"),
    surface("ask-shown", quiet, "<C-y>"),
    surface("ask-diff", quiet, "<C-y><right><right>"),
    surface("ask-full", asked, "d"),
    surface("ask-scope", asked, "a"),
    surface("ask-scope-moved", asked, "a<down><right><right>"),
    surface("ask-edit", asked, "e"),
    surface("ask-instead", asked, "<tab>"),
    surface("help", quiet, "<f1>"),
    surface("palette", quiet, "<C-p>"),
    surface("palette-typing", quiet, "<C-p>the"),
    surface("prefix", quiet, "<C-x>"),
    surface("commands", quiet, "/s"),
    surface("themes", quiet, "/theme<ret>"),
    surface("agents", quiet, "/agents<ret>"),
    surface("team-page", quiet, "/team<ret>"),
    surface("context", quiet, "/context<ret>"),
    surface("cost", quiet, "/cost<ret>"),
    surface("permissions", quiet, "/permissions<ret>"),
    surface("notices", quiet, "/notices<ret>"),
    surface("doctor", checked, ""),
    surface("found", quiet, "/search round<ret>"),
    surface("found-nothing", quiet, "/search zzz<ret>"),
    surface("history", quiet, "<C-r>fi"),
    surface("files", quiet, "look at @sr"),
    surface("draft", quiet, "first line<C-j>second line<C-j>third line"),
    surface("leave", quiet, "<C-c><C-c>"),
    surface("many", many, ""),
    surface("many-grid", many, "<f2><f2>"),
    surface("states", states, ""),
    surface("queued", queued, ""),
];

/// The team at work; nothing is shown over it.
pub fn quiet() -> Story {
    let story = inventory().keys("<esc>");
    let files = ["src/", "src/stock.py", "src/report.py", "tests/test_stock.py", "README.md"];
    let files: Vec<String> = files.map(str::to_owned).to_vec();
    story
        .asks_edit(
            "reviewer",
            "a3",
            json!({
                "file_path": "/demo/inventory/src/stock.py",
                "old_string": "total = round(price) * n\n",
                "new_string": "total = round(price * n, 2)\n",
            }),
            &[128],
        )
        // It opens by itself; from then on nothing does.
        .wait(2_000)
        .keys("<esc>")
        .msg(Msg::FilesListed(Arc::from(files)))
        .msg(Msg::HistoryLoaded(vec!["find the bugs".into(), "first of all, look".into()]))
        .fact(
            "lead",
            Fact::Notice { level: Level::Warning, text: "The disk is nearly full.".into() },
        )
        .wait(10_000)
}

/// With the first question shown long enough to be answered.
fn asked() -> Story {
    quiet().keys("<C-y>").wait(400)
}

/// Twenty teammates in every state.
pub fn many() -> Story {
    let names: Vec<String> = (1..=20).map(|number| format!("worker-{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let story = Story::new().heard("lead", "port all of it").working("lead");
    let story = story.said("lead", "Twenty people, one module each.").team(&names);
    let story = names.iter().enumerate().fold(story, |story, (nth, name)| {
        let story = story.working(name).said(name, "I begin with the tests of my module.");
        match nth % 5 {
            0 => story.runs(name, &format!("u{nth}"), "Bash", "cargo test --lib"),
            1 => story.done(name),
            2 => story.asks(name, &format!("a{nth}"), "cargo publish --dry-run"),
            3 => story.ended(name, "completed", ""),
            _ => story,
        }
    });
    story.wait(4_000).keys("<esc>").wait(4_000)
}

/// One that failed, one that is silent for long, one that is paused, one that tries again.
fn states() -> Story {
    let names = ["ada", "bob", "cleo", "dan", "eve"];
    let story = Story::new().heard("lead", "go").working("lead").said("lead", "All at once.");
    let story = names
        .iter()
        .fold(story.team(&names), |story, name| story.working(name).said(name, "I begin."));
    story
        .task(1, "what bob holds", Some("bob"), Status::InProgress, &[])
        .ended("ada", "failed", "the model refused: 401 invalid key")
        .fact("cleo", Fact::Paused)
        .done("dan")
        .ended("eve", "completed", "")
        .wait(900_000)
}

/// What the doctor found.
fn checked() -> Story {
    use CheckedKind::{Area, Cure, End, Fine, Note, Wrong};
    let found = [
        (Area, "terminal"),
        (Fine, "all colours: theme `dark`"),
        (Note, "100×30; from 140×35 on everything is on one screen"),
        (Area, "model"),
        (Fine, "ANTHROPIC_API_KEY is set"),
        (Area, "teams"),
        (
            Wrong,
            "inventory-fix: the lock of its task list is held by a process that is gone since a crash; nobody can change a task until it is taken away",
        ),
        (Cure, "--fix would: let go of the lock"),
        (End, "One problem. `quarterdeck doctor --fix` puts right what it can."),
    ];
    let found = found.map(|(kind, text)| Checked { kind, text: text.to_owned() });
    quiet().msg(Msg::Looked(Box::new(Seen::Doctor(found.to_vec()))))
}

/// Words that wait for the lead's next boundary, and a subagent at work.
fn queued() -> Story {
    let say = |id: u64, text: &str| {
        let fact =
            json!({"kind": "queued", "id": id, "when": "next", "from": "user", "text": text});
        serde_json::from_value::<Fact>(fact).expect("a fact")
    };
    inventory()
        .keys("<esc>")
        .fact("lead", say(1, "and write a note about it"))
        .fact("lead", say(2, "when you are done"))
        .fact("fixer", Fact::Thinking { text: "The price must not be rounded.".into() })
        .wait(2_000)
}

#[test]
fn names_are_used_once() {
    let mut names: Vec<_> = SURFACES.iter().map(|surface| surface.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SURFACES.len());
}
