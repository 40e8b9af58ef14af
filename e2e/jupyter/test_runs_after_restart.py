"""Runs on a Jupyter server are found again by the next server of ours; none is called done that is not known to be. Only real
servers show what they keep for whoever comes back."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from e2e.support.jupyter_program import reaching, started
from e2e.support.jupyter_server import LIVE_FORMS, JupyterServer
from e2e.support.kernel_channels import listener
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import run_id
from e2e.support.notebook_files import Json, cell, printed
from e2e.support.stdio_client import StdioClient
from e2e.support.waiting import LONG, until


# What does not depend on what a server keeps while nobody is connected.
only_rtc = pytest.mark.parametrize("form", ["rtc"], indirect=True)


@pytest.fixture(scope="module", params=LIVE_FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return request.param


class Restarts:
    """One server of ours after the other, at one notebook with one cell."""

    def __init__(self, jupyter: JupyterServer, path: str, home: Path) -> None:
        self.jupyter, self.path, self.home = jupyter, path, home
        self.cell_id = ""

    @asynccontextmanager
    async def server(self) -> AsyncIterator[StdioClient]:
        async with started(self.home, *reaching(self.jupyter)) as server:
            yield server

    def write(self, *lines: str) -> None:
        """A cell that prints, waits at a gate, and runs `lines`."""
        wait = f"while not pathlib.Path({str(self.gate)!r}).exists(): time.sleep(0.01)"
        source = "\n".join(["import pathlib, time", "print('before', flush=True)", wait, *lines])
        [self.cell_id] = write_notebook(self.jupyter.root / self.path, source)

    @property
    def gate(self) -> Path:
        return self.home / f"{self.path}.gate"

    @property
    def logs(self) -> list[Path]:
        return list((self.home / "state/cellbridge/runs").glob("*"))

    @property
    def cell(self) -> Json:
        return cell(self.jupyter.saved(self.path), self.cell_id)

    @property
    def kernel(self) -> Json:
        return self.jupyter.session_of(self.path)["kernel"]

    async def open(self, server: StdioClient) -> str:
        return await server.call("use_notebook", notebook_path=self.path)

    async def start(self, server: StdioClient) -> str:
        """Runs the cell up to its gate; the id of the run."""
        await self.open(server)
        run = run_id(await server.call("execute_cell", cell_index=0, timeout=0.1))
        while "before" not in (text := await server.call("get_run", run_id=run, wait_seconds=0.1)):
            assert "[QUEUED" in text or "[STILL RUNNING" in text, text
        return run

    async def kill(self, server: StdioClient) -> None:
        os.kill(server.process.pid, signal.SIGKILL)
        await server.ended()
        if self.jupyter.form != "jsd":
            await until(lambda: self.kernel["connections"] == 0, "the server knows that we are gone")

    async def leave(self) -> str:
        """A server that is killed while the cell waits at its gate; the id of the run."""
        async with self.server() as server:
            run = await self.start(server)
            await self.kill(server)
        return run

    async def finish(self) -> None:
        """Lets the cell run to its end."""
        self.gate.touch()
        await until(lambda: self.kernel["execution_state"] == "idle", "the cell has ended")

    async def result(self, server: StdioClient, run: str) -> str:
        return await server.call("get_run", run_id=run, wait_seconds=LONG)

    async def until_stored(self, lines: str) -> None:
        await until(lambda: printed(self.cell) == lines, f"the outputs are in the cell: {self.cell['outputs']}")

    async def until_forgotten(self) -> None:
        await until(lambda: not self.logs, "nothing is left in the folder of the logs")


@pytest.fixture
def restarts(jupyter: JupyterServer, path: str, tmp_path: Path) -> Restarts:
    return Restarts(jupyter, path, tmp_path / "home")


@only_rtc
async def test_a_run_is_found_by_its_id_alone(restarts: Restarts, form: str) -> None:
    """Who has only the id, such as a client that polls a task, opens no notebook."""
    restarts.write("print('after')")
    run = await restarts.leave()
    async with restarts.server() as server:
        assert "[STILL RUNNING" in await server.call("get_run", run_id=run)
        await restarts.finish()
        assert "[COMPLETED" in await restarts.result(server, run)
        await restarts.until_stored("before\nafter\n")
    await restarts.until_forgotten()


async def test_a_run_that_ended_while_nobody_was_connected(restarts: Restarts, form: str) -> None:
    restarts.write("print('after')", "6 * 7")
    run = await restarts.leave()
    [log] = restarts.logs
    assert log.stat().st_mode & 0o777 == 0o600 and log.parent.stat().st_mode & 0o777 == 0o700
    await restarts.finish()
    async with restarts.server() as server:
        first = await server.call("list_notebooks")
        assert f"run {run} of cell {restarts.cell_id} in {restarts.path} had not finished; call use_notebook" in first
        opened = await restarts.open(server)
        text = await restarts.result(server, run)
        if form == "rtc":
            assert f"run {run} of cell {restarts.cell_id} completed" in opened, opened
            assert "[COMPLETED" in text and "before\nafter" in text and "42" in text
            await restarts.until_stored("before\nafter\n")
            assert restarts.cell["execution_count"] == 1
        else:
            # Nothing keeps there what the kernel publishes while nobody is connected.
            assert f"run {run} of cell {restarts.cell_id} is lost" in opened, opened
            assert "[LOST" in text and "before" in text and "before\nafter" not in text
            await restarts.until_stored("before\n")
        # It is told once.
        assert run not in await restarts.open(server)
        await restarts.until_forgotten()


async def test_a_run_whose_end_another_client_got_is_lost(restarts: Restarts, jupyter: JupyterServer) -> None:
    restarts.write("print('after')")
    async with restarts.server() as server:
        run = await restarts.start(server)
        # A server keeps messages only while nobody is connected.
        async with listener(jupyter, restarts.kernel["id"], "control"):
            os.kill(server.process.pid, signal.SIGKILL)
            await server.ended()
            await until(lambda: jupyter.form == "jsd" or restarts.kernel["connections"] == 1, "we are gone")
            await restarts.finish()
    async with restarts.server() as server:
        assert f"run {run} of cell {restarts.cell_id} is lost" in await restarts.open(server)
        text = await restarts.result(server, run)
        assert "[LOST" in text and "before" in text and "before\nafter" not in text
        await restarts.until_forgotten()


@only_rtc
async def test_a_run_that_goes_on_is_followed_to_its_end(restarts: Restarts) -> None:
    restarts.write("print('after')")
    async with restarts.server() as server:
        run = await restarts.start(server)
        never = run_id(await server.call("execute_code", code="print('never')", timeout=0.1))
        await restarts.kill(server)
    async with restarts.server() as server:
        opened = await restarts.open(server)
        assert f"run {run} of cell {restarts.cell_id} is still running" in opened
        assert f"run {never} did not run" in opened
        # Another run waits for it.
        waiting = run_id(await server.call("execute_code", code="print('next')", timeout=0.1))
        assert "[QUEUED" in await server.call("get_run", run_id=waiting, wait_seconds=0)
        restarts.gate.touch()
        text = await restarts.result(server, run)
        assert "[COMPLETED" in text and "before\nafter" in text
        assert "next" in await restarts.result(server, waiting)
        await restarts.until_stored("before\nafter\n")
        await restarts.until_forgotten()


async def test_the_runs_of_a_kernel_that_was_restarted_are_lost(restarts: Restarts) -> None:
    restarts.write("print('after')")
    run = await restarts.leave()
    restarts.jupyter.ask("POST", f"api/kernels/{restarts.kernel['id']}/restart")
    restarts.gate.touch()
    async with restarts.server() as server:
        assert run in await restarts.open(server)
        text = await restarts.result(server, run)
        assert "[KERNEL DIED" in text and "before" in text and "before\nafter" not in text, text
        await restarts.until_forgotten()


async def test_the_runs_of_a_kernel_that_was_shut_down_are_lost(restarts: Restarts) -> None:
    restarts.write("print('after')")
    run = await restarts.leave()
    restarts.jupyter.ask("DELETE", f"api/sessions/{restarts.jupyter.session_of(restarts.path)['id']}")
    async with restarts.server() as server:
        await restarts.open(server)
        # The notebook has another kernel from here on.
        first = await server.call("execute_code", code="1 + 1")
        assert f"run {run} of cell {restarts.cell_id} ended because the kernel died" in first, first
        text = await restarts.result(server, run)
        assert "[KERNEL DIED" in text and "before" in text
        await restarts.until_forgotten()
