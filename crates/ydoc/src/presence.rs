//! Who is in the room: the states of awareness, ours and those of others
//! (<https://docs.yjs.dev/api/about-awareness>).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yrs::block::ClientID;

use crate::frame::{self, Reader, write_bytes, write_number};
use crate::position::Position;

/// How often a state is told again; others forget it after twice as long.
pub(crate) const RENEWAL: Duration = Duration::from_secs(15);
/// How long the state of somebody who is silent is believed.
const BELIEVED: Duration = Duration::from_secs(30);
/// Of so many others is known that they are there.
const MOST: usize = 1_000;
/// How many colours `JupyterLab` has for collaborators.
const COLORS: u64 = 7;
/// What tells the states of agents, of this program and of others like it, from those of people.
const AGENT: &str = "agent";

/// One of our agents, as it is shown to people.
#[derive(Debug, Clone, PartialEq)]
pub struct Presence {
    /// Which agent; the same number is the same person in `JupyterLab`.
    pub agent: u64,
    /// Its name.
    pub name: String,
    /// Where it is: what [`LiveNotebook::cursor`](crate::LiveNotebook::cursor) gives. `None` for nowhere.
    pub cursor: Option<Value>,
}

/// The states of a room.
#[derive(Default)]
pub(crate) struct Awareness {
    agents: BTreeMap<u64, Own>,
    others: BTreeMap<u64, Other>,
    /// When our states were told last.
    told: Option<Instant>,
}

struct Own {
    client: u64,
    clock: u64,
    state: Value,
}

struct Other {
    clock: u64,
    seen: Instant,
    /// Where it is, if it is a person.
    position: Option<Position>,
    /// When it came there; `None` if it was there when it was first seen.
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
    /// Sets what is shown of an agent; the frame that tells it.
    pub(crate) fn set(&mut self, who: &Presence, now: Instant) -> Vec<u8> {
        let client = || Own { client: ClientID::random().get() >> 21, clock: 0, state: Value::Null };
        let own = self.agents.entry(who.agent).or_insert_with(client);
        own.state = state(own.client, who);
        own.clock += 1;
        self.told.get_or_insert(now);
        frame::awareness(&states([&*own]))
    }

    /// The frame that tells that an agent is gone.
    pub(crate) fn leave(&mut self, agent: u64) -> Option<Vec<u8>> {
        let mut own = self.agents.remove(&agent)?;
        own.clock += 1;
        own.state = Value::Null;
        Some(frame::awareness(&states([&own])))
    }

    /// The frame that tells that all agents are gone.
    pub(crate) fn leave_all(&mut self) -> Option<Vec<u8>> {
        for own in self.agents.values_mut() {
            own.clock += 1;
            own.state = Value::Null;
        }
        let agents = std::mem::take(&mut self.agents);
        (!agents.is_empty()).then(|| frame::awareness(&states(agents.values())))
    }

    /// When [`Awareness::renew`] has something to tell.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.told.filter(|_| !self.agents.is_empty()).map(|told| told + RENEWAL)
    }

    /// All our states again, if it is time.
    pub(crate) fn renew(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.others.retain(|_, other| now.saturating_duration_since(other.seen) < BELIEVED);
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        self.tell(now)
    }

    /// All our states under new clocks: on a new connection, or when somebody asks.
    pub(crate) fn tell(&mut self, now: Instant) -> Option<Vec<u8>> {
        for own in self.agents.values_mut() {
            own.clock += 1;
        }
        self.told = Some(now);
        (!self.agents.is_empty()).then(|| frame::awareness(&states(self.agents.values())))
    }

    /// Takes the states that somebody tells. `None` if the bytes are none; whether one of ours was called gone.
    pub(crate) fn receive(&mut self, states: &[u8], now: Instant) -> Option<bool> {
        let mut reader = Reader(states);
        let mut is_denied = false;
        for _ in 0..reader.number()? {
            let (client, clock, state) = (reader.number()?, reader.number()?, reader.text()?);
            if let Some(own) = self.agents.values_mut().find(|own| own.client == client) {
                // Whoever says so takes us for dead. Only a newer clock tells otherwise.
                if clock >= own.clock && state == "null" {
                    own.clock = clock;
                    is_denied = true;
                }
                continue;
            }
            let known = self.others.get(&client);
            if known.is_some_and(|known| clock < known.clock || (clock == known.clock && state != "null")) {
                continue;
            }
            if known.is_some() || self.others.len() < MOST {
                let other = Other::new(clock, state, now, known);
                self.others.insert(client, other);
            }
        }
        Some(is_denied)
    }

    /// Where people are, the one who moved last first.
    pub(crate) fn positions(&self) -> Vec<Position> {
        let mut others: Vec<&Other> = self.others.values().collect();
        others.sort_by_key(|other| Reverse((other.moved, other.seen)));
        others.into_iter().filter_map(|other| other.position).collect()
    }
}

/// The state of an agent with what `JupyterLab` reads of it: `user` is an identity of Jupyter Server, and `cursors`
/// belongs to its editor's extension.
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
