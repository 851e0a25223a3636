//! Stories for transcripts, and pictures of them.

use quarterdeck::console::state::transcript::{Scroll, Seen, Transcript};
use quarterdeck::console::text::highlight::Pens;
use quarterdeck::console::view::Cache;
use quarterdeck::console::view::theme::Theme;
use quarterdeck::console::view::transcript::draw_transcript;
use quarterdeck::protocol::content::{Block, ChatMessage};
use quarterdeck::protocol::event::{Event, Fact};
use quarterdeck::protocol::ids::AgentId;
use quarterdeck::protocol::time::Stamp;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use serde_json::{Value, json};

/// A transcript under a test, with what is needed to draw it.
pub struct Story {
    pub transcript: Transcript,
    pub scroll: Scroll,
    pub cache: Cache,
    pub theme: Theme,
    seq: u64,
    pub now: i64,
}

impl Story {
    pub fn new() -> Self {
        Self::in_theme("dark")
    }

    pub fn in_theme(name: &str) -> Self {
        Self {
            transcript: Transcript::default(),
            scroll: Scroll::default(),
            cache: Cache::with_pens(Pens::at_once()),
            theme: Theme::named(name).unwrap(),
            seq: 0,
            now: 1_794_798_293_000,
        }
    }

    pub fn event(&mut self, agent: &str, fact: Fact) -> Event {
        self.seq += 1;
        let agent = AgentId::parse(agent);
        Event { seq: self.seq, at: Stamp::from_millis(self.now), agent, fact }
    }

    pub fn fact(&mut self, fact: Fact) -> &mut Self {
        let event = self.event("team-lead@session-1", fact);
        self.transcript.absorb(&event);
        self
    }

    /// A fact as the journal writes it.
    pub fn json(&mut self, fact: Value) -> &mut Self {
        self.fact(serde_json::from_value(fact).unwrap())
    }

    pub fn child(&mut self, use_id: &str, fact: Value) -> &mut Self {
        let event = self.event("a1@session-1", serde_json::from_value(fact).unwrap());
        self.transcript.absorb_child(use_id, &event);
        self
    }

    pub fn heard(&mut self, from: &str, text: &str) -> &mut Self {
        let message = ChatMessage::user(text);
        self.fact(Fact::Heard { from: from.to_owned(), message, queued: Vec::new() })
    }

    pub fn said(&mut self, text: &str) -> &mut Self {
        self.spoke(vec![Block::text(text)])
    }

    pub fn wants(&mut self, use_id: &str, tool: &str, input: Value) -> &mut Self {
        self.spoke(vec![Block::tool_use(use_id, tool, input)])
    }

    pub fn runs(&mut self, use_id: &str, tool: &str, summary: &str, input: Value) -> &mut Self {
        self.json(json!({"kind": "toolStarted", "useId": use_id, "tool": tool, "summary": summary, "input": input}))
    }

    pub fn ended(&mut self, use_id: &str, failed: bool, summary: &str, data: Value) -> &mut Self {
        self.json(json!({"kind": "toolEnded", "useId": use_id, "failed": failed, "summary": summary, "millis": 1200, "data": data}))
    }

    fn spoke(&mut self, blocks: Vec<Block>) -> &mut Self {
        self.fact(Fact::Spoke {
            id: "msg".to_owned(),
            model: "demo".to_owned(),
            message: ChatMessage::assistant(blocks),
            stop: "end_turn".to_owned(),
            usage: json!({}),
            usd: None,
            own_usd: None,
            context: 1000,
            window: None,
        })
    }

    /// Draws, and takes note of what was seen, as the console does.
    pub fn draw(&mut self, width: u16, height: u16) -> Buffer {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        self.cache.begin(Stamp::from_millis(self.now), [("scout", "blue"), ("fixer", "green")]);
        let (transcript, scroll) = (&self.transcript, &self.scroll);
        draw_transcript(area, &mut buffer, transcript, scroll, &mut self.cache, &self.theme, true);
        if let Some(seen) = self.cache.seen(&self.transcript) {
            self.scroll.settle(seen);
        }
        buffer
    }

    pub fn seen(&self) -> Seen {
        self.cache.seen(&self.transcript).unwrap()
    }

    pub fn picture(&mut self, width: u16, height: u16) -> String {
        text(&self.draw(width, height))
    }
}

/// The letters of a screen, without blanks at the ends of rows and without empty rows below.
pub fn text(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(usize::from(buffer.area.width));
    let mut out = String::new();
    for row in rows {
        let mut skip = 0;
        let mut line = String::new();
        for cell in row {
            if skip == 0 {
                line.push_str(cell.symbol());
                skip = quarterdeck::console::text::width::width(cell.symbol()).max(1);
            }
            skip -= 1;
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.trim_end().to_owned()
}

pub fn plain(lines: &[Line<'_>]) -> String {
    let text = |line: &Line<'_>| {
        let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
        text.trim_end().to_owned()
    };
    lines.iter().map(text).collect::<Vec<_>>().join("\n")
}
