"""Serves the server's own application a second time, on a Unix socket that only this user can open.

The same handlers, with the same checks, answer these requests and those from outside."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path

from jupyter_server.serverapp import ServerApp
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_unix_socket

# The shortest limit of any system for the path of a Unix socket.
MAX_PATH_BYTES = 100


class PrivateSocket:
    def __init__(self, serverapp: ServerApp) -> None:
        folder = tempfile.mkdtemp(prefix="cellbridge-")
        if len(folder) > MAX_PATH_BYTES - len("/jupyter"):
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
    # A forked child runs this as well when it exits.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
