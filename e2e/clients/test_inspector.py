"""The Inspector's command line, as people use it to look at a server, drives the program."""

import asyncio
import json
import os
from typing import Any

import pytest

from e2e.support.agents.node_sdk import node, node_modules
from e2e.support.agents.python_sdk import python_agent
from e2e.support.program import OPEN, TOOLS_WITHOUT_A_PAGE, HttpProgram, program, serving_http
from e2e.support.tab_socket import Call, Json, Tool, tab_socket
from e2e.support.waiting import LONG

TOOL_ERROR = 5
ERAS = ["legacy", "modern"]


async def inspector(*arguments: str) -> tuple[int, dict[str, Any], str]:
    """Runs the Inspector once: its exit code, what it printed, what it said on stderr."""
    script = node_modules() / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    process = await asyncio.create_subprocess_exec(
        *[node(), str(script), "--cli", *arguments, "--format", "json"],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1"},
    )
    async with asyncio.timeout(LONG):
        out, error = await process.communicate()
    return process.returncode or 0, json.loads(out) if out.strip() else {}, error.decode()


def _names(listed: dict[str, Any]) -> set[str]:
    return {tool["name"] for tool in listed["result"]["tools"]}


async def _shout(call: Call) -> Json:
    return {"content": [{"type": "text", "text": call.arguments["word"].upper()}]}


SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
SHOUT = Tool({"name": "page_shout", "description": "Shouts", "inputSchema": SCHEMA}, _shout)


@pytest.mark.parametrize("era", ERAS)
async def test_stdio_lists_tools_and_reports_a_call_without_a_page(era: str) -> None:
    server = (program(), "colab", "--no-browser", "--protocol-era", era)
    code, listed, error = await inspector(*server, "--method", "tools/list")
    assert code == 0, error
    assert _names(listed) == TOOLS_WITHOUT_A_PAGE

    code, called, error = await inspector(*server, "--method", "tools/call", "--tool-name", "get_cells")
    assert code == TOOL_ERROR, (called, error)
    assert OPEN in json.dumps(called) + error


@pytest.mark.parametrize("era", ERAS)
async def test_http_calls_a_tool_of_the_page(era: str) -> None:
    async with serving_http("--no-browser") as server, python_agent(server.url) as agent:
        async with tab_socket(await agent.tab_address(), [SHOUT]):
            assert (await agent.call(OPEN)).is_connected
            await _calls_over_http(server, era)


async def _calls_over_http(server: HttpProgram, era: str) -> None:
    target = ("--server-url", server.url, "--transport", "http", "--protocol-era", era)
    code, listed, error = await inspector(*target, "--method", "tools/list")
    assert code == 0, error
    assert "page_shout" in _names(listed)

    call = ("--method", "tools/call", "--tool-name", "page_shout", "--tool-arg", "word=loud")
    code, called, error = await inspector(*target, *call)
    assert code == 0, error
    assert called["result"]["content"] == [{"type": "text", "text": "LOUD"}]


async def test_http_accepts_the_token_in_a_header() -> None:
    async with serving_http("--no-browser", "--token", "a-token-for-this-test") as server:
        target = ("--server-url", server.url, "--transport", "http", "--method", "tools/list")
        code, listed, error = await inspector(*target, "--header", "Authorization: Bearer a-token-for-this-test")
        assert code == 0, error
        assert _names(listed) == TOOLS_WITHOUT_A_PAGE

        code, _, error = await inspector(*target, "--header", "Authorization: Bearer another", "--stored-auth-only")
        assert code != 0, error
