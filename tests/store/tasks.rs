//! Task lists through the library: the graph stays a graph whatever is asked of it.

use std::collections::BTreeSet;
use std::fs;

use proptest::prelude::*;
use quarterdeck::protocol::ids::{AgentName, TaskId};
use quarterdeck::protocol::task::{Refusal, Status};
use quarterdeck::settings::paths::Home;
use quarterdeck::store::tasks::{Load, NewTask, Owner, TaskList, TaskPatch};
use quarterdeck::store::{Durability, Store, StoreError};

use crate::support::deck::team;

fn add(list: &TaskList<'_>, blocked_by: &[u64]) -> Result<TaskId, StoreError> {
    let blocked_by = blocked_by.iter().copied().map(TaskId::from).collect();
    let new = NewTask { subject: "x".into(), blocked_by, ..NewTask::default() };
    list.create(&new).map(|task| task.id)
}

fn link(list: &TaskList<'_>, blocker: u64, waiting: u64) -> Result<(), StoreError> {
    let add_blocked_by = vec![TaskId::from(blocker)];
    let patch = TaskPatch { add_blocked_by, ..TaskPatch::default() };
    list.update(&TaskId::from(waiting), &patch).map(|_| ())
}

fn status(status: Status) -> TaskPatch {
    TaskPatch { status: Some(status), ..TaskPatch::default() }
}

#[derive(Debug, Clone)]
enum Step {
    Add(Vec<u64>),
    Link(u64, u64),
    LinkBoth { blocks: u64, id: u64, blocked_by: u64 },
    Complete(u64),
    Claim(u64),
    Delete(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let id = || 1u64..9;
    prop_oneof![
        3 => prop::collection::vec(id(), 0..3).prop_map(Step::Add),
        4 => (id(), id()).prop_map(|(one, two)| Step::Link(one, two)),
        2 => (id(), id(), id())
            .prop_map(|(blocks, id, blocked_by)| Step::LinkBoth { blocks, id, blocked_by }),
        1 => id().prop_map(Step::Complete),
        1 => id().prop_map(Step::Claim),
        1 => id().prop_map(Step::Delete),
    ]
}

/// Both ends of every edge agree, every end is there, and there is no way round in a circle.
fn is_sound(list: &TaskList<'_>) -> Result<(), TestCaseError> {
    list.look(|tasks| {
        for task in tasks.iter() {
            for id in &task.blocked_by {
                let other = tasks.get(id);
                prop_assert!(other.is_some_and(|other| other.blocks.contains(&task.id)));
            }
            for id in &task.blocks {
                let other = tasks.get(id);
                prop_assert!(other.is_some_and(|other| other.blocked_by.contains(&task.id)));
            }
        }
        let order = tasks.in_order();
        let at = |id: &TaskId| order.iter().position(|other| other == id);
        for task in tasks.iter() {
            prop_assert!(task.blocked_by.iter().all(|id| at(id) < at(&task.id)), "a cycle");
        }
        Ok(())
    })
    .map_err(|error| TestCaseError::fail(error.to_string()))?
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if crate::support::soak() { 2000 } else { 80 }))]

    #[test]
    fn a_list_stays_sound_whatever_is_asked_of_it(
        steps in prop::collection::vec(any_step(), 1..30)
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(Home::at(dir.path()), Durability::ProcessCrash);
        let list = store.tasks(&team());
        list.make().unwrap();
        let mut given = BTreeSet::new();
        for step in steps {
            let outcome = match step {
                Step::Add(before) => add(&list, &before).map(|id| {
                    assert!(given.insert(id.clone()), "id {id} was given twice");
                }),
                Step::Link(blocker, waiting) => link(&list, blocker, waiting),
                Step::LinkBoth { blocks, id, blocked_by } => {
                    let patch = TaskPatch {
                        add_blocks: vec![TaskId::from(blocks)],
                        add_blocked_by: vec![TaskId::from(blocked_by)],
                        ..TaskPatch::default()
                    };
                    list.update(&TaskId::from(id), &patch).map(|_| ())
                }
                Step::Complete(id) => {
                    list.update(&TaskId::from(id), &status(Status::Completed)).map(|_| ())
                }
                Step::Claim(id) => {
                    let agent = AgentName::found("a");
                    list.claim(&TaskId::from(id), &agent, Load::AnyNumber).map(|_| ())
                }
                Step::Delete(id) => list.delete(&TaskId::from(id)),
            };
            let refused = matches!(outcome, Err(StoreError::Graph(_) | StoreError::NoTask(_)));
            prop_assert!(outcome.is_ok() || refused, "{outcome:?}");
            is_sound(&list)?;
        }
        // What another process sees is the same.
        let fresh = Store::open(Home::at(dir.path()), Durability::ProcessCrash);
        let seen = fresh.tasks(&team()).look(Clone::clone).unwrap();
        prop_assert_eq!(list.look(Clone::clone).unwrap(), seen);
    }
}

struct Desk {
    _dir: tempfile::TempDir,
    store: Store,
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(Home::at(dir.path()), Durability::ProcessCrash);
        store.tasks(&team()).make().unwrap();
        Self { _dir: dir, store }
    }
}

#[test]
fn a_claim_is_refused_with_the_reason() {
    let desk = Desk::new();
    let list = desk.store.tasks(&team());
    let [alice, bob] = ["alice", "bob"].map(AgentName::found);
    let first = add(&list, &[]).unwrap();
    let second = add(&list, &[1]).unwrap();
    let third = add(&list, &[]).unwrap();
    let claim = |id: &TaskId, who: &AgentName, load| list.claim(id, who, load).unwrap();
    let any = Load::AnyNumber;
    assert_eq!(claim(&TaskId::from(9), &alice, any).unwrap_err(), Refusal::NotFound);
    assert_eq!(claim(&second, &alice, any).unwrap_err(), Refusal::Blocked(vec![first.clone()]));
    assert_eq!(claim(&first, &alice, any).unwrap().status, Status::InProgress);
    assert_eq!(claim(&first, &bob, any).unwrap_err(), Refusal::AlreadyClaimed(alice.clone()));
    assert!(claim(&first, &alice, any).is_ok(), "it is hers already");
    let busy = Refusal::AgentBusy(vec![first.clone()]);
    assert_eq!(claim(&third, &alice, Load::OneAtATime).unwrap_err(), busy);
    assert_eq!(list.claim_next(&alice, Load::OneAtATime).unwrap().unwrap_err(), busy);
    list.update(&first, &status(Status::Completed)).unwrap();
    assert_eq!(claim(&first, &alice, any).unwrap_err(), Refusal::AlreadyResolved);
    let second = claim(&second, &bob, any).expect("nothing open before it any more");
    assert_eq!(second.blocked_by, [first], "completing does not touch what waited");
    assert_eq!(list.claim_next(&bob, any).unwrap().unwrap().map(|task| task.id), Some(third));
    assert_eq!(list.claim_next(&bob, any).unwrap(), Ok(None), "nothing is left");
}

#[test]
fn tasks_of_one_who_left_are_free_again() {
    let desk = Desk::new();
    let list = desk.store.tasks(&team());
    let alice = AgentName::found("alice");
    for _ in 0..3 {
        add(&list, &[]).unwrap();
    }
    for id in [1, 2] {
        list.claim(&TaskId::from(id), &alice, Load::AnyNumber).unwrap().unwrap();
    }
    list.update(&TaskId::from(1), &status(Status::Completed)).unwrap();
    let released = list.unassign(&alice).unwrap();
    assert_eq!(released.iter().map(|task| task.id.clone()).collect::<Vec<_>>(), [TaskId::from(2)]);
    assert_eq!((released[0].owner(), released[0].status), (None, Status::Pending));
    let done = list.get(&TaskId::from(1)).unwrap().unwrap();
    assert_eq!(done.owner(), Some(&alice), "what she finished stays hers");
}

#[test]
fn metadata_is_merged_and_null_deletes() {
    let desk = Desk::new();
    let list = desk.store.tasks(&team());
    let id = add(&list, &[]).unwrap();
    let merge = |text: &str| {
        let metadata = serde_json::from_str(text).unwrap();
        let patch = TaskPatch { metadata: Some(metadata), ..TaskPatch::default() };
        let updated = list.update(&id, &patch).unwrap();
        serde_json::to_string(&updated.task.metadata).unwrap()
    };
    assert_eq!(merge(r#"{"b":1,"a":2}"#), r#"{"b":1,"a":2}"#);
    assert_eq!(merge(r#"{"a":{"deep":[]},"c":3}"#), r#"{"b":1,"a":{"deep":[]},"c":3}"#);
    assert_eq!(merge(r#"{"b":null,"nothing":null}"#), r#"{"a":{"deep":[]},"c":3}"#);
}

#[test]
fn ids_are_never_used_again() {
    let desk = Desk::new();
    let list = desk.store.tasks(&team());
    for _ in 0..3 {
        add(&list, &[]).unwrap();
    }
    list.delete(&TaskId::from(3)).unwrap();
    let dir = desk.store.home().tasks(&team());
    assert_eq!(fs::read_to_string(dir.join(".highwatermark")).unwrap(), "3");
    list.delete(&TaskId::from(1)).unwrap();
    assert_eq!(add(&list, &[]).unwrap(), TaskId::from(4));
    // A mark that cannot be read is no reason to begin again.
    fs::write(dir.join(".highwatermark"), "many").unwrap();
    assert_eq!(add(&list, &[]).unwrap(), TaskId::from(5));
}

#[test]
fn refused_changes_change_nothing() {
    let desk = Desk::new();
    let list = desk.store.tasks(&team());
    for before in [&[][..], &[1], &[2]] {
        add(&list, before).unwrap();
    }
    let before = list.look(Clone::clone).unwrap();
    let refused = link(&list, 3, 1).unwrap_err();
    assert_eq!(refused.to_string(), "that would be a cycle: #1 → #2 → #3 → #1");
    let unknown = link(&list, 9, 1).unwrap_err();
    assert!(matches!(unknown, StoreError::NoTask(_)));
    assert!(matches!(add(&list, &[9]).unwrap_err(), StoreError::NoTask(_)));
    let owner = Some(Owner::Nobody);
    let same = TaskPatch { owner, status: Some(Status::Pending), ..TaskPatch::default() };
    assert_eq!(list.update(&TaskId::from(1), &same).unwrap().fields, [""; 0]);
    assert_eq!(list.look(Clone::clone).unwrap(), before);
}

#[test]
fn a_change_by_somebody_else_is_seen_at_the_next_look() {
    let desk = Desk::new();
    let list = desk.store.tasks(&team());
    let id = add(&list, &[]).unwrap();
    list.look(|_| ()).unwrap();
    let path = desk.store.home().task(&team(), &id);
    // In place, as the classic program writes.
    let text = fs::read_to_string(&path).unwrap().replace("pending", "completed");
    fs::write(&path, text).unwrap();
    let seen = |task: &quarterdeck::protocol::graph::TaskSet| task.get(&id).unwrap().status;
    assert_eq!(list.look_again(std::slice::from_ref(&id), seen), Status::Completed);
    fs::remove_file(&path).unwrap();
    assert!(list.look(|tasks| tasks.get(&id).is_none()).unwrap());
}
