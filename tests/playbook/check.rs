//! `playbook check`, and the mistakes that it finds.

use quarterdeck::model::rehearsal::playbook::{Fault, FaultKind, Pace, Playbook, Repeat};

use proptest::prelude::*;

use super::scene::{file, story};
use crate::support::deck::Deck;

#[test]
fn a_file_with_six_mistakes_is_told_all_six() {
    let deck = Deck::new();
    let path = file("six_mistakes.yaml");
    let path = path.to_str().unwrap();
    let ran = deck.run(&["playbook", "check", path]);
    let expected = [
        "6:9: a turn has no `wen` (did you mean `when`?)",
        "8:36: bad pattern: unclosed character class at character 13",
        "11:24: nothing is called `wrod` here (did you mean `word`?)",
        "12:17: `when` has no condition `result_off` (did you mean `result_of`?)",
        "14:13: this call names no `tool` (for example: tool: Read)",
        "17:31: this fault has 2 kinds (give one of status, cut_after, stall_ms, garbage, too_long)",
    ];
    let lines: Vec<String> = expected.iter().map(|line| format!("{path}:{line}")).collect();
    assert_eq!(ran.stderr.lines().collect::<Vec<_>>(), lines);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));

    let ran = deck.run(&["playbook", "check", path, "--json"]);
    let list = ran.json();
    assert_eq!(ran.code, 2);
    let places: Vec<_> = list.as_array().unwrap().iter().map(|m| m["line"].as_u64()).collect();
    assert_eq!(places, [6, 8, 11, 12, 14, 17].map(Some));
    assert_eq!(list[0]["hint"], "did you mean `when`?");
    assert!(!deck.home().exists(), "checking needs no home");
}

#[test]
fn a_good_file_is_described() {
    let deck = Deck::new();
    let path = file("story.yaml");
    let path = path.to_str().unwrap();
    let ran = deck.run(&["playbook", "check", path]).ok();
    insta::assert_snapshot!(ran.stdout, @r"
    story
      A lead, a scout and two workers mend an inventory.
      team-lead         7 turns
      worker-*          3 turns
      type:explore      1 turn
      fork              2 turns
      internal:compact  1 turn
    ");
    assert_eq!(deck.run(&["playbook", "check", path, "--json"]).ok().json(), serde_json::json!([]));
    let none = deck.run(&["playbook", "check", "nowhere.yaml"]);
    assert_eq!(none.code, 2);
    assert!(none.stderr.contains("cannot read nowhere.yaml"), "{none:?}");
}

/// The mistakes of a file, as they are printed.
fn mistakes(text: &str) -> Vec<String> {
    match Playbook::parse(text) {
        Ok(_) => Vec::new(),
        Err(mistakes) => mistakes.iter().map(ToString::to_string).collect(),
    }
}

#[track_caller]
fn expect(text: &str, expected: &[&str]) {
    assert_eq!(mistakes(text), expected, "\n{text}");
}

#[test]
fn mistakes_of_the_whole() {
    let table: [(&str, &[&str]); 12] = [
        ("", &["1:1: the file is empty (a playbook has `actors`)"]),
        ("just words", &["1:1: a playbook must be a mapping, not text"]),
        ("name: x", &["1:1: there are no `actors`"]),
        ("actors: []", &["1:1: `actors` is empty"]),
        (
            "actors:\n  who: x",
            &["2:3: `actors` must be a list, not a mapping (begin each item with `- `)"],
        ),
        (
            "actors: [{}]",
            &[
                "1:10: this actor has no `turns`",
                "1:10: this actor has no `who` (for example: who: team-lead)",
            ],
        ),
        ("actors: [{who: x, turns: []}]", &["1:19: `turns` is empty"]),
        (
            "pace: -3\nactors: [{who: x, turns: [{say: y}]}]",
            &["1:7: `pace` must not be below zero"],
        ),
        (
            "pace: fast\nname: 7\nactors: [{who: x, turns: [{say: y}]}]",
            &[
                "1:7: `pace` must be a number, not text",
                "2:7: `name` must be text, not a number (put it in quotes)",
            ],
        ),
        (
            "actors:\n  - {who: x, turns: [{say: y}]}\n  - {who: x, turns: [{say: y}]}",
            &["3:5: there are two actors `x` (the first one is in line 2)"],
        ),
        (
            "actors:\n  - {who: 'internal:compakt', turns: [{say: y}]}",
            &["2:11: there is no internal request `compakt` (did you mean `compact`?)"],
        ),
        (
            "name: a\nname: b\nactors: [{who: x, turns: [{say: y}]}]",
            &["2:1: `name` is here twice (the first one is in line 1)"],
        ),
    ];
    for (text, expected) in table {
        let mut expected = expected.to_vec();
        let mut found = mistakes(text);
        expected.sort_unstable();
        found.sort();
        assert_eq!(found, expected, "\n{text}");
    }
    let broken = mistakes("actors:\n  - who: [x\n");
    assert_eq!(broken.len(), 1);
    assert!(broken[0].contains("this is not YAML: "), "{broken:?}");
    for odd in ["a: &x 1\nb: *x", "--- {a: 1}\n--- {b: 1}", "!!map {a: 1}", "? [a]\n: b", "%", "\t"]
    {
        assert_ne!(mistakes(odd), Vec::<String>::new(), "{odd:?}");
    }
}

/// A file with one actor whose only turn is in line 3, from column 7.
fn with_turn(turn: &str) -> String {
    format!("actors:\n  - turns:\n    - {turn}\n    who: x\n")
}

#[test]
fn mistakes_of_a_turn() {
    let table = [
        ("{when: {user: '('}, say: '{{any}}'}", "3:22: bad pattern: unclosed group at character 1"),
        ("{when: {user: 'ab(?<n>x'}, say: y}", "3:24: bad pattern: unclosed group at character 3"),
        (
            "{when: {user: x, mailfrom: y}, say: y}",
            "3:24: `when` has no condition `mailfrom` (did you mean `mail_from`?)",
        ),
        (
            "{when: {weather: x}, say: y}",
            "3:15: `when` has no condition `weather` (known ones: user, result_of, error_of, mail_from, matching, any)",
        ),
        (
            "{when: {matching: x}, say: y}",
            "3:15: `matching` belongs to `mail_from`, `result_of` or `error_of` (add one of them, or use `user`)",
        ),
        ("{when: {}, say: y}", "3:14: `when` is empty (leave it out, or say `any: true`)"),
        (
            "{when: {any: false}, say: y}",
            "3:20: `any` can only be true (leave it out, or say `any: true`)",
        ),
        ("{when: hello, say: y}", "3:14: `when` must be a mapping, not text"),
        ("{say: 5}", "3:13: `say` must be text, not a number (put it in quotes)"),
        ("{say: {a: b}}", "3:13: `say` must be text, not a mapping"),
        ("{say: y, repeat: often}", "3:24: `repeat` must be true or false, not text"),
        ("{repeat: true}", "3:7: this turn says and does nothing (give it `say` or `call`)"),
        (
            "{call: {tool: x}}",
            "3:14: `call` must be a list, not a mapping (begin each item with `- `)",
        ),
        ("{call: [{tool: x, input: 5}]}", "3:32: `input` must be a mapping, not a number"),
        ("{call: [{tool: x, inputs: {}}]}", "3:25: a call has no `inputs` (did you mean `input`?)"),
        (
            "{call: [{tool: x, input: {a: [{b: 'é {{me}} {{you}}'}]}}]}",
            "3:51: nothing is called `you` here (known ones: result, request_id, cwd, me, team)",
        ),
        ("{say: '{{resullt}}'}", "3:14: nothing is called `resullt` here (did you mean `result`?)"),
        ("{say: y, usage: {input: -1}}", "3:31: `input` must not be below zero"),
        ("{say: y, usage: {input: 1.5}}", "3:31: `input` must be a whole number"),
        (
            "{say: y, fault: {}}",
            "3:23: this fault has no kind (give one of status, cut_after, stall_ms, garbage, too_long)",
        ),
        ("{say: y, fault: {status: 200}}", "3:32: 200 is not an error status (from 400 to 599)"),
        ("{say: y, fault: {status: 529, times: -1}}", "3:44: `times` must not be below zero"),
        ("{say: y, fault: {garbage: 3}}", "3:33: `garbage` must be true or false, not a number"),
        ("{fault: {too_long: 9}}", "3:26: `too_long` must be true or false, not a number"),
        (
            "{fault: {garbage: true, too_long: true}}",
            "3:31: this fault has 2 kinds (give one of status, cut_after, stall_ms, garbage, too_long)",
        ),
    ];
    for (turn, expected) in table {
        expect(&with_turn(turn), &[expected]);
    }
}

#[test]
fn places_are_found_in_longer_texts() {
    let text = "actors:\n- who: x\n  turns:\n  - say: |\n      one\n      two {{three}}\n  - say: \"a\\n {{four}}\"\n";
    expect(
        text,
        &[
            "6:11: nothing is called `three` here (known ones: result, request_id, cwd, me, team)",
            "7:15: nothing is called `four` here (known ones: result, request_id, cwd, me, team)",
        ],
    );
}

#[test]
fn whatever_stands_between_braces_must_be_known() {
    let known = "(known ones: result, request_id, cwd, me, team)";
    let field = "leads to no field (for example: result.list.0.name)";
    let table = [
        ("{{result[0]}}", format!("`result[0]` {field}")),
        ("{{result.}}", format!("`result.` {field}")),
        ("{{result..x}}", format!("`result..x` {field}")),
        ("{{result.a b}}", format!("`result.a b` {field}")),
        ("{{ word? }}", "nothing is called `word?` here (did you mean `word`?)".to_owned()),
        ("{{a + b}}", format!("nothing is called `a + b` here {known}")),
        ("{{}}", format!("there is no name between these braces {known}")),
    ];
    for (hole, what) in table {
        let what = match hole {
            "{{a + b}}" | "{{}}" => what.replace("known ones: ", "known ones: word, "),
            _ => what,
        };
        let turn = format!("{{when: {{user: '(?<word>x)'}}, say: 'a {{{{word}}}} {hole}'}}");
        expect(&with_turn(&turn), &[&format!("3:53: {what}")]);
        // A pattern that cannot be read does not make it a name.
        let turn = format!("{{when: {{user: '('}}, say: '{hole}'}}");
        let found = mistakes(&with_turn(&turn));
        assert_eq!(found.len(), 2, "{found:?}");
    }
    let twice = with_turn("{say: '{{x}} {{x}}'}");
    let what = format!("nothing is called `x` here {known}");
    expect(&twice, &[&format!("3:14: {what}"), &format!("3:20: {what}")]);
    for fine in ["{ {me} }", "{{{me}}}", "{{ me }}", "{{", "}} {{", "{{result.a-b.0.c_d}}"] {
        expect(&with_turn(&format!("{{say: '{fine}'}}")), &[]);
    }
}

#[test]
fn a_group_must_not_hide_what_is_always_there() {
    for name in ["me", "team", "cwd", "result", "request_id"] {
        let what = format!("a group cannot be called `{name}` (templates know this name already)");
        let user = format!("{{when: {{user: 'is (?<{name}>x)'}}, say: y}}");
        expect(&with_turn(&user), &[&format!("3:28: {what}")]);
        let mail = format!("{{when: {{mail_from: a, matching: '(?P<{name}>x)'}}, say: y}}");
        assert!(mistakes(&with_turn(&mail))[0].ends_with(&what));
    }
    expect(&with_turn("{when: {user: '(?<mean>x)'}, say: '{{mean}}'}"), &[]);
}

#[test]
fn nothing_is_reported_at_its_key() {
    let text = "pace:\nactors:\n  - who: x\n    turns:\n      - say:\n        repeat: false\n      \
                - when:\n          user:\n        say: y\n        usage: {input: }\n";
    expect(
        text,
        &[
            "1:1: `pace` must be a number, not nothing",
            "5:9: `say` must be text, not nothing",
            "8:11: a pattern must be text, not nothing",
            "10:17: `input` must be a number, not nothing",
        ],
    );
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let text = "name: marked\nactors: [{who: x, turns: [{say: y}]}]";
    assert_eq!(Playbook::parse(&format!("\u{feff}{text}")).unwrap().name, "marked");
    expect(
        "\u{feff}nmae: x\nactors: [{who: x, turns: [{say: y}]}]",
        &["1:1: a playbook has no `nmae` (did you mean `name`?)"],
    );
}

#[test]
fn a_pattern_that_is_too_large_is_wrong_nowhere_in_particular() {
    let turn = r"{when: {user: '(\w{100}){100}'}, say: y}";
    expect(&with_turn(turn), &["3:21: bad pattern: it is too large"]);
}

#[test]
fn one_mistake_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.yaml");
    let said = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Playbook::load(&path).unwrap_err().to_string()
    };
    let name = path.display();
    assert_eq!(said("actors: []"), format!("{name} has a mistake: 1:1: `actors` is empty"));
    let two = said("pace: x\nactors: []");
    assert!(two.starts_with(&format!("{name} has 2 mistakes; the first: 1:7: ")), "{two}");
}

#[test]
fn turns_that_nobody_reaches_are_mistakes() {
    let text = "actors:\n- who: x\n  turns:\n  - {say: a}\n  - {when: {any: true}, repeat: true, say: b}\n  - {say: c}\n  - {when: {user: d}, say: d}\n- who: y\n  turns: [{say: e}]\n";
    let why = "this turn can never be played (the one in line 5 always matches and repeats)";
    expect(text, &[&format!("6:5: {why}"), &format!("7:5: {why}")]);
}

#[test]
fn a_good_file_is_read_as_it_stands() {
    let playbook = story();
    assert_eq!((playbook.name.as_str(), playbook.pace), ("story", Pace::AtOnce));
    let lead = &playbook.actors[0];
    assert_eq!((lead.who.to_string().as_str(), lead.line, lead.turns.len()), ("team-lead", 5, 7));
    let lines: Vec<usize> = lead.turns.iter().map(|turn| turn.line).collect();
    assert_eq!(lines, [8, 19, 23, 27, 29, 33, 35]);
    assert_eq!(lead.turns[6].repeat, Repeat::Always);

    let text = "actors: [{who: x, turns: [{say: y, fault: {status: 429, times: 2}}, {say: y, fault: {stall_ms: 5}}]}]";
    let turns = Playbook::parse(text).unwrap().actors.remove(0).turns;
    let second = std::time::Duration::from_secs(1);
    let kind = FaultKind::Status { status: 429, retry_after: Some(second) };
    assert_eq!(turns[0].fault, Some(Fault { kind, times: 2 }));
    assert_eq!(turns[1].fault, Some(Fault { kind: FaultKind::Stall(second / 200), times: 1 }));
}

#[test]
fn nesting_without_end_is_a_mistake() {
    let deep = format!("actors: {}", "[".repeat(100));
    expect(&deep, &["1:72: this is not YAML: nested too deeply"]);
    // Far deeper, the parser itself gives up; by lines as well.
    for deeper in ["[".repeat(10_000), "- ".repeat(10_000), "{a: ".repeat(10_000)] {
        assert_eq!(mistakes(&deeper).len(), 1);
    }
}

proptest! {
    /// Whatever happens to a file, reading it ends with a playbook or with mistakes in the file.
    #[test]
    fn a_spoilt_file_is_never_more_than_a_mistake(
        start in 0.0..1.0f64,
        length in 0usize..40,
        piece in "[-{}\\[\\]:'\"&*!|>?%@#, \n\ta-z0-9é]{0,12}",
    ) {
        let text = std::fs::read_to_string(file("story.yaml")).unwrap();
        let characters: Vec<char> = text.chars().collect();
        let start = (characters.len() as f64 * start) as usize;
        let end = (start + length).min(characters.len());
        let spoilt: String =
            characters[..start].iter().copied().chain(piece.chars()).chain(characters[end..].iter().copied()).collect();
        let lines = spoilt.lines().count() + 1;
        if let Err(mistakes) = Playbook::parse(&spoilt) {
            prop_assert!(!mistakes.is_empty());
            for mistake in mistakes {
                prop_assert!((1..=lines).contains(&mistake.line) && mistake.column > 0, "{mistake}");
            }
        }
    }
}
