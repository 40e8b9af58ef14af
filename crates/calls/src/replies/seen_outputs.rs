//! How much of a run's outputs an agent has seen, so that a later look shows only what is new.

use std::fmt;
use std::str::FromStr;

use notebook::Output;
use render::{full_length, full_text};

use crate::arguments::given::refused;
use place::Error;

/// How many outputs were shown, and how many characters the last of them had. As text, `3:1045`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenOutputs {
    count: usize,
    characters: usize,
}

/// What is new.
#[derive(Debug, PartialEq)]
pub struct NewOutputs {
    pub outputs: Vec<Output>,
    /// The index of the first of them.
    first: usize,
    /// The first character of it that is new.
    offset: usize,
}

impl SeenOutputs {
    pub fn of(outputs: &[Output]) -> Self {
        let characters = outputs.last().map_or(0, full_length);
        Self { count: outputs.len(), characters }
    }

    /// Those of `outputs` that came since, and what was added to the last one. An output that was replaced is new.
    pub fn new_in(self, outputs: &[Output]) -> NewOutputs {
        let all = NewOutputs { outputs: outputs.to_vec(), first: 0, offset: 0 };
        let Some(last) = self.count.checked_sub(1) else { return all };
        let Some(output) = outputs.get(last) else { return all };
        if full_length(output) == self.characters {
            return NewOutputs { outputs: outputs[self.count..].to_vec(), first: self.count, offset: 0 };
        }
        let text = full_text(output);
        match (output, text.char_indices().nth(self.characters)) {
            (Output::Stream { name, .. }, Some((start, _))) => {
                // The line break after the last line was not shown, as nothing followed.
                let added = text[start..].strip_prefix('\n').unwrap_or(&text[start..]);
                let skipped = usize::from(added.len() < text[start..].len());
                let added = Output::Stream { name: name.clone(), text: added.into() };
                let outputs = [&[added], &outputs[self.count..]].concat();
                NewOutputs { outputs, first: last, offset: self.characters + skipped }
            }
            _ => NewOutputs { outputs: outputs[last..].to_vec(), first: last, offset: 0 },
        }
    }
}

impl NewOutputs {
    /// The index of the first one, and its first new character.
    pub fn start(&self) -> (usize, usize) {
        (self.first, self.offset)
    }
}

impl fmt::Display for SeenOutputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.count, self.characters)
    }
}

impl FromStr for SeenOutputs {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = text.trim().split_once(':');
        let parsed = parts.and_then(|(count, characters)| {
            Some(Self { count: count.parse().ok()?, characters: characters.parse().ok()? })
        });
        parsed.ok_or_else(|| {
            refused(format!(
                "since must be the value in the last reply about the run, such as \"2:1045\", not {text:?}."
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(text: &str) -> Output {
        Output::Stream { name: "stdout".to_owned(), text: text.into() }
    }

    fn new(before: &[Output], after: &[Output]) -> (Vec<Output>, (usize, usize)) {
        let seen: SeenOutputs = SeenOutputs::of(before).to_string().parse().unwrap();
        let new = seen.new_in(after);
        let start = new.start();
        (new.outputs, start)
    }

    #[test]
    fn only_what_came_since_is_new() {
        let error =
            || Output::Error { name: "E".to_owned(), value: "v".to_owned(), traceback: vec!["t".to_owned()] };
        for (before, after, expected, start) in [
            (vec![], vec![], vec![], (0, 0)),
            (vec![], vec![stream("a")], vec![stream("a")], (0, 0)),
            (vec![stream("a\n")], vec![stream("a\n")], vec![], (1, 0)),
            (vec![stream("é\n")], vec![stream("é\nb\n")], vec![stream("b")], (0, 2)),
            (vec![stream("a")], vec![stream("ab"), error()], vec![stream("b"), error()], (0, 1)),
            (vec![stream("a"), error()], vec![stream("a"), error(), stream("b")], vec![stream("b")], (2, 0)),
            // It was cleared, or replaced by something shorter.
            (vec![stream("a"), error()], vec![stream("x")], vec![stream("x")], (0, 0)),
            (vec![stream("long")], vec![stream("x")], vec![stream("x")], (0, 0)),
        ] {
            assert_eq!(new(&before, &after), (expected, start), "{before:?} {after:?}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "2", "a:b", "1:", "-1:2"] {
            assert!(text.parse::<SeenOutputs>().is_err(), "{text}");
        }
    }
}
