//! `edit_cell_source`: replaces text within a cell.

use workspace::{Error, ErrorKind};

use super::arguments::{Arguments, refused};
use super::context::{Context, Outcome};
use super::overwrite_cell_source::replace;
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "edit_cell_source",
        description: "Replace old_string, which must occur exactly once unless replace_all, within a cell; answers a diff.",
        schema: Schema::new()
            .cell()
            .text("old_string", "")
            .text("new_string", "")
            .flag("replace_all", false, "")
            .text("if_revision", "Revision it must have")
            .notebook()
            .require(&["old_string", "new_string"])
            .build(),
        effect: Effect::Edits,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let (old, new) = (arguments.text("old_string")?, arguments.text("new_string")?);
    let replace_all = arguments.flag("replace_all", false)?;
    if old.is_empty() {
        return Err(refused("old_string is empty.".to_owned()));
    }
    if old == new {
        return Err(refused("old_string and new_string are the same.".to_owned()));
    }
    let opened = context.notebook(&arguments).await?;
    let claimed = arguments.optional_text("if_revision")?;
    replace(&arguments, context, &opened, claimed, "edited", |source| match source.matches(&old).count() {
        0 => Err(Error::new(
            ErrorKind::InvalidArgument,
            "old_string does not occur in this cell.",
            format!("Nothing was changed. Its source is now:\n{}", excerpt(source)),
        )),
        2.. if !replace_all => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("old_string occurs {} times in this cell.", source.matches(&old).count()),
            "Nothing was changed. Give more of the text around it, or replace_all.",
        )),
        _ => Ok(source.replace(&old, &new)),
    })
    .await
}

fn excerpt(source: &str) -> String {
    const LONGEST: usize = 4000;
    let mut shown: String = source.chars().take(LONGEST).collect();
    if shown.len() < source.len() {
        shown.push_str("\n… (read_cell shows all)");
    }
    shown
}
