//! What has been seen of browsers at the listener, and what that means for a person who waits for one.

use std::fmt;

/// Something that happened at the listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sighting {
    /// A socket was closed before it sent a byte.
    ClosedSilently,
    /// A request failed the named check.
    Refused(String),
    /// A second tab was turned away.
    Busy,
    /// A page connected.
    Connected,
    /// The connected page went away.
    Left,
}

/// The state that a person is told about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Diagnosis {
    NoBrowser,
    PromptShowing,
    Blocked,
    Refused(String),
    Busy,
    Connected,
    Left,
}

/// A position in the record of sightings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark(u64);

/// The record of one listener.
#[derive(Debug, Default)]
pub(crate) struct Sightings {
    silent: usize,
    count: u64,
    latest: Option<Sighting>,
    connected: bool,
}

impl Sightings {
    /// A socket opened and has sent nothing yet.
    pub(crate) fn silent_opened(&mut self) {
        self.silent += 1;
    }

    /// That socket spoke or went away.
    pub(crate) fn silent_over(&mut self) {
        self.silent = self.silent.saturating_sub(1);
    }

    pub(crate) fn saw(&mut self, sighting: Sighting) {
        match sighting {
            Sighting::Connected => self.connected = true,
            Sighting::Left => self.connected = false,
            _ => {}
        }
        self.count += 1;
        self.latest = Some(sighting);
    }

    /// Marks the present, to tell later what is new.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.count)
    }

    /// The state now. What happened before `since` counts only where nothing has happened since: a browser
    /// that was blocked an hour ago says little about one that has just been opened, but more than nothing.
    pub(crate) fn diagnose(&self, since: Mark) -> Diagnosis {
        if self.connected {
            return Diagnosis::Connected;
        }
        if self.silent > 0 {
            return Diagnosis::PromptShowing;
        }
        let is_new = self.count > since.0;
        match &self.latest {
            Some(Sighting::ClosedSilently) => Diagnosis::Blocked,
            Some(Sighting::Refused(check)) => Diagnosis::Refused(check.clone()),
            Some(Sighting::Busy) if is_new => Diagnosis::Busy,
            Some(Sighting::Left | Sighting::Connected | Sighting::Busy) => Diagnosis::Left,
            None => Diagnosis::NoBrowser,
        }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBrowser => f.write_str(
                "No browser has connected yet. The person should open the URL below (Chrome or another \
                 Chromium browser works best; Safari blocks connections to this machine), accept Colab's \
                 dialog, and answer \"Allow\" if the browser asks about apps and services on this device.",
            ),
            Self::PromptShowing => f.write_str(
                "A browser is connected but silent: it is showing a permission prompt. The person should \
                 answer \"Allow\" to the question about other apps and services on this device. There is no \
                 hurry: the connection is kept open. Then call open_colab_browser_connection again.",
            ),
            Self::Blocked => f.write_str(
                "A browser connected and closed again without sending anything: its permission prompt was \
                 blocked or dismissed. The person should click the icon left of the address bar, allow \
                 access to apps on this device (local network access) for colab.research.google.com, and \
                 reload the tab.",
            ),
            Self::Refused(check) => write!(
                f,
                "A browser connected and was refused: {check}. Most often this is a tab that was opened for \
                 an earlier start of this server. The person should close that tab and open the URL below."
            ),
            Self::Busy => f.write_str(
                "Another tab was turned away because one was connected already, and that one has left. The \
                 person should reload the tab that is to be used.",
            ),
            Self::Connected => f.write_str(
                "A Colab tab is connected but has not finished opening. Call open_colab_browser_connection again \
                 in a moment; if that does not help, the person should reload the tab.",
            ),
            Self::Left => f.write_str(
                "A Colab tab was connected and has left (closed, reloaded or asleep). The person should open \
                 the URL below, or reconnect the open notebook with the line for Colab's own dialog.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_told_apart() {
        let mut seen = Sightings::default();
        let start = seen.mark();
        assert_eq!(seen.diagnose(start), Diagnosis::NoBrowser);
        seen.silent_opened();
        assert_eq!(seen.diagnose(start), Diagnosis::PromptShowing);
        seen.silent_over();
        seen.saw(Sighting::ClosedSilently);
        assert_eq!(seen.diagnose(start), Diagnosis::Blocked);
        seen.saw(Sighting::Refused("missing Origin header".into()));
        assert_eq!(seen.diagnose(start), Diagnosis::Refused("missing Origin header".into()));
        seen.saw(Sighting::Connected);
        seen.saw(Sighting::Busy);
        assert_eq!(seen.diagnose(start), Diagnosis::Connected);
        seen.saw(Sighting::Left);
        assert_eq!(seen.diagnose(start), Diagnosis::Left);
        seen.saw(Sighting::Busy);
        assert_eq!(seen.diagnose(start), Diagnosis::Busy);
    }

    #[test]
    fn one_prompt_among_several_sockets_is_enough() {
        let mut seen = Sightings::default();
        seen.silent_opened();
        seen.silent_opened();
        seen.silent_over();
        seen.saw(Sighting::ClosedSilently);
        assert_eq!(seen.diagnose(seen.mark()), Diagnosis::PromptShowing);
        seen.silent_over();
        seen.silent_over();
        assert_eq!(seen.diagnose(seen.mark()), Diagnosis::Blocked);
    }

    #[test]
    fn every_state_has_words_of_its_own() {
        let states = [
            Diagnosis::NoBrowser,
            Diagnosis::PromptShowing,
            Diagnosis::Blocked,
            Diagnosis::Refused("x".into()),
            Diagnosis::Busy,
            Diagnosis::Connected,
            Diagnosis::Left,
        ];
        let words: std::collections::HashSet<String> = states.iter().map(ToString::to_string).collect();
        assert_eq!(words.len(), states.len());
    }
}
