//! What commands find in their environment: what we were given, without secrets.
//!
//! A command may print its environment, and what it prints goes to a model and into files. So
//! whatever is named like a key, a token or a password stays behind, `GITHUB_TOKEN` and its like
//! included: who wants a tool of theirs to have one names it in the settings. Sockets and paths
//! that lead to keys (`SSH_AUTH_SOCK`, `GOOGLE_APPLICATION_CREDENTIALS`) are no secrets themselves
//! and stay, and so does `TERM`: colours in the output are kept for the console.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::tree::MARK;

/// A file that bash would run before every command: it could do anything, and bring back what
/// is taken out here.
const RUNS_FIRST: &str = "BASH_ENV";

/// What the name of a variable begins with that bash makes a function of.
const FUNCTION: &str = "BASH_FUNC_";

pub(super) type Variables = BTreeMap<OsString, OsString>;

/// Everything of the providers of models.
const PROVIDERS: [&str; 2] = ["ANTHROPIC_", "OPENAI_"];

const ENDINGS: [&str; 7] =
    ["API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "TOKEN", "OAUTH_TOKEN", "MYSQL_PWD"];

const WORDS: [&str; 4] = ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE"];

/// What every command is told: who runs it, and that nobody will answer an editor, a pager or a
/// question for a password.
const SET: [(&str, &str); 6] = [
    ("CLAUDECODE", "1"),
    ("QUARTERDECK", "1"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PAGER", "cat"),
];

/// Which variables the settings name.
#[derive(Debug, Clone, Default)]
pub struct Named {
    /// Removed, whatever they are called.
    pub withheld: Vec<String>,
    /// Kept, whatever they are called.
    pub passed: Vec<String>,
}

/// The environment of a command, from that of this process.
pub(super) fn environment(inherited: &Variables, named: &Named, mark: &str) -> Variables {
    let kept = inherited.iter().filter(|(name, _)| is_kept(name, named));
    let mut all: Variables = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    all.extend(SET.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    all.insert(MARK.into(), mark.into());
    all
}

/// The functions that a bash with this environment has from the beginning.
pub(super) fn functions(inherited: &Variables) -> impl Iterator<Item = String> {
    let names = inherited.keys().filter_map(|name| name.to_str()?.strip_prefix(FUNCTION));
    names.map(|name| name.trim_end_matches("%%").trim_end_matches("()").to_owned())
}

/// Takes those functions out.
pub(super) fn without_functions(mut all: Variables) -> Variables {
    all.retain(|name, _| !name.to_string_lossy().starts_with(FUNCTION));
    all
}

fn is_kept(name: &OsStr, named: &Named) -> bool {
    let name = name.to_string_lossy();
    let is_in = |list: &[String]| list.iter().any(|one| one.as_str() == name);
    if is_in(&named.withheld) {
        return false;
    }
    is_in(&named.passed) || !(is_secret(&name) || name == RUNS_FIRST)
}

fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    PROVIDERS.iter().any(|provider| name.starts_with(provider))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(names: &[&str], named: &Named) -> Vec<String> {
        let given = names.iter().map(|name| (OsString::from(name), OsString::from("x"))).collect();
        let all = environment(&given, named, "m");
        names
            .iter()
            .filter(|name| all.contains_key(OsStr::new(name)))
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn what_is_named_like_a_secret_stays_behind() {
        let secrets = [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "OPENAI_ORG",
            "GEMINI_API_KEY",
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_ACCESS_KEY",
            "PGPASSWORD",
            "db_password",
            "MY_SECRETS",
            "MYSQL_PWD",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "BASH_ENV",
        ];
        assert_eq!(left(&secrets, &Named::default()), Vec::<String>::new());
        let harmless = [
            "HOME",
            "SSH_AUTH_SOCK",
            "TERM",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "KEYBOARD",
            "PWD",
            "TOKENIZERS_PARALLELISM",
            "SSH_ASKPASS",
            "ENV",
        ];
        assert_eq!(left(&harmless, &Named::default()), harmless);
    }

    #[test]
    fn settings_name_what_goes_and_what_stays() {
        let named = Named { withheld: vec!["COMPANY".into()], passed: vec!["NPM_TOKEN".into()] };
        assert_eq!(left(&["COMPANY", "NPM_TOKEN", "GH_TOKEN"], &named), ["NPM_TOKEN"]);
    }
}
