//! AskUserQuestion: questions in words for the person, put into the one queue of asks.

use std::fmt::Write as _;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, first_line, parse};
use crate::permission::Access;
use crate::protocol::ask::{Ask, Offer, Question, Reason, Risk, Verdict, Words};
use crate::protocol::ids::AskId;
use crate::store::files;

pub const NAME: &str = "AskUserQuestion";

/// More at once is a form, not a question.
const MOST_QUESTIONS: usize = 4;
/// Each has a digit of its own on the keyboard.
const MOST_OPTIONS: usize = 9;

const DESCRIPTION: &str = "\
Asks the user one to four questions and waits for the answers. Use it when a decision is theirs: what \
they want, which of several ways to go, something that no file can tell you. Do not ask what you can \
find out, nor whether to go on.

Give each question two to four options that differ, the one you would take first, with what follows \
from it in the description. The user can always answer in words of their own, so add no option \
\"Other\". Set `multiSelect` when several options can hold together. `header` is a word or two for \
where space is short.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// One to four questions.
    #[schemars(length(min = 1, max = 4))]
    questions: Vec<Asked>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Asked {
    /// The whole question, ending in a question mark.
    question: String,
    /// A word or two that stand for it.
    #[serde(default)]
    header: String,
    /// What can be answered.
    #[serde(default)]
    options: Vec<Choice>,
    /// Whether several options may be taken.
    #[serde(default)]
    multi_select: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Choice {
    /// A few words.
    label: String,
    /// What follows from taking it.
    #[serde(default)]
    description: String,
}

#[derive(Debug)]
pub struct AskUserTool {
    spec: Spec,
}

impl AskUserTool {
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>(NAME, DESCRIPTION, Needs::Nothing, false) }
    }
}

impl Default for AskUserTool {
    fn default() -> Self {
        Self::new()
    }
}

fn read(input: &Value) -> Result<Vec<Words>, Bad> {
    let input: Input = parse(NAME, input)?;
    let bad = |what: String| Err(Bad(what));
    if input.questions.is_empty() || input.questions.len() > MOST_QUESTIONS {
        return bad(format!("Ask one to {MOST_QUESTIONS} questions at once."));
    }
    for asked in &input.questions {
        if asked.question.trim().is_empty() {
            return bad("A question is empty.".to_owned());
        }
        if asked.options.len() > MOST_OPTIONS {
            return bad(format!("Offer at most {MOST_OPTIONS} options: {}", asked.question));
        }
        for (at, option) in asked.options.iter().enumerate() {
            let twice = asked.options[..at].iter().any(|other| other.label == option.label);
            if option.label.trim().is_empty() || twice {
                return bad(format!("Every option needs a label of its own: {}", asked.question));
            }
        }
    }
    let offer = |option: Choice| Offer { label: option.label, description: option.description };
    let words = |asked: Asked| Words {
        question: asked.question,
        header: asked.header,
        options: asked.options.into_iter().map(offer).collect(),
        multi_select: asked.multi_select,
    };
    Ok(input.questions.into_iter().map(words).collect())
}

impl Tool for AskUserTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, _: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        read(input).map(|_| vec![Access::Free])
    }

    fn summary(&self, input: &Value) -> String {
        first_line(input["questions"][0]["question"].as_str().unwrap_or_default())
    }

    fn run<'a>(
        &'a self,
        cx: &'a ToolContext,
        call: &'a Call,
        input: Value,
    ) -> BoxFuture<'a, Output> {
        ask(cx, call, input).boxed()
    }
}

async fn ask(cx: &ToolContext, call: &Call, input: Value) -> Output {
    let questions = match read(&input) {
        Ok(questions) => questions,
        Err(bad) => return Output::failed(bad.0),
    };
    let ask = Ask {
        // Follows from the use alone, so it is the same after a restart; and is not that of the
        // permission for this use.
        id: AskId::found(&format!("{}-words@{}", call.id, cx.me)),
        rev: 1,
        chain: cx.chain.clone(),
        color: cx.color.clone(),
        at: files::now(),
        cwd: cx.cwd.get(),
        why: Reason { kind: Some("words".to_owned()), ..Reason::default() },
        risk: Risk::Low,
        question: Question::Words { questions: questions.clone() },
        choices: Vec::new(),
        suggestions: Vec::new(),
        scopes: Vec::new(),
        lines: Vec::new(),
    };
    // No rule and no mode can answer for the person.
    let verdict = cx.desk.raise(ask, &|| None, cx.view.clone(), &call.stop).await;
    answer(&questions, verdict)
}

fn answer(questions: &[Words], verdict: Verdict) -> Output {
    match verdict {
        Verdict::Answered { answers } => answered(questions, &answers),
        Verdict::Chose { choice, text } => {
            let options = questions.first().map(|first| &first.options);
            let taken = options.and_then(|options| options.get(choice));
            let taken = taken.map(|offer| offer.label.clone());
            answered(questions, &[taken.into_iter().chain(text).collect()])
        }
        Verdict::Deny { why: Some(why) } => {
            Output::failed(format!("The user did not answer the questions, and says: {why}"))
        }
        Verdict::Allow { remark: Some(remark), .. } => Output::text(format!(
            "The user did not answer the questions one by one, but says: {remark}"
        )),
        Verdict::Deny { why: None } | Verdict::Allow { remark: None, .. } => Output::failed(
            "The user did not answer. Continue with what seems best and say what you assumed, or stop \
             if you cannot.",
        ),
        Verdict::Withdrawn { why } => Output::failed(format!("The user did not answer: {why}.")),
    }
}

fn answered(questions: &[Words], answers: &[Vec<String>]) -> Output {
    let mut said = "The user has answered:".to_owned();
    let mut short = Vec::new();
    let mut data = Vec::new();
    for (at, asked) in questions.iter().enumerate() {
        let taken = answers.get(at).map(Vec::as_slice).unwrap_or_default();
        let given = match taken.is_empty() {
            true => "(no answer)".to_owned(),
            false => taken.join("; "),
        };
        // Writing to a string cannot fail.
        let _ = write!(said, "\n\n{}\n→ {given}", asked.question);
        short.push(given);
        data.push(json!({ "question": asked.question, "answers": taken }));
    }
    Output::text(said).with_summary(first_line(&short.join(", "))).with_data(json!(data))
}
