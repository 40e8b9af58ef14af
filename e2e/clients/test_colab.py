"""Real MCP clients use the tools of a page: each SDK in each era it speaks. What an SDK accepts, only that SDK shows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from e2e.support.agents.answer import Agent, Answer
from e2e.support.agents.python_sdk import python_agent
from e2e.support.agents.sdks import MODERN, SDKS, Sdk, each_client
from e2e.support.program import OPEN, TOOLS_WITHOUT_A_PAGE, Launch, serving_http
from e2e.support.tab_socket import Call, Json, Tool, tab_socket
from e2e.support.waiting import until

TURNS = 20


async def _say(call: Call) -> Json:
    said = call.arguments["word"] * call.arguments.get("times", 1)
    return {"content": [{"type": "text", "text": said}], "structuredContent": {"said": said}, "_meta": {"page/kept": 1}}


STEPS = [(done, 3, f"step {done}") for done in range(1, 4)]
# The calls of `page_count` that are not answered yet: the TypeScript SDK drops progress that arrives together with the result.
_counting: list[asyncio.Future[None]] = []


async def _count(call: Call) -> Json:
    may_answer = asyncio.get_running_loop().create_future()
    _counting.append(may_answer)
    for step in STEPS:
        await call.progress(*step)
    await may_answer
    return {"content": [{"type": "text", "text": "counted"}]}


async def counts(*agents: Agent) -> list[Answer]:
    """The answers of `page_count`, once each agent has received its progress."""
    calls = [asyncio.create_task(agent.call("page_count")) for agent in agents]
    await until(lambda: all(len(agent.progress) == len(STEPS) for agent in agents), "the agents have received progress")
    while _counting:
        _counting.pop().set_result(None)
    return await asyncio.gather(*calls)


async def _never_end(_: Call) -> Json:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def _refuse(_: Call) -> Json:
    return {"content": [{"type": "text", "text": "No cell was found with ID '0'"}], "isError": True}


def _definition(name: str, properties: Json) -> Json:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": f"The page's own {name}", "inputSchema": schema}


WORD = {"word": {"type": "string"}, "times": {"type": "integer"}}
PAGE = [
    Tool(_definition("page_say", WORD), _say),
    Tool(_definition("page_count", {}), _count),
    Tool(_definition("page_wait", {}), _never_end),
    Tool(_definition("run_code_cell", {"cellId": {"type": "string"}}), _refuse),
]


@asynccontextmanager
async def connected(sdk: Sdk, transport: str) -> AsyncIterator[Agent]:
    if transport == "stdio":
        async with sdk.connect(Launch(("--no-browser",)), sdk.mode) as agent:
            yield agent
    else:
        async with serving_http("--no-browser") as program, sdk.connect(program.url, sdk.mode) as agent:
            yield agent


@each_client
async def test_a_client_uses_a_page_s_tools_while_it_is_connected(sdk: Sdk, transport: str) -> None:
    async with connected(sdk, transport) as agent:
        assert agent.revision == sdk.revision
        assert await agent.tool_names() == TOOLS_WITHOUT_A_PAGE
        await _gets_instructions_to_connect(agent)

        before = agent.changes
        async with tab_socket(await agent.tab_address(), PAGE) as tab:
            await agent.tools_changed(before)
            await _uses_the_page(agent)
            assert tab.received[:3] == ["initialize", "notifications/initialized", "tools/list"]
            before = agent.changes
        await agent.tools_changed(before)
        assert await agent.tool_names() == TOOLS_WITHOUT_A_PAGE
        await _gets_instructions_to_connect(agent)


async def _gets_instructions_to_connect(agent: Agent) -> None:
    refused = await agent.call("get_cells")
    assert refused.is_error
    assert OPEN in refused.text


async def _uses_the_page(agent: Agent) -> None:
    tools = {tool["name"]: tool for tool in await agent.tools()}
    assert set(tools) == TOOLS_WITHOUT_A_PAGE | {"page_say", "page_count", "page_wait"}
    assert tools["run_code_cell"]["description"] == "The page's own run_code_cell"
    assert tools["page_say"]["inputSchema"]["properties"] == WORD

    assert (await agent.call(OPEN)).is_connected

    said = await agent.call("page_say", {"word": "größer 🪐"})
    assert (said.text, said.structured, said.is_error) == ("größer 🪐", {"said": "größer 🪐"}, False)
    assert said.meta and said.meta["page/kept"] == 1

    large = await agent.call("page_say", {"word": "0123456789abcdef", "times": 1 << 17})
    assert len(large.text) == 2 << 20

    [counted] = await counts(agent)
    assert counted.text == "counted" and counted.progress == STEPS

    refused = await agent.call("run_code_cell", {"cellId": "0"})
    assert (refused.is_error, refused.text) == (True, "No cell was found with ID '0'")

    through = await agent.call("call_colab_tool", {"name": "page_say", "arguments": {"word": "through"}})
    assert (through.text, through.is_error) == ("through", False)


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_a_cancelled_call_is_cancelled_once_at_the_page(mode: str, transport: str) -> None:
    async with connected(Sdk(python_agent, mode, mode), transport) as agent:
        async with tab_socket(await agent.tab_address(), PAGE) as tab:
            assert (await agent.call(OPEN)).is_connected
            waiting = asyncio.create_task(agent.call("page_wait"))
            await tab.receives("tools/call")
            waiting.cancel()
            await tab.receives("notifications/cancelled")
            assert (await agent.call("page_say", {"word": "free"})).text == "free"
            assert tab.received.count("notifications/cancelled") == 1


async def test_agents_of_different_eras_share_a_page_without_mixing() -> None:
    async with AsyncExitStack() as stack:
        program = await stack.enter_async_context(serving_http("--no-browser"))
        agents = [
            await stack.enter_async_context(sdk.connect(program.url, sdk.mode))
            for sdk in (SDKS["python-modern"], SDKS["typescript1-legacy"], SDKS["typescript2-modern"])
        ]
        await stack.enter_async_context(tab_socket(await agents[0].tab_address(), PAGE))
        assert (await agents[0].call(OPEN)).is_connected

        said = [(agent, f"{place}-{turn}") for turn in range(TURNS) for place, agent in enumerate(agents)]
        answers = await asyncio.gather(*(agent.call("page_say", {"word": word}) for agent, word in said))
        assert [answer.text for answer in answers] == [word for _, word in said]

        assert [counted.progress for counted in await counts(*agents)] == [STEPS] * 3
