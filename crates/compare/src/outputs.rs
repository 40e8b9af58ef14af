//! Compares the outputs of a cell with those of another run of it.

use notebook::{MimeBundle, Output, Text, diff, one_line};
use render::{Style, StyledText, full_text, styled};

use crate::bundle;
use crate::findings::{Comparison, Findings};
use crate::rerun::Rerun;
use crate::texts::are_same;

/// The most lines that are shown beside a difference of texts.
const MAX_BESIDE: usize = 7;

/// What the outputs of a cell say, in a form that can be compared.
struct Said<'o> {
    stdout: Text,
    /// In their order, without what is printed to stderr: warnings come and go.
    others: Vec<&'o Output>,
}

impl<'o> Said<'o> {
    fn of(outputs: &'o [Output]) -> Self {
        let mut said = Self { stdout: Text::default(), others: Vec::new() };
        for output in outputs {
            match output {
                Output::Stream { name, .. } if name == "stderr" => {}
                Output::Stream { text, .. } => text.pieces().for_each(|piece| said.stdout.push(piece)),
                other => said.others.push(other),
            }
        }
        said
    }

    fn stdout(&self) -> String {
        full_text(&Output::Stream { name: "stdout".to_owned(), text: self.stdout.clone() })
    }
}

/// Compares the outputs of two runs. `rerun` made `after`.
pub fn compare(before: &[Output], after: &[Output], rerun: &Rerun) -> Comparison {
    let (before, after) = (Said::of(before), Said::of(after));
    let mut findings = Findings::default();
    if let Some(text) = recolored(&before.stdout, &after.stdout) {
        findings.difference(format!(" stdout has other colors: {}", one_line(&text)));
    }
    if before.others.len() != after.others.len() || !are_same(&before.stdout(), &after.stdout(), rerun) {
        findings.differs();
    } else {
        for (one, other) in before.others.iter().zip(&after.others) {
            compare_output(one, other, rerun, &mut findings);
        }
    }
    findings.into_comparison()
}

/// The first text that has other colors, if both texts have any: whether there are colors depends on the front end.
fn recolored(before: &Text, after: &Text) -> Option<String> {
    let colored = |text: &Text| -> Vec<StyledText> {
        let is_colored = |it: &StyledText| it.style != Style::default() && !it.text.trim().is_empty();
        styled(text.pieces()).into_iter().filter(is_colored).collect()
    };
    let (before, after) = (colored(before), colored(after));
    if before.is_empty() {
        return None;
    }
    after.into_iter().enumerate().find_map(|(at, it)| {
        let is_other = before.get(at).is_none_or(|was| was.style != it.style);
        is_other.then_some(it.text)
    })
}

fn compare_output(before: &Output, after: &Output, rerun: &Rerun, findings: &mut Findings) {
    match (before, after) {
        (
            Output::Display(before) | Output::Result { bundle: before, .. },
            Output::Display(after) | Output::Result { bundle: after, .. },
        ) => bundle::compare(before, after, rerun, findings),
        (Output::Error { name: before, value: was, .. }, Output::Error { name: after, value: is, .. })
            if before == after && are_same(was, is, rerun) => {}
        (before, after) if before.is_equivalent(after) => {}
        _ => findings.differs(),
    }
}

/// The outputs without the text at their end that a kernel wanted to show in a pager (`name?` in Python): front ends show it beside
/// the notebook, and runners without a screen drop it. `count` outputs stay in any case.
pub fn without_pages(outputs: &[Output], count: usize) -> &[Output] {
    let is_page = |output: &Output| {
        let is_text = |bundle: &MimeBundle| bundle.data.members().all(|(mime, _)| mime.starts_with("text/"));
        matches!(output, Output::Display(bundle) if is_text(bundle))
    };
    let end = outputs.iter().rposition(|output| !is_page(output)).map_or(0, |last| last + 1);
    &outputs[..end.max(count.min(outputs.len()))]
}

/// What differs, for people: the difference of the readable texts, and what it does not show of the `lines` that a comparison has
/// found.
pub fn difference(before: &[Output], after: &[Output], lines: &[String]) -> String {
    let mut shown = diff(&readable(before), &readable(after));
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push('\n');
    }
    let most = if shown.is_empty() { usize::MAX } else { MAX_BESIDE };
    // The title of a MIME type stands before its lines.
    let is_title = |line: &str| line.starts_with(' ') && line.ends_with(':');
    let groups = lines.chunk_by(|_, line| !is_title(line));
    let is_shown = |group: &[String]| {
        !shown.is_empty() && group[0].starts_with(" text/") && !group[0].starts_with(" text/html")
    };
    let beside: Vec<&str> =
        groups.filter(|group| !is_shown(group)).flatten().take(most).map(String::as_str).collect();
    shown.push_str(&beside.join("\n"));
    if shown.is_empty() {
        let count = |outputs: &[Output]| Said::of(outputs).others.len();
        shown = format!("-{} outputs\n+{} outputs", count(before), count(after));
    }
    shown
}

/// What outputs say, as text for people.
fn readable(outputs: &[Output]) -> String {
    let said = Said::of(outputs);
    let mut parts = vec![said.stdout()];
    parts.extend(said.others.iter().map(|output| match output {
        Output::Error { name, value, .. } => format!("{name}: {value}"),
        output => full_text(output),
    }));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}
