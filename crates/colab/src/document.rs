//! The notebook in the tab as a document. The page is asked for its cells each time: it reports no changes.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt as _;
use notebook::{Cell, CellId, CellType, Edit, Json, NewCell, Notebook};
use parking_lot::Mutex;
use place::{Applied, Document, Error, ErrorKind, Expected, Fault, Future, NotebookPath, SaveStatus};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::tab::Tab;

const COLAB: &str = "the Colab tab";

pub(crate) struct TabDocument {
    tab: Arc<Tab>,
    ids: Mutex<Ids>,
    /// Held while cells are edited: an edit of several cells is several calls.
    editing: tokio::sync::Mutex<()>,
    changes: watch::Sender<u64>,
}

/// The page gives each new cell an id of its own. Agents see the one that was chosen here, as in other places.
#[derive(Default)]
struct Ids {
    ours: HashMap<String, CellId>,
    of_page: HashMap<CellId, String>,
}

impl Ids {
    fn insert(&mut self, of_page: String, ours: CellId) {
        self.of_page.insert(ours.clone(), of_page.clone());
        self.ours.insert(of_page, ours);
    }

    /// The id that agents see for a cell of the page.
    fn ours(&mut self, of_page: &str) -> CellId {
        if let Some(ours) = self.ours.get(of_page) {
            return ours.clone();
        }
        if CellId::is_valid(of_page) {
            return CellId::from(of_page);
        }
        let ours = CellId::random();
        self.insert(of_page.to_owned(), ours.clone());
        ours
    }

    fn of_page(&self, ours: &CellId) -> String {
        self.of_page.get(ours).cloned().unwrap_or_else(|| ours.to_string())
    }
}

/// A call of the page's tools.
struct PageCall {
    tool: &'static str,
    arguments: Value,
    /// The new cell, if it adds one.
    adds: Option<CellId>,
}

impl TabDocument {
    pub(crate) fn new(tab: Arc<Tab>) -> Self {
        Self {
            tab,
            ids: Mutex::default(),
            editing: tokio::sync::Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }

    /// The page's id of a cell.
    pub(crate) fn page_id(&self, cell: &CellId) -> String {
        self.ids.lock().of_page(cell)
    }

    /// Adds a code cell at the end. Returns the page's id of it.
    pub(crate) async fn add_scratch_cell(&self, source: &str) -> Result<String, Error> {
        let _editing = self.editing.lock().await;
        let end = self.read().await?.cells().len();
        self.make(&PageCall { tool: "add_code_cell", arguments: new_code_cell(end, source), adds: None })
            .await?
            .ok_or_else(no_new_id)
    }

    /// Deletes a cell, by the page's id.
    pub(crate) async fn delete_cell(&self, cell: &str) -> Result<(), Error> {
        let _editing = self.editing.lock().await;
        self.tab.ask("delete_cell", &json!({ "cellId": cell })).await.map(drop)
    }

    async fn read(&self) -> Result<Notebook, Error> {
        let answer = self.tab.ask("get_cells", &json!({ "includeOutputs": true })).await?;
        let mut cells = Vec::new();
        for cell in answer.member("cells").iter().flat_map(Json::elements) {
            cells.push(self.cell(&cell)?);
        }
        Ok(Notebook::from_cells(
            Json::from_value(&json!({ "language_info": { "name": "python" } })),
            5,
            cells,
        ))
    }

    /// A cell of the page, with the id that agents see.
    fn cell(&self, of_page: &Json) -> Result<Cell, Error> {
        let unusable = |problem: String| {
            Error::new(
                ErrorKind::RemoteFailure,
                format!("The Colab tab sent a cell that cannot be read: {problem}."),
                "If this happens again, the person should reload the tab.",
            )
        };
        if !of_page.is_object() {
            return Err(unusable("it is not an object".to_owned()));
        }
        let id = of_page.member("id").and_then(|id| id.text().map(String::from)).unwrap_or_default();
        let id = Json::from_value(&json!(self.ids.lock().ours(&id)));
        let others = of_page.members().filter(|(name, _)| name != "id");
        let members: Vec<_> = others.chain([("id".into(), id)]).collect();
        Cell::from_json(Json::object(&members)).map_err(|error| unusable(error.to_string()))
    }

    async fn edit(&self, edits: &[Edit], expected: &[Expected]) -> Result<Applied, Error> {
        let _editing = self.editing.lock().await;
        let before = self.read().await?;
        for expected in expected {
            expected.check(&before)?;
        }
        // Nothing is asked of the page unless all edits are possible.
        let (mut edited, mut calls) = (before.clone(), Vec::new());
        for edit in edits {
            if !edit.is_applied(&edited) {
                calls.extend(self.calls(edit, &edited)?);
            }
            edited.apply(edit).map_err(|error| Error::edit_refused(self.path(), error))?;
        }
        for (made, call) in calls.iter().enumerate() {
            if let Err(error) = self.make(call).await {
                return Err(if made == 0 { error } else { self.half_made(error, made, calls.len()) });
            }
        }
        Ok(Applied { notebook: self.read().await?, saved: SaveStatus::SavedBy(COLAB.to_owned()) })
    }

    /// The calls that make an edit of the notebook `before`.
    fn calls(&self, edit: &Edit, before: &Notebook) -> Result<Vec<PageCall>, Error> {
        let ids = self.ids.lock();
        let call = |tool, arguments| PageCall { tool, arguments, adds: None };
        Ok(match edit {
            Edit::Insert { cell, .. } if has_more(cell) => {
                return Err(by_the_person("add cells with metadata or attachments"));
            }
            Edit::Insert { index, cell } => {
                let index = before.index_of_new(*index, cell);
                let (tool, arguments) = match cell.cell_type {
                    CellType::Code => ("add_code_cell", new_code_cell(index, &cell.source)),
                    CellType::Markdown => {
                        ("add_text_cell", json!({ "cellIndex": index, "content": cell.source }))
                    }
                    _ => return Err(by_the_person("add cells that are neither code nor text")),
                };
                vec![PageCall { tool, arguments, adds: Some(cell.id.clone()) }]
            }
            Edit::SetSource { id, source } => {
                vec![call("update_cell", json!({ "cellId": ids.of_page(id), "content": source }))]
            }
            Edit::Move { id, index } => {
                vec![call("move_cell", json!({ "cellId": ids.of_page(id), "cellIndex": index }))]
            }
            Edit::Delete { ids: cells } => {
                cells.iter().map(|id| call("delete_cell", json!({ "cellId": ids.of_page(id) }))).collect()
            }
            Edit::SetType { .. } => return Err(by_the_person("change the type of a cell")),
            Edit::MergeMetadata { .. } => return Err(by_the_person("change the metadata of a cell")),
            Edit::SetOutputs { .. } => return Err(by_the_person("change or clear outputs")),
            // Colab keeps this itself.
            Edit::SetMetadata { .. } => Vec::new(),
        })
    }

    /// Makes a call. Returns the page's id of the cell that it added.
    async fn make(&self, call: &PageCall) -> Result<Option<String>, Error> {
        let answer = self.tab.ask(call.tool, &call.arguments).await?;
        let added = answer.member("newCellId").and_then(|id| id.text().map(String::from));
        if let Some(ours) = &call.adds {
            self.ids.lock().insert(added.clone().ok_or_else(no_new_id)?, ours.clone());
        }
        Ok(added)
    }

    fn half_made(&self, error: Error, made: usize, count: usize) -> Error {
        let cause = format!(
            "{} Only the first {made} of {count} changes in {} were applied.",
            error.cause,
            self.tab.path()
        );
        Error { cause, ..error }
    }
}

impl Document for TabDocument {
    fn path(&self) -> &NotebookPath {
        self.tab.path()
    }

    fn snapshot(&self) -> Future<'_, Notebook> {
        self.read().boxed()
    }

    fn apply(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Future<'_, Applied> {
        async move { self.edit(&edits, &expected).await }.boxed()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn stores_outputs(&self) -> bool {
        true
    }

    fn notice(&self) -> Option<String> {
        self.tab.other_notebook()
    }
}

/// Whether a new cell has more than a source.
fn has_more(cell: &NewCell) -> bool {
    let has_members = |object: &Option<Json>| object.iter().any(|object| object.members().next().is_some());
    has_members(&cell.metadata) || has_members(&cell.attachments)
}

fn new_code_cell(index: usize, source: &str) -> Value {
    json!({ "cellIndex": index, "language": "python", "code": source })
}

fn no_new_id() -> Error {
    Error::new(
        ErrorKind::RemoteFailure,
        "The Colab tab added a cell without returning its id.",
        place::NextStep::ReadNotebook,
    )
}

fn by_the_person(what: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("Colab's tools cannot {what}. Nothing was changed."),
        "The person can do that in the Colab tab.",
    )
    .with_fault(Fault::Person)
}
