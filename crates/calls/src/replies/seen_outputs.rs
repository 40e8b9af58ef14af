//! How much of a run's outputs an agent has seen, so that a later look shows only what is new.

use std::fmt;
use std::str::FromStr;

use notebook::Output;
use render::{Digest, full_text, full_text_in_pieces};

use crate::arguments::declare::{Argument, Schema};
use crate::arguments::given::{Given, refused};
use place::Error;

/// The most outputs before the last of which each is known by itself.
const MAX_EARLIER: usize = 8;

/// How many outputs were shown, and which.
///
/// As text `3:1045:1040:HASHES`: the number of outputs, the characters of the last one and of its lines before the last, and the hashes of
/// both, of all earlier outputs but the last of them, and of each of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenOutputs {
    count: usize,
    last: Seen,
    /// A hash of the outputs before [`Self::earlier`].
    first: u16,
    /// Hashes of those before the last one.
    earlier: Vec<u16>,
}

/// What was seen of the last output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Seen {
    /// Of the whole text, and of the lines before the last.
    characters: usize,
    settled: usize,
    hash: u32,
    settled_hash: u32,
}

/// A part that is new.
#[derive(Debug, PartialEq)]
pub struct NewPart {
    /// The index of the first output.
    pub first: usize,
    /// The first character of it that is new.
    pub offset: usize,
    /// Adjacent ones.
    pub outputs: Vec<Output>,
}

impl SeenOutputs {
    pub fn of(outputs: &[Output]) -> Self {
        let Some((last, before)) = outputs.split_last() else {
            return Self { count: 0, last: Seen::default(), first: 0, earlier: Vec::new() };
        };
        let (first, earlier) = before.split_at(before.len().saturating_sub(MAX_EARLIER));
        Self {
            count: outputs.len(),
            last: Seen::of(last),
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
            Some(last) => match self.last.new_in(last) {
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

impl Seen {
    fn of(output: &Output) -> Self {
        let (mut seen, mut hash) = (Self::default(), Digest::default());
        if let Output::Stream { .. } = output {
            full_text_in_pieces(output, |piece| {
                let mut rest = piece;
                while let Some(end) = rest.find('\n') {
                    hash.add(&rest.as_bytes()[..end]);
                    seen.characters += rest[..end].chars().count();
                    (seen.settled, seen.settled_hash) = (seen.characters, short(hash));
                    hash.add(b"\n");
                    seen.characters += 1;
                    rest = &rest[end + 1..];
                }
                hash.add(rest.as_bytes());
                seen.characters += rest.chars().count();
            });
        } else {
            add_output(&mut hash, output);
        }
        seen.hash = short(hash);
        seen
    }

    /// The output from the first character on that is new; `None` if nothing is.
    fn new_in(self, output: &Output) -> Option<(Output, usize)> {
        let whole = Some((output.clone(), 0));
        let Output::Stream { name, .. } = output else {
            return if Self::of(output) == self { None } else { whole };
        };
        let text = full_text(output);
        let after = |characters: usize, hash: u32| {
            let end = text.char_indices().nth(characters).map_or(text.len(), |(end, _)| end);
            let mut start = Digest::default();
            start.add(&text.as_bytes()[..end]);
            (short(start) == hash).then_some((&text[end..], characters))
        };
        let all_seen = after(self.characters, self.hash);
        let settled = || after(self.settled, self.settled_hash).filter(|_| self.settled > 0);
        let Some((rest, start)) = all_seen.or_else(settled) else { return whole };
        if rest.is_empty() {
            return None;
        }
        // The line break after the last line was not shown, as nothing followed.
        let added = rest.strip_prefix('\n').unwrap_or(rest);
        let skipped = usize::from(added.len() < rest.len());
        Some((Output::Stream { name: name.clone(), text: added.into() }, start + skipped))
    }
}

fn hash_of(outputs: &[Output]) -> u16 {
    let mut hash = Digest::default();
    for output in outputs {
        add_output(&mut hash, output);
    }
    let [.., high, low] = hash.0.to_be_bytes();
    u16::from_be_bytes([high, low])
}

/// Adds all that a person may see of an output: also a picture, of which the text says only the size.
fn add_output(hash: &mut Digest, output: &Output) {
    match output {
        Output::Display(bundle) | Output::Result { bundle, .. } => {
            hash.add(bundle.data.as_str().as_bytes());
            hash.add(bundle.metadata.as_str().as_bytes());
        }
        _ => full_text_in_pieces(output, |piece| hash.add(piece.as_bytes())),
    }
    hash.add(b"\0");
}

fn short(hash: Digest) -> u32 {
    let [.., a, b, c, d] = hash.0.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

impl fmt::Display for SeenOutputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { characters, settled, hash, settled_hash } = self.last;
        write!(f, "{}:{characters}:{settled}:{hash:08x}{settled_hash:08x}{:04x}", self.count, self.first)?;
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

impl Argument for Option<SeenOutputs> {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        Option::<String>::describe(schema, name, description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        given.optional_text(name)?.map(|text| text.parse()).transpose()
    }
}

fn parsed(text: &str) -> Option<SeenOutputs> {
    let mut numbers = text.split(':');
    let mut number = || numbers.next()?.parse::<usize>().ok();
    let (count, characters, settled) = (number()?, number()?, number()?);
    let hashes = numbers.next().filter(|_| numbers.next().is_none())?;
    let (hash, hashes) = hashes.split_at_checked(8)?;
    let (settled_hash, hashes) = hashes.split_at_checked(8)?;
    let (first, hashes) = hashes.split_at_checked(4)?;
    let is_whole = hashes.is_ascii()
        && hashes.len() % 4 == 0
        && hashes.len() / 4 == count.saturating_sub(1).min(MAX_EARLIER);
    let earlier =
        (0..hashes.len() / 4).map(|at| u16::from_str_radix(hashes.get(4 * at..4 * at + 4)?, 16).ok());
    let hash = u32::from_str_radix(hash, 16).ok()?;
    let settled_hash = u32::from_str_radix(settled_hash, 16).ok()?;
    is_whole.then_some(())?;
    Some(SeenOutputs {
        count,
        last: Seen { characters, settled, hash, settled_hash },
        first: u16::from_str_radix(first, 16).ok()?,
        earlier: earlier.collect::<Option<_>>()?,
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
            (vec![stream("é\n")], vec![stream("é\nb\n")], vec![stream("b")], (0, 2)),
            (vec![stream("a\nb\n")], vec![stream("a\nb\nc\n")], vec![stream("c")], (0, 4)),
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
        let bar = |percent: &str| stream(&format!("start\nepoch 1\n{percent}|##"));
        assert_eq!(new(&[bar("28%")], &[bar("55%")]), [(vec![stream("55%|##")], (0, 14))]);
        assert_eq!(new(&[stream("28%")], &[stream("55%")]), [(vec![stream("55%")], (0, 0))]);
        assert_eq!(new(&[bar("28%")], &[stream("begin\nepoch 1\n28%|##")]).len(), 1, "an earlier line");
        // A carriage return is followed on a screen.
        assert_eq!(new(&[stream("a\n1%\r2%")], &[stream("a\n1%\r2%\r3%")]), [(vec![stream("3%")], (0, 2))]);
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
