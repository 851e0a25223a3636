//! The task panel, the graph and the dialogs, as they are seen and as keys change them.

use std::fs;

use quarterdeck::console::keys::Keymap;
use quarterdeck::console::picture::{self, Look};
use quarterdeck::console::state::dialog::Dialog;
use quarterdeck::console::state::ui::Focus;
use quarterdeck::console::state::{Opening, State};
use quarterdeck::console::view::Cache;
use quarterdeck::console::view::tasks::draw_tasks;
use quarterdeck::console::view::tasks_dialog::draw_task_dialog;
use quarterdeck::console::view::tasks_screen::draw_dag;
use quarterdeck::console::view::theme::Theme;
use quarterdeck::protocol::event::{Event, Fact};
use quarterdeck::protocol::ids::{AgentId, AgentName, TaskId, TeamName};
use quarterdeck::protocol::task::{Status, Task};
use quarterdeck::protocol::team::Member;
use quarterdeck::protocol::time::Stamp;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

const START: i64 = 1_790_000_000_000;

/// A console that was told of a team and its tasks.
pub struct Scene {
    pub state: State,
    seq: u64,
}

impl Scene {
    pub fn new() -> Self {
        let lead = AgentId::parse("team-lead@inventory").unwrap();
        let state = State::new(Opening {
            lead,
            now: Stamp::from_millis(START),
            session: "s".into(),
            project: "/demo".into(),
            keymap: Keymap::default(),
            mouse: false,
            theme: "dark".into(),
        });
        Self { state, seq: 0 }
    }

    pub fn tell(&mut self, agent: Option<&str>, fact: Fact) {
        self.seq += 1;
        let event = Event {
            seq: self.seq,
            at: self.state.now,
            agent: agent.map(|name| AgentId::parse(&format!("{name}@inventory")).unwrap()),
            fact,
        };
        self.state.agents.absorb(&event);
        self.state.tasks.absorb(&event);
    }

    pub fn teammate(&mut self, name: &str, color: &str) {
        let team = TeamName::found("inventory");
        let member = Member {
            name: AgentName::found(name),
            agent_id: format!("{name}@inventory"),
            color: Some(color.into()),
            ..Member::lead(&team, None, None, "/demo", 0)
        };
        self.tell(None, Fact::MemberJoined { member: Box::new(member) });
        self.tell(Some(name), Fact::TurnStarted);
    }

    pub fn task(&mut self, id: u64, subject: &str, status: Status, owner: &str, after: &[u64]) {
        let task = Task {
            id: TaskId::from(id),
            subject: subject.into(),
            description: format!("All that is to know about how to {subject}."),
            active_form: None,
            owner: (!owner.is_empty()).then(|| AgentName::found(owner)),
            status,
            blocks: Vec::new(),
            blocked_by: after.iter().copied().map(TaskId::from).collect(),
            metadata: None,
        };
        self.tell(None, Fact::TaskChanged { task });
    }

    pub fn wait(&mut self, seconds: i64) {
        self.state.now = Stamp::from_millis(self.state.now.millis() + seconds * 1000);
    }

    /// Seven tasks of three teammates, one of whom is gone.
    pub fn inventory() -> Self {
        let mut scene = Self::new();
        scene.teammate("scout", "blue");
        scene.teammate("fixer", "green");
        scene.teammate("reviewer", "yellow");
        scene.task(1, "map the code", Status::Completed, "scout", &[]);
        scene.task(2, "list call sites", Status::Completed, "scout", &[1]);
        scene.task(3, "fix rounding in stock totals", Status::InProgress, "fixer", &[1, 2]);
        scene.task(4, "add tests", Status::Pending, "", &[3]);
        scene.task(5, "review the change", Status::Pending, "reviewer", &[3, 4]);
        scene.task(6, "write the docs", Status::Pending, "", &[1]);
        scene.task(7, "release", Status::Pending, "", &[5, 6]);
        scene.task(8, "measure the import", Status::InProgress, "nobody", &[]);
        scene.wait(75);
        scene
    }

    pub fn draw(
        &self,
        width: u16,
        height: u16,
        how: impl Fn(Rect, &mut Buffer, &State, &mut Cache, &Theme),
    ) -> Buffer {
        let theme = Theme::named("dark").unwrap();
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        how(area, &mut buffer, &self.state, &mut Cache::default(), &theme);
        buffer
    }
}

/// Puts a picture where it can be looked at, when somebody wants to.
fn look(name: &str, buffer: &Buffer) {
    if let Ok(dir) = std::env::var("QUARTERDECK_PICTURES") {
        fs::create_dir_all(&dir).unwrap();
        fs::write(format!("{dir}/{name}.png"), picture::png(buffer, &Look::DARK).unwrap()).unwrap();
        fs::write(format!("{dir}/{name}.txt"), picture::text(buffer)).unwrap();
    }
}

fn text(name: &str, buffer: &Buffer) -> String {
    look(name, buffer);
    picture::text(buffer)
}

#[test]
fn the_panel_is_a_list_with_its_edges() {
    let scene = Scene::inventory();
    let wanted = "\
✔1 map the code                 ▌scout
├─✔2 list call sites            ▌scout
│ └─●3 fix rounding in stoc… 1m ▌fixer
│   └─◌4 add tests
│     └─◌5 review the … (blocked by 3)
│       └─◌7 release    (blocked by 6)
└─○6 write the docs              ready
●8 measure the import 1m !gone ▌nobody
";
    assert_eq!(text("panel", &scene.draw(38, 8, draw_tasks)), wanted);
}

#[test]
fn a_short_panel_shows_what_goes_on_and_how_much_more_there_is() {
    let mut scene = Scene::inventory();
    let short = text("short", &scene.draw(38, 4, draw_tasks));
    assert!(short.starts_with("├─✔2") && short.ends_with("… 4 more\n"), "{short}");
    scene.state.ui.focus = Focus::Tasks;
    scene.state.tasks.select(Some(TaskId::from(8)));
    let short = text("short", &scene.draw(38, 4, draw_tasks));
    assert!(short.contains("●8 measure"), "{short}");
}

#[test]
fn the_graph_is_drawn_and_the_critical_path_stands_out() {
    let mut scene = Scene::inventory();
    scene.state.layers.push(Dialog::Tasks);
    scene.state.tasks.select(Some(TaskId::from(3)));
    scene.state.tasks.shows_path = true;
    for (width, height) in [(80, 24), (100, 30), (140, 40), (200, 60)] {
        let drawn = text(&format!("dag-{width}"), &scene.draw(width, height, draw_dag));
        assert!(drawn.contains("┏ ●3 ▌fixer ━"), "the selected one is heavy: {drawn}");
        assert!(drawn.contains("╔ ◌4 ═"), "the path is double: {drawn}");
        if width >= 140 {
            for words in ["○6 ready", "!gone", "critical path: 4 to go", "waits for", "1 stale"] {
                assert!(drawn.contains(words), "no `{words}` in: {drawn}");
            }
        }
    }
}

#[test]
fn a_large_graph_is_seen_in_part_and_moves() {
    let mut scene = Scene::new();
    for id in 1..200 {
        let after = if id > 3 { vec![id - 3, id / 2] } else { vec![] };
        scene.task(id, "one of many", Status::Pending, "", &after);
    }
    scene.state.layers.push(Dialog::Tasks);
    scene.state.tasks.select(Some(TaskId::from(150)));
    let here = text("large", &scene.draw(100, 30, draw_dag));
    assert!(here.contains("◌150 "), "{here}");
    let top = here.lines().find(|line| line.contains("tasks 0/199")).unwrap_or_default();
    assert!(top.contains(" out of sight HJKL move "), "{here}");
    scene.state.tasks.pan.x += 40;
    scene.state.tasks.pan.y += 20;
    assert_ne!(text("large", &scene.draw(100, 30, draw_dag)), here);
    scene.state.tasks.select(Some(TaskId::from(1)));
    assert!(text("large", &scene.draw(100, 30, draw_dag)).contains("○1 ready"));
}

/// Nothing from outside reaches the screen raw, and no size is too small.
#[test]
fn hostile_words_and_every_size_are_survived() {
    let mut scene = Scene::inventory();
    scene.task(
        9,
        "evil\u{1b}[31m \u{202e}txt\u{200b} 世界🏴‍☠️\nline",
        Status::Pending,
        "a\u{1b}b",
        &[9, 1],
    );
    for dialog in ["Details", "none"] {
        let keys = scene.state.tasks.selected.clone().unwrap();
        scene.state.tasks.dialog = (dialog == "Details").then_some(
            quarterdeck::console::state::tasks::TaskDialog::Details { id: keys, scroll: 3 },
        );
        scene.state.tasks.select(Some(TaskId::from(9)));
        for width in [1, 2, 3, 7, 20, 39, 64, 121, 300] {
            for height in [1, 2, 3, 5, 12, 100] {
                let draw = |area: Rect,
                            buf: &mut Buffer,
                            state: &State,
                            cache: &mut Cache,
                            theme: &Theme| {
                    draw_tasks(area, buf, state, cache, theme);
                    draw_dag(area, buf, state, cache, theme);
                    draw_task_dialog(area, buf, state, theme);
                };
                let drawn = picture::text(&scene.draw(width, height, draw));
                assert!(!drawn.contains('\u{1b}') && !drawn.contains('\u{202e}'), "{drawn}");
            }
        }
    }
}

#[test]
fn the_dialogs_say_what_they_ask() {
    use quarterdeck::console::state::tasks::dialog::{Blockers, TaskDialog};
    let mut scene = Scene::inventory();
    let three = TaskId::from(3);
    let dialogs = [
        ("details", TaskDialog::Details { id: three.clone(), scroll: 0 }, "All that is to know"),
        ("status", TaskDialog::Status { id: three.clone(), at: 1 }, "in progress"),
        ("delete", TaskDialog::Delete { id: three.clone() }, "2 other tasks will no longer wait"),
        ("new", TaskDialog::New(Default::default()), "description"),
        (
            "blockers",
            TaskDialog::Blockers(Blockers {
                id: three,
                chosen: [TaskId::from(1)].into(),
                at: 2,
                refused: Some("that would be a cycle: #3 → #4 → #3".into()),
            }),
            "[x] ✔ #1 map the code",
        ),
    ];
    for (name, dialog, words) in dialogs {
        scene.state.tasks.dialog = Some(dialog);
        let draw = |area: Rect, buf: &mut Buffer, state: &State, _: &mut Cache, theme: &Theme| {
            draw_task_dialog(area, buf, state, theme);
        };
        let drawn = text(&format!("dialog-{name}"), &scene.draw(80, 20, draw));
        assert!(drawn.contains(words), "no `{words}` in {name}:\n{drawn}");
    }
}
