//! Homes that the reference program wrote: understood, and changed only where we mean to.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use quarterdeck::protocol::ids::AgentName;
use quarterdeck::store::mailbox::Which;
use quarterdeck::store::roster::Activity;

use crate::support::deck::Deck;
use crate::support::{copy_dir, files_below};

fn deck(fixture: &str) -> Deck {
    let deck = Deck::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    copy_dir(&fixtures.join(fixture), &deck.home());
    deck
}

const CLASSIC: &str = "classic-2.1.41/in-process-working";
const SESSION: &str = "session-2.1.197/in-process-working";

#[test]
fn a_classic_home_is_understood() {
    let deck = deck(CLASSIC);
    let ran = deck.run(&["task", "list", "peer-team"]).ok();
    assert_eq!(
        ran.stdout,
        "#1 [completed] Task A (alice)\n#2 [completed] Task B (bob)\n#3 [pending] Task C\n",
        "completed blockers do not count, bookkeeping is hidden"
    );
    let ran = deck.run(&["inbox", "peer-team", "team-lead", "--json"]).ok();
    assert_eq!(ran.json().as_array().unwrap().len(), 9);
    let ran = deck.run(&["task", "claim", "peer-team", "--as", "alice", "--json"]).ok();
    assert_eq!(ran.json()["task"]["id"], "3");
}

#[test]
fn a_change_touches_one_place_and_nothing_else() {
    let deck = deck(CLASSIC);
    let before: Vec<(_, String)> = files_below(&deck.home())
        .into_iter()
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect();
    deck.run(&["task", "update", "peer-team", "3", "--owner", "bob"]).ok();
    deck.run(&["send", "peer-team", "bob", "hi", "--from", "alice", "--summary", "s"]).ok();
    deck.run(&["team", "join", "peer-team", "carol", "--cwd", "/project"]).ok();
    deck.run(&["team", "leave", "peer-team", "carol"]).ok();
    for (path, was) in before {
        let is = fs::read_to_string(&path).unwrap();
        if path.ends_with("3.json") {
            let expected = was.replace("  \"status\"", "  \"owner\": \"bob\",\n  \"status\"");
            assert_eq!(is, expected, "a new key stands where the reference puts it");
        } else if path.ends_with("inboxes/bob.json") {
            assert!(is.starts_with(was.strip_suffix("\n]").unwrap()), "appended to");
            assert!(is.contains("\"summary\": \"s\""), "{is}");
            assert!(is.ends_with("    \"color\": \"blue\",\n    \"read\": false\n  }\n]"), "{is}");
        } else {
            assert_eq!(is, was, "{}", path.display());
        }
    }
}

#[test]
fn unknown_fields_and_their_order_survive() {
    let deck = deck(CLASSIC);
    let config = deck.home().join("teams/peer-team/config.json");
    let was = fs::read_to_string(&config).unwrap();
    let odd = was
        .replace(
            "  \"createdAt\"",
            "  \"zeta\": { \"b\": 1.0, \"a\": \"\\ud83d\" },\n  \"createdAt\"",
        )
        .replace("      \"name\": \"bob\"", "      \"mood\": [1e3],\n      \"name\": \"bob\"")
        .replace(
            "{ \"b\": 1.0, \"a\": \"\\ud83d\" }",
            "{\n    \"b\": 1.0,\n    \"a\": \"\\ud83d\"\n  }",
        )
        .replace("[1e3]", "[\n        1e3\n      ]");
    assert_ne!(odd, was);
    fs::write(&config, &odd).unwrap();
    deck.run(&["team", "join", "peer-team", "carol", "--cwd", "/project"]).ok();
    deck.run(&["team", "leave", "peer-team", "carol"]).ok();
    assert_eq!(fs::read_to_string(&config).unwrap(), odd);
}

#[test]
fn mail_to_a_session_team_has_the_session_form() {
    let deck = deck(SESSION);
    let team = "session-9f0f279d";
    let sent = deck.run(&["send", team, "alice", "hi", "--json"]).ok().json();
    let message = &sent["message"];
    assert_eq!(message["msgV"], 1);
    assert_eq!(message["type"], "message");
    assert_eq!(message["msg_id"].as_str().unwrap().len(), 36);
    let keys: Vec<&String> = message.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["from", "text", "timestamp", "msgV", "msg_id", "type", "read"]);
}

#[test]
fn an_inbox_of_the_session_form_stays_so_in_any_team() {
    let deck = Deck::with_team(&["alice"]);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let was = fs::read_to_string(fixtures.join("session-2.1.197/inbox-v1/alice.json")).unwrap();
    fs::write(deck.inbox("alice"), &was).unwrap();
    deck.run(&["send", "t", "alice", "hi"]).ok();
    let is = fs::read_to_string(deck.inbox("alice")).unwrap();
    assert!(is.starts_with(was.strip_suffix("\n]").unwrap()));
    assert_eq!(is.matches("\"msgV\": 1").count(), was.matches("\"msgV\": 1").count() + 1);
    let ran = deck.run(&["inbox", "t", "alice", "--mark-read", "--json"]).ok();
    assert_eq!(ran.json().as_array().unwrap().len(), 3);
    let marked = fs::read_to_string(deck.inbox("alice")).unwrap();
    assert_eq!(marked, is.replace("\"read\": false", "\"read\": true"), "marked, not removed");
}

#[test]
fn what_we_create_looks_as_the_reference_creates_it() {
    let deck = Deck::new();
    deck.run(&["team", "create", "peer-team", "--cwd", "/project", "--model", "m"]).ok();
    deck.run(&["team", "join", "peer-team", "alice", "--prompt", "p", "--cwd", "/project"]).ok();
    let roster = deck.run(&["team", "show", "peer-team", "--json"]).ok().json();
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(&roster), ["name", "createdAt", "leadAgentId", "leadSessionId", "members"]);
    let lead =
        ["agentId", "name", "agentType", "model", "joinedAt", "tmuxPaneId", "cwd", "subscriptions"];
    assert_eq!(keys(&roster["members"][0]), lead);
    assert_eq!(keys(&roster["members"][1]).len(), 13);
    assert_eq!(keys(&roster["members"][1]).last().unwrap(), "isActive");
    let text = fs::read_to_string(deck.home().join("teams/peer-team/config.json")).unwrap();
    assert!(text.starts_with("{\n  \"name\": \"peer-team\",\n") && text.ends_with("\n}"), "{text}");
    assert_eq!(fs::read(deck.home().join("tasks/peer-team/.lock")).unwrap(), b"");
}

#[test]
fn what_we_create_is_for_this_user_only() {
    let deck = Deck::with_team(&["alice"]);
    deck.run(&["task", "add", "t", "x"]).ok();
    deck.run(&["send", "t", "alice", "x"]).ok();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for file in files_below(&deck.home()).into_iter().chain(files_below(&deck.state())) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
        assert_eq!(mode(file.parent().unwrap()), 0o700, "{}", file.display());
    }
}

#[test]
fn working_and_idle_change_one_word() {
    let deck = deck(CLASSIC);
    let config = deck.home().join("teams/peer-team/config.json");
    let was = fs::read_to_string(&config).unwrap();
    let store = deck.store();
    let team = store.rosters().find("peer-team").unwrap();
    let bob = AgentName::found("bob");
    store.rosters().set_activity(&team, &bob, Activity::Working).unwrap();
    let working = fs::read_to_string(&config).unwrap();
    let (before, after) = was.rsplit_once("\"backendType\": \"in-process\"").unwrap();
    let expected =
        format!("{before}\"backendType\": \"in-process\",\n      \"isActive\": true{after}");
    assert_eq!(working, expected, "a new key stands at its place");
    store.rosters().set_activity(&team, &bob, Activity::Idle).unwrap();
    let idle = fs::read_to_string(&config).unwrap();
    assert_eq!(idle, working.replace("\"isActive\": true", "\"isActive\": false"));
    let nobody = store.rosters().set_activity(&team, &AgentName::found("x"), Activity::Idle);
    assert!(nobody.unwrap_err().to_string().contains("its members are: team-lead, alice, bob"));
}

#[test]
fn all_mail_is_marked_at_once() {
    let deck = Deck::with_team(&["alice"]);
    for text in ["one", "two", "three"] {
        deck.run(&["send", "t", "alice", text]).ok();
    }
    let (store, alice) = (deck.store(), AgentName::found("alice"));
    let mail = store.mail(&crate::support::deck::team());
    assert_eq!(mail.mark_read(&alice, &Which::All).unwrap(), 3);
    assert_eq!(mail.mark_read(&alice, &Which::All).unwrap(), 0);
    assert_eq!(mail.read(&alice).unwrap().unread().count(), 0);
    assert_eq!(mail.mark_read(&AgentName::found("nobody"), &Which::All).unwrap(), 0);
}
