//! A team in this process whose members say what a test tells them to.

use std::collections::VecDeque;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, stream};
use quarterdeck::agent::brains::Brains;
use quarterdeck::agent::context::Limits;
use quarterdeck::agent::definition::{Catalog as Kinds, Sources};
use quarterdeck::agent::office::Policy;
use quarterdeck::model::usage::Usage;
use quarterdeck::model::{Answer, Chunk, Model, ModelError, Request, Stop, StopReason};
use quarterdeck::permission::View;
use quarterdeck::protocol::content::{Block, ChatMessage, Role};
use quarterdeck::protocol::event::{Event, Fact};
use quarterdeck::protocol::ids::{AgentId, AgentName, SessionId, TeamDir, TeamName};
use quarterdeck::protocol::op::{Mode, Op, SpawnWish, When};
use quarterdeck::protocol::task::Task;
use quarterdeck::protocol::team::Team as Roster;
use quarterdeck::session::live::{Definitions, Live, Start};
use quarterdeck::settings::budgets::Budgets;
use quarterdeck::settings::models::{Catalog, REHEARSAL};
use quarterdeck::settings::paths::Home;
use quarterdeck::store::journal::read_after;
use quarterdeck::store::{Durability, Store};
use quarterdeck::team::policy::Policy as TeamPolicy;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

/// Far more than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What a model does next.
#[derive(Clone)]
pub enum Part {
    Say(Chunk),
    Fail(ModelError),
    Panic,
    /// Says nothing more until it is stopped.
    Hang,
    /// Tells that it came here and goes on when it may.
    Gate(Gate),
}

#[derive(Clone, Default)]
pub struct Gate {
    pub reached: Arc<Notify>,
    pub open: Arc<Notify>,
}

/// A request as its model sees it.
pub struct Asked {
    pub agent: String,
    pub request: Arc<Request>,
}

impl Asked {
    pub fn messages(&self) -> Vec<ChatMessage> {
        self.request.messages.messages().cloned().collect()
    }

    /// What was said last: results of tools, mail, words.
    pub fn newest(&self) -> String {
        let last = self.request.messages.messages().next_back();
        last.map(whole).unwrap_or_default()
    }
}

/// A message with all that is in it, as JSON.
pub fn whole(message: &ChatMessage) -> String {
    serde_json::to_string(message).unwrap()
}

type Play = Box<dyn Fn(&Asked) -> Vec<Part> + Send + Sync>;

/// A model that answers as a function says.
pub struct Cast {
    play: Play,
    pub seen: Mutex<Vec<(String, Vec<ChatMessage>)>>,
    keeps: bool,
}

impl Cast {
    pub fn new(play: impl Fn(&Asked) -> Vec<Part> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { play: Box::new(play), seen: Mutex::default(), keeps: true })
    }

    /// Remembers no requests, for long runs.
    pub fn forgetful(play: impl Fn(&Asked) -> Vec<Part> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { play: Box::new(play), seen: Mutex::default(), keeps: false })
    }

    /// The newest conversation of an agent as its model saw it.
    pub fn last_of(&self, agent: &str) -> Vec<ChatMessage> {
        let seen = self.seen.lock().unwrap();
        let last = seen.iter().rev().find(|(who, _)| who == agent);
        last.map(|(_, messages)| messages.clone()).unwrap_or_default()
    }

    pub fn asked(&self, agent: &str) -> usize {
        self.seen.lock().unwrap().iter().filter(|(who, _)| who == agent).count()
    }
}

impl Model for Cast {
    fn stream(&self, request: Arc<Request>, stop: Stop) -> Answer {
        let asked = Asked { agent: request.caller.agent.clone(), request };
        if self.keeps {
            self.seen.lock().unwrap().push((asked.agent.clone(), asked.messages()));
        }
        let parts: VecDeque<Part> = (self.play)(&asked).into();
        let play = |(mut parts, stop): (VecDeque<Part>, Stop)| async move {
            loop {
                if stop.is_cancelled() {
                    return Some((Err(ModelError::Stopped), (VecDeque::new(), stop)));
                }
                match parts.pop_front()? {
                    Part::Say(chunk) => return Some((Ok(chunk), (parts, stop))),
                    Part::Fail(error) => return Some((Err(error), (VecDeque::new(), stop))),
                    Part::Panic => panic!("the model of a test breaks down"),
                    Part::Hang => stop.cancelled().await,
                    Part::Gate(gate) => {
                        gate.reached.notify_one();
                        stop.run_until_cancelled(gate.open.notified()).await;
                    }
                }
            }
        };
        let ended = stream::unfold((parts, stop), play);
        ended
            .scan(false, |failed, item: Result<Chunk, ModelError>| {
                let go_on = !std::mem::replace(failed, item.is_err());
                futures::future::ready(go_on.then_some(item))
            })
            .boxed()
    }
}

fn next_id(what: &str) -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("{what}_{}_{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed))
}

fn answer(blocks: Vec<Block>, stop: StopReason) -> Vec<Part> {
    let id = next_id("msg");
    let started = Chunk::Started { id, model: "m".to_owned(), usage: Usage::default() };
    let blocks = blocks.into_iter().enumerate();
    let mut parts = vec![Part::Say(started)];
    parts.extend(blocks.map(|(index, block)| Part::Say(Chunk::Block { index, block })));
    let usage = Usage { input: 10, output: 1, ..Usage::default() };
    parts.push(Part::Say(Chunk::Ended { stop, usage }));
    parts
}

pub fn say(text: &str) -> Vec<Part> {
    answer(vec![Block::text(text)], StopReason::EndTurn)
}

pub fn call(tool: &str, input: Value) -> Vec<Part> {
    calls(&[(tool, input)])
}

pub fn calls(uses: &[(&str, Value)]) -> Vec<Part> {
    let block =
        |(tool, input): &(&str, Value)| Block::tool_use(next_id("toolu"), *tool, input.clone());
    answer(uses.iter().map(block).collect(), StopReason::ToolUse)
}

pub fn letter(to: &str, words: &str) -> (&'static str, Value) {
    ("SendMessage", json!({ "to": to, "message": words, "summary": "words" }))
}

/// The calls that words ask for: see [`order`].
fn ordered(asked: &Asked) -> Option<Vec<Part>> {
    let new = asked.request.messages.messages().rev();
    let mut new = new.take_while(|message| message.role == Role::User);
    let uses: Vec<(String, Value)> = new.find_map(|message| {
        serde_json::from_str(message.content.text().strip_prefix("DO ")?).ok()
    })?;
    let uses: Vec<(&str, Value)> =
        uses.iter().map(|(tool, input)| (tool.as_str(), input.clone())).collect();
    Some(calls(&uses))
}

/// Everyone does what [`order`] says, and is content otherwise.
pub fn obedient() -> Arc<Cast> {
    obedient_but(|_| None)
}

/// As `obedient`, where the function does not say otherwise.
pub fn obedient_but(
    play: impl Fn(&Asked) -> Option<Vec<Part>> + Send + Sync + 'static,
) -> Arc<Cast> {
    Cast::new(move |asked| {
        play(asked)
            .or_else(|| ordered(asked))
            .unwrap_or_else(|| say(&format!("ok {}", asked.agent)))
    })
}

/// Has an agent call tools; their results, and whether each is an error.
pub async fn order(live: &Live, who: AgentId, uses: &[(&str, Value)]) -> Vec<(String, bool)> {
    let after = live.office.journal.latest();
    tell(live, who.clone(), &format!("DO {}", json!(uses))).await;
    let what = format!("{who} to do {uses:?}");
    let found = event(live, after, &what, |event| match &event.fact {
        Fact::Heard { from, message, .. }
            if from == "tools" && event.agent.as_ref() == Some(&who) =>
        {
            Some(results(message))
        }
        _ => None,
    });
    found.await.1
}

pub async fn order_lead(live: &Live, uses: &[(&str, Value)]) -> Vec<(String, bool)> {
    order(live, live.lead().cx.me.clone(), uses).await
}

fn results(message: &ChatMessage) -> Vec<(String, bool)> {
    let value = serde_json::to_value(message).unwrap();
    let blocks = value["content"].as_array().cloned().unwrap_or_default();
    let text = |block: &Value| match &block["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    blocks.iter().map(|block| (text(block), block["is_error"] == true)).collect()
}

/// Waits at a gate, then goes on.
pub fn behind(gate: &Gate, parts: Vec<Part>) -> Vec<Part> {
    std::iter::once(Part::Gate(gate.clone())).chain(parts).collect()
}

/// The answer to a request to end, if the newest message holds one.
pub fn shutdown_answer(asked: &Asked, approve: bool, why: &str) -> Option<Vec<Part>> {
    let newest = asked.newest();
    let id = &newest[newest.find("shutdown-")?..];
    if !newest.contains("shutdown_request") {
        return None;
    }
    let end = id.find(|c: char| !(c.is_ascii_alphanumeric() || "-@_".contains(c)))?;
    let response = json!({
        "type": "shutdown_response", "request_id": &id[..end], "approve": approve, "content": why,
    });
    Some(call("SendMessage", response))
}

pub struct Rig {
    dir: TempDir,
    pub project: PathBuf,
    pub store: Store,
    pub mode: Mode,
    pub limits: Limits,
    pub team: TeamPolicy,
    pub office: Policy,
    pub budgets: Budgets,
}

impl Rig {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = root.join("project");
        std::fs::create_dir(&project).unwrap();
        let store = Store::open(Home::at(root.join("home")), Durability::ProcessCrash);
        let (mode, limits, team) =
            (Mode::BypassPermissions, Limits::default(), TeamPolicy::default());
        let (office, budgets) = (Policy::default(), Budgets::default());
        Self { dir, project, store, mode, limits, team, office, budgets }
    }

    pub async fn start(&self, cast: &Arc<Cast>) -> Live {
        self.start_again(cast, None).await
    }

    pub async fn start_again(&self, cast: &Arc<Cast>, session: Option<SessionId>) -> Live {
        let catalog = Catalog::load(None).unwrap();
        let chosen = catalog.resolve(REHEARSAL).unwrap();
        let brains = Brains::only(catalog, Arc::clone(cast) as Arc<dyn Model>, chosen.clone());
        let brain = brains.open(chosen).unwrap();
        let mut view = View::new(self.mode, &self.project, Some(&self.dir.path().join("user")));
        view.protect_home(self.store.home());
        let start = Start {
            team: self.team,
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
            policy: self.office,
            limits: self.limits,
            limit_usd: None,
            budgets: self.budgets,
        };
        Live::start(start).await.unwrap()
    }
}

/// The directory of the session's team.
pub fn team_of(live: &Live) -> TeamDir {
    live.team().roll().expect("a team").dir.clone()
}

/// Somebody of the session's team, whether there or not.
pub fn one(live: &Live, name: &str) -> AgentId {
    let team = live.team().roll().map_or_else(|| TeamName::found("none"), |roll| roll.name.clone());
    AgentId::new(&AgentName::found(name), &team)
}

pub fn roster(live: &Live) -> Arc<Roster> {
    live.office.store.rosters().team(&team_of(live)).unwrap()
}

pub fn task(live: &Live, id: &str) -> Option<Task> {
    let id = quarterdeck::protocol::ids::TaskId::written(id);
    live.office.store.tasks(&team_of(live)).get(&id).unwrap()
}

pub async fn spawn(live: &Live, name: &str, prompt: &str) {
    let wish = SpawnWish { name: name.into(), prompt: prompt.into(), ..SpawnWish::default() };
    live.submit(Op::Spawn { wish: Box::new(wish) }).await.unwrap();
}

pub async fn tell(live: &Live, to: AgentId, text: &str) {
    live.submit(Op::Say { to, text: text.to_owned(), when: When::Next }).await.unwrap();
}

pub async fn tell_lead(live: &Live, text: &str) {
    tell(live, live.lead().cx.me.clone(), text).await;
}

/// Until nobody has anything to do.
pub async fn quiet(live: &Live) {
    in_time("all to be quiet", async {
        let (mut doing, mut moves) = (live.doing(), live.team().moves());
        while !live.is_idle() {
            // The pause only bounds how long a change that neither tells of stays unseen.
            tokio::select! {
                _ = doing.changed() => {}
                _ = moves.changed() => {}
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
        }
    })
    .await;
}

/// The first event after `after` that is what is looked for.
pub async fn event<T>(
    live: &Live,
    after: u64,
    what: &str,
    find: impl Fn(&Event) -> Option<T>,
) -> (u64, T) {
    let mut events = live.events(after);
    let found = async {
        while let Some(event) = events.next().await {
            if let Some(found) = find(&event) {
                return (event.seq, found);
            }
        }
        panic!("the events ended");
    };
    in_time(what, found).await
}

/// Waits until somebody is idle for this reason.
pub async fn idle(live: &Live, after: u64, name: &str, why: &str) -> u64 {
    let what = format!("{name} idle: {why}");
    let found = event(live, after, &what, |event| {
        let it = event.agent.as_ref().is_some_and(|agent| agent.name == *name);
        matches!(&event.fact, Fact::WentIdle { reason, .. } if it && reason == why).then_some(())
    });
    found.await.0
}

pub fn facts(live: &Live) -> Vec<(Option<AgentId>, Fact)> {
    let events = read_after(live.office.journal.path(), 0).unwrap().events;
    events.into_iter().map(|event| (event.agent, event.fact)).collect()
}

pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(PATIENCE, future).await;
    waited.unwrap_or_else(|_| panic!("it took too long: {what}"))
}

pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    in_time(what, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// A conversation that every provider takes: it begins with the user, every call has its result
/// right behind it, and no result is without its call.
#[track_caller]
pub fn assert_valid(messages: &[ChatMessage]) {
    assert_eq!(messages.first().map(|first| first.role), Some(Role::User), "{messages:#?}");
    let ids = |message: &ChatMessage, kind: &str, key: &str| -> Vec<String> {
        let value = serde_json::to_value(message).unwrap();
        let blocks = value["content"].as_array().cloned().unwrap_or_default();
        let own = blocks.iter().filter(|block| block["type"] == kind);
        own.filter_map(|block| block[key].as_str().map(str::to_owned)).collect()
    };
    for (at, message) in messages.iter().enumerate() {
        let called = ids(message, "tool_use", "id");
        let next = messages.get(at + 1);
        let answered = next.map(|next| ids(next, "tool_result", "tool_use_id")).unwrap_or_default();
        assert_eq!(called, answered, "at {at} of {messages:#?}");
    }
}
