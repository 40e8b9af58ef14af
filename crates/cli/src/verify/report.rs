//! A report as a page: each notebook as an export shows it, with what came of its cells.

use std::collections::HashMap;
use std::path::Path;

use html::{About, Context, Fragment, cell, difference};
use notebook::{CellId, one_line};
use verify::{CellVerdict, Verdict};
use workspace::widget_text;

use super::{Ran, Verified};

/// One page for all notebooks.
pub(super) fn page(all: &[Verified]) -> String {
    let text_of = |(_, verified): &'_ Verified| {
        let widgets = verified.as_ref().ok().and_then(|ran| ran.notebook.metadata().member("widgets"));
        move |model: &str| widget_text(widgets.as_ref()?, model)
    };
    let texts: Vec<_> = all.iter().map(text_of).collect();
    let mut body = Fragment::default();
    body.raw("<main>\n");
    let mut last: Option<Context<'_>> = None;
    for ((path, verified), text_of) in all.iter().zip(&texts) {
        body.raw("<h2>").text(&terminal::path(path)).raw("</h2>\n");
        match verified {
            Err(cause) => {
                body.raw("<p>Could not run: ").text(&one_line(cause)).raw("</p>\n");
            }
            Ok(ran) => {
                let context = Context::new(&ran.notebook, text_of);
                let context = match last.take() {
                    Some(last) => context.after(last),
                    None => context,
                };
                notebook(ran, &context, &mut body);
                last = Some(context);
            }
        }
    }
    body.raw("</main>\n");
    let title = match all {
        [(path, _)] => terminal::path(Path::new(path.file_name().unwrap_or(path.as_os_str()))),
        all => format!("{} notebooks", all.len()),
    };
    html::document(&About { title: &format!("Verification of {title}"), lines: Vec::new() }, body, None)
}

/// The sentence, the cells with their verdicts, and what else the person should know.
fn notebook(Ran { verification, notebook }: &Ran, context: &Context<'_>, html: &mut Fragment) {
    html.raw("<p>").text(&verification.sentence()).raw("</p>\n");
    for note in verification.notes() {
        html.raw("<p>").text(&note).raw("</p>\n");
    }
    let verdicts: HashMap<&CellId, &Verdict> =
        verification.cells.iter().map(|CellVerdict { id, verdict, .. }| (id, verdict)).collect();
    for (index, it) in notebook.cells().iter().enumerate() {
        html.append(cell(index, it, context));
        if let Some(verdict) = verdicts.get(it.id()) {
            write_verdict(verdict, html);
        }
    }
}

fn write_verdict(verdict: &Verdict, html: &mut Fragment) {
    let (class, words) = match verdict {
        Verdict::Identical => ("", "Identical".to_owned()),
        Verdict::Close { pictures } => ("", format!("Close: pictures that differ slightly: {pictures}")),
        Verdict::NotCompared => ("", "Ran; not compared".to_owned()),
        Verdict::NoneSaved => ("", "Ran; it has no saved outputs".to_owned()),
        Verdict::Stale { .. } => (" cb-differs", "Stale, or from another environment".to_owned()),
        Verdict::NotDeterministic { .. } => (" cb-differs", "Not deterministic".to_owned()),
        Verdict::Unexplained { .. } => (" cb-differs", "Differs".to_owned()),
        Verdict::Follows => (" cb-differs", "Differs because its inputs differ".to_owned()),
        Verdict::FailsAgain { cause, .. } => (" cb-fails", format!("Fails in the second run: {cause}")),
        Verdict::Failed { cause, .. } => (" cb-fails", format!("Fails: {cause}")),
        Verdict::NotRun => (" cb-fails", "Did not run, because a cell before it failed".to_owned()),
    };
    html.raw("<div").attribute("class", &format!("cb-verdict{class}")).raw("><p>");
    let causes = verdict.causes();
    html.text(&[vec![words], causes].concat().join("; ")).raw("</p>");
    match verdict {
        Verdict::Stale { diff, .. }
        | Verdict::NotDeterministic { diff, .. }
        | Verdict::Unexplained { diff } => {
            html.raw("<p>- saved, + fresh:</p>").append(difference(diff));
        }
        Verdict::Failed { shown, .. } | Verdict::FailsAgain { shown, .. } => {
            html.raw("<pre class=\"cb-diff\" tabindex=\"0\">").text(shown).raw("</pre>");
        }
        _ => {}
    }
    html.raw("</div>\n");
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::PathBuf;

    use super::super::testing::ran;
    use super::*;

    #[test]
    fn each_cell_has_its_verdict_below_it_and_no_id_comes_twice() {
        let all = [
            (PathBuf::from("a.ipynb"), Ok(ran())),
            (PathBuf::from("b<i>.ipynb"), Ok(ran())),
            (PathBuf::from("c.ipynb"), Err("no kernel\n<b>".to_owned())),
        ];
        let page = page(&all);
        let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        // The heading of the second notebook has the text of the first.
        assert_eq!(ids.len(), 10 + 1, "{ids:?}");
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "{ids:?}");
        let stale = page.split("id=\"notebook-1-cell-2\"").nth(1).unwrap();
        let verdict = stale.split("cb-verdict").nth(1).unwrap();
        assert!(verdict.starts_with(" cb-differs\"><p>Stale, or from another environment</p>"), "{verdict}");
        assert!(verdict.contains("<del>-&lt;1&gt;</del>"), "{verdict}");
        assert_eq!(
            page.matches("Fails: E: &quot;x&quot;").count() + page.matches("Fails: E: \"x\"").count(),
            2
        );
        assert!(page.contains("Could not run: no kernel\\n&lt;b&gt;"), "{page}");
        assert!(page.contains("<h2>b&lt;i&gt;.ipynb</h2>"), "{page}");
    }
}
