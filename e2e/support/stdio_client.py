"""The program on stdio as a process of ours: JSON-RPC by hand, where a client would clean up what the program must."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from e2e.support.processes import obey_permissions
from e2e.support.program import Launch, program
from e2e.support.waiting import LONG

LARGEST_LINE = 1 << 24


class ProgramEndedError(AssertionError):
    """The program has ended, and the answer did not come."""


class StdioClient:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        # What the server has sent before the answer of the latest request.
        self.heard: list[dict[str, Any]] = []
        # The id of the latest request.
        self.latest = 0
        self._numbers = itertools.count(1)
        # The answers of earlier requests that nobody has asked for yet.
        self._answered: dict[int, dict[str, Any]] = {}

    async def initialize(self, name: str = "bare", capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
        given = {"protocolVersion": "2025-11-25", "capabilities": capabilities or {}, "clientInfo": {"name": name, "version": "1"}}
        result = await self.ask("initialize", given)
        self.notify("notifications/initialized", {})
        return result

    async def call(self, tool: str, **given: Any) -> str:
        """Calls a tool; the text of its answer."""
        result = await self.ask("tools/call", {"name": tool, "arguments": given})
        return "\n".join(block.get("text", "") for block in result["content"])

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.heard = []
        return await self.answer(self.send(method, params))

    def send(self, method: str, params: dict[str, Any]) -> int:
        """Sends a request and waits for nothing; its id, for `answer`."""
        self.latest = number = next(self._numbers)
        self._say({"id": number, "method": method, "params": params})
        return number

    async def answer(self, number: int) -> dict[str, Any]:
        """The answer of a request, whichever others come before it."""
        assert self.process.stdout
        if number in self._answered:
            return self._answered.pop(number)
        async with asyncio.timeout(LONG):
            while True:
                line = await self.process.stdout.readline()
                # What a killed program was writing has no end.
                if not line.endswith(b"\n"):
                    raise ProgramEndedError
                said = json.loads(line)
                if said.get("id") == number:
                    return said["result"]
                if "result" in said:
                    self._answered[said["id"]] = said["result"]
                self.heard.append(said)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._say({"method": method, "params": params})

    def end_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    async def ended(self) -> int:
        async with asyncio.timeout(LONG):
            return await self.process.wait()

    def _say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


@asynccontextmanager
async def stdio_client(launch: Launch, own_group: bool = False) -> AsyncIterator[StdioClient]:
    """Starts the program; in a process group of its own, as clients do that kill the group. pytest shows what it logs if the test fails."""
    process = await asyncio.create_subprocess_exec(
        *[program(), *launch.arguments],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LARGEST_LINE,
        cwd=launch.folder,
        env=launch.environment,
        preexec_fn=obey_permissions,
        start_new_session=own_group,
    )
    try:
        yield StdioClient(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
