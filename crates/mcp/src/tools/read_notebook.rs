//! `read_notebook`: the cells of a notebook, a line each or in full.

use render::{Reply, merged};

use super::arguments::Arguments;
use super::cells::{banner, brief};
use super::context::{Context, Outcome};
use super::read_cell::deeper;
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "read_notebook",
        description: "Read cells: brief is a table of first lines; detailed gives sources, and outputs if asked for.",
        schema: Schema::new()
            .notebook()
            .choice("response_format", &["brief", "detailed"], Some("brief"))
            .integer_or("start_index", 0, "")
            .integer_or("limit", 20, "0: all")
            .flag("include_outputs", false, "Implies detailed")
            .budget()
            .build(),
        effect: Effect::Reads,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let opened = context.notebook(&arguments).await?;
    let with_outputs = arguments.flag("include_outputs", false)?;
    let is_detailed = arguments.choice("response_format", &[("brief", false), ("detailed", true)], false)?;
    let (start, limit) = (arguments.count("start_index", 0)?, arguments.count("limit", 20)?);
    let budget = context.budget(&arguments)?;
    let notebook = opened.document().snapshot().await?;
    let count = notebook.cells().len();
    let end = if limit == 0 { count } else { start.saturating_add(limit).min(count) };
    let start = start.min(count);
    let mut reply = Reply::new(budget);
    reply.say(&format!("Notebook {} has {count} cells.\n", opened.path()));
    let mut next = start;
    if is_detailed || with_outputs {
        while next < end {
            let cell = &notebook.cells()[next];
            let text = format!("{}\n{}\n", banner(next, cell), cell.source());
            // One cell is always shown, cut if it has to be.
            if next > start && text.chars().count() + ROOM > reply.left() {
                break;
            }
            reply.say(&text);
            context.session.saw(opened.path(), &notebook, [next]);
            if with_outputs {
                let id = cell.id();
                reply.outputs(&merged(&cell.outputs()), &|output, offset| deeper(id, output, offset));
            }
            next += 1;
        }
    } else {
        let changed = context.session.changed_by_others(opened.path(), &notebook);
        let rows = brief(context.session, &opened, &notebook, start..end);
        let (mut shown, mut fitting, mut length) = (String::new(), 0, ROOM);
        for (index, line) in rows.split('\n').enumerate() {
            length += line.chars().count() + 1;
            if length > reply.left() {
                break;
            }
            shown.push_str(line);
            shown.push('\n');
            fitting = index;
        }
        reply.say(&shown);
        next = start + fitting;
        if !changed.is_empty() {
            let changed: Vec<String> = changed.iter().map(usize::to_string).collect();
            reply.say(&format!("\nChanged since you read them: cells {}.\n", changed.join(", ")));
        }
    }
    if next < count {
        let rest = count - next;
        reply.say(&format!("\n{rest} more cells: read_notebook(start_index={next}) shows them.\n"));
    }
    Ok(reply.into())
}

/// Kept for the line that says what is left out.
const ROOM: usize = 120;
