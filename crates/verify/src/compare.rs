//! Compares the outputs of two runs of a cell, each kind by its content: text, JSON by value, markup with ids made equal, and
//! pictures by their pixels.
//!
//! Everything here is pure: the time in which the second run was made, and its code, are passed in.

mod bundle;
mod dates;
mod findings;
mod ids;
mod json;
mod markup;
mod picture;
mod raw;
mod rerun;
mod texts;
mod volatile;

use notebook::{MimeBundle, Output, Text, diff};
use render::full_text;

pub(crate) use self::findings::Comparison;
use self::findings::Findings;
pub(crate) use self::rerun::Rerun;
use self::texts::are_same;

/// The most lines that are shown beside a difference of texts.
const MAX_BESIDE: usize = 7;

/// What the outputs of a cell say, in a form that can be compared.
struct Said<'o> {
    stdout: String,
    /// In their order, without what is printed to stderr: warnings come and go.
    others: Vec<&'o Output>,
}

impl<'o> Said<'o> {
    fn of(outputs: &'o [Output]) -> Self {
        let (mut stdout, mut others) = (Text::default(), Vec::new());
        for output in outputs {
            match output {
                Output::Stream { name, .. } if name == "stderr" => {}
                Output::Stream { text, .. } => text.pieces().for_each(|piece| stdout.push(piece)),
                other => others.push(other),
            }
        }
        Self { stdout: full_text(&Output::Stream { name: "stdout".to_owned(), text: stdout }), others }
    }
}

/// Compares the outputs of two runs. `rerun` made `after`.
pub(crate) fn compare(before: &[Output], after: &[Output], rerun: &Rerun) -> Comparison {
    let (before, after) = (Said::of(before), Said::of(after));
    let mut findings = Findings::default();
    if before.others.len() != after.others.len() || !are_same(&before.stdout, &after.stdout, rerun) {
        findings.differs();
    } else {
        for (one, other) in before.others.iter().zip(&after.others) {
            compare_output(one, other, rerun, &mut findings);
        }
    }
    findings.into_comparison()
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
pub(crate) fn without_pages(outputs: &[Output], count: usize) -> &[Output] {
    let is_page = |output: &Output| {
        let is_text = |bundle: &MimeBundle| bundle.data.members().all(|(mime, _)| mime.starts_with("text/"));
        matches!(output, Output::Display(bundle) if is_text(bundle))
    };
    let end = outputs.iter().rposition(|output| !is_page(output)).map_or(0, |last| last + 1);
    &outputs[..end.max(count.min(outputs.len()))]
}

/// What differs, for people: the difference of the readable texts, and what it does not show of the `lines` that a comparison has
/// found.
pub(crate) fn difference(before: &[Output], after: &[Output], lines: &[String]) -> String {
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
    let mut parts = vec![said.stdout];
    parts.extend(said.others.iter().map(|output| match output {
        Output::Error { name, value, .. } => format!("{name}: {value}"),
        output => full_text(output),
    }));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

#[cfg(test)]
mod tests;
