//! Asking the person at a terminal.

use std::io::{BufRead, Write};

use anyhow::bail;

use terminal::output;

/// Asks which of the rows, each with its name, the action is for.
pub(super) fn choose(action: &str, rows: &[(&str, String)]) -> anyhow::Result<Vec<usize>> {
    choose_on(action, rows, &mut std::io::stdin().lock(), &mut output())
}

fn choose_on(
    action: &str,
    rows: &[(&str, String)],
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> anyhow::Result<Vec<usize>> {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (number, (name, file)) in (1..).zip(rows) {
        writeln!(output, "{number:3}  {name:width$}  {file}")?;
    }
    loop {
        write!(output, "{action} which? Numbers, or Enter for all: ")?;
        let answer = line(input, output)?;
        match chosen(&answer, rows.len()) {
            Some(indices) => return Ok(indices),
            None => writeln!(output, "Numbers from 1 to {}, such as: 1 3", rows.len())?,
        }
    }
}

pub(super) fn confirm(question: &str) -> anyhow::Result<bool> {
    confirm_on(question, &mut std::io::stdin().lock(), &mut output())
}

fn confirm_on(question: &str, input: &mut impl BufRead, output: &mut impl Write) -> anyhow::Result<bool> {
    loop {
        write!(output, "{question} [Y/n] ")?;
        match line(input, output)?.to_ascii_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}

fn line(input: &mut impl BufRead, output: &mut impl Write) -> anyhow::Result<String> {
    output.flush()?;
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        writeln!(output)?;
        bail!("nothing was chosen, and nothing was written");
    }
    Ok(line.trim().to_owned())
}

/// The indices that an answer names. `None` if it is not understood.
fn chosen(answer: &str, count: usize) -> Option<Vec<usize>> {
    if answer.is_empty() || answer.eq_ignore_ascii_case("all") {
        return Some((0..count).collect());
    }
    let numbers = answer.split([' ', ',']).filter(|it| !it.is_empty());
    let mut indices = numbers
        .map(|it| it.parse::<usize>().ok()?.checked_sub(1).filter(|it| *it < count))
        .collect::<Option<Vec<_>>>()?;
    indices.sort_unstable();
    indices.dedup();
    Some(indices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> (anyhow::Result<Vec<usize>>, String) {
        let rows = [("Codex", "~/a".to_owned()), ("Claude Code", "~/b".to_owned())];
        let mut output = Vec::new();
        let chosen = choose_on("Configure", &rows, &mut text.as_bytes(), &mut output);
        (chosen, String::from_utf8(output).unwrap())
    }

    #[test]
    fn numbers_all_and_nothing_are_understood() {
        for (text, expected) in
            [("\n", vec![0, 1]), ("all\n", vec![0, 1]), ("2\n", vec![1]), (" 2, 1 2\n", vec![0, 1])]
        {
            assert_eq!(answer(text).0.unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn it_asks_again_until_it_understands() {
        let (chosen, output) = answer("3\n0\nx\n1\n");
        assert_eq!(chosen.unwrap(), [0]);
        insta::assert_snapshot!(output);
    }

    #[test]
    fn the_end_of_the_input_changes_nothing() {
        assert!(answer("").0.unwrap_err().to_string().contains("nothing was written"));
        assert!(confirm_on("Write?", &mut "what".as_bytes(), &mut Vec::new()).is_err());
    }

    #[test]
    fn enter_confirms() {
        for (text, expected) in [("\n", true), ("Y\n", true), ("maybe\nno\n", false)] {
            assert_eq!(confirm_on("Write?", &mut text.as_bytes(), &mut Vec::new()).unwrap(), expected);
        }
    }
}
