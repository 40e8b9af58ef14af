//! Which cells to read: around one, or of one kind.

use calls::prelude::*;
use notebook::{Cell, CellRef, Notebook, Output};
use place::NotebookPath;
use serde_json::json;
use workspace::{CellStates, Session};

arguments! {
    pub(super) struct Selection {
        /// errors, code, markdown, stale, problems or tag:NAME
        only: OnlyKind,
        /// Only near this cell: index, id or In[n]
        around: Around,
        before: usize = 3,
        after: usize = 3,
    }
}

/// What cells have in common.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    Errors,
    Code,
    Markdown,
    Stale,
    /// Those of which a problem is known before they run.
    Problems,
    Tag(String),
}

/// Such cells alone, if any are named; and the words for them.
pub(super) struct OnlyKind(Option<(Kind, String)>);

impl OnlyKind {
    fn kind(&self) -> Option<&Kind> {
        self.0.as_ref().map(|(kind, _)| kind)
    }
}

impl Argument for OnlyKind {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        schema.add(name, json!({ "type": "string" }), description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        let text = given.optional_text(name)?;
        text.map(|text| Ok((Kind::parse(&text)?, text))).transpose().map(Self)
    }
}

/// The cell that a selection surrounds. Without it, the numbers of cells beside it mean nothing.
pub(super) struct Around(Option<String>);

impl Argument for Around {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        <Option<String> as Argument>::describe(schema, name, description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        let cell = given.optional_text(name)?;
        match ["before", "after"].into_iter().find(|side| given.has(side)).filter(|_| cell.is_none()) {
            Some(side) => Err(refused(format!("{side} needs around."))),
            None => Ok(Self(cell)),
        }
    }
}

impl Kind {
    fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let lower = text.to_ascii_lowercase();
        let tag = lower.starts_with("tag:").then(|| text["tag:".len()..].trim());
        Ok(match &*lower {
            "errors" => Self::Errors,
            "code" => Self::Code,
            "markdown" => Self::Markdown,
            "stale" => Self::Stale,
            "problems" => Self::Problems,
            _ => match tag {
                Some(tag) if !tag.is_empty() => Self::Tag(tag.to_owned()),
                _ => {
                    return Err(refused(format!(
                        "only must be errors, code, markdown, stale, problems or tag:NAME, not {text:?}."
                    )));
                }
            },
        })
    }

    fn has(&self, cell: &Cell, is_stale: bool) -> bool {
        match self {
            Self::Stale => is_stale,
            Self::Errors => cell.outputs().iter().any(|output| matches!(output, Output::Error { .. })),
            Self::Code | Self::Problems => cell.is_code(),
            Self::Markdown => *cell.cell_type() == notebook::CellType::Markdown,
            Self::Tag(tag) => cell.tags().contains(tag),
        }
    }
}

impl Selection {
    pub(super) fn is_all(&self) -> bool {
        self.only.0.is_none() && self.around.0.is_none()
    }

    pub(super) fn is_of_stale(&self) -> bool {
        self.only.kind() == Some(&Kind::Stale)
    }

    pub(super) fn is_of_errors(&self) -> bool {
        self.only.kind() == Some(&Kind::Errors)
    }

    pub(super) fn is_of_problems(&self) -> bool {
        self.only.kind() == Some(&Kind::Problems)
    }

    /// The indices of the cells, in order.
    pub(super) fn cells(
        &self,
        session: &Session,
        path: &NotebookPath,
        notebook: &Notebook,
        states: &CellStates,
    ) -> Result<Vec<usize>, Error> {
        let find = |reference: &CellRef| session.find(path, notebook, reference);
        self.cells_in(notebook, &find, &|index| states.is_stale(index))
    }

    fn cells_in(
        &self,
        notebook: &Notebook,
        find: &dyn Fn(&CellRef) -> Result<usize, Error>,
        is_stale: &dyn Fn(usize) -> bool,
    ) -> Result<Vec<usize>, Error> {
        let count = notebook.cells().len();
        let range = match &self.around.0 {
            None => 0..count,
            Some(cell) => {
                let index = find(&index_or_id(notebook, cell))?;
                index.saturating_sub(self.before)
                    ..index.saturating_add(self.after).saturating_add(1).min(count)
            }
        };
        let fits = |index: &usize| {
            self.only.kind().is_none_or(|kind| kind.has(&notebook.cells()[*index], is_stale(*index)))
        };
        Ok(range.filter(fits).collect())
    }

    /// The same selection in the words of a call, after other arguments.
    pub(super) fn as_arguments(&self) -> String {
        let only = self.only.0.as_ref().map(|(_, words)| format!(", only={words:?}")).unwrap_or_default();
        let around = self.around.0.as_ref().map(|cell| {
            let (before, after) = (self.before, self.after);
            format!(", around={cell:?}, before={before}, after={after}")
        });
        only + &around.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use notebook::{CellType, Edit, Json, NewCell};
    use serde_json::{Value, json};

    use super::*;
    use crate::tests::given;

    /// Code and text in turn; cell 2 has failed and cell 3 has a tag.
    fn notebook() -> Notebook {
        let mut notebook = Notebook::new();
        for index in 0..6 {
            let kind = if index % 2 == 0 { CellType::Code } else { CellType::Markdown };
            let mut cell = NewCell { id: format!("c{index}").into(), ..NewCell::new(kind, "") };
            cell.metadata = (index == 3).then(|| Json::from_value(&json!({ "tags": ["a", "b c"] })));
            notebook.apply(&Edit::Insert { index, cell }).unwrap();
        }
        let error = Output::Error { name: "E".into(), value: String::new(), traceback: Vec::new() };
        let outputs = Edit::SetOutputs { id: "c2".into(), outputs: [error].into(), execution_count: None };
        notebook.apply(&outputs).unwrap();
        notebook
    }

    fn selection(values: &Value) -> Result<Selection, Error> {
        given(values).read()
    }

    #[test]
    fn cells_are_selected_by_kind_and_place() {
        let notebook = notebook();
        let find = |reference: &CellRef| Ok(notebook.resolve(reference)?);
        for (values, expected) in [
            (json!({}), vec![0, 1, 2, 3, 4, 5]),
            (json!({ "only": "errors" }), vec![2]),
            (json!({ "only": "code" }), vec![0, 2, 4]),
            (json!({ "only": "Errors" }), vec![2]),
            (json!({ "only": "TAG:b c" }), vec![3]),
            (json!({ "only": "markdown" }), vec![1, 3, 5]),
            (json!({ "only": "tag:b c" }), vec![3]),
            (json!({ "only": "tag:c" }), vec![]),
            (json!({ "only": "stale" }), vec![0, 4]),
            (json!({ "only": "stale", "around": 4, "after": 0 }), vec![4]),
            (json!({ "around": "1" }), vec![0, 1, 2, 3, 4]),
            (json!({ "around": 4, "before": 1, "after": 9 }), vec![3, 4, 5]),
            (json!({ "around": "c4", "before": 2, "after": 0, "only": "code" }), vec![2, 4]),
        ] {
            let found =
                selection(&values).unwrap().cells_in(&notebook, &find, &|index| index % 4 == 0).unwrap();
            assert_eq!(found, expected, "{values}");
        }
        assert!(
            selection(&json!({ "around": "x" })).unwrap().cells_in(&notebook, &find, &|_| false).is_err()
        );
    }

    #[test]
    fn the_next_call_selects_the_same() {
        let given = json!({ "only": "tag:a", "around": "c3", "before": 1, "after": 2 });
        let words = selection(&given).unwrap().as_arguments();
        assert_eq!(words, r#", only="tag:a", around="c3", before=1, after=2"#);
        assert_eq!(selection(&json!({})).unwrap().as_arguments(), "");
    }

    #[test]
    fn other_kinds_are_refused() {
        for only in ["tag:", "text", "Stales"] {
            let error = selection(&json!({ "only": only })).err().unwrap();
            assert!(error.cause.contains("problems or tag:NAME"), "{error}");
        }
        let error = selection(&json!({ "after": 2, "only": "code" })).err().unwrap();
        assert_eq!(error.cause, "after needs around.");
    }
}
