"""What is said of a kernel of a server that others restarted or ended. Only real servers show what they tell of that."""

import asyncio
import os
import re
import signal
from pathlib import Path

import pytest

from e2e.support.jupyter_program import reaching, started
from e2e.support.jupyter_server import LIVE_FORMS, JupyterServer
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import run_id
from e2e.support.stdio_client import StdioClient
from e2e.support.waiting import LONG, until

WAYS = ("a person's Restart", "a kernel that was killed", "a kernel that was shut down")


@pytest.fixture(scope="module", params=LIVE_FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return request.param


async def _process(server: StdioClient) -> int:
    """The process of the notebook's kernel, which knows a variable."""
    text = await server.call("execute_code", code="import os; mine = 1; print('pid', os.getpid(), 'end')")
    return int(text.split("pid ")[1].split()[0])


async def _replace(jupyter: JupyterServer, path: str, way: str, process: int) -> None:
    """Ends the kernel's process, and waits until its server knows it."""
    kernel, before = jupyter.session_of(path)["kernel"]["id"], set(jupyter.kernels)
    if way == "a person's Restart":
        assert jupyter.ask("POST", f"api/kernels/{kernel}/restart").is_success
    elif way == "a kernel that was killed":
        os.kill(process, signal.SIGKILL)
        await until(lambda: set(jupyter.kernels) - before, "the server has started another process")
    else:
        # As culling ends it: the session of the notebook ends with it.
        assert jupyter.ask("DELETE", f"api/kernels/{kernel}").status_code == 204


async def _cells_are_of_another_kernel(server: StdioClient) -> None:
    """Waits until both cells of the notebook are known to have run before."""
    async with asyncio.timeout(LONG):
        while (await server.call("read_notebook")).count("other kernel") != 2:
            await asyncio.sleep(0.05)
    planned = await server.call("run_cells", stale=True, preview=True)
    assert "Cells to run: 0–1 (other kernel)." in planned, planned


@pytest.mark.parametrize("way", WAYS)
async def test_the_first_run_on_a_new_process_says_so(
    jupyter: JupyterServer, path: str, way: str, tmp_path: Path
) -> None:
    write_notebook(jupyter.root / path, "a = 1", "print(a)")
    async with started(tmp_path / "home", *reaching(jupyter)) as server:
        await server.call("use_notebook", notebook_path=path)
        await server.call("run_cells", all=True)
        await _replace(jupyter, path, way, await _process(server))
        await _cells_are_of_another_kernel(server)
        first = await server.call("execute_code", code="1 + 1")
        if jupyter.form == "jsd" and "[LOST" in first:
            # It can drop a request that comes while the kernel starts.
            first = await server.call("execute_code", code="1 + 1")
        assert re.search(r"variables( from before)? are (gone|lost)|without its variables", first), first
        if "[COMPLETED" not in first:
            # The kernel ended with it, so that the next run is the first on the new process.
            return
        # It is said once.
        second = await server.call("execute_code", code="1 + 1")
        assert "variables" not in second, f"{first}\n\n{second}"


async def test_a_run_says_that_another_server_has_restarted_its_kernel(
    jupyter: JupyterServer, path: str, tmp_path: Path
) -> None:
    write_notebook(jupyter.root / path, "a = 1")
    home = tmp_path / "home"
    async with started(home, *reaching(jupyter)) as one, started(home, *reaching(jupyter)) as other:
        for server in (one, other):
            await server.call("use_notebook", notebook_path=path)
            await server.call("run_cells", all=True)
        code = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"
        run = run_id(await one.call("execute_code", code=code, timeout=0.1))
        async with asyncio.timeout(LONG):
            while "begun" not in await one.call("get_run", run_id=run, wait_seconds=0.1):
                pass
        await other.call("restart_notebook", confirm=True)
        ended = await one.call("get_run", run_id=run, wait_seconds=LONG)
        # This server can drop what the kernel says, so that nothing tells that the run had started.
        is_lost = jupyter.form == "jsd" and "[LOST: a new process replaced the kernel" in ended
        assert is_lost or "[KERNEL RESTARTED by another server" in ended, ended
        assert "Another server (bare) has restarted this kernel" in ended, ended


async def test_cells_that_ran_are_known_after_a_restart_of_the_program(
    jupyter: JupyterServer, path: str, tmp_path: Path
) -> None:
    write_notebook(jupyter.root / path, "a = 1", "print(a)")
    async with started(tmp_path / "home", *reaching(jupyter)) as server:
        await server.call("use_notebook", notebook_path=path)
        assert "1" in await server.call("run_cells", all=True)
    async with started(tmp_path / "home", *reaching(jupyter)) as server:
        await server.call("use_notebook", notebook_path=path)
        shown = await server.call("read_notebook")
        assert "outputs from elsewhere" not in shown and "other kernel" not in shown, shown
        await server.call("overwrite_cell_source", cell_index=0, cell_source="a = 2")
        text = await server.call("run_cells", stale=True)
        assert "Cells to run: 0 (edited), 1 (input changed)." in text and "[2 cells run in" in text, text
        process = await _process(server)
    await _replace(jupyter, path, "a kernel that was killed", process)
    async with started(tmp_path / "home", *reaching(jupyter)) as server:
        await server.call("use_notebook", notebook_path=path)
        await _cells_are_of_another_kernel(server)
