//! The place that a path names: `local:x.ipynb`, `http://h:8888/x.ipynb`.

use std::collections::HashSet;
use std::sync::Arc;

use place::{Error, ErrorKind, NextStep, NotebookPath, Place};

use super::Places;

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

impl Places {
    /// The place that `path` names, for an agent that works in `current`; `None` if it names none. Fails if it names
    /// more than one place, or a kind of place of which there is none.
    pub(crate) fn named_by(
        &self,
        path: &NotebookPath,
        current: &Arc<dyn Place>,
    ) -> Result<Option<Located>, Error> {
        let present = self.present();
        let named = present.iter().filter_map(|place| Some((place, place.strip_name(path)?)));
        // The longest name wins, since one server may be below another: of `srv/` and `srv/lab/`, `srv/lab/x.ipynb` is in
        // the second. Among equal names the agent's own place wins, then the newest: it may have a renewed token.
        let longest =
            named.max_by_key(|(place, rest)| (path.len() - rest.len(), Arc::ptr_eq(place, current)));
        if let Some((place, rest)) = longest {
            return Ok(Some(Located::new(place, rest)));
        }
        let Some((scheme, rest)) = self.split_scheme(path) else { return Ok(None) };
        // One place of each name: the newest.
        let mut seen = HashSet::new();
        let of_scheme = present.iter().rev().filter(|place| place.scheme() == scheme);
        let places: Vec<_> = of_scheme.filter(|place| seen.insert(place.name())).collect();
        let is_machine = self.machines().is_some_and(|machines| machines.scheme() == scheme);
        match &places[..] {
            [] if is_machine => Err(Error::new(
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
                format!(
                    "\"{scheme}:\" names more than one {}.",
                    if is_machine { "machine" } else { "server" }
                ),
                NextStep::NamePlace {
                    paths: places.iter().map(|it| format!("{}{rest}", it.name())).collect(),
                },
            )),
        }
    }

    /// Whether a path begins with the name of a place, or of a kind of place.
    pub(crate) fn are_named_by(&self, path: &NotebookPath) -> bool {
        self.all().iter().any(|place| place.strip_name(path).is_some()) || self.split_scheme(path).is_some()
    }

    /// All places but machines that have ended. The newest is the last.
    fn present(&self) -> Vec<Arc<dyn Place>> {
        let mut places = self.all();
        places.retain(|place| !self.is_machine(place) || place.is_present());
        places
    }

    fn split_scheme<'p>(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        let (scheme, rest) = path.split_once(':').filter(|(scheme, _)| !scheme.is_empty())?;
        let connectable = self.connector.as_ref().map(|connector| connector.scheme());
        let startable = self.machines().map(|machines| machines.scheme());
        let is_scheme = [connectable, startable].contains(&Some(scheme))
            || self.all().iter().any(|place| place.scheme() == scheme);
        is_scheme.then_some((scheme, rest))
    }
}

/// The refusal of a path that was shown as one of `shown`'s, to an agent that has moved to `current` since.
pub(crate) fn moved(path: &str, former: &dyn Place, current: &dyn Place) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        format!(
            "{path:?} was a path of {} when you read it; you now work in {}. Nothing was done.",
            former.description(),
            current.description()
        ),
        NextStep::NamePlace {
            paths: [former, current].map(|place| format!("{}{path}", place.name())).to_vec(),
        },
    )
}
