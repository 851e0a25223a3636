//! What the parts of code are: syntect reads it, and a table makes a dozen pens of its scopes.

use std::sync::LazyLock;

use ratatui::style::Style;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::console::view::theme::Theme;

/// What a part of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pen {
    Plain,
    Comment,
    Keyword,
    String,
    Number,
    Constant,
    Function,
    Kind,
    Variable,
    Attribute,
    Punctuation,
    Heading,
    Added,
    Removed,
    Wrong,
}

impl Pen {
    pub fn style(self, theme: &Theme) -> Style {
        let syntax = &theme.syntax;
        match self {
            Self::Plain => Style::new(),
            Self::Comment => syntax.comment,
            Self::Keyword => syntax.keyword,
            Self::String => syntax.string,
            Self::Number => syntax.number,
            Self::Constant => syntax.constant,
            Self::Function => syntax.function,
            Self::Kind => syntax.kind,
            Self::Variable => syntax.variable,
            Self::Attribute => syntax.attribute,
            Self::Punctuation => syntax.punctuation,
            Self::Heading => theme.heading,
            Self::Added => theme.added,
            Self::Removed => theme.removed,
            Self::Wrong => syntax.wrong,
        }
    }
}

/// The parts of one line: what each is, and where it ends.
pub type Paint = Vec<(Pen, usize)>;

/// The more special before the more general.
const SCOPES: &[(&str, Pen)] = &[
    ("comment", Pen::Comment),
    ("punctuation.definition.comment", Pen::Comment),
    ("punctuation.definition.string", Pen::String),
    ("string", Pen::String),
    ("constant.numeric", Pen::Number),
    ("constant.character.escape", Pen::Constant),
    ("constant", Pen::Constant),
    ("keyword.operator.word", Pen::Keyword),
    ("keyword.operator", Pen::Punctuation),
    ("keyword", Pen::Keyword),
    ("storage.type.numeric", Pen::Number),
    ("storage", Pen::Keyword),
    ("entity.name.function", Pen::Function),
    ("support.function", Pen::Function),
    ("support.macro", Pen::Function),
    ("variable.function", Pen::Function),
    ("entity.name.tag", Pen::Keyword),
    ("entity.other.attribute-name", Pen::Attribute),
    ("entity.name.section", Pen::Heading),
    ("markup.heading", Pen::Heading),
    ("entity.name", Pen::Kind),
    ("entity.other.inherited-class", Pen::Kind),
    ("support.type.property-name", Pen::Attribute),
    ("support.type", Pen::Kind),
    ("support.class", Pen::Kind),
    ("meta.mapping.key", Pen::Attribute),
    ("meta.annotation", Pen::Attribute),
    ("variable.annotation", Pen::Attribute),
    ("variable.language", Pen::Constant),
    ("variable", Pen::Variable),
    ("markup.inserted", Pen::Added),
    ("markup.deleted", Pen::Removed),
    ("markup.raw", Pen::String),
    ("invalid", Pen::Wrong),
    ("punctuation", Pen::Punctuation),
];

/// Read once, when the first code is coloured.
static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);
static PENS: LazyLock<Vec<(Scope, Pen)>> = LazyLock::new(|| {
    let scope = |(name, pen): &(&str, Pen)| Scope::new(name).ok().map(|scope| (scope, *pen));
    SCOPES.iter().filter_map(scope).collect()
});

/// Reads code line by line. Text that only grew is read on from where it ended.
#[derive(Default)]
pub(super) struct Painter {
    last: Option<Reading>,
}

struct Reading {
    language: String,
    /// The whole lines that were read.
    code: String,
    parse: ParseState,
    stack: ScopeStack,
    paints: Vec<Paint>,
}

impl Painter {
    /// What the parts of each line are; nothing if the language is not known.
    pub(super) fn paint(&mut self, language: &str, code: &str) -> Vec<Paint> {
        let goes_on =
            |reading: &Reading| reading.language == language && code.starts_with(&reading.code);
        let Some(mut reading) = self.last.take().filter(goes_on).or_else(|| Reading::new(language))
        else {
            return Vec::new();
        };
        let rest = code.get(reading.code.len()..).unwrap_or_default();
        let whole = rest.rfind('\n').map_or(0, |end| end + 1);
        let (whole, torn) = rest.split_at(whole);
        for line in whole.split_inclusive('\n') {
            reading.read(line);
        }
        reading.code.push_str(whole);
        let mut paints = reading.paints.clone();
        if !torn.is_empty() {
            let mut ahead = (reading.parse.clone(), reading.stack.clone());
            paints.push(paint(&mut ahead.0, &mut ahead.1, torn));
        }
        self.last = Some(reading);
        paints
    }
}

impl Reading {
    fn new(language: &str) -> Option<Self> {
        let parse = ParseState::new(syntax(language)?);
        let (code, paints, stack) = (String::new(), Vec::new(), ScopeStack::new());
        Some(Self { language: language.to_owned(), code, parse, stack, paints })
    }

    fn read(&mut self, line: &str) {
        self.paints.push(paint(&mut self.parse, &mut self.stack, line));
    }
}

fn syntax(language: &str) -> Option<&'static SyntaxReference> {
    let token = match language.to_ascii_lowercase().as_str() {
        "shell" | "console" | "zsh" | "shell-session" => "sh".to_owned(),
        "jsonc" | "json5" => "json".to_owned(),
        token => token.to_owned(),
    };
    SYNTAXES.find_syntax_by_token(&token)
}

fn paint(parse: &mut ParseState, stack: &mut ScopeStack, line: &str) -> Paint {
    // A grammar that fails on a line leaves it plain.
    let Ok(ops) = parse.parse_line(line, &SYNTAXES) else { return Vec::new() };
    let mut paint = Paint::new();
    let mut add = |stack: &ScopeStack, end: usize| {
        let from = paint.last().map_or(0, |(_, end)| *end);
        let pen = pen(stack);
        match paint.last_mut() {
            Some((last, to)) if *last == pen => *to = end,
            _ if end > from => paint.push((pen, end)),
            _ => {}
        }
    };
    for (at, op) in ops {
        add(stack, at);
        if stack.apply(&op).is_err() {
            break;
        }
    }
    add(stack, line.len());
    paint
}

/// The innermost scope that has a pen decides.
fn pen(stack: &ScopeStack) -> Pen {
    let of = |scope: &Scope| PENS.iter().find(|(known, _)| known.is_prefix_of(*scope));
    stack.as_slice().iter().rev().find_map(of).map_or(Pen::Plain, |(_, pen)| *pen)
}
