"""Many agents share the notebooks of a folder and of a Jupyter server, while agents and servers are killed, and nothing is
mixed, lost or left behind.

`cargo xtask soak agents` lets 40 agents work for a time, and a seed repeats what they choose. Otherwise a few take some
steps."""

import asyncio
import itertools
import os
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support.agents.python_sdk import python_agent
from e2e.support.http_client import HttpClient
from e2e.support.notebook_client import NotebookClient
from e2e.support.notebook_server import nothing_is_left
from e2e.support.processes import MEGABYTE, open_files, resident
from e2e.support.soak.agent import SoakAgent
from e2e.support.soak.shared_places import SharedFolder, SharedJupyter, SharedPlace
from e2e.support.soak.transports import HttpAgent, StdioAgent
from e2e.support.waiting import LONG, until

SECONDS = float(os.environ.get("CELLBRIDGE_SOAK_SECONDS", "0"))
SEED = int(os.environ.get("CELLBRIDGE_SOAK_SEED", "0")) or (random.randrange(1, 1 << 32) if SECONDS else 7)
# On each place.
HTTP_AGENTS, STDIO_AGENTS, NOTEBOOKS = (16, 4, 4) if SECONDS else (3, 1, 2)
STEPS = 0 if SECONDS else 15
# After how many calls of a place a server is killed.
CALLS = (80, 240) if SECONDS else (8, 12)
# How long temporary files may stay, in seconds.
FRESH = 120
# How many sessions of killed agents a server keeps: the newest. Until there are as many, its memory grows.
SESSIONS = 256 if SECONDS else 0
# How much more a server may hold in the last third of the time than in the first one.
MEMORY, FILES = 32 * MEGABYTE, 16


@pytest.fixture
def places(tmp_path: Path) -> Iterator[tuple[SharedFolder, SharedJupyter]]:
    folder, jupyter = SharedFolder(tmp_path / "folder", NOTEBOOKS), SharedJupyter(tmp_path / "jupyter", NOTEBOOKS)
    try:
        yield folder, jupyter
    finally:
        folder.end()
        jupyter.end()
        jupyter.jupyter.stop()


@pytest.mark.timeout(SECONDS + 600)
@pytest.mark.lasts(20)
async def test_nothing_is_mixed_lost_or_left_behind(places: tuple[SharedFolder, SharedJupyter]) -> None:
    print(f"seed {SEED}")
    await asyncio.gather(*(place.start() for place in places))
    agents = {place: await populate(place) for place in places}
    held = {place: Held(place.servers[1].process) for place in places}
    end = time.monotonic() + SECONDS
    async with asyncio.TaskGroup() as others:
        chance = {place: random.Random(f"{SEED} {place.letter}") for place in places}
        finished = asyncio.Event()
        for place in places:
            others.create_task(place.kill_now_and_then(chance[place], CALLS, finished))
        measuring = [others.create_task(each.measure()) for each in held.values()]
        async with asyncio.TaskGroup() as working:
            for agent in itertools.chain(*agents.values()):
                working.create_task(work(agent, end))
        finished.set()
        for task in measuring:
            task.cancel()
    for place in places:
        await place.stop()
        await check(place, agents[place])
        done = ", ".join(f"{what}: {count}" for what, count in sorted(place.counts.items()))
        print(f"{type(place).__name__}: {done}, lost: 0; {held[place]}")
        await nothing_stays(place)
    _, jupyter = places
    assert sorted(each["path"] for each in jupyter.jupyter.sessions()) == jupyter.paths
    assert len(jupyter.jupyter.kernel_models()) == NOTEBOOKS
    if SECONDS:
        for each in held.values():
            each.check()


async def populate(place: SharedPlace) -> list[SoakAgent]:
    """The agents of a place, and its notebooks with a kernel each, so that no two agents start one at the same time."""
    http = [f"{place.letter}h{number}" for number in range(HTTP_AGENTS)]
    stdio = [f"{place.letter}s{number}" for number in range(STDIO_AGENTS)]
    place.names = {*http, *stdio}
    for path in place.paths:
        async with python_agent(place.servers[1].url) as agent:
            client = NotebookClient(agent, place.root, path)
            await client.call("use_notebook", notebook_path=path, mode="create")
            answer = await client.call("execute_code", code="import os; os.getpid()")
            place.kernels.add(answer.text.split()[0])
    for _ in range(SESSIONS):
        killed = HttpClient(place.servers[1].url)
        await killed.initialize()
        for path in place.paths:
            await killed.ask("tools/call", {"name": "use_notebook", "arguments": {"notebook_path": path}})
        await killed.vanish()
    # The same number at each of the two servers.
    return [
        *(HttpAgent(name, place, place.servers[number % 2], SEED) for number, name in enumerate(http)),
        *(StdioAgent(name, place, SEED) for name in stdio),
    ]


async def work(agent: SoakAgent, end: float) -> None:
    steps = 0
    while steps < STEPS or time.monotonic() < end:
        await agent.step()
        steps += 1
    await agent.finish()


async def check(place: SharedPlace, agents: list[SoakAgent]) -> None:
    """What is in the notebooks is what the agents know, and so is what has run."""
    for path in place.paths:
        await settled(place, path, agents)
    processes = set()
    for agent in agents:
        trace = place.root / f"ran-{agent.name}"
        processes |= agent.runs.check(trace.read_text().splitlines() if trace.exists() else [])
    assert processes <= place.kernels, f"kernels were replaced: {processes}"


async def settled(place: SharedPlace, path: str, agents: list[SoakAgent]) -> None:
    """Compares a notebook with what the agents know. Outputs of a run whose server was killed come later."""
    end = time.monotonic() + LONG
    while True:
        try:
            cells = await place.cells(path)
            for agent in agents:
                agent.compare(path, cells, is_final=place.keeps_runs)
            return
        except AssertionError:
            if not place.keeps_runs or time.monotonic() > end:
                raise
            await asyncio.sleep(0.1)


async def nothing_stays(place: SharedPlace) -> None:
    """Neither processes nor sockets nor files, but the notebooks and what cells have written."""
    nothing_is_left(place.mark, place.home)
    await until(lambda: not place.home.left_by_kernels(), "connection files and sockets are removed")
    # Jupyter has hidden files of its own. What a killed server was writing is removed later, once it is a minute old.
    left = {file for file in place.root.iterdir() if not file.name.startswith(("ran-", ".")) or is_left(file)}
    assert {file.name for file in left} == set(place.paths)


def is_left(file: Path) -> bool:
    return file.match(".cellbridge-*.tmp") and time.time() - file.stat().st_mtime > FRESH


class Held:
    """The memory and the open files of a process, each second."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._samples: list[tuple[int, int]] = []

    async def measure(self) -> None:
        while True:
            self._samples.append((resident(self._process), open_files(self._process)))
            await asyncio.sleep(1)

    def _thirds(self) -> list[tuple[float, float]]:
        """The medians in the first and in the last third of the time."""
        third = max(1, len(self._samples) // 3)
        parts = (self._samples[:third], self._samples[-third:])
        return [tuple(statistics.median(values) for values in zip(*part, strict=True)) for part in parts]

    def __str__(self) -> str:
        return " → ".join(f"{memory / MEGABYTE:.0f} MB and {files:.0f} files" for memory, files in self._thirds())

    def check(self) -> None:
        (memory, files), (last_memory, last_files) = self._thirds()
        assert last_memory <= memory + MEMORY and last_files <= files + FILES, f"it grows: {self}"
