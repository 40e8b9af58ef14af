//! `bash_kernel`: shows nothing of silent code, and completes the names of variables without running any. Their values could only
//! be printed.

use std::time::Duration;

use jupyter_protocol::{CompleteRequest, JupyterMessage};

use super::list::Row;
use crate::Client;
use crate::memory::MemoryError;
use crate::messages::{Channel, Message};

/// What `compgen` is given, through the completion of a cell.
const PREFIX: &str = "$";

pub(super) async fn rows(client: &Client, waited: Duration) -> Result<Vec<Row>, MemoryError> {
    let request = CompleteRequest { code: PREFIX.to_owned(), cursor_pos: PREFIX.len() };
    let request = JupyterMessage::new(request, None);
    let reply = client.ask("complete_request", Channel::Shell, request, waited).await;
    reply.map(|reply| read(&reply)).map_err(MemoryError::between_runs)
}

fn read(reply: &Message) -> Vec<Row> {
    let matches = reply.content.member("matches").and_then(|it| it.decode::<Vec<String>>().ok());
    rows_of(&matches.unwrap_or_default())
}

fn rows_of(matches: &[String]) -> Vec<Row> {
    let names = matches.iter().filter_map(|name| name.strip_prefix(PREFIX)).filter(|name| !name.is_empty());
    let row = |name: &str| {
        // The shell's own variables and those of its environment are written like this.
        let is_environment = !name.chars().any(|it| it.is_ascii_lowercase());
        let kind = if is_environment { "environment" } else { "data" };
        Row { name: name.to_owned(), kind: kind.to_owned(), ..Row::default() }
    };
    names.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completed_names_are_variables() {
        let matches = ["$PATH", "$language", "$", "./file"].map(str::to_owned);
        let rows = rows_of(&matches);
        let shown: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.kind.as_str())).collect();
        assert_eq!(shown, [("PATH", "environment"), ("language", "data")]);
    }
}
