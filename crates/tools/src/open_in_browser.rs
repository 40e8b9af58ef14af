//! `open_in_browser`: shows the person a notebook.

use place::Showing;

use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "open_in_browser",
    title: "Show in the browser",
    description: "Show the person a notebook in their browser. cell_id \"@selected\" is the cell with their cursor.",
    discovery: Discovery::FoundBy("open notebook in JupyterLab, the cell where my cursor is"),
    effect: Effect::Adds,
    groups: &[Group::Files],
    availability: |session| session.can_show,
    arguments: NotebookArgument,
};

async fn call(notebook: NotebookArgument, context: &Context<'_>) -> Outcome {
    let opened = context.notebook(&notebook).await?;
    let Some(frontend) = opened.place().frontend() else {
        let place = opened.place().description();
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("No notebook of {place} can be opened in a browser."),
            "Ask the person to open the notebook. A server whose front end accepts commands can do it \
             (connect_to_jupyter), and so can `cellbridge` without --no-browser.",
        ));
    };
    let path = one_line(opened.path());
    Ok(match frontend.open(opened.path()).await? {
        Showing::Seen => format!("{path} is open in the person's browser."),
        Showing::Started(address) => format!(
            "The person's browser was started with {path}; no page has confirmed that it is visible. Its address: {}",
            one_line(&address)
        ),
    }
    .into())
}
