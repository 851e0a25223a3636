//! A session in this process whose model says what a test tells it to.

use std::collections::VecDeque;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, stream};
use quarterdeck::agent::brains::Brains;
use quarterdeck::agent::context::Limits;
use quarterdeck::agent::definition::{Catalog as Kinds, Sources};
use quarterdeck::agent::life::Doing;
use quarterdeck::agent::office::Policy;
use quarterdeck::agent::turn::Outcome;
use quarterdeck::model::request::{Purpose, ToolChoice};
use quarterdeck::model::usage::Usage;
use quarterdeck::model::{Answer, Chunk, Model, ModelError, Request, Stop, StopReason};
use quarterdeck::permission::View;
use quarterdeck::protocol::content::{Block, ChatMessage, Known};
use quarterdeck::protocol::event::{Event, Fact};
use quarterdeck::protocol::ids::SessionId;
use quarterdeck::protocol::op::{Mode, Op, When};
use quarterdeck::session::live::{Definitions, Live, Start};
use quarterdeck::settings::models::{Catalog, Price, REHEARSAL};
use quarterdeck::settings::paths::Home;
use quarterdeck::store::journal::read_after;
use quarterdeck::store::transcript::lead_path;
use quarterdeck::store::{Durability, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

pub const PATIENCE: Duration = Duration::from_secs(30);

/// Part of an answer.
#[derive(Clone)]
pub enum Part {
    Say(Chunk),
    Fail(ModelError),
    /// Tells that it came here, and says nothing more until it is stopped.
    Hang(Arc<Notify>),
    /// Tells that it came here and goes on when it may.
    Gate {
        reached: Arc<Notify>,
        open: Arc<Notify>,
    },
}

/// A request as the model saw it.
#[derive(Clone)]
pub struct Asked {
    pub purpose: Purpose,
    pub agent: String,
    pub messages: Vec<ChatMessage>,
    pub system: Vec<String>,
    pub tools: Vec<String>,
    pub may_call: bool,
}

#[derive(Default)]
pub struct Script {
    answers: Mutex<VecDeque<Vec<Part>>>,
    /// For requests that summarise.
    summaries: Mutex<VecDeque<Vec<Part>>>,
    seen: Mutex<Vec<Asked>>,
}

impl Script {
    pub fn of(answers: impl IntoIterator<Item = Vec<Part>>) -> Arc<Self> {
        let script = Self::default();
        *script.answers.lock().unwrap() = answers.into_iter().collect();
        Arc::new(script)
    }

    pub fn add(&self, answer: Vec<Part>) {
        self.answers.lock().unwrap().push_back(answer);
    }

    /// Forgets the answers that were not given.
    pub fn skip(&self) {
        self.answers.lock().unwrap().clear();
    }

    pub fn summary(&self, answer: Vec<Part>) {
        self.summaries.lock().unwrap().push_back(answer);
    }

    pub fn seen(&self) -> Vec<Asked> {
        self.seen.lock().unwrap().clone()
    }

    pub fn turns(&self) -> Vec<Asked> {
        let is_turn = |asked: &Asked| asked.purpose == Purpose::Turn;
        self.seen().into_iter().filter(is_turn).collect()
    }
}

impl Model for Script {
    fn stream(&self, request: Arc<Request>, stop: Stop) -> Answer {
        let purpose = request.caller.purpose;
        self.seen.lock().unwrap().push(Asked {
            purpose,
            agent: request.caller.agent.clone(),
            messages: request.messages.messages().cloned().collect(),
            system: request.prefix.system.iter().map(|block| block.text.clone()).collect(),
            tools: request.prefix.tools.iter().map(|tool| tool.name.clone()).collect(),
            may_call: request.tool_choice != ToolChoice::None,
        });
        let from = match purpose {
            Purpose::Compact => &self.summaries,
            Purpose::Turn
            | Purpose::Fork
            | Purpose::Title
            | Purpose::Summary
            | Purpose::SideQuestion
            | Purpose::Memory => &self.answers,
        };
        let over = || {
            let message = "the script is over".to_owned();
            vec![Part::Fail(ModelError::InvalidRequest { message })]
        };
        let parts = from.lock().unwrap().pop_front().unwrap_or_else(over);
        let play = |(mut parts, stop): (VecDeque<Part>, Stop)| async move {
            loop {
                if stop.is_cancelled() {
                    return Some((Err(ModelError::Stopped), (VecDeque::new(), stop)));
                }
                match parts.pop_front()? {
                    Part::Say(chunk) => return Some((Ok(chunk), (parts, stop))),
                    Part::Fail(error) => return Some((Err(error), (VecDeque::new(), stop))),
                    Part::Hang(reached) => {
                        reached.notify_one();
                        stop.cancelled().await;
                    }
                    Part::Gate { reached, open } => {
                        reached.notify_one();
                        stop.run_until_cancelled(open.notified()).await;
                    }
                }
            }
        };
        // A stopped answer ends with its error: nothing may follow it.
        let ended = stream::unfold((parts.into(), stop), play);
        ended
            .scan(false, |failed, item: Result<Chunk, ModelError>| {
                let go_on = !std::mem::replace(failed, item.is_err());
                futures::future::ready(go_on.then_some(item))
            })
            .boxed()
    }
}

fn started() -> Part {
    let id = format!("msg_{}", uuid());
    Part::Say(Chunk::Started { id, model: "m".to_owned(), usage: Usage::default() })
}

fn uuid() -> String {
    static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    LAST.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string()
}

pub fn usage(tokens: u64) -> Usage {
    Usage { input: tokens, output: 1, ..Usage::default() }
}

/// An answer of these blocks that ends for this reason.
pub fn answer(blocks: Vec<Block>, stop: StopReason, tokens: u64) -> Vec<Part> {
    let mut parts = vec![started()];
    for (index, block) in blocks.into_iter().enumerate() {
        if let Some(Known::Text { text }) = block.meaning() {
            let text = text.clone();
            parts.push(Part::Say(Chunk::Text { index, text }));
        }
        parts.push(Part::Say(Chunk::Block { index, block }));
    }
    parts.push(Part::Say(Chunk::Ended { stop, usage: usage(tokens) }));
    parts
}

pub fn say(text: &str) -> Vec<Part> {
    answer(vec![Block::text(text)], StopReason::EndTurn, 10)
}

/// An answer that calls tools: id, tool, input.
pub fn calls(uses: &[(&str, &str, Value)]) -> Vec<Part> {
    let uses = uses.iter().map(|(id, tool, input)| Block::tool_use(*id, *tool, input.clone()));
    answer(uses.collect(), StopReason::ToolUse, 10)
}

pub fn bash(id: &'static str, command: &str) -> (&'static str, &'static str, Value) {
    (id, "Bash", json!({ "command": command, "description": "test" }))
}

/// Some text, and then something else happens.
pub fn half(text: &str, then: Part) -> Vec<Part> {
    let text = text.to_owned();
    vec![started(), Part::Say(Chunk::Text { index: 0, text }), then]
}

pub struct Rig {
    _dir: TempDir,
    pub root: PathBuf,
    pub project: PathBuf,
    pub store: Store,
    pub mode: Mode,
    pub limits: Limits,
    pub limit_usd: Option<f64>,
    pub window: Option<u64>,
}

impl Rig {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = root.join("project");
        std::fs::create_dir(&project).unwrap();
        let store = Store::open(Home::at(root.join("home")), Durability::ProcessCrash);
        let (mode, limits) = (Mode::BypassPermissions, Limits::default());
        Self { _dir: dir, root, project, store, mode, limits, limit_usd: None, window: None }
    }

    pub async fn start(&self, script: &Arc<Script>) -> Live {
        self.start_again(script, None).await
    }

    pub async fn start_again(&self, script: &Arc<Script>, session: Option<SessionId>) -> Live {
        let catalog = Catalog::load(None).unwrap();
        let mut chosen = catalog.resolve(REHEARSAL).unwrap();
        chosen.facts.window = self.window.or(chosen.facts.window);
        let price =
            Price { input: 1e6, output: 0.0, cache_write: 0.0, cache_read: 0.0, long: None };
        chosen.facts.price = Some(price);
        let model = Arc::clone(script) as Arc<dyn Model>;
        let brains = Brains::only(catalog, model, chosen.clone());
        let brain = brains.open(chosen).unwrap();
        let mut view = View::new(self.mode, &self.project, Some(&self.root.join("user")));
        view.protect_home(self.store.home());
        let start = Start {
            team: quarterdeck::team::policy::Policy::default(),
            store: self.store.clone(),
            session,
            project: self.project.clone(),
            view,
            mode_is_given: false,
            model_is_given: false,
            brains,
            brain,
            definitions: Definitions::Fixed(Kinds::load(&Sources::of(&self.project, None))),
            lead: None,
            tools: None,
            disallowed: vec![],
            policy: Policy::default(),
            limits: self.limits,
            limit_usd: self.limit_usd,
            budgets: quarterdeck::settings::budgets::Budgets::default(),
        };
        Live::start(start).await.unwrap()
    }

    pub fn transcript(&self, session: &SessionId) -> PathBuf {
        lead_path(self.store.home(), &self.project, session)
    }

    pub fn facts(&self, live: &Live) -> Vec<Fact> {
        let events = read_after(live.office.journal.path(), 0).unwrap().events;
        events.into_iter().map(|event: Event| event.fact).collect()
    }
}

pub async fn tell(live: &Live, text: &str, when: When) {
    let to = live.lead().cx.me.clone();
    live.submit(Op::Say { to, text: text.to_owned(), when }).await.unwrap();
}

/// Says something and waits for the end of the turn.
pub async fn ask(live: &Live, text: &str) -> Outcome {
    tell(live, text, When::Next).await;
    over(live).await
}

pub async fn interrupt(live: &Live) {
    live.submit(Op::Interrupt { agent: live.lead().cx.me.clone() }).await.unwrap();
}

/// Waits until the lead has nothing to do.
pub async fn over(live: &Live) -> Outcome {
    let mut doing = live.doing();
    let waited = async {
        loop {
            if live.is_idle()
                && let Doing::Waiting { last: Some(last) } = &*doing.borrow_and_update()
            {
                return last.clone();
            }
            let _ = tokio::time::timeout(Duration::from_millis(20), doing.changed()).await;
        }
    };
    in_time("the end of a turn", waited).await
}

pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(PATIENCE, future).await;
    waited.unwrap_or_else(|_| panic!("it took too long: {what}"))
}

/// Waits until something holds.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    in_time(what, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// The results in a message: id, text, whether it is an error.
pub fn results(message: &ChatMessage) -> Vec<(String, String, bool)> {
    let known = message.content.known().into_iter();
    let found = known.filter_map(|block| match block {
        Known::ToolResult { tool_use_id, content, is_error } => {
            let text = content.map(|content| content.text()).unwrap_or_default();
            Some((tool_use_id, text, is_error == Some(true)))
        }
        Known::Text { .. }
        | Known::Thinking { .. }
        | Known::RedactedThinking { .. }
        | Known::ToolUse { .. }
        | Known::Image { .. } => None,
    });
    found.collect()
}
