//! Ports that no other program can share.

use std::io;
use std::os::windows::io::{AsRawSocket as _, AsSocket};

use windows_sys::Win32::Networking::WinSock::{
    SO_EXCLUSIVEADDRUSE, SOCKET, SOL_SOCKET, WSAGetLastError, setsockopt,
};

/// Call it before the socket is bound. Otherwise another program could listen on the same port, and get what is meant for this one.
pub fn make_exclusive(socket: &impl AsSocket) -> io::Result<()> {
    let raw = SOCKET::try_from(socket.as_socket().as_raw_socket()).map_err(io::Error::other)?;
    let is_on: i32 = 1;
    let size = i32::try_from(size_of_val(&is_on)).map_err(io::Error::other)?;
    // SAFETY: the socket is open, and the pointer and the size are those of the number that this option takes.
    let failed = unsafe { setsockopt(raw, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (&raw const is_on).cast(), size) };
    if failed == 0 {
        return Ok(());
    }
    // SAFETY: it only reads the error of this thread.
    Err(io::Error::from_raw_os_error(unsafe { WSAGetLastError() }))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use socket2::{Domain, Socket, Type};

    use super::*;

    fn socket() -> Socket {
        Socket::new(Domain::IPV4, Type::STREAM, None).unwrap()
    }

    #[test]
    fn nobody_shares_an_exclusive_port() {
        let first = socket();
        make_exclusive(&first).unwrap();
        first.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
        first.listen(1).unwrap();
        let second = socket();
        second.set_reuse_address(true).unwrap();
        assert!(second.bind(&first.local_addr().unwrap()).is_err());
    }
}
