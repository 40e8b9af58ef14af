//! The awareness states of a room: ours and those of others
//! (<https://docs.yjs.dev/api/about-awareness>).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yrs::block::ClientID;

use crate::frame::{self, Reader, write_bytes, write_number};
use crate::position::Position;

/// The interval in which our states are sent again; others forget them after twice as long.
pub(crate) const RENEWAL_INTERVAL: Duration = Duration::from_secs(15);
/// The time after which others are forgotten if they send nothing.
const EXPIRY: Duration = Duration::from_secs(30);
/// The most others whose states are kept.
const MAX_OTHERS: usize = 1_000;
/// The number of colors that `JupyterLab` has for collaborators.
const COLORS: u64 = 7;
/// The member that marks the states of agents, of this program and of others like it.
const AGENT: &str = "agent";

/// One of our agents as others see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Presence {
    /// Identifies the agent: `JupyterLab` shows states with the same number as one user.
    pub agent: u64,
    pub name: String,
    /// The result of [`LiveNotebook::cursor`](crate::LiveNotebook::cursor); `None` if it is in no cell.
    pub cursor: Option<Value>,
}

/// The states of a room.
#[derive(Default)]
pub(crate) struct Awareness {
    agents: BTreeMap<u64, Own>,
    others: BTreeMap<u64, Other>,
    /// When our states were last sent.
    announced: Option<Instant>,
}

struct Own {
    client: u64,
    clock: u64,
    state: Value,
}

struct Other {
    clock: u64,
    seen: Instant,
    /// The cursor, if it is a person.
    position: Option<Position>,
    /// When the cursor moved there; `None` if it was there when first seen.
    moved: Option<Instant>,
}

impl Other {
    fn new(clock: u64, state: &str, now: Instant, known: Option<&Self>) -> Self {
        let state: Value = serde_json::from_str(state).unwrap_or_default();
        let is_agent = state.get(AGENT).is_some();
        let position = Position::of_cursors(&state).filter(|_| !is_agent);
        let moved = match known {
            Some(known) if known.position == position => known.moved,
            Some(_) => Some(now),
            None => None,
        };
        Self { clock, seen: now, position, moved }
    }
}

impl Awareness {
    /// Sets the state of an agent. Returns the frame to send.
    pub(crate) fn set(&mut self, who: &Presence, now: Instant) -> Vec<u8> {
        let client = || Own { client: ClientID::random().get() >> 21, clock: 0, state: Value::Null };
        let own = self.agents.entry(who.agent).or_insert_with(client);
        own.state = state(own.client, who);
        own.clock += 1;
        self.announced.get_or_insert(now);
        frame::awareness(&states([&*own]))
    }

    /// Removes an agent. Returns the frame to send.
    pub(crate) fn leave(&mut self, agent: u64) -> Option<Vec<u8>> {
        let mut own = self.agents.remove(&agent)?;
        own.clock += 1;
        own.state = Value::Null;
        Some(frame::awareness(&states([&own])))
    }

    /// Removes all agents. Returns the frame to send.
    pub(crate) fn leave_all(&mut self) -> Option<Vec<u8>> {
        for own in self.agents.values_mut() {
            own.clock += 1;
            own.state = Value::Null;
        }
        let agents = std::mem::take(&mut self.agents);
        (!agents.is_empty()).then(|| frame::awareness(&states(agents.values())))
    }

    /// When [`Awareness::renew`] is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.announced.filter(|_| !self.agents.is_empty()).map(|announced| announced + RENEWAL_INTERVAL)
    }

    /// The frame with all our states, if it is due.
    pub(crate) fn renew(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.others.retain(|_, other| now.saturating_duration_since(other.seen) < EXPIRY);
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        self.announce(now)
    }

    /// The frame with all our states under new clocks, for a new connection or a query.
    pub(crate) fn announce(&mut self, now: Instant) -> Option<Vec<u8>> {
        for own in self.agents.values_mut() {
            own.clock += 1;
        }
        self.announced = Some(now);
        (!self.agents.is_empty()).then(|| frame::awareness(&states(self.agents.values())))
    }

    /// Handles states from others. Returns whether one of ours was declared gone; `None` if the bytes are malformed.
    ///
    /// Each state has a clock, and only a newer one replaces it. Example: our agent is at clock 4, and somebody whose timeout
    /// has expired announces it as gone with clock 4. We take over that clock, and the next announcement with clock 5 brings
    /// the agent back.
    pub(crate) fn receive(&mut self, states: &[u8], now: Instant) -> Option<bool> {
        let mut reader = Reader(states);
        let mut was_removed = false;
        for _ in 0..reader.number()? {
            let (client, clock, state) = (reader.number()?, reader.number()?, reader.text()?);
            if let Some(own) = self.agents.values_mut().find(|own| own.client == client) {
                // Somebody considers our agent gone. Only a newer clock brings it back.
                if clock >= own.clock && state == "null" {
                    own.clock = clock;
                    was_removed = true;
                }
                continue;
            }
            let known = self.others.get(&client);
            if known.is_some_and(|known| clock < known.clock || (clock == known.clock && state != "null")) {
                continue;
            }
            if known.is_some() || self.others.len() < MAX_OTHERS {
                let other = Other::new(clock, state, now, known);
                self.others.insert(client, other);
            }
        }
        Some(was_removed)
    }

    /// The cursors of people, the last moved first.
    pub(crate) fn positions(&self) -> Vec<Position> {
        let mut others: Vec<&Other> = self.others.values().collect();
        others.sort_unstable_by_key(|other| Reverse((other.moved, other.seen)));
        others.into_iter().filter_map(|other| other.position).collect()
    }
}

/// The state of an agent with the members that `JupyterLab` reads: `user` is an identity of Jupyter Server, and `cursors`
/// is for its editor extension.
fn state(client: u64, who: &Presence) -> Value {
    let words = who.name.split_whitespace().filter_map(|word| word.chars().next());
    let initials: String = words.take(2).flat_map(char::to_uppercase).collect();
    let color = 1 + who.name.bytes().fold(0, |sum, byte| (sum * 31 + u64::from(byte)) % COLORS);
    json!({
        "user": {
            "username": format!("agent-{client}"),
            "name": who.name,
            "display_name": who.name,
            "initials": initials,
            "color": format!("var(--jp-collaborator-color{color})"),
            "avatar_url": null,
        },
        "cursors": who.cursor.iter().collect::<Vec<_>>(),
        AGENT: true,
    })
}

fn states<'a>(states: impl IntoIterator<Item = &'a Own>) -> Vec<u8> {
    let mut count = 0;
    let mut out = Vec::new();
    for own in states {
        count += 1;
        write_number(own.client, &mut out);
        write_number(own.clock, &mut out);
        write_bytes(own.state.to_string().as_bytes(), &mut out);
    }
    let mut message = Vec::with_capacity(out.len() + 2);
    write_number(count, &mut message);
    message.extend(out);
    message
}

#[cfg(test)]
mod tests;
