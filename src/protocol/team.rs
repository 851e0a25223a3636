//! A team's roster: what is read from `teams/<team>/config.json`.
//!
//! Typed views for reading and for making new entries. Rewriting a roster patches its document
//! (`store::roster`), so unknown fields and the order of keys survive.

use serde::{Deserialize, Deserializer, Serialize};

use super::ids::{AgentId, AgentName, TeamName};
use super::json::{lenient, or_default};

/// Badge colours in the order of joining, then round again. The lead has none.
pub const COLORS: &[&str] = &["blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red"];

/// The order of keys in a teammate's entry.
pub const MEMBER_KEYS: &[&str] = &[
    "agentId",
    "name",
    "agentType",
    "model",
    "prompt",
    "color",
    "planModeRequired",
    "joinedAt",
    "tmuxPaneId",
    "cwd",
    "subscriptions",
    "backendType",
    "isActive",
];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Team {
    pub name: TeamName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub created_at: i64,
    #[serde(default, deserialize_with = "or_default")]
    pub lead_agent_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_session_id: Option<String>,
    /// An entry without a name does not hide the others; odd fields do not hide an entry.
    #[serde(default, deserialize_with = "understood")]
    pub members: Vec<Member>,
}

fn understood<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Member>, D::Error> {
    let entries: Vec<serde_json::Value> = or_default(from)?;
    Ok(entries.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect())
}

/// One entry of `members`. A lead has the first eight fields without prompt, colour and plan
/// mode; a teammate has all thirteen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    #[serde(default, deserialize_with = "lenient")]
    pub agent_id: String,
    pub name: AgentName,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub agent_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub color: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub plan_mode_required: Option<bool>,
    #[serde(default, deserialize_with = "lenient")]
    pub joined_at: i64,
    #[serde(default, deserialize_with = "lenient")]
    pub tmux_pane_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub cwd: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub subscriptions: Vec<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub backend_type: Option<String>,
    /// True while working, false when idle; absent where the writer does not say.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub is_active: Option<bool>,
}

/// Which generation of the reference program a team or an inbox belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Named teams; consumed messages stay and are marked. What we write.
    Classic,
    /// One implicit team per session; messages carry ids, consumed ones are removed.
    Session,
}

impl Team {
    pub fn lead(&self) -> Option<&Member> {
        self.members.iter().find(|member| member.is_lead(self))
    }

    /// Everyone but the lead, in the order of joining.
    pub fn teammates(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.is_lead(self))
    }

    pub fn member(&self, name: &AgentName) -> Option<&Member> {
        self.members.iter().find(|member| member.name == *name)
    }

    pub fn names(&self) -> Vec<&str> {
        self.members.iter().map(|member| member.name.as_str()).collect()
    }

    pub fn form(&self) -> Form {
        match self.lead() {
            Some(lead) if lead.tmux_pane_id == "leader" => Form::Session,
            Some(_) | None => Form::Classic,
        }
    }

    /// The name a newcomer gets: the wanted one, or `name-2`, `name-3`… Names that would share
    /// an inbox file count as taken.
    pub fn free_name(&self, wanted: &AgentName) -> AgentName {
        let taken = |name: &AgentName| {
            let stem = name.file_stem();
            self.members.iter().any(|member| member.name.file_stem() == stem)
        };
        if !taken(wanted) {
            return wanted.clone();
        }
        let numbered = (2..).map(|nth| wanted.numbered(nth));
        numbered.into_iter().find(|name| !taken(name)).unwrap_or_else(|| wanted.clone())
    }

    /// The colour a newcomer gets: the next in the cycle, skipping those that more members wear
    /// than others, so that leaving and joining does not make two look alike while one is free.
    pub fn free_color(&self) -> &'static str {
        let worn = |color: &str| {
            self.members.iter().filter(|member| member.color.as_deref() == Some(color)).count()
        };
        let last = self.teammates().last().and_then(|member| member.color.as_deref());
        let start = COLORS.iter().position(|color| Some(*color) == last).map_or(0, |at| at + 1);
        let in_turn = (0..COLORS.len()).map(|step| COLORS[(start + step) % COLORS.len()]);
        // `min_by_key` keeps the first of several equals.
        in_turn.min_by_key(|color| worn(color)).unwrap_or(COLORS[0])
    }
}

impl Member {
    /// The entry of a team's lead, with the eight fields of the reference.
    pub fn lead(
        team: &TeamName,
        kind: Option<&str>,
        model: Option<&str>,
        cwd: &str,
        at: i64,
    ) -> Self {
        let name = AgentName::lead();
        Self {
            agent_id: AgentId::new(&name, team).to_string(),
            agent_type: Some(kind.unwrap_or(name.as_str()).to_owned()),
            model: Some(model.unwrap_or_default().to_owned()),
            prompt: None,
            color: None,
            plan_mode_required: None,
            joined_at: at,
            tmux_pane_id: String::new(),
            cwd: Some(cwd.to_owned()),
            subscriptions: Vec::new(),
            backend_type: None,
            is_active: None,
            name,
        }
    }

    fn is_lead(&self, team: &Team) -> bool {
        self.name.is_lead() || (!self.agent_id.is_empty() && self.agent_id == team.lead_agent_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(members: &[(&str, &str)]) -> Team {
        let name = TeamName::found("t");
        let mut all = vec![Member::lead(&name, None, None, "/p", 0)];
        all.extend(members.iter().map(|(who, color)| Member {
            name: AgentName::found(who),
            agent_id: format!("{who}@t"),
            color: Some((*color).to_owned()),
            ..Member::lead(&name, None, None, "/p", 0)
        }));
        Team {
            name,
            description: None,
            created_at: 0,
            lead_agent_id: "team-lead@t".into(),
            lead_session_id: None,
            members: all,
        }
    }

    #[test]
    fn colours_go_round_and_stay_apart_while_they_can() {
        assert_eq!(team(&[]).free_color(), "blue");
        assert_eq!(team(&[("a", "blue")]).free_color(), "green");
        assert_eq!(team(&[("b", "green")]).free_color(), "yellow", "after the last to join");
        let all: Vec<(&str, &str)> = COLORS.iter().map(|color| (*color, *color)).collect();
        assert_eq!(team(&all).free_color(), "blue", "round again");
        assert_eq!(team(&[("a", "blue"), ("z", "red")]).free_color(), "green");
    }

    #[test]
    fn a_taken_name_gets_a_number_and_shared_inboxes_count_as_taken() {
        let team = team(&[("bob", "blue"), ("bob-2", "green"), ("a.b", "yellow")]);
        let free = |name: &str| team.free_name(&AgentName::found(name)).to_string();
        assert_eq!(free("alice"), "alice");
        assert_eq!(free("bob"), "bob-3");
        assert_eq!(free("a-b"), "a-b-2");
    }
}
