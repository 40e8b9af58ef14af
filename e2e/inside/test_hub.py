"""Servers of a JupyterHub: `/user/NAME/mcp` is open to those whom the Hub admits, and to nobody else."""

import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from e2e.inside.test_access import ENDPOINTS, LIST
from e2e.support.agents.python_sdk import PythonAgent
from e2e.support.http import request
from e2e.support.jupyter_hub import JupyterHub, jupyter_hub
from e2e.support.jupyter_program import JupyterNotebookClient, is_on_disk
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import id_in
from e2e.support.notebook_files import printed, sources
from e2e.support.waiting import LONG

OWNER, OTHER = "ada", "grace"
# A Hub takes longer to start than a test.
pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterHub]:
    """A Hub with two users, one of whom has a server that runs."""
    with jupyter_hub(tmp_path_factory.mktemp("hub")) as hub:
        hub.add_user(OTHER)
        hub.add_user(OWNER)
        write_notebook(hub.root(OWNER) / "x.ipynb", "here = 'it is'")
        hub.start_server(OWNER)
        yield hub


@dataclass
class User:
    """Somebody with a token of the Hub at the owner's server."""

    hub: JupyterHub
    token: str | None

    def ask(self, method: str, path: str, **given: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers["Accept"] = "application/json, text/event-stream"
        return request(method, f"{self.hub.url}user/{OWNER}/{path}", headers=headers, **given)


@asynccontextmanager
async def _agent(hub: JupyterHub, name: str) -> AsyncIterator[PythonAgent]:
    """A client with the token in a header; the Hub accepts none in an address."""
    token = hub.token(name, f"access:servers!user={name}")
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"token {token}"}, timeout=LONG) as http,
        Client(streamable_http_client(f"{hub.url}user/{name}/mcp", http_client=http)) as client,
    ):
        yield PythonAgent(client)


async def test_a_token_with_few_scopes_works_at_the_user_s_address(hub: JupyterHub) -> None:
    async with _agent(hub, OWNER) as agent:
        client = JupyterNotebookClient(agent, hub.root(OWNER), "x.ipynb")
        assert "here = 'it is'" in (await client.open()).text
        assert is_on_disk(await client.do("insert_cell", cell_index=-1, cell_type="code", cell_source="new = 1"))
        ran = await client.run("print('in the hub', flush=True); 6 * 7")
        assert "42" in ran.text and is_on_disk(ran)
        assert printed(client.cell(id_in(ran))) == "in the hub\n"
        assert sources(client.notebook())[:2] == ["here = 'it is'", "new = 1"]
        assert "x.ipynb" in (await client.do("list_files")).text
        await client.do("unuse_notebook")


def _is_refused(answer: httpx.Response) -> bool:
    """Whether the Hub redirects to its login, or refuses."""
    if answer.status_code == 302:
        return "/hub/" in answer.headers["location"]
    return answer.status_code in {401, 403} and "result" not in answer.text


def test_other_users_are_refused(hub: JupyterHub) -> None:
    tokens = {
        "nobody": None,
        "another user": hub.token(OTHER, f"access:servers!user={OTHER}"),
        "without access": hub.token(OWNER, f"read:users!user={OWNER}"),
        "unknown": "0" * 32,
    }
    for (method, path, body), (whose, token) in itertools.product(ENDPOINTS, tokens.items()):
        answer = User(hub, token).ask(method, path, **({"json": body} if body else {}))
        assert _is_refused(answer), f"{whose}, {method} {path}: {answer.status_code} {answer.text}"


def test_the_hub_does_not_accept_a_token_in_the_address(hub: JupyterHub) -> None:
    token = hub.token(OWNER, f"access:servers!user={OWNER}")
    assert User(hub, token).ask("POST", "mcp/tools/call", json=LIST).json()["success"]
    answer = User(hub, None).ask("POST", f"mcp/tools/call?token={token}", json=LIST)
    assert _is_refused(answer), answer.text
