"""Bugs of jupyter-mcp-server with Jupyter servers that must not occur here. They come from how real servers behave."""

import asyncio

import pytest

from e2e.support.agents.python_sdk import python_agent
from e2e.support.jupyter_program import JupyterNotebookClient, is_on_disk, jupyter_notebook, until_on_disk
from e2e.support.jupyter_server import JupyterServer
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_files import printed, sources
from e2e.support.notebook_server import NotebookServer
from e2e.support.places import INSIDE, JSD, PLAIN, RTC, Place, at
from e2e.support.waiting import LONG, until

LARGE = 200_000
FRESH_KERNELS = 3
PRINTS = 5000
ATTEMPTS = 5


@pytest.fixture(scope="module", params=[PLAIN, RTC, JSD, INSIDE], ids=str)
def place(request: pytest.FixtureRequest) -> Place:
    return request.param


@pytest.fixture(scope="module")
def form(place: Place) -> str:
    return place.form


@pytest.fixture(scope="module")
def mode(place: Place) -> str:
    return place.mode


@at(PLAIN, RTC)
async def test_a_notebook_of_24_megabytes_is_read_and_edited_whole(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    """jupyter-mcp-server reports `Notebook is empty`, and loses an insertion."""
    cells = [f"# {number}\n{'x ' * LARGE}" for number in range(60)]
    ids = write_notebook(jupyter.root / path, *cells)
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        read = await client.do("read_notebook", limit=0)
        assert "has 60 cells" in read.text and "59\tcode" in read.text
        tail = await client.do("read_cell", cell_id=ids[59], max_characters=2000)
        assert "# 59" in tail.text
        answer = await client.do("insert_cell", cell_index=-1, cell_type="code", cell_source="the new one")
        # On a loaded machine this server closes connections over which so much is sent; then the edit is sent again.
        is_on_disk(answer)
        await until_on_disk(client, lambda it: sources(it) == [*cells, "the new one"], "the new cell is on disk")
        edited = await client.do("edit_cell_source", cell_id=ids[30], old_string="# 30\n", new_string="# thirty\n")
        is_on_disk(edited)
        thirty = f"# thirty\n{'x ' * LARGE}"
        await until_on_disk(client, lambda it: sources(it)[30] == thirty, "the edit is on disk")
        assert "3" in (await client.run("1 + 2")).text


@at(PLAIN, RTC)
async def test_use_notebook_on_a_text_file_is_refused(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    """jupyter-mcp-server succeeds after ten seconds, without cells."""
    name = path.replace(".ipynb", ".txt")
    (jupyter.root / name).write_text("text\n")
    async with python_agent(mcp_server.url) as agent:
        answer = await agent.call("use_notebook", {"notebook_name": "text", "notebook_path": name})
        assert answer.is_error and name in answer.text
    assert (jupyter.root / name).read_text() == "text\n"


@at(PLAIN, RTC)
async def test_invalid_notebook_content_is_refused_and_unchanged(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    (jupyter.root / path).write_text("{ this is no JSON")
    async with python_agent(mcp_server.url) as agent:
        async with asyncio.timeout(LONG):
            answer = await agent.call("use_notebook", {"notebook_path": path})
        assert answer.is_error and path in answer.text
    assert (jupyter.root / path).read_text() == "{ this is no JSON"


@at(PLAIN, RTC)
async def test_a_path_with_and_without_a_slash_is_one_notebook(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    """jupyter-mcp-server rejects the second name as `not the correct path`."""
    write_notebook(jupyter.root / path, "x = 1")
    async with python_agent(mcp_server.url) as agent:
        client = JupyterNotebookClient(agent, jupyter.root, path)
        await client.do("use_notebook", notebook_path=f"/{path}")
        await client.do("use_notebook", notebook_path=path)
        await client.do("insert_cell", notebook_name=f"/{path}", cell_index=-1, cell_type="code", cell_source="x = 2")
        await client.insert("x = 3")
        assert sources(client.notebook()) == ["x = 1", "x = 2", "x = 3"]
        listed = (await client.do("list_notebooks")).text
        assert listed.count(path) <= 2, "one row: its name and its path"


@at(RTC, INSIDE)
async def test_five_thousand_flushed_prints_arrive_whole(mcp_server: NotebookServer, path: str) -> None:
    """The server drops what comes faster than a thousand messages a second. If the machine is so busy that messages are
    dropped all the same, by ZeroMQ or by the server, the cell says so, and the prints come again."""
    expected = "".join(f"line {number}\n" for number in range(PRINTS))
    async with jupyter_notebook(mcp_server, path) as client:
        cell = await client.insert(f"for number in range({PRINTS}): print('line', number, flush=True)")
        for _ in range(ATTEMPTS):
            ran = await client.do("execute_cell", cell_id=cell, timeout=LONG)
            assert "[COMPLETED in" in ran.text
            if not is_on_disk(ran):
                await until(lambda: printed(client.cell(cell), "stderr") or printed(client.cell(cell)) == expected, ran.text)
            notice, arrived = printed(client.cell(cell), "stderr"), printed(client.cell(cell))
            if not notice:
                assert arrived == expected, ran.text
                return
            assert "Messages of the kernel are missing" in notice and arrived != expected
        raise AssertionError(f"incomplete {ATTEMPTS} times: {notice}")


@at(PLAIN, RTC)
async def test_a_server_without_collaboration_works_with_a_notice(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    """jupyter-mcp-server returns a bare 404 from every tool that uses a cell."""
    async with jupyter_notebook(mcp_server, path) as client:
        message = (await client.open()).text
        assert ("[NOTICE]" in message) == (jupyter.form == "plain")
        if jupyter.form == "plain":
            assert "jupyter-collaboration" in message
        await client.insert("x = 1")
        assert sources(client.notebook()) == ["x = 1"]


@at(PLAIN, RTC)
async def test_running_code_does_not_change_where_cells_are_written(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    """jupyter-mcp-server writes the cell into `notebook.ipynb`."""
    write_notebook(jupyter.root / "notebook.ipynb", "untouched")
    write_notebook(jupyter.root / path, "here")
    async with python_agent(mcp_server.url) as agent:
        for tool, given in [
            ("use_notebook", {"notebook_name": "small", "notebook_path": path}),
            ("execute_code", {"code": "1"}),
            ("insert_cell", {"cell_index": 0, "cell_type": "code", "cell_source": "written"}),
        ]:
            answer = await agent.call(tool, given)
            assert not answer.is_error, answer.text
        assert path in answer.text, "a reply names the notebook that was changed"
        assert sources(JupyterNotebookClient(agent, jupyter.root, path).notebook()) == ["written", "here"]
        assert sources(JupyterNotebookClient(agent, jupyter.root, "notebook.ipynb").notebook()) == ["untouched"]


@at(RTC, JSD)
async def test_the_first_output_of_a_fresh_kernel_arrives(mcp_server: NotebookServer, path: str) -> None:
    """jupyter-mcp-server loses it in a third of the attempts."""
    async with jupyter_notebook(mcp_server, path) as client:
        for turn in range(FRESH_KERNELS):
            await client.open(kernel_id="NEW")
            assert f"first {turn}" in (await client.do("execute_code", code=f"print('first {turn}')")).text
