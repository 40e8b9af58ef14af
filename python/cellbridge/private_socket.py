"""The server's own application once more, on a socket that only this process can open.

Requests made there meet the same handlers, with the same checks, as those from outside."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path

from jupyter_server.serverapp import ServerApp
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_unix_socket

# What the address of a Unix socket may hold, on the system that allows least.
LONGEST = 100


class PrivateSocket:
    def __init__(self, serverapp: ServerApp) -> None:
        folder = tempfile.mkdtemp(prefix="cellbridge-")
        if len(folder) > LONGEST - len("/jupyter"):
            os.rmdir(folder)
            folder = tempfile.mkdtemp(prefix="cellbridge-", dir="/tmp")
        self._remove = weakref.finalize(self, remove, folder, os.getpid())
        self.path = str(Path(folder, "jupyter"))
        self._server = HTTPServer(
            serverapp.web_app,
            xheaders=serverapp.trust_xheaders,
            max_body_size=serverapp.max_body_size,
            max_buffer_size=serverapp.max_buffer_size,
        )
        self._server.add_socket(bind_unix_socket(self.path, mode=0o600))

    async def close(self) -> None:
        self._server.stop()
        await self._server.close_all_connections()
        self._remove()


def remove(folder: str, process: int) -> None:
    # A forked child ends, too.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
