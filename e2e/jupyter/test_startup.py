"""Starting `cellbridge jupyter`: it replies at once whatever the server does, and reports what is wrong."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support.agents.python_sdk import python_agent
from e2e.support.home import Home, new_mark
from e2e.support.jupyter_program import JupyterNotebookClient, fails_in_a_line, jupyter_launch, opens, reaching, started
from e2e.support.jupyter_server import TOKEN, JupyterServer, SharedServers, jupyter_server
from e2e.support.lab_notebooks import write_notebook
from e2e.support.listener import listening
from e2e.support.notebook_server import nothing_is_left

STARTS = 5


@pytest.fixture(scope="module")
def notebook(jupyter: JupyterServer) -> str:
    """A notebook on the shared server, which may have it from another group of this file's tests."""
    (jupyter.root / "folder").mkdir(exist_ok=True)
    write_notebook(jupyter.root / "folder/x.ipynb", "here = 'it is'")
    return "folder/x.ipynb"


async def test_a_pasted_address_is_accepted(jupyter: JupyterServer, notebook: str, tmp_path: Path) -> None:
    """As a person copies it from a browser. The forms of addresses are tested in `rest::address`."""
    address = f"{jupyter.url}lab/tree/folder/x.ipynb?token={jupyter.token}"
    async with started(tmp_path / "home", "--jupyter-url", address) as server:
        await opens(server, notebook)


async def test_a_server_that_is_down_is_reported_and_works_once_it_is_up(tmp_path: Path) -> None:
    later = JupyterServer("plain", tmp_path / "server")
    write_notebook(later.root / "x.ipynb", "here = 'it is'")
    try:
        async with started(tmp_path / "home", *reaching(later)) as server:
            message = await fails_in_a_line(server)
            assert str(later.port) in message and "token" not in message.lower()
            later.start()
            await opens(server, "x.ipynb")
            later.kill()
            assert str(later.port) in await fails_in_a_line(server, "list_files")
            later.restart()
            await opens(server, "x.ipynb")
    finally:
        later.stop()


async def test_a_wrong_token_is_reported_and_not_printed(jupyter: JupyterServer, tmp_path: Path) -> None:
    given = ("--jupyter-url", jupyter.url, "--jupyter-token", "a-wrong-token")
    async with started(tmp_path / "home", *given) as server:
        for tool in ["list_files", "list_kernels", "use_notebook"]:
            message = await fails_in_a_line(
                server, tool, **({"notebook_path": "x.ipynb"} if tool == "use_notebook" else {})
            )
            assert "token" in message.lower() and "a-wrong-token" not in message


async def test_the_end_of_input_ends_the_program_while_a_server_hangs(tmp_path: Path) -> None:
    async with listening() as silent, started(tmp_path / "home", "--jupyter-url", silent.url) as server:
        asking = asyncio.create_task(server.ask("tools/call", {"name": "list_files", "arguments": {}}))
        while not silent.received:
            await asyncio.sleep(0.01)
        server.end_input()
        assert await server.ended() == 0
        asking.cancel()
        await asyncio.wait([asking])


async def test_running_servers_of_this_user_are_found(jupyter: JupyterServer, notebook: str, tmp_path: Path) -> None:
    found = {"JUPYTER_RUNTIME_DIR": str(jupyter.runtime)}
    async with started(tmp_path / "home", **found) as server:
        await opens(server, notebook)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """A server with no kernels but those of one test."""
    with jupyter_server("rtc", tmp_path_factory.mktemp("own")) as server:
        write_notebook(server.root / "x.ipynb", "here = 'it is'")
        yield server


@pytest.mark.parametrize("runs", [False, True], ids=["looking", "running"])
async def test_no_kernel_is_left_after_many_starts(runs: bool, own: JupyterServer, tmp_path: Path) -> None:
    for _ in range(STARTS):
        mark = new_mark()
        async with started(tmp_path / "home", *reaching(own), mark=mark) as server:
            await opens(server, "x.ipynb")
            if runs:
                assert "42" in await server.call("execute_code", code="6 * 7")
            server.end_input()
            assert await server.ended() == 0
        await asyncio.to_thread(nothing_is_left, mark, Home(tmp_path / "home"))
    # One that a run needed is the notebook's; each start joins it, or the one before it was ended.
    assert len(own.kernel_models()) <= int(runs)
    assert len(own.sessions()) <= int(runs)


async def test_an_agent_connects_to_another_server(
    jupyter: JupyterServer, jupyter_servers: SharedServers, notebook: str, tmp_path: Path
) -> None:
    other = jupyter_servers["plain"]
    write_notebook(other.root / "of-the-other.ipynb", "other = 'this'")
    async with python_agent(jupyter_launch(tmp_path / "home", *reaching(jupyter))) as agent:
        client = JupyterNotebookClient(agent, jupyter.root, notebook)
        await client.open(notebook_name="first")
        for url, token in [("http://127.0.0.1:1/", TOKEN), (other.url, "a-wrong-token")]:
            given = {"jupyter_url": url, "jupyter_token": token}
            answer = await agent.call("connect_to_jupyter", given)
            assert answer.is_error and token not in answer.text
        connected = await agent.call("connect_to_jupyter", {"jupyter_url": other.url, "jupyter_token": other.token})
        assert not connected.is_error and other.token not in connected.text, connected.text
        opened = await agent.call("use_notebook", {"notebook_path": "of-the-other.ipynb"})
        assert "other = 'this'" in opened.text, opened.text
        # The one that was open stays open under its name, on its own server.
        assert "here = 'it is'" in (await agent.call("read_notebook", {"notebook_name": "first"})).text
