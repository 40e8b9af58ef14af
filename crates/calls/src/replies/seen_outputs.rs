//! How much of a run's outputs an agent has seen, so that a later look shows only what is new.

use std::fmt;
use std::str::FromStr;

use notebook::{Output, Text};
use render::{Digest, full_text};

use crate::arguments::declare::optional;
use crate::arguments::given::{Given, refused};
use place::Error;

/// The most outputs before the last of which each is known by itself.
const MAX_EARLIER: usize = 8;

/// The end of a stream by which it is recognised, in bytes: a stream only grows.
const WINDOW: usize = 4096;

/// The number of shown outputs, and a digest of them. Of streams it reads only the end.
///
/// As text `3:1045:1040:HASHES`: the number of outputs, the length of the last one if it is a stream, where its last line begins, and the
/// hashes of it, of all earlier outputs but the last of them, and of each of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenOutputs {
    count: usize,
    length: usize,
    line: usize,
    last: u32,
    /// A hash of the outputs before [`Self::earlier`].
    first: u16,
    /// Hashes of those before the last one.
    earlier: Vec<u16>,
}

/// A part that is new.
#[derive(Debug, PartialEq)]
pub struct NewPart {
    /// The index of the first output.
    pub first: usize,
    /// The first byte of it that is new, if it is a stream.
    pub offset: usize,
    /// Adjacent ones.
    pub outputs: Vec<Output>,
}

impl SeenOutputs {
    pub fn of(outputs: &[Output]) -> Self {
        let Some((last, before)) = outputs.split_last() else {
            return Self { count: 0, length: 0, line: 0, last: 0, first: 0, earlier: Vec::new() };
        };
        let (first, earlier) = before.split_at(before.len().saturating_sub(MAX_EARLIER));
        let (length, line) = match last {
            Output::Stream { text, .. } => (text.len(), last_line(text)),
            _ => (0, 0),
        };
        Self {
            count: outputs.len(),
            length,
            line,
            last: hash_up_to(last, length),
            first: hash_of(first),
            earlier: earlier.iter().map(|output| hash_of(std::slice::from_ref(output))).collect(),
        }
    }

    /// Those of `outputs` that came since or are no longer as they were, and what was added to the last one. Of a stream in which only
    /// the last line was replaced, such as a progress bar, it is that line and what follows.
    pub fn new_in(&self, outputs: &[Output]) -> Vec<NewPart> {
        let mut parts = Vec::new();
        let start = self.count.saturating_sub(1);
        let earlier = &outputs[..start.min(outputs.len())];
        let (first, each) = earlier.split_at((start - self.earlier.len()).min(earlier.len()));
        if self.count > 0 && hash_of(first) != self.first {
            add(&mut parts, 0, first.iter().cloned());
        }
        for (index, (output, seen)) in each.iter().zip(&self.earlier).enumerate() {
            if hash_of(std::slice::from_ref(output)) != *seen {
                add(&mut parts, first.len() + index, [output.clone()]);
            }
        }
        match outputs.get(start).filter(|_| self.count > 0) {
            Some(last) => match self.new_in_last(last) {
                Some((added, offset)) if offset > 0 => {
                    parts.push(NewPart { first: start, offset, outputs: vec![added] });
                    add(&mut parts, self.count, outputs[self.count..].iter().cloned());
                }
                Some(_) => add(&mut parts, start, outputs[start..].iter().cloned()),
                None => add(&mut parts, self.count, outputs[self.count..].iter().cloned()),
            },
            None => add(&mut parts, start, outputs.get(start..).unwrap_or_default().iter().cloned()),
        }
        parts
    }

    /// The last output from the first byte on that is new; `None` if nothing is.
    fn new_in_last(&self, output: &Output) -> Option<(Output, usize)> {
        let is_same = hash_up_to(output, self.length) == self.last;
        let (Output::Stream { name, text }, true) = (output, is_same && self.length <= output_length(output))
        else {
            return (!is_same).then(|| (output.clone(), 0));
        };
        let rest = text.part(self.length, text.len());
        // Codes that move the cursor may change the last line.
        let is_added =
            !rest.lines().next().unwrap_or_default().contains(|it: char| it.is_control() && it != '\t');
        let start = if is_added { self.length } else { self.line };
        let added = text.part(start, text.len());
        // The line break after the last line was not shown, as nothing followed.
        let start = start + usize::from(start == self.length && start > self.line && added.starts_with('\n'));
        let added = text.part(start, text.len());
        let is_new = !rest.trim_matches('\n').is_empty();
        is_new.then(|| (Output::Stream { name: name.clone(), text: added.as_str().into() }, start))
    }
}

/// Adds outputs from `index` on.
fn add(parts: &mut Vec<NewPart>, index: usize, outputs: impl IntoIterator<Item = Output>) {
    let outputs: Vec<Output> = outputs.into_iter().collect();
    match parts.last_mut() {
        _ if outputs.is_empty() => {}
        Some(part) if part.first + part.outputs.len() == index => part.outputs.extend(outputs),
        _ => parts.push(NewPart { first: index, offset: 0, outputs }),
    }
}

/// Start of the last line of a stream.
fn last_line(text: &Text) -> usize {
    let mut end = text.len();
    for piece in text.pieces().rev() {
        if let Some(at) = piece.rfind('\n') {
            return end - piece.len() + at + 1;
        }
        end -= piece.len();
    }
    0
}

fn output_length(output: &Output) -> usize {
    if let Output::Stream { text, .. } = output { text.len() } else { 0 }
}

/// The hash of an output; of a stream, as it was when it had this length.
fn hash_up_to(output: &Output, length: usize) -> u32 {
    let mut hash = Digest::default();
    add_output(&mut hash, output, length);
    let [.., a, b, c, d] = hash.0.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

fn hash_of(outputs: &[Output]) -> u16 {
    let mut hash = Digest::default();
    for output in outputs {
        add_output(&mut hash, output, output_length(output));
    }
    let [.., high, low] = hash.0.to_be_bytes();
    u16::from_be_bytes([high, low])
}

/// Adds all that a person may see of an output: also a picture, of which the text says only the size.
fn add_output(hash: &mut Digest, output: &Output, length: usize) {
    match output {
        Output::Display(bundle) | Output::Result { bundle, .. } => {
            hash.add(bundle.data.as_str().as_bytes());
            hash.add(bundle.metadata.as_str().as_bytes());
        }
        Output::Stream { name, text } => {
            hash.add(format!("{name} {length} ").as_bytes());
            hash.add(text.part(length.saturating_sub(WINDOW), length).as_bytes());
        }
        _ => hash.add(full_text(output).as_bytes()),
    }
    hash.add(b"\0");
}

impl fmt::Display for SeenOutputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, length, line, last, first, .. } = self;
        write!(f, "{count}:{length}:{line}:{last:08x}{first:04x}")?;
        self.earlier.iter().try_for_each(|hash| write!(f, "{hash:04x}"))
    }
}

impl FromStr for SeenOutputs {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parsed(text.trim()).ok_or_else(|| {
            refused(format!(
                "since must be the value in the last reply about the run, such as \"1:45:40:0f3a…\", not {text:?}."
            ))
        })
    }
}

optional! {
    SeenOutputs, "string", |given: &Given, name| {
        given.optional_text(name)?.map(|text| text.parse()).transpose()
    };
}

fn parsed(text: &str) -> Option<SeenOutputs> {
    let [count, length, line, hashes] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
    let (last, hashes) = hashes.split_at_checked(8)?;
    let starts = (0..hashes.len()).step_by(4);
    let hash = |at: usize| u16::from_str_radix(hashes.get(at..at + 4)?, 16).ok();
    let hashes = starts.map(hash).collect::<Option<Vec<u16>>>()?;
    let (first, earlier) = hashes.split_first()?;
    let count = count.parse::<usize>().ok()?;
    let is_whole = earlier.len() == count.saturating_sub(1).min(MAX_EARLIER);
    is_whole.then_some(SeenOutputs {
        count,
        length: length.parse().ok()?,
        line: line.parse().ok()?,
        last: u32::from_str_radix(last, 16).ok()?,
        first: *first,
        earlier: earlier.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use notebook::{Json, MimeBundle};
    use serde_json::json;

    use super::*;

    fn stream(text: &str) -> Output {
        Output::Stream { name: "stdout".to_owned(), text: text.into() }
    }

    fn display(mime: &str, content: &str) -> Output {
        let data = Json::from_value(&json!({ mime: content }));
        Output::Display(MimeBundle { data, metadata: Json::empty_object() })
    }

    fn new(before: &[Output], after: &[Output]) -> Vec<(Vec<Output>, (usize, usize))> {
        let seen: SeenOutputs = SeenOutputs::of(before).to_string().parse().unwrap();
        assert_eq!(seen, SeenOutputs::of(before));
        seen.new_in(after).into_iter().map(|part| (part.outputs, (part.first, part.offset))).collect()
    }

    #[test]
    fn only_what_came_since_is_new() {
        let error =
            || Output::Error { name: "E".to_owned(), value: "v".to_owned(), traceback: vec!["t".to_owned()] };
        for (before, after, expected, start) in [
            (vec![], vec![stream("a")], vec![stream("a")], (0, 0)),
            (vec![stream("é\n")], vec![stream("é\nb\n")], vec![stream("b\n")], (0, 3)),
            (vec![stream("a\nb\n")], vec![stream("a\nb\nc\n")], vec![stream("c\n")], (0, 4)),
            (vec![stream("a"), error()], vec![stream("a"), error(), stream("b")], vec![stream("b")], (2, 0)),
            (vec![error()], vec![error(), stream("b"), error()], vec![stream("b"), error()], (1, 0)),
            // It was cleared, or replaced by something shorter.
            (vec![stream("a"), error()], vec![stream("x")], vec![stream("x")], (0, 0)),
            (vec![stream("long")], vec![stream("x")], vec![stream("x")], (0, 0)),
        ] {
            assert_eq!(new(&before, &after), [(expected, start)], "{before:?} {after:?}");
        }
        let added = new(&[stream("a")], &[stream("ab"), error()]);
        assert_eq!(added, [(vec![stream("b"), error()], (0, 1))]);
        for same in
            [vec![], vec![stream("a\n")], vec![stream("a\nb"), error()], vec![display("text/plain", "x")]]
        {
            assert_eq!(new(&same, &same), []);
        }
        assert_eq!(new(&[stream("a")], &[]), []);
    }

    #[test]
    fn what_was_replaced_is_new() {
        let bar = |percents: &[&str]| stream(&format!("start\nepoch 1\n{}", percents.join("\r")));
        let both = ["28%|##", "55%|####"];
        assert_eq!(new(&[bar(&both[..1])], &[bar(&both)]), [(vec![stream(&both.join("\r"))], (0, 14))]);
        let whole = [(vec![bar(&both[1..])], (0, 0))];
        assert_eq!(new(&[bar(&both[..1])], &[bar(&both[1..])]), whole, "it was cleared");
        let dots = [(vec![stream(" ..")], (0, 3))];
        assert_eq!(new(&[stream("a\n.")], &[stream("a\n. ..")]), dots, "a line goes on");
        assert_eq!(new(&[stream("a")], &[stream("a\n")]), [], "a line break shows nothing");
        for mime in ["text/plain", "image/png"] {
            let (old, other) = (display(mime, "AAAA"), display(mime, "AAAB"));
            let of_one = |output: &Output| new(std::slice::from_ref(&old), std::slice::from_ref(output));
            assert_eq!(of_one(&other), [(vec![other.clone()], (0, 0))]);
            assert_eq!(of_one(&old), []);
            assert_eq!(
                new(
                    &[stream("a"), old.clone(), stream("b")],
                    &[stream("a"), other.clone(), stream("b"), old.clone()]
                ),
                [(vec![other.clone()], (1, 0)), (vec![old.clone()], (3, 0))]
            );
            let many = |first: &Output| {
                let rest = (0..20).map(|number| display("text/plain", &number.to_string()));
                std::iter::once(first.clone()).chain(rest).collect::<Vec<_>>()
            };
            assert!(new(&many(&old), &many(&other)).iter().any(|(outputs, _)| outputs.contains(&other)));
            assert_eq!(new(&many(&old), &many(&old)), []);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", "2", "a:b", "1:", "-1:2", "1:2:0:", "1:2:0:0123456789abcdef0123ffff", "9:2:0:éééééééééé"]
        {
            assert!(text.parse::<SeenOutputs>().is_err(), "{text}");
        }
    }
}
