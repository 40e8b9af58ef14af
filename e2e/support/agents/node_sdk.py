"""Drives the official TypeScript SDKs, each by a script that reads and writes JSON lines."""

import asyncio
import itertools
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from e2e.support.agents.answer import Agent, Answer
from e2e.support.program import REPOSITORY, Launch, program
from e2e.support.waiting import LONG

LARGEST_LINE = 64 * 1024 * 1024


def node() -> str:
    found = shutil.which("node")
    assert found, "no node on the PATH"
    return found


def node_modules() -> Path:
    path = Path(os.environ.get("CELLBRIDGE_E2E_NODE_MODULES", REPOSITORY / "target/e2e/node/node_modules")).absolute()
    assert path.is_dir(), f"{path} is missing: `npm install` of e2e/package.json, or set CELLBRIDGE_E2E_NODE_MODULES"
    return path


class NodeAgent(Agent):
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__()
        self._process = process
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def tools(self) -> list[dict[str, Any]]:
        return (await self._ask("tools"))["tools"]

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> Answer:
        self.progress = noted = []
        result = (await self._ask("call", name=name, arguments=arguments or {}))["result"]
        return Answer(
            content=result["content"],
            structured=result.get("structuredContent"),
            is_error=result.get("isError", False),
            meta=result.get("_meta"),
            progress=noted,
        )

    async def resources(self) -> list[dict[str, Any]]:
        return (await self._ask("resources"))["resources"]

    async def resource_templates(self) -> list[str]:
        return [each["uriTemplate"] for each in (await self._ask("templates"))["resourceTemplates"]]

    async def read_resource(self, uri: str) -> dict[str, Any]:
        [contents] = (await self._ask("resource", uri=uri))["contents"]
        return contents

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        assert name in {each["name"] for each in (await self._ask("prompts"))["prompts"]}
        messages = (await self._ask("prompt", name=name, arguments=arguments))["messages"]
        return "\n".join(each["content"]["text"] for each in messages)

    def vanish(self) -> None:
        """Kills the client, which sends nothing to the server."""
        # The pinned `node` is a child of a script.
        os.killpg(self._process.pid, signal.SIGKILL)

    async def _ask(self, verb: str, **given: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"id": number, "verb": verb, **given}).encode() + b"\n")
        async with asyncio.timeout(LONG):
            said = await self._waiting[number]
        del self._waiting[number]
        assert "failure" not in said, said["failure"]
        return said

    async def listen(self) -> None:
        assert self._process.stdout
        async for line in self._process.stdout:
            said = json.loads(line)
            if "id" in said:
                self._waiting[said["id"]].set_result(said)
            elif said["event"] == "ready":
                self.ready.set_result(said["revision"])
            elif said["event"] == "progress":
                each = said["progress"]
                self.progress.append((each["progress"], each.get("total"), each.get("message")))
            else:
                await self.note_change()
        for waiting in [self.ready, *self._waiting.values()]:
            if not waiting.done():
                waiting.set_exception(AssertionError("the Node client ended"))


@asynccontextmanager
async def node_agent(script: str, server: Launch | str, mode: str = "legacy") -> AsyncIterator[NodeAgent]:
    """Runs agents/`script` against a URL, or lets it start the program on stdio."""
    if isinstance(server, Launch):
        environment = {**os.environ, **server.environment}
        folder = str(server.folder) if server.folder else None
        target = {"command": program(), "args": server.arguments, "env": environment, "cwd": folder}
    else:
        target = {"url": server}
    process = await asyncio.create_subprocess_exec(
        *[node(), str(Path(__file__).parent / script), json.dumps({**target, "mode": mode})],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LARGEST_LINE,
        start_new_session=True,
        env={**os.environ, "CELLBRIDGE_E2E_NODE_MODULES": str(node_modules())},
    )
    agent = NodeAgent(process)
    listening = asyncio.create_task(agent.listen())
    try:
        async with asyncio.timeout(LONG):
            agent.revision = await agent.ready
        yield agent
    finally:
        assert process.stdin
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), LONG)
        except TimeoutError:
            process.kill()
            raise AssertionError("the Node client, or the program below it, did not end with its input") from None
        await listening
