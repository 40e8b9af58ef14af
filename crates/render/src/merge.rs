//! Joins streams that a kernel flushed piece by piece.

use std::borrow::Cow;

use notebook::Output;

/// `outputs` with adjacent streams of the same name joined, as Jupyter's own frontends store them.
///
/// Some servers and older files store an output for every flush; a progress bar is then hundreds of outputs, none of which
/// can be read alone. Code that shows outputs and pages through them must do both on the merged ones.
pub fn merged(outputs: &[Output]) -> Cow<'_, [Output]> {
    let continues = |pair: &[Output]| match pair {
        [Output::Stream { name, .. }, Output::Stream { name: next, .. }] => name == next,
        _ => false,
    };
    if !outputs.windows(2).any(continues) {
        return Cow::Borrowed(outputs);
    }
    let mut merged: Vec<Output> = Vec::new();
    for output in outputs {
        match (merged.last_mut(), output) {
            (Some(Output::Stream { name, text }), Output::Stream { name: next, text: more })
                if name == next =>
            {
                more.pieces().for_each(|piece| text.push(piece));
            }
            _ => merged.push(output.clone()),
        }
    }
    Cow::Owned(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(name: &str, text: &str) -> Output {
        Output::Stream { name: name.to_owned(), text: text.into() }
    }

    #[test]
    fn adjacent_streams_of_one_name_are_joined() {
        let outputs =
            [stream("a", "1"), stream("a", "2"), stream("b", "3"), stream("a", "4"), stream("a", "5")];
        assert_eq!(*merged(&outputs), [stream("a", "12"), stream("b", "3"), stream("a", "45")]);
        let single = [stream("a", "1"), stream("b", "2")];
        assert!(matches!(merged(&single), Cow::Borrowed(_)));
    }
}
