//! Reads a cell of nbformat 4: its members at once, their content when it is asked for.

use std::sync::{Arc, OnceLock};

use crate::cell::{CellData, Outputs, Source};
use crate::{Cell, CellId, CellType, Json, ParseError, ids, required};

/// The members of a cell that nbformat defines.
#[derive(Default)]
struct Parts {
    cell_type: Option<Json>,
    id: Option<Json>,
    source: Option<Json>,
    metadata: Option<Json>,
    outputs: Option<Json>,
    execution_count: Option<Json>,
}

impl Cell {
    /// Reads a cell object of nbformat 4.5 that is not from a file. It is written as Jupyter prints cells.
    pub fn from_json(text: Json) -> Result<Self, ParseError> {
        if !text.is_object() {
            return Err(ParseError::unexpected("a cell", &text, "an object"));
        }
        let mut cell = [CellData { slot: None, is_modified: true, ..read_cell(text, 0, true) }];
        ids::assign_missing(&mut cell, true);
        let [cell] = cell;
        Ok(Self(Arc::new(cell)))
    }
}

/// Reads the cell in `slot` of a file. Its id is empty if the file has no valid one.
pub(super) fn read_cell(text: Json, slot: usize, has_ids: bool) -> CellData {
    let mut parts = Parts::default();
    for (name, value) in text.members() {
        match &*name {
            "cell_type" => parts.cell_type = Some(value),
            "id" => parts.id = Some(value),
            "source" => parts.source = Some(value),
            "metadata" => parts.metadata = Some(value),
            "outputs" => parts.outputs = Some(value),
            "execution_count" => parts.execution_count = Some(value),
            _ => {}
        }
    }
    let cell_type = parts
        .cell_type
        .as_ref()
        .and_then(Json::text)
        .map_or(CellType::Other(String::new()), |name| CellType::from_name(&name));
    let id = parts.id.as_ref().and_then(Json::text).filter(|id| CellId::is_valid(id)).unwrap_or_default();
    let needs_repair = (has_ids && id.is_empty()) || parts.need_repair(&cell_type);
    CellData {
        has_own_id: !id.is_empty(),
        id: CellId::from(&*id),
        execution_count: parts.execution_count.as_ref().and_then(Json::count),
        source: Source::Read(parts.source.unwrap_or(Json::from_static("[]"))),
        metadata: parts.metadata.filter(Json::is_object).unwrap_or(Json::empty_object()),
        outputs: Outputs::Read(parts.outputs.unwrap_or(Json::from_static("[]"))),
        cell_type,
        text,
        slot: Some(slot),
        is_modified: false,
        needs_repair,
        revision: OnceLock::new(),
        outputs_digest: OnceLock::new(),
    }
}

impl Parts {
    /// Whether something is missing or invalid that writing the notebook repairs.
    fn need_repair(&self, cell_type: &CellType) -> bool {
        let is_incomplete = required::of_cell(cell_type).iter().any(|(name, default)| {
            let member = match *name {
                "metadata" => &self.metadata,
                "source" => &self.source,
                "outputs" => &self.outputs,
                _ => &self.execution_count,
            };
            required::is_missing(member.as_ref(), default)
        });
        let is_code = *cell_type == CellType::Code;
        let has_invalid_count =
            self.execution_count.as_ref().is_some_and(|count| !required::is_valid_count(count));
        let mut outputs = self.outputs.iter().flat_map(Json::elements);
        is_incomplete
            || (is_code
                && (has_invalid_count || outputs.any(|output| required::output_needs_repair(&output))))
    }
}
