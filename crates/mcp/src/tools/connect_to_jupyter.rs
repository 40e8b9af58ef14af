//! `connect_to_jupyter`: another server to work on.

use workspace::{ServerSpec, Token};

use super::arguments::Arguments;
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "connect_to_jupyter",
        description: "Work on another notebook server. Notebooks that are open stay open.",
        schema: Schema::new()
            .text("jupyter_url", "As pasted from a browser")
            .text("jupyter_token", "")
            .text("document_provider", "")
            .require(&["jupyter_url"])
            .build(),
        effect: Effect::Edits,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let url = arguments.text("jupyter_url")?;
    let token = arguments.optional_text("jupyter_token")?.and_then(Token::chosen);
    let provider = arguments.optional_text("document_provider")?;
    let wish = ServerSpec { url, token, provider, kernels: None };
    let place = context.session.connect(wish).await?;
    Ok(format!(
        "Successfully connected to {}. list_notebooks shows its notebooks; notebooks of other servers stay open under \
         their names.",
        place.description()
    )
    .into())
}
