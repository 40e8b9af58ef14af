//! One cell with its index, its id and its outputs.

use std::borrow::Cow;

use notebook::{Cell, CellType, Json, Notebook, visible};
use render::merged;

use crate::fragment::Fragment;
use crate::{Context, Ids, highlight, markdown, output};

/// A cell of a notebook. Empty if nothing of it is shown.
pub fn cell(index: usize, cell: &Cell, context: &Context<'_>) -> Fragment {
    let mut html = Fragment::default();
    let mut outputs = Fragment::default();
    if cell.is_code() {
        let all = cell.outputs();
        for it in merged(&all).iter() {
            outputs.append(output(it, context));
        }
        if !context.shows_sources && outputs.is_empty() {
            return html;
        }
    }
    html.raw(match cell.cell_type() {
        CellType::Code => "<article class=\"cb-cell cb-code-cell\"",
        CellType::Markdown => "<article class=\"cb-cell cb-markdown-cell\"",
        _ => "<article class=\"cb-cell cb-raw-cell\"",
    });
    let id = context.cell_id(index);
    html.attribute("id", &id).attribute("aria-label", &format!("Cell {index}")).raw(">");
    header(index, &id, cell, &mut html);
    match cell.cell_type() {
        CellType::Code => {
            if context.shows_sources {
                source(cell, context, &mut html);
            }
            write_outputs(cell, outputs, &mut html);
        }
        CellType::Markdown => {
            html.raw("<div class=\"cb-markdown\">");
            markdown::write(&cell.source(), cell.attachments().as_ref(), &context.ids, &mut html);
            html.raw("</div>");
        }
        _ => {
            html.raw("<pre class=\"cb-source\" tabindex=\"0\">").text(&visible(&cell.source())).raw("</pre>");
        }
    }
    html.raw("</article>\n");
    html
}

/// The cell that a link to a part of its notebook means, and the id of the element there. Front ends differ in case and signs.
pub fn find(notebook: &Notebook, part: &str) -> Option<(usize, String)> {
    let wanted = Ids::prefixed(part);
    let plain = |id: &str| id.to_lowercase().replace(|sign: char| !sign.is_alphanumeric(), "");
    let texts = notebook.cells().iter().enumerate().filter(|(_, cell)| !cell.is_code());
    let ids: Vec<_> = texts
        .flat_map(|(index, it)| {
            let context = Context::new(notebook, &|_| None);
            cell(index, it, &context);
            context.ids.all().map(move |id| (index, id))
        })
        .collect();
    let exact = ids.iter().find(|(_, id)| *id == wanted);
    exact.or_else(|| ids.iter().find(|(_, id)| plain(id) == plain(&wanted))).cloned()
}

/// The index, the execution count and the id, as agents name the cell.
fn header(index: usize, id: &str, cell: &Cell, html: &mut Fragment) {
    html.raw("<div class=\"cb-head\"><a class=\"cb-index\"").attribute("href", &format!("#{id}"));
    html.raw(">").number(index as u64).raw("</a>");
    if cell.is_code() {
        let count = cell.execution_count().map_or(Cow::Borrowed(" "), |count| count.to_string().into());
        html.raw(" <span class=\"cb-count\">In[").text(&count).raw("]</span>");
    }
    html.raw(" <code class=\"cb-id\">").text(&cell.id().to_string()).raw("</code></div>");
}

fn source(cell: &Cell, context: &Context<'_>, html: &mut Fragment) {
    let source = cell.source();
    if source.is_empty() {
        return;
    }
    let is_hidden = flag(cell, "source_hidden");
    if is_hidden {
        html.raw("<details><summary>Source</summary>");
    }
    html.raw("<pre class=\"cb-source\" tabindex=\"0\"><code>");
    highlight::source(&source, context.language.as_deref(), html);
    html.raw("</code></pre>");
    if is_hidden {
        html.raw("</details>");
    }
}

fn write_outputs(cell: &Cell, outputs: Fragment, html: &mut Fragment) {
    if outputs.is_empty() {
        html.append(outputs);
        return;
    }
    let is_hidden = flag(cell, "outputs_hidden") || is_true(cell.metadata().member("collapsed"));
    if is_hidden {
        html.raw("<details><summary>Outputs</summary>");
    }
    html.raw("<div class=\"cb-outputs\">").append(outputs).raw("</div>");
    if is_hidden {
        html.raw("</details>");
    }
}

/// Whether front ends hide a part of the cell.
fn flag(cell: &Cell, name: &str) -> bool {
    is_true(cell.metadata().member("jupyter").and_then(|jupyter| jupyter.member(name)))
}

fn is_true(json: Option<Json>) -> bool {
    json.is_some_and(|json| json.as_str() == "true")
}

#[cfg(test)]
mod tests {
    use notebook::{CellType, Edit, NewCell};

    use super::*;

    #[test]
    fn a_link_means_a_heading_or_an_anchor() {
        let mut notebook = Notebook::new();
        let texts = ["x = 1", "# A Title\n<a id=\"anchor\"></a>", "## a title\n## Größe & mehr"];
        for (index, text) in texts.into_iter().enumerate() {
            let kind = if index == 0 { CellType::Code } else { CellType::Markdown };
            notebook.apply(&Edit::Insert { index, cell: NewCell::new(kind, text) }).unwrap();
        }
        let found = |part: &str| find(&notebook, part);
        for (part, index, id) in [
            ("A-Title", 1, "content-A-Title"),
            ("anchor", 1, "content-anchor"),
            ("a-title", 2, "content-a-title"),
            ("größe-mehr", 2, "content-Größe-&-mehr"),
        ] {
            assert_eq!(found(part), Some((index, id.to_owned())), "{part}");
        }
        assert_eq!(found("absent"), None);
    }
}
