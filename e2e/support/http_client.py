"""A session at the program over HTTP: JSON-RPC by hand, for an agent that may vanish in the middle of a call."""

import asyncio
import itertools
import json
from typing import Any

import httpx

from e2e.support.waiting import LONG

_REVISION = "2025-11-25"


class SessionEndedError(Exception):
    """The server does not know the session: it is a new process."""


class HttpClient:
    def __init__(self, url: str, name: str = "bare") -> None:
        self.url = url
        self.name = name
        # What the server has sent before the answer of the latest request.
        self.heard: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)
        self._headers = {"Accept": "application/json, text/event-stream"}
        # A context for TLS takes longer than a request.
        self._http = httpx.AsyncClient(verify=False, trust_env=False, timeout=LONG)

    async def initialize(self) -> dict[str, Any]:
        given = {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": {"name": self.name, "version": "1"}}
        result = await self.ask("initialize", given)
        self._headers["Mcp-Protocol-Version"] = _REVISION
        body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        answer = await self._http.post(self.url, headers=self._headers, json=body)
        if answer.status_code == httpx.codes.NOT_FOUND:
            raise SessionEndedError
        assert answer.is_success, answer.text
        return result

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.heard = []
        return await self._ask(method, params)

    async def send(self, method: str, params: dict[str, Any]) -> asyncio.Task[dict[str, Any]]:
        """Sends a request, which has arrived when the server starts to answer; its answer comes later."""
        arrived = asyncio.Event()
        answer = asyncio.create_task(self._ask(method, params, arrived))
        await asyncio.wait([answer, waiting := asyncio.create_task(arrived.wait())], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        return answer

    async def _ask(self, method: str, params: dict[str, Any], arrived: asyncio.Event | None = None) -> dict[str, Any]:
        number = next(self._numbers)
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        async with self._http.stream("POST", self.url, headers=self._headers, json=body) as stream:
            if arrived:
                arrived.set()
            if stream.status_code == httpx.codes.NOT_FOUND:
                raise SessionEndedError
            assert stream.is_success, f"{stream.status_code}: {(await stream.aread()).decode()}"
            if session := stream.headers.get("mcp-session-id"):
                self._headers["Mcp-Session-Id"] = session
            async for line in stream.aiter_lines():
                field, _, value = line.partition(":")
                if field != "data" or not value.strip():
                    continue
                said = json.loads(value)
                if said.get("id") == number:
                    assert "error" not in said, said
                    return said["result"]
                self.heard.append(said)
        raise AssertionError(f"the stream of {method} ended without an answer")

    async def vanish(self) -> None:
        """Closes the connection without a word."""
        await self._http.aclose()

    async def leave(self) -> None:
        """Ends the session as a client does."""
        await self._http.delete(self.url, headers=self._headers)
        await self._http.aclose()
