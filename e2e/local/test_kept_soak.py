"""Servers, keepers and kernels are killed at random moments, and nothing that reached a keeper is lost or doubled.

There is one round for each victim, or as many as fit into the time that `cargo xtask soak kernels` gives. A seed repeats the
victims and the moments."""

import asyncio
import contextlib
import json
import os
import random
import re
import signal
import time
from dataclasses import dataclass

import pytest

from e2e.support.kept_kernels import NOTEBOOK, Machine
from e2e.support.processes import kernels
from e2e.support.stdio_client import StdioClient
from e2e.support.waiting import LONG, until

SECONDS = float(os.environ.get("CELLBRIDGE_SOAK_SECONDS", "0"))
VICTIMS = ("server", "group", "keeper", "kernel")
LINES = 300
# How many lines a run prints slowly, and the seconds between them.
SLOW, PAUSE = 60, 0.012
# The last moment is after the end of most runs.
LATEST = 1.2


@dataclass
class Round:
    """One cell, and who is killed how long after it was started."""

    number: int
    victim: str
    seconds: float

    @property
    def source(self) -> str:
        """Prints slowly, then in a flood, and leaves a trace that it ran."""
        return (
            f"import time\nopen('ran-{self.number}', 'a').write('.')\n"
            f"for n in range({LINES}):\n    print('{self.number}:', n, flush=n < {SLOW})\n"
            f"    time.sleep({PAUSE} * (n < {SLOW}))"
        )

    @property
    def printed(self) -> str:
        return "".join(f"{self.number}: {n}\n" for n in range(LINES))


@pytest.mark.timeout(SECONDS + 600)
@pytest.mark.lasts(20)
async def test_nothing_is_lost_or_doubled_whoever_is_killed_and_when(machine: Machine) -> None:
    seed = int(os.environ.get("CELLBRIDGE_SOAK_SEED", random.randrange(1 << 32)))
    chance, end = random.Random(seed), time.monotonic() + SECONDS
    async with machine.server() as server:
        await server.call("use_notebook", notebook_path=NOTEBOOK, mode="create")
    number = 0
    while number < len(VICTIMS) or time.monotonic() < end:
        victim = VICTIMS[number] if number < len(VICTIMS) else chance.choice(VICTIMS)
        this = Round(number, victim, chance.uniform(0, LATEST))
        print(f"seed {seed}, {this}")
        await play(machine, this)
        number += 1
    machine.end()
    await until(lambda: not machine.home.left_by_kernels(), "connection files and sockets are removed")


async def play(machine: Machine, this: Round) -> None:
    """One round: a cell runs, somebody is killed, and the next server is asked what became of the cell."""
    async with machine.server() as server:
        await server.call("use_notebook", notebook_path=NOTEBOOK)
        inserted = await server.call("insert_cell", cell_index=-1, cell_type="code", cell_source=this.source)
        found = re.search(r"(?<!Kernel )\bid ([\w-]+)", inserted)
        assert found, inserted
        running = asyncio.create_task(server.call("execute_cell", cell_id=found[1]))
        # The moment is random, and not one that could be waited for.
        await asyncio.sleep(this.seconds)
        await kill(machine, this, server)
        # Whoever is killed, the call comes to an end: with an answer, or with its server.
        with contextlib.suppress(AssertionError, ConnectionError):
            await running
        if server.process.returncode is None:
            server.end_input()
            assert await server.ended() == 0
    logged = logged_by_run(machine)
    async with machine.server() as server:
        await server.call("use_notebook", notebook_path=NOTEBOOK)
        run = await run_of(server, found[1])
        if run is None:
            started = f"{this.number}: "
            assert not any(text.startswith(started) for text in logged.values()), "a run that reached a keeper is known"
            # Whose keeper was killed before it was ready, that server runs the cell without one.
            assert machine.printed(found[1]) in ("", this.printed if this.victim == "keeper" else "")
            return
        ended = await server.call("get_run", run_id=run, wait_seconds=LONG)
        # What a dead keeper left is removed once it is stored.
        kept = logged.get(run, "") if this.victim == "keeper" else logged_by_run(machine).get(run, "")
        await until(lambda: machine.printed(found[1]) == kept, "the file holds what the keeper holds")
        printed = machine.printed(found[1])
        trace = machine.root / f"ran-{this.number}"
        times = len(trace.read_text()) if trace.exists() else 0
        assert times <= 1 and (times == 1 or printed == "")
        assert this.printed.startswith(printed), "in order, and nothing twice"
        if "[COMPLETED" in ended:
            assert times == 1 and printed == this.printed
        else:
            assert re.search(r"\[(KERNEL DIED|INTERRUPTED|SKIPPED|NOT RUN)", ended), ended


async def kill(machine: Machine, this: Round, server: StdioClient) -> None:
    processes = {
        "server": lambda: [server.process.pid],
        "group": lambda: [-server.process.pid],
        "keeper": lambda: machine.keepers,
        "kernel": lambda: kernels(machine.mark),
    }
    for process in processes[this.victim]():
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    if this.victim in ("server", "group"):
        await server.ended()


async def run_of(server: StdioClient, cell_id: str) -> str | None:
    """The id of the run of a cell, if the server knows of one."""
    listed = await server.call("get_run")
    return next((line.split("\t")[0] for line in listed.splitlines() if cell_id in line), None)


def logged_by_run(machine: Machine) -> dict[str, str]:
    """What the keepers hold of the standard output of each run."""
    printed: dict[str, str] = {}
    # What a dead keeper left has the id of the kernel that took its place.
    for kernel in {each["id"] for each in json.loads(machine.kernels_command("--json"))}:
        for line in machine.kernels_command("logs", kernel, "--json").splitlines():
            entry = json.loads(line)
            if entry["kind"] == "stdout" and entry["run"]:
                printed[entry["run"]] = printed.get(entry["run"], "") + entry["text"]
    return printed
