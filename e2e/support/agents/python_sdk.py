"""Drives the official Python SDK."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitRequestParams, ElicitResult, ResourceUpdatedNotification, ToolListChangedNotification

from e2e.support.agents.answer import Agent, Answer, Progress
from e2e.support.program import Launch, program
from e2e.support.waiting import LONG

MODERN = "2026-07-28"

# The question, and what the person says to it; `None` declines. To be asked for consent, any line accepts.
Answerer = Callable[[str], str | None]


class PythonAgent(Agent):
    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        # The resources that changed, in order.
        self.updated: asyncio.Queue[str] = asyncio.Queue()

    async def tools(self) -> list[dict[str, Any]]:
        listed = await self._client.list_tools()
        return [_plain(tool) for tool in listed.tools]

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> Answer:
        noted: list[Progress] = []
        self.progress = noted

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

    async def resources(self) -> list[dict[str, Any]]:
        return [_plain(each) for each in (await self._client.list_resources(cache_mode="bypass")).resources]

    async def resource_templates(self) -> list[str]:
        return [each.uri_template for each in (await self._client.list_resource_templates()).resource_templates]

    async def read_resource(self, uri: str) -> dict[str, Any]:
        [contents] = (await self._client.read_resource(uri, cache_mode="bypass")).contents
        return _plain(contents)

    async def subscribe(self, uri: str) -> None:
        """Adds the resource to `updated` whenever it changes; for protocol revisions before 2026."""
        await self._client.session.subscribe_resource(uri)

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        assert name in {each.name for each in (await self._client.list_prompts()).prompts}
        messages = (await self._client.get_prompt(name, arguments)).messages
        return "\n".join(_plain(each)["content"]["text"] for each in messages)


@asynccontextmanager
async def python_agent(
    server: Launch | str, mode: str = "legacy", answer: Answerer | None = None
) -> AsyncIterator[PythonAgent]:
    """Connects to a URL, or starts the program on stdio; `mode` is the SDK's: legacy, auto or a revision.

    With `answer` there is a person behind the agent, who says a line when asked (by elicitation) for one.
    """
    # The SDK's own would take time to make its TLS context, and would give up within 30 s on a busy machine.
    http = httpx2.AsyncClient(verify=False, timeout=LONG)
    if isinstance(server, Launch):
        target: Any = StdioServerParameters(
            command=program(), args=server.arguments, env=server.environment, cwd=server.folder
        )
    else:
        # By default this client, not the program, refuses an event of more than 1 MiB.
        target = streamable_http_client(server, http_client=http, max_sse_event_size=None)

    async def received(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            await agent.note_change()
        elif isinstance(message, ResourceUpdatedNotification):
            agent.updated.put_nowait(str(message.params.uri))

    async def asked(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert answer
        line = answer(params.message)
        if line is None:
            return ElicitResult(action="decline")
        wants_line = "value" in _plain(params)["requestedSchema"]["properties"]
        return ElicitResult(action="accept", content={"value": line} if wants_line else {})

    client = Client(target, mode=mode, message_handler=received, elicitation_callback=asked if answer else None)
    agent = PythonAgent(client)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(http)
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
