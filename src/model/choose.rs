//! From a name to a model that can be asked.
//!
//! A name comes from the command line, else `QUARTERDECK_MODEL`, else the settings. Without one
//! the keys in the environment decide; without any, the rehearsal answers.

use std::sync::Arc;

use super::Model;
use super::anthropic::{self, Anthropic, Auth};
use super::http::setting;
use super::openai::{self, OpenAi};
use super::rehearsal::Rehearsal;
use super::rehearsal::playbook::Playbook;
use super::rehearsal::player::Unmatched;
use crate::settings::models::{Catalog, Chosen, ModelsError, Provider, REHEARSAL};

/// The playbook that answers when nothing is configured.
const DEMO: &str = include_str!("../../assets/playbooks/demo.yaml");

/// Where the name of a model came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    CommandLine,
    Environment,
    Settings,
    /// Nobody named one, but there is a key for this provider.
    KeyFound,
    NothingConfigured,
}

impl Origin {
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::CommandLine => "named on the command line",
            Self::Environment => "named by QUARTERDECK_MODEL",
            Self::Settings => "named in the settings",
            Self::KeyFound => "the default for the key in the environment",
            Self::NothingConfigured => "nothing is configured",
        }
    }
}

/// What a person said about which model to use.
#[derive(Debug, Clone, Default)]
pub struct Wish<'a> {
    pub command_line: Option<&'a str>,
    pub settings: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    #[error(transparent)]
    Models(#[from] ModelsError),
    #[error(
        "{model} needs a key: set {variable}, or use another model (`--model {REHEARSAL}` needs none)"
    )]
    NoKey { model: String, variable: &'static str },
    #[error("there is no playbook `{0}`; the embedded one is {REHEARSAL}")]
    NoPlaybook(String),
}

/// Which model a wish leads to, and why that one. `lookup` gives the value of a variable.
pub fn choose(
    catalog: &Catalog,
    wish: &Wish<'_>,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<(Chosen, Origin), ModelsError> {
    let named = setting(&lookup, "QUARTERDECK_MODEL");
    let anthropic = setting(&lookup, "ANTHROPIC_API_KEY")
        .or_else(|| setting(&lookup, "ANTHROPIC_AUTH_TOKEN"))
        .or_else(|| setting(&lookup, "ANTHROPIC_BASE_URL"))
        .and(catalog.default_of(Provider::Anthropic));
    let openai = setting(&lookup, "OPENAI_API_KEY").and(catalog.default_of(Provider::OpenAi));
    let (name, origin) = match (wish.command_line, named.as_deref(), wish.settings) {
        (Some(name), _, _) => (name, Origin::CommandLine),
        (None, Some(name), _) => (name, Origin::Environment),
        (None, None, Some(name)) => (name, Origin::Settings),
        (None, None, None) => match anthropic.or(openai) {
            Some(name) => (name, Origin::KeyFound),
            None => (REHEARSAL, Origin::NothingConfigured),
        },
    };
    let mut chosen = catalog.resolve(name)?;
    if origin == Origin::NothingConfigured && setting(&lookup, "OPENAI_BASE_URL").is_some() {
        // What it is called there, nobody can guess.
        let notice = "OPENAI_BASE_URL is set, but no model is named: use --model openai/NAME";
        chosen.notice = Some(notice.to_owned());
    }
    Ok((chosen, origin))
}

/// A model that can be asked, with the keys that `lookup` finds.
pub fn open(
    chosen: &Chosen,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Arc<dyn Model>, ChooseError> {
    let no_key = |variable| ChooseError::NoKey { model: chosen.name(), variable };
    match chosen.provider {
        Provider::Anthropic => {
            let endpoint = anthropic::Endpoint::from_env(&lookup);
            // A server of one's own may want no key.
            let elsewhere = setting(&lookup, "ANTHROPIC_BASE_URL").is_some();
            if matches!(endpoint.auth, Auth::None) && !elsewhere {
                return Err(no_key("ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"));
            }
            Ok(Arc::new(Anthropic::new(endpoint)))
        }
        Provider::OpenAi => {
            let endpoint = openai::Endpoint::from_env(&lookup);
            if endpoint.key.is_none() && setting(&lookup, "OPENAI_BASE_URL").is_none() {
                return Err(no_key("OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own"));
            }
            Ok(Arc::new(OpenAi::new(endpoint)))
        }
        Provider::Rehearsal if chosen.name() == REHEARSAL => Ok(Arc::new(demo())),
        Provider::Rehearsal => Err(ChooseError::NoPlaybook(chosen.id.clone())),
    }
}

/// The embedded playbook. A test reads it: it has no mistakes.
pub fn demo_playbook() -> Playbook {
    Playbook::parse(DEMO).unwrap_or_default()
}

fn demo() -> Rehearsal {
    Rehearsal::new(Arc::new(demo_playbook()), Unmatched::EndPolitely)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(wish: &Wish<'_>, variables: &[(&str, &str)]) -> (String, Origin) {
        let lookup = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned())
        };
        let (chosen, origin) = choose(&Catalog::load(None).unwrap(), wish, lookup).unwrap();
        (chosen.name(), origin)
    }

    #[test]
    fn the_nearest_word_counts_and_keys_decide_without_one() {
        let line = Wish { command_line: Some("opus"), settings: Some("haiku") };
        let settings = Wish { command_line: None, settings: Some("haiku") };
        let (opus, haiku) = ("anthropic/claude-opus-5-5", "anthropic/claude-haiku-5-5");
        let named = [("QUARTERDECK_MODEL", "openai/x")];
        assert_eq!(chosen(&line, &named), (opus.into(), Origin::CommandLine));
        assert_eq!(chosen(&settings, &named), ("openai/x".into(), Origin::Environment));
        assert_eq!(chosen(&settings, &[]), (haiku.into(), Origin::Settings));
        let key = [("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k")];
        let sonnet = "anthropic/claude-sonnet-5-5";
        assert_eq!(chosen(&Wish::default(), &key), (sonnet.into(), Origin::KeyFound));
        let openai = chosen(&Wish::default(), &key[1..]);
        assert_eq!(openai, ("openai/gpt-5.4".into(), Origin::KeyFound));
        let nothing = chosen(&Wish::default(), &[("ANTHROPIC_API_KEY", " ")]);
        assert_eq!(nothing, (REHEARSAL.into(), Origin::NothingConfigured));
    }

    #[test]
    fn a_missing_key_is_named_and_the_demo_needs_none() {
        let catalog = Catalog::load(None).unwrap();
        let open = |name: &str, url: Option<&str>| {
            let url = url.map(str::to_owned);
            open(&catalog.resolve(name).unwrap(), |v| {
                url.clone().filter(|_| v.ends_with("BASE_URL"))
            })
        };
        let refused = |name: &str| open(name, None).err().map(|error| error.to_string());
        assert!(refused("opus").unwrap().contains("ANTHROPIC_API_KEY"));
        assert!(refused("openai/x").unwrap().contains("OPENAI_BASE_URL"));
        assert!(refused("rehearsal/other").unwrap().contains("rehearsal/demo"));
        assert!(refused(REHEARSAL).is_none());
        assert!(open("opus", Some("http://127.0.0.1:1")).is_ok());
        assert!(open("openai/x", Some("http://127.0.0.1:1")).is_ok());
        assert!(Playbook::parse(DEMO).is_ok());
    }
}
