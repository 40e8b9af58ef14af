//! Which parts of a cell front ends hide, as the cell's metadata says.

use serde_json::{Value, json};

use crate::Json;

/// The parts of a cell that are hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HiddenParts {
    pub source: bool,
    pub outputs: bool,
}

impl HiddenParts {
    /// The change of a cell's metadata that hides these parts and no others, as a JSON merge patch.
    ///
    /// Hidden outputs are recorded twice, as `JupyterLab` does (<https://github.com/jupyter/nbformat/issues/137>), and what is
    /// shown is not recorded.
    pub fn patch(self, metadata: &Json) -> Json {
        let flag = |is_hidden| if is_hidden { Value::Bool(true) } else { Value::Null };
        let (source, outputs) = (flag(self.source), flag(self.outputs));
        let patch = json!({
            "collapsed": outputs, "jupyter": { "source_hidden": source, "outputs_hidden": outputs },
        });
        let patch = Json::from_value(&patch);
        let is_empty = |jupyter: Json| jupyter.members().next().is_none();
        if metadata.merged(&patch).member("jupyter").is_some_and(is_empty) {
            return patch.with("jupyter", &Json::from_static("null"));
        }
        patch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(source: bool, outputs: bool) -> Value {
        let mut metadata = json!({ "x": 1.5 });
        if outputs {
            metadata["collapsed"] = true.into();
            metadata["jupyter"]["outputs_hidden"] = true.into();
        }
        if source {
            metadata["jupyter"]["source_hidden"] = true.into();
        }
        metadata
    }

    #[test]
    fn parts_are_hidden_as_in_jupyterlab() {
        const STATES: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];
        for (source, outputs) in STATES {
            for before in STATES.map(|(source, outputs)| hidden(source, outputs)) {
                let before = Json::from_value(&before);
                let after = before.merged(&HiddenParts { source, outputs }.patch(&before));
                assert_eq!(after.to_value(), hidden(source, outputs), "{before:?}");
            }
        }
    }

    #[test]
    fn other_members_stay() {
        let before = Json::from_value(&json!({ "jupyter": { "source_hidden": true, "x": 1 } }));
        let after = before.merged(&HiddenParts { source: false, outputs: false }.patch(&before));
        assert_eq!(after.to_value(), json!({ "jupyter": { "x": 1 } }));
    }
}
