"""A person's machine on which servers come and go, and kernels stay."""

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from e2e.support.home import Home, new_mark
from e2e.support.notebook_client import run_id
from e2e.support.notebook_files import cell, printed, read_valid
from e2e.support.notebook_server import launch, nothing_is_left
from e2e.support.processes import keepers, servers
from e2e.support.program import Launch, program
from e2e.support.stdio_client import StdioClient, stdio_client
from e2e.support.waiting import LONG, until

NOTEBOOK = "kept.ipynb"


class Machine:
    """A person's machine, on which one server after the other is started."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.mark = new_mark()
        self.home = Home(folder / "home")
        self.root = folder / "root"
        self.options = options
        self.home.folder.mkdir()
        self.root.mkdir()

    @asynccontextmanager
    async def server(self) -> AsyncIterator[StdioClient]:
        async with stdio_client(self.launch(), own_group=True) as server:
            await server.initialize()
            yield server

    def launch(self) -> Launch:
        """How a client starts a server."""
        return launch(self.root, self.home, *self.options, mark=self.mark)

    @property
    def file(self) -> Path:
        return self.root / NOTEBOOK

    @property
    def keepers(self) -> list[int]:
        return keepers(self.mark)

    @property
    def servers(self) -> list[int]:
        return servers(self.mark)

    @property
    def folders(self) -> list[Path]:
        return self.home.keeper_folders

    def printed(self, cell_id: str) -> str:
        return printed(cell(read_valid(self.file), cell_id))

    def logged(self) -> str:
        """What the keepers, and servers with runs that wait for one, have written down."""
        logs = [log for folder in self.home.keeper_folders for log in folder.glob("log.*")]
        return "".join(log.read_text(errors="replace") for log in [*logs, *self.home.waiting_logs])

    def gate(self, name: str = "gate") -> tuple[Path, str]:
        path = self.root / name
        return path, f"import pathlib, time\nwhile not pathlib.Path({str(path)!r}).exists(): time.sleep(0.01)"

    def kernels_command(self, *arguments: str) -> str:
        """What `cellbridge kernels` prints."""
        command, environment = [program(), "kernels", *arguments], self.home.environment(self.mark)
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    def end(self) -> None:
        nothing_is_left(self.mark, self.home)


async def request(server: StdioClient, source: str, notebook: str = NOTEBOOK) -> tuple[str, str]:
    """Requests a run of a new cell; the ids of the cell and the run."""
    given = {"cell_index": -1, "cell_source": source, "timeout": 0.1}
    answer = await server.call("insert_execute_code_cell", notebook_name=notebook, **given)
    cell_id = re.search(r"(?<!Kernel )\bid ([\w-]+)", answer)
    assert cell_id, answer
    return cell_id[1], run_id(answer)


async def start(server: StdioClient, source: str, notebook: str = NOTEBOOK) -> tuple[str, str]:
    """The same, and waits until the kernel has started the run: the keeper has its request then."""
    cell_id, run = await request(server, source, notebook)
    async with asyncio.timeout(LONG):
        while "[QUEUED" in await server.call("get_run", run_id=run, wait_seconds=0.05):
            pass
    return cell_id, run


async def until_printed(machine: Machine, server: StdioClient, cell_id: str, run: str, line: str) -> None:
    """Waits until a run of this server has printed something, as the file shows."""
    try:
        await until(lambda: line in machine.printed(cell_id), "the run has started")
    except AssertionError as error:
        answers = [await server.call("get_run", run_id=run, wait_seconds=0), await server.call("list_kernels")]
        raise AssertionError("\n".join([str(error), *answers])) from error


async def kill(server: StdioClient) -> None:
    """As clients do that end the whole process group."""
    os.killpg(server.process.pid, signal.SIGKILL)
    await server.ended()


async def create(server: StdioClient) -> None:
    """Makes the notebook and starts its kernel."""
    await server.call("use_notebook", notebook_path=NOTEBOOK, mode="create")
    await server.call("execute_code", code="1")
