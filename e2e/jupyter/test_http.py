"""`cellbridge jupyter` over HTTP: clients, tokens and the admin API."""

import json
import os
import subprocess
from pathlib import Path

import httpx
import pytest

from e2e.support.agents.python_sdk import python_agent
from e2e.support.http import request
from e2e.support.jupyter_program import jupyter_program
from e2e.support.jupyter_server import JupyterServer, SharedServers
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_server import NotebookServer
from e2e.support.program import program
from e2e.support.waiting import LONG

MCP_TOKEN = "e2e-token-of-the-agents"
TOKENS = 5000


def _ask(
    server: NotebookServer, method: str, path: str, token: str | None = MCP_TOKEN, **given: object
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = server.url.removesuffix("/mcp") + path
    return request(method, url, headers={**headers, **given.pop("headers", {})}, **given)


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
