//! A story: what happens in a session and what the person presses, told step by step to the real
//! state, keymap and drawing. Times and ids count up, so every picture is the same each time.

use std::sync::Arc;

use quarterdeck::console::keys::{Chord, Keymap};
use quarterdeck::console::picture;
use quarterdeck::console::runtime::Deck;
use quarterdeck::console::state::{Opening, State};
use quarterdeck::console::update::{Effect, Look, Mouse, MouseKind, Msg};
use quarterdeck::console::view::theme::Theme;
use quarterdeck::protocol::ask::{Ask, Judge, Permit, Question, Reason, Risk, Verdict};
use quarterdeck::protocol::content::{Block, ChatMessage};
use quarterdeck::protocol::event::{AgentAbout, Event, Fact};
use quarterdeck::protocol::ids::{AgentId, AgentName, AskId, TaskId, TeamName};
use quarterdeck::protocol::op::{Mode, Op};
use quarterdeck::protocol::scope::{Reach, Scope};
use quarterdeck::protocol::task::{Status, Task};
use quarterdeck::protocol::team::{COLORS, Member};
use quarterdeck::protocol::time::Stamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use serde_json::{Value, json};

/// When every story begins.
const BEGIN: i64 = 1_794_798_000_000;

pub struct Story {
    pub deck: Deck,
    now: i64,
    seq: u64,
    joined: usize,
    effects: Vec<Effect>,
    /// All that happened, to be played again.
    pub happened: Vec<Event>,
}

pub fn lead() -> AgentId {
    AgentId::parse("team-lead@session-1").expect("an id")
}

pub fn agent(name: &str) -> AgentId {
    match name {
        "lead" => lead(),
        name => AgentId::new(&AgentName::found(name), &TeamName::found("inventory-fix")),
    }
}

impl Story {
    pub fn new() -> Self {
        Self::with_keymap(Keymap::default())
    }

    pub fn with_keymap(keymap: Keymap) -> Self {
        let state = State::new(Opening {
            lead: lead(),
            now: Stamp::from_millis(BEGIN),
            session: "1b4e28ba-2fa1-11d2-883f-0016d3cca427".to_owned(),
            project: "/demo/inventory".to_owned(),
            keymap,
            mouse: true,
            theme: "dark".to_owned(),
        });
        let theme = Theme::named("dark").expect("a theme");
        let deck = Deck::new(state, theme);
        let story =
            Self { deck, now: BEGIN, seq: 0, joined: 0, effects: Vec::new(), happened: Vec::new() };
        story.size(140, 40).begins("lead", None)
    }

    pub fn state(&self) -> &State {
        &self.deck.state
    }

    pub fn send(&mut self, msg: Msg) {
        self.effects.extend(self.deck.absorb(Msg::Tick(Stamp::from_millis(self.now))));
        self.effects.extend(self.deck.absorb(msg));
    }

    pub fn size(mut self, columns: u16, rows: u16) -> Self {
        self.send(Msg::Resized { columns, rows });
        self
    }

    pub fn theme(mut self, name: &str) -> Self {
        self.deck.wear(name);
        self
    }

    /// So many milliseconds pass.
    pub fn wait(mut self, millis: i64) -> Self {
        self.now += millis;
        self.send(Msg::Tick(Stamp::from_millis(self.now)));
        self
    }

    /// Something happened to an agent.
    pub fn fact(mut self, who: &str, fact: Fact) -> Self {
        self.seq += 1;
        let at = Stamp::from_millis(self.now);
        let event = Event { seq: self.seq, at, agent: Some(agent(who)), fact };
        self.happened.push(event.clone());
        self.send(Msg::Event(Arc::new(event)));
        self
    }

    fn begins(self, who: &str, color: Option<&str>) -> Self {
        let about = AgentAbout {
            agent_type: if who == "lead" { "team-lead" } else { "general-purpose" }.to_owned(),
            description: String::new(),
            model: "claude-opus-4-5".to_owned(),
            mode: Mode::Default,
            cwd: "/demo/inventory".to_owned(),
            color: color.map(str::to_owned),
            parent: (who != "lead").then(lead),
            use_id: None,
            background: false,
            chain_id: String::new(),
            depth: 0,
        };
        self.fact(who, Fact::AgentStarted { about: Box::new(about) })
    }

    pub fn team(self, names: &[&str]) -> Self {
        let name = TeamName::found("inventory-fix");
        let story = self.fact("lead", Fact::TeamCreated { name, description: String::new() });
        names.iter().fold(story, |story, name| story.teammate(name))
    }

    pub fn teammate(mut self, name: &str) -> Self {
        let color = COLORS[self.joined % COLORS.len()];
        self.joined += 1;
        let member = json!({
            "agentId": agent(name).to_string(), "name": name, "color": color, "joinedAt": self.now,
        });
        let member: Member = serde_json::from_value(member).expect("a member");
        self.fact(name, Fact::MemberJoined { member: Box::new(member) }).begins(name, Some(color))
    }

    pub fn working(self, who: &str) -> Self {
        self.fact(who, Fact::TurnStarted)
    }

    pub fn heard(self, who: &str, text: &str) -> Self {
        let message = ChatMessage::user(text);
        self.fact(who, Fact::Heard { from: "user".to_owned(), message, queued: Vec::new() })
    }

    pub fn said(self, who: &str, text: &str) -> Self {
        let message = ChatMessage::assistant(vec![Block::text(text)]);
        self.spoke(who, message)
    }

    pub fn spoke(self, who: &str, message: ChatMessage) -> Self {
        let usage = json!({"input_tokens": 900, "output_tokens": 100});
        self.fact(
            who,
            Fact::Spoke {
                id: "m".to_owned(),
                model: "claude-opus-4-5".to_owned(),
                message,
                stop: "end_turn".to_owned(),
                usage,
                usd: Some(0.42),
                own_usd: Some(0.21),
                context: 12_000,
                window: Some(200_000),
            },
        )
    }

    pub fn done(self, who: &str) -> Self {
        let outcome = "done".to_owned();
        self.fact(who, Fact::TurnEnded { outcome, why: String::new(), rounds: 1, millis: 1_200 })
    }

    pub fn runs(self, who: &str, use_id: &str, tool: &str, summary: &str) -> Self {
        let input = json!({ "command": summary });
        let call = ChatMessage::assistant(vec![Block::tool_use(use_id, tool, input.clone())]);
        self.spoke(who, call).fact(
            who,
            Fact::ToolStarted {
                use_id: use_id.to_owned(),
                tool: tool.to_owned(),
                summary: summary.to_owned(),
                input,
            },
        )
    }

    pub fn ended(self, who: &str, status: &str, why: &str) -> Self {
        self.fact(who, Fact::AgentEnded { status: status.to_owned(), why: why.to_owned() })
    }

    /// A command waits for the person.
    pub fn asks(self, who: &str, id: &str, command: &str) -> Self {
        self.asks_tool(who, id, "Bash", json!({ "command": command }))
    }

    /// An edit waits for the person; the passage stands at these lines of its file.
    pub fn asks_edit(self, who: &str, id: &str, input: Value, lines: &[usize]) -> Self {
        self.asks_with(who, id, "Edit", input, lines)
    }

    pub fn asks_tool(self, who: &str, id: &str, tool: &str, input: Value) -> Self {
        self.asks_with(who, id, tool, input, &[])
    }

    fn asks_with(self, who: &str, id: &str, tool: &str, input: Value, lines: &[usize]) -> Self {
        let chain = match who {
            "lead" => vec![lead()],
            who => vec![agent(who), lead()],
        };
        let color = self.state().agents.get(&agent(who)).and_then(|agent| agent.color.clone());
        let ask = json!({
            "id": id, "rev": 1, "chain": chain, "color": color,
            "at": Stamp::from_millis(self.now), "cwd": "/demo/inventory",
            "why": Reason { description: None, rule: Some("the mode default".into()), kind: Some("mode".into()) },
            "risk": Risk::Medium,
            "lines": lines,
            "scopes": input["command"].as_str().map(scopes).unwrap_or_default(),
            "question": Question::Tool { use_id: format!("use-{id}"), name: tool.into(), input },
        });
        let ask: Ask = serde_json::from_value(ask).expect("an ask");
        self.fact(who, Fact::Asked { ask: Box::new(ask) })
    }

    pub fn settled(self, who: &str, id: &str) -> Self {
        let verdict = Verdict::Allow { input: None, grant: None, remark: None };
        let fact = Fact::Settled { ask: AskId::found(id), rev: 1, verdict, by: Judge::Human };
        self.fact(who, fact)
    }

    pub fn task(
        self,
        id: u64,
        subject: &str,
        owner: Option<&str>,
        status: Status,
        after: &[u64],
    ) -> Self {
        let task = Task {
            id: TaskId::from(id),
            subject: subject.to_owned(),
            description: String::new(),
            active_form: None,
            owner: owner.map(AgentName::found),
            status,
            blocks: Vec::new(),
            blocked_by: after.iter().map(|id| TaskId::from(*id)).collect(),
            metadata: None,
        };
        self.fact("lead", Fact::TaskChanged { task })
    }

    /// Keys in helix notation, 200 ms apart: a person who types slowly.
    pub fn keys(self, keys: &str) -> Self {
        self.keys_every(keys, 200)
    }

    pub fn keys_every(mut self, keys: &str, millis: i64) -> Self {
        for chord in Chord::parse_all(keys).expect("keys") {
            self.now += millis;
            self.send(Msg::Key(chord));
        }
        self
    }

    pub fn paste(mut self, text: &str) -> Self {
        self.send(Msg::Paste(text.to_owned()));
        self
    }

    pub fn msg(mut self, msg: Msg) -> Self {
        self.send(msg);
        self
    }

    pub fn mouse(mut self, kind: MouseKind, column: u16, row: u16) -> Self {
        self.send(Msg::Mouse(Mouse { kind, column, row }));
        self
    }

    /// What was wished for since this was last asked, without the titles of the window and the
    /// look at the person's own commands that every slash is worth.
    pub fn effects(&mut self) -> Vec<Effect> {
        let all = std::mem::take(&mut self.effects);
        let passing =
            |effect: &Effect| matches!(effect, Effect::Title(_) | Effect::Look(Look::Recipes));
        all.into_iter().filter(|effect| !passing(effect)).collect()
    }

    /// Only the ops among them.
    pub fn ops(&mut self) -> Vec<Op> {
        let sent = |effect| if let Effect::Send(op) = effect { Some(op) } else { None };
        self.effects().into_iter().filter_map(sent).collect()
    }

    pub fn buffer(&mut self) -> Buffer {
        let size = self.state().size;
        let backend = TestBackend::new(size.columns, size.rows);
        let mut terminal = Terminal::new(backend).expect("a terminal");
        terminal.draw(|frame| self.deck.paint(frame)).expect("drawn");
        terminal.backend().buffer().clone()
    }

    /// The screen as text.
    pub fn screen(&mut self) -> String {
        picture::text(&self.buffer())
    }

    /// The screen as text, then every style that is not plain with the cells it covers.
    pub fn picture(&mut self) -> String {
        let buffer = self.buffer();
        format!("{}{}", picture::text(&buffer), styles(&buffer))
    }

    /// What is written in the composer.
    pub fn draft(&self) -> String {
        self.state().composer.draft.whole()
    }

    pub fn selected(&self) -> &str {
        self.state().selected_agent().map_or("", |agent| agent.name.as_str())
    }
}

/// How far a yes to a command may reach.
fn scopes(command: &str) -> Vec<Scope> {
    let first = command.split(' ').next().unwrap_or_default();
    let all = [
        (Reach::This, format!("Bash({command})")),
        (Reach::Like, format!("Bash({first}:*)")),
        (Reach::Tool, "Bash".to_owned()),
    ];
    let scope = |(reach, rule)| Scope { reach, permits: vec![Permit::Rule(rule)] };
    all.into_iter().map(scope).collect()
}

fn styles(buffer: &Buffer) -> String {
    let mut out = String::new();
    for (y, row) in buffer.content.chunks(usize::from(buffer.area.width)).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|left, right| left.style() == right.style()) {
            let word: String = run.iter().map(Cell::symbol).collect();
            let (fg, bg, how) = (run[0].fg, run[0].bg, run[0].modifier);
            let plain = ratatui::style::Color::Reset;
            if (fg != plain || bg != plain || !how.is_empty()) && !word.trim().is_empty() {
                out += &format!("  {y}:{x} {:?} {fg} on {bg} {how:?}\n", word.trim_end());
            }
            x += run.len();
        }
    }
    out
}

/// The team of the manual's picture, at work.
pub fn inventory() -> Story {
    Story::new()
        .heard("lead", "find and fix the rounding bugs")
        .working("lead")
        .said("lead", "I'll split this into **five** tasks and start three teammates.")
        .team(&["scout", "fixer", "reviewer"])
        .task(1, "map the code", Some("scout"), Status::Completed, &[])
        .task(2, "list call sites", Some("scout"), Status::InProgress, &[1])
        .task(3, "fix rounding", Some("fixer"), Status::InProgress, &[1])
        .task(4, "add tests", None, Status::Pending, &[3])
        .task(5, "review", None, Status::Pending, &[3, 4])
        .working("scout")
        .said("scout", "The totals are rounded twice: once per line, once at the end.")
        .working("fixer")
        .said("fixer", "I change `stock.py` so that only the sum is rounded.")
        .working("reviewer")
        .runs("reviewer", "u1", "Grep", "\"round(\"")
        .wait(5_000)
        .asks("fixer", "a1", "rm -r build")
        .wait(5_000)
        .asks_tool("scout", "a2", "Read", json!({ "file_path": "/etc/hosts" }))
        .wait(3_000)
}
