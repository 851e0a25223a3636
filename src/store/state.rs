//! What a session is resumed with, one small document: `mode`, `grants`, `cost`, `members`.
//!
//! Several owners keep a member each and know nothing of the others', so the document is patched
//! and never modelled: members of later versions survive.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Store;
use super::error::{Damage, StoreError};
use super::files::{self, Signature};
use crate::protocol::ids::SessionId;
use crate::protocol::json::Json;

const LARGEST: u64 = 64 * 1024 * 1024;

/// The order in which members stand.
const ORDER: [&str; 4] = ["mode", "grants", "cost", "members"];

/// The state of one session. Cheap to clone; every clone is the same state.
#[derive(Debug, Clone)]
pub struct StateFile {
    store: Store,
    session: SessionId,
}

impl StateFile {
    pub fn new(store: &Store, session: &SessionId) -> Self {
        Self { store: store.clone(), session: session.clone() }
    }

    /// One member in its own type. `None` where there is none yet.
    pub fn read<T: DeserializeOwned>(&self, member: &str) -> Result<Option<T>, StoreError> {
        let path = self.store.home().state(&self.session);
        let Some(document) = self.load()? else { return Ok(None) };
        let value = document.get(member).map(Json::read).transpose();
        value.map_err(|damage| StoreError::broken(&path, damage))
    }

    /// One member as it stands there.
    pub fn member(&self, member: &str) -> Result<Option<Json>, StoreError> {
        Ok(self.load()?.and_then(|document| document.get(member).cloned()))
    }

    /// Puts a member in the place of what it was.
    pub fn write<T: Serialize>(&self, member: &str, value: &T) -> Result<(), StoreError> {
        self.patch(member, |_| Json::of(value))
    }

    /// Changes one member and leaves the others. A file that cannot be read is set aside.
    pub fn patch(
        &self,
        member: &str,
        change: impl FnOnce(Option<Json>) -> Json,
    ) -> Result<(), StoreError> {
        let path = self.store.home().state(&self.session);
        files::make_dir(&self.store.home().session(&self.session))?;
        let mut held = self.store.locks().enter(&["state", self.session.as_str()])?;
        let mut document = match self.load() {
            Ok(document) => document.unwrap_or_else(|| Json::Object(Vec::new())),
            Err(StoreError::Broken { .. }) => {
                files::set_aside(&path)?;
                Json::Object(Vec::new())
            }
            Err(error) => return Err(error),
        };
        let before = document.get(member).cloned();
        let after = change(before.clone());
        if before.as_ref() == Some(&after) {
            return Ok(());
        }
        document.set(member, after, &ORDER);
        held.replace(&path, document.pretty().as_bytes())
    }

    /// Tells one version of the file from another.
    pub fn signature(&self) -> Option<Signature> {
        Signature::of(&self.store.home().state(&self.session))
    }

    fn load(&self) -> Result<Option<Json>, StoreError> {
        let path = self.store.home().state(&self.session);
        let Some(text) = files::read_text(&path, LARGEST)? else { return Ok(None) };
        let document = Json::parse(&text).map_err(|damage| StoreError::broken(&path, damage))?;
        match document {
            Json::Object(_) => Ok(Some(document)),
            Json::Scalar(_) | Json::Array(_) => Err(StoreError::broken(&path, Damage::NotAnObject)),
        }
    }
}
