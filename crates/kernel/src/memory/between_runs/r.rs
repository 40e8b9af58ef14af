//! `IRkernel`: it answers no expressions, and shows nothing that silent code prints; but what the code publishes is shown. An error
//! would abort what is queued behind it.

use std::time::Duration;

use notebook::{Json, Output};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::list::Row;
use crate::memory::MemoryError;
use crate::memory::silent::silent_code;
use crate::{Client, Event, Outcome};

/// No name is left, no method of a class is called, and of a value that a function computes nothing is asked. Kernels without
/// `IRdisplay`, such as ark, publish nothing.
const CODE: &str = r#"local(tryCatch({
    row <- function(name) {
        if (bindingIsActive(as.name(name), globalenv())) return(list(name = name, type = "active binding"))
        value <- get(name, envir = globalenv())
        size <- if (is.function(value) || is.environment(value)) NULL
            else if (inherits(value, "data.frame")) c(.row_names_info(value, 2L), length(unclass(value)))
            else if (!is.null(attr(value, "dim"))) attr(value, "dim")
            else length(unclass(value))
        shown <- ""
        if (!is.object(value) && is.atomic(value) && length(value) > 0L) {
            first <- as.vector(value[seq_len(min(6L, length(value)))])
            if (is.character(first)) first <- substr(first, 1L, 80L)
            shown <- substr(deparse(first, width.cutoff = 60L, nlines = 1L)[1L], 1L, 80L)
        }
        list(name = name, type = class(value)[1L], kind = if (is.function(value)) "function" else "data",
            size = paste(size, collapse = "\u00d7"), value = shown)
    }
    rows <- lapply(ls(globalenv())[seq_len(min(1000L, length(ls(globalenv()))))], function(name)
        tryCatch(row(name), error = function(error) list(name = name)))
    IRdisplay::publish_mimebundle(list("application/json" = list(rows = rows)))
}, error = function(error) invisible(NULL)))"#;

/// When to ask again: the kernel drops what comes just after a cell that failed.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

pub(super) async fn rows(client: &Client, waited: Duration) -> Result<Vec<Row>, MemoryError> {
    let shown = async {
        loop {
            let (outcome, shown) = publish(client).await;
            match outcome {
                Some(Outcome::Done { .. }) => return Ok(shown),
                Some(Outcome::Aborted) => sleep(RETRY_INTERVAL).await,
                _ => return Err(MemoryError::OnlyBetweenRuns),
            }
        }
    };
    let shown = timeout(waited, shown).await.unwrap_or(Err(MemoryError::OnlyBetweenRuns))?;
    read(&shown.ok_or(MemoryError::Unsupported)?).ok_or(MemoryError::Unsupported)
}

/// Runs the code. Returns how that ended, and what was published.
async fn publish(client: &Client) -> (Option<Outcome>, Option<Json>) {
    let (sender, mut events) = mpsc::unbounded_channel();
    client.execute_request(silent_code(CODE), None, Box::new(move |event| drop(sender.send(event))));
    let mut shown = None;
    while let Some(event) = events.recv().await {
        match event {
            Event::Output { output: Output::Display(bundle), .. } => shown = bundle.get("application/json"),
            Event::Finished(outcome) => return (Some(outcome), shown),
            _ => {}
        }
    }
    (None, shown)
}

fn read(shown: &Json) -> Option<Vec<Row>> {
    shown.member("rows")?.decode().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_published_are_rows() {
        let shown = json!({ "rows": [
            { "name": "df", "type": "data.frame", "kind": "data", "size": "3×2", "value": "" },
            { "name": "odd" },
        ] });
        let rows = read(&Json::from_value(&shown)).unwrap();
        assert_eq!((rows[0].size.as_str(), rows[1].name.as_str(), rows.len()), ("3×2", "odd", 2));
        assert_eq!(read(&Json::from_value(&json!({ "rows": [] }))), Some(Vec::new()));
        assert_eq!(read(&Json::from_value(&json!([]))), None);
    }
}
