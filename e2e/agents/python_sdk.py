"""Drives the official Python SDK."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ToolListChangedNotification

from agents.answer import Agent, Answer
from cellbridge import Launch, program

MODERN = "2026-07-28"


class PythonAgent(Agent):
    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client

    async def tools(self) -> list[dict[str, Any]]:
        listed = await self._client.list_tools()
        return [_plain(tool) for tool in listed.tools]

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> Answer:
        noted: list[tuple[float, float | None, str | None]] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            noted.append((progress, total, message))

        result = _plain(await self._client.call_tool(name, arguments, progress_callback=note))
        return Answer(
            content=result["content"],
            structured=result.get("structuredContent"),
            is_error=result.get("isError", False),
            meta=result.get("_meta"),
            progress=noted,
        )


@asynccontextmanager
async def python_agent(server: Launch | str, mode: str = "legacy") -> AsyncIterator[PythonAgent]:
    """Connects to a URL, or starts the program on stdio; `mode` is the SDK's: legacy, auto or a revision."""
    if isinstance(server, Launch):
        target: Any = StdioServerParameters(command=program(), args=server.arguments, env=server.environment)
    else:
        # By default this client, not the program, refuses an event of more than 1 MiB.
        target = streamable_http_client(server, max_sse_event_size=None)

    async def received(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            await agent.note_change()

    client = Client(target, mode=mode, message_handler=received)
    agent = PythonAgent(client)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(client)
        agent.revision = client.protocol_version
        if agent.revision == MODERN:
            subscription = await stack.enter_async_context(client.listen(tools_list_changed=True))
            following = asyncio.create_task(_follow(subscription, agent))
            stack.callback(following.cancel)
        yield agent


async def _follow(subscription: Any, agent: PythonAgent) -> None:
    async for _ in subscription:
        await agent.note_change()


def _plain(model: Any) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
