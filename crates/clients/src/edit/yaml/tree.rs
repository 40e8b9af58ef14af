//! Where the parts of a YAML document are.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Value};

use crate::edit::EditObstacle;

/// A document; `None` if the text has none.
pub(super) struct Tree(Option<Node>);

pub(super) enum Node {
    /// A value that is left out.
    Empty {
        at: usize,
    },
    Mapping {
        entries: Vec<(Key, Node)>,
        column: usize,
    },
    /// `{}`
    EmptyFlow {
        span: Range<usize>,
    },
    /// Anything else, with what it means.
    Other {
        value: Value,
        end: usize,
    },
}

pub(super) struct Key {
    name: String,
    start: usize,
    pub(super) end: usize,
}

impl Node {
    pub(super) fn end(&self) -> usize {
        match self {
            Self::Empty { at } => *at,
            Self::EmptyFlow { span } => span.end,
            Self::Mapping { entries, .. } => {
                entries.last().map_or(0, |(key, value)| key.end.max(value.end()))
            }
            Self::Other { end, .. } => *end,
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Empty { .. } => Value::Null,
            Self::Other { value, .. } => value.clone(),
            Self::Mapping { entries, .. } => entries
                .iter()
                .map(|(key, node)| (key.name.clone(), node.value()))
                .collect::<Map<_, _>>()
                .into(),
            Self::EmptyFlow { .. } => Value::Object(Map::new()),
        }
    }
}

impl Tree {
    pub(super) fn whole(&self) -> Value {
        self.0.as_ref().map(Node::value).unwrap_or_default()
    }

    pub(super) fn read(&self, path: &[&str]) -> Result<Option<Value>, EditObstacle> {
        Ok(self.node(path)?.map(Node::value))
    }

    pub(super) fn node(&self, path: &[&str]) -> Result<Option<&Node>, EditObstacle> {
        Ok(self.entry(path)?.map(|(_, node)| node))
    }

    /// The column of a key.
    pub(super) fn column(&self, path: &[&str]) -> Result<usize, EditObstacle> {
        let Some((_, parent)) = path.split_last() else { return Ok(0) };
        match self.node(parent)? {
            Some(Node::Mapping { column, .. }) => Ok(*column),
            _ => Err(EditObstacle::Form(path.join("."))),
        }
    }

    /// Where the colon behind a key is.
    pub(super) fn colon(&self, text: &str, path: &[&str]) -> Result<usize, EditObstacle> {
        let key_end = self.entry(path)?.and_then(|(key, _)| key).map(|key| key.end);
        let colon = key_end.and_then(|end| Some(end + text[end..].find(':')?));
        colon.ok_or_else(|| EditObstacle::Form(path.join(".")))
    }

    /// The lines of a key and its value.
    pub(super) fn lines_of(&self, text: &str, path: &[&str]) -> Result<Range<usize>, EditObstacle> {
        let refused = || EditObstacle::Form(path.join("."));
        let (Some(key), node) = self.entry(path)?.ok_or_else(refused)? else { return Err(refused()) };
        let start = text[..key.start].rfind('\n').map_or(0, |at| at + 1);
        if !text[start..key.start].trim().is_empty() {
            return Err(refused());
        }
        Ok(start..line_end(text, key.end.max(node.end())))
    }

    fn entry(&self, path: &[&str]) -> Result<Option<(Option<&Key>, &Node)>, EditObstacle> {
        let Some(root) = &self.0 else { return Ok(None) };
        let mut found = (None, root);
        for (depth, name) in path.iter().enumerate() {
            let entries = match found.1 {
                Node::Mapping { entries, .. } => entries,
                Node::Empty { .. } | Node::EmptyFlow { .. } => return Ok(None),
                Node::Other { .. } => return Err(EditObstacle::OtherType(path[..depth].join("."))),
            };
            let mut same = entries.iter().filter(|(key, _)| key.name == *name);
            let Some((key, node)) = same.next() else { return Ok(None) };
            if same.next().is_some() {
                return Err(EditObstacle::Duplicate(path[..=depth].join(".")));
            }
            found = (Some(key), node);
        }
        Ok(Some(found))
    }
}

/// The end of the line that a position is on or, if a value ends with its line end, that it is behind.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    if at > 0 && text[..at].ends_with('\n') {
        return at;
    }
    text[at..].find('\n').map_or(text.len(), |length| at + length + 1)
}

pub(super) fn parse(text: &str) -> Result<Tree, EditObstacle> {
    let mut offsets: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
    offsets.push(text.len());
    let mut events = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| EditObstacle::Unparsable(error.to_string()))?;
        events.push((event, span));
    }
    let documents = events.iter().filter(|(event, _)| matches!(event, Event::DocumentStart(_))).count();
    if documents > 1 {
        return Err(EditObstacle::Form("a file with several documents".to_owned()));
    }
    let content = events.into_iter().filter(|(event, _)| {
        !matches!(
            event,
            Event::Nothing
                | Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(_)
                | Event::DocumentEnd
        )
    });
    let mut reader = Reader { text, offsets, events: content };
    Ok(Tree(reader.next_node()))
}

struct Reader<'a, I> {
    text: &'a str,
    offsets: Vec<usize>,
    events: I,
}

impl<'a, I: Iterator<Item = (Event<'a>, Span)>> Reader<'a, I> {
    fn next_node(&mut self) -> Option<Node> {
        let (event, span) = self.events.next()?;
        Some(self.node(event, span))
    }

    fn node(&mut self, event: Event, span: Span) -> Node {
        let range = self.range(span);
        match event {
            Event::Scalar(_, ScalarStyle::Plain, ..) if range.is_empty() => Node::Empty { at: range.end },
            Event::Scalar(text, style, ..) => {
                let value =
                    if style == ScalarStyle::Plain { resolve(&text) } else { Value::from(text.as_ref()) };
                // A block scalar may end behind blank lines that follow it.
                let end = range.start + self.text[range.clone()].trim_end().len();
                Node::Other { value, end }
            }
            Event::MappingStart(..) => self.mapping(range.start, span.start.col()),
            Event::SequenceStart(..) => self.sequence(range.start),
            _ => Node::Other { value: Value::Null, end: range.end },
        }
    }

    fn mapping(&mut self, start: usize, column: usize) -> Node {
        let is_flow = self.text[start..].starts_with('{');
        let mut entries = Vec::new();
        let mut end = start;
        while let Some((event, span)) = self.events.next() {
            if matches!(event, Event::MappingEnd) {
                end = self.range(span).end;
                break;
            }
            let range = self.range(span);
            let name = match &event {
                Event::Scalar(text, ..) => text.to_string(),
                _ => String::new(),
            };
            let key = self.node(event, span);
            let Some(value) = self.next_node() else { break };
            entries.push((Key { name, start: range.start, end: key.end() }, value));
        }
        if !is_flow {
            return Node::Mapping { entries, column };
        }
        let span = start..self.closed(start, end, '}');
        let text = self.text[span.clone()].chars().filter(|it| !it.is_whitespace());
        if entries.is_empty() && text.eq("{}".chars()) {
            return Node::EmptyFlow { span };
        }
        Node::Other { value: Node::Mapping { entries, column }.value(), end: span.end }
    }

    fn sequence(&mut self, start: usize) -> Node {
        let (mut items, mut end) = (Vec::new(), start);
        while let Some((event, span)) = self.events.next() {
            if matches!(event, Event::SequenceEnd) {
                if self.text[start..].starts_with('[') {
                    end = self.closed(start, self.range(span).end, ']');
                }
                break;
            }
            let node = self.node(event, span);
            end = end.max(node.end());
            items.push(node.value());
        }
        Node::Other { value: items.into(), end }
    }

    /// The end of a collection in flow style. What the parser reports may be the end of a comment behind it.
    fn closed(&self, start: usize, end: usize, bracket: char) -> usize {
        self.text[start..end].rfind(bracket).map_or(end, |length| start + length + 1)
    }

    fn range(&self, span: Span) -> Range<usize> {
        let at = |index: usize| self.offsets.get(index).copied().unwrap_or(self.text.len());
        at(span.start.index())..at(span.end.index())
    }
}

/// What a plain scalar means in YAML's core schema.
fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        text => text.parse::<i64>().map_or_else(
            |_| match text.parse::<f64>() {
                Ok(number) if text.starts_with(|it: char| it.is_ascii_digit() || "+-.".contains(it)) => {
                    number.into()
                }
                _ => text.into(),
            },
            Value::from,
        ),
    }
}
