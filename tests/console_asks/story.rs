//! A console without a terminal: events and keys go in, answers and pictures come out.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::LazyLock;

use quarterdeck::console::keys::{Chord, Keymap};
use quarterdeck::console::state::asks::{Asks, Stage};
use quarterdeck::console::state::ui::Size;
use quarterdeck::console::state::{Opening, State};
use quarterdeck::console::text::highlight::Pens;
use quarterdeck::console::update::{Effect, Msg, update, wake};
use quarterdeck::console::view::dialog::ask::{AskLines, draw_ask, wanted_height};
use quarterdeck::console::view::queue::draw_queue;
use quarterdeck::console::view::theme::Theme;
use quarterdeck::protocol::ask::{
    Ask, Choice, Grant, Grantee, Judge, Lasts, Offer, Permit, Question, Reason, Risk, Verdict,
    Words,
};
use quarterdeck::protocol::event::{AgentAbout, Event, Fact};
use quarterdeck::protocol::ids::{AgentId, AskId};
use quarterdeck::protocol::op::{Mode, Op};
use quarterdeck::protocol::scope::{Reach, Scope};
use quarterdeck::protocol::time::Stamp;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use serde_json::{Value, json};

/// When every story begins.
pub const START: i64 = 1_794_796_000_000;

/// Colours are made within the call, and once.
static PENS: LazyLock<Pens> = LazyLock::new(Pens::at_once);

pub struct Story {
    pub state: State,
    pub effects: Vec<Effect>,
    lines: RefCell<AskLines>,
    seq: u64,
}

pub fn agent(name: &str) -> AgentId {
    let id = if name == "lead" { "team-lead@crew".to_owned() } else { format!("{name}@crew") };
    AgentId::parse(&id).unwrap()
}

/// The rule that a command would be covered by, as the desk suggests it.
fn prefix_rule(command: &str) -> String {
    let words: Vec<&str> = command.split(' ').take(2).collect();
    format!("Bash({}:*)", words.join(" "))
}

/// A request to run a command, as the desk puts it.
pub fn bash(id: &str, who: &str, command: &str) -> Ask {
    let rule = prefix_rule(command);
    let scope = |reach, rule: &str| Scope { reach, permits: vec![Permit::Rule(rule.to_owned())] };
    let scopes = vec![
        scope(Reach::This, &format!("Bash({command})")),
        scope(Reach::Like, &rule),
        scope(Reach::Tool, "Bash"),
    ];
    let input = json!({ "command": command, "description": "Clean up before the tests" });
    let ask = tool(id, who, "Bash", input);
    Ask { choices: offered(&rule), scopes, ..ask }
}

fn offered(rule: &str) -> Vec<Choice> {
    let grant = Grant {
        permits: vec![Permit::Rule(rule.to_owned())],
        to: Grantee::Asker,
        lasts: Lasts::Session,
    };
    let choice = |label: &str, verdict| Choice {
        label: label.to_owned(),
        description: None,
        verdict: Some(verdict),
    };
    let allow = |grant| Verdict::Allow { input: None, grant, remark: None };
    vec![
        choice("Yes, once", allow(None)),
        choice("Yes, and don't ask again", allow(Some(grant))),
        choice("No", Verdict::Deny { why: None }),
    ]
}

pub fn tool(id: &str, who: &str, name: &str, input: Value) -> Ask {
    let description = input.get("description").and_then(Value::as_str).map(str::to_owned);
    Ask {
        id: AskId::found(id),
        rev: 1,
        chain: vec![agent(who), agent("lead")],
        color: Some("blue".to_owned()),
        at: Stamp::from_millis(START),
        cwd: PathBuf::from("/demo/inventory"),
        why: Reason {
            description,
            rule: Some("no rule allows `rm`".to_owned()),
            kind: Some("noRule".to_owned()),
        },
        risk: Risk::Medium,
        question: Question::Tool { use_id: format!("toolu_{id}"), name: name.to_owned(), input },
        choices: Vec::new(),
        suggestions: Vec::new(),
        scopes: Vec::new(),
        lines: Vec::new(),
    }
}

pub fn plan(id: &str, who: &str, text: &str) -> Ask {
    let question = Question::Plan {
        file: PathBuf::from("/demo/plans/brave-red-fox.md"),
        text: text.to_owned(),
    };
    let ask = tool(id, who, "ExitPlanMode", json!({}));
    Ask { question, why: Reason::default(), ..ask }
}

pub fn words(id: &str, who: &str, questions: Vec<Words>) -> Ask {
    let ask = tool(id, who, "AskUserQuestion", json!({}));
    Ask { question: Question::Words { questions }, why: Reason::default(), risk: Risk::Low, ..ask }
}

pub fn one_question(question: &str, options: &[&str], multi_select: bool) -> Words {
    let offer = |label: &&str| Offer {
        label: (*label).to_owned(),
        description: format!("what follows from {label}"),
    };
    Words {
        question: question.to_owned(),
        header: "Storage".to_owned(),
        options: options.iter().map(offer).collect(),
        multi_select,
    }
}

pub fn allow() -> Verdict {
    Verdict::Allow { input: None, grant: None, remark: None }
}

pub fn deny() -> Verdict {
    Verdict::Deny { why: None }
}

/// An answer that was sent: to which ask, and what.
pub type Answer = (String, Verdict);

impl Story {
    /// A lead with two teammates; nobody asks anything.
    pub fn new() -> Self {
        let state = State::new(Opening {
            lead: agent("lead"),
            now: Stamp::from_millis(START),
            session: "session-1".to_owned(),
            project: "/demo/inventory".to_owned(),
            keymap: Keymap::default(),
            mouse: false,
            theme: "dark".to_owned(),
        });
        let mut story = Self { state, effects: Vec::new(), lines: RefCell::default(), seq: 0 };
        story.state.size = Size { columns: 100, rows: 30 };
        story.starts("lead", None, None);
        story.starts("fixer", Some("blue"), Some("lead"));
        story.starts("scout", Some("green"), Some("lead"));
        story
    }

    pub fn starts(&mut self, name: &str, color: Option<&str>, parent: Option<&str>) {
        let about = AgentAbout {
            agent_type: "general".to_owned(),
            description: String::new(),
            model: "rehearsal".to_owned(),
            mode: Mode::Default,
            cwd: "/demo/inventory".to_owned(),
            color: color.map(str::to_owned),
            parent: parent.map(agent),
            use_id: (parent == Some("fixer")).then(|| "toolu_9".to_owned()),
            background: false,
            chain_id: String::new(),
            depth: 0,
        };
        self.happens(Some(agent(name)), Fact::AgentStarted { about: Box::new(about) });
    }

    pub fn now(&self) -> i64 {
        self.state.now.millis() - START
    }

    /// Something happens in the session.
    pub fn happens(&mut self, agent: Option<AgentId>, fact: Fact) {
        self.seq += 1;
        let event = Event { seq: self.seq, at: self.state.now, agent, fact };
        self.update(Msg::Event(event.into()));
    }

    pub fn asked(&mut self, ask: Ask) -> &mut Self {
        let ask = Ask { at: self.state.now, ..ask };
        self.happens(ask.chain.first().cloned(), Fact::Asked { ask: Box::new(ask) });
        self
    }

    pub fn settled(&mut self, id: &str, verdict: Verdict, by: Judge) -> &mut Self {
        let fact = Fact::Settled { ask: AskId::found(id), rev: 1, verdict, by };
        self.happens(None, fact);
        self
    }

    /// Time goes by, with the ticks that the console asked for.
    pub fn wait(&mut self, millis: i64) -> &mut Self {
        let end = self.state.now.millis() + millis;
        while let Some(next) = wake(&self.state)
            && next.millis() <= end
        {
            self.tick(next);
        }
        self.tick(Stamp::from_millis(end));
        self
    }

    fn tick(&mut self, now: Stamp) {
        self.update(Msg::Tick(now));
    }

    /// Presses keys, all at this moment.
    pub fn press(&mut self, keys: &str) -> &mut Self {
        for chord in Chord::parse_all(keys).unwrap() {
            self.press_one(chord);
        }
        self
    }

    /// Presses keys, each that much after the one before, and lets the last one settle.
    pub fn press_slowly(&mut self, keys: &str, millis: i64) -> &mut Self {
        for chord in Chord::parse_all(keys).unwrap() {
            self.press_one(chord);
            self.wait(millis);
        }
        self
    }

    fn press_one(&mut self, chord: Chord) {
        self.tick(self.state.now);
        self.update(Msg::Key(chord));
    }

    pub fn update(&mut self, msg: Msg) {
        let effects = update(&mut self.state, msg);
        self.effects.extend(effects);
    }

    pub fn paste(&mut self, text: &str) -> &mut Self {
        self.tick(self.state.now);
        self.update(Msg::Paste(text.to_owned()));
        self
    }

    pub fn asks(&self) -> &Asks {
        &self.state.asks
    }

    pub fn draft(&self) -> String {
        self.state.composer.draft.whole()
    }

    /// The id of the ask that is shown.
    pub fn shown(&self) -> Option<&str> {
        self.state.asks.dialog.as_ref().map(|dialog| dialog.ask.as_str())
    }

    pub fn stage(&self) -> &Stage {
        &self.state.asks.dialog.as_ref().expect("a dialog").stage
    }

    pub fn note(&self) -> &str {
        self.state.asks.dialog.as_ref().and_then(|dialog| dialog.note.as_deref()).unwrap_or("")
    }

    /// Whether these words went to an agent.
    pub fn says(&self, words: &str) -> bool {
        let said =
            |effect: &Effect| matches!(effect, Effect::Send(Op::Say { text, .. }) if text == words);
        self.effects.iter().any(said)
    }

    /// What was answered since the last look.
    pub fn answers(&mut self) -> Vec<Answer> {
        let sent = std::mem::take(&mut self.effects);
        sent.into_iter()
            .filter_map(|effect| {
                let Effect::Send(Op::Answer { ask, rev: _, verdict }) = effect else { return None };
                Some((ask.as_str().to_owned(), verdict))
            })
            .collect()
    }

    /// Waits until the dialog is there and its letters count.
    pub fn ready(&mut self) -> &mut Self {
        self.wait(1_000 + 300);
        assert!(self.shown().is_some(), "no dialog");
        self
    }

    pub fn draw(&self, width: u16, height: u16) -> Buffer {
        self.draw_in(width, height, "dark")
    }

    pub fn draw_in(&self, width: u16, height: u16, theme: &str) -> Buffer {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        let theme = Theme::named(theme).unwrap();
        let mut lines = self.lines.borrow_mut();
        draw_ask(area, &mut buffer, &self.state, &mut lines, &PENS, &theme);
        buffer
    }

    /// As the console does it: no higher than it needs to be.
    pub fn draw_fitting(&self, width: u16, height: u16) -> Buffer {
        let theme = Theme::named("dark").unwrap();
        let mut lines = self.lines.borrow_mut();
        let wanted = wanted_height(&self.state, width, &mut lines, &PENS, &theme);
        drop(lines);
        self.draw(width, height.min(wanted))
    }

    pub fn draw_queue(&self, width: u16, height: u16) -> Buffer {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        draw_queue(area, &mut buffer, &self.state, &Theme::named("dark").unwrap());
        buffer
    }

    /// What is seen of the dialog, row by row.
    pub fn text(&self, width: u16, height: u16) -> String {
        text(&self.draw(width, height))
    }
}

pub fn text(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(usize::from(buffer.area.width));
    rows.map(|row| {
        let line: String = row.iter().map(Cell::symbol).collect();
        format!("{}\n", line.trim_end())
    })
    .collect()
}

/// The text, then every run of cells that is not plain.
pub fn picture(buffer: &Buffer) -> String {
    let mut out = text(buffer);
    for (y, row) in buffer.content.chunks(usize::from(buffer.area.width)).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|left, right| left.style() == right.style()) {
            let (cell, word) = (&run[0], run.iter().map(Cell::symbol).collect::<String>());
            let plain = cell.style() == Cell::default().style();
            if !plain
                && !word.trim().is_empty()
                && !word.trim_matches(['━', '─', '┃', ' ']).is_empty()
            {
                out += &format!(
                    "  {y}:{x} {:?} {} {} {:?}\n",
                    word.trim_end(),
                    cell.fg,
                    cell.bg,
                    cell.modifier
                );
            }
            x += run.len();
        }
    }
    out
}
