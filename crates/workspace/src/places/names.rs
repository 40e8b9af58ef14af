//! Which place a path names: `local:x.ipynb`, `http://h:8888/x.ipynb`.

use std::collections::HashSet;
use std::sync::Arc;

use place::{Error, ErrorKind, NextStep, NotebookPath, Place};

/// A path, and the place in which it leads to something.
#[derive(Clone)]
pub struct Located {
    pub place: Arc<dyn Place>,
    /// As the place shows it, or without the place's prefix.
    pub path: NotebookPath,
}

impl Located {
    fn new(place: &Arc<dyn Place>, rest: &str) -> Self {
        let path = format!("{}{rest}", place.prefix()).into();
        Self { place: place.clone(), path }
    }
}

/// The names of all places, and of the kind of servers that could be connected.
pub(super) struct Names<'a> {
    /// The newest is the last.
    pub(super) places: &'a [Arc<dyn Place>],
    /// The scheme of servers that agents can connect to; empty if they cannot.
    pub(super) connectable: &'a str,
    /// The scheme of machines that agents can start; empty if they cannot.
    pub(super) startable: &'a str,
}

impl Names<'_> {
    /// The place that `path` names, for an agent that works in `current`; `None` if it names none. Fails if it names
    /// more than one place, or a kind of place of which there is none.
    pub(super) fn find(&self, path: &str, current: &Arc<dyn Place>) -> Result<Option<Located>, Error> {
        let named = self.present().filter_map(|place| Some((place, place.strip_name(path)?)));
        // The longest name wins, since one server may be below another: of `srv/` and `srv/lab/`, `srv/lab/x.ipynb` is in
        // the second. Among equal names the agent's own place wins, then the newest: it may have a renewed token.
        let longest =
            named.max_by_key(|(place, rest)| (path.len() - rest.len(), Arc::ptr_eq(place, current)));
        if let Some((place, rest)) = longest {
            return Ok(Some(Located::new(place, rest)));
        }
        let Some((scheme, rest)) = self.split_scheme(path) else { return Ok(None) };
        let places = self.of_scheme(scheme);
        match &places[..] {
            [] if scheme == self.startable => Err(Error::new(
                ErrorKind::Unavailable,
                format!("\"{scheme}:\" names a machine, and none is running."),
                NextStep::StartMachine,
            )),
            [] => Err(Error::new(
                ErrorKind::Unavailable,
                format!("\"{scheme}:\" names a server, and none is connected."),
                NextStep::GiveAddress,
            )),
            [_] if current.scheme() == scheme => Ok(Some(Located::new(current, rest))),
            [place] => Ok(Some(Located::new(place, rest))),
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("\"{scheme}:\" names more than one {}.", self.kind(scheme)),
                NextStep::NamePlace {
                    paths: places.iter().map(|it| format!("{}{rest}", it.name())).collect(),
                },
            )),
        }
    }

    /// Whether a path begins with the name of a place, or of a kind of place.
    pub(super) fn are_in(&self, path: &str) -> bool {
        self.places.iter().any(|place| place.strip_name(path).is_some()) || self.split_scheme(path).is_some()
    }

    /// Those that have not ended.
    fn present(&self) -> impl Iterator<Item = &Arc<dyn Place>> {
        self.places.iter().filter(|place| self.startable != place.scheme() || place.is_present())
    }

    fn kind(&self, scheme: &str) -> &'static str {
        if scheme == self.startable { "machine" } else { "server" }
    }

    fn split_scheme<'p>(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        let (scheme, rest) = path.split_once(':').filter(|(scheme, _)| !scheme.is_empty())?;
        let is_known = [self.connectable, self.startable].contains(&scheme)
            || self.places.iter().any(|place| place.scheme() == scheme);
        is_known.then_some((scheme, rest))
    }

    /// One place of each name: the newest.
    fn of_scheme(&self, scheme: &str) -> Vec<&Arc<dyn Place>> {
        let mut seen = HashSet::new();
        let of_scheme: Vec<_> = self.present().filter(|place| place.scheme() == scheme).collect();
        of_scheme.into_iter().rev().filter(|place| seen.insert(place.name())).collect()
    }
}

/// The refusal of a path that was shown as one of `shown`'s, to an agent that has moved to `current` since.
pub(crate) fn moved(path: &str, shown: &dyn Place, current: &dyn Place) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        format!(
            "{path:?} was a path of {} when you read it; you now work in {}. Nothing was done.",
            shown.description(),
            current.description()
        ),
        NextStep::NamePlace {
            paths: [shown, current].map(|place| format!("{}{path}", place.name())).to_vec(),
        },
    )
}
