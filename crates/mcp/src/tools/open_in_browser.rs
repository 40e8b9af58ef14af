//! `open_in_browser`: shows the person a notebook.

use workspace::{Error, ErrorKind};

use super::arguments::Arguments;
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "open_in_browser",
        description: "Show the person a notebook in their browser. cell_id \"@selected\" is the cell that their cursor is in.",
        schema: Schema::new().notebook().build(),
        effect: Effect::Adds,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let opened = context.notebook(&arguments).await?;
    let Some(frontend) = opened.place().frontend() else {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "Nothing can be opened from here in the browser that shows {}.",
                opened.place().description()
            ),
            "Ask the person to open the notebook; everything else works without it.",
        ));
    };
    frontend.open(opened.path()).await?;
    Ok(format!("{} is open in the person's browser.", opened.path()).into())
}
