"""`cellbridge jupyter` over HTTP: clients, tokens and the admin API."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from e2e.clients.test_notebooks import TOOLS
from e2e.support.agents.python_sdk import python_agent
from e2e.support.agents.sdks import Sdk, two_clients
from e2e.support.home import Home
from e2e.support.http import request
from e2e.support.jupyter_program import (
    COMMAND,
    JupyterNotebookClient,
    is_on_disk,
    jupyter_launch,
    jupyter_notebook,
    jupyter_program,
    reaching,
)
from e2e.support.jupyter_server import JupyterServer, SharedServers
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import id_in
from e2e.support.notebook_files import printed, sources
from e2e.support.notebook_server import NotebookServer, running
from e2e.support.program import program
from e2e.support.waiting import LONG

MCP_TOKEN = "e2e-token-of-the-agents"
TOKENS = 5000


@pytest.fixture(scope="module")
def form() -> str:
    return "rtc"


@contextmanager
def _guarded(jupyter: JupyterServer, home: Path, *options: str) -> Iterator[NotebookServer]:
    """The program with a token of its own for agents."""
    command = ("jupyter", "--transport", "streamable-http", "--port", "0", "--mcp-token", MCP_TOKEN)
    server = NotebookServer(jupyter.root, Home(home), *reaching(jupyter), *options, command=command)
    with running(server):
        yield server


@pytest.fixture(scope="module")
def guarded(jupyter: JupyterServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookServer]:
    with _guarded(jupyter, tmp_path_factory.mktemp("home")) as server:
        yield server


def _ask(
    server: NotebookServer, method: str, path: str, token: str | None = MCP_TOKEN, **given: object
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = server.url.removesuffix("/mcp") + path
    return request(method, url, headers={**headers, **given.pop("headers", {})}, **given)


@two_clients
async def test_a_client_edits_and_runs_a_live_notebook(
    sdk: Sdk, transport: str, mcp_server: NotebookServer, jupyter: JupyterServer, path: str, tmp_path: Path
) -> None:
    write_notebook(jupyter.root / path, "here = 1")
    start = mcp_server.url if transport == "http" else jupyter_launch(tmp_path / "home", *reaching(jupyter))
    async with sdk.connect(start, sdk.mode) as agent:
        assert agent.revision == sdk.revision
        tools = await agent.tools()
        assert {tool["name"] for tool in tools} | {"open_in_browser"} == TOOLS
        message = [tool["name"] + tool["description"] + json.dumps(tool["inputSchema"]) for tool in tools]
        assert sum(len(each.encode()) for each in message) / 4 <= TOKENS
        client = JupyterNotebookClient(agent, jupyter.root, path)
        await client.open()
        assert is_on_disk(await client.do("insert_cell", cell_index=-1, cell_type="code", cell_source="x = 6"))
        ran = await client.run("print('größer', 7)")
        assert "größer 7" in ran.text and is_on_disk(ran)
        assert sources(client.notebook()) == ["here = 1", "x = 6", "print('größer', 7)"]
        assert printed(client.cell(id_in(ran))) == "größer 7\n"
        assert "x = 6" in (await client.do("read_notebook")).text
        await client.do("unuse_notebook")


async def test_requests_without_the_token_are_refused(guarded: NotebookServer, jupyter: JupyterServer) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for token in [None, "wrong", jupyter.token]:
        assert _ask(guarded, "POST", "/mcp", token, json=ping).status_code in {401, 403}
        assert _ask(guarded, "PUT", "/api/connect", token, json={}).status_code == 401
        assert _ask(guarded, "DELETE", "/api/stop", token).status_code == 401
    assert MCP_TOKEN not in "\n".join(guarded.log_lines) and jupyter.token not in "\n".join(guarded.log_lines)


def test_without_a_token_in_the_options_it_makes_one(jupyter: JupyterServer, tmp_path: Path) -> None:
    command = tuple(option for option in COMMAND if option != "--insecure-mcp-noauth")
    home = Home(tmp_path)
    with running(NotebookServer(jupyter.root, home, *reaching(jupyter), command=command)) as server:
        address, _, made = server.url.partition("?token=")
        assert made, server.url
        headers = {"Accept": "application/json, text/event-stream"}
        assert request("POST", address, headers=headers, json={}).status_code == 401
        assert request("POST", server.url, headers=headers, json={}).status_code != 401


async def test_health_needs_no_token(guarded: NotebookServer, jupyter: JupyterServer, path: str) -> None:
    write_notebook(jupyter.root / path)
    answer = _ask(guarded, "GET", "/api/healthz", None)
    assert answer.status_code == 200
    healthy = answer.json()
    assert healthy["status"] == "healthy" and healthy["kernel_status"] == "not_initialized"
    assert _ask(guarded, "GET", "/api/healthz", None, headers={"Host": "attacker.example"}).status_code in {403, 421}


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_pages_cannot_use_the_admin_api(method: str, guarded: NotebookServer) -> None:
    path = "/api/connect" if method == "PUT" else "/api/stop"
    given = {"json": {}} if method == "PUT" else {}
    assert _ask(guarded, method, path, headers={"Host": "attacker.example"}, **given).status_code in {403, 421}
    assert _ask(guarded, method, path, headers={"Origin": "http://attacker.example"}, **given).status_code == 403


async def test_the_admin_api_connects_and_stops(
    jupyter: JupyterServer, jupyter_servers: SharedServers, path: str, tmp_path: Path
) -> None:
    other = jupyter_servers["plain"]
    write_notebook(other.root / path, "here = 'it is'")
    with jupyter_program(jupyter, tmp_path / "home") as server:
        # As the `connect` command of the original sends it: what is not given is the word None.
        body = {
            "document_provider": "jupyter",
            "document_url": other.url,
            "document_id": path,
            "document_token": other.token,
            "code_sandbox_url": other.url,
            "code_sandbox_id": "None",
            "code_sandbox_token": other.token,
            "allowed_jupyter_tools": None,
        }
        connected = _ask(server, "PUT", "/api/connect", None, json=body)
        assert connected.status_code == 200 and connected.json() == {"success": True}
        async with python_agent(server.url) as agent:
            opened = await agent.call("use_notebook", {"notebook_path": path})
            assert "here = 'it is'" in opened.text, opened.text
            ran = await agent.call("execute_code", {"code": "6 * 7", "notebook_name": path})
            assert "42" in ran.text, ran.text
            assert _ask(server, "GET", "/api/healthz", None).json()["kernel_status"] == "alive"
            stopped = _ask(server, "DELETE", "/api/stop", None)
            assert stopped.status_code == 200 and stopped.json() == {"success": True}
            assert [each for each in other.sessions() if each["path"] == path] == []
            # The program itself goes on.
            assert "42" in (await agent.call("execute_code", {"code": "6 * 7", "notebook_name": path})).text


async def test_the_verbs_connect_and_stop_reach_a_running_server(
    jupyter: JupyterServer, jupyter_servers: SharedServers, path: str, tmp_path: Path
) -> None:
    other = jupyter_servers["plain"]
    write_notebook(other.root / path, "here = 'it is'")
    with jupyter_program(jupyter, tmp_path / "home") as server:

        def run(verb: str, **variables: str) -> subprocess.CompletedProcess[str]:
            environment = {**os.environ, "JUPYTER_MCP_SERVER_URL": server.url.removesuffix("/mcp"), **variables}
            command = [program(), "jupyter", verb]
            return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONG, check=False)

        connected = run("connect", JUPYTER_URL=other.url, JUPYTER_TOKEN=other.token, DOCUMENT_ID=path)
        assert connected.returncode == 0, connected.stderr
        async with python_agent(server.url) as agent:
            await agent.call("use_notebook", {"notebook_path": path})
            assert "42" in (await agent.call("execute_code", {"code": "6 * 7", "notebook_name": path})).text
        stopped = run("stop")
        assert stopped.returncode == 0, stopped.stderr
        assert [each for each in other.sessions() if each["path"] == path] == []


@pytest.mark.parametrize("wrong", ["address", "token", "provider", "body"])
def test_the_admin_api_reports_errors(wrong: str, jupyter: JupyterServer, mcp_server: NotebookServer) -> None:
    body = {"provider": "jupyter", "document_url": jupyter.url, "document_token": jupyter.token, "document_id": "None"}
    body |= {"runtime_url": "None", "runtime_id": "None", "runtime_token": "None"}
    changed = {
        "address": {"document_url": "http://127.0.0.1:1"},
        "token": {"document_token": "a-wrong-token"},
        "provider": {"provider": "datalayer"},
        "body": {},
    }[wrong]
    given = {"content": b"{"} if wrong == "body" else {"json": {**body, **changed}}
    answer = _ask(mcp_server, "PUT", "/api/connect", None, **given)
    assert answer.status_code in {400, 422, 500} and answer.json()["success"] is False
    assert answer.json()["error"] and "a-wrong-token" not in answer.text


async def test_a_token_in_the_environment_and_a_port_work(jupyter: JupyterServer, path: str, tmp_path: Path) -> None:
    environment = {
        **{"TRANSPORT": "streamable-http", "PORT": "0", "MCP_TOKEN": MCP_TOKEN},
        **{"JUPYTER_URL": jupyter.url, "JUPYTER_TOKEN": jupyter.token},
    }
    server = NotebookServer(jupyter.root, Home(tmp_path), command=("jupyter", "start"), environment=environment)
    with running(server):
        assert _ask(server, "GET", "/api/healthz", None).status_code == 200
        assert _ask(server, "DELETE", "/api/stop", None).status_code == 401
        assert _ask(server, "DELETE", "/api/stop").status_code == 200


async def test_many_agents_each_have_their_own_notebook(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    names = [f"{number}-{path}" for number in range(3)]
    async with (
        jupyter_notebook(mcp_server, names[0]) as one,
        jupyter_notebook(mcp_server, names[1]) as two,
        jupyter_notebook(mcp_server, names[2]) as three,
    ):
        for client in (one, two, three):
            # Without a name, each writes into its own.
            await client.agent.call("insert_cell", {"cell_index": -1, "cell_type": "code", "cell_source": client.path})
        for client in (one, two, three):
            assert sources(client.notebook()) == [client.path]
