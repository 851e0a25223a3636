//! Keys on the tasks, through the real key table: what the session is asked for.

use quarterdeck::console::keys::Chord;
use quarterdeck::console::state::dialog::Dialog;
use quarterdeck::console::state::ui::Focus;
use quarterdeck::console::update::{Effect, Msg, update};
use quarterdeck::protocol::ids::{AgentId, AgentName, TaskId};
use quarterdeck::protocol::op::{Op, TaskChange};
use quarterdeck::protocol::task::Status;

use super::tasks::Scene;

/// The changes that the session is asked for.
fn press(scene: &mut Scene, keys: &str) -> Vec<TaskChange> {
    let mut wishes = Vec::new();
    for chord in Chord::parse_all(keys).unwrap() {
        for effect in update(&mut scene.state, Msg::Key(chord)) {
            if let Effect::Send(Op::Task { change }) = effect {
                wishes.push(*change);
            }
        }
    }
    wishes
}

fn on_tasks() -> Scene {
    let mut scene = Scene::inventory();
    scene.state.ui.focus = Focus::Tasks;
    scene.state.layers.push(Dialog::Tasks);
    scene.state.tasks.select(Some(TaskId::from(3)));
    scene
}

fn id(number: u64) -> TaskId {
    TaskId::from(number)
}

#[test]
fn a_task_is_given_to_the_selected_teammate() {
    let mut scene = on_tasks();
    scene.state.selected = AgentId::parse("reviewer@inventory").unwrap();
    let owner = Some(AgentName::found("reviewer"));
    assert_eq!(press(&mut scene, "s"), [TaskChange::Assign { id: id(3), owner }]);
}

#[test]
fn the_status_menu_takes_a_letter_or_the_selected_line() {
    let mut scene = on_tasks();
    let completed = [TaskChange::Status { id: id(3), status: Status::Completed }];
    assert_eq!(press(&mut scene, "<space>c"), completed);
    assert_eq!(press(&mut scene, "<space><down><ret>"), completed, "it begins at what it is");
    assert_eq!(press(&mut scene, "<space><esc>"), []);
    assert_eq!(scene.state.tasks.dialog, None);
}

#[test]
fn a_cycle_is_refused_and_named() {
    let mut scene = on_tasks();
    // The list is 1 2 3 4 5 7 6 8; 3 may wait for 8 but not for 4.
    assert_eq!(press(&mut scene, "b<down><down> "), []);
    let shown = format!("{:?}", scene.state.tasks.dialog);
    assert!(shown.contains("that would be a cycle: #3 → #4 → #3"), "{shown}");
    let wanted = TaskChange::BlockedBy { id: id(3), blockers: vec![id(1), id(2), id(8)] };
    assert_eq!(press(&mut scene, "<down><down><down><down> <ret>"), [wanted]);
}

#[test]
fn a_new_task_has_words_and_may_have_more() {
    let mut scene = on_tasks();
    let made = press(&mut scene, "+bump x<backspace><down>why<C-j>not<ret>");
    let wanted = TaskChange::Create {
        subject: "bump".into(),
        description: "why\nnot".into(),
        blocked_by: vec![],
    };
    assert_eq!(made, [wanted]);
    assert_eq!(press(&mut scene, "+<ret><ret>"), [], "without a subject it stays open");
    assert!(scene.state.tasks.dialog.is_some());
}

#[test]
fn deleting_asks_and_enter_alone_deletes_nothing() {
    let mut scene = on_tasks();
    assert_eq!(press(&mut scene, "x<ret>"), []);
    assert_eq!(press(&mut scene, "xn"), []);
    assert_eq!(press(&mut scene, "x<esc>"), []);
    assert_eq!(press(&mut scene, "xy"), [TaskChange::Delete { id: id(3) }]);
}

#[test]
fn only_a_stale_claim_is_released() {
    let mut scene = on_tasks();
    assert_eq!(press(&mut scene, "u"), [], "fixer works on it");
    scene.state.tasks.select(Some(id(8)));
    let freed = [
        TaskChange::Status { id: id(8), status: Status::Pending },
        TaskChange::Assign { id: id(8), owner: None },
    ];
    assert_eq!(press(&mut scene, "u"), freed, "nobody is there");
    scene.state.tasks.select(Some(id(3)));
    scene.wait(600);
    assert_eq!(press(&mut scene, "u").len(), 2, "fixer was silent for ten minutes");
}

#[test]
fn the_selection_walks_the_list_and_along_the_edges() {
    let mut scene = on_tasks();
    let at = |scene: &Scene| scene.state.tasks.selected.clone().unwrap().to_string();
    press(&mut scene, "j");
    assert_eq!(at(&scene), "4");
    press(&mut scene, "gk");
    assert_eq!(at(&scene), "1");
    press(&mut scene, "G");
    assert_eq!(at(&scene), "8");
    scene.state.tasks.select(Some(id(7)));
    press(&mut scene, "h");
    assert_eq!(at(&scene), "5");
    press(&mut scene, "l");
    assert_eq!(at(&scene), "7");
}
