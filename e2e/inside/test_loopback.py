"""Inside a server on a system without Unix sockets: our part reaches it on a port of loopback, and nobody else does."""

from collections.abc import Iterator

import pytest

from e2e.support.http import request
from e2e.support.inside_server import ask, call, inside, sockets
from e2e.support.jupyter_program import is_on_disk, jupyter_notebook
from e2e.support.jupyter_server import JUPYTER_CONFIG, JupyterServer, jupyter_server
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import id_in
from e2e.support.notebook_files import printed, sources
from e2e.support.processes import listening_ports

_CONFIG = JUPYTER_CONFIG / "loopback_config.py"
_SECRET = "X-Cellbridge-Secret"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    folder = tmp_path_factory.mktemp("loopback")
    with jupyter_server("rtc", folder, f"--config={_CONFIG}", base_url="/below/a/path/") as server:
        yield server


async def test_agents_edit_and_run(server: JupyterServer, path: str) -> None:
    write_notebook(server.root / path, "here = 6")
    async with jupyter_notebook(inside(server), path, create=False) as client:
        await client.do("execute_cell", cell_index=0)
        ran = await client.run("print(here * 7)")
        assert "42" in ran.text and is_on_disk(ran)
        assert printed(client.cell(id_in(ran))) == "42\n"
        assert sources(client.notebook()) == ["here = 6", "print(here * 7)"]
    assert sockets(server) == []


def test_only_the_secret_opens_the_port(server: JupyterServer) -> None:
    assert call(server, "list_files")[0]
    assert server.process
    [port] = [port for port in listening_ports(server.process.pid) if port != server.port]
    address = f"http://127.0.0.1:{port}{server.base_url}api/status"
    known = {"Authorization": f"token {server.token}"}
    for secret in [{}, {_SECRET: ""}, {_SECRET: "wrong"}]:
        for method, given in [("GET", {}), ("POST", {"content": b"x" * 100_000})]:
            answer = request(method, address, headers={**known, **secret}, **given)
            assert (answer.status_code, answer.content) == (403, b"")
    # An agent cannot choose what our part sends.
    body = {"tool_name": "list_files", "arguments": {}}
    answer = ask(server, "POST", "mcp/tools/call", server.token, json=body, headers={_SECRET: "wrong"})
    assert answer.json()["success"], answer.text
