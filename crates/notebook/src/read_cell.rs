//! Reads a cell of nbformat 4: its head at once, the rest when asked for.

use std::sync::OnceLock;

use crate::cell::{CellType, Inner, Outputs, Source};
use crate::{Json, ids, repair};

/// The member names that nbformat gives to cells.
#[derive(Default)]
struct Parts {
    cell_type: Option<Json>,
    id: Option<Json>,
    source: Option<Json>,
    metadata: Option<Json>,
    outputs: Option<Json>,
    execution_count: Option<Json>,
}

/// Reads the cell that stands in `slot`. Its id is empty if the file has no usable one.
pub(crate) fn read_cell(text: Json, slot: usize, has_ids: bool) -> Inner {
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
    let id = parts.id.as_ref().and_then(Json::text).filter(|id| ids::is_valid(id)).unwrap_or_default();
    let is_faulty = (has_ids && id.is_empty()) || parts.are_faulty(&cell_type);
    Inner {
        has_own_id: !id.is_empty(),
        id: id.into(),
        execution_count: parts.execution_count.as_ref().and_then(count),
        source: Source::Read(parts.source.unwrap_or(Json::from_text("[]"))),
        metadata: parts.metadata.filter(Json::is_object).unwrap_or(Json::empty_object()),
        outputs: Outputs::Read(parts.outputs.unwrap_or(Json::from_text("[]"))),
        cell_type,
        text,
        slot: Some(slot),
        is_modified: false,
        is_faulty,
        revision: OnceLock::new(),
    }
}

impl Parts {
    /// Whether something is missing that is put in place when the notebook is written.
    fn are_faulty(&self, cell_type: &CellType) -> bool {
        let lacks = repair::of_cell(cell_type).iter().any(|(name, default)| {
            let member = match *name {
                "metadata" => &self.metadata,
                "source" => &self.source,
                "outputs" => &self.outputs,
                _ => &self.execution_count,
            };
            repair::is_lacking(member.as_ref(), default)
        });
        let is_code = *cell_type == CellType::Code;
        let has_odd_count = self.execution_count.as_ref().is_some_and(|count| !repair::is_valid_count(count));
        let mut outputs = self.outputs.iter().flat_map(Json::elements);
        lacks || (is_code && (has_odd_count || outputs.any(|output| repair::is_faulty_output(&output))))
    }
}

/// An execution count as it is meant: `3.0` is 3.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is whole and within the range of u32"
)]
pub(crate) fn count(json: &Json) -> Option<u64> {
    let text = json.as_str();
    let whole = |number: &f64| number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(number);
    text.parse().ok().or_else(|| text.parse().ok().filter(whole).map(|number| number as u64))
}
