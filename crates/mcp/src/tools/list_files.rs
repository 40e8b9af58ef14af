//! `list_files`: what lies in the folder.

use std::time::SystemTime;

use globset::GlobBuilder;
use workspace::{Error, ErrorKind, FileEntry, FileKind};

use super::arguments::Arguments;
use super::cells::table;
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "list_files",
        description: "List files and folders as a table.",
        schema: Schema::new()
            .text_or("path", "", "Folder; default: the root")
            .integer_or("max_depth", 1, "0 to 3")
            .integer_or("start_index", 0, "")
            .integer_or("limit", 25, "0: all")
            .text_or("pattern", "", "Glob, e.g. **/*.ipynb")
            .build(),
        effect: Effect::Reads,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    const DEEPEST: usize = 3;
    let path = arguments.optional_text("path")?.unwrap_or_default();
    let depth = arguments.count("max_depth", 1)?.min(DEEPEST);
    let (start, limit) = (arguments.count("start_index", 0)?, arguments.count("limit", 25)?);
    let pattern = arguments.optional_text("pattern")?;
    let mut entries = context.session.place().list_files(&path, depth).await?;
    if let Some(pattern) = pattern {
        let glob = GlobBuilder::new(&pattern).literal_separator(true).build().map_err(|error| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!("The pattern cannot be read: {error}."),
                "A glob such as *.ipynb or **/*.csv.",
            )
        })?;
        let matcher = glob.compile_matcher();
        entries.retain(|entry| {
            let name = entry.path.rsplit('/').next().unwrap_or_default();
            matcher.is_match(&entry.path) || (!pattern.contains('/') && matcher.is_match(name))
        });
    }
    let count = entries.len();
    if count == 0 {
        return Ok("No files found.".to_owned().into());
    }
    let mut warning = "";
    let start = if start >= count {
        warning = "[WARNING] start_index lies beyond the end and was set to 0.\n";
        0
    } else {
        start
    };
    let end = if limit == 0 { count } else { start.saturating_add(limit).min(count) };
    let rows = entries[start..end].iter().map(row);
    let table = table(["Path", "Type", "Size", "Last_Modified"], rows);
    let more =
        if end < count { format!("\n\nlist_files(start_index={end}) shows more.") } else { String::new() };
    Ok(format!("{warning}Showing {start}-{end} of {count} files\n\n{table}{more}").into())
}

fn row(entry: &FileEntry) -> [String; 4] {
    let kind = match &entry.kind {
        FileKind::File => "file".to_owned(),
        FileKind::Notebook => "notebook".to_owned(),
        FileKind::Directory => "directory".to_owned(),
        FileKind::Unreadable(reason) => format!("error: {reason}"),
    };
    let modified = entry.modified.map(time).unwrap_or_default();
    [entry.path.clone(), kind, entry.size.map(size).unwrap_or_default(), modified]
}

#[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..1_048_576 => format!("{:.1}KB", bytes as f64 / 1024.0),
        _ => format!("{:.1}MB", bytes as f64 / 1_048_576.0),
    }
}

/// Universal time, to the second.
pub(super) fn time(time: SystemTime) -> String {
    chrono::DateTime::<chrono::Utc>::from(time).format("%Y-%m-%d %H:%M:%S").to_string()
}
