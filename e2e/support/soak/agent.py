"""An agent that works on cells of its own in shared notebooks, and is killed now and then."""

import asyncio
import itertools
import json
import random
import re
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any

from e2e.support.notebook_files import Json, printed
from e2e.support.soak.known_cells import MISSING, NAME, KnownCell, Runs, check_cells, says_missing, source
from e2e.support.soak.shared_places import SharedPlace
from e2e.support.stdio_client import ProgramEndedError

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

    async def finish(self) -> None:
        if self.is_connected:
            with suppress(ServerKilledError):
                await self.leave()

    async def _is_killed(self) -> None:
        self.counts["agents killed"] += 1
        working = asyncio.create_task(self._act())
        # The moment is random, and not one that could be waited for.
        await asyncio.wait({working}, timeout=self.chance.uniform(0, LATEST))
        self.is_connected = False
        await self.die(working)
        if not working.cancelled():
            with suppress(ProgramEndedError, ServerKilledError):
                await working

    async def _act(self) -> None:
        there = [cell for cell in self.cells if not cell.may_be_deleted]
        doubtful = [cell for cell in self.cells if cell.may_be_deleted]
        if doubtful:
            await self.delete(doubtful[0])
        elif not there or len(there) < MOST_CELLS and self.chance.random() < 0.3:
            await self.insert()
        elif self.chance.random() < 0.15:
            await self.read_all()
        else:
            actions = [self.overwrite, self.overwrite, self.run, self.run, self.run, self.read, self.delete]
            await self.chance.choice(actions)(self.chance.choice(there))

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
        found = re.search(r"(?<!Kernel )\bid ([\w-]+)", text)
        assert found, text
        self.unseen.remove(cell)
        cell.id = found[1]
        self.cells.append(cell)
        self.counts["edits"] += 1

    async def overwrite(self, cell: KnownCell) -> None:
        was_in_doubt = cell.is_in_doubt
        is_error, text = await self.call("overwrite_cell_source", cell, cell_id=cell.id, cell_source=cell.next_source())
        if is_error:
            assert was_in_doubt and "changed after" in text, f"{cell}: {text}"
            self.counts["edits refused"] += 1
            cell.sources.discard(cell.newest)
            await self.read(cell)
        else:
            self.counts["edits"] += 1
            cell.edited()

    async def run(self, cell: KnownCell) -> None:
        cell.begin_run()
        self.runs.started.update(f"{cell.mark}-v{version}" for version in cell.sources)
        text = await self.do("execute_cell", cell, cell_id=cell.id)
        # Other lines may be about runs of servers that were killed.
        found = re.search(r"^\[(?!NOTICE).*\brun (r\d+(?:-[a-z]{6})?)", text, re.MULTILINE)
        assert found, text
        run = found[1]
        # Only where ids of runs have a suffix, no two servers give the same one.
        assert "-" not in run or self.place.owners.setdefault(run, self.name) == self.name, f"{run}: {text}"
        while re.search(r"^\[(QUEUED|STILL RUNNING) after", text, re.MULTILINE):
            text = await self.do("get_run", None, run_id=run, wait_seconds=50)
        assert "[COMPLETED" in text and cell.id in text, f"{cell}: {text}"
        version = cell.ran(text)
        self.runs.ended[f"{cell.mark}-v{version}"] += 1
        self.counts["runs"] += 1

    async def read(self, cell: KnownCell) -> None:
        text = await self.do("read_cell", cell, cell_id=cell.id)
        _, _, content = text.partition("=====\n```\n")
        version = next((each for each in cell.sources if content.startswith(source(cell.mark, each))), None)
        assert version is not None, f"{cell}: {text}"
        shown = content.removeprefix(source(cell.mark, version))
        lines = [line for line in shown.splitlines() if line.startswith(cell.mark)]
        printed_lines = "".join(f"{line}\n" for line in lines)
        cell.check(source(cell.mark, version), printed_lines, is_missing=MISSING in text)
        self.counts["reads"] += 1

    async def delete(self, cell: KnownCell) -> None:
        was_in_doubt, cell.may_be_deleted = cell.is_in_doubt, True
        given = {"cell_ids_to_delete": [cell.id], "include_source": False}
        is_error, text = await self.call("delete_cell", cell, **given)
        if is_error and "changed after" in text:
            assert was_in_doubt, f"{cell}: {text}"
            self.counts["edits refused"] += 1
            await self.read(cell)
        else:
            assert not is_error or was_in_doubt and "No cell is called" in text, f"{cell}: {text}"
            self.counts["edits"] += 1
            self.cells.remove(cell)
            self.deleted.add(cell.id)

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
            cell.check("".join(now["source"]), printed(now), is_missing=says_missing(now), is_final=is_final)
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
