//! Records what browsers do at the listener, and explains from that why a tab is not connected.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BrowserEvent {
    /// A connection was closed before it sent a byte.
    ClosedSilently,
    /// A request without a tab's token failed the named check.
    Refused(String),
    /// A request with this tab's token failed the named check.
    PageRefused(String),
    /// A second tab was rejected.
    RejectedBusy,
    Connected,
    Disconnected,
}

/// The end of a browser's last attempt to connect a tab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub is_connected: bool,
    /// A sentence, without tokens.
    pub what: String,
}

impl BrowserEvent {
    /// The attempt that this event ends, if it ends one.
    pub(crate) fn attempt(&self) -> Option<Attempt> {
        let what = match self {
            Self::Connected => "A tab connected.".to_owned(),
            Self::ClosedSilently => {
                "A browser closed the connection without sending anything: its permission prompt was \
                 blocked or dismissed."
                    .to_owned()
            }
            Self::Refused(check) => format!("A browser was refused: {check}."),
            Self::PageRefused(check) => format!("A page with a tab's token was refused: {check}."),
            Self::RejectedBusy => {
                "A second page was rejected, because the tab's page was connected.".to_owned()
            }
            Self::Disconnected => return None,
        };
        Some(Attempt { is_connected: *self == Self::Connected, what })
    }
}

/// The reason why a tab cannot be used yet, or that it is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Diagnosis {
    NoBrowser,
    PromptShowing,
    /// The last event.
    After(BrowserEvent),
}

/// A position in the recorded events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark(u64);

/// The events at one tab's address. Connections that sent no token may have been meant for any tab.
#[derive(Debug, Default)]
pub(crate) struct BrowserActivity {
    count: u64,
    latest: Option<BrowserEvent>,
    is_connected: bool,
}

impl BrowserActivity {
    pub(crate) fn record(&mut self, event: BrowserEvent) {
        match event {
            BrowserEvent::Connected => self.is_connected = true,
            BrowserEvent::Disconnected => self.is_connected = false,
            _ => {}
        }
        self.count += 1;
        self.latest = Some(event);
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.count)
    }

    /// The most likely explanation, from the newest event. `is_silent` says whether a connection is open that has sent
    /// nothing yet.
    ///
    /// `since` is the start of the current attempt to connect. A rejected second tab explains a failure only if it was
    /// rejected in this attempt; the other events are shown even if they are older.
    ///
    /// Example: a tab is blocked at event 1, another tab connects (2), a third is rejected (3), and the connected one
    /// is closed (4). An attempt that started after 2 is diagnosed as `Disconnected`, from event 4. Had the third tab been
    /// rejected after the close, it would be `Busy`, and in the next attempt `Disconnected` again.
    pub(crate) fn diagnose(&self, since: Mark, is_silent: bool) -> Diagnosis {
        if self.is_connected {
            return Diagnosis::After(BrowserEvent::Connected);
        }
        if is_silent {
            return Diagnosis::PromptShowing;
        }
        match &self.latest {
            None => Diagnosis::NoBrowser,
            Some(BrowserEvent::RejectedBusy) if self.count <= since.0 => {
                Diagnosis::After(BrowserEvent::Disconnected)
            }
            Some(event) => Diagnosis::After(event.clone()),
        }
    }
}

impl Diagnosis {
    /// A description of the diagnosis and of what the person should do. `retry` is what the agent does afterwards: `call x again`.
    pub(crate) fn describe(&self, retry: &str) -> String {
        match self {
            Self::NoBrowser => "No browser has connected yet. The person should open the URL below (Chrome or another \
                 Chromium browser works best; Safari blocks connections to this machine), accept Colab's \
                 dialog, and answer \"Allow\" if the browser asks about apps and services on this device."
                .to_owned(),
            Self::PromptShowing => format!(
                "A browser is connected but silent: a tab is showing a permission prompt. The person should \
                 answer \"Allow\" to the question about other apps and services on this device. The connection stays \
                 open. Then {retry}."
            ),
            Self::After(BrowserEvent::ClosedSilently) => "A browser connected and closed the connection without sending anything: the permission prompt of a \
                 tab was blocked or dismissed. The person should click the icon left of the address bar, allow \
                 access to apps on this device (local network access) for colab.research.google.com, and \
                 reload the tab."
                .to_owned(),
            Self::After(BrowserEvent::Refused(check)) => format!(
                "A browser connected and was refused: {check}. This is usually a tab that was opened for an \
                 earlier start of this server. The person should close that tab and open the URL below."
            ),
            Self::After(BrowserEvent::PageRefused(check)) => format!(
                "A page with the token of this tab was refused: {check}. The person should close that page and open \
                 the URL below in Colab itself."
            ),
            Self::After(BrowserEvent::RejectedBusy) => "Another tab was rejected because one was already connected, and that one has since disconnected. \
                 The person should reload the tab to use."
                .to_owned(),
            Self::After(BrowserEvent::Connected) => format!(
                "A Colab tab is connected but has not finished opening. In a moment, {retry}; if that does not help, \
                 the person should reload the tab."
            ),
            Self::After(BrowserEvent::Disconnected) => "The Colab tab has disconnected (closed, reloaded or asleep). The person should open the URL \
                 below, or reconnect the open notebook with the line for Colab's own dialog."
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_diagnosed() {
        let mut activity = BrowserActivity::default();
        let start = activity.mark();
        assert_eq!(activity.diagnose(start, false), Diagnosis::NoBrowser);
        assert_eq!(activity.diagnose(start, true), Diagnosis::PromptShowing);
        activity.record(BrowserEvent::ClosedSilently);
        assert_eq!(activity.diagnose(start, false), Diagnosis::After(BrowserEvent::ClosedSilently));
        // Another connection is still showing its prompt.
        assert_eq!(activity.diagnose(start, true), Diagnosis::PromptShowing);
        activity.record(BrowserEvent::Refused("missing Origin header".into()));
        assert_eq!(
            activity.diagnose(start, false),
            Diagnosis::After(BrowserEvent::Refused("missing Origin header".into()))
        );
        activity.record(BrowserEvent::PageRefused("invalid Origin header".into()));
        assert_eq!(
            activity.diagnose(start, false),
            Diagnosis::After(BrowserEvent::PageRefused("invalid Origin header".into()))
        );
        activity.record(BrowserEvent::Connected);
        activity.record(BrowserEvent::RejectedBusy);
        assert_eq!(activity.diagnose(start, true), Diagnosis::After(BrowserEvent::Connected));
        activity.record(BrowserEvent::Disconnected);
        assert_eq!(activity.diagnose(start, false), Diagnosis::After(BrowserEvent::Disconnected));
        activity.record(BrowserEvent::RejectedBusy);
        assert_eq!(activity.diagnose(start, false), Diagnosis::After(BrowserEvent::RejectedBusy));
    }

    #[test]
    fn what_came_without_a_token_is_said_of_any_tab() {
        for state in [
            Diagnosis::PromptShowing,
            Diagnosis::After(BrowserEvent::ClosedSilently),
            Diagnosis::After(BrowserEvent::Refused("x".into())),
        ] {
            let text = state.describe("call it again");
            assert!(
                text.contains(" a tab ") && !text.contains(" it is ") && !text.contains(" its "),
                "{text}"
            );
        }
        assert!(
            Diagnosis::After(BrowserEvent::PageRefused("x".into()))
                .describe("call it again")
                .contains("of this tab")
        );
    }

    #[test]
    fn every_state_has_its_own_text() {
        let states = [
            Diagnosis::NoBrowser,
            Diagnosis::PromptShowing,
            Diagnosis::After(BrowserEvent::ClosedSilently),
            Diagnosis::After(BrowserEvent::Refused("x".into())),
            Diagnosis::After(BrowserEvent::PageRefused("x".into())),
            Diagnosis::After(BrowserEvent::RejectedBusy),
            Diagnosis::After(BrowserEvent::Connected),
            Diagnosis::After(BrowserEvent::Disconnected),
        ];
        let texts: std::collections::HashSet<String> =
            states.iter().map(|state| state.describe("call it again")).collect();
        assert_eq!(texts.len(), states.len());
    }
}
