"""MCP clients at a Jupyter server's own endpoint, and bugs of jupyter-mcp-server that must not occur here."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from e2e.clients.test_notebooks import TOOLS as NOTEBOOK_TOOLS
from e2e.support.agents.python_sdk import python_agent
from e2e.support.agents.sdks import SDKS, Sdk
from e2e.support.inside_server import InsideServer, ask, call
from e2e.support.jupyter_program import JupyterNotebookClient, is_on_disk, jupyter_notebook
from e2e.support.jupyter_server import JupyterServer, interpreter
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import gate, id_in
from e2e.support.notebook_files import Json, printed, sources
from e2e.support.program import program
from e2e.support.waiting import LONG

MODE = "inside"

# There is no other server to connect to.
# Where no JupyterLab is open, there is no `open_in_browser`.
TOOLS = NOTEBOOK_TOOLS - {"connect_to_jupyter", "open_in_browser"}
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def _initialize(revision: str) -> Json:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def _message(answer: httpx.Response) -> Json:
    """The last message of an answer, whether it is a stream or not."""
    assert answer.status_code == 200, answer.text
    if answer.headers["content-type"].startswith("application/json"):
        return answer.json()
    data = [line.removeprefix("data:") for line in answer.text.splitlines() if line.startswith("data:")]
    return json.loads([each for each in data if each.strip()][-1])


@contextmanager
def _session(jupyter: JupyterServer, revision: str = "2025-11-25") -> Iterator[tuple[Json, dict[str, Any]]]:
    """What the server says of itself, and what goes with each further request of the session."""
    answer = ask(jupyter, "POST", token=jupyter.token, json=_initialize(revision))
    headers = {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": revision}
    given = {"token": jupyter.token, "headers": headers}
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert ask(jupyter, "POST", json=initialized, **given).status_code == 202
    yield _message(answer)["result"], given
    assert ask(jupyter, "DELETE", **given).is_success


@pytest.mark.parametrize("sdk", [SDKS["python-modern"], SDKS["typescript1-legacy"]], ids=["modern", "legacy"])
async def test_a_client_edits_and_runs_a_live_notebook(
    sdk: Sdk, mcp_server: InsideServer, jupyter: JupyterServer, path: str
) -> None:
    write_notebook(jupyter.root / path, "here = 1")
    async with sdk.connect(mcp_server.url, sdk.mode) as agent:
        assert agent.revision == sdk.revision
        assert await agent.tool_names() - {"open_in_browser"} == TOOLS
        client = JupyterNotebookClient(agent, jupyter.root, path)
        await client.open()
        assert is_on_disk(await client.do("insert_cell", cell_index=-1, cell_type="code", cell_source="x = 6"))
        ran = await client.run("print('größer', 7)")
        assert "größer 7" in ran.text and is_on_disk(ran)
        assert sources(client.notebook()) == ["here = 1", "x = 6", "print('größer', 7)"]
        assert printed(client.cell(id_in(ran))) == "größer 7\n"
        assert "x = 6" in (await client.do("read_notebook")).text
        await client.do("unuse_notebook")


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_client_s_protocol_revision_is_used(revision: str, jupyter: JupyterServer) -> None:
    """jupyter-mcp-server always answers 2024-11-05."""
    with _session(jupyter, revision) as (message, _):
        assert message["protocolVersion"] == revision and message["serverInfo"]["name"] == "cellbridge"


async def test_progress_is_reported_during_a_run(mcp_server: InsideServer, path: str) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        message, wait = gate(client)
        running = asyncio.create_task(client.run(f"print('started', flush=True)\n{wait}"))
        async with asyncio.timeout(LONG):
            while not client.agent.progress:
                await asyncio.sleep(0.02)
        assert not running.done()
        message.touch()
        answer = await running
        steps = [step for step, _, _ in answer.progress]
        assert steps and steps == sorted(steps)


def test_tools_are_listed_and_called_over_plain_http(jupyter: JupyterServer, path: str) -> None:
    listed = ask(jupyter, "GET", "mcp/tools/list", jupyter.token).json()
    assert listed["count"] == len(listed["tools"])
    assert {tool["name"] for tool in listed["tools"]} - {"open_in_browser"} == TOOLS
    assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in listed["tools"])
    done, message = call(jupyter, "use_notebook", notebook_path=path, mode="create")
    assert done and path in message
    done, message = call(jupyter, "execute_code", code="print(6 * 7)")
    assert done and "42" in message, message
    done, message = call(jupyter, "execute_code", code="1 / 0")
    assert not done and "ZeroDivisionError" in message
    done, message = call(jupyter, "no_such_tool")
    assert not done and "no_such_tool" in message
    for body in [b"{", b"[]", b"{}", b"\xff"]:
        answer = ask(jupyter, "POST", "mcp/tools/call", jupyter.token, content=body)
        assert answer.status_code == 400 and answer.json()["success"] is False, answer.text


def test_malformed_requests_are_refused(jupyter: JupyterServer) -> None:
    assert ask(jupyter, "PUT", token=jupyter.token).status_code == 405
    assert ask(jupyter, "GET", "mcp/no-such", jupyter.token).status_code == 404
    assert ask(jupyter, "POST", token=jupyter.token, content=b"{").status_code in {400, 415}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    unknown = {"Mcp-Session-Id": "no-such"}
    assert ask(jupyter, "POST", token=jupyter.token, json=ping, headers=unknown).status_code == 404


async def test_large_requests_and_replies_arrive_complete(
    mcp_server: InsideServer, jupyter: JupyterServer, path: str
) -> None:
    source = "größer = '" + "🪐" * 500_000 + "'"
    async with jupyter_notebook(mcp_server, path) as client:
        await client.insert(source)
        assert sources(client.notebook()) == [source]
        whole = await client.agent.read_resource(f"notebook://{path}")
        assert sources(json.loads(whole["text"])) == [source]
        # Not as a stream.
        read, message = call(jupyter, "read_cell", notebook_name=path, cell_index=0, max_characters=1_000_000)
        assert read and message.count("🪐") == 500_000


@pytest.mark.parametrize("way", ["module", "script"])
def test_the_package_contains_the_program(way: str) -> None:
    python = interpreter("rtc")
    command = [python, "-m", "cellbridge"] if way == "module" else [python.parent / "cellbridge"]
    expected = subprocess.run([program(), "--version"], check=True, capture_output=True, text=True, timeout=LONG)
    message = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True, timeout=LONG)
    assert message.stdout == expected.stdout and message.stdout.startswith("cellbridge ")
    wrong = subprocess.run([*command, "no-such-command"], check=False, capture_output=True, timeout=LONG)
    assert wrong.returncode == 2


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_a_subscriber_is_notified_of_others_changes(
    mcp_server: InsideServer, jupyter: JupyterServer, path: str
) -> None:
    """On a stream that stays open."""
    write_notebook(jupyter.root / path, "a")
    async with python_agent(mcp_server.url) as agent:
        await agent.subscribe(f"notebook://{path}")
        await JupyterNotebookClient(agent, jupyter.root, path).open()
        notebook = jupyter.saved(path)
        notebook["cells"][0]["source"] = "of somebody else"
        assert jupyter.ask("PUT", f"api/contents/{path}", {"type": "notebook", "content": notebook}).is_success
        async with asyncio.timeout(LONG):
            assert await agent.updated.get() == f"notebook://{path}"
        assert "of somebody else" in (await agent.read_resource(f"notebook://{path}"))["text"]
