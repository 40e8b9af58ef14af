//! `edit_cell_source`: replaces text within a cell.

use render::quoted;

use super::overwrite_cell_source::{Replacing, replace};
use calls::prelude::*;

/// How much of the source a refusal shows, in characters.
const MAX_SOURCE: usize = 4000;

pub(crate) static TOOL: Tool = tool! {
    name: "edit_cell_source",
    title: "Edit a cell",
    description: "Edit a notebook cell, fix its code: replaces the text old_string, which must occur once unless replace_all; returns a diff, or the run's outputs. Kernel and outputs stay.",
    discovery: Discovery::AlwaysLoaded,
    effect: Effect::Runs,
    groups: &[Group::Edit],
    permission: Permission::Write,
    combinations: &[Combination::Needs(&["timeout"], &["run"])],
    check: |arguments: &Arguments| match (&*arguments.old_string, &*arguments.new_string) {
        ("", _) => Err(refused("old_string is empty.")),
        (old, new) if old == new => Err(same_text()),
        _ => Ok(()),
    },
};

arguments! {
    struct Arguments {
        cell: NamedCell,
        old_string: String,
        new_string: String,
        replace_all: bool = false,
        /// Revision it must have
        if_revision: Option<String>,
        run: RunArguments,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments {
        cell,
        old_string: old,
        new_string: new,
        replace_all,
        if_revision,
        run,
        preview,
        notebook,
    } = arguments;
    run.permit(context).await?;
    let opened = context.notebook(&notebook).await?;
    let change = |source: &str| replaced(source, &old, &new, replace_all);
    replace(&cell, context, &opened, Replacing { if_revision, run, preview, verb: "edited" }, change).await
}

pub(super) fn same_text() -> Error {
    refused("old_string and new_string are the same.")
}

/// The source with `new` in place of `old`, which must occur once unless `all` is replaced. Where `old` occurs with other line
/// breaks only, which clients change on some systems, both texts get those of the source.
pub(super) fn replaced(source: &str, old: &str, new: &str, all: bool) -> Result<String, Error> {
    if !source.contains(old) && (old.contains('\n') || old.contains('\r')) {
        let line_break = if source.contains("\r\n") { "\r\n" } else { "\n" };
        let adapted = |text: &str| text.replace("\r\n", "\n").replace('\n', line_break);
        let (old, new) = (adapted(old), adapted(new));
        if source.contains(&old) {
            return replaced(source, &old, &new, all);
        }
    }
    match source.matches(old).count() {
        0 => Err(Error::new(
            ErrorKind::InvalidArgument,
            "old_string does not occur in this cell.",
            format!("Nothing was changed. Its source is now:\n{}", shown(source)),
        )),
        count @ 2.. if !all => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("old_string occurs {count} times in this cell."),
            "Nothing was changed. Give more of the text around it, or replace_all.",
        )),
        _ => Ok(source.replace(old, new)),
    }
}

fn shown(source: &str) -> String {
    let shown = shortened(source, MAX_SOURCE);
    let hint = if shown.len() < source.len() { "\n(read_cell shows all)" } else { "" };
    format!("{}{hint}", quoted(&shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_may_differ_from_those_of_the_source() {
        let unix = "a = 1\nb = 2\nc = 3";
        assert_eq!(replaced(unix, "a = 1\r\nb = 2\r\n", "a = 4\r\n", false).unwrap(), "a = 4\nc = 3");
        assert_eq!(replaced(unix, "a = 1\nb", "a = 1\r\nb", false).unwrap(), "a = 1\r\nb = 2\nc = 3");
        let windows = unix.replace('\n', "\r\n");
        assert_eq!(replaced(&windows, "2\nc", "2\nd", false).unwrap(), "a = 1\r\nb = 2\r\nd = 3");
        let refused = replaced(unix, "a = 1\r\nc", "x", false).unwrap_err().to_string();
        assert!(refused.contains("does not occur"), "{refused}");
    }
}
