//! From what was typed to a session that runs.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::args::{OnAsk, Run};
use crate::agent::brains::Brains;
use crate::agent::context::{Brain, Limits};
use crate::agent::definition::{Catalog, Definition, Severity, Source, Sources, Watcher};
use crate::agent::office::Policy;
use crate::cli::demo;
use crate::cli::failure::Failure;
use crate::cli::model::{catalog, chosen, variable};
use crate::cli::out::Out;
use crate::cli::permissions::{known_mode, loaded_view};
use crate::model::rehearsal::Rehearsal;
use crate::model::rehearsal::playbook::{Pace, Playbook};
use crate::model::rehearsal::player::Unmatched;
use crate::model::{choose, http, retry};
use crate::permission::View;
use crate::permission::rule::split_rules;
use crate::protocol::ids::SessionId;
use crate::protocol::op::Mode;
use crate::session::live::{Definitions as Followed, Live, Start, StartError};
use crate::session::resume;
use crate::settings::layers::{self, Settings};
use crate::settings::models::REHEARSAL;
use crate::settings::permissions::Layer;
use crate::store::Store;
use crate::team::policy::Policy as TeamPolicy;
use crate::worktree::{self, Slug, Worktree};

/// A session that runs, and the worktree it runs in, which is kept as long as this lives.
pub struct Begun {
    pub live: Live,
    pub tree: Option<Worktree>,
}

/// Begins a session, or gives up when `stop` says so: start-up files of a shell may take long.
pub async fn begin(
    store: &Store,
    run: &Run,
    out: &mut Out,
    stop: impl Future<Output = ()>,
) -> Result<Begun, Failure> {
    if !run.on_screen && run.playbook.as_deref().is_some_and(demo::is_demo) {
        let project = demo::enter_scratch()?;
        out.remark(&format!("quarterdeck: the rehearsal works in {}", project.display()));
    }
    let here = env::current_dir()?;
    let here = here.canonicalize().unwrap_or(here);
    let tree = run.worktree.as_ref().map(|name| worktree_of(&here, name, out)).transpose()?;
    let project = tree.as_ref().map_or_else(|| here.clone(), |tree| tree.inside(&here));
    let started = tokio::select! {
        started = start(store, run, project, out) => started,
        () = stop => Err(Failure::Interrupted),
    };
    match started {
        Ok(live) => Ok(Begun { live, tree }),
        Err(failure) => {
            // Nothing was done in it.
            tree.map(worktree::clean_up);
            Err(failure)
        }
    }
}

async fn start(store: &Store, run: &Run, project: PathBuf, out: &mut Out) -> Result<Live, Failure> {
    let session = session(store, run, &project)?;
    let settings = settings_of(&project)?;
    for slip in layers::slips(&layers::files(&project)) {
        out.remark(&slip);
    }
    let watcher = Watcher::new(Sources::of(&project, run.agents.clone()));
    let catalog = watcher.catalog();
    for problem in &catalog.problems {
        // What was typed is a mistake to mend, not to pass over.
        if problem.source == Source::CommandLine && problem.severity == Severity::Error {
            return Err(Failure::bad_input(format!("--agents: {problem}")));
        }
        out.remark(&problem.to_string());
    }
    let lead = run.agent.as_deref().map(|name| definition(&catalog, name)).transpose()?;
    let mode = mode(run, lead.as_ref())?;
    let view = view(store, run, mode, &project, out)?;
    let (brains, brain) = brains(run, lead.as_ref(), out)?;
    let rounds = run.max_turns.or_else(|| lead.as_ref().and_then(|lead| lead.max_turns));
    let start = Start {
        store: store.clone(),
        session,
        project,
        mode_is_given: mode.is_some(),
        model_is_given: run.model.is_some() && run.playbook.is_none(),
        view,
        brains,
        brain,
        definitions: Followed::Files(watcher),
        lead,
        tools: (!run.tools.is_empty()).then(|| split(&run.tools)),
        disallowed: split(&run.disallowed_tools),
        team: team_policy(run, &settings),
        policy: Policy {
            fork: forks(run.fork, settings.fork, run.on_screen),
            auto_background_after: run
                .auto_background_after
                .or(settings.auto_background_after)
                .map(Duration::from_secs_f64),
            ..Policy::default()
        },
        limits: Limits {
            rounds,
            compact_at: settings.compact_at.unwrap_or(Limits::default().compact_at),
            ..Limits::default()
        },
        limit_usd: run.max_budget_usd,
        budgets: settings.budgets,
    };
    Live::start(start).await.map_err(|error| match error {
        StartError::Store(error) => Failure::from(error),
        StartError::Other(what) => Failure::no("start", what),
    })
}

/// Whether an agent without a type is a fork: who asks for it gets it, and what nobody decided is
/// so where somebody looks on.
const fn forks(flag: bool, setting: Option<bool>, on_screen: bool) -> bool {
    match setting {
        Some(setting) => flag || setting,
        None => flag || on_screen,
    }
}

/// How a team is run. Where questions wait, the person decides, from wherever they answer; as
/// nobody looks at a screen, what teammates ask is in the lead's inbox, too.
fn team_policy(run: &Run, settings: &Settings) -> TeamPolicy {
    let usual = TeamPolicy::default();
    let waits = run.on_ask == OnAsk::Wait;
    TeamPolicy {
        auto_claim: settings.auto_claim.unwrap_or(usual.auto_claim),
        plans: settings.plan_approval.unwrap_or(usual.plans),
        shutdown_patience: settings
            .shutdown_after
            .map_or(usual.shutdown_patience, Duration::from_secs_f64),
        attended: waits,
        asks_by_mail: waits && !run.on_screen,
        ..usual
    }
}

/// The mode that was asked for: on the command line, or by the definition that the lead follows.
fn mode(run: &Run, lead: Option<&Definition>) -> Result<Option<Mode>, Failure> {
    if run.dangerously_skip_permissions {
        return Ok(Some(Mode::BypassPermissions));
    }
    match run.permission_mode.as_deref().map(known_mode).transpose()? {
        Some(Mode::Bubble) => Err(Failure::bad_input("only forks can use the mode `bubble`")),
        Some(mode) => Ok(Some(mode)),
        // A file of the project must not free the lead of all questions.
        None => Ok(lead
            .and_then(|lead| lead.permission_mode)
            .filter(|mode| !matches!(mode, Mode::BypassPermissions | Mode::Bubble))),
    }
}

fn settings_of(project: &Path) -> Result<Settings, Failure> {
    let read = layers::load(&layers::files(project));
    read.map_err(|error| Failure::bad_input(error.to_string()))
}

fn session(store: &Store, run: &Run, project: &Path) -> Result<Option<SessionId>, Failure> {
    let none = |what: String| Failure::no("session_not_found", what);
    if let Some(id) = &run.resume {
        return resume::named(store.home(), project, id).map(Some).map_err(none);
    }
    if !run.go_on {
        return Ok(None);
    }
    let newest = resume::sessions(store.home(), project).into_iter().next();
    newest.map(Some).ok_or_else(|| {
        none("there is no session to resume in this directory; start one without -c".to_owned())
    })
}

fn view(
    store: &Store,
    run: &Run,
    mode: Option<Mode>,
    project: &Path,
    out: &mut Out,
) -> Result<View, Failure> {
    let here = env::current_dir()?;
    let directories = run.add_dir.iter().map(|dir| here.join(dir)).collect::<Vec<_>>();
    if let Some(missing) = directories.iter().find(|dir| !dir.is_dir()) {
        return Err(Failure::bad_input(format!(
            "{}: there is no such directory",
            missing.display()
        )));
    }
    let layer = Layer::of_command_line(
        project,
        split(&run.allowed_tools),
        split(&run.disallowed_tools),
        directories,
    );
    let given: Vec<PathBuf> = run.settings.iter().map(|file| here.join(file)).collect();
    loaded_view(store.home(), mode, &given, project, Some(layer), out).map(|(view, _)| view)
}

/// Several rules may stand in one argument.
fn split(rules: &[String]) -> Vec<String> {
    rules.iter().flat_map(|text| split_rules(text)).collect()
}

fn definition(definitions: &Catalog, name: &str) -> Result<Definition, Failure> {
    definitions.get(name).cloned().ok_or_else(|| {
        let hint = match definitions.near(name) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`quarterdeck agents list` shows all".to_owned(),
        };
        Failure::no("agent_not_found", format!("there is no agent type `{name}`; {hint}"))
    })
}

/// The models of the session, and the lead's.
fn brains(run: &Run, lead: Option<&Definition>, out: &mut Out) -> Result<(Brains, Brain), Failure> {
    let catalog = catalog()?;
    let bad = |what: String| Failure::bad_input(what);
    let (brains, chosen) = match &run.playbook {
        Some(file) => {
            let playbook = match demo::is_demo(file) {
                true => choose::demo_playbook(),
                false => Playbook::load(file).map_err(|error| bad(error.to_string()))?,
            };
            if run.model.is_some() {
                out.remark("quarterdeck: --model is ignored: the playbook answers");
            }
            // What nobody watches need not be slow; what somebody watches must not break off.
            let (pace, unmatched) = match run.on_screen {
                true => (run.pace.map_or(playbook.pace, Pace::new), Unmatched::EndPolitely),
                false => (Pace::AtOnce, Unmatched::Fail),
            };
            let rehearsal = Rehearsal::new(Arc::new(playbook), unmatched).at_pace(pace);
            let rehearsal = rehearsal
                .with_patience(http::stall(variable))
                .with_retry(retry::Policy::from_env(variable));
            let (chosen, _) = chosen(&catalog, Some(REHEARSAL))?;
            (Brains::only(catalog, Arc::new(rehearsal), chosen.clone()), chosen)
        }
        None => {
            let wanted = run.model.clone().or_else(|| lead.and_then(Definition::model_name));
            let (chosen, origin) = chosen(&catalog, wanted.as_deref())?;
            if let Some(notice) = &chosen.notice {
                out.remark(&format!("quarterdeck: {notice} ({})", origin.in_words()));
            }
            (Brains::real(catalog, variable), chosen)
        }
    };
    let brain = brains.open(chosen).map_err(|error| bad(error.to_string()))?;
    Ok((brains, brain))
}

/// A worktree of its own to work in.
fn worktree_of(here: &Path, name: &str, out: &mut Out) -> Result<Worktree, Failure> {
    let failed =
        |what: String| Failure::no("worktree", format!("the worktree could not be made: {what}"));
    let fresh = || format!("run-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
    let name = if name.is_empty() { fresh() } else { name.to_owned() };
    let slug = Slug::new(&name).map_err(|error| Failure::bad_input(error.to_string()))?;
    let options = worktree::Options::from(&settings_of(here)?);
    let tree = worktree::create(here, &slug, &options)
        .and_then(|tree| worktree::verify(&tree).map(|()| tree))
        .map_err(|error| failed(error.to_string()))?;
    for warning in &tree.warnings {
        out.remark(&format!("quarterdeck: {warning}"));
    }
    out.remark(&format!("quarterdeck: working in {} on {}", tree.path.display(), tree.branch));
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::forks;

    #[test]
    fn forks_are_usual_on_a_screen_and_a_setting_decides_otherwise() {
        let table = [
            ((false, None, true), true),
            ((false, None, false), false),
            ((false, Some(false), true), false),
            ((false, Some(true), true), true),
            ((false, Some(true), false), true),
            ((false, Some(false), false), false),
            ((true, None, false), true),
            ((true, Some(false), false), true),
        ];
        for ((flag, setting, on_screen), wanted) in table {
            assert_eq!(forks(flag, setting, on_screen), wanted, "{flag} {setting:?} {on_screen}");
        }
    }
}
