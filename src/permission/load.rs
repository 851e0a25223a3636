//! A view from settings: the one way in which rules, modes and directories of all layers come
//! together, with what the user should be told about them.

use std::fmt;
use std::path::Path;

use super::view::{mode_name, mode_named};
use super::{RuleError, Source, View};
use crate::protocol::op::Mode;
use crate::settings::paths::{self, Home};
use crate::settings::permissions::{self, Layer, Level};

/// Something in the settings that does not hold as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub source: Source,
    pub about: About,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// A rule that is not understood. If it denies or asks, all uses of its tool are asked.
    Rule(RuleError),
    /// `default` is used.
    UnknownMode(String),
    /// A project may not lift its own limits; `default` is used.
    ProjectBypass,
    /// The policy's mode is used instead of the one that was asked for.
    PolicyMode(Mode),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.source)?;
        match &self.about {
            About::Rule(error) => write!(f, "{error}"),
            About::UnknownMode(name) => {
                write!(f, "unknown mode `{name}`; default is used")
            }
            About::ProjectBypass => f.write_str(
                "a project cannot set bypassPermissions; default is used. \
                 Set it in your own settings or with --mode",
            ),
            About::PolicyMode(mode) => {
                write!(f, "the policy sets the mode {}", mode_name(*mode))
            }
        }
    }
}

impl View {
    /// What an agent in `cwd` is judged by. `mode` is what the command line asks for. Layers come
    /// lowest first, as [`permissions::load`] gives them, with those of the command line in front
    /// of the policy's.
    pub fn load(
        home: &Home,
        mode: Option<Mode>,
        cwd: &Path,
        layers: &[Layer],
    ) -> (Self, Vec<Warning>) {
        let mut warnings = Vec::new();
        let mode = wanted_mode(mode, layers, &mut warnings);
        let mut view = Self::new(mode, cwd, paths::user_dir().as_deref());
        view.protect_home(home);
        for place in permissions::all_files(&view.cwd.clone(), &[]) {
            view.protect(&place.file, "settings");
        }
        for layer in layers {
            let wrong = view.add_layer(layer);
            let source = layer_source(layer);
            let warning = |error| Warning { source: source.clone(), about: About::Rule(error) };
            warnings.extend(wrong.into_iter().map(warning));
        }
        (view, warnings)
    }
}

/// Where the rules of a layer stand.
pub(super) fn layer_source(layer: &Layer) -> Source {
    match layer.level {
        Level::CommandLine if layer.file.as_os_str().is_empty() => Source::CommandLine,
        Level::User | Level::Project | Level::Local | Level::CommandLine => {
            Source::File(layer.file.clone())
        }
        Level::Policy => Source::Policy(layer.file.clone()),
    }
}

/// The mode of the highest layer that names one.
fn wanted_mode(asked: Option<Mode>, layers: &[Layer], warnings: &mut Vec<Warning>) -> Mode {
    let policy = layers.iter().rev().filter(|layer| layer.level == Level::Policy);
    let others = layers.iter().rev().filter(|layer| layer.level != Level::Policy);
    let named =
        |layer: &Layer| Some((layer_source(layer), layer.level, layer.default_mode.clone()?));
    let by_policy = policy.filter(|layer| layer.default_mode.is_some()).find_map(named);
    let (source, level, name) = match (by_policy, asked) {
        (Some(policy), _) => policy,
        (None, Some(asked)) => return asked,
        (None, None) => match others.into_iter().find_map(named) {
            Some(named) => named,
            None => return Mode::Default,
        },
    };
    let mut warn = |about| warnings.push(Warning { source: source.clone(), about });
    let is_projects = matches!(level, Level::Project | Level::Local);
    match mode_named(&name) {
        None => {
            warn(About::UnknownMode(name));
            Mode::Default
        }
        Some(Mode::BypassPermissions) if is_projects => {
            warn(About::ProjectBypass);
            Mode::Default
        }
        Some(mode) => {
            if asked.is_some_and(|asked| asked != mode) {
                warn(About::PolicyMode(mode));
            }
            mode
        }
    }
}
