//! The fixed layout below a home, as far as it is watched: which path is what.

use std::path::{Path, PathBuf};

use super::InboxStem;
use crate::protocol::ids::{TaskId, TeamDir};
use crate::settings::paths::Home;

/// Something of the layout. Lock directories, temporary files and the like are no places.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Dir(Dir),
    Leaf(Leaf),
}

/// A directory that is watched.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Dir {
    Home,
    Teams,
    Team(TeamDir),
    Inboxes(TeamDir),
    Lists,
    List(TeamDir),
}

/// A file whose content matters. In the order in which changes of the same moment are told.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Leaf {
    Roster(TeamDir),
    Inbox(TeamDir, InboxStem),
    Task(TeamDir, TaskId),
}

impl Place {
    /// What a path stands for. `None` for everything that does not matter.
    pub(super) fn of(path: &Path, home: &Home) -> Option<Self> {
        let mut names = path.strip_prefix(home.root()).ok()?.iter();
        names.try_fold(Self::Dir(Dir::Home), |place, name| match place {
            Self::Dir(dir) => dir.child(name.to_str()?),
            Self::Leaf(_) => None,
        })
    }
}

impl Dir {
    pub(super) fn path(&self, home: &Home) -> PathBuf {
        match self {
            Self::Home => home.root().to_owned(),
            Self::Teams => home.teams(),
            Self::Team(team) => home.team(team),
            Self::Inboxes(team) => home.inboxes(team),
            Self::Lists => home.task_lists(),
            Self::List(list) => home.tasks(list),
        }
    }

    /// What an entry of this directory stands for.
    pub(super) fn child(&self, name: &str) -> Option<Place> {
        let stem = || name.strip_suffix(".json").filter(|_| !name.starts_with('.'));
        match self {
            Self::Home | Self::Team(_) => {
                let known = self.fixed().into_iter().flatten();
                known.into_iter().find(|(own, _)| *own == name).map(|(_, place)| place)
            }
            Self::Teams => TeamDir::found(name).map(|team| Place::Dir(Self::Team(team))),
            Self::Lists => TeamDir::found(name).map(|list| Place::Dir(Self::List(list))),
            Self::Inboxes(team) => {
                let inbox = InboxStem(stem()?.to_owned());
                Some(Place::Leaf(Leaf::Inbox(team.clone(), inbox)))
            }
            Self::List(list) => Some(Place::Leaf(Leaf::Task(list.clone(), TaskId::found(stem()?)))),
        }
    }

    /// All that may be in this directory, where that is known without looking.
    pub(super) fn fixed(&self) -> Option<[(&'static str, Place); 2]> {
        match self {
            Self::Home => {
                Some([("teams", Place::Dir(Self::Teams)), ("tasks", Place::Dir(Self::Lists))])
            }
            Self::Team(team) => Some([
                ("config.json", Place::Leaf(Leaf::Roster(team.clone()))),
                ("inboxes", Place::Dir(Self::Inboxes(team.clone()))),
            ]),
            Self::Teams | Self::Inboxes(_) | Self::Lists | Self::List(_) => None,
        }
    }

    /// Whether the other one is this directory or somewhere below it.
    pub(super) fn holds(&self, other: &Self) -> bool {
        match self {
            Self::Home => true,
            Self::Teams => matches!(other, Self::Teams | Self::Team(_) | Self::Inboxes(_)),
            Self::Lists => matches!(other, Self::Lists | Self::List(_)),
            Self::Team(team) => {
                matches!(other, Self::Team(own) | Self::Inboxes(own) if own == team)
            }
            Self::Inboxes(_) | Self::List(_) => other == self,
        }
    }
}

impl Leaf {
    pub(super) fn path(&self, home: &Home) -> PathBuf {
        match self {
            Self::Roster(team) => home.config(team),
            Self::Inbox(team, inbox) => home.inboxes(team).join(format!("{}.json", inbox.as_str())),
            // Not `Home::task`: the id is the name as it was found, encoded already if need be.
            Self::Task(list, id) => home.tasks(list).join(format!("{id}.json")),
        }
    }

    pub(super) fn is_below(&self, dir: &Dir) -> bool {
        match (dir, self) {
            (Dir::Home, _) => true,
            (Dir::Teams, Self::Roster(_) | Self::Inbox(..)) => true,
            (Dir::Team(team), Self::Roster(own) | Self::Inbox(own, _)) => own == team,
            (Dir::Inboxes(team), Self::Inbox(own, _)) => own == team,
            (Dir::Lists, Self::Task(..)) => true,
            (Dir::List(list), Self::Task(own, _)) => own == list,
            (Dir::Teams | Dir::Team(_) | Dir::Inboxes(_) | Dir::Lists | Dir::List(_), _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_layout_are_places_and_each_is_found_again() {
        let home = Home::at("/h");
        let place = |path: &str| Place::of(Path::new(path), &home);
        for path in [
            "/h",
            "/h/teams",
            "/h/teams/My Team",
            "/h/teams/t/config.json",
            "/h/teams/t/inboxes",
            "/h/teams/t/inboxes/a-b.json",
            "/h/tasks",
            "/h/tasks/t",
            "/h/tasks/t/12.json",
            "/h/tasks/t/a%2Fb.json",
        ] {
            let back = match place(path) {
                Some(Place::Dir(dir)) => dir.path(&home),
                Some(Place::Leaf(leaf)) => leaf.path(&home),
                None => PathBuf::new(),
            };
            assert_eq!(back, Path::new(path));
        }
        for path in [
            "/",
            "/other/teams/t/config.json",
            "/h/plans",
            "/h/teams/.hidden",
            "/h/teams/t/.config.json.tmp",
            "/h/teams/t/config.json.lock",
            "/h/teams/t/config.json.broken-1",
            "/h/teams/t/inboxes/a.json.lock",
            "/h/teams/t/inboxes/.a.json.tmp",
            "/h/teams/t/inboxes/a.json/b.json",
            "/h/tasks/t/.lock",
            "/h/tasks/t/.lock.lock",
            "/h/tasks/t/.highwatermark",
            "/h/tasks/t/.json",
        ] {
            assert_eq!(place(path), None, "{path}");
        }
    }

    #[test]
    fn a_directory_holds_itself_and_what_is_below() {
        let [one, two] = ["one", "two"].map(|name| TeamDir::found(name).unwrap());
        let roster = Leaf::Roster(one.clone());
        let task = Leaf::Task(one.clone(), TaskId::from(1));
        let below = |dir: Dir| (roster.is_below(&dir), task.is_below(&dir));
        assert_eq!(below(Dir::Home), (true, true));
        assert_eq!(below(Dir::Teams), (true, false));
        assert_eq!(below(Dir::Team(one.clone())), (true, false));
        assert_eq!(below(Dir::Team(two.clone())), (false, false));
        assert_eq!(below(Dir::Inboxes(one.clone())), (false, false));
        assert_eq!(below(Dir::Lists), (false, true));
        assert_eq!(below(Dir::List(one.clone())), (false, true));
        assert!(Dir::Team(one.clone()).holds(&Dir::Inboxes(one.clone())));
        assert!(!Dir::Team(two).holds(&Dir::Inboxes(one)));
    }
}
