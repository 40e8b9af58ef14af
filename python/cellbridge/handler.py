"""The way in for agents. Whoever gets this far was let in by Jupyter; what is asked and answered is Rust's business."""

from __future__ import annotations

import asyncio

from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import ensure_async
from tornado import web
from tornado.iostream import StreamClosedError

from .user import identity, user_key

# The server's own: Tornado frames bodies itself.
FRAMING = {"connection", "content-length", "transfer-encoding"}


class McpHandler(APIHandler):
    """Hands requests to Rust, and answers back as they come."""

    pattern = r"/mcp(/healthz|/tools/list|/tools/call)?/?"
    auth_resource = "cellbridge"

    _answer = None
    _stream = None

    def initialize(self, extension) -> None:
        self.extension = extension

    @web.authenticated
    async def get(self, part: str | None) -> None:
        await self._relay(f"/mcp{part or ''}")

    post = delete = get

    async def _relay(self, path: str) -> None:
        may = await self._permissions()
        loop = asyncio.get_running_loop()
        asked = (self.request.method, path, identity(self), self.request.body, user_key(self), may)
        try:
            self._answer = self.extension.core().answer(loop, *asked)
        except RuntimeError as error:
            raise web.HTTPError(503, str(error)) from None
        try:
            status, headers, body, self._stream = await self._answer
            self._start(status, headers)
            if body:
                self.write(body)
            if self._stream is not None:
                await self._send(loop)
        except (asyncio.CancelledError, StreamClosedError):
            # The client has gone.
            self.on_connection_close()

    async def _permissions(self) -> tuple[bool, ...]:
        """What the authorizer lets this user do: read, write, execute, see kernels."""
        own = self.auth_resource
        # Kernels are spoken to directly, past the handlers that would ask.
        kernels = "kernels"
        asked = (("read", own), ("write", own), ("read", kernels), ("execute", own), ("execute", kernels))
        read, write, sees_kernels, *execute = [
            bool(await ensure_async(self.authorizer.is_authorized(self, self.current_user, *what)))
            for what in asked
        ]
        if not (read or write or all(execute)):
            raise web.HTTPError(403)
        return read, write, all(execute), sees_kernels

    def _start(self, status: int, headers: list[tuple[str, str]]) -> None:
        self.set_status(status)
        self.clear_header("Content-Type")
        for name, value in headers:
            if name not in FRAMING:
                self.set_header(name, value)

    async def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        # Small events would wait for acknowledgements that clients delay.
        self.request.connection.stream.set_nodelay(True)
        await self.flush()
        while (chunk := await self._stream.next(loop)) is not None:
            self.write(chunk)
            await self.flush()

    def on_connection_close(self) -> None:
        if self._answer is not None:
            self._answer.cancel()
        if self._stream is not None:
            self._stream.close()

    def compute_etag(self) -> None:
        return None

    def finish(self, *arguments, **options):
        # APIHandler says that whatever it sends is JSON.
        self.update_api_activity()
        return super(APIHandler, self).finish(*arguments, **options)
