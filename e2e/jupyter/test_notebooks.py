"""Notebooks of a Jupyter server, large ones and several in one session. What a server lets through in one message and in a second,
only a real one shows."""

from e2e.support.agents.python_sdk import python_agent
from e2e.support.jupyter_program import JupyterNotebookClient, is_on_disk, jupyter_notebook, until_on_disk
from e2e.support.jupyter_server import JupyterServer
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_files import printed, sources
from e2e.support.notebook_server import NotebookServer
from e2e.support.places import INSIDE, PLAIN, RTC, at, fixtures_of
from e2e.support.waiting import LONG, until

# Of all cells together 12 MB: more than servers let through in one message of a WebSocket.
LARGE = 100_000
PRINTS = 5000
ATTEMPTS = 5

place, form, mode = fixtures_of(PLAIN, RTC, INSIDE)


@at(PLAIN, RTC)
async def test_a_notebook_of_12_megabytes_is_read_and_edited_whole(
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
