//! Making a worktree, or taking up the one that is there.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::WorktreeError;
use super::git::{Git, patiently};
use super::hold::{Gate, Hold};
use super::links;
use super::list::{Entry, entries};
use super::site::{Site, real};
use super::slug::Slug;
use super::{Options, PREFIX, Worktree};

/// How many agents may want one name at once.
const MOST_NAMESAKES: usize = 99;

/// A worktree of the repository that `repo` is in. One of this name that nobody works in is
/// taken up as it is; while somebody does, the next free of `slug-2`, `slug-3`… is made.
pub fn create(repo: &Path, slug: &Slug, options: &Options) -> Result<Worktree, WorktreeError> {
    let site = Site::find(repo, options)?;
    let head = site.head()?;
    let gate = Gate::enter(&site)?;
    let (slug, hold) = free_name(&gate, slug)?;
    let maker = Maker { site: &site, slug: &slug, head: &head, hold: &hold };
    match maker.make(options) {
        Ok(made) => {
            let worktree = Worktree {
                path: made.path,
                branch: made.branch,
                base: made.base,
                repo: site.root.clone(),
                origin: site.origin.clone(),
                reused: made.reused,
                warnings: made.warnings,
                hold: Arc::new(hold),
            };
            verify(&worktree)?;
            Ok(worktree)
        }
        Err(error) => {
            if hold.base().is_none() {
                hold.forget(&gate);
            }
            Err(error)
        }
    }
}

/// Whether git, started in the worktree, works there and nowhere else. To be asked again right
/// before an agent starts: between making a tree and using it, somebody may have removed it.
pub fn verify(worktree: &Worktree) -> Result<(), WorktreeError> {
    let path = real(worktree.path.clone());
    let top = Git::at(&path).path(&["rev-parse", "--show-toplevel"]);
    let broken = |said| WorktreeError::Broken { path: worktree.path.clone(), said };
    let top = top.map_err(|error| error.meaning(broken))?;
    match real(top.clone()) == path && path != worktree.repo {
        true => Ok(()),
        false => Err(WorktreeError::NotIsolated { path: worktree.path.clone(), top }),
    }
}

fn free_name(gate: &Gate, slug: &Slug) -> Result<(Slug, Hold), WorktreeError> {
    for nth in 1..=MOST_NAMESAKES {
        let slug = if nth == 1 { slug.clone() } else { slug.numbered(nth) };
        if let Some(hold) = gate.hold(slug.as_str())? {
            return Ok((slug, hold));
        }
    }
    Err(WorktreeError::AllInUse { slug: slug.to_string(), last: MOST_NAMESAKES })
}

struct Maker<'a> {
    site: &'a Site,
    slug: &'a Slug,
    head: &'a str,
    hold: &'a Hold,
}

struct Made {
    path: PathBuf,
    branch: String,
    base: String,
    reused: bool,
    warnings: Vec<String>,
}

/// What stands where the worktree should be.
enum There {
    Nothing,
    Ours,
}

impl Maker<'_> {
    fn make(&self, options: &Options) -> Result<Made, WorktreeError> {
        let dir = &self.site.dir;
        fs::create_dir_all(dir)
            .map_err(|source| WorktreeError::NotWritable { path: dir.clone(), source })?;
        let path = real(dir.clone()).join(self.slug.as_str());
        let branch = format!("{PREFIX}{}", self.slug);
        let mut warnings = Vec::new();
        if let Err(error) = links::hide(self.site, &options.directory) {
            warnings.push(error);
        }
        let reused = matches!(self.there(&path)?, There::Ours);
        let base = if reused {
            self.base_of(&path, &branch)
        } else {
            let (base, warning) = patiently(|| self.add(&path, &branch))?;
            warnings.extend(warning);
            warnings.extend(self.unseen());
            base
        };
        self.hold.record(&base)?;
        warnings.extend(links::make(self.site, &path, &options.links));
        // The agent of before may have gone on to another branch.
        let branch = current_branch(&path).unwrap_or(branch);
        Ok(Made { path, branch, base, reused, warnings })
    }

    fn there(&self, path: &Path) -> Result<There, WorktreeError> {
        let taken = || WorktreeError::Taken { path: path.to_owned() };
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(There::Nothing),
            Err(source) => {
                return Err(WorktreeError::NotWritable { path: path.to_owned(), source });
            }
            Ok(found) if !found.is_dir() => return Err(taken()),
            Ok(_) => {}
        }
        let empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        if empty {
            return Ok(There::Nothing);
        }
        if fs::symlink_metadata(path.join(".git")).is_err() {
            return Err(taken());
        }
        let git = Git { dir: path, limit: self.site.limit };
        let broken = |error: WorktreeError| {
            error.meaning(|said| WorktreeError::Broken { path: path.to_owned(), said })
        };
        let common = git.path(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        if real(common.map_err(broken)?) != self.site.common {
            return Err(taken());
        }
        git.text(&["rev-parse", "--verify", "HEAD^{commit}"]).map_err(broken)?;
        Ok(There::Ours)
    }

    /// Makes the tree. Looks at the branch each time: a try that failed may have made it.
    fn add(&self, path: &Path, branch: &str) -> Result<(String, Option<String>), WorktreeError> {
        self.forget_lost(path)?;
        let git = self.site.git();
        let full = format!("refs/heads/{branch}");
        let tip = git.text(&["rev-parse", "--verify", "--quiet", &full]).ok();
        if let Some(entry) = entries(self.site)?.into_iter().find(|e| e.is_on(branch)) {
            return Err(WorktreeError::BranchElsewhere {
                branch: branch.to_owned(),
                path: entry.path,
            });
        }
        let place = path.as_os_str();
        let word = |word: &'static str| std::ffi::OsStr::new(word);
        let Some(tip) = tip else {
            let added =
                self.run_add(&[word("-b"), branch.as_ref(), place, self.head.as_ref()], path);
            if matches!(added, Err(WorktreeError::TooSlow { .. })) {
                // Nobody can have worked on it; and it is deleted only where we put it.
                let _ = git.change(&["update-ref", "-d", &full, self.head]);
            }
            added?;
            return Ok((self.head.to_owned(), None));
        };
        if git.says(&["merge-base", "--is-ancestor", &tip, self.head])? {
            self.run_add(&[word("-B"), branch.as_ref(), place, self.head.as_ref()], path)?;
            return Ok((self.head.to_owned(), None));
        }
        self.run_add(&[place, branch.as_ref()], path)?;
        let warning = format!(
            "the branch {branch} already had commits of its own; the work continues from them"
        );
        Ok((self.base_of(path, branch), Some(warning)))
    }

    fn run_add(&self, rest: &[&std::ffi::OsStr], path: &Path) -> Result<(), WorktreeError> {
        let git = self.site.git();
        let mut args: Vec<&std::ffi::OsStr> = vec!["worktree".as_ref(), "add".as_ref()];
        args.extend(rest);
        let added = git.text(&args).map(drop);
        if matches!(added, Err(WorktreeError::TooSlow { .. })) {
            // Git was killed and could not clear up; nothing stood here before.
            let force = ["worktree".as_ref(), "remove".as_ref(), "-f".as_ref(), "-f".as_ref()];
            let remove: Vec<&std::ffi::OsStr> =
                force.into_iter().chain([path.as_os_str()]).collect();
            if git.change(&remove).is_err() {
                let _ = fs::remove_dir_all(path);
            }
        }
        added
    }

    /// Git remembers a tree that somebody deleted by hand, and would refuse to make it again.
    fn forget_lost(&self, path: &Path) -> Result<(), WorktreeError> {
        let known = entries(self.site)?.into_iter().any(|entry| entry.path == path);
        if !known || path.join(".git").exists() {
            return Ok(());
        }
        // Nothing but an empty directory can be here, and git would stumble over it.
        let _ = fs::remove_dir(path);
        let remove = ["worktree".as_ref(), "remove".as_ref(), path.as_os_str()];
        self.site.git().change(&remove)
    }

    /// What a tree that was there already was made from.
    fn base_of(&self, path: &Path, branch: &str) -> String {
        base_of(self.hold, path, branch, self.head)
    }

    /// Uncommitted changes of the tree we stand in, which the new one does not have.
    fn unseen(&self) -> Option<String> {
        let git = Git { dir: &self.site.origin, limit: self.site.limit };
        let changed = git.bytes(&["status", "--porcelain", "-z", "--untracked-files=no"]).ok()?;
        let count = changed.split(|byte| *byte == 0).filter(|entry| entry.len() > 3).count();
        (count > 0).then(|| {
            let files = if count == 1 { "file has" } else { "files have" };
            format!(
                "{count} {files} uncommitted changes in {}, which this worktree does not have",
                self.site.origin.display()
            )
        })
    }
}

/// The base commit of a worktree: what is on record, else where it left the given commit.
pub fn base_of(hold: &Hold, path: &Path, branch: &str, head: &str) -> String {
    let git = Git::at(path);
    let exists = |base: &String| {
        let commit = format!("{base}^{{commit}}");
        git.text(&["rev-parse", "--verify", "--quiet", &commit]).is_ok()
    };
    let recorded = hold.base().filter(exists);
    let fork = || git.text(&["merge-base", branch, head]).ok();
    recorded.or_else(fork).unwrap_or_else(|| head.to_owned())
}

/// The branch that a tree is on; `None` when it is on none.
pub fn current_branch(path: &Path) -> Option<String> {
    Git::at(path).text(&["symbolic-ref", "--short", "--quiet", "HEAD"]).ok()
}

impl Entry {
    fn is_on(&self, branch: &str) -> bool {
        self.branch.as_deref() == Some(branch)
    }
}
