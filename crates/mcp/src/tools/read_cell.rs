//! `read_cell`: one cell with its outputs, or one output in full.

use render::{Reply, full_text, merged, page};
use workspace::{Error, ErrorKind};

use super::arguments::Arguments;
use super::cells::banner;
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "read_cell",
        description: "Read a cell: source, metadata, outputs (text and images).",
        schema: Schema::new()
            .cell()
            .flag("include_outputs", true, "")
            .integer("output", "Page through this output")
            .integer_or("offset", 0, "Character to begin at")
            .budget()
            .notebook()
            .build(),
        effect: Effect::Reads,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let reference = arguments.cell("cell_index", "cell_id")?;
    let with_outputs = arguments.flag("include_outputs", true)?;
    let opened = context.notebook(&arguments).await?;
    let budget = context.budget(&arguments)?;
    let notebook = opened.document().snapshot().await?;
    let index = context.session.find(opened.path(), &notebook, &reference)?;
    let cell = &notebook.cells()[index];
    if arguments.has("output") {
        let outputs = cell.outputs();
        let outputs = merged(&outputs);
        let (output, offset) = (arguments.count("output", 0)?, arguments.count("offset", 0)?);
        return paged(&outputs, output, offset, budget.characters, &|offset| {
            deeper(cell.id(), output, offset)
        });
    }
    context.session.saw(opened.path(), &notebook, [index]);
    let mut reply = Reply::new(budget);
    reply.say(&format!("{}\n{}\n", banner(index, cell), cell.source()));
    let metadata = cell.metadata();
    if metadata.as_str() != "{}" {
        reply.say(&format!("[metadata] {}\n", metadata.as_str()));
    }
    if with_outputs {
        reply.outputs(&merged(&cell.outputs()), &|output, offset| deeper(cell.id(), output, offset));
    }
    Ok(reply.into())
}

/// The call that shows an output from some character on.
pub(super) fn deeper(id: &str, output: usize, offset: usize) -> String {
    format!("read_cell(cell_id=\"{id}\", output={output}, offset={offset})")
}

/// A page of one output's text; `more` words the call for the next.
pub(super) fn paged(
    outputs: &[notebook::Output],
    output: usize,
    offset: usize,
    limit: usize,
    more: &dyn Fn(usize) -> String,
) -> Outcome {
    let Some(wanted) = outputs.get(output) else {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("There is no output {output}."),
            format!("There are {} outputs, counted from 0.", outputs.len()),
        ));
    };
    let text = full_text(wanted);
    let (shown, next) = page(&text, offset, limit);
    let rest = match next {
        Some(next) => format!("\n[{} characters in all; {} shows more]", text.chars().count(), more(next)),
        None => "\n[end of this output]".to_owned(),
    };
    Ok(format!("{shown}{rest}").into())
}
