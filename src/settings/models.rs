//! Which models there are, by name: the embedded list, and what the user changed about it.
//!
//! Pure data. Whether a model can be reached, and with which key, is the `model` layer's business.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The list that the program brings along.
const EMBEDDED: &str = include_str!("../../assets/models.toml");

/// The model that plays a playbook; what is used when nothing is configured.
pub const REHEARSAL: &str = "rehearsal/demo";

/// All models that are known by name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    #[serde(default)]
    aliases: BTreeMap<String, String>,
    #[serde(default)]
    defaults: BTreeMap<String, String>,
    #[serde(default)]
    models: BTreeMap<String, Facts>,
}

/// What is known of a model. Whatever is absent is unknown.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// How many tokens it can read at once.
    pub window: Option<u64>,
    /// How many tokens it can write at once.
    pub output: Option<u32>,
    pub thinking: Option<ThinkingKind>,
    pub price: Option<Price>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingKind {
    Adaptive,
    Budget,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_write: f64,
    pub cache_read: f64,
    pub long: Option<LongPrice>,
}

/// Prices for requests that read more than so many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongPrice {
    pub above: u64,
    pub input: f64,
    pub output: f64,
    pub cache_write: f64,
    pub cache_read: f64,
}

/// A model that somebody asked for by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    pub provider: Provider,
    /// The model's id at its provider.
    pub id: String,
    pub facts: Facts,
    /// Something the person should know about the choice.
    pub notice: Option<String>,
}

impl Chosen {
    /// `provider/model`, by which it is found again.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider.as_str(), self.id)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Anthropic,
    OpenAi,
    Rehearsal,
}

impl Provider {
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAi, Self::Rehearsal];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Rehearsal => "rehearsal",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == text)
    }
}

/// Why a list of models, or a name, cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelsError {
    #[error("{file}: {what}")]
    File { file: String, what: String },
    #[error("the alias `{0}` refers to itself")]
    Circular(String),
    #[error(
        "unknown model `{0}`; write `provider/model` (providers: anthropic, openai, \
         rehearsal), or one of: {1}"
    )]
    Unknown(String, String),
}

impl Catalog {
    /// The embedded list, with the user's on top. `file` names the latter in errors.
    pub fn load(user: Option<(&str, &str)>) -> Result<Self, ModelsError> {
        let mut catalog = Self::parse("models.toml", EMBEDDED)?;
        if let Some((file, text)) = user {
            let own = Self::parse(file, text)?;
            catalog.aliases.extend(own.aliases);
            catalog.defaults.extend(own.defaults);
            for (name, facts) in own.models {
                let known = catalog.models.entry(name).or_default();
                known.window = facts.window.or(known.window);
                known.output = facts.output.or(known.output);
                known.thinking = facts.thinking.or(known.thinking);
                known.price = facts.price.or(known.price);
            }
        }
        Ok(catalog)
    }

    fn parse(file: &str, text: &str) -> Result<Self, ModelsError> {
        toml::from_str(text).map_err(|error| {
            let above = error.span().and_then(|span| text.get(..span.start));
            let line = above.map(|above| format!("line {}: ", above.matches('\n').count() + 1));
            let what = format!("{}{}", line.unwrap_or_default(), error.message());
            ModelsError::File { file: file.to_owned(), what }
        })
    }

    /// The model that a name stands for: an alias, a known name, or `provider/model`.
    pub fn resolve(&self, name: &str) -> Result<Chosen, ModelsError> {
        let mut full = name;
        for _ in 0..=self.aliases.len() {
            match self.aliases.get(full) {
                Some(other) => full = other,
                None => return self.chosen(full, name),
            }
        }
        Err(ModelsError::Circular(name.to_owned()))
    }

    fn chosen(&self, full: &str, asked: &str) -> Result<Chosen, ModelsError> {
        let unknown = || {
            let names: Vec<&str> = self.aliases.keys().map(String::as_str).collect();
            ModelsError::Unknown(asked.to_owned(), names.join(", "))
        };
        let (provider, id) = match full.split_once('/') {
            Some((provider, id)) if Provider::parse(provider).is_some() => (provider, id),
            // A bare id: whoever has a model of that name, or whoever names models like that.
            Some(_) | None => (self.provider_of(full).ok_or_else(unknown)?, full),
        };
        let provider = Provider::parse(provider).ok_or_else(unknown)?;
        let key = format!("{}/{id}", provider.as_str());
        let facts = self.models.get(&key).cloned();
        let notice = match &facts {
            None => Some(format!(
                "{key} is not in the list of models: its price and window are unknown"
            )),
            Some(facts) if facts.price.is_none() => Some(format!("the price of {key} is unknown")),
            Some(facts) if facts.window.is_none() => {
                Some(format!("the window of {key} is unknown"))
            }
            Some(_) => None,
        };
        Ok(Chosen { provider, id: id.to_owned(), facts: facts.unwrap_or_default(), notice })
    }

    fn provider_of(&self, id: &str) -> Option<&str> {
        let mut known = self.models.keys().filter_map(|name| name.split_once('/'));
        let listed = known.find(|(_, own)| *own == id).map(|(provider, _)| provider);
        listed.or_else(|| id.starts_with("claude-").then_some("anthropic"))
    }

    /// The model to use at a provider when none was named.
    pub fn default_of(&self, provider: Provider) -> Option<&str> {
        self.defaults.get(provider.as_str()).map(String::as_str)
    }

    /// All names in the list, with what they stand for.
    pub fn models(&self) -> impl Iterator<Item = (&str, &Facts)> {
        self.models.iter().map(|(name, facts)| (name.as_str(), facts))
    }

    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter().map(|(alias, name)| (alias.as_str(), name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_list_is_whole() {
        let catalog = Catalog::load(None).unwrap();
        for (alias, _) in catalog.aliases() {
            let chosen = catalog.resolve(alias).unwrap();
            assert_eq!(chosen.notice, None, "{alias} stands for a model whose facts are known");
        }
        assert_eq!(catalog.resolve(REHEARSAL).unwrap().provider, Provider::Rehearsal);
        for (name, facts) in catalog.models() {
            assert!(facts.price.is_some(), "{name}");
        }
    }

    #[test]
    fn names_lead_to_models_in_every_form() {
        let user = r#"
            [aliases]
            fast = "haiku"
            local = "openai/qwen3:8b"
            round = "about"
            about = "round"
            [models."openai/qwen3:8b"]
            window = 32_000
            [models."anthropic/claude-opus-5-5"]
            output = 1_000
        "#;
        let catalog = Catalog::load(Some(("mine.toml", user))).unwrap();
        let name = |text: &str| catalog.resolve(text).map(|chosen| chosen.name());
        assert_eq!(name("fast").unwrap(), "anthropic/claude-haiku-5-5");
        assert_eq!(name("claude-opus-5-5").unwrap(), "anthropic/claude-opus-5-5");
        assert_eq!(name("claude-next-9").unwrap(), "anthropic/claude-next-9");
        assert_eq!(name("openai/a/b:c").unwrap(), "openai/a/b:c");
        assert_eq!(name("round"), Err(ModelsError::Circular("round".into())));
        let unknown = name("gpt-99").unwrap_err().to_string();
        assert!(unknown.contains("provider/model") && unknown.contains("sonnet"), "{unknown}");
        let opus = catalog.resolve("opus").unwrap().facts;
        assert_eq!((opus.output, opus.window), (Some(1_000), Some(1_000_000)), "merged");
        let local = catalog.resolve("local").unwrap();
        assert_eq!(local.notice.as_deref(), Some("the price of openai/qwen3:8b is unknown"));
        let new = catalog.resolve("anthropic/claude-x").unwrap();
        assert!(new.notice.unwrap().contains("price and window are unknown"));
    }

    #[test]
    fn a_mistake_in_the_users_list_is_named_with_its_line() {
        let error =
            Catalog::load(Some(("mine.toml", "[aliases]\na = 'b'\n[modles]\n"))).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("mine.toml: ") && text.contains("line 3"), "{text}");
    }
}
