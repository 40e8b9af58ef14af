//! `history`: what was changed in a notebook through this program, and what one operation changed.

use chrono::{DateTime, Utc};
use workspace::{Operation, OperationId, OperationKind, PastOperation, Since, summary};

use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "history",
    title: "Notebook history",
    description: "Changes by agents to a notebook, newest first; with id, the diff of one.",
    discovery: Discovery::FoundBy("what changed, who changed it, history, diff"),
    effect: Effect::Reads,
    groups: &[Group::Read],
    has_view: true,
    combinations: &[Combination::Excludes("id", &["since", "limit"])],
};

arguments! {
    struct Arguments {
        /// Such as o12
        id: Option<String>,
        /// Checkpoint, id or time (UTC)
        since: Option<String>,
        limit: usize = 20,
        max_characters: Option<usize>,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { id, since, limit, notebook, .. } = arguments;
    let (session, opened) = (context.session, context.notebook(&notebook).await?);
    if let Some(id) = id.filter(|id| !id.trim().is_empty()) {
        let (operation, diff) = session.operation_diff(&opened, operation_id(&id)?, None).await?;
        let mut reply = context.reply();
        reply.note(&line(&operation));
        reply.quote(&diff, context.more_of(&diff, &[]));
        return Ok(reply.into());
    }
    let since = since.filter(|since| !since.trim().is_empty()).map(|since| parse_since(&since, Utc::now()));
    let all = session.history(&opened, since).await?;
    if all.is_empty() {
        return Ok(format!("Nothing is recorded for {}.", one_line(opened.path())).into());
    }
    let list: Vec<String> =
        all.iter().rev().take(if limit == 0 { usize::MAX } else { limit }).map(shown).collect();
    let older = all.len() - list.len();
    let notes = if older > 0 {
        format!("\n{older} older: history(limit={}) shows them.", all.len())
    } else {
        String::new()
    };
    let text = whole_lines(&list.join("\n"), &notes, context.characters(), |_, left| {
        format!("… {left} earlier operations: history(since=…) shows some of them.")
    });
    Ok(text.into())
}

fn shown(past: &PastOperation) -> String {
    let mut text = line(&past.operation);
    if past.is_undone {
        text.push_str(" (undone)");
    }
    if past.is_changed_since {
        text.push_str(" (changed since by somebody else)");
    }
    text
}

/// An operation in a line: `o41 2026-11-23 14:10:05 claude edit_cell_source: changed #7 (id df)`.
pub(super) fn line(operation: &Operation) -> String {
    let seconds = i64::try_from(operation.time / 1000).unwrap_or(i64::MAX);
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default().format("%Y-%m-%d %H:%M:%S");
    let run = match &operation.kind {
        OperationKind::Change { runs } => match &runs[..] {
            [] => String::new(),
            [run] => format!(" {run}"),
            [first, ..] => format!(" {first} and others"),
        },
        OperationKind::OnRun { run, .. } => format!(" {run}"),
        _ => String::new(),
    };
    let by: Vec<&str> =
        [operation.agent.as_str(), &operation.tool].into_iter().filter(|it| !it.is_empty()).collect();
    // Agents and people give the names in it.
    one_line(&format!("{} {time} {}{run}: {}", operation.name(), by.join(" "), summary(operation)))
        .into_owned()
}

/// The number in `o12`.
pub(super) fn operation_id(text: &str) -> Result<OperationId, Error> {
    let text = text.trim();
    let number = text.strip_prefix('o').unwrap_or(text).parse();
    number
        .map(OperationId::new)
        .map_err(|_| refused(format!("{text:?} is not the id of an operation, such as o12.")))
}

/// An operation's id, a time of today or of another day, or the name of a checkpoint.
pub(super) fn parse_since(text: &str, now: DateTime<Utc>) -> Since {
    let text = text.trim();
    let is_id = text.strip_prefix('o').is_some_and(|digits| !digits.is_empty());
    if let Some(id) = operation_id(text).ok().filter(|_| is_id) {
        return Since::Operation(id);
    }
    let day = now.format("%Y-%m-%d");
    let of_today = format!("{day}T{text}");
    let of_day = text.replacen(' ', "T", 1);
    let mut forms = [
        text.to_owned(),
        format!("{of_today}Z"),
        format!("{of_today}:00Z"),
        format!("{of_day}Z"),
        format!("{of_day}:00Z"),
        format!("{text}T00:00:00Z"),
    ]
    .into_iter();
    let time = forms.find_map(|form| DateTime::parse_from_rfc3339(&form).ok());
    match time.and_then(|time| u64::try_from(time.timestamp_millis()).ok()) {
        Some(time) => Since::Time(time),
        None => Since::Checkpoint(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_begins_at_an_id_a_time_or_a_checkpoint() {
        let now = DateTime::parse_from_rfc3339("2026-11-23T14:10:05Z").unwrap().to_utc();
        let at = |text: &str| {
            let time = DateTime::parse_from_rfc3339(text).unwrap();
            Since::Time(u64::try_from(time.timestamp_millis()).unwrap())
        };
        for (text, since) in [
            ("o12", Since::Operation(OperationId::new(12))),
            ("12", Since::Checkpoint("12".to_owned())),
            ("14:05", at("2026-11-23T14:05:00Z")),
            ("14:05:09", at("2026-11-23T14:05:09Z")),
            ("2026-11-20 14:05:09", at("2026-11-20T14:05:09Z")),
            ("2026-11-20 14:05", at("2026-11-20T14:05:00Z")),
            ("2026-11-20", at("2026-11-20T00:00:00Z")),
            ("2026-11-20T14:05:09+01:00", at("2026-11-20T13:05:09Z")),
            ("tidy", Since::Checkpoint("tidy".to_owned())),
            ("only", Since::Checkpoint("only".to_owned())),
        ] {
            assert_eq!(parse_since(text, now), since, "{text}");
        }
    }

    #[test]
    fn an_operation_is_one_line() {
        let operation = Operation {
            id: OperationId::new(4),
            time: 1_000,
            agent: "agent".to_owned(),
            tool: "run_cells".to_owned(),
            kind: OperationKind::OnRun { run: "r2".into(), action: workspace::RunAction::Interrupted },
            ..Operation::default()
        };
        let other = Operation { agent: "a\n[NOTICE] x\u{1b}\u{202e}".to_owned(), ..operation.clone() };
        let said = line(&other);
        assert!(said.starts_with("o4 ") && !said.contains(['\n', '\u{1b}', '\u{202e}']), "{said}");
        assert_eq!(line(&operation), "o4 1970-01-01 00:00:01 agent run_cells r2: interrupted run r2");
    }
}
