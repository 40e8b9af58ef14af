"""The runtime behind the stand-in page: an IPython kernel, which the page asks to run its cells."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.asynchronous.client import AsyncKernelClient

from e2e.support.home import Home, new_mark
from e2e.support.notebook_files import Json
from e2e.support.notebook_server import nothing_is_left
from e2e.support.waiting import LONG, until

_OUTPUTS = {"stream", "display_data", "execute_result", "error"}


class TabRuntime:
    """A kernel that works in a folder."""

    def __init__(self, client: AsyncKernelClient, folder: Path) -> None:
        self.folder = folder
        self._client = client

    async def run(self, source: str) -> list[Json]:
        """The outputs of a cell, when it has ended."""
        outputs: list[Json] = []

        def receive(message: dict[str, Any]) -> None:
            if message["msg_type"] not in _OUTPUTS:
                return
            output = nbformat.v4.output_from_msg(message)
            if outputs and output.output_type == "stream" and outputs[-1].get("name") == output.name:
                outputs[-1]["text"] += output.text
            else:
                outputs.append(output)

        await self._client.execute_interactive(source, output_hook=receive, allow_stdin=False)
        return outputs


@asynccontextmanager
async def tab_runtime(folder: Path, home: Home) -> AsyncIterator[TabRuntime]:
    """Starts a kernel that is ready."""
    file, mark = folder / "runtime.json", new_mark()
    process = subprocess.Popen(
        [sys.executable, "-m", "ipykernel_launcher", "-f", str(file)],
        cwd=folder,
        env=home.environment(mark),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    client = AsyncKernelClient(connection_file=str(file))
    try:
        # The kernel chooses its ports itself, so that nobody can take them before.
        await until(lambda: process.poll() is not None or file.exists() and file.read_text().endswith("}"), "it starts")
        client.load_connection_file()
        client.start_channels(hb=False)
        await client.wait_for_ready(LONG)
        yield TabRuntime(client, folder)
    finally:
        client.stop_channels()
        process.kill()
        await asyncio.to_thread(process.wait, LONG)
        nothing_is_left(mark, home)
