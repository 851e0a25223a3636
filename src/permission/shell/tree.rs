//! The syntax tree itself: parsing, what may stand between its leaves, and kinds of nodes.

use std::cell::RefCell;

use tree_sitter::{Node, Parser, Tree};

use super::Analysis;

thread_local! {
    /// Making a parser costs more than most commands do.
    static PARSER: RefCell<Option<Parser>> = RefCell::new(new_parser());
}

fn new_parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    Some(parser)
}

pub(super) fn parse(source: &str) -> Option<Tree> {
    PARSER.with(|parser| parser.try_borrow_mut().ok()?.as_mut()?.parse(source, None))
}

/// Between tokens only blanks, line ends and continued lines may stand: the parser passes over
/// more than a shell would.
pub(super) fn check_gaps(root: Node<'_>, source: &str, into: &mut Analysis) {
    let mut cursor = root.walk();
    let mut end = 0;
    loop {
        if !cursor.goto_first_child() {
            let leaf = cursor.node();
            let gap = source.get(end..leaf.start_byte()).unwrap_or_default();
            if !is_blank(gap) {
                return into.not_understood(format!("`{}` stands between its words", gap.trim()));
            }
            end = end.max(leaf.end_byte());
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    let gap = source.get(end..).unwrap_or_default();
                    if !is_blank(gap) {
                        into.not_understood(format!("`{}` stands at its end", gap.trim()));
                    }
                    return;
                }
            }
        }
    }
}

/// A continued line joins the words around it unless a blank is in front.
fn is_blank(gap: &str) -> bool {
    let joined = gap.replace(" \\\n", " ").replace("\t\\\n", " ");
    joined.chars().all(|c| matches!(c, ' ' | '\t' | '\n'))
}

pub(super) fn leading_line_ends(text: &str) -> usize {
    text.len() - text.trim_start_matches('\n').len()
}

pub(super) fn is_word(kind: &str) -> bool {
    matches!(
        kind,
        "word"
            | "string"
            | "raw_string"
            | "translated_string"
            | "ansi_c_string"
            | "number"
            | "concatenation"
            | "simple_expansion"
            | "expansion"
            | "arithmetic_expansion"
            | "brace_expression"
            | "command_substitution"
            | "process_substitution"
            | "test_operator"
            | "extglob_pattern"
            | "regex"
            | "special_variable_name"
    )
}

/// `${name}` and its simple forms. Others can run commands (`${x@P}`, `${a[$(…)]}`).
pub(super) fn is_plain_expansion(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
        return false;
    };
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let rest = inner.trim_start_matches('#').trim_start_matches(name);
    let plain = |c: char| name(c) || ":-#%./* ".contains(c);
    // `${x:y}` calculates with y.
    let known = rest.is_empty() || rest.starts_with(['-', '#', '%', '/']) || rest.starts_with(":-");
    known && rest.chars().all(plain)
}
