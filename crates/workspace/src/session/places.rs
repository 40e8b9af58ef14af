//! The place in which an agent works, and the meaning of paths to it.

use std::sync::Arc;

use place::{Connected, Error, NotebookPath, Place, ServerSpec};

use super::Session;
use crate::places::{ConnectScope, Located, moved};

impl Session {
    /// The place that this agent works in.
    pub fn place(&self) -> Arc<dyn Place> {
        let (chosen, is_stateless) = {
            let state = self.state();
            (state.place.clone(), state.is_stateless)
        };
        match chosen {
            Some(place) => place,
            None if is_stateless => self.workspace.places().common(),
            None => self.workspace.places().default_place(),
        }
    }

    /// Connects to a server and works there from now on. An agent without a session does so for all of them.
    pub async fn connect(&self, server: ServerSpec) -> Result<Connected, Error> {
        let before = self.place();
        let scope = if self.state().is_stateless { ConnectScope::Stateless } else { ConnectScope::Session };
        let connected = self.workspace.places().connect(server, scope).await?;
        let place = &connected.place;
        {
            let mut state = self.state();
            state.place = Some(place.clone());
            // The same server with another token: its notebooks use that one from now on.
            let is_here =
                |home: &Arc<dyn Place>| !place.prefix().is_empty() && home.prefix() == place.prefix();
            state.homes.values_mut().filter(|home| is_here(home)).for_each(|home| *home = place.clone());
        }
        if before.frontend().is_some() != place.frontend().is_some() {
            self.workspace.places().capabilities_changed();
        }
        Ok(connected)
    }

    /// The places whose notebooks the agent finds without an address: its own, then those that there are from the start, then the
    /// machines that are known to run.
    pub fn places(&self) -> Vec<Arc<dyn Place>> {
        let (own, all) = (self.place(), self.workspace.places().all());
        let is_running =
            |place: &&Arc<dyn Place>| self.workspace.places().is_machine(place) && place.is_present();
        let others = self.workspace.places().first().iter().chain(all.iter().filter(is_running));
        let others = others.filter(|place| !Arc::ptr_eq(place, &own)).cloned();
        [own.clone()].into_iter().chain(others).collect()
    }

    /// The meaning of a path to this agent. Without a prefix it means a notebook that this session has opened, else one of
    /// the place that the agent works in. A path that was shown to it for another place is refused.
    pub async fn locate(&self, path: &NotebookPath) -> Result<Located, Error> {
        let home = self.state().homes.get(path).cloned();
        if let Some(place) = home {
            return Ok(Located { place, path: path.clone() });
        }
        let place = self.place();
        self.workspace.places().find_machine(path).await?;
        if let Some(named) = self.workspace.places().named_by(path, &place)? {
            return Ok(named);
        }
        match self.kept().shown_paths.elsewhere(path, &*place) {
            Some(place_then) => Err(moved(path, &*place_then, &*place)),
            None => Ok(Located { place, path: path.clone() }),
        }
    }

    /// A path of `place` as it is shown to this agent, so that it means the same when it comes back.
    pub fn shown(&self, place: &Arc<dyn Place>, path: &NotebookPath) -> NotebookPath {
        if place.prefix().is_empty() && place.name() != self.place().name() {
            return format!("{}{path}", place.name()).into();
        }
        self.remember_shown(place, path);
        path.clone()
    }

    /// The path of a notebook that any session has open, as it is shown to this agent.
    pub fn shown_open(&self, path: &NotebookPath) -> NotebookPath {
        let is_own = self.state().homes.contains_key(path);
        let first = self.workspace.places().first().first();
        match first.filter(|_| !is_own && !self.workspace.places().are_named_by(path)) {
            Some(first) => self.shown(first, path),
            None => path.clone(),
        }
    }

    /// The place of a notebook that this session has opened.
    pub(super) fn home(&self, path: &NotebookPath) -> Arc<dyn Place> {
        let home = self.state().homes.get(path).cloned();
        home.unwrap_or_else(|| self.place())
    }

    /// Notes that the agent was shown a path without a prefix, unless its place never changes.
    pub(super) fn remember_shown(&self, place: &Arc<dyn Place>, path: &NotebookPath) {
        if self.workspace.places().can_connect() {
            self.kept().shown_paths.note(place, path);
        }
    }
}
