//! `quarterdeck model`: which models there are, which one would be used, and a question to it.

use std::env;
use std::io::{self, Write};
use std::sync::Arc;

use futures::StreamExt;
use serde_json::{Value, json};

use super::args::{AskModel, ModelCommand};
use super::failure::Failure;
use super::out::{Out, table};
use super::printable::printable;
use super::stop::stop_on_signal;
use crate::model::choose::{self, Origin, Wish};
use crate::model::pricing::{Meter, cost};
use crate::model::rehearsal::Rehearsal;
use crate::model::rehearsal::playbook::{Pace, Playbook};
use crate::model::rehearsal::player::Unmatched;
use crate::model::request::{
    Caller, Conversation, Effort, Prefix, Purpose, Request, Sampling, SystemBlock, Thinking,
    ToolChoice,
};
use crate::model::{Chunk, Model, ModelError, StopReason, retry};
use crate::protocol::content::ChatMessage;
use crate::settings::models::{Catalog, Chosen, Facts, REHEARSAL, ThinkingKind};
use crate::settings::{layers, paths};

/// What a model may write at most, unless its own limit is lower or another one is asked for.
const MAX_TOKENS: u32 = 8_192;

pub fn run(command: ModelCommand, out: &mut Out) -> Result<(), Failure> {
    match command {
        ModelCommand::List => list(&catalog()?, out),
        ModelCommand::Show { name } => show(&catalog()?, name.as_deref(), out),
        ModelCommand::Ask(ask) => question(&ask, out),
    }
}

/// The embedded list with the user's on top.
pub(super) fn catalog() -> Result<Catalog, Failure> {
    let file = paths::models_file();
    let own = match file.as_ref().map(|file| (file, std::fs::read_to_string(file))) {
        Some((file, Ok(text))) => Some((file.display().to_string(), text)),
        Some((file, Err(error))) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Failure::bad_input(format!("{}: {error}", file.display())));
        }
        Some((_, Err(_))) | None => None,
    };
    let own = own.as_ref().map(|(file, text)| (file.as_str(), text.as_str()));
    Catalog::load(own).map_err(|error| Failure::bad_input(error.to_string()))
}

pub(super) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

fn list(catalog: &Catalog, out: &mut Out) -> Result<(), Failure> {
    let alias_of = |name: &str| {
        let named = catalog.aliases().filter(|(_, full)| *full == name);
        named.map(|(alias, _)| alias.to_owned()).collect::<Vec<_>>()
    };
    let values: Vec<Value> = catalog
        .models()
        .map(|(name, facts)| {
            let mut value = value(facts);
            value["name"] = json!(name);
            value["aliases"] = json!(alias_of(name));
            value
        })
        .collect();
    let mut rows = vec![["MODEL", "ALIAS", "WINDOW", "INPUT", "OUTPUT"].map(str::to_owned)];
    for (name, facts) in catalog.models() {
        let price = |of: fn(&crate::settings::models::Price) -> f64| {
            facts.price.as_ref().map_or("–".to_owned(), |price| format!("${}", of(price)))
        };
        rows.push([
            name.to_owned(),
            alias_of(name).join(", "),
            facts.window.map_or("–".to_owned(), |window| format!("{}k", window / 1000)),
            price(|price| price.input),
            price(|price| price.output),
        ]);
    }
    out.answer(&values, || {
        let file = paths::models_file().map(|file| file.display().to_string());
        let file = file.unwrap_or_else(|| "models.toml".to_owned());
        format!(
            "{}\n\nPrices are for a million tokens. Change or add models in {file}",
            table(&rows)
        )
    })
}

fn value(facts: &Facts) -> Value {
    let price = facts.price.map(|price| {
        json!({
            "input": price.input,
            "output": price.output,
            "cacheWrite": price.cache_write,
            "cacheRead": price.cache_read,
        })
    });
    json!({ "window": facts.window, "output": facts.output, "price": price })
}

pub(super) fn chosen(catalog: &Catalog, named: Option<&str>) -> Result<(Chosen, Origin), Failure> {
    let project = env::current_dir()?;
    let settings = layers::load(&layers::files(&project));
    let settings = settings.map_err(|error| Failure::bad_input(error.to_string()))?;
    let wish = Wish { command_line: named, settings: settings.model.as_deref() };
    choose::choose(catalog, &wish, variable).map_err(|error| Failure::bad_input(error.to_string()))
}

fn show(catalog: &Catalog, name: Option<&str>, out: &mut Out) -> Result<(), Failure> {
    let (chosen, origin) = chosen(catalog, name)?;
    let ready = choose::open(&chosen, variable).err().map(|error| error.to_string());
    let mut value = value(&chosen.facts);
    value["name"] = json!(chosen.name());
    value["because"] = json!(origin.in_words());
    value["usable"] = json!(ready.is_none());
    value["notice"] = json!(chosen.notice);
    out.answer(&value, || {
        let mut lines = vec![format!("{} ({})", chosen.name(), origin.in_words())];
        lines.extend(chosen.notice.clone());
        lines.extend(ready);
        lines.join("\n")
    })
}

/// Asks one question and prints the answer as it comes.
fn question(ask: &AskModel, out: &mut Out) -> Result<(), Failure> {
    let (model, chosen) = opened(ask)?;
    if let Some(notice) = chosen.notice.as_ref().filter(|_| !out.is_json()) {
        out.remark(notice);
    }
    let request = Arc::new(request(ask, &chosen));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(answer(model, request, &chosen, out));
    // A name that is being looked up cannot be called back, and need not be waited for.
    runtime.shutdown_background();
    outcome
}

async fn answer(
    model: Arc<dyn Model>,
    request: Arc<Request>,
    chosen: &Chosen,
    out: &mut Out,
) -> Result<(), Failure> {
    let stop = stop_on_signal()?;
    let mut shown = Shown::default();
    let mut answer = model.stream(request, stop);
    let (mut meter, mut text, mut ended) = (Meter::default(), String::new(), None);
    while let Some(chunk) = answer.next().await {
        let chunk = chunk.map_err(failed)?;
        meter.absorb(&chunk);
        match chunk {
            Chunk::Text { text: more, .. } => {
                text.push_str(&more);
                if !out.is_json() && !shown.add(&more)? {
                    return Ok(()); // nobody reads any more
                }
            }
            Chunk::Retrying { why, wait, attempt, of } => {
                out.remark(&retry::sentence(&why, wait, attempt, of));
            }
            Chunk::Ended { stop, .. } => ended = Some(stop),
            Chunk::Started { .. }
            | Chunk::Thinking { .. }
            | Chunk::ToolStarted { .. }
            | Chunk::ToolInput { .. }
            | Chunk::Block { .. } => {}
        }
    }
    tell(chosen, &text, &meter, ended, out)
}

/// Text that is printed as it comes, but for an escape sequence that is not whole yet.
#[derive(Default)]
struct Shown {
    held: String,
}

impl Shown {
    /// `false` when nobody reads any more.
    fn add(&mut self, more: &str) -> io::Result<bool> {
        const LONGEST_ESCAPE: usize = 4096;
        self.held.push_str(more);
        let open = self.held.rfind('\x1b').filter(|at| {
            let tail = &self.held[*at..];
            tail.len() < LONGEST_ESCAPE && !tail.contains('\n') && printable(tail).is_empty()
        });
        let rest = self.held.split_off(open.unwrap_or(self.held.len()));
        let text = std::mem::replace(&mut self.held, rest);
        let mut stdout = io::stdout();
        match write!(stdout, "{}", printable(&text)).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }
}

fn opened(ask: &AskModel) -> Result<(Arc<dyn Model>, Chosen), Failure> {
    let catalog = catalog()?;
    let Some(file) = &ask.playbook else {
        let (chosen, _) = chosen(&catalog, ask.model.as_deref())?;
        let model = choose::open(&chosen, variable);
        return Ok((model.map_err(|error| Failure::bad_input(error.to_string()))?, chosen));
    };
    let playbook = Playbook::load(file).map_err(|error| Failure::bad_input(error.to_string()))?;
    let rehearsal = Rehearsal::new(Arc::new(playbook), Unmatched::Fail).at_pace(Pace::AtOnce);
    Ok((Arc::new(rehearsal), chosen(&catalog, Some(REHEARSAL))?.0))
}

fn request(ask: &AskModel, chosen: &Chosen) -> Request {
    let system = ask.system.iter().map(|text| SystemBlock { text: text.clone(), cached: true });
    let limit = chosen.facts.output.unwrap_or(MAX_TOKENS).min(MAX_TOKENS);
    let cwd = env::current_dir().unwrap_or_default();
    Request {
        model: chosen.id.clone(),
        prefix: Arc::new(Prefix::new(system.collect(), Vec::new())),
        messages: Conversation::from_iter([ChatMessage::user(&ask.text)]),
        max_tokens: ask.max_tokens.unwrap_or(limit),
        sampling: Sampling::default(),
        thinking: match chosen.facts.thinking {
            Some(ThinkingKind::Adaptive) => Thinking::Adaptive(Effort::Usual),
            Some(ThinkingKind::Budget) | None => Thinking::Off,
        },
        tool_choice: ToolChoice::Auto,
        caller: Caller {
            agent: "team-lead".to_owned(),
            agent_type: None,
            team: None,
            cwd: cwd.to_string_lossy().into_owned(),
            purpose: Purpose::Turn,
        },
    }
}

fn tell(
    chosen: &Chosen,
    text: &str,
    meter: &Meter,
    stop: Option<StopReason>,
    out: &mut Out,
) -> Result<(), Failure> {
    let usage = meter.usage();
    let usd = chosen.facts.price.as_ref().map(|price| cost(price, &usage));
    let value = json!({
        "model": chosen.name(), "text": text, "stopReason": stop, "usage": usage, "usd": usd,
    });
    if out.is_json() {
        return out.answer(&value, String::new);
    }
    writeln!(io::stdout())?;
    let price = usd.map_or("price unknown".to_owned(), |usd| format!("${usd:.4}"));
    let (input, output) = (usage.all_input(), usage.output);
    out.remark(&format!("{}: {input} tokens in, {output} out, {price}", chosen.name()));
    Ok(())
}

fn failed(error: ModelError) -> Failure {
    let reason = match &error {
        ModelError::Authentication { .. } => "authentication",
        ModelError::NotFound { .. } => "not_found",
        ModelError::InvalidRequest { .. } => "invalid_request",
        ModelError::RateLimited { .. } => "rate_limited",
        ModelError::Overloaded { .. } => "overloaded",
        ModelError::ContextTooLong { .. } => "context_too_long",
        ModelError::Network { .. } => "network",
        ModelError::StreamBroken { .. } => "stream_broken",
        ModelError::BadAnswer { .. } => "bad_answer",
        ModelError::Stopped => return Failure::Interrupted,
    };
    Failure::no(reason, error.to_string())
}
