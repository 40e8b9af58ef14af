//! `search_notebook`: text in sources and outputs, or the outline.

use notebook::{HitLocation, Notebook, Query, outline, search};
use place::NotebookPath;
use render::without_data_uris;

use calls::prelude::*;

const DEFAULT_LIMIT: usize = 50;

pub(crate) static TOOL: Tool = tool! {
    name: "search_notebook",
    title: "Search a notebook",
    description: "Search a notebook: find text in the sources and outputs of its cells; without a query: the headings.",
    discovery: Discovery::FoundBy("find where a name is defined or used; outline of a notebook"),
    effect: Effect::Reads,
    groups: &[Group::Read],
};

arguments! {
    struct Arguments {
        query: Option<FreeText>,
        include_outputs: bool = true,
        case_sensitive: bool = false,
        limit: usize = DEFAULT_LIMIT,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let limit = if arguments.limit == 0 { usize::MAX } else { arguments.limit };
    let (opened, notebook) = context.notebook_and_cells(&arguments.notebook).await?;
    let Some(FreeText(text)) = arguments.query else {
        let ignored = [
            ("include_outputs", !arguments.include_outputs),
            ("case_sensitive", arguments.case_sensitive),
            ("limit", arguments.limit != DEFAULT_LIMIT),
        ];
        if let Some((name, _)) = ignored.into_iter().find(|(_, is_set)| *is_set) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("{name} is for a search, and there is no query."),
                format!("Call search_notebook(query=…), or leave {name} out for the headings."),
            ));
        }
        let text = whole_lines(&headings(&notebook, opened.path()), "", context.characters(), |_, left| {
            format!("… {left} more headings: search_notebook(query=…) finds one.")
        });
        return Ok(text.into());
    };
    let query = Query {
        text: text.clone(),
        ignore_case: !arguments.case_sensitive,
        in_sources: true,
        in_outputs: arguments.include_outputs,
        limit: limit.saturating_add(1),
    };
    let mut hits = search(&notebook, &query);
    let has_more = hits.len() > limit;
    hits.truncate(limit);
    if hits.is_empty() {
        return Ok(format!("{text:?} does not occur in {}.", one_line(opened.path())).into());
    }
    let rows = hits.into_iter().map(|hit| {
        let count = hit.execution_count.map_or_else(|| "N/A".to_owned(), |count| count.to_string());
        [
            hit.index.to_string(),
            hit.id.to_string(),
            count,
            location(hit.location),
            hit.line.to_string(),
            without_data_uris(&hit.text).into_owned(),
        ]
    });
    let list = table(["Index", "ID", "Count", "Place", "Line", "Text"], rows);
    // A larger limit shows more only if there is room.
    let fits = list.chars().count() < context.characters();
    let notes = if has_more && fits {
        let limit = limit.saturating_mul(2);
        format!("\n[There are more: limit={limit} shows up to {limit} lines]")
    } else {
        String::new()
    };
    let text = whole_lines(&list, &notes, context.characters(), |_, left| {
        format!("[{left} more lines were left out: a longer query finds fewer]")
    });
    Ok(text.into())
}

fn headings(notebook: &Notebook, path: &NotebookPath) -> String {
    let headings = outline(notebook);
    if headings.is_empty() {
        return format!("{} has no headings.", one_line(path));
    }
    let rows = headings.into_iter().map(|heading| {
        let title = format!("{} {}", "#".repeat(heading.level), heading.title);
        [heading.cell_index.to_string(), heading.cell_id.to_string(), title]
    });
    table(["Index", "ID", "Heading"], rows)
}

fn location(location: HitLocation) -> String {
    match location {
        HitLocation::Source => "source".to_owned(),
        HitLocation::Output(index) => format!("output {index}"),
    }
}
