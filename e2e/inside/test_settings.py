"""Settings for the endpoint inside a Jupyter server."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support.agents.answer import Answer
from e2e.support.agents.python_sdk import python_agent
from e2e.support.home import new_mark
from e2e.support.inside_server import ask, call, inside, sockets
from e2e.support.jupyter_server import JUPYTER_CONFIG, PORTS, JupyterServer, interpreter
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import run_in
from e2e.support.notebook_files import read_valid, sources
from e2e.support.processes import end_server
from e2e.support.waiting import LONG

_SCRIPT = JUPYTER_CONFIG / "two_servers.py"


class OneOfTwo(JupyterServer):
    """A server that shares its process with another."""

    def __init__(self, folder: Path) -> None:
        super().__init__("plain", folder)
        # Where the process of both is started.
        self.log = folder.parent / "servers.log"


@pytest.fixture(scope="module")
def two_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[JupyterServer, JupyterServer]]:
    """At the first server agents can only read; the second is configured for jupyter-mcp-server."""
    folder = tmp_path_factory.mktemp("two")
    first, second = (OneOfTwo(folder / name) for name in ("first", "second"))
    write_notebook(second.root / "given.ipynb", "given = 1")
    log = first.log.open("wb")
    python = interpreter("plain")
    mark = new_mark()
    servers = [[str(server.root), str(server.port)] for server in (first, second)]
    process = subprocess.Popen(
        [python, _SCRIPT, first.token, *servers[0], *servers[1]],
        env={**os.environ, **first.home.environment(mark), **PORTS, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    try:
        first.wait()
        second.wait()
        yield first, second
        process.terminate()
        assert process.wait(LONG) is not None
        assert sockets(first) == []
    finally:
        end_server(process, mark)
        log.close()


def test_settings_of_jupyter_mcp_server_are_understood(two_servers: tuple[JupyterServer, JupyterServer]) -> None:
    _, server = two_servers
    # A notebook that nobody has named yet.
    done, message = call(server, "read_notebook")
    assert done and "given = 1" in message, message
    done, message = call(server, "insert_cell", cell_index=-1, cell_type="code", cell_source="new = 2")
    assert done, message
    assert sources(read_valid(server.root / "given.ipynb")) == ["given = 1", "new = 2"]
    assert ask(server, "GET", "mcp/healthz", server.token).json()["status"] == "healthy"


def test_two_servers_in_one_process_are_separate(two_servers: tuple[JupyterServer, JupyterServer]) -> None:
    first, second = two_servers
    write_notebook(first.root / "first.ipynb", "first = 1")
    write_notebook(second.root / "second.ipynb", "second = 1")
    for server, own, other in [(first, "first", "second"), (second, "second", "first")]:
        done, message = call(server, "list_files")
        assert done and f"{own}.ipynb" in message and f"{other}.ipynb" not in message
        assert call(server, "use_notebook", notebook_path=f"{own}.ipynb")[0]
        assert not call(server, "use_notebook", notebook_path=f"{other}.ipynb")[0]


async def test_the_limits_per_agent_are_enforced(two_servers: tuple[JupyterServer, JupyterServer]) -> None:
    _, server = two_servers
    names = [f"{name}.ipynb" for name in ("one", "two", "three")]
    for name in names:
        write_notebook(server.root / name, "1 + 1")
    url = inside(server).url
    async with python_agent(url) as agent, python_agent(url) as other:

        async def use(agent: Any, name: str) -> Answer:
            return await agent.call("use_notebook", {"notebook_name": name, "notebook_path": name})

        for name in names[:2]:
            assert not (await use(agent, name)).is_error
        refused = await use(agent, names[2])
        assert refused.is_error and "limit of open notebooks (2)" in refused.text
        assert not (await use(other, names[2])).is_error
        await agent.call("unuse_notebook", {"notebook_name": names[0]})
        assert not (await use(agent, names[2])).is_error

        code = "import threading; print('it runs', flush=True); threading.Event().wait()"
        started = await agent.call("execute_code", {"code": code, "notebook_name": names[1], "timeout": 0.1})
        refused = await agent.call("execute_cell", {"notebook_name": names[2], "cell_index": 0})
        assert refused.is_error and "limit of unfinished runs (1)" in refused.text
        assert not (await other.call("execute_cell", {"cell_index": 0})).is_error
        # A kernel loses an interrupt that comes before the first line runs.
        seen = {"run_id": run_in(started), "wait_seconds": 0.05}
        while "it runs" not in (await agent.call("get_run", seen)).text.splitlines():
            pass
        await agent.call("interrupt_kernel", {"run_id": run_in(started)})
        await agent.call("get_run", {"run_id": run_in(started), "wait_seconds": 30})
        assert not (await agent.call("execute_cell", {"notebook_name": names[2], "cell_index": 0})).is_error


def test_agents_can_only_read_if_configured(two_servers: tuple[JupyterServer, JupyterServer]) -> None:
    server, _ = two_servers
    write_notebook(server.root / "kept.ipynb", "kept = 1")
    before = (server.root / "kept.ipynb").read_bytes()
    assert call(server, "use_notebook", notebook_path="kept.ipynb")[0]
    done, message = call(server, "read_cell", cell_index=0)
    assert done and "kept = 1" in message
    refused = [
        ("insert_cell", {"cell_index": 0, "cell_type": "code", "cell_source": "new"}),
        ("overwrite_cell_source", {"cell_index": 0, "cell_source": "new"}),
        ("delete_cell", {"cell_indices": [0]}),
        ("execute_cell", {"cell_index": 0}),
        ("execute_code", {"code": "1"}),
    ]
    for tool, given in refused:
        done, message = call(server, tool, **given)
        assert not done, f"{tool}: {message}"
    assert (server.root / "kept.ipynb").read_bytes() == before
    assert server.kernel_models() == []


def test_read_only_agents_are_offered_only_tools_that_read(two_servers: tuple[JupyterServer, JupyterServer]) -> None:
    server, other = two_servers
    lists = [ask(each, "GET", "mcp/tools/list", each.token).json()["tools"] for each in (server, other)]
    offered, everything = ({tool["name"] for tool in tools} for tools in lists)
    assert offered == {
        "get_run",
        "history",
        "list_files",
        "list_kernels",
        "list_notebooks",
        "read_cell",
        "read_notebook",
        "search_notebook",
        "unuse_notebook",
        "use_notebook",
    }
    for tool in everything - offered:
        done, message = call(server, tool)
        assert not done and "lets agents only read" in message, f"{tool}: {message}"


def test_variables_are_spelled_as_at_the_command_line() -> None:
    code = """
import os
from cellbridge.extension import CellbridgeApp
for text, expected in {"1": 1, "on": 1, "YES": 1, " true ": 1, "0": 0, "off": 0, "No": 0, "false": 0, "": 0}.items():
    os.environ["CELLBRIDGE_READ_ONLY"] = text
    assert CellbridgeApp().read_only == bool(expected), text
os.environ["CELLBRIDGE_ASK"] = "run,delete"
assert CellbridgeApp().ask == ["run", "delete"]
os.environ["CELLBRIDGE_ALLOW_INSTALL"] = "yes"
assert CellbridgeApp().allow_install
"""
    subprocess.run([interpreter("plain"), "-c", code], check=True)
