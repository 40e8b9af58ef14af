//! Tells executions what a person sees of the widgets that they show.
//!
//! A loop can change a widget thousands of times a second, so changes are collected for a moment.

use std::time::{Duration, Instant};

use notebook::Json;

use super::executions::Executions;
use super::outputs::is_taken;
use super::request::Request;
use crate::messages::Message;
use crate::widgets::{Widgets, all_widgets};
use crate::{Event, MessageId};

/// The least time between two updates.
const PAUSE: Duration = Duration::from_millis(100);

/// The widgets of the kernel, and when to tell of their changes.
#[derive(Debug, Default)]
pub(super) struct WidgetUpdates {
    pub(super) widgets: Widgets,
    /// When executions were last notified.
    told_at: Option<Instant>,
    pub(super) due_at: Option<Instant>,
}

impl WidgetUpdates {
    fn changed(&mut self, now: Instant) {
        let at = self.told_at.map_or(now, |told_at| now.max(told_at + PAUSE));
        self.due_at.get_or_insert(at);
    }

    /// An `Output` widget takes what an execution has published.
    pub(super) fn capture(&mut self, comm: &str, event: &Event, now: Instant) {
        let is_changed = match event {
            Event::Output { output, .. } => is_taken(output) && self.widgets.capture(comm, output),
            Event::ClearOutput { wait } => self.widgets.clear_captured(comm, *wait),
            _ => false,
        };
        if is_changed {
            self.changed(now);
        }
    }

    /// The events for an execution about what it shows.
    fn events(&self, request: &mut Request) -> Vec<Event> {
        let shown = request.widgets.iter_mut().filter_map(|(model_id, shown)| {
            let text = self.widgets.text(model_id)?;
            if shown.as_ref() == Some(&text) {
                return None;
            }
            *shown = Some(text.clone());
            Some(Event::Widget { model_id: model_id.clone(), text })
        });
        shown.collect()
    }

    /// Reports changes of what an execution shows, and the state to be saved at its end and of changes that come later.
    fn report(&self, request: &mut Request, is_end: bool) {
        let events = self.events(request);
        let has_later = request.is_finished() && !events.is_empty();
        let state = self.state(request).filter(|_| is_end || has_later);
        events.into_iter().chain(state).for_each(|event| request.emit(event));
    }

    /// The state to be saved of what an execution shows.
    fn state(&self, request: &Request) -> Option<Event> {
        if request.widgets.is_empty() {
            return None;
        }
        let shown: Vec<_> = request.widgets.iter().map(|(model_id, _)| model_id.clone()).collect();
        Some(Event::WidgetState(Json::from_value(&self.widgets.saved(&shown)?)))
    }
}

impl Executions {
    /// The state of all widgets, those that are closed included, as a notebook keeps it.
    pub(crate) fn widget_state(&self) -> Option<Json> {
        Some(all_widgets(&self.widgets.widgets.saved_all()?))
    }

    /// Takes a message about a comm, whatever request it belongs to.
    pub(super) fn on_widget(&mut self, message: &Message, now: Instant) -> serde_json::Result<()> {
        if self.widgets.widgets.handle(message)? {
            self.widgets.changed(now);
        }
        Ok(())
    }

    /// An execution has shown something that may be a widget.
    pub(super) fn on_widget_shown(&mut self, parent: &str, now: Instant) {
        if self
            .known
            .get(parent)
            .is_some_and(|request| request.widgets.iter().any(|(_, text)| text.is_none()))
        {
            self.widgets.changed(now);
        }
    }

    /// Tells executions about changes, if that is due.
    pub(super) fn update_widgets(&mut self, now: Instant) {
        if self.widgets.due_at.take_if(|at| *at <= now).is_some() {
            self.widgets.told_at = Some(now);
            self.report_widgets();
        }
    }

    /// Reports changes that are not due yet: whoever knows that an execution has ended sees what it has done to widgets.
    pub(super) fn flush_widgets(&mut self) {
        if self.widgets.due_at.take().is_some() {
            self.report_widgets();
        }
    }

    fn report_widgets(&mut self) {
        for request in self.known.values_mut() {
            self.widgets.report(request, false);
        }
    }

    /// The last word about widgets before an execution ends.
    pub(super) fn conclude_widgets(&mut self, id: &MessageId) {
        if let Some(request) = self.known.get_mut(id) {
            self.widgets.report(request, true);
        }
    }
}
