//! The port that tabs connect to, on both loopback addresses.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Socket, Type};

/// The reason why the port could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another program uses the port.
    #[error(
        "port {port} on {} is in use by another program (an earlier cellbridge perhaps); stop that \
         program, choose another port, or leave it out to use a free one",
        .address.ip()
    )]
    InUse {
        /// The port that was asked for.
        port: u16,
        /// The loopback address on which it is taken.
        address: SocketAddr,
    },
    #[error("cannot listen on {address}: {source}")]
    Refused {
        /// The address that was tried.
        address: SocketAddr,
        source: io::Error,
    },
    /// No port was free on both addresses.
    #[error("found no port that is free on both 127.0.0.1 and ::1; choose one yourself")]
    NoneFree,
}

/// The number of free ports of one address that are tried on the other.
const MAX_ATTEMPTS: usize = 32;

/// Listening sockets on 127.0.0.1 and, if the host has IPv6, on `::1`, with the same port.
///
/// The page connects to `localhost`, which browsers resolve to `::1` first: another program listening there on this
/// port would receive the token.
pub struct Listener {
    pub(crate) sockets: Vec<std::net::TcpListener>,
    port: u16,
}

impl Listener {
    /// Listens on `port`, or on a free port for 0.
    pub fn bind(port: u16) -> Result<Self, BindError> {
        if port != 0 {
            return Self::bind_both(port);
        }
        for _ in 0..MAX_ATTEMPTS {
            match Self::bind_both(0) {
                Err(BindError::InUse { .. }) => {}
                other => return other,
            }
        }
        Err(BindError::NoneFree)
    }

    /// The port in use.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it listens on `::1` too.
    pub fn has_ipv6(&self) -> bool {
        self.sockets.len() > 1
    }

    fn bind_both(port: u16) -> Result<Self, BindError> {
        let v4 = open((Ipv4Addr::LOCALHOST, port).into())?;
        let address = v4
            .local_addr()
            .map_err(|source| BindError::Refused { address: (Ipv4Addr::LOCALHOST, port).into(), source })?;
        let port = address.port();
        let mut sockets = vec![v4];
        match open((Ipv6Addr::LOCALHOST, port).into()) {
            Ok(v6) => sockets.push(v6),
            Err(in_use @ BindError::InUse { .. }) => return Err(in_use),
            // The host has no IPv6, or it is switched off.
            Err(error) => tracing::debug!(%error, "listening on IPv4 only"),
        }
        Ok(Self { sockets, port })
    }
}

fn open(address: SocketAddr) -> Result<std::net::TcpListener, BindError> {
    let listening = || -> io::Result<std::net::TcpListener> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        // On Windows, this option would let two programs share the port; another one prevents it.
        #[cfg(unix)]
        socket.set_reuse_address(true)?;
        #[cfg(windows)]
        windows::make_exclusive(&socket)?;
        socket.bind(&address.into())?;
        socket.listen(128)?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    };
    listening().map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse { port: address.port(), address },
        _ => BindError::Refused { address, source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_addresses_have_the_same_port() {
        let listener = Listener::bind(0).unwrap();
        for socket in &listener.sockets {
            assert_eq!(socket.local_addr().unwrap().port(), listener.port());
            assert!(socket.local_addr().unwrap().ip().is_loopback());
        }
    }

    #[test]
    fn an_error_names_the_port_in_use() {
        let first = Listener::bind(0).unwrap();
        let Err(error) = Listener::bind(first.port()) else { panic!("the port was opened twice") };
        assert!(error.to_string().contains(&format!("port {}", first.port())), "{error}");
    }

    #[test]
    fn a_port_taken_on_one_address_only_is_in_use() {
        let taken = std::net::TcpListener::bind("[::1]:0");
        // Nothing to test on a host without IPv6.
        let Ok(taken) = taken else { return };
        let port = taken.local_addr().unwrap().port();
        assert!(matches!(Listener::bind(port), Err(BindError::InUse { .. })));
    }
}
