"""Bugs of jupyter-mcp-server that must not occur here, as far as they concern a folder."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from e2e.support import wine
from e2e.support.agents.python_sdk import python_agent
from e2e.support.home import Home, new_mark
from e2e.support.notebook_client import NotebookClient, notebook_client
from e2e.support.notebook_files import sources, write
from e2e.support.notebook_server import NotebookServer, launch, nothing_is_left
from e2e.support.processes import kernels
from e2e.support.program import Launch, program
from e2e.support.stdio_client import StdioClient, stdio_client

FRESH_KERNELS = 5


async def test_running_code_does_not_change_where_cells_are_written(server: NotebookServer) -> None:
    write(server.root / "notebook.ipynb", "untouched")
    write(server.root / "small.ipynb")
    async with python_agent(server.url) as agent:
        for tool, given in [
            ("use_notebook", {"notebook_name": "small", "notebook_path": "small.ipynb"}),
            ("execute_code", {"code": "1"}),
            ("insert_cell", {"cell_index": 0, "cell_type": "code", "cell_source": "written"}),
        ]:
            answer = await agent.call(tool, given)
            assert not answer.is_error, answer.text
        assert "small.ipynb" in answer.text, "a reply names the notebook that was changed"
    assert sources(NotebookClient(agent, server.root, "small.ipynb").notebook()) == ["written"]
    assert sources(NotebookClient(agent, server.root, "notebook.ipynb").notebook()) == ["untouched"]


async def test_success_means_that_a_large_notebook_is_on_disk(server: NotebookServer, path: str) -> None:
    write(server.root / path, *["x" * 400_000] * 60)
    async with python_agent(server.url) as agent:
        client = NotebookClient(agent, server.root, path)
        opened = await client.open()
        assert "60 cells" in opened.text
        await client.insert("the new one")
        assert sources(client.notebook())[60:] == ["the new one"]


async def test_the_first_output_of_a_fresh_kernel_arrives(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        for turn in range(FRESH_KERNELS):
            await client.open(kernel_id="NEW")
            assert f"first {turn}" in (await client.do("execute_code", code=f"print('first {turn}')")).text


async def test_no_kernel_is_started_before_the_first_run_and_each_notebook_has_one(home: Home, tmp_path: Path) -> None:
    mark = new_mark()
    async with stdio_client(launch(tmp_path, home, mark=mark)) as server:
        await server.initialize()
        await server.call("use_notebook", notebook_path="a.ipynb", mode="create")
        await server.call("read_notebook")
        assert kernels(mark) == []
        for _ in range(3):
            await server.call("use_notebook", notebook_path="a.ipynb")
            await server.call("execute_code", code="1")
        assert len(kernels(mark)) == 1
        assert "Its kernel" in await server.call("unuse_notebook", notebook_name="a.ipynb")
        nothing_but(server, mark)


def nothing_but(server: StdioClient, mark: str) -> None:
    """The kernel is gone, and the server is not."""
    assert kernels(mark) == []
    assert server.process.returncode is None


def _without_python(home: Home, tmp_path: Path) -> dict[str, str]:
    environment = home.environment(new_mark())
    environment.pop("VIRTUAL_ENV")
    (tmp_path / "programs").mkdir()
    return {**environment, "PATH": str(tmp_path / "programs"), "JUPYTER_DATA_DIR": str(tmp_path / "data")}


@pytest.mark.parametrize("lacking", ["nothing", "a readable folder", "any Python", "a home"])
async def test_initialize_is_answered_whatever_is_missing(lacking: str, home: Home, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir(mode=0 if lacking == "a readable folder" else 0o755)
    environment = home.environment(new_mark())
    if lacking == "any Python":
        environment = _without_python(home, tmp_path)
    elif lacking == "a home":
        environment = {"PATH": os.defpath, "HOME": "/nowhere"}
    start = Launch(("--no-browser", "--root", str(root)), environment, command=(), folder=tmp_path)
    async with stdio_client(start) as server:
        assert (await server.initialize())["serverInfo"]["name"] == "cellbridge"
        assert len((await server.ask("tools/list", {}))["tools"]) > 20
        listed = await server.call("list_files")
        assert ("cannot be listed" in listed) == (lacking == "a readable folder")
        server.end_input()
        assert await server.ended() == 0
    root.chmod(0o755)


def test_a_missing_folder_is_reported_at_once(tmp_path: Path) -> None:
    absent = str(tmp_path / "absent")
    ended = subprocess.run([program(), "--root", absent], input=b"", capture_output=True, timeout=10, check=False)
    assert wine.status(ended.returncode) == 1
    assert absent in ended.stderr.decode() and ended.stderr.count(b"\n") == 1


async def test_without_any_python_notebooks_can_be_edited_and_a_run_says_what_is_missing(
    home: Home, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    start = Launch(("--no-browser",), _without_python(home, tmp_path), command=(), folder=root)
    async with stdio_client(start) as server:
        await server.initialize()
        opened = await server.call("use_notebook", notebook_path="a.ipynb", mode="create")
        assert "a.ipynb" in opened
        inserted = await server.call("insert_cell", cell_index=-1, cell_type="code", cell_source="1")
        assert "inserted successfully" in inserted
        message = await server.call("execute_cell", cell_index=0)
        assert "Python" in message and "[NOT RUN]" in message


async def test_the_end_of_input_ends_the_server_while_a_kernel_runs(home: Home, tmp_path: Path) -> None:
    mark = new_mark()
    async with stdio_client(launch(tmp_path, home, mark=mark)) as server:
        await server.initialize()
        await server.call("use_notebook", notebook_path="a.ipynb", mode="create")
        await server.call("execute_code", code="'the kernel is up'")
        assert "It continues" in await server.call("execute_code", code="while True: pass", timeout=0.3)
        server.end_input()
        assert await server.ended() == 0
        await asyncio.to_thread(nothing_is_left, mark, home)


async def test_tabs_and_newlines_do_not_break_tables(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        await client.insert("a\tb\\n\tc")
        rows = (await client.do("read_notebook")).text.splitlines()
        [header] = [row for row in rows if row.startswith("Index\t")]
        assert rows[rows.index(header) + 1].count("\t") == header.count("\t")
