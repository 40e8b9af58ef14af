"""The proxy before a machine's Jupyter server: it looks at the head of each request, and passes bodies on unread."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode

from e2e.support.jupyter_server import TOKEN as SERVER_TOKEN
from e2e.support.waiting import LONG

TOKEN = "x-colab-runtime-proxy-token"
QUERY_TOKEN = "colab-runtime-proxy-token"
# What some answers of the machine start with, so that no page can run them as a script.
XSSI = ")]}'\n"
_Result = TypeVar("_Result")
_PIECE = 1 << 18
_LARGEST_HEAD = 1 << 16
_BODY_LIMIT = 512 << 20
_RESOURCES = {
    "memory": {"totalBytes": 13_600_000_000, "freeBytes": 12_000_000_000},
    "disks": [{"filesystem": {"label": "kernel", "totalBytes": 115_000_000_000, "usedBytes": 41_000_000_000}}],
    "gpus": [],
}


@dataclass
class ProxyRequest:
    """The head of a request."""

    method: str
    path: str
    query: list[tuple[str, str]]
    headers: list[tuple[str, str]]

    @classmethod
    def parse(cls, head: bytes) -> "ProxyRequest":
        first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        method, target, _ = first.split(" ")
        path, _, query = target.partition("?")
        headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        return cls(method, path, parse_qsl(query, keep_blank_values=True), headers)

    def header(self, name: str) -> str | None:
        return next((value for given, value in self.headers if given == name), None)

    @property
    def is_upgrade(self) -> bool:
        return (self.header("upgrade") or "").lower() == "websocket"

    @property
    def token(self) -> str | None:
        return self.header(TOKEN) or dict(self.query).get(QUERY_TOKEN)

    def forwarded(self) -> bytes:
        """The head for the server: with its token, and for one request only, so that each is seen here."""
        query = [(name, value) for name, value in self.query if name != QUERY_TOKEN]
        target = self.path + (f"?{urlencode(query)}" if query else "")
        dropped = {TOKEN, "origin"} | (set() if self.is_upgrade else {"connection"})
        lines = [f"{name}: {value}" for name, value in self.headers if name not in dropped]
        lines += [f"authorization: token {SERVER_TOKEN}", *([] if self.is_upgrade else ["connection: close"])]
        return "\r\n".join([f"{self.method} {target} HTTP/1.1", *lines, "", ""]).encode("latin-1")


class MachineProxy:
    """Listens from the beginning. Its attributes may be changed at any time."""

    def __init__(
        self, accepts: Callable[[str | None], bool], port_of_server: Callable[[], Awaitable[int]], violations: list[str]
    ) -> None:
        self._accepts, self._port_of_server = accepts, port_of_server
        self.violations = violations
        self.requests: list[ProxyRequest] = []
        # What a request without a valid token is answered with: 404, or 401.
        self.denial = 404
        # What the next requests with a valid token are answered with, while the machine boots.
        self.boot: list[int] = []
        # Called for each request with a valid token, in the thread of the proxies; a status refuses the request.
        self.watch: Callable[[ProxyRequest], int | None] = lambda _: None
        self.refuses_sockets = False
        self.body_limit = _BODY_LIMIT
        # Where another program than the server serves files.
        self.port_of_files: int | None = None
        # Whether other programs than ours may send the token in the address.
        self.allows_query_token = False
        self._open: set[asyncio.StreamWriter] = set()
        self._sockets: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = _proxy_loop()
        self._listener = self._run(asyncio.start_server(self._accepted, "127.0.0.1", 0, limit=_LARGEST_HEAD))
        self.port: int = self._listener.sockets[0].getsockname()[1]

    @property
    def open_sockets(self) -> int:
        """How many WebSockets are open."""
        return len(self._sockets)

    def count(self, method: str, path: str = "") -> int:
        """How many requests there were, by a method and a part of the path."""
        return sum(each.method == method and path in each.path for each in self.requests)

    def drop_sockets(self) -> None:
        """Resets every WebSocket; new ones are accepted."""
        self._run(self._abort(self._sockets))

    def drop(self) -> None:
        """Resets every connection."""
        self._run(self._abort(self._open))

    def close(self) -> None:
        self._run(self._close())

    async def _close(self) -> None:
        self._listener.close()
        await self._abort(self._open)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _abort(self, writers: set[asyncio.StreamWriter]) -> None:
        for writer in list(writers):
            writer.transport.abort()

    def _run(self, work: Awaitable[_Result]) -> _Result:
        async def awaited() -> _Result:
            return await work

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result(LONG)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self._open.add(writer)
        try:
            # The client may go at any time.
            with suppress(OSError, EOFError):
                await self._serve(reader, writer)
        finally:
            self._tasks.discard(task)
            self._open.discard(writer)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = ProxyRequest.parse(await reader.readuntil(b"\r\n\r\n"))
        self.requests.append(request)
        status = self._refusal(request)
        if status is not None:
            # Elsewhere, where the token must not go.
            location = f"http://localhost:{self.port}/followed" if 300 <= status < 400 else None
            await _answer(reader, writer, status, f"<!DOCTYPE html><title>Error {status}</title>", location=location)
        elif request.path == "/api/colab/resources":
            await _answer(reader, writer, 200, XSSI + json.dumps(_RESOURCES), kind="application/json")
        else:
            await self._relay(request, reader, writer)

    def _refusal(self, request: ProxyRequest) -> int | None:
        """The status of a request that does not get to the server."""
        if problem := self._violation(request):
            self.violations.append(f"{problem}: {request.method} {request.path}")
            return 400
        if not self._accepts(request.token):
            return self.denial
        if (status := self.watch(request)) is not None:
            return status
        if self.boot:
            return self.boot.pop(0)
        if request.is_upgrade and self.refuses_sockets:
            return 404
        return 413 if int(request.header("content-length") or 0) > self.body_limit else None

    def _violation(self, request: ProxyRequest) -> str | None:
        """What no client may send here."""
        authorization, origin = request.header("authorization"), request.header("origin")
        if authorization is not None:
            return f"an Authorization header of the kind {authorization.split()[0]}"
        if origin is not None and origin != f"http://127.0.0.1:{self.port}":
            return "a foreign Origin"
        if request.header("sec-websocket-protocol") is not None:
            return "a subprotocol"
        if request.header(TOKEN) is not None and request.header("x-colab-client-agent") is None:
            return "no client agent"
        if request.path == "/followed":
            return "a redirect was followed"
        if request.path.startswith(("/api/terminals", "/terminals", "/colab/tty")):
            return "a terminal"
        if not self.allows_query_token and QUERY_TOKEN in dict(request.query):
            return "a token in the address"
        return None

    async def _relay(self, request: ProxyRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = await self._port_of_server()
        if self.port_of_files and request.path.startswith(("/api/contents", "/files")):
            port = self.port_of_files
        if not self._accepts(request.token):
            # The machine has ended while its server started.
            return await _answer(reader, writer, self.denial, "")
        try:
            there, back = await asyncio.open_connection("127.0.0.1", port, limit=_PIECE)
        except OSError:
            return await _answer(reader, writer, 502, "")
        self._open.add(back)
        if request.is_upgrade:
            self._sockets.add(writer)
        back.write(request.forwarded())
        down = asyncio.create_task(_pump(there, writer))
        up = asyncio.create_task(_pump(reader, back, None if request.is_upgrade else self.body_limit))
        try:
            # A server that has answered needs no more of the request. A client that has gone needs no answer.
            await asyncio.wait([down, up] if request.is_upgrade else [down], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._sockets.discard(writer)
            self._open.discard(back)
            back.close()
            for pump in (up, down):
                pump.cancel()
            await asyncio.gather(up, down, return_exceptions=True)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, limit: int | None = None) -> None:
    """Passes on what comes, until the end or `limit` bytes."""
    passed = 0
    with suppress(OSError):
        while read := await source.read(_PIECE):
            passed += len(read)
            if limit is not None and passed > limit:
                # A body without a length is as long as this shows.
                sink.transport.abort()
                return
            sink.write(read)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()


async def _answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    status: int,
    text: str,
    kind: str = "text/html",
    location: str | None = None,
) -> None:
    """Answers, and reads what the client still sends: with unread bytes, closing would be a reset that loses the answer."""
    redirect = f"location: {location}\r\n" if location else ""
    body = text.encode()
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n"
    writer.write(f"{head}{redirect}connection: close\r\n\r\n".encode() + body)
    await writer.drain()
    writer.write_eof()
    with suppress(TimeoutError):
        async with asyncio.timeout(10):
            while await reader.read(_PIECE):
                pass


_loops: list[asyncio.AbstractEventLoop] = []


def _proxy_loop() -> asyncio.AbstractEventLoop:
    """The loop of all proxies, in a thread of its own."""
    if not _loops:
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, name="proxies of machines", daemon=True).start()
        _loops.append(loop)
    return _loops[0]
