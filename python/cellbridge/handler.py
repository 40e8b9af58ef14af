"""The HTTP handler for agents. Jupyter has authenticated the request; Rust answers it."""

from __future__ import annotations

import asyncio

from jupyter_server.base.handlers import APIHandler, JupyterHandler
from tornado import web
from tornado.iostream import StreamClosedError

from .user import credential, identity, permissions, user_key

# Headers that Tornado sets itself.
FRAMING = {"connection", "content-length", "transfer-encoding"}


class McpHandler(APIHandler):
    """Passes requests to Rust, and answers back as they arrive."""

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
        request = (self.request.method, path, identity(self), self.request.body)
        try:
            self._answer = self.extension.core().answer(loop, *request, user_key(self), credential(self), may)
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
            # The client has disconnected.
            self.on_connection_close()

    async def _permissions(self) -> tuple[bool, ...]:
        return await permissions(self)

    def _start(self, status: int, headers: list[tuple[str, str]]) -> None:
        self.set_status(status)
        self.clear_header("Content-Type")
        for name, value in headers:
            if name not in FRAMING:
                self.set_header(name, value)

    async def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        # Otherwise small events wait for acknowledgements, which clients delay.
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
        # APIHandler.finish would set the content type to JSON.
        self.update_api_activity()
        return super(APIHandler, self).finish(*arguments, **options)


class ViewHandler(McpHandler):
    """The page on which a person watches agents. Jupyter's login stands before all of it."""

    pattern = r"/cellbridge/view(/page\.js|/page\.css|/frame)?"

    @web.authenticated
    async def get(self, part: str | None) -> None:
        if not part:
            # Sets the cookie that the page's own requests repeat in a header.
            _ = self.xsrf_token
        await self._relay(f"/view{part or ''}")

    post = delete = JupyterHandler._unimplemented_method

    async def _permissions(self) -> tuple[bool, ...]:
        may = await super()._permissions()
        if not may[0]:
            raise web.HTTPError(403)
        return may

    def get_login_url(self) -> str:
        if self.path_args and self.path_args[0]:
            return super().get_login_url()
        # A person opens the page, so they see the form for the login instead of an error.
        return super(APIHandler, self).get_login_url()


class ViewDataHandler(ViewHandler):
    """What the page requests by its script."""

    pattern = r"/cellbridge/view(/events|/act)"

    @web.authenticated
    async def post(self, part: str) -> None:
        await self._relay(f"/view{part}")

    get = JupyterHandler._unimplemented_method
