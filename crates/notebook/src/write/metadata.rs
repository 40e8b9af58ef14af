//! Repairs the notebook's metadata where nbformat requires a member.

use crate::{Json, Notebook};

impl Notebook {
    /// The metadata to print, because it was changed or is not valid; `None` if the file's text can stay.
    pub(super) fn repaired_metadata(&self) -> Option<Json> {
        let mut metadata = self.metadata();
        let read = self.file.value("metadata");
        let mut is_changed = self.metadata.is_some() || !read.is_some_and(|read| read.is_object());
        for name in ["kernelspec", "language_info"] {
            let Some(value) = metadata.member(name) else { continue };
            if value.is_null() || value.members().next().is_none() && value.is_object() {
                metadata = metadata.without(name);
                is_changed = true;
                continue;
            }
            let mut repaired = value.clone();
            if value.is_object() && value.member("name").is_none_or(|name| name.text().is_none()) {
                repaired = repaired.with("name", &Json::from_static("\"\""));
            }
            if name == "kernelspec"
                && repaired.member("display_name").is_none_or(|name| name.text().is_none())
            {
                repaired = repaired
                    .member("name")
                    .map_or(repaired.clone(), |name| repaired.with("display_name", &name));
            }
            if repaired != value {
                metadata = metadata.with(name, &repaired);
                is_changed = true;
            }
        }
        is_changed.then_some(metadata)
    }
}
