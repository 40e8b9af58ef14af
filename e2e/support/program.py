"""The program under test: how the tests start it, and the addresses that it prints."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from e2e.support.waiting import LONG

REPOSITORY = Path(__file__).parents[2]

NOTEBOOK_TOOLS = {
    "add_code_cell",
    "add_text_cell",
    "delete_cell",
    "get_cells",
    "move_cell",
    "run_code_cell",
    "update_cell",
}
OPEN = "open_colab_browser_connection"
CALL = "call_colab_tool"
TOOLS_WITHOUT_A_PAGE = NOTEBOOK_TOOLS | {OPEN, CALL}

_ADDRESS = re.compile(r"https://\S+#mcpProxyToken=(?P<token>[\w-]+)&mcpProxyPort=(?P<port>\d+)")


def program() -> str:
    path = Path(os.environ.get("CELLBRIDGE_BIN", REPOSITORY / "target/debug/cellbridge"))
    assert path.is_file(), f"{path} is missing: `cargo build` first, or set CELLBRIDGE_BIN"
    return str(path.absolute())


@dataclass
class Launch:
    """How a client that starts servers itself starts the program."""

    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ("colab",)
    folder: Path | None = None

    @property
    def arguments(self) -> list[str]:
        return [*self.command, *self.options]


@dataclass
class TabAddress:
    """Where a Colab tab finds the program."""

    url: str
    token: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "TabAddress":
        found = _ADDRESS.search(text)
        assert found, f"no address for the tab in {text!r}"
        line = rf"^{found['token']}[\w-]*&{found['port']}$"
        assert re.search(line, text, re.MULTILINE), "no line for Colab's own dialog"
        return cls(found[0], found["token"], int(found["port"]))


@dataclass
class HttpProgram:
    """The program serving agents over HTTP."""

    url: str
    log_lines: list[str]


@asynccontextmanager
async def serving_http(*options: str) -> AsyncIterator[HttpProgram]:
    """Starts the program on any free port, and sees that it ends when asked to."""
    command = [program(), "colab", "--transport", "streamable-http", "--port", "0", *options]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    log_lines: list[str] = []
    url = asyncio.get_running_loop().create_future()
    listening = asyncio.create_task(_listen(process, log_lines, url))
    try:
        yield HttpProgram(await asyncio.wait_for(url, LONG), log_lines)
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), LONG)
        except TimeoutError:
            process.kill()
            raise AssertionError(f"the program did not end within {LONG} s of SIGTERM: {log_lines}") from None
        await listening


async def _listen(process: asyncio.subprocess.Process, log_lines: list[str], url: asyncio.Future[str]) -> None:
    assert process.stderr
    async for line in process.stderr:
        log_lines.append(line.decode().rstrip())
        found = re.search(r"MCP endpoint (http://\S+)", log_lines[-1])
        if found and not url.done():
            url.set_result(found[1])
    if not url.done():
        url.set_exception(AssertionError(f"the program ended without an endpoint: {log_lines}"))
