//! `list_files`: the files and folders of the place.

use std::cell::Cell;

use globset::GlobBuilder;
use place::{FileEntry, FileKind};
use workspace::Located;

use calls::prelude::*;
use calls::replies::time;

const MAX_DEPTH: usize = 3;

/// Reserved for the lines around the table, in characters.
const RESERVED: usize = 250;

pub(crate) static TOOL: Tool = tool! {
    name: "list_files",
    title: "List files",
    description: "List the files and folders here, as a table.",
    discovery: Discovery::FoundBy("browse folder directory workspace data files"),
    effect: Effect::Reads,
    groups: &[Group::Files],
};

arguments! {
    struct Arguments {
        /// Folder; default: the root
        path: String = "",
        /// 0 to 3
        max_depth: usize = 1,
        start_index: usize = 0,
        /// 0: all
        limit: usize = 25,
        /// Glob, e.g. **/*.ipynb
        pattern: String = "",
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { path, max_depth, start_index, limit, pattern } = arguments;
    let Located { place, path } = context.session.locate(&path.into()).await?;
    if max_depth > MAX_DEPTH {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("max_depth is {max_depth}, and at most {MAX_DEPTH} is possible."),
            format!("Call list_files(path=\"FOLDER\", max_depth={MAX_DEPTH}) for a folder below."),
        ));
    }
    let mut entries = place.list_files(&path, max_depth).await?;
    let limit_reached = entries.pop_if(|entry| matches!(entry.kind, FileKind::Truncated(_)));
    let truncation = limit_reached.map(|it| truncation(&it, max_depth, &pattern)).unwrap_or_default();
    if !pattern.is_empty() {
        retain_matches(&mut entries, &pattern)?;
    }
    let count = entries.len();
    if count == 0 {
        return Ok(format!("No files found.{truncation}").into());
    }
    let (warning, start) = if start_index < count {
        ("", start_index)
    } else {
        ("[WARNING] start_index is beyond the end and was set to 0.\n", 0)
    };
    let end = if limit == 0 { count } else { start.saturating_add(limit).min(count) };
    for entry in &mut entries[start..end] {
        entry.path = context.session.shown(&place, &entry.path.as_str().into()).to_string();
    }
    let table = table(["Path", "Type", "Size", "Last_Modified"], entries[start..end].iter().map(row));
    let shown = Cell::new(end);
    let table = whole_lines(&table, "", context.characters().saturating_sub(RESERVED), |lines, _| {
        // The first line is the header.
        shown.set(start + lines.saturating_sub(1));
        String::new()
    });
    let end = shown.get();
    let more =
        if end < count { format!("\n\nlist_files(start_index={end}) shows more.") } else { String::new() };
    let table = table.trim_end_matches('\n');
    Ok(format!("{warning}Showing {start}-{end} of {count} files\n\n{table}{more}{truncation}").into())
}

/// The part that was not seen, and the call that shows it.
fn truncation(row: &FileEntry, max_depth: usize, pattern: &str) -> String {
    let FileKind::Truncated(limit) = row.kind else { return String::new() };
    let matched = if pattern.is_empty() { "listed" } else { "compared with the pattern" };
    let next = if max_depth > 0 {
        "list_files(path=\"FOLDER\", max_depth=0) lists one folder.".to_owned()
    } else {
        let folder = if row.path.is_empty() { String::new() } else { format!("{}/", row.path) };
        let glob = format!("{folder}{}", if pattern.is_empty() { "*" } else { pattern });
        format!("execute_code(code='import glob; glob.glob({glob:?})') lists all.")
    };
    format!("\n\n[WARNING] There are more than {limit} entries, and only {limit} were {matched}. {next}")
}

/// Keeps the entries whose path matches; a pattern without a slash is matched with the name alone, too.
fn retain_matches(entries: &mut Vec<FileEntry>, pattern: &str) -> Result<(), Error> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(|error| {
        Error::new(
            ErrorKind::InvalidArgument,
            format!("The pattern cannot be read: {error}."),
            "Give a glob such as *.ipynb or **/*.csv.",
        )
        .with_source(error)
    })?;
    let matcher = glob.compile_matcher();
    entries.retain(|entry| {
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        matcher.is_match(&entry.path) || (!pattern.contains('/') && matcher.is_match(name))
    });
    Ok(())
}

fn row(entry: &FileEntry) -> [String; 4] {
    let kind = match &entry.kind {
        FileKind::File => "file".to_owned(),
        FileKind::Notebook => "notebook".to_owned(),
        FileKind::Directory => "directory".to_owned(),
        FileKind::Unreadable(reason) => format!("error: {reason}"),
        FileKind::Truncated(limit) => format!("more than {limit} entries"),
    };
    let modified = entry.modified.map(time).unwrap_or_default();
    [
        entry.path.clone(),
        kind,
        entry.size.map(|size| render::size(usize::try_from(size).unwrap_or(usize::MAX))).unwrap_or_default(),
        modified,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_listing_names_the_call_that_lists_the_rest() {
        let row = FileEntry {
            path: "data".to_owned(),
            kind: FileKind::Truncated(20_000),
            size: None,
            modified: None,
        };
        let text = truncation(&row, 0, "*.csv");
        assert!(
            text.contains("more than 20000 entries, and only 20000 were compared with the pattern"),
            "{text}"
        );
        assert!(
            text.ends_with(r#"execute_code(code='import glob; glob.glob("data/*.csv")') lists all."#),
            "{text}"
        );
        assert!(
            truncation(&row, 1, "").ends_with(
                "only 20000 were listed. list_files(path=\"FOLDER\", max_depth=0) lists one folder."
            )
        );
    }
}
