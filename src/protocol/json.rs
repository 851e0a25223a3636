//! JSON as other programs wrote it: an ordered document that is patched, never re-modelled.
//!
//! Numbers, string escapes, unknown fields, doubled keys and the order of keys stay exactly as
//! read, so that a rewrite changes only what we meant to change. Strings may hold lone
//! surrogates (`"\ud83d"`), which serde refuses; here they survive, and `from_text` shows them
//! as U+FFFD. Not for data that we alone write: plain serde serves there.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::de::{DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// Deeper nesting than this is refused, as serde does, so that no file can exhaust the stack.
const DEEPEST: usize = 128;

/// One JSON value with everything kept as written, white space aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// A number, string, `true`, `false` or `null`, in its original spelling.
    Scalar(Box<str>),
    Array(Vec<Json>),
    /// Keys in their original spelling, quotes included.
    Object(Vec<(Box<str>, Json)>),
}

/// Why a text is not the JSON that was expected, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at line {line} column {column}")]
pub struct JsonError {
    pub reason: String,
    pub line: usize,
    pub column: usize,
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let full = error.to_string();
        let place = format!(" at line {line} column {column}");
        let reason = full.strip_suffix(&place).unwrap_or(&full).to_owned();
        Self { reason, line, column }
    }
}

/// Reads a typed value, with lone surrogates shown as U+FFFD. Of doubled keys the last counts.
pub fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, JsonError> {
    let error = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let mended = mend_surrogates(text);
    let error = match &mended {
        Cow::Borrowed(_) => error,
        Cow::Owned(mended) => match serde_json::from_str(mended) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        },
    };
    // A `Value` takes the last of doubled keys; types refuse them.
    let doubled = error.to_string().starts_with("duplicate field");
    let once = doubled.then(|| serde_json::from_str::<serde_json::Value>(&mended));
    match once {
        Some(Ok(value)) => serde_json::from_value(value).map_err(JsonError::from),
        Some(Err(_)) | None => Err(error.into()),
    }
}

/// For fields that others may write as `null` where we would leave them out.
pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// As `or_default`, also for values of another type than expected.
pub fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + DeserializeOwned,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// Where the value of a member stands in the text of an object, however deep the others are.
pub fn member_span(text: &str, key: &str) -> Option<std::ops::Range<usize>> {
    let Members(members) = serde_json::from_str(text).ok()?;
    let (_, value) = members.into_iter().rev().find(|(name, _)| names(name.get(), key))?;
    let start = offset(text, value.get());
    Some(start..start + value.get().len())
}

/// The text of one member of an object, without looking into the others, however deep they are.
pub fn text_member(text: &str, key: &str) -> Option<String> {
    let Members(members) = serde_json::from_str(text).ok()?;
    let (_, value) = members.into_iter().rev().find(|(name, _)| names(name.get(), key))?;
    value.get().starts_with('"').then(|| unquote(value.get()).into_owned())
}

/// Writes a value of ours with two-space indentation and no newline at the end, the way the
/// ecosystem's files look.
pub fn to_pretty<T: Serialize>(value: &T) -> String {
    // Only maps with keys that are not strings and paths that are not text fail; no type of ours
    // writes either.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Writes a value of ours on one line without blanks.
pub fn to_compact<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl Json {
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        // This pass checks the whole text; the passes below only take it apart.
        let raw: &RawValue = serde_json::from_str(text)?;
        Self::take_apart(raw, 0)
    }

    /// A document made from a value of ours, keys in the order of its fields.
    pub fn of<T: Serialize>(value: &T) -> Self {
        Self::parse(&to_compact(value)).unwrap_or_else(|_| Self::null())
    }

    pub fn null() -> Self {
        Self::Scalar("null".into())
    }

    fn take_apart(raw: &RawValue, depth: usize) -> Result<Self, JsonError> {
        if depth > DEEPEST {
            let reason = format!("nested deeper than {DEEPEST} levels");
            return Err(JsonError { reason, line: 0, column: 0 });
        }
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'{') => {
                let Members(members) = serde_json::from_str(text)?;
                let members = members.into_iter().map(|(key, value)| {
                    Ok((Box::from(key.get()), Self::take_apart(value, depth + 1)?))
                });
                Ok(Self::Object(members.collect::<Result<_, JsonError>>()?))
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text)?;
                let items = items.into_iter().map(|item| Self::take_apart(item, depth + 1));
                Ok(Self::Array(items.collect::<Result<_, JsonError>>()?))
            }
            _ => Ok(Self::Scalar(text.into())),
        }
    }

    /// The value of a key; of doubled keys the last, as every other reader takes it.
    pub fn get(&self, key: &str) -> Option<&Json> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find(|(name, _)| names(name, key)).map(|(_, value)| value)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        let Self::Object(members) = self else { return None };
        members.iter_mut().rev().find(|(name, _)| names(name, key)).map(|(_, value)| value)
    }

    /// Sets a key in place, or puts it where `order` says it belongs: behind the last of its
    /// predecessors that is there. Without one it comes first; a key not in `order`, last.
    pub fn set(&mut self, key: &str, value: Json, order: &[&str]) {
        if let Some(known) = self.get_mut(key) {
            *known = value;
            return;
        }
        let Self::Object(members) = self else { return };
        let at = match order.iter().position(|name| *name == key) {
            None => members.len(),
            Some(rank) => {
                let before = |name: &str| order[..rank].iter().any(|earlier| names(name, earlier));
                members.iter().rposition(|(name, _)| before(name)).map_or(0, |last| last + 1)
            }
        };
        members.insert(at, (to_compact(&key).into(), value));
    }

    pub fn remove(&mut self, key: &str) {
        if let Self::Object(members) = self {
            members.retain(|(name, _)| !names(name, key));
        }
    }

    /// How many elements or members there are; none in a scalar.
    pub fn len(&self) -> usize {
        match self {
            Self::Scalar(_) => 0,
            Self::Array(items) => items.len(),
            Self::Object(members) => members.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn items_mut(&mut self) -> Option<&mut Vec<Json>> {
        match self {
            Self::Array(items) => Some(items),
            Self::Scalar(_) | Self::Object(_) => None,
        }
    }

    /// The text of a string value; lone surrogates as U+FFFD.
    pub fn as_str(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Scalar(raw) if raw.starts_with('"') => Some(unquote(raw)),
            Self::Scalar(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    pub fn read<T: DeserializeOwned>(&self) -> Result<T, JsonError> {
        from_text(&self.compact())
    }

    /// Two-space indentation, no newline at the end.
    pub fn pretty(&self) -> String {
        self.pretty_at(0)
    }

    /// As `pretty`, for a value that stands inside a document `depth` levels deep.
    pub fn pretty_at(&self, depth: usize) -> String {
        let mut out = String::new();
        self.write(&mut out, Some(depth));
        out
    }

    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None);
        out
    }

    fn write(&self, out: &mut String, depth: Option<usize>) {
        match self {
            Self::Scalar(raw) => out.push_str(raw),
            Self::Array(items) => write_list(out, '[', ']', depth, items, |out, item, depth| {
                item.write(out, depth);
            }),
            Self::Object(members) => {
                write_list(out, '{', '}', depth, members, |out, (key, value), depth| {
                    let gap = if depth.is_some() { " " } else { "" };
                    // Writing to a String cannot fail.
                    let _ = write!(out, "{key}:{gap}");
                    value.write(out, depth);
                });
            }
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Scalar(to_compact(&text).into())
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Scalar(if value { "true" } else { "false" }.into())
    }
}

fn write_list<T>(
    out: &mut String,
    open: char,
    close: char,
    depth: Option<usize>,
    items: &[T],
    mut each: impl FnMut(&mut String, &T, Option<usize>),
) {
    out.push(open);
    let inner = depth.map(|depth| depth + 1);
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        new_line(out, inner);
        each(out, item, inner);
    }
    if !items.is_empty() {
        new_line(out, depth);
    }
    out.push(close);
}

fn new_line(out: &mut String, depth: Option<usize>) {
    if let Some(depth) = depth {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    }
}

fn names(raw: &str, key: &str) -> bool {
    unquote(raw) == key
}

fn unquote(raw: &str) -> Cow<'_, str> {
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    if inner.contains('\\') {
        // A string that the parser let through fails here only for its lone surrogates.
        Cow::Owned(from_text(raw).unwrap_or_else(|_| inner.to_owned()))
    } else {
        Cow::Borrowed(inner)
    }
}

/// Puts `\ufffd` in the place of every lone surrogate escape. The length stays the same, so
/// positions in error messages stay right.
fn mend_surrogates(text: &str) -> Cow<'_, str> {
    let mut lone = Vec::new();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        match (surrogate_at(text, at), surrogate_at(text, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at += 12,
            (Some(_), _) => {
                lone.push(at);
                at += 6;
            }
            (None, _) => at += 2,
        }
    }
    if lone.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut mended = text.to_owned();
    for at in lone {
        mended.replace_range(at..at + 6, "\\ufffd");
    }
    Cow::Owned(mended)
}

fn surrogate_at(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (0xD800..=0xDFFF).contains(&unit).then_some(unit)
}

/// The members of an object in order, doubled keys included.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The elements of an array as slices of its text.
#[derive(Debug)]
pub struct Elements<'a> {
    /// Everything that is whole. Behind a tear, what stands on a line of its own as everybody in
    /// the ecosystem writes it: strings hold no line breaks, so nothing else can look like that.
    pub whole: Vec<&'a str>,
    /// The first place that is not JSON. `None`: there is none.
    pub torn: Option<JsonError>,
}

impl<'a> Elements<'a> {
    /// Takes a text apart that should be an array and nothing else.
    pub fn of(text: &'a str) -> Self {
        let mut whole = Vec::new();
        let mut source = serde_json::Deserializer::from_str(text);
        let read = UpToTheTear(&mut whole).deserialize(&mut source).and_then(|()| source.end());
        let torn = read.err().map(JsonError::from);
        if torn.is_some() {
            let behind = whole.last().map_or(0, |last| offset(text, last) + last.len());
            find_behind(text, behind, &mut whole);
        }
        Self { whole, torn }
    }
}

/// Where a part of a text stands in it.
pub fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// How the elements of an array begin in this text: on lines of their own, or one behind the
/// other. Neither can occur inside a string, where line breaks and quotes are escaped.
fn beginning(text: &str) -> String {
    let behind = text.trim_start().strip_prefix('[').unwrap_or_default();
    let blank = &behind[..behind.len() - behind.trim_start().len()];
    match blank.rfind('\n') {
        Some(at) => format!("{}{{", &blank[at..]),
        None => "{\"from\"".to_owned(),
    }
}

/// Finds what is whole behind a tear. Each piece is looked at once, up to where the next begins.
fn find_behind<'a>(text: &'a str, behind: usize, whole: &mut Vec<&'a str>) {
    let begin = beginning(text);
    let rest = text.get(behind..).unwrap_or_default();
    let starts: Vec<usize> =
        rest.match_indices(&begin).map(|(at, found)| at + found.find('{').unwrap_or(0)).collect();
    for (nth, start) in starts.iter().enumerate() {
        let end = starts.get(nth + 1).copied().unwrap_or(rest.len());
        let mut piece = serde_json::Deserializer::from_str(&rest[*start..end]);
        if let Ok(element) = <&RawValue>::deserialize(&mut piece) {
            whole.push(element.get());
        }
    }
}

/// Gathers elements for as long as they are whole.
struct UpToTheTear<'v, 'a>(&'v mut Vec<&'a str>);

impl<'de> DeserializeSeed<'de> for UpToTheTear<'_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for UpToTheTear<'_, 'de> {
    type Value = ();
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(item) = seq.next_element::<&RawValue>()? {
            self.0.push(item.get());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn everything_unusual_survives_a_rewrite() {
        let text = r#"{"z":1.0,"a":1e21,"é":"\u00e9\/","cut":"\ud83d","z":{"b":[],"a":{}},"n":-0}"#;
        let document = Json::parse(text).unwrap();
        assert_eq!(document.compact(), text);
        assert_eq!(document.get("cut").unwrap().as_str().unwrap(), "\u{fffd}");
        assert_eq!(document.get("é").unwrap().as_str().unwrap(), "é/");
        assert_eq!(document.get("z").unwrap().compact(), r#"{"b":[],"a":{}}"#, "the last counts");
    }

    #[test]
    fn a_new_key_takes_its_place_in_the_order() {
        let order = ["id", "subject", "owner", "status"];
        let mut document =
            Json::parse(r#"{"id":"1","subject":"x","mine":1,"status":"p"}"#).unwrap();
        document.set("owner", Json::from("alice"), &order);
        document.set("status", Json::from("done"), &order);
        document.set("other", Json::null(), &order);
        let want =
            r#"{"id":"1","subject":"x","owner":"alice","mine":1,"status":"done","other":null}"#;
        assert_eq!(document.compact(), want);
        document.remove("mine");
        assert_eq!(document.get("mine"), None);
    }

    #[test]
    fn a_lone_surrogate_does_not_hide_the_pair_beside_it() {
        let text = r#"["\ud83d\ude00","\ude00x","\\ud83d","\ud83d\ud83d\ude00"]"#;
        let read: Vec<String> = from_text(text).unwrap();
        assert_eq!(read, ["😀", "\u{fffd}x", "\\ud83d", "\u{fffd}😀"]);
    }

    #[test]
    fn errors_tell_the_place_and_depth_is_bounded() {
        let error = Json::parse("{\n  \"a\": x\n}").unwrap_err();
        assert_eq!((error.line, error.column), (2, 8));
        assert!(!error.reason.contains("line"), "{error}");
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        assert!(Json::parse(&deep).unwrap_err().reason.contains("nested deeper"));
    }

    #[test]
    fn what_stands_before_a_tear_is_kept() {
        let torn = Elements::of("[\n  {\"a\": 1},\n  7,\n  {\"b\": \"cu");
        assert_eq!(torn.whole, ["{\"a\": 1}", "7"]);
        assert!(torn.torn.is_some());
        let whole = Elements::of("[1, [2]]\n");
        assert_eq!(whole.whole, ["1", "[2]"]);
        assert_eq!(whole.torn, None);
        assert!(Elements::of("[1] x").torn.is_some(), "something behind the end");
        assert!(Elements::of("").torn.is_some(), "empty is not an empty array");
        let middle = Elements::of(
            "[\n  {\"a\": 1},\n  {\"b\": x},\n  {\"c\": 3},\n  {\n    \"d\": {}\n  }\n]",
        );
        assert_eq!(middle.whole, ["{\"a\": 1}", "{\"c\": 3}", "{\n    \"d\": {}\n  }"]);
        assert!(middle.torn.is_some());
        let compact = Elements::of(r#"[{"from":"a"},{"from":"b,"x":1},{"from":"c"}]"#);
        assert_eq!(compact.whole, [r#"{"from":"a"}"#, r#"{"from":"c"}"#]);
        let wide = Elements::of("[\n    {\"a\": x},\n    {\n        \"b\": 1\n    }\n]");
        assert_eq!(wide.whole, ["{\n        \"b\": 1\n    }"]);
        // Linear, however often it begins and however deep it gets.
        let hostile =
            format!("[\n  {{\"a\":{}{}", "\n  {\"a\":".repeat(3000), "[".repeat(1_000_000));
        assert_eq!(Elements::of(&hostile).whole, [""; 0]);
    }

    #[test]
    fn doubled_keys_nulls_and_depth_are_no_reason_to_refuse() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct Odd {
            a: u8,
            #[serde(default, deserialize_with = "or_default")]
            b: String,
        }
        let odd: Odd = from_text(r#"{"a":1,"a":2,"b":null}"#).unwrap();
        assert_eq!(odd, Odd { a: 2, b: String::new() });
        let deep = format!(r#"{{"x":{}{},"type":"t"}}"#, "[".repeat(5000), "]".repeat(5000));
        assert_eq!(text_member(&deep, "type").as_deref(), Some("t"));
        assert_eq!(text_member("[1]", "type"), None);
    }

    fn any_value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_document_is_written_as_serde_writes_it(value in any_value()) {
            let pretty = to_pretty(&value);
            prop_assert_eq!(Json::parse(&pretty).unwrap().pretty(), &*pretty);
            prop_assert_eq!(Json::parse(&pretty).unwrap().compact(), value.to_string());
        }
    }
}
