"""A network of our own, in which there is nothing but loopback."""

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

_CLONE_NEWUSER, _CLONE_NEWNET = 0x1000_0000, 0x4000_0000
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def isolate() -> bool:
    """Moves this process, and all that it starts from now on, into such a network; false where that is not allowed."""
    user, group = os.getuid(), os.getgid()
    unshare = ctypes.CDLL(None).unshare
    if unshare(_CLONE_NEWNET):
        # Who is not root may do it in a user namespace, if the system has them.
        if unshare(_CLONE_NEWUSER | _CLONE_NEWNET):
            return False
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))
    return True
