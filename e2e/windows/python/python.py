"""Starts a Python for Linux for `python.exe` under wine, and ends it with that; `python.c` says how they speak."""

import os
import select
import signal
import socket
import subprocess
import sys


def on_linux(word: str) -> str:
    """A path on the drive of wine that is this file system; any other word as it is."""
    return word[2:].replace("\\", "/") if word[:3].upper() in ("Z:\\", "Z:/") else word


def main() -> None:
    port, *arguments = sys.argv[1:]
    control, output, errors = (socket.create_connection(("127.0.0.1", int(port))) for _ in range(3))
    # On Windows these are numbers of handles.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("JPY_")}
    command = [sys.executable, *map(on_linux, arguments)]
    # A group of its own, because a kernel may start processes.
    python = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=variables, start_new_session=True
    )
    output.close()
    errors.close()
    ended = os.pidfd_open(python.pid)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(ended, select.POLLIN)
    while ended not in (ready := dict(poll.poll())):
        if control.fileno() in ready and not control.recv(1):
            os.killpg(python.pid, signal.SIGKILL)
            return
        if control.fileno() in ready:
            # As ipykernel does to itself on Windows: only the main thread of the kernel is interrupted.
            python.send_signal(signal.SIGINT)
    code = python.wait()
    # Windows has no signals.
    control.sendall(f"{code if code >= 0 else 128 - code}\n".encode())


main()
