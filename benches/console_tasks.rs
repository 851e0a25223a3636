//! The task graph: laying out 50 and 500 tasks (500 within 10 ms), and drawing what is laid out.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use quarterdeck::console::keys::Keymap;
use quarterdeck::console::state::dialog::Dialog;
use quarterdeck::console::state::{Opening, State};
use quarterdeck::console::view::Cache;
use quarterdeck::console::view::dag::{Drawing, Flow};
use quarterdeck::console::view::tasks_screen::draw_dag;
use quarterdeck::console::view::theme::Theme;
use quarterdeck::protocol::event::{Event, Fact};
use quarterdeck::protocol::ids::{AgentId, TaskId};
use quarterdeck::protocol::task::{Status, Task};
use quarterdeck::protocol::time::Stamp;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// A list in which each task waits for one or two of the dozen before it.
fn state(many: u64) -> State {
    let now = Stamp::from_millis(1_790_000_000_000);
    let mut state = State::new(Opening {
        lead: AgentId::parse("team-lead@t").unwrap(),
        now,
        session: String::new(),
        project: String::new(),
        keymap: Keymap::default(),
        mouse: false,
        theme: "dark".into(),
    });
    let mut seed = 12_345u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for id in 1..=many {
        let before = id.saturating_sub(1).min(12);
        let blockers = if before == 0 { 0 } else { 1 + random(2) };
        let blocked_by =
            (0..blockers).map(|_| TaskId::from(id - 1 - random(before))).collect::<Vec<_>>();
        let task = Task {
            id: TaskId::from(id),
            subject: format!("a task with the number {id}"),
            description: String::new(),
            active_form: None,
            owner: None,
            status: if id < many / 3 { Status::Completed } else { Status::Pending },
            blocks: Vec::new(),
            blocked_by,
            metadata: None,
        };
        let fact = Fact::TaskChanged { task };
        state.tasks.absorb(&Event { seq: id, at: now, agent: None, fact });
    }
    state.layers.push(Dialog::Tasks);
    state.tasks.select(Some(TaskId::from(many / 2)));
    state
}

fn bench(criterion: &mut Criterion) {
    let theme = Theme::named("dark").unwrap();
    for many in [50, 500] {
        let state = state(many);
        for flow in [Flow::Down, Flow::Right] {
            criterion.bench_function(&format!("lay out {many} tasks, {flow:?}"), |bencher| {
                bencher.iter(|| black_box(Drawing::new(&state.tasks, flow)));
            });
        }
        criterion.bench_function(&format!("indented list of {many} tasks"), |bencher| {
            bencher.iter(|| black_box(state.tasks.outline()));
        });
        let area = Rect::new(0, 0, 200, 60);
        let (mut buffer, mut cache) = (Buffer::empty(area), Cache::default());
        criterion.bench_function(&format!("draw the graph of {many} at 200x60"), |bencher| {
            bencher.iter(|| draw_dag(area, &mut buffer, &state, &mut cache, &theme));
        });
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
