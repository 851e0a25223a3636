//! The walk over the syntax tree. What is not in these lists is not understood.

use std::collections::BTreeMap;
use std::ops::Range;

use tree_sitter::Node;

use super::builtin;
use super::tree::{check_gaps, is_plain_expansion, is_word, leading_line_ends, parse};
use super::word::{self, Word};
use super::wrapper::{self, Inner};
use super::{Analysis, DEEPEST, Direction, Part, Redirect, Setting, Simple, gather};

/// Deeper trees than this are not walked.
const DEEPEST_NODE: usize = 200;

/// Words that begin or end a construct. As the name of a command they mean that the parser and
/// a shell would not agree.
const RESERVED: [&str; 20] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "select", "function", "{", "}", "!", "[[", "]]", "coproc",
];

pub(super) fn program(source: &str, setting: Setting<'_>, depth: usize, into: &mut Analysis) {
    let Some(tree) = parse(source) else {
        return into.not_understood("the parser gave up");
    };
    let root = tree.root_node();
    if root.has_error() {
        into.not_understood("it is not a command that a shell would take");
    }
    check_gaps(root, source, into);
    Walk { source, setting, depth, into }.node(root, 0);
}

/// Commands that were read without the parser.
pub(super) fn commands(
    all: Vec<Simple>,
    source: &str,
    setting: Setting<'_>,
    depth: usize,
    into: &mut Analysis,
) {
    let mut walk = Walk { source, setting, depth, into };
    all.into_iter().for_each(|simple| walk.push(simple));
}

struct Walk<'a, 'b> {
    source: &'a str,
    setting: Setting<'a>,
    depth: usize,
    into: &'b mut Analysis,
}

impl<'a> Walk<'a, '_> {
    fn text(&self, node: Node<'_>) -> &'a str {
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    fn children(&mut self, node: Node<'_>, deep: usize) {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            self.node(child, deep + 1);
        }
    }

    fn node(&mut self, node: Node<'_>, deep: usize) {
        if deep > DEEPEST_NODE {
            return self.into.not_understood("it is nested too deeply");
        }
        if node.is_error() || node.is_missing() {
            self.into.not_understood("it is not a command that a shell would take");
        }
        if !node.is_named() {
            return;
        }
        match node.kind() {
            "ERROR" | "program" | "list" | "pipeline" | "subshell" | "negated_command"
            | "if_statement" | "elif_clause" | "else_clause" | "while_statement" | "do_group"
            | "case_statement" | "case_item" | "for_statement" => {
                self.repeats(node);
                self.children(node, deep);
            }
            "compound_statement" if self.text(node).starts_with("((") => {
                self.into.not_understood("it calculates with `((`");
            }
            "compound_statement" => self.children(node, deep),
            "function_definition" => {
                self.into.not_understood("it defines a function");
                self.children(node, deep);
            }
            "redirected_statement" => {
                self.children(node, deep);
                if node.child_by_field_name("body").is_none() {
                    // `> file` alone is a command that does nothing and writes.
                    let words = vec![Word::plain(":")];
                    self.push(Simple { env: Vec::new(), words, part: Part::Own });
                }
            }
            "command" | "declaration_command" | "unset_command" => self.command(node, deep),
            "variable_assignment" => {
                let word = self.assignment(node, deep);
                self.push(Simple { env: vec![word], words: Vec::new(), part: Part::Own });
            }
            "variable_assignments" => self.children(node, deep),
            "test_command" => self.test(node, deep),
            "file_redirect" => self.redirect(node, deep),
            "heredoc_redirect" => self.here_document(node, deep),
            "herestring_redirect" => self.children(node, deep),
            "comment" => self.comment(node),
            "variable_name" | "file_descriptor" | "heredoc_end" | "heredoc_content" => {}
            "command_substitution" | "process_substitution" => self.substitution(node, deep),
            kind if is_word(kind) => {
                self.word(node, deep);
            }
            kind => self.into.not_understood(format!("it has a part not analysed here, {kind}")),
        }
    }

    /// Notes loops, and what they set.
    fn repeats(&mut self, node: Node<'_>) {
        self.into.repeats |= matches!(node.kind(), "for_statement" | "while_statement");
        let variable = node.child_by_field_name("variable");
        if variable.is_some_and(|name| !builtin::is_own_variable(self.text(name))) {
            self.into.not_understood("a loop sets a variable that programs may obey");
        }
    }

    fn comment(&mut self, node: Node<'_>) {
        let before = self.source.get(..node.start_byte()).unwrap_or_default().chars().next_back();
        if before.is_some_and(|c| !matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')')) {
            self.into.not_understood("a `#` stands in the middle of a word");
        }
    }

    fn substitution(&mut self, node: Node<'_>, deep: usize) {
        let text = self.text(node);
        if text.starts_with('`') && text.contains('\\') {
            self.into.not_understood("a backslash stands between backquotes");
        }
        self.children(node, deep);
    }

    /// Reads a word and visits the commands in its expansions.
    fn word(&mut self, node: Node<'_>, deep: usize) -> Word {
        let mut holes = Vec::new();
        self.holes(node, deep, &mut holes);
        // The parser takes a line end for part of a word when a backslash follows.
        let line_ends = leading_line_ends(self.text(node));
        if line_ends > 0 {
            self.into.not_understood("a line ends in the middle of a command");
        }
        let range = node.start_byte() + line_ends..node.end_byte();
        match word::read(self.source, range, &holes, self.setting.user) {
            Ok(word) => word,
            Err(why) => {
                self.into.not_understood(why);
                Word::unknown()
            }
        }
    }

    fn holes(&mut self, node: Node<'_>, deep: usize, holes: &mut Vec<Range<usize>>) {
        if deep > DEEPEST_NODE {
            return self.into.not_understood("it is nested too deeply");
        }
        match node.kind() {
            "simple_expansion" => holes.push(node.byte_range()),
            "expansion" => {
                if !is_plain_expansion(self.text(node)) {
                    self.into.not_understood(format!("`{}` is not analysed", self.text(node)));
                }
                holes.push(node.byte_range());
                self.expansion(node, deep + 1);
            }
            "arithmetic_expansion" => {
                // A variable may hold the index of a list, and that may run commands.
                let plain = |c: char| c.is_ascii_digit() || " +-*/%()".contains(c);
                if !self.text(node).trim_start_matches('$').chars().all(plain) {
                    self.into.not_understood("it calculates with more than numbers");
                }
                holes.push(node.byte_range());
            }
            "command_substitution" | "process_substitution" => {
                holes.push(node.byte_range());
                self.substitution(node, deep + 1);
            }
            _ if node.child_count() == 0 => {}
            _ => {
                let mut cursor = node.walk();
                for child in node.children(&mut cursor) {
                    self.holes(child, deep + 1, holes);
                }
            }
        }
    }

    /// Commands anywhere in `${…}`, however it is built.
    fn expansion(&mut self, node: Node<'_>, deep: usize) {
        if deep > DEEPEST_NODE {
            return self.into.not_understood("it is nested too deeply");
        }
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if matches!(child.kind(), "command_substitution" | "process_substitution") {
                self.substitution(child, deep);
            } else {
                self.expansion(child, deep + 1);
            }
        }
    }

    fn command(&mut self, node: Node<'_>, deep: usize) {
        let new = || Simple { env: Vec::new(), words: Vec::new(), part: Part::Own };
        let mut simple = new();
        let mut cursor = node.walk();
        let mut end = node.start_byte();
        for child in node.children(&mut cursor) {
            let gap = self.source.get(end..child.start_byte()).unwrap_or_default();
            let line_ends = leading_line_ends(self.text(child)) > 0;
            if line_ends || gap.replace("\\\n", "").contains('\n') {
                // The parser reads on over some line ends; a shell begins a new command.
                self.into.not_understood("a line ends in the middle of a command");
                self.push(std::mem::replace(&mut simple, new()));
            } else if gap.is_empty() && end > node.start_byte() && child.kind() != "comment" {
                self.into.not_understood("two of its words are one to a shell");
            }
            self.command_part(child, &mut simple, deep);
            end = child.end_byte();
        }
        self.push(simple);
    }

    fn command_part(&mut self, child: Node<'_>, simple: &mut Simple, deep: usize) {
        let in_front = simple.words.is_empty();
        match child.kind() {
            "variable_assignment" => {
                let word = self.assignment(child, deep);
                if in_front { simple.env.push(word) } else { simple.words.push(word) }
            }
            "command_name" | "variable_name" => simple.words.push(self.word(child, deep)),
            kind if is_word(kind) => simple.words.push(self.word(child, deep)),
            // `export`, `local`, `unset`: the parser takes them for words of the language.
            _ if !child.is_named() && in_front => {
                simple.words.push(Word::plain(self.text(child)));
            }
            "$" => simple.words.push(Word::plain("$")),
            "file_redirect" | "heredoc_redirect" | "herestring_redirect" | "comment" => {
                self.node(child, deep + 1);
            }
            kind => {
                self.into.not_understood(format!("a command holds {kind}"));
                self.node(child, deep + 1);
            }
        }
    }

    fn assignment(&mut self, node: Node<'_>, deep: usize) -> Word {
        let mut fixed = true;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_name" | "=" => {}
                kind if is_word(kind) => fixed &= self.word(child, deep + 1).fixed,
                _ => {
                    fixed = false;
                    self.into.not_understood("it sets a list or adds to a variable");
                    self.expansion(child, deep + 1);
                }
            }
        }
        Word { text: self.text(node).to_owned(), fixed, quoted: false, one: true }
    }

    fn test(&mut self, node: Node<'_>, deep: usize) {
        let text = self.text(node);
        let mut words = vec![Word::plain("[")];
        if text.starts_with("[[") {
            // Its expansions are checked as those of words are; none of them stays fixed.
            let mut holes = Vec::new();
            self.holes(node, deep + 1, &mut holes);
            let start = node.start_byte();
            let seen = |at: usize| holes.iter().any(|hole| hole.contains(&(start + at)));
            // What the parser takes for a pattern has no parts.
            if ["${", "$["].iter().any(|sign| text.match_indices(sign).any(|(at, _)| !seen(at))) {
                self.into.not_understood("an expansion in a test is not analysed");
            }
            if let Some(why) = builtin::double_test_doubt(text) {
                self.into.not_understood(why);
            }
        } else {
            self.test_words(node, deep, &mut words);
        }
        if ["`", "$(", "<(", ">("].iter().any(|sign| text.contains(sign)) {
            self.into.not_understood("a test runs a command");
        } else if !text.starts_with("[[") && builtin::is_doubtful_test(text) {
            self.into.not_understood("a test redirects, or ends before it seems to");
        }
        words.push(Word::plain("]"));
        self.push(Simple { env: Vec::new(), words, part: Part::Own });
    }

    /// The words between `[` and `]`, which are those of a command.
    fn test_words(&mut self, node: Node<'_>, deep: usize, words: &mut Vec<Word>) {
        let mut cursor = node.walk();
        let mut end = node.start_byte();
        for child in node.children(&mut cursor) {
            if child.start_byte() == end && end > node.start_byte() {
                self.into.not_understood("two words of a test are one to a shell");
            }
            end = child.end_byte();
            match child.kind() {
                "[" | "]" => {}
                "unary_expression" | "binary_expression" | "parenthesized_expression" => {
                    self.test_words(child, deep + 1, words);
                }
                kind if is_word(kind) => words.push(self.word(child, deep + 1)),
                _ if !child.is_named() => words.push(Word::plain(self.text(child))),
                kind => {
                    self.into.not_understood(format!("a test holds {kind}"));
                    self.expansion(child, deep + 1);
                }
            }
        }
    }

    fn redirect(&mut self, node: Node<'_>, deep: usize) {
        let mut direction = None;
        let mut copies = false;
        let mut targets = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "<" => direction = Some(Direction::Read),
                ">" | ">>" | "&>" | "&>>" | ">|" => direction = Some(Direction::Write),
                "<&" | ">&" => {
                    direction = Some(Direction::Write);
                    copies = true;
                }
                "<&-" | ">&-" | "file_descriptor" => {}
                kind if is_word(kind) => targets.push(self.word(child, deep + 1)),
                kind => self.into.not_understood(format!("a redirection holds {kind}")),
            }
        }
        if targets.len() > 1 {
            // To a shell they belong to the command, or are one.
            self.into.not_understood("words stand behind a redirection");
            let words = targets.split_off(1);
            self.push(Simple { env: Vec::new(), words, part: Part::Own });
        }
        if direction.is_none() && !targets.is_empty() {
            self.into.not_understood("words stand behind a redirection");
        }
        let Some(direction) = direction else { return };
        for target in targets {
            let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '-');
            if !(copies && target.fixed && digits(&target.text)) {
                if copies {
                    // Bash reads such a name twice: a `~` in quotes is the home all the same.
                    self.into.not_understood("a stream is copied to what is not a number");
                }
                self.into.redirects.push(Redirect { direction, target });
            }
        }
    }

    fn here_document(&mut self, node: Node<'_>, deep: usize) {
        let mut cursor = node.walk();
        let mut mark = String::new();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "heredoc_start" => mark = self.text(child).to_owned(),
                "heredoc_body" => self.here_body(child, &mark, deep),
                "heredoc_end" => {
                    let behind = self.source.get(child.end_byte()..).unwrap_or_default();
                    if !behind.is_empty() && !behind.starts_with('\n') {
                        self.into.not_understood("a here-document ends where a shell reads on");
                    }
                }
                kind => {
                    if is_word(kind) {
                        // They belong to the command, where they are missing.
                        self.into.not_understood("words stand behind a here-document");
                    }
                    self.node(child, deep + 1);
                }
            }
        }
        let word = mark.trim_matches(['\'', '"']);
        if word.is_empty() || !word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            self.into.not_understood("the mark of a here-document is unusual");
        }
    }

    fn here_body(&mut self, node: Node<'_>, mark: &str, deep: usize) {
        let word = mark.trim_matches(['\'', '"']);
        let body = self.text(node);
        if body.lines().any(|line| line.trim_start_matches('\t') == word) {
            self.into.not_understood("a here-document ends before its end");
        }
        if mark != word {
            return;
        }
        let commands = ["`", "$(", "${", "$["].iter().any(|sign| body.contains(sign));
        if commands && body.contains('\\') {
            self.into.not_understood("a here-document has expansions and backslashes");
        }
        let mut holes = Vec::new();
        self.holes(node, deep + 1, &mut holes);
        let start = node.start_byte();
        let seen = |at: usize| holes.iter().any(|hole| hole.contains(&(start + at)));
        let body = self.text(node);
        let overlooked = ["`", "$(", "${", "$["]
            .iter()
            .any(|sign| body.match_indices(sign).any(|(at, _)| !seen(at)));
        if overlooked {
            self.into.not_understood("an expansion in a here-document is not analysed");
        }
    }

    /// Notes a command and everything that it would run in turn.
    fn push(&mut self, mut simple: Simple) {
        if self.depth >= DEEPEST {
            return self.into.not_understood("commands are nested too deeply");
        }
        let name = simple.words.first();
        if name.is_some_and(|name| !name.fixed) {
            self.into.not_understood("which program runs is known only when it runs");
        }
        if name.is_some_and(|name| !name.quoted && RESERVED.contains(&name.text.as_str())) {
            self.into.not_understood("a shell keyword stands where a program should");
        }
        if let Some(why) = builtin::doubt(&simple) {
            self.into.not_understood(why);
        }
        if let Some(expanded) = self.alias(&simple) {
            simple.part = Part::Passing;
            self.into.commands.push(simple);
            return gather(&expanded, self.setting, self.depth + 1, self.into);
        }
        let unwrapped = wrapper::unwrap(&simple);
        simple.part = unwrapped.part;
        let reads = unwrapped.inner.iter().any(|inner| matches!(inner, Inner::Script { .. }));
        if reads && !simple.env.is_empty() {
            // What stands in front of it holds for all of the script.
            simple.part = Part::Own;
        }
        let env = simple.env.clone();
        self.into.redirects.extend(unwrapped.redirects);
        self.into.commands.push(simple);
        for inner in unwrapped.inner {
            self.inner(inner, &env);
        }
    }

    fn inner(&mut self, inner: Inner, env: &[Word]) {
        let depth = self.depth + 1;
        match inner {
            Inner::Unclear(why) => self.into.not_understood(why),
            Inner::Script { text, own_shell } => {
                // A shell of its own does not know the aliases of this one.
                let none = BTreeMap::new();
                let Setting { user, aliases } = self.setting;
                let aliases = if own_shell { &none } else { aliases };
                gather(&text, Setting { user, aliases }, depth, self.into);
            }
            Inner::Command { env: more, words } => {
                let env = env.iter().cloned().chain(more).collect();
                let (source, setting) = (self.source, self.setting);
                let mut below = Walk { source, setting, depth, into: self.into };
                below.push(Simple { env, words, part: Part::Own });
            }
        }
    }

    /// What the command is when its name is an alias.
    fn alias(&mut self, simple: &Simple) -> Option<String> {
        let name = simple.words.first().filter(|name| name.fixed && !name.quoted)?;
        let meaning = self.setting.aliases.get(&name.text)?;
        let own = meaning.split_whitespace().next() == Some(&name.text);
        if own && self.depth > 0 {
            return None;
        }
        let quoted = |word: &Word| {
            if word.fixed {
                format!("'{}'", word.text.replace('\'', r"'\''"))
            } else {
                "$_".to_owned()
            }
        };
        if meaning.ends_with([' ', '\t']) && simple.words.len() > 1 {
            // Then the next word may be an alias too.
            self.into.not_understood("an alias goes on in the next word");
        }
        let env = simple.env.iter().map(|word| word.text.clone());
        let rest = simple.words.iter().skip(1).map(quoted);
        let all: Vec<String> = env.chain([meaning.clone()]).chain(rest).collect();
        Some(all.join(" "))
    }
}
