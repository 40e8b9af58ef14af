"""How agents of the soak reach the program, and how they vanish."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from typing import Any

import httpx

from e2e.support.http_client import HttpClient, SessionEndedError
from e2e.support.notebook_files import Json
from e2e.support.soak.agent import ServerKilledError, SoakAgent
from e2e.support.soak.shared_places import HttpServer, SharedPlace
from e2e.support.stdio_client import StdioClient, stdio_client
from e2e.support.waiting import LONG


class HttpAgent(SoakAgent):
    def __init__(self, name: str, place: SharedPlace, server: HttpServer, seed: int) -> None:
        super().__init__(name, place, seed)
        self.server = server

    async def connect(self) -> None:
        async with asyncio.timeout(LONG):
            await self.server.is_up.wait()
        self._life = self.server.life
        self._client = HttpClient(self.server.url)
        await self._unless_killed(self._client.initialize())

    async def ask(self, method: str, params: Json) -> Json:
        return await self._unless_killed(self._client.ask(method, params))

    @property
    def heard(self) -> list[Json]:
        return self._client.heard

    async def die(self, working: asyncio.Task[None]) -> None:
        working.cancel()
        await asyncio.wait({working})
        await self._client.vanish()

    async def leave(self) -> None:
        await self._unless_killed(self._client.leave())

    async def _unless_killed(self, answer: Any) -> Any:
        try:
            async with asyncio.timeout(LONG):
                return await answer
        except (httpx.TransportError, SessionEndedError) as error:
            if self.server.life == self._life:
                raise
            raise ServerKilledError from error


class StdioAgent(SoakAgent):
    async def connect(self) -> None:
        self._stack = AsyncExitStack()
        self._client: StdioClient = await self._stack.enter_async_context(
            stdio_client(self.place.launch(), own_group=True)
        )
        await self._client.initialize()

    async def ask(self, method: str, params: Json) -> Json:
        return await self._client.ask(method, params)

    @property
    def heard(self) -> list[Json]:
        return self._client.heard

    async def die(self, working: asyncio.Task[None]) -> None:
        process = self._client.process.pid
        os.kill(self.chance.choice([process, -process]), signal.SIGKILL)
        await self._client.ended()
        await asyncio.wait({working})
        await self._stack.aclose()

    async def leave(self) -> None:
        self._client.end_input()
        assert await self._client.ended() == 0
        await self._stack.aclose()
