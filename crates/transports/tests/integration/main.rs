//! Clients and a fake kernel on real sockets.

// All of it is marked as test code, so that the lints let it unwrap.
#[cfg(test)]
mod asking;
#[cfg(test)]
mod ending;
#[cfg(test)]
mod events;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod probing;
#[cfg(test)]
mod resuming;
#[cfg(test)]
mod running;
#[cfg(test)]
mod server;
#[cfg(test)]
mod starting;
#[cfg(test)]
mod websocket;
