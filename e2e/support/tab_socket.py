"""A Colab tab without a browser: the page's end of the WebSocket, for tests in which Chromium plays no part."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from e2e.support.browser import COLAB_ORIGIN
from e2e.support.program import TabAddress
from e2e.support.waiting import LONG

Json = dict[str, Any]


@dataclass
class Call:
    """A running tool call, as its handler sees it."""

    arguments: Json
    progress_token: Any
    notify: Callable[[str, Json], Awaitable[None]]
    offer: Callable[["Tool"], None]

    async def progress(self, done: float, total: float, message: str | None = None) -> None:
        if self.progress_token is None:
            return
        params = {"progressToken": self.progress_token, "progress": done, "total": total}
        await self.notify("notifications/progress", params | ({"message": message} if message else {}))


class JsonRpcError(Exception):
    """What a handler raises to answer with an error of the protocol."""


@dataclass
class Tool:
    """A tool of the tab: what `tools/list` says of it, and what a call answers."""

    definition: Json
    handle: Callable[[Call], Awaitable[Json]]


class TabSocket:
    """One connected tab: an MCP server over the WebSocket that it opened."""

    def __init__(self, socket: ClientConnection, tools: list[Tool]) -> None:
        self._socket = socket
        self._tools = {tool.definition["name"]: tool for tool in tools}
        self._running: set[asyncio.Task[None]] = set()
        self._received = asyncio.Condition()
        self.received: list[str] = []

    async def receives(self, method: str) -> None:
        """Waits until the program has sent a message of this method."""
        async with self._received, asyncio.timeout(LONG):
            await self._received.wait_for(lambda: method in self.received)

    async def serve(self) -> None:
        async for text in self._socket:
            message = json.loads(text)
            async with self._received:
                self.received.append(message.get("method", "response"))
                self._received.notify_all()
            if "id" in message and "method" in message:
                task = asyncio.create_task(self._answer(message))
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    async def _answer(self, request: Json) -> None:
        method, params = request["method"], request.get("params", {})
        if method == "initialize":
            result: Json = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "tab-socket", "version": "1.0.0"},
            }
        elif method == "tools/list":
            result = {"tools": [tool.definition for tool in self._tools.values()]}
        elif method == "tools/call" and params["name"] in self._tools:
            token = params.get("_meta", {}).get("progressToken")
            call = Call(params.get("arguments", {}), token, self._notify, self._offer)
            try:
                result = await self._tools[params["name"]].handle(call)
            except JsonRpcError as error:
                return await self._send({"id": request["id"], "error": {"code": -32603, "message": str(error)}})
        elif method == "ping":
            result = {}
        else:
            error = {"code": -32601, "message": f"Not offered: {method}"}
            return await self._send({"id": request["id"], "error": error})
        await self._send({"id": request["id"], "result": result})

    def forget(self) -> None:
        """Cancels the calls whose client is gone."""
        for task in self._running:
            task.cancel()

    def _offer(self, tool: Tool) -> None:
        self._tools[tool.definition["name"]] = tool

    async def _notify(self, method: str, params: Json) -> None:
        await self._send({"method": method, "params": params})

    async def _send(self, message: Json) -> None:
        await self._socket.send(json.dumps({"jsonrpc": "2.0", **message}))


@asynccontextmanager
async def tab_socket(address: TabAddress, tools: list[Tool]) -> AsyncIterator[TabSocket]:
    """Connects as Colab's page does, and answers until the block ends."""
    url = f"ws://localhost:{address.port}/?access_token={address.token}"
    async with connect(url, origin=Origin(COLAB_ORIGIN), subprotocols=[Subprotocol("mcp")], max_size=None) as socket:
        tab = TabSocket(socket, tools)
        serving = asyncio.create_task(tab.serve())
        try:
            yield tab
        finally:
            await socket.close()
            await serving
            tab.forget()
