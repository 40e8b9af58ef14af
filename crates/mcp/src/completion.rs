//! Completion of what people fill in for prompts and addresses of resources: names of notebooks, ids of cells, runs and kernels.

use std::collections::HashSet;
use std::time::Duration;

use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo};
use tokio::time::timeout;
use workspace::Session;

/// How long a place may take to list its notebooks or kernels.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);
/// How many notebooks are looked for.
const MAX_NOTEBOOKS: usize = 1000;

/// The values that begin with what the person has typed so far, else those that contain it.
pub(crate) async fn complete(session: &Session, request: &CompleteRequestParams) -> CompleteResult {
    let given = |name: &str| request.context.as_ref()?.arguments.as_ref()?.get(name).cloned();
    let notebook = given("name").or_else(|| given("notebook_name"));
    let values = match request.argument.name.as_str() {
        "name" | "notebook_name" => notebooks(session).await,
        "cell_id" | "cell_indices" => cells(session, notebook.as_deref()).await,
        "run_id" => session.workspace().journal().runs().iter().map(|run| run.id().to_string()).collect(),
        "kernel_id" => kernels(session).await,
        _ => Vec::new(),
    };
    let mut values = matching(&values, &request.argument.value);
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let has_more = total > values.len();
    let info = CompletionInfo::with_pagination(values, u32::try_from(total).ok(), has_more);
    CompleteResult::new(info.unwrap_or_default())
}

/// Each once, in their order.
fn matching(values: &[String], typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    let mut seen = HashSet::new();
    let rank = |value: &&String| value.to_lowercase().find(&typed);
    let like = values.iter().filter(|value| seen.insert(*value));
    let like: Vec<(usize, &String)> = like.filter_map(|value| Some((rank(&value)?, value))).collect();
    let begins = like.iter().any(|(at, _)| *at == 0);
    like.into_iter().filter(|(at, _)| *at == 0 || !begins).map(|(_, value)| value.clone()).collect()
}

/// Opened ones first, by name and by path.
async fn notebooks(session: &Session) -> Vec<String> {
    let opened = session.names();
    let names = opened.iter().map(|(name, _)| name.clone());
    let paths = opened.iter().map(|(_, path)| path.to_string());
    let found = timeout(LIST_TIMEOUT, session.place().notebooks(MAX_NOTEBOOKS)).await;
    let found = found.ok().and_then(Result::ok).map(|found| found.paths).unwrap_or_default();
    names.chain(paths).chain(found.iter().map(ToString::to_string)).collect()
}

/// Those of the notebook, or of the current one.
async fn cells(session: &Session, notebook: Option<&str>) -> Vec<String> {
    let Ok(opened) = session.notebook(notebook).await else { return Vec::new() };
    let Ok(notebook) = opened.document().snapshot().await else { return Vec::new() };
    notebook.cells().iter().map(|cell| cell.id().to_string()).collect()
}

async fn kernels(session: &Session) -> Vec<String> {
    let found = timeout(LIST_TIMEOUT, session.place().kernels()).await;
    let kernels = found.ok().and_then(Result::ok).unwrap_or_default();
    kernels.iter().map(|kernel| kernel.id().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_begin_with_what_is_typed_or_else_contain_it() {
        let values =
            || ["plots.ipynb", "a/Plots.ipynb", "plots.ipynb", "data.ipynb"].map(str::to_owned).to_vec();
        assert_eq!(matching(&values(), "PL"), ["plots.ipynb"]);
        assert_eq!(matching(&values(), "/p"), ["a/Plots.ipynb"]);
        assert_eq!(matching(&values(), "").len(), 3);
        assert_eq!(matching(&values(), "x"), [""; 0]);
    }
}
