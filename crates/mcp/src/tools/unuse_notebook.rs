//! `unuse_notebook`: lets go of a notebook.

use super::arguments::Arguments;
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "unuse_notebook",
        description: "Close a notebook; ends only a kernel that this session started.",
        schema: Schema::new().notebook().build(),
        effect: Effect::Destroys,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let name = arguments.notebook()?;
    let (opened, kernel) = context.session.unuse_notebook(name.as_deref(), context.is_stateless).await?;
    let kernel = match kernel {
        Some(kernel) => format!(" Its kernel {} was shut down.", kernel.id()),
        None => " No kernel was shut down.".to_owned(),
    };
    let current = match context.session.current() {
        Some(current) => format!(" Current is {current}."),
        None => " No notebook is current now.".to_owned(),
    };
    Ok(format!("Notebook {} is closed.{kernel}{current}", opened.path()).into())
}
