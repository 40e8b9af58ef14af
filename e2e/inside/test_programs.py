"""`jupyter notebook` has the endpoint, too, below a path and under a public host name; the other tests start `jupyter server`."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.inside.test_access import INITIALIZE, LIST
from e2e.support.inside_server import ask, call, inside
from e2e.support.jupyter_program import is_on_disk, jupyter_notebook
from e2e.support.jupyter_server import PORTS, JupyterServer, interpreter
from e2e.support.notebook_files import sources

PUBLIC = {"Host": "jupyter.example.org", "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}


class Started(JupyterServer):
    """A server as a person starts it behind a proxy."""

    def __init__(self, folder: Path) -> None:
        super().__init__("plain", folder, base_url="/behind/a/proxy/")

    def launch(self) -> None:
        programs = interpreter("plain").parent
        settings = {
            "ServerApp.port": self.port,
            "ServerApp.port_retries": 0,
            "ServerApp.base_url": self.base_url,
            "ServerApp.root_dir": self.root,
            "ServerApp.allow_remote_access": True,
            "ServerApp.trust_xheaders": True,
            "IdentityProvider.token": self.token,
        }
        environment = {**self.home.environment(self.mark), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                # The script's own first line may name another place, as where environments were moved.
                [programs / "python", programs / "jupyter", "notebook", "--allow-root", "--no-browser"]
                + [f"--{name}={value}" for name, value in settings.items()],
                cwd=self.root,
                env={**os.environ, **environment, **PORTS, "JUPYTER_PREFER_ENV_PATH": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    server = Started(tmp_path_factory.mktemp("notebook"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


async def test_an_agent_works_below_the_server_s_path(jupyter: JupyterServer, path: str) -> None:
    async with jupyter_notebook(inside(jupyter), path) as client:
        assert is_on_disk(await client.do("insert_cell", cell_index=-1, cell_type="code", cell_source="x = 6"))
        ran = await client.run("print(6 * 7)")
        assert "42" in ran.text and is_on_disk(ran)
        assert sources(client.notebook()) == ["x = 6", "print(6 * 7)"]
    assert ask(jupyter, "GET", "mcp/healthz").status_code in {401, 403}


def test_a_proxy_s_public_host_name_works(jupyter: JupyterServer, path: str) -> None:
    listed = ask(jupyter, "POST", "mcp/tools/call", jupyter.token, json=LIST, headers=PUBLIC)
    assert listed.status_code == 200 and listed.json()["success"], listed.text
    hello = ask(jupyter, "POST", token=jupyter.token, json=INITIALIZE, headers=PUBLIC)
    assert hello.status_code == 200, hello.text
    session = {**PUBLIC, "Mcp-Session-Id": hello.headers["mcp-session-id"]}
    create = {"name": "use_notebook", "arguments": {"notebook_path": path, "mode": "create"}}
    request = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": create}
    assert path in ask(jupyter, "POST", token=jupyter.token, json=request, headers=session).text
    assert ask(jupyter, "POST", json=request, headers=session).status_code in {401, 403}
    assert path in call(jupyter, "list_files")[1]
