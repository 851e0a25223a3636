//! Words of the shell itself that do more than they seem to: they calculate, and the index of a
//! list in a calculation may run commands (`test -v 'a[$(rm x)]'`).

use super::{Simple, Word};

const BETWEEN: [&str; 15] = [
    "=", "==", "!=", "<", ">", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef",
];
const CALCULATES: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// Why it cannot be told what a word of the shell would do.
pub(super) fn doubt(simple: &Simple) -> Option<&'static str> {
    let (name, rest) = simple.words.split_first()?;
    let listed = |word: &Word| word.text.contains('[');
    let assigns = |word: &Word| word.text.split_once('=').is_some_and(|(name, _)| is_name(name));
    let option = |word: &Word, letters: &str| {
        word.text.starts_with(['-', '+']) && word.text.contains(|c| letters.contains(c))
    };
    match name.text.as_str() {
        "test" => test(rest),
        "[" => test(rest.split_last().map_or(rest, |(_, inner)| inner)),
        "let" => Some("it calculates with `let`"),
        "printf" => {
            let first = rest.first()?;
            let known = first.fixed || (first.one && first.text.starts_with("\"%"));
            (!known || first.text.starts_with("-v")).then_some("`printf` may set a variable")
        }
        "declare" | "typeset" | "local" if rest.iter().any(|word| option(word, "inaA")) => {
            Some("it declares more than a plain variable")
        }
        "declare" | "typeset" | "local" | "readonly" | "export" | "read" | "mapfile"
        | "readarray" | "getopts" | "wait" | "unset" => {
            let open = |word: &Word| listed(word) || !(word.fixed || assigns(word));
            rest.iter().any(open).then_some("which variable it sets is not known")
        }
        _ => None,
    }
}

/// `test …`: which word is an operator must be known, and none may look into a list.
fn test(words: &[Word]) -> Option<&'static str> {
    let fixed = |at: usize| words.get(at).is_some_and(|word| word.fixed);
    let is = |at: usize, text: &str| fixed(at) && words.get(at).is_some_and(|w| w.text == text);
    let looks = words.iter().any(|word| matches!(&*word.text, "-v" | "-R"));
    if looks && words.iter().any(|word| !word.fixed || word.text.contains('[')) {
        return Some("a test looks into a list");
    }
    if words.iter().all(|word| word.fixed) {
        return None;
    }
    let between = BETWEEN.iter().any(|operator| is(1, operator));
    let known = match words.len() {
        1 => true,
        2 => fixed(0),
        3 => between || (is(0, "!") && fixed(1)),
        _ => false,
    };
    let whole = words.iter().all(|word| word.one);
    (!known || !whole).then_some("what a test looks at is known only when it runs")
}

/// Whether `[ … ]` may be something else to a shell: another command's name, or one that ends at
/// the first sign of its own.
pub(super) fn is_doubtful_test(text: &str) -> bool {
    let is_name = text.strip_prefix('[').is_some_and(|rest| !rest.starts_with([' ', '\t']));
    is_name || text.contains(['<', '>', '\n', ';', '&', '|'])
}

/// Whether `[[ … ]]` calculates or looks into a list, told from its text: operators there cannot
/// be quoted.
pub(super) fn double_test_doubt(text: &str) -> Option<&'static str> {
    if text.strip_prefix("[[").is_some_and(|rest| !rest.starts_with([' ', '\t', '\n'])) {
        return Some("`[[` is part of a longer name");
    }
    let text = text.replace("\\\n", "");
    let has = |part: &&str| text.contains(part);
    if text.contains("[$") || ["-v", "-R"].iter().any(has) {
        return Some("a test looks into a list");
    }
    CALCULATES.iter().any(has).then_some("a test calculates")
}

/// Whether a loop may use this variable. Those in capital letters are the ones that the shell and
/// its programs obey, such as `PATH`.
pub(super) fn is_own_variable(name: &str) -> bool {
    is_name(name)
        && (name.len() == 1 || name.chars().any(|c| c.is_ascii_lowercase()))
        && !name.ends_with("_proxy")
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
