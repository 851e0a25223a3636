//! YAML as a tree in which every key and value knows its place.
//!
//! Only what playbooks and front matter need: anchors, aliases, tags and second documents are mistakes. A key
//! that occurs twice is one as well; the first one stays.

use serde_json::{Number, Value};
use yaml_rust2::parser::{Event, Parser, Tag};
use yaml_rust2::scanner::{Marker, ScanError, TScalarStyle};

use super::mistake::{Mistakes, Place};

/// Nobody writes a file that is nested deeper than this.
const DEEPEST: usize = 64;

#[derive(Debug)]
pub struct Node {
    pub at: Place,
    pub data: Data,
}

#[derive(Debug)]
pub enum Data {
    Scalar { text: String, style: Style },
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Debug)]
pub struct Key {
    pub at: Place,
    pub name: String,
}

/// Whether a scalar may be something other than text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Quoted,
}

impl Node {
    /// What it is, in words.
    pub fn kind(&self) -> &'static str {
        match &self.data {
            Data::List(_) => "a list",
            Data::Map(_) => "a mapping",
            Data::Scalar { .. } => match self.scalar() {
                Value::Null => "nothing",
                Value::Bool(_) => "true or false",
                Value::Number(_) => "a number",
                Value::String(_) | Value::Array(_) | Value::Object(_) => "text",
            },
        }
    }

    /// Whether nothing at all was written.
    fn is_nothing(&self) -> bool {
        matches!(&self.data, Data::Scalar { text, style: Style::Plain } if text.is_empty())
    }

    /// The value of a scalar by the core schema of YAML 1.2; null for anything else.
    pub fn scalar(&self) -> Value {
        let Data::Scalar { text, style } = &self.data else { return Value::Null };
        if *style == Style::Quoted {
            return Value::String(text.clone());
        }
        match text.as_str() {
            "" | "~" | "null" | "Null" | "NULL" => Value::Null,
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            _ => number(text).map_or_else(|| Value::String(text.clone()), Value::Number),
        }
    }
}

impl Node {
    /// The same as JSON, keys in their order.
    pub fn to_json(&self) -> Value {
        match &self.data {
            Data::Scalar { .. } => self.scalar(),
            Data::List(items) => items.iter().map(Self::to_json).collect(),
            Data::Map(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| (key.name.clone(), value.to_json()));
                Value::Object(pairs.collect())
            }
        }
    }

    /// A tree of what came as JSON, all of it in one place.
    pub fn from_json(value: &Value, at: Place) -> Self {
        let plain = |text: String| Data::Scalar { text, style: Style::Plain };
        let data = match value {
            Value::Null => plain(String::new()),
            Value::Bool(truth) => plain(truth.to_string()),
            Value::Number(number) => plain(number.to_string()),
            Value::String(text) => Data::Scalar { text: text.clone(), style: Style::Quoted },
            Value::Array(items) => {
                Data::List(items.iter().map(|item| Self::from_json(item, at)).collect())
            }
            Value::Object(pairs) => Data::Map(
                pairs
                    .iter()
                    .map(|(name, value)| {
                        (Key { at, name: name.clone() }, Self::from_json(value, at))
                    })
                    .collect(),
            ),
        };
        Self { at, data }
    }
}

fn number(text: &str) -> Option<Number> {
    // Rust also reads `inf` and `nan` as numbers; YAML and JSON do not.
    if !text.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

/// Reads a text. `None` when there is no tree to go on with; the reason is among the mistakes.
pub fn read(text: &str, mistakes: &mut Mistakes) -> Option<Node> {
    let mut reader = Reader { parser: Parser::new_from_str(text), mistakes, depth: 0 };
    match reader.document() {
        Ok(node) => node,
        Err(error) => {
            let at = place(*error.marker());
            reader.mistakes.add(at, format!("this is not YAML: {}", error.info()));
            None
        }
    }
}

struct Reader<'a, 'm> {
    parser: Parser<std::str::Chars<'a>>,
    mistakes: &'m mut Mistakes,
    depth: usize,
}

impl Reader<'_, '_> {
    fn document(&mut self) -> Result<Option<Node>, ScanError> {
        let mut first = None;
        loop {
            let (event, mark) = self.parser.next_token()?;
            match event {
                Event::StreamEnd => return Ok(first),
                Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart if first.is_some() => {
                    self.mistakes
                        .add(place(mark), "only one document is read; here begins another");
                    return Ok(first);
                }
                Event::DocumentStart => {
                    let (event, mark) = self.parser.next_token()?;
                    first = Some(self.node(event, mark)?);
                }
                Event::Alias(_)
                | Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..)
                | Event::MappingEnd => {}
            }
        }
    }

    /// The node that begins with this event.
    fn node(&mut self, event: Event, mark: Marker) -> Result<Node, ScanError> {
        if self.depth == DEEPEST {
            return Err(ScanError::new(mark, "nested too deeply"));
        }
        self.depth += 1;
        let at = place(mark);
        let data = self.data(event, at)?;
        self.depth -= 1;
        // The parser marks a block mapping behind its first key.
        let at = match &data {
            Data::Map(pairs) => pairs.first().map_or(at, |(key, _)| key.at.min(at)),
            Data::Scalar { .. } | Data::List(_) => at,
        };
        Ok(Node { at, data })
    }

    fn data(&mut self, event: Event, at: Place) -> Result<Data, ScanError> {
        Ok(match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse(at, anchor, tag.as_ref());
                let style = match style {
                    TScalarStyle::Plain => Style::Plain,
                    TScalarStyle::SingleQuoted
                    | TScalarStyle::DoubleQuoted
                    | TScalarStyle::Literal
                    | TScalarStyle::Folded => Style::Quoted,
                };
                Data::Scalar { text, style }
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse(at, anchor, tag.as_ref());
                self.list()?
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse(at, anchor, tag.as_ref());
                self.map()?
            }
            Event::Alias(_) => {
                self.mistakes.add_with(at, "aliases are not understood here", "write it out");
                empty()
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => empty(),
        })
    }

    fn list(&mut self) -> Result<Data, ScanError> {
        let mut items = Vec::new();
        loop {
            let (event, mark) = self.parser.next_token()?;
            if matches!(event, Event::SequenceEnd | Event::StreamEnd) {
                return Ok(Data::List(items));
            }
            items.push(self.node(event, mark)?);
        }
    }

    fn map(&mut self) -> Result<Data, ScanError> {
        let mut pairs: Vec<(Key, Node)> = Vec::new();
        loop {
            let (event, mark) = self.parser.next_token()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                return Ok(Data::Map(pairs));
            }
            let key = self.node(event, mark)?;
            let (event, mark) = self.parser.next_token()?;
            let mut value = self.node(event, mark)?;
            // The parser marks nothing where the next thing stands.
            if value.is_nothing() {
                value.at = key.at;
            }
            let Data::Scalar { text: name, .. } = key.data else {
                self.mistakes.add(key.at, "a key must be text");
                continue;
            };
            if let Some((before, _)) = pairs.iter().find(|(key, _)| key.name == name) {
                let hint = format!("the first one is in line {}", before.at.line);
                self.mistakes.add_with(key.at, format!("`{name}` is here twice"), hint);
                continue;
            }
            pairs.push((Key { at: key.at, name }, value));
        }
    }

    fn refuse(&mut self, at: Place, anchor: usize, tag: Option<&Tag>) {
        if anchor != 0 {
            self.mistakes.add_with(at, "anchors are not understood here", "write it out");
        }
        if tag.is_some() {
            self.mistakes.add(at, "tags are not understood here");
        }
    }
}

fn empty() -> Data {
    Data::Scalar { text: String::new(), style: Style::Plain }
}

fn place(mark: Marker) -> Place {
    Place { line: mark.line(), column: mark.col() + 1 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn tree(text: &str) -> Node {
        let mut mistakes = Mistakes::default();
        let node = read(text, &mut mistakes).unwrap();
        assert_eq!(mistakes.into_sorted(), []);
        node
    }

    #[test]
    fn scalars_are_what_they_look_like() {
        let text = "a: 1\nb: -2.5\nc: 'true'\nd: true\ne: ~\nf:\ng: 1e3\nh: inf\ni: 1.2.3\n\
                    j: |\n  two\n  lines\nk: [x, {y: z}]\n";
        let expected = json!({
            "a": 1, "b": -2.5, "c": "true", "d": true, "e": null, "f": null, "g": 1000.0,
            "h": "inf", "i": "1.2.3", "j": "two\nlines\n", "k": ["x", {"y": "z"}],
        });
        assert_eq!(tree(text).to_json(), expected);
    }

    #[test]
    fn every_node_knows_its_place() {
        let root = tree("top:\n  - say: hello\n    call: { tool: 'x' }\n");
        let Data::Map(top) = &root.data else { panic!("{root:?}") };
        let Data::List(items) = &top[0].1.data else { panic!("{root:?}") };
        assert_eq!(items[0].at, Place { line: 2, column: 5 });
        let Data::Map(turn) = &items[0].data else { panic!("{root:?}") };
        assert_eq!(turn[0].1.at, Place { line: 2, column: 10 });
        assert_eq!(turn[1].0.at, Place { line: 3, column: 5 });
        let Data::Map(call) = &turn[1].1.data else { panic!("{root:?}") };
        assert_eq!(call[0].0.at, Place { line: 3, column: 13 });
        assert_eq!(call[0].1.at, Place { line: 3, column: 19 });
    }
}
