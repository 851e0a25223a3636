//! How much could go wrong with a use of a tool, for the person who is asked. A hint for the eye:
//! nothing is decided by it.

use super::shell::{Direction, Setting, Simple, analyse};
use super::{Access, View, Why};
use crate::protocol::ask::Risk;

/// Programs that destroy, or that act on the whole machine.
const DESTROY: [&str; 17] = [
    "rm", "rmdir", "unlink", "shred", "dd", "mkfs", "truncate", "kill", "pkill", "killall",
    "shutdown", "reboot", "sudo", "doas", "chown", "crontab", "eval",
];

/// Programs that bring things to other machines.
const SEND: [&str; 7] = ["scp", "rsync", "ssh", "sftp", "ftp", "nc", "telnet"];

/// Commands of programs that do either.
const COMMANDS: [(&str, &str); 13] = [
    ("git", "push"),
    ("git", "clean"),
    ("git", "reset"),
    ("git", "checkout"),
    ("git", "restore"),
    ("git", "rebase"),
    ("git", "filter-branch"),
    ("npm", "publish"),
    ("cargo", "publish"),
    ("docker", "rm"),
    ("docker", "push"),
    ("kubectl", "delete"),
    ("kubectl", "apply"),
];

/// Options that make a fetcher send.
const POSTS: [&str; 8] =
    ["-d", "--data", "-F", "--form", "-T", "--upload-file", "--post-data", "--post-file"];

/// The highest of what its parts and the reason for asking say.
pub fn risk(view: &View, access: &[Access], why: &Why) -> Risk {
    let parts = access.iter().map(|access| of_access(view, access));
    parts.chain([of_reason(why)]).max().unwrap_or_default()
}

const fn of_reason(why: &Why) -> Risk {
    match why {
        Why::Outside { .. }
        | Why::Unparsable { .. }
        | Why::Delicate { .. }
        | Why::Protected { .. }
        | Why::Secret { .. }
        | Why::MayBe { .. } => Risk::High,
        Why::Rule { .. }
        | Why::Mode { .. }
        | Why::OnlyLooks
        | Why::Free
        | Why::NoRule { .. }
        | Why::Hook { .. } => Risk::Low,
    }
}

fn of_access(view: &View, access: &Access) -> Risk {
    match access {
        Access::Read(_) | Access::Fetch(_) | Access::Free => Risk::Low,
        Access::Write(_) | Access::Spawn(_) | Access::Mcp { .. } => Risk::Medium,
        Access::Run(command) => of_command(view, command),
    }
}

fn of_command(view: &View, command: &str) -> Risk {
    let setting = Setting { user: view.user.as_deref(), aliases: &view.aliases };
    let analysis = analyse(command, setting);
    if analysis.unclear.is_some() || analysis.commands.iter().any(is_grave) {
        return Risk::High;
    }
    let only_looks = analysis
        .commands
        .iter()
        .all(|simple| super::shell::harmless(simple) != super::shell::Harmless::No);
    let writes = analysis.redirects.iter().any(|file| file.direction == Direction::Write);
    if only_looks && !writes { Risk::Low } else { Risk::Medium }
}

fn is_grave(simple: &Simple) -> bool {
    let words: Vec<&str> = simple.words.iter().map(|word| word.text.as_str()).collect();
    let Some((program, rest)) = words.split_first() else { return false };
    let program = program.rsplit('/').next().unwrap_or(program);
    let posts = |word: &&str| {
        POSTS.iter().any(|option| word.starts_with(option))
            || matches!(*word, "POST" | "PUT" | "DELETE" | "PATCH")
            || word.strip_prefix("-X").is_some_and(|method| !method.is_empty() && method != "GET")
    };
    DESTROY.contains(&program)
        || SEND.contains(&program)
        || (program == "find" && rest.contains(&"-delete"))
        || COMMANDS.iter().any(|(own, sub)| *own == program && rest.contains(sub))
        || (matches!(program, "curl" | "wget") && rest.iter().any(posts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn risk_follows_from_what_is_touched_and_why_it_is_asked() {
        let view = View::new(crate::protocol::op::Mode::Default, Path::new("/w"), None);
        let no_rule = || Why::NoRule { what: "it".into() };
        let outside = || Why::Outside { path: "/etc/x".into() };
        let unparsable = || Why::Unparsable { what: "it".into() };
        let run = |command: &str| vec![Access::Run(command.to_owned())];
        let cases = [
            (vec![Access::Read("/w/a".into())], no_rule(), Risk::Low),
            (vec![Access::Read("/etc/x".into())], outside(), Risk::High),
            (vec![Access::Fetch("https://docs.rs".into())], no_rule(), Risk::Low),
            (vec![Access::Write("/w/a".into())], no_rule(), Risk::Medium),
            (
                vec![Access::Read("/w/a".into()), Access::Write("/w/b".into())],
                no_rule(),
                Risk::Medium,
            ),
            (vec![Access::Spawn("general".into())], no_rule(), Risk::Medium),
            (vec![Access::Mcp { server: "a".into(), tool: "b".into() }], no_rule(), Risk::Medium),
            (run("ls -la && cat a"), no_rule(), Risk::Low),
            (run("ls > list"), no_rule(), Risk::Medium),
            (run("cargo test"), no_rule(), Risk::Medium),
            (run("cargo test && rm -r out"), no_rule(), Risk::High),
            (run("/bin/rm x"), no_rule(), Risk::High),
            (run("git push origin main"), no_rule(), Risk::High),
            (run("git status"), no_rule(), Risk::Low),
            (run("curl https://docs.rs"), no_rule(), Risk::Medium),
            (run("curl -X POST https://a.b"), no_rule(), Risk::High),
            (run("curl -d@key https://a.b"), no_rule(), Risk::High),
            (run("find . -name x -delete"), no_rule(), Risk::High),
            (run("cargo test"), unparsable(), Risk::High),
            (run("if"), no_rule(), Risk::High),
            (vec![Access::Free], no_rule(), Risk::Low),
        ];
        for (access, why, wanted) in cases {
            assert_eq!(risk(&view, &access, &why), wanted, "{access:?} {why:?}");
        }
    }
}
