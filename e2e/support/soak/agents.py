"""Agents that work in notebooks at the same time, each on cells of its own, and are killed now and then."""

import asyncio
import itertools
import json
import os
import random
import re
import signal
from abc import ABC, abstractmethod
from contextlib import AsyncExitStack
from typing import Any

import httpx

from e2e.support.http_client import HttpClient, SessionEndedError
from e2e.support.notebook_client import run_id
from e2e.support.notebook_files import Json, printed
from e2e.support.soak.known_cells import NAME, KnownCell, Runs, check_cells, outputs, source
from e2e.support.soak.shared_places import HttpServer, SharedPlace
from e2e.support.stdio_client import ProgramEndedError, StdioClient, stdio_client
from e2e.support.waiting import LONG

# How many cells an agent has at most.
MOST_CELLS = 4
# One in so many steps is cut.
STEPS_IN_A_LIFE = 12
# When it is cut at the latest, in seconds.
LATEST = 0.6
# Tools that show cells of others.
_SHOW_ALL = {"insert_cell"}


class ServerKilledError(Exception):
    """The server was killed, and with it the session."""


class SoakAgent(ABC):
    """Knows what its cells must look like, and compares each answer with that."""

    def __init__(self, name: str, place: SharedPlace, seed: int) -> None:
        self.name = name
        self.place = place
        self.counts = place.counts
        self.chance = random.Random(f"{seed} {name}")
        self.cells: list[KnownCell] = []
        # Insertions that were not answered, and were not seen since.
        self.unseen: list[KnownCell] = []
        self.deleted: set[str] = set()
        self.runs = Runs()
        self.is_connected = False
        self._calls = itertools.count(1)
        self._numbers = itertools.count(1)

    @abstractmethod
    async def connect(self) -> None: ...

    @abstractmethod
    async def ask(self, method: str, params: Json) -> Json: ...

    @property
    @abstractmethod
    def heard(self) -> list[Json]: ...

    @abstractmethod
    async def die(self, working: asyncio.Task[None]) -> None:
        """Ends as a killed agent does, in the middle of a step."""

    @abstractmethod
    async def leave(self) -> None: ...

    async def step(self) -> None:
        """One action, or the beginning of a life, or an end in the middle of an action."""
        try:
            if not self.is_connected:
                await self.connect()
                self.is_connected = True
                await self.read_all()
            elif self.chance.random() < 1 / STEPS_IN_A_LIFE:
                await self._is_killed()
            else:
                await self._act()
        except ServerKilledError:
            self.counts["calls cut by killed servers"] += 1
            self.is_connected = False

    async def _is_killed(self) -> None:
        self.counts["agents killed"] += 1
        working = asyncio.create_task(self._act())
        # The moment is random, and not one that could be waited for.
        await asyncio.wait({working}, timeout=self.chance.uniform(0, LATEST))
        self.is_connected = False
        await self.die(working)
        if not working.cancelled():
            try:
                await working
            except (ProgramEndedError, ServerKilledError, ConnectionError):
                pass

    async def _act(self) -> None:
        there = [cell for cell in self.cells if not cell.may_be_deleted]
        doubtful = [cell for cell in self.cells if cell.may_be_deleted]
        if doubtful:
            return await self.delete(doubtful[0])
        if not there or len(there) < MOST_CELLS and self.chance.random() < 0.3:
            return await self.insert()
        cell = self.chance.choice(there)
        actions = [self.overwrite, self.overwrite, self.run, self.run, self.run, self.read, self.delete]
        if self.chance.random() < 0.15:
            return await self.read_all()
        await self.chance.choice(actions)(cell)

    async def insert(self) -> None:
        cell = KnownCell(f"{self.name}-c{next(self._numbers)}", self.chance.choice(self.place.paths))
        self.unseen.append(cell)
        text = await self.do(
            "insert_cell",
            cell,
            cell_index=self.chance.choice([0, -1]),
            cell_type="code",
            cell_source=source(cell.mark, 1),
        )
        found = re.search(r"\bid ([\w-]+)", text)
        assert found, text
        self.unseen.remove(cell)
        cell.id = found[1]
        self.cells.append(cell)
        self.counts["edits"] += 1

    async def overwrite(self, cell: KnownCell) -> None:
        was_in_doubt = cell.is_in_doubt
        is_error, text = await self.call("overwrite_cell_source", cell, cell_id=cell.id, cell_source=cell.next_source())
        if is_error:
            assert was_in_doubt and "changed since" in text, f"{cell}: {text}"
            self.counts["edits refused"] += 1
            cell.sources.discard(cell.newest)
            return await self.read(cell)
        cell.edited()
        self.counts["edits"] += 1

    async def run(self, cell: KnownCell) -> None:
        cell.begin_run()
        self.runs.begun.update(f"{cell.mark}-v{version}" for version in cell.sources)
        text = await self.do("execute_cell", cell, cell_id=cell.id)
        while re.search(r"^\[(QUEUED|STILL RUNNING) after", text, re.MULTILINE):
            text = await self.do("get_run", None, run_id=run_id(text), wait_seconds=50)
        assert "[COMPLETED" in text and cell.id in text, f"{cell}: {text}"
        version = cell.ran(text)
        self.runs.ended[f"{cell.mark}-v{version}"] += 1
        self.counts["runs"] += 1

    async def read(self, cell: KnownCell) -> None:
        text = await self.do("read_cell", cell, cell_id=cell.id)
        _, _, content = text.partition("=====\n")
        version = next((each for each in cell.sources if content.startswith(source(cell.mark, each))), None)
        assert version is not None, f"{cell}: {text}"
        shown = content.removeprefix(source(cell.mark, version))
        lines = [line for line in shown.splitlines() if line.startswith(cell.mark)]
        cell.check(source(cell.mark, version), "".join(f"{line}\n" for line in lines))
        self.counts["reads"] += 1

    async def delete(self, cell: KnownCell) -> None:
        was_in_doubt, cell.may_be_deleted = cell.is_in_doubt, True
        given = {"cell_ids_to_delete": [cell.id], "include_source": False}
        is_error, text = await self.call("delete_cell", cell, **given)
        if is_error and "changed since" in text:
            assert was_in_doubt, f"{cell}: {text}"
            return await self.read(cell)
        assert not is_error or was_in_doubt and "No cell is called" in text, f"{cell}: {text}"
        self.cells.remove(cell)
        self.deleted.add(cell.id)
        self.counts["edits"] += 1

    async def read_all(self) -> None:
        """All cells of all notebooks in which it works."""
        for path in sorted({cell.path for cell in [*self.cells, *self.unseen]}):
            result = await self.ask("resources/read", {"uri": f"notebook://{path}"})
            [content] = result["contents"]
            self.compare(path, json.loads(content["text"])["cells"])
            self.counts["reads"] += 1

    def compare(self, path: str, cells: list[Json], *, is_final: bool = False) -> None:
        """Every cell is as the agent knows it."""
        found = check_cells(cells, self.place.names)
        here = {mark: cell for mark, cell in found.items() if mark.startswith(f"{self.name}-")}
        for cell in [each for each in self.unseen if each.path == path and each.mark in here]:
            cell.id = here[cell.mark]["id"]
            self.unseen.remove(cell)
            self.cells.append(cell)
        for cell in [each for each in self.cells if each.path == path]:
            if (now := here.pop(cell.mark, None)) is None:
                assert cell.may_be_deleted, f"{cell} is not there"
                self.cells.remove(cell)
                self.deleted.add(cell.id)
                continue
            assert now["id"] == cell.id
            cell.check("".join(now["source"]), printed(now), is_final=is_final)
        assert not here, f"{self.name} does not know of {here}; it deleted {self.deleted}"

    async def do(self, tool: str, cell: KnownCell | None, **given: Any) -> str:
        is_error, text = await self.call(tool, cell, **given)
        assert not is_error, f"{tool}({given}): {text}"
        return text

    async def call(self, tool: str, cell: KnownCell | None, **given: Any) -> tuple[bool, str]:
        """Calls a tool; whether it failed, and the text of its answer, which is about this agent only."""
        if cell:
            given["notebook_name"] = cell.path
        self.counts["calls"] += 1
        token = f"{self.name} {next(self._calls)}"
        params = {"name": tool, "arguments": given, "_meta": {"progressToken": token}}
        result = await self.ask("tools/call", params)
        text = "\n".join(block["text"] for block in result["content"])
        is_error = result.get("isError", False)
        # An error may name other cells that could be meant.
        if tool not in _SHOW_ALL and not is_error:
            assert set(NAME.findall(text)) <= {self.name}, f"{tool}({given}) of {self.name}: {text}"
        for said in self.heard:
            if said.get("method") == "notifications/progress":
                assert said["params"]["progressToken"] == token, f"{token}: {said}"
                assert set(NAME.findall(said["params"].get("message", ""))) <= {self.name}, f"{token}: {said}"
        return is_error, text


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
        await self._client.leave()

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
