"""Serves the server's own application a second time, where only this program's native part gets an answer: on a Unix socket that
only this user can open. On Windows, and where there are none, on a port of this machine, to requests that carry a secret.

The same handlers, with the same checks, answer these requests and those from outside."""

from __future__ import annotations

import hmac
import os
import secrets
import shutil
import socket
import tempfile
import weakref
from pathlib import Path
from typing import Any

from jupyter_server.serverapp import ServerApp
from tornado.httpserver import HTTPServer
from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    ResponseStartLine,
)

try:
    from tornado.netutil import bind_unix_socket
except ImportError:
    bind_unix_socket = None

# The shortest limit of any system for the path of a Unix socket.
MAX_PATH_BYTES = 100
# The header with the secret. The native part sets it, too.
SECRET = "X-Cellbridge-Secret"


class PrivateSocket:
    """Listens from now on. The native part finds it by its `address`."""

    address: dict[str, Any]

    def __init__(self, serverapp: ServerApp) -> None:
        self._remove = None
        # The native part for Windows knows no Unix sockets, even if this Python does.
        if os.name == "nt" or bind_unix_socket is None:
            secret = secrets.token_urlsafe(32)
            listener = listen_on_loopback()
            application = WithSecret(serverapp.web_app, secret)
            self.address = {"port": listener.getsockname()[1], "secret": secret}
        else:
            path = self._path_of_own_folder()
            listener = bind_unix_socket(path, mode=0o600)
            application = serverapp.web_app
            self.address = {"path": path}
        self._server = HTTPServer(
            application,
            xheaders=serverapp.trust_xheaders,
            max_body_size=serverapp.max_body_size,
            max_buffer_size=serverapp.max_buffer_size,
        )
        self._server.add_socket(listener)

    def _path_of_own_folder(self) -> str:
        folder = tempfile.mkdtemp(prefix="cellbridge-")
        if len(folder) > MAX_PATH_BYTES - len("/jupyter"):
            os.rmdir(folder)
            folder = tempfile.mkdtemp(prefix="cellbridge-", dir="/tmp")
        self._remove = weakref.finalize(self, remove, folder, os.getpid())
        return str(Path(folder, "jupyter"))

    async def close(self) -> None:
        self._server.stop()
        await self._server.close_all_connections()
        if self._remove is not None:
            self._remove()


def remove(folder: str, process: int) -> None:
    # A forked child runs this as well when it exits.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def listen_on_loopback() -> socket.socket:
    listener = socket.socket(socket.AF_INET)
    # On Windows, another program could share the port otherwise.
    exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)
    if exclusive is not None:
        listener.setsockopt(socket.SOL_SOCKET, exclusive, 1)
    listener.setblocking(False)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


class WithSecret(HTTPServerConnectionDelegate):
    """Passes requests on that carry the secret."""

    def __init__(self, application: HTTPServerConnectionDelegate, secret: str) -> None:
        self._application = application
        self._secret = secret.encode()

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        return Request(request_conn, self._application.start_request(server_conn, request_conn), self._secret)

    def on_close(self, server_conn: object) -> None:
        self._application.on_close(server_conn)


class Request(HTTPMessageDelegate):
    """One request, refused before any handler sees it unless it carries the secret."""

    def __init__(self, connection: HTTPConnection, application: HTTPMessageDelegate, secret: bytes) -> None:
        self._connection = connection
        self._application = application
        self._secret = secret

    def headers_received(self, start_line: Any, headers: HTTPHeaders) -> Any:
        # No handler and no log gets it.
        given = headers.pop(SECRET, "")
        if hmac.compare_digest(given.encode(), self._secret):
            return self._application.headers_received(start_line, headers)
        refusal = ResponseStartLine("HTTP/1.1", 403, "Forbidden")
        self._connection.write_headers(refusal, HTTPHeaders({"Content-Length": "0", "Connection": "close"}))
        self._connection.finish()
        return None

    def data_received(self, chunk: bytes) -> Any:
        return self._application.data_received(chunk)

    def finish(self) -> None:
        self._application.finish()

    def on_connection_close(self) -> None:
        self._application.on_connection_close()
