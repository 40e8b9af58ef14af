"""Failures around the program inside a Jupyter server: everybody keeps working, and nothing is left behind."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from e2e.inside.test_access import INITIALIZE
from e2e.support.agents.node_sdk import node_agent
from e2e.support.agents.python_sdk import python_agent
from e2e.support.inside_server import InsideServer, ask, call, inside, own_lines, sockets
from e2e.support.jupyter_program import is_on_disk, jupyter_notebook
from e2e.support.jupyter_server import JUPYTER_CONFIG, JupyterServer, jupyter_server
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import gate
from e2e.support.notebook_files import printed, read_valid, sources
from e2e.support.waiting import LONG, until

MODE = "inside"

SESSIONS = 200
_ACCEPT = {"Accept": "application/json, text/event-stream"}
_CONFIG = JUPYTER_CONFIG / "faults_config.py"


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """A server whose storage fails for some names, and forks the server for others."""
    with jupyter_server("plain", tmp_path_factory.mktemp("faulty"), f"--config={_CONFIG}") as server:
        yield server


def _run(path: str) -> dict[str, object]:
    code = "import pathlib, time\npathlib.Path('started').touch()\nwhile True: time.sleep(0.01)"
    arguments = {"notebook_name": path, "cell_index": -1, "cell_source": code, "timeout": 100}
    params = {"name": "insert_execute_code_cell", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}


@pytest.mark.parametrize("kind", ["plain", "rtc"])
async def test_a_server_ends_with_open_runs_and_streams(
    kind: str, path: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # `tmp_path` holds the test's name, and a path that is too long for a socket moves it out of the server's home.
    with jupyter_server(kind, tmp_path_factory.mktemp("ending")) as server:
        assert server.process
        async with httpx.AsyncClient(timeout=LONG, headers={"Authorization": f"token {server.token}"}) as http:
            hello = await http.post(f"{server.url}mcp", json=INITIALIZE, headers=_ACCEPT)
            session = {**_ACCEPT, "Mcp-Session-Id": hello.headers["mcp-session-id"]}
            write_notebook(server.root / path)
            call(server, "use_notebook", notebook_path=path)
            async with http.stream("GET", f"{server.url}mcp", headers=session) as listening:
                assert listening.status_code == 200
                waiting = asyncio.create_task(http.post(f"{server.url}mcp", json=_run(path), headers=session))
                await until(lambda: (server.root / "started").exists(), "the run has started")
                assert sockets(server)
                server.process.terminate()
                await until(lambda: "Kernel shutdown: " in server.log.read_text(), "extensions and kernels have ended")
                try:
                    await asyncio.wait_for(waiting, LONG)
                except httpx.TransportError:
                    # The request was not answered, but it ended.
                    pass
        # A thread of jupyter-collaboration can keep the process alive, with or without us.
        assert kind == "rtc" or await asyncio.to_thread(server.process.wait, LONG) == 0
        assert sockets(server) == []
        # Kernels and rooms log such an end; we have nothing to complain of.
        log = server.log.read_text().partition("received signal")[2]
        assert log and own_lines(log) == [], log
        await until(lambda: server.kernels == [], "the kernels have ended")


async def test_a_run_continues_after_its_client_vanishes(
    mcp_server: InsideServer, jupyter: JupyterServer, path: str
) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        opened, wait = gate(client)
        started, _ = gate(client, "started")
        touch = f"import pathlib\npathlib.Path({started.name!r}).touch()"
        async with node_agent("sdk_v1.mjs", mcp_server.url) as other:
            cell = {"cell_index": -1, "cell_source": f"print('early', flush=True)\n{touch}\n{wait}\nprint('late')"}
            given = {"notebook_name": path, "timeout": 100, **cell}
            await other.call("use_notebook", {"notebook_path": path})
            running = asyncio.create_task(other.call("insert_execute_code_cell", given))

            def message() -> str:
                return "".join(printed(each) for each in jupyter.saved(path)["cells"])

            try:
                await until(started.exists, "the run has started", during=running)
                assert not running.done(), running.result().text
            finally:
                other.vanish()
            with pytest.raises(AssertionError, match="the Node client ended"):
                await running
        opened.touch()
        await until(lambda: message() == "early\nlate\n", "the server has all outputs")


async def test_abandoned_sessions_leave_nothing_behind(jupyter: JupyterServer) -> None:
    """Most end without a DELETE."""
    process = jupyter.process
    assert process
    files = Path(f"/proc/{process.pid}/fd")
    headers = {**_ACCEPT, "Authorization": f"token {jupyter.token}"}

    def opened() -> int:
        return len(list(files.iterdir()))

    async def opens_and_drops(http: httpx.AsyncClient, number: int) -> None:
        hello = await http.post(f"{jupyter.url}mcp", json=INITIALIZE)
        assert hello.status_code == 200, hello.text
        session = {"Mcp-Session-Id": hello.headers["mcp-session-id"]}
        async with http.stream("GET", f"{jupyter.url}mcp", headers=session) as listening:
            assert listening.status_code == 200
        if number % 10 == 0:
            assert (await http.delete(f"{jupyter.url}mcp", headers=session)).is_success

    # What is opened once stays open.
    assert call(jupyter, "list_files")[0]
    before = opened()
    async with httpx.AsyncClient(timeout=LONG, headers=headers) as http:
        for batch in range(0, SESSIONS, 20):
            await asyncio.gather(*(opens_and_drops(http, number) for number in range(batch, batch + 20)))
    await until(lambda: opened() <= before + 5, f"files are closed, of which {before} were open before")
    assert call(jupyter, "list_files")[0]


async def test_errors_of_the_storage_reach_the_agent(faulty: JupyterServer, path: str) -> None:
    write_notebook(faulty.root / "broken.ipynb", "precious = 1")
    async with asyncio.timeout(LONG), python_agent(inside(faulty).url) as agent:
        refused = await agent.call("use_notebook", {"notebook_path": "broken.ipynb"})
        assert refused.is_error and "broken.ipynb" in refused.text and "Traceback" not in refused.text
        assert "500" in refused.text or "the database is away" in refused.text
    assert sources(read_valid(faulty.root / "broken.ipynb")) == ["precious = 1"]
    async with jupyter_notebook(inside(faulty), path) as client:
        ran = await client.run("print(6 * 7)")
        assert "42" in ran.text and is_on_disk(ran)


async def test_a_fork_of_the_server_neither_hangs_nor_keeps_resources(faulty: JupyterServer, path: str) -> None:
    write_notebook(faulty.root / f"forked-{path}", "here = 1")
    async with asyncio.timeout(LONG), python_agent(inside(faulty).url) as agent:
        opened = await agent.call("use_notebook", {"notebook_path": f"forked-{path}"})
        assert not opened.is_error and "here = 1" in opened.text, opened.text
        ran = await agent.call("execute_code", {"code": "print(here)"})
        assert ran.is_error and "NameError" in ran.text
    assert len(sockets(faulty)) == 1
    assert ask(faulty, "GET", "mcp/healthz", faulty.token).status_code == 200
