//! Suggests existing paths for one that was not found.

use std::path::Path;

use place::{Error, Near};

use crate::listing::{Wanted, find};
use crate::root::Root;

/// The maximum number of files of the whole folder that are looked at.
const MAX_SEARCHED: usize = 1000;

/// Suggestions for a path that leads to nothing.
pub(crate) struct Nearest {
    /// The only path that is the same text, in another Unicode form.
    pub(crate) same: Option<String>,
    /// Names what is nearest, with a space before it; empty if nothing is near.
    sentence: String,
}

impl Nearest {
    /// Looks beside the path, then anywhere below the root. Reads the disk.
    pub(crate) fn find(root: &Root, asked: &str, wanted: Wanted) -> Self {
        let asked = asked.strip_prefix(root.prefix()).unwrap_or(asked);
        let inside = Path::new(asked).strip_prefix(root.real()).ok().and_then(Path::to_str);
        let asked = inside.unwrap_or(asked).trim_start_matches('/');
        let (folder, _) = asked.rsplit_once('/').unwrap_or_default();
        let beside = root.resolve(folder).ok().filter(|folder| folder.is_dir() && folder != root.real());
        let beside = beside.and_then(|folder| Self::of(asked, &find(root, &folder, wanted, MAX_SEARCHED).0));
        let nearest = beside.or_else(|| Self::of(asked, &find(root, root.real(), wanted, MAX_SEARCHED).0));
        nearest.unwrap_or(Self { same: None, sentence: String::new() })
    }

    fn of(asked: &str, paths: &[String]) -> Option<Self> {
        let Near { names, is_same_text } = place::nearest(asked, paths.iter().map(String::as_str))?;
        let same = match &*names {
            [one] if is_same_text => Some((*one).to_owned()),
            _ => None,
        };
        Some(Self { same, sentence: Near { names, is_same_text }.sentence() })
    }

    /// The error, which also names what was perhaps meant.
    pub(crate) fn name_in(&self, error: Error) -> Error {
        Error { cause: format!("{}{}", error.cause, self.sentence), ..error }
    }
}
