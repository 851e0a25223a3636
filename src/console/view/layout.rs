//! Where everything is on the screen: a pure function of the state, so that the mouse and the
//! drawing can never be of two minds.
//!
//! Neighbours share their borders: each area reaches one cell into the next.

use ratatui::layout::{Position, Rect};

use super::{editor, roster};
use crate::console::state::State;
use crate::console::state::agents::Group;
use crate::console::state::ui::Arrangement;
use crate::protocol::ids::AgentId;

/// Smaller than this, one line says so.
pub const LEAST: (u16, u16) = (40, 10);
/// From here on there are columns, and from here on all panels.
const MEDIUM: u16 = 100;
const WIDE: (u16, u16) = (140, 35);
/// A pane that only shows a title and two live lines.
const BRIEF: u16 = 3;
/// The selected pane is never smaller than this.
const GOOD: u16 = 6;

/// How a pane is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Boxed,
    /// Only a line with the title above: where every column counts.
    Open,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    pub agent: AgentId,
    pub area: Rect,
    pub form: Form,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    pub is_too_small: bool,
    pub header: Rect,
    /// All agents in one line.
    pub strip: Option<Rect>,
    pub panes: Vec<Spot>,
    /// Those that have no pane.
    pub roster: Option<(Rect, Vec<AgentId>)>,
    pub tasks: Option<Rect>,
    pub queue: Option<Rect>,
    pub task_strip: Option<Rect>,
    pub queue_strip: Option<Rect>,
    pub composer: Rect,
    pub composer_form: Option<Form>,
    pub footer: Rect,
    /// Everything between the header and the composer.
    pub body: Rect,
}

/// What is under the mouse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Pane(AgentId),
    Roster(AgentId),
    Tasks,
    Queue,
    Composer,
}

pub fn arrange(state: &State) -> Plan {
    let (columns, rows) = (state.size.columns, state.size.rows);
    let screen = Rect::new(0, 0, columns, rows);
    if columns < LEAST.0 || rows < LEAST.1 {
        return Plan { is_too_small: true, body: screen, ..Plan::default() };
    }
    let form = if columns < MEDIUM { Form::Open } else { Form::Boxed };
    let composer_height = composer_height(state, form);
    let composer = Rect::new(0, rows - 1 - composer_height, columns, composer_height);
    let mut plan = Plan {
        header: Rect::new(0, 0, columns, 1),
        footer: Rect::new(0, rows - 1, columns, 1),
        composer,
        composer_form: Some(form),
        body: Rect::new(0, 1, columns, composer.y.saturating_sub(1)),
        ..Plan::default()
    };
    let is_wide = columns >= WIDE.0 && rows >= WIDE.1;
    match (columns, state.ui.arrangement) {
        (..MEDIUM, _) => narrow(state, &mut plan),
        (_, Arrangement::Focus) => focus(state, &mut plan),
        (_, Arrangement::Grid) => grid(state, &mut plan),
        (_, Arrangement::Overview) if is_wide => wide(state, &mut plan),
        (_, Arrangement::Overview) => medium(state, &mut plan),
    }
    plan
}

/// What is written, up to a quarter of the screen, with its frame.
fn composer_height(state: &State, form: Form) -> u16 {
    let frame = match form {
        Form::Boxed => 2,
        Form::Open => 1,
    };
    let inner = usize::from(state.size.columns.saturating_sub(6)).max(1);
    let wanted = editor::laid(&state.composer.draft.editor, inner).rows.len();
    let most = usize::from(state.size.rows / 4).max(1);
    u16::try_from(wanted.clamp(1, most)).unwrap_or(1) + frame
}

/// One transcript, everything else in lines.
fn narrow(state: &State, plan: &mut Plan) {
    let mut body = plan.body;
    if state.has_team() {
        plan.strip = Some(take_top(&mut body, 1));
    }
    if !state.asks.is_empty() {
        plan.queue_strip = Some(take_bottom(&mut body, 1));
    }
    plan.panes = vec![Spot { agent: state.selected.clone(), area: body, form: Form::Open }];
}

/// The lead and the teammates side by side, tasks and queue as lines.
fn medium(state: &State, plan: &mut Plan) {
    let mut body = strips(state, plan);
    if !has_panes(state) {
        past_team(state, plan, &mut body);
        plan.panes = vec![boxed(lead_of(state), onto_composer(body, plan))];
        return;
    }
    let body = onto_composer(body, plan);
    let [left, right] = columns(body, [50, 50]);
    plan.panes = vec![boxed(lead_of(state), left)];
    stack_team(state, plan, right);
}

/// All panels.
fn wide(state: &State, plan: &mut Plan) {
    let mut body = plan.body;
    let has_panels = state.has_team() || !state.tasks.is_empty() || !state.asks.is_empty();
    if !has_panes(state) {
        past_team(state, plan, &mut body);
    }
    let body = onto_composer(body, plan);
    match (has_panes(state), has_panels) {
        (true, _) => {
            let [left, middle, right] = columns(body, [36, 36, 28]);
            plan.panes = vec![boxed(lead_of(state), left)];
            stack_team(state, plan, middle);
            panels(state, plan, right);
        }
        (false, true) => {
            let [left, right] = columns(body, [70, 30]);
            plan.panes = vec![boxed(lead_of(state), left)];
            panels(state, plan, right);
        }
        (false, false) => plan.panes = vec![boxed(lead_of(state), body)],
    }
}

/// Whether a teammate is worth a pane: whoever has ended is only looked at on purpose.
fn has_panes(state: &State) -> bool {
    let mut team = state.agents.teammates();
    team.any(|agent| state.group(agent) != Group::Ended || agent.id == state.selected)
}

/// A team that is gone is still there in a line.
fn past_team(state: &State, plan: &mut Plan, body: &mut Rect) {
    if state.has_team() {
        plan.strip = Some(take_top(body, 1));
    }
}

/// The lead and one teammate, the selected one or the one that needs the person most.
fn focus(state: &State, plan: &mut Plan) {
    let mut body = strips(state, plan);
    if state.agents.teammates().count() > 1 {
        plan.strip = Some(take_top(&mut body, 1));
    }
    let body = onto_composer(body, plan);
    let is_teammate = |id: &AgentId| state.agents.teammates().any(|agent| agent.id == *id);
    let other = match is_teammate(&state.selected) {
        true => Some(state.selected.clone()),
        false => {
            let mut team: Vec<_> = state.agents.teammates().collect();
            team.sort_by_key(|agent| state.group(agent));
            team.first().map(|agent| agent.id.clone())
        }
    };
    let Some(other) = other else {
        plan.panes = vec![boxed(lead_of(state), body)];
        return;
    };
    let [left, right] = columns(body, [50, 50]);
    plan.panes = vec![boxed(lead_of(state), left), boxed(other, right)];
}

/// Everybody alike.
fn grid(state: &State, plan: &mut Plan) {
    let mut body = strips(state, plan);
    let mut team: Vec<AgentId> = state
        .agents
        .team()
        .filter(|agent| state.group(agent) != Group::Ended || agent.id == state.selected)
        .map(|agent| agent.id.clone())
        .collect();
    let across = usize::from(body.width / 46).clamp(1, 4).min(team.len().max(1));
    let down = usize::from((body.height / GOOD).max(1));
    if team.len() > across * down || team.len() < state.rotation().len() {
        plan.strip = Some(take_top(&mut body, 1));
        let shown = page_with(&team, &state.selected, across * down);
        team = shown.to_vec();
    }
    let body = onto_composer(body, plan);
    let lines = team.len().div_ceil(across).max(1);
    let heights = shared(body.height.saturating_sub(1), lines, None);
    for (line, row) in stack(body, &heights).into_iter().enumerate() {
        let members = team.iter().skip(line * across).take(across);
        let many = members.len();
        let widths = shared(row.width.saturating_sub(1), many.max(1), None);
        let mut x = row.x;
        for (member, width) in members.zip(widths) {
            let area = Rect { x, width: width + 1, ..row };
            plan.panes.push(boxed(member.clone(), area));
            x += width;
        }
    }
}

/// So many of them, among which the selected one is.
fn page_with<'a>(team: &'a [AgentId], selected: &AgentId, many: usize) -> &'a [AgentId] {
    let many = many.max(1);
    let at = team.iter().position(|id| id == selected).unwrap_or(0);
    let from = (at / many * many).min(team.len().saturating_sub(many));
    &team[from..(from + many).min(team.len())]
}

fn lead_of(state: &State) -> AgentId {
    state.lead().cloned().unwrap_or_else(|| state.selected.clone())
}

const fn boxed(agent: AgentId, area: Rect) -> Spot {
    Spot { agent, area, form: Form::Boxed }
}

/// Tasks and queue as lines above the composer, where there are any.
fn strips(state: &State, plan: &mut Plan) -> Rect {
    let mut body = plan.body;
    if !state.asks.is_empty() {
        plan.queue_strip = Some(take_bottom(&mut body, 1));
    }
    if !state.tasks.is_empty() {
        plan.task_strip = Some(take_bottom(&mut body, 1));
    }
    body
}

/// What stands right above the composer shares its border.
fn onto_composer(body: Rect, plan: &Plan) -> Rect {
    let touches = body.bottom() == plan.composer.y && plan.composer_form == Some(Form::Boxed);
    Rect { height: body.height + u16::from(touches), ..body }
}

/// Tasks above, queue below: it gets what it needs, up to half of the column.
fn panels(state: &State, plan: &mut Plan, area: Rect) {
    let units = area.height.saturating_sub(1);
    let asks = u16::try_from(state.asks.len()).unwrap_or(u16::MAX);
    let queue = (asks.saturating_add(2)).clamp(4, (units / 2).max(4));
    let areas = stack(area, &[units.saturating_sub(queue), queue]);
    if let [tasks, queue] = areas[..] {
        (plan.tasks, plan.queue) = (Some(tasks), Some(queue));
    }
}

/// One pane below the other for the teammates; those that find no room become lines. The
/// selected one gets half; idle ones lose their pane first.
fn stack_team(state: &State, plan: &mut Plan, area: Rect) {
    let mut order: Vec<_> = state.agents.teammates().collect();
    order.sort_by_key(|agent| (agent.id != state.selected, state.group(agent)));
    let living = order
        .iter()
        .filter(|agent| agent.id == state.selected || state.group(agent) != Group::Ended);
    let order: Vec<AgentId> = living.map(|agent| agent.id.clone()).collect();
    let all: Vec<AgentId> = state.agents.teammates().map(|agent| agent.id.clone()).collect();
    let has_selected = order.first() == Some(&state.selected);
    let units = area.height.saturating_sub(1);
    let inner = usize::from(area.width.saturating_sub(2));
    let mut many = order.len();
    let (shown, rest, roster_height) = loop {
        let shown = &order[..many];
        let rest: Vec<AgentId> = all.iter().filter(|id| !shown.contains(id)).cloned().collect();
        let height = match rest.is_empty() {
            true => 0,
            false => {
                u16::try_from(roster::lines_needed(state, &rest, inner)).unwrap_or(u16::MAX) + 1
            }
        };
        let first = if has_selected { (units / 2).max(GOOD) } else { BRIEF };
        let others = u16::try_from(many.saturating_sub(1)).unwrap_or(u16::MAX);
        let needed = first.saturating_add(BRIEF.saturating_mul(others)).saturating_add(height);
        if needed <= units || many <= 1 {
            break (shown.to_vec(), rest, height.min(units / 2));
        }
        many -= 1;
    };
    // On the screen they stand in the order in which they joined.
    let shown: Vec<AgentId> = all.iter().filter(|id| shown.contains(id)).cloned().collect();
    let at = shown.iter().position(|id| *id == state.selected);
    let mut heights = match shown.len() {
        0 => Vec::new(),
        many => shared(units.saturating_sub(roster_height), many, at),
    };
    if roster_height > 0 {
        heights.push(if shown.is_empty() { units } else { roster_height });
    }
    let mut areas = stack(area, &heights);
    if roster_height > 0
        && let Some(area) = areas.pop()
    {
        plan.roster = Some((area, rest));
    }
    plan.panes.extend(shown.into_iter().zip(areas).map(|(id, area)| boxed(id, area)));
}

/// Shares rows among so many; the one that stands out gets at least half, the others enough for
/// a title and two lines.
fn shared(units: u16, many: usize, first: Option<usize>) -> Vec<u16> {
    let many_rows = u16::try_from(many).unwrap_or(u16::MAX).max(1);
    let even = |units: u16, many: u16| -> Vec<u16> {
        let many = many.max(1);
        (0..many).map(|at| units / many + u16::from(at < units % many)).collect()
    };
    match first {
        Some(at) if many > 1 => {
            let least = BRIEF.saturating_mul(many_rows - 1);
            let most = units.saturating_sub(least).max(1);
            let out = (units / 2).max(units / many_rows).min(most);
            let mut heights = even(units.saturating_sub(out), many_rows - 1);
            heights.insert(at.min(heights.len()), out);
            heights
        }
        Some(_) | None => even(units, many_rows),
    }
}

/// Areas one below the other; each has one row more than its share, for the border below it.
fn stack(area: Rect, heights: &[u16]) -> Vec<Rect> {
    let mut y = area.y;
    let mut areas = Vec::with_capacity(heights.len());
    for height in heights {
        areas.push(Rect { y, height: height + 1, ..area }.intersection(area));
        y = y.saturating_add(*height);
    }
    areas
}

/// Areas side by side by their shares in hundredths, each reaching into the next.
fn columns<const N: usize>(area: Rect, shares: [u16; N]) -> [Rect; N] {
    let units = u32::from(area.width.saturating_sub(1));
    let mut from = 0;
    let mut sum = 0;
    shares.map(|share| {
        sum += u32::from(share);
        let to = if sum >= 100 { units } else { units * sum / 100 };
        let (x, width) = (area.x + short(from), short(to - from) + 1);
        from = to;
        Rect { x, width, ..area }
    })
}

fn short(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

fn take_top(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    let taken = Rect { height: rows, ..*area };
    *area = Rect { y: area.y + rows, height: area.height - rows, ..*area };
    taken
}

fn take_bottom(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    *area = Rect { height: area.height - rows, ..*area };
    Rect { y: area.bottom(), height: rows, ..*area }
}

impl Spot {
    /// Without its frame.
    pub fn inner(&self) -> Rect {
        let Rect { x, y, width, height } = self.area;
        match self.form {
            Form::Boxed => Rect {
                x: x + 1,
                y: y + 1,
                width: width.saturating_sub(2),
                height: height.saturating_sub(2),
            },
            Form::Open => Rect { x, y: y + 1, width, height: height.saturating_sub(1) },
        }
    }
}

/// The pane of the whole screen, where a transcript is zoomed.
pub fn zoomed(state: &State) -> Spot {
    let (columns, rows) = (state.size.columns, state.size.rows);
    let area = Rect::new(0, 1, columns, rows.saturating_sub(2));
    Spot { agent: state.selected.clone(), area, form: Form::Open }
}

pub fn place_at(state: &State, column: u16, row: u16) -> Option<Place> {
    let at = Position::new(column, row);
    if state.is_zoomed() {
        let spot = zoomed(state);
        return spot.area.contains(at).then_some(Place::Pane(spot.agent));
    }
    let plan = arrange(state);
    let is_in = |area: &Rect| area.contains(at);
    if plan.composer.contains(at) {
        return Some(Place::Composer);
    }
    if let Some(strip) = plan.strip.filter(|strip| strip.contains(at)) {
        return roster::agent_at(state, strip, column).map(Place::Roster);
    }
    if plan.tasks.as_ref().or(plan.task_strip.as_ref()).is_some_and(is_in) {
        return Some(Place::Tasks);
    }
    if plan.queue.as_ref().or(plan.queue_strip.as_ref()).is_some_and(is_in) {
        return Some(Place::Queue);
    }
    if let Some((area, members)) = plan.roster.filter(|(area, _)| area.contains(at)) {
        return roster::member_at(state, area, &members, at).map(Place::Roster);
    }
    let spot = plan.panes.into_iter().find(|spot| spot.area.contains(at))?;
    Some(Place::Pane(spot.agent))
}
