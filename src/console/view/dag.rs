//! The task graph laid out: where each box stands and where the lines run.
//!
//! `ascii-dag` does the layout. It was compared with `rust-sugiyama`: both layer and reduce
//! crossings, but `rust-sugiyama` gives only points on a plane without sizes in cells and without
//! routes, so lines would have to be routed around boxes here; and it took three to eight times
//! as long for 500 tasks. `ascii-dag` works in cells, runs both ways, and routes the lines.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ascii_dag::render::engine::{
    ArmWeight, ArmWeights, CellKind, CellMarker, MarkerDirection, SceneComposer, ScenePlanner,
};
use ascii_dag::{CustomNode, Direction, FAST, Graph, HitResult, LayoutConfig, RenderOptions};
use ratatui::layout::{Position, Rect, Size};

use crate::console::state::tasks::Tasks;
use crate::console::text::sanitize::one_line;
use crate::console::text::width::width;
use crate::protocol::ids::TaskId;
use crate::protocol::task::Task;

/// Boxes are this wide at least and at most.
const NARROW: usize = 18;
const WIDE: usize = 34;
/// A border, a line, a border.
pub const HIGH: u16 = 3;
/// More tasks than these are laid out in the quickest way.
const MANY: usize = 120;

/// A drawing of the task graph, in cells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drawing {
    pub size: Size,
    pub boxes: Vec<(TaskId, Rect)>,
    /// The cells of lines, by row.
    lines: Vec<Vec<Ink>>,
    /// From whom to whom each line leads.
    edges: Vec<(TaskId, TaskId)>,
    /// Cells of borders where lines leave a box.
    pub exits: Vec<Position>,
    pub flow: Flow,
}

/// One cell of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ink {
    pub x: u16,
    pub sign: char,
    edge: Option<usize>,
}

/// Which way the work flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flow {
    #[default]
    Right,
    Down,
}

impl Drawing {
    pub fn new(tasks: &Tasks, flow: Flow) -> Self {
        let shown: Vec<&Task> = tasks.shown().collect();
        let place: HashMap<&TaskId, usize> =
            shown.iter().enumerate().map(|(at, task)| (&task.id, at)).collect();
        let mut graph = Graph::new();
        if shown.len() > MANY {
            graph.set_crossing_pipeline(FAST);
        }
        for (at, task) in shown.iter().enumerate() {
            let (width, height) = (box_width(task), usize::from(HIGH));
            graph.add_node(at, CustomNode { label: "", width, height, painter: None, payload: "" });
        }
        for (at, task) in shown.iter().enumerate() {
            for to in tasks.set().blocked(&task.id).filter_map(|id| place.get(id)) {
                graph.add_edge(at, *to, None);
            }
        }
        let layout = graph.compute_layout_with_config(&config(flow));
        let edges: Vec<(TaskId, TaskId)> = layout
            .edges()
            .iter()
            .filter_map(|edge| {
                let (from, to) = (shown.get(edge.from_id)?, shown.get(edge.to_id)?);
                Some((from.id.clone(), to.id.clone()))
            })
            .collect();
        let size = Size::new(short(layout.width()), short(layout.height()));
        let areas: HashMap<usize, Rect> = layout
            .nodes()
            .iter()
            .map(|node| (node.id, Rect::new(short(node.x), short(node.y), short(node.width), HIGH)))
            .collect();
        let exits = layout.edges().iter().filter(|edge| !edge.reversed).filter_map(|edge| {
            let area = areas.get(&edge.from_id)?;
            Some(match flow {
                Flow::Right => Position::new(area.right() - 1, short(edge.from_y)),
                Flow::Down => Position::new(short(edge.from_x), area.bottom() - 1),
            })
        });
        let exits = exits.collect();
        let boxes = shown
            .iter()
            .enumerate()
            .filter_map(|(at, task)| Some((task.id.clone(), *areas.get(&at)?)))
            .collect();
        Self { size, lines: ink(&layout), edges, exits, flow, boxes }
    }

    /// The lines of a row.
    pub fn row(&self, y: u16) -> &[Ink] {
        self.lines.get(usize::from(y)).map_or(&[], Vec::as_slice)
    }

    /// The tasks that a cell of a line connects.
    pub fn ends(&self, ink: Ink) -> Option<(&TaskId, &TaskId)> {
        let (from, to) = self.edges.get(ink.edge?)?;
        Some((from, to))
    }

    pub fn area_of(&self, id: &TaskId) -> Option<Rect> {
        self.boxes.iter().find(|(known, _)| known == id).map(|(_, area)| *area)
    }

    pub fn task_at(&self, place: Position) -> Option<&TaskId> {
        self.boxes.iter().find(|(_, area)| area.contains(place)).map(|(id, _)| id)
    }
}

fn config(flow: Flow) -> LayoutConfig<'static> {
    let mut config = LayoutConfig::standard();
    (config.direction, config.node_spacing, config.level_spacing) = match flow {
        Flow::Right => (Direction::LeftRight, 0, 1),
        Flow::Down => (Direction::TopDown, 3, 0),
    };
    config
}

/// As wide as its words want, within bounds.
fn box_width(task: &Task) -> usize {
    let words = width(&one_line(task.active_form.as_deref().unwrap_or_default()))
        .max(width(&one_line(&task.subject)));
    let owner = task.owner().map_or(0, |owner| width(&one_line(owner.as_str())) + 2);
    // The upper border holds sign, id, owner and time.
    let head = owner + width(task.id.as_str()) + 14;
    (words + 4).max(head).clamp(NARROW, WIDE)
}

/// The flow in which a graph needs the least scrolling in this space, guessed from how many
/// layers it has and how many tasks the fullest of them holds.
pub fn flow(tasks: &Tasks, space: Size) -> Flow {
    let mut depths: BTreeMap<&TaskId, usize> = BTreeMap::new();
    let mut layers: BTreeMap<usize, usize> = BTreeMap::new();
    let order = tasks.set().in_order();
    for id in order.iter().filter(|id| tasks.get(id).is_some_and(|task| !task.is_internal())) {
        let above = tasks.set().blockers(id).filter_map(|other| depths.get(other)).max();
        let depth = above.map_or(0, |depth| depth + 1);
        depths.insert(id, depth);
        *layers.entry(depth).or_default() += 1;
    }
    let (deep, broad) = (layers.len(), layers.values().max().copied().unwrap_or_default());
    let wide = tasks.shown().map(box_width).max().unwrap_or(NARROW);
    let over = |columns: usize, rows: usize| {
        columns.saturating_sub(usize::from(space.width)) / 3
            + rows.saturating_sub(usize::from(space.height))
    };
    let right = over(deep * (wide + 5), broad * 3);
    let down = over(broad * (wide + 3), deep * 6);
    if right <= down { Flow::Right } else { Flow::Down }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only lines are wanted")]
fn ink(layout: &ascii_dag::LayoutIR<'_>) -> Vec<Vec<Ink>> {
    let options = RenderOptions::plain();
    let mut lines = vec![Vec::new(); layout.height() + 1];
    let mut planner = ScenePlanner::new();
    let Ok(scene) = planner.plan(layout, &options.plan).quiet() else { return Vec::new() };
    let mut composer = SceneComposer::new(scene.composition_requirements(&options.compose));
    let visited = composer.visit_cells(&scene, |x, y, cell| {
        let sign = match cell.kind {
            CellKind::Stroke { arms } => joint(arms),
            CellKind::Marker { marker } => mark(marker),
            _ => return,
        };
        let edge = match cell.owner {
            HitResult::Edge(edge) => Some(edge),
            _ => None,
        };
        if let Some(row) = lines.get_mut(y) {
            row.push(Ink { x: short(x), sign, edge });
        }
    });
    // A scene that cannot be composed leaves the boxes, which say the most.
    if visited.is_err() { Vec::new() } else { lines }
}

fn joint(arms: ArmWeights) -> char {
    let has = |arm: ArmWeight| arm != ArmWeight::None;
    let dashed = [arms.up, arms.down, arms.left, arms.right].contains(&ArmWeight::Dashed);
    match (has(arms.up), has(arms.down), has(arms.left), has(arms.right)) {
        (true, true, false, false) if dashed => '╎',
        (false, false, true, true) if dashed => '╌',
        (true, true, true, true) => '┼',
        (true, true, true, false) => '┤',
        (true, true, false, true) => '├',
        (true, false, true, true) => '┴',
        (false, true, true, true) => '┬',
        (true, false, true, false) => '╯',
        (true, false, false, true) => '╰',
        (false, true, true, false) => '╮',
        (false, true, false, true) => '╭',
        (_, _, false, false) => '│',
        (false, false, _, _) => '─',
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all others are loops")]
fn mark(marker: CellMarker) -> char {
    match marker {
        CellMarker::Arrow { direction: MarkerDirection::Up, .. } => '▲',
        CellMarker::Arrow { direction: MarkerDirection::Down, .. } => '▼',
        CellMarker::Arrow { direction: MarkerDirection::Left, .. } => '◀',
        CellMarker::Arrow { direction: MarkerDirection::Right, .. } => '▶',
        _ => '↺',
    }
}

/// The same line in ASCII.
pub const fn plain_sign(sign: char) -> char {
    match sign {
        '│' | '╎' => '|',
        '─' | '╌' => '-',
        '▼' => 'v',
        '▲' => '^',
        '▶' => '>',
        '◀' => '<',
        '↺' => '@',
        _ => '+',
    }
}

/// The chain that decides about the end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Path {
    pub tasks: BTreeSet<TaskId>,
    steps: BTreeSet<(TaskId, TaskId)>,
}

impl Path {
    /// Nothing while it is not to be seen.
    pub fn shown(tasks: &Tasks) -> Self {
        if !tasks.shows_path {
            return Self::default();
        }
        let chain = tasks.set().critical_path();
        let steps = chain.windows(2).filter_map(|pair| match pair {
            [one, two] => Some((one.clone(), two.clone())),
            _ => None,
        });
        Self { steps: steps.collect(), tasks: chain.into_iter().collect() }
    }

    pub fn has_step(&self, from: &TaskId, to: &TaskId) -> bool {
        self.steps.contains(&(from.clone(), to.clone()))
    }
}

fn short(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
