//! `search_notebook`: text in sources and outputs, or the outline.

use notebook::{HitLocation, Query, outline, search};

use super::arguments::{Arguments, refused};
use super::cells::table;
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "search_notebook",
        description: "Find text in sources and outputs; without a query: the headings.",
        schema: Schema::new()
            .text("query", "")
            .flag("include_outputs", true, "")
            .flag("case_sensitive", false, "")
            .integer_or("limit", 50, "")
            .notebook()
            .build(),
        effect: Effect::Reads,
    }
}

pub(super) async fn call(mut arguments: Arguments, context: &Context<'_>) -> Outcome {
    arguments.rename("pattern", "query");
    let query = arguments.optional_text("query")?;
    let in_outputs = arguments.flag("include_outputs", true)?;
    let is_case_sensitive = arguments.flag("case_sensitive", false)?;
    let limit = arguments.count("limit", 50)?;
    if limit == 0 {
        return Err(refused("limit must be at least 1.".to_owned()));
    }
    let opened = context.notebook(&arguments).await?;
    let notebook = opened.document().snapshot().await?;
    let Some(text) = query else {
        let headings = outline(&notebook);
        if headings.is_empty() {
            return Ok(format!("{} has no headings.", opened.path()).into());
        }
        let rows = headings.into_iter().map(|heading| {
            let title = format!("{} {}", "#".repeat(heading.level), heading.title);
            [heading.cell_index.to_string(), heading.cell_id, title]
        });
        return Ok(table(["Index", "ID", "Heading"], rows).into());
    };
    let query =
        Query { text: text.clone(), ignore_case: !is_case_sensitive, in_sources: true, in_outputs, limit };
    let hits = search(&notebook, &query);
    if hits.is_empty() {
        return Ok(format!("{text:?} does not occur in {}.", opened.path()).into());
    }
    let rows = hits.into_iter().map(|hit| {
        let count = hit.execution_count.map_or_else(|| "N/A".to_owned(), |count| count.to_string());
        [hit.index.to_string(), hit.id, count, place(hit.location), hit.line.to_string(), hit.text]
    });
    Ok(table(["Index", "ID", "Count", "Place", "Line", "Text"], rows).into())
}

fn place(place: HitLocation) -> String {
    match place {
        HitLocation::Source => "source".to_owned(),
        HitLocation::Output(index) => format!("output {index}"),
    }
}
