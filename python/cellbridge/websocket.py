"""MCP over WebSocket, at the address of the HTTP handler. Jupyter has authenticated the handshake; Rust serves the session."""

from __future__ import annotations

import asyncio

from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado import web
from tornado.httputil import HTTPServerRequest
from tornado.routing import PathMatches
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from .user import credential, identity, permissions, user_key

# Seconds that a client may take to read a message.
SEND_TIMEOUT = 60


class WebSocketRequest(PathMatches):
    """A request that asks for a WebSocket; others of the path go to the HTTP handler."""

    def match(self, request: HTTPServerRequest) -> dict | None:
        is_websocket = request.headers.get("Upgrade", "").lower() == "websocket" and request.method == "GET"
        return super().match(request) if is_websocket else None


class McpSocketHandler(WebSocketMixin, WebSocketHandler, JupyterHandler):
    """One session, which ends with its socket. Jupyter's base class pings, and ends a silent one."""

    pattern = r"/mcp/?"
    auth_resource = "cellbridge"
    # As for the body of a request.
    max_message_size = 256 * 1024 * 1024

    _track_activity = True
    _session = None

    def initialize(self, extension) -> None:
        self.extension = extension

    @web.authenticated
    async def get(self) -> None:
        # Calls arrive here too, which over HTTP need the XSRF token if the user is known by a cookie.
        self.check_xsrf_cookie()
        self._may = await permissions(self)
        loop = asyncio.get_running_loop()
        user = (identity(self), user_key(self), credential(self))
        try:
            self._session = self.extension.core().open_socket(loop, *user, self._may)
        except RuntimeError as error:
            raise web.HTTPError(503, str(error)) from None
        if self._session is None:
            self.set_status(503)
            self.set_header("Retry-After", "1")
            self.finish("too many MCP sessions\n")
            return
        try:
            await super().get()
        finally:
            # Also if the handshake fails.
            self._session.close()

    def get_login_url(self) -> str:
        raise web.HTTPError(403)

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        if subprotocols and "mcp" not in subprotocols:
            raise web.HTTPError(400, "the subprotocol of MCP is `mcp`")
        return "mcp" if subprotocols else None

    def open(self) -> None:
        super().open()
        # Otherwise small messages wait for acknowledgements, which clients delay.
        self.set_nodelay(True)
        self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while (message := await self._session.next(loop)) is not None:
                await asyncio.wait_for(self.write_message(message), SEND_TIMEOUT)
        except (WebSocketClosedError, asyncio.TimeoutError):
            # The client has disconnected, or does not read.
            pass
        self.close()

    async def on_message(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            return
        APIHandler.update_api_activity(self)
        if await permissions(self) != self._may:
            # The session was opened with other rights.
            self.close()
            return
        # The next message is read when this one is taken.
        await self._session.send(asyncio.get_running_loop(), message)

    def on_close(self) -> None:
        self._session.close()
