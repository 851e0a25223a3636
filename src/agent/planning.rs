//! Plan mode of one agent: the file its plan is in, the mode it came from, whether it may leave
//! by itself, and what of that survives a restart.

use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::context::Agent;
use super::office::Office;
use crate::permission::View;
use crate::protocol::event::{Fact, Level};
use crate::protocol::ids::MessageId;
use crate::protocol::json::Json;
use crate::protocol::op::Mode;
use crate::store::plans::{PlanName, Plans};
use crate::store::{StoreError, files, transcript};

/// The member of the session's state that holds the words its plans are named with.
const SLUG: &str = "planSlug";

/// The member of the session's state, and of a transcript's meta file, that holds [`Planning`].
pub const PLANNING: &str = "planning";
/// The member of a session's state, and of what is known of an agent, that names its model.
pub const MODEL: &str = "model";

const HOW: &str = include_str!("../../assets/prompts/plan.md");

/// What an agent that plans, or did, must not forget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Planning {
    /// The mode that it goes back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Mode>,
    /// It began by itself, so nobody has to approve that it ends.
    pub own: bool,
    /// It knows where its plan belongs.
    pub told: bool,
    /// The request for approval that was not answered yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The message that answered the last one: if it comes again, it is that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<MessageId>,
    /// That message, while its words are not in the conversation.
    #[serde(skip)]
    pub unheard: Option<MessageId>,
}

impl Agent {
    pub fn planning(&self) -> MutexGuard<'_, Planning> {
        self.planning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_mode(&self, mode: Mode) {
        let before = self.mode();
        if (mode == Mode::Plan) != (before == Mode::Plan) {
            let Planning { answered, unheard, .. } = self.planning().clone();
            let before = (mode == Mode::Plan).then_some(before);
            *self.planning() = Planning { before, answered, unheard, ..Planning::default() };
        }
        self.views.send_modify(|view| {
            let mut changed = View::clone(view);
            changed.mode = mode;
            *view = Arc::new(changed);
        });
        self.tell(Fact::ModeChanged { mode });
    }

    /// Where its plan belongs, once it has planned.
    pub fn plan_file(&self) -> Option<PathBuf> {
        self.views.borrow().plan_file.clone()
    }

    /// Gives it a file for its plan, unless it has one. Blocks.
    pub fn prepare_plan(&self, office: &Office) -> Result<PathBuf, StoreError> {
        if let Some(file) = self.plan_file() {
            return Ok(file);
        }
        let file = plan_path(office, self.recorder.agent_id())?;
        self.views.send_modify(|view| {
            let mut changed = View::clone(view);
            give_plan(&mut changed, &file);
            *view = Arc::new(changed);
        });
        Ok(file)
    }

    /// Words for an agent that was put into plan mode and does not know yet what that means.
    pub fn plan_reminder(&self) -> Option<String> {
        if self.mode() != Mode::Plan {
            return None;
        }
        let file = self.plan_file()?;
        let mut planning = self.planning();
        if std::mem::replace(&mut planning.told, true) {
            return None;
        }
        Some(how_to_plan(&file))
    }

    /// Writes its mode down, with what belongs to it. Blocks.
    pub fn keep_mode(&self, office: &Office) {
        let (mode, planning) = (self.mode(), self.planning().clone());
        let kept = match self.recorder.agent_id() {
            None => {
                let state = office.state();
                state.write("mode", &mode).and_then(|()| state.write(PLANNING, &planning))
            }
            Some(_) => {
                let members =
                    [("permissionMode", Json::of(&mode)), (PLANNING, Json::of(&planning))];
                self.keep_in_meta(office, members)
            }
        };
        if let Err(error) = kept {
            let text = format!("The mode of {} could not be saved: {error}", self.cx.me.name);
            self.notice(Level::Warning, text);
        }
    }

    /// Keeps the name of the model it thinks with from now on, for whoever resumes it. Blocks.
    pub fn keep_model(&self, office: &Office, name: &str) {
        let kept = match self.recorder.agent_id() {
            None => office.state().write(MODEL, &name),
            Some(_) => self.keep_in_meta(office, [(MODEL, Json::of(&name))]),
        };
        if let Err(error) = kept {
            let text = format!("The model of {} could not be saved: {error}", self.cx.me.name);
            self.notice(Level::Warning, text);
        }
    }

    /// Keeps what is known of it beside its transcript.
    fn keep_in_meta(
        &self,
        office: &Office,
        members: impl IntoIterator<Item = (&'static str, Json)>,
    ) -> Result<(), StoreError> {
        let path = self.recorder.path();
        // Without one it never goes on.
        let Some(mut meta) = transcript::read_meta(&path)? else { return Ok(()) };
        for (member, value) in members {
            meta.set(member, value, &[]);
        }
        transcript::write_meta(&office.store, &path, &meta)
    }
}

/// The file for the plan of an agent of this session; `None` is the lead. Blocks.
pub fn plan_path(office: &Office, agent_id: Option<&str>) -> Result<PathBuf, StoreError> {
    let plans = Plans::new(&office.store);
    let state = office.state();
    let slug: String = match state.read(SLUG)? {
        Some(slug) => slug,
        None => {
            let fresh = plans.new_slug()?;
            // Somebody else may have been quicker.
            state.patch(SLUG, |known| known.unwrap_or_else(|| Json::of(&fresh)))?;
            state.read(SLUG)?.unwrap_or(fresh)
        }
    };
    let name = match agent_id {
        None => PlanName::of_lead(&slug),
        Some(id) => PlanName::of_agent(&slug, id),
    };
    files::make_dir(&office.home().plans())?;
    Ok(plans.path(&name.map_err(StoreError::from)?))
}

/// Lets an agent read its plan at any time, and write it in plan mode.
pub fn give_plan(view: &mut View, file: &Path) {
    view.plan_file = Some(file.to_owned());
    let rule = format!("Read(/{})", file.display());
    view.rules.extend(view.session_rule(&rule));
}

/// What an agent in plan mode must know.
pub fn how_to_plan(file: &Path) -> String {
    HOW.trim().replace("{{plan}}", &file.to_string_lossy())
}

/// The plan that was written. Blocks.
pub fn read_plan(file: &Path) -> Result<String, StoreError> {
    const LARGEST: u64 = 1024 * 1024;
    Ok(files::read_text(file, LARGEST)?.unwrap_or_default())
}

/// Puts the words of the person in the place of a plan. `false` where the file is none of ours.
/// Blocks.
pub fn write_plan(office: &Office, file: &Path, text: &str) -> Result<bool, StoreError> {
    let plans = Plans::new(&office.store);
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = stem.and_then(|stem| PlanName::of_lead(&stem).ok());
    match name.filter(|name| plans.path(name) == file) {
        Some(name) => plans.write(&name, text).map(|()| true),
        None => Ok(false),
    }
}
