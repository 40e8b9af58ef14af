"""What jupyter-mcp-server was seen to do wrong with Jupyter servers; here it is done right."""

import asyncio
import re

import pytest

from agents.python_sdk import python_agent
from jupyter_inside import BESIDE, INSIDE, Place
from jupyter_notebooks import write_notebook
from jupyter_program import JupyterDesk, at_jupyter, is_on_disk
from jupyter_server import JupyterServer
from notebook_desk import Desk, gate, run_in
from notebook_files import printed, sources
from notebook_server import NotebookServer

LARGE = 200_000
FRESH_KERNELS = 3
PRINTS = 5000


@pytest.fixture(scope="module", params=[*BESIDE, INSIDE], ids="-".join)
def place(request: pytest.FixtureRequest) -> Place:
    return request.param


@pytest.fixture(scope="module")
def form(place: Place) -> str:
    return place.form


@pytest.fixture(scope="module")
def mode(place: Place) -> str:
    return place.mode


async def test_a_notebook_of_24_megabytes_is_read_and_edited_whole(
    at_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    """There, `Notebook is empty`, and an insertion that succeeds and is nowhere."""
    cells = [f"# {number}\n{'x ' * LARGE}" for number in range(60)]
    ids = write_notebook(jupyter.root / path, *cells)
    async with at_jupyter(at_server, path, create=False) as desk:
        read = await desk.do("read_notebook", limit=0)
        assert "has 60 cells" in read.text and "59\tcode" in read.text
        tail = await desk.do("read_cell", cell_id=ids[59], max_characters=2000)
        assert "# 59" in tail.text
        answer = await desk.do("insert_cell", cell_index=-1, cell_type="code", cell_source="the new one")
        assert is_on_disk(answer), answer.text
        assert sources(desk.notebook()) == [*cells, "the new one"]
        edited = await desk.do("edit_cell_source", cell_id=ids[30], old_string="# 30\n", new_string="# thirty\n")
        assert is_on_disk(edited), edited.text[:200]
        assert sources(desk.notebook())[30] == f"# thirty\n{'x ' * LARGE}"
        assert "3" in (await desk.run("1 + 2")).text


async def test_use_notebook_on_a_text_file_is_refused(
    at_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    """There, it succeeds after ten seconds, with no cells."""
    name = path.replace(".ipynb", ".txt")
    (jupyter.root / name).write_text("text\n")
    async with python_agent(at_server.url) as agent:
        answer = await agent.call("use_notebook", {"notebook_name": "text", "notebook_path": name})
        assert answer.is_error and name in answer.text
    assert (jupyter.root / name).read_text() == "text\n"


async def test_what_is_no_notebook_inside_is_refused_and_left_alone(
    at_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    (jupyter.root / path).write_text("{ this is no JSON")
    async with python_agent(at_server.url) as agent:
        async with asyncio.timeout(30):
            answer = await agent.call("use_notebook", {"notebook_path": path})
        assert answer.is_error and path in answer.text
    assert (jupyter.root / path).read_text() == "{ this is no JSON"


async def test_a_path_with_and_without_a_slash_is_one_notebook(
    at_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    """There, the second name is `not the correct path`."""
    write_notebook(jupyter.root / path, "x = 1")
    async with python_agent(at_server.url) as agent:
        desk = JupyterDesk(agent, jupyter.root, path)
        await desk.do("use_notebook", notebook_path=f"/{path}")
        await desk.do("use_notebook", notebook_path=path)
        await desk.do("insert_cell", notebook_name=f"/{path}", cell_index=-1, cell_type="code", cell_source="x = 2")
        await desk.insert("x = 3")
        assert sources(desk.notebook()) == ["x = 1", "x = 2", "x = 3"]
        listed = (await desk.do("list_notebooks")).text
        assert listed.count(path) <= 2, "one row: its name and its path"


async def test_input_is_asked_for_and_not_swallowed(at_server: NotebookServer, path: str) -> None:
    """There, an empty reply and no error."""
    async with at_jupyter(at_server, path) as desk:
        assert "WAITING FOR INPUT" in (await desk.do("execute_code", code="input('Name? ')")).text
        await desk.do("interrupt_kernel")


async def test_output_has_a_cap_and_all_of_it_can_be_read(at_server: NotebookServer, path: str) -> None:
    """There, as many characters as were printed."""
    async with at_jupyter(at_server, path) as desk:
        # `Desk` checks the cap itself, for every reply.
        # As much as the server lets through in one message.
        ran = await desk.run("print('a' + '.' * 499_999 + 'z')")
        assert "left out" in ran.text and "get_run(" in ran.text
        tail = await desk.do("get_run", run_id=run_in(ran), output=0, offset=499_990)
        assert tail.text.startswith("." * 10 + "z")
        assert len(printed(desk.cell(0))) == 500_002


async def test_five_thousand_flushed_prints_arrive_whole(at_server: NotebookServer, path: str) -> None:
    """The server drops what comes faster than a thousand messages a second."""
    async with at_jupyter(at_server, path) as desk:
        ran = await desk.run(f"for number in range({PRINTS}): print('line', number, flush=True)", timeout=100)
        assert "[COMPLETED in" in ran.text
        assert printed(desk.cell(0), "stderr") == ""
        assert printed(desk.cell(0)) == "".join(f"line {number}\n" for number in range(PRINTS))


async def test_a_server_without_collaboration_is_used_and_the_agent_knows(
    at_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    """There, a bare 404 from every tool that touches a cell."""
    async with at_jupyter(at_server, path) as desk:
        told = (await desk.open()).text
        assert ("[NOTICE]" in told) == (jupyter.form == "plain")
        if jupyter.form == "plain":
            assert "jupyter-collaboration" in told
        await desk.insert("x = 1")
        assert sources(desk.notebook()) == ["x = 1"]


async def test_running_code_does_not_change_where_cells_are_written(
    at_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    """There, the cell went into `notebook.ipynb`."""
    write_notebook(jupyter.root / "notebook.ipynb", "untouched")
    write_notebook(jupyter.root / path, "here")
    async with python_agent(at_server.url) as agent:
        for tool, given in [
            ("use_notebook", {"notebook_name": "small", "notebook_path": path}),
            ("execute_code", {"code": "1"}),
            ("insert_cell", {"cell_index": 0, "cell_type": "code", "cell_source": "written"}),
        ]:
            answer = await agent.call(tool, given)
            assert not answer.is_error, answer.text
        assert path in answer.text, "a reply names the notebook that was changed"
        assert sources(Desk(agent, jupyter.root, path).notebook()) == ["written", "here"]
        assert sources(Desk(agent, jupyter.root, "notebook.ipynb").notebook()) == ["untouched"]


async def test_cells_are_read_before_any_notebook_is_used(at_server: NotebookServer) -> None:
    """There, `quote_from_bytes() expected bytes`."""
    async with python_agent(at_server.url) as agent:
        answer = await agent.call("read_cell", {"cell_index": 0})
        assert answer.is_error and "use_notebook" in answer.text


async def test_the_first_output_of_a_fresh_kernel_arrives(at_server: NotebookServer, path: str) -> None:
    """There, lost in a third of the attempts."""
    async with at_jupyter(at_server, path) as desk:
        for turn in range(FRESH_KERNELS):
            await desk.open(kernel_id="NEW")
            assert f"first {turn}" in (await desk.do("execute_code", code=f"print('first {turn}')")).text


async def test_a_timeout_leaves_the_kernel_usable_as_soon_as_it_is_interrupted(
    at_server: NotebookServer, path: str
) -> None:
    """There, the next call waits behind the one that timed out."""
    async with at_jupyter(at_server, path) as desk:
        await desk.begin(gate(desk)[1])
        await desk.do("interrupt_kernel")
        assert "2" in (await desk.do("execute_code", code="1 + 1")).text


async def test_every_failure_is_an_error_result(at_server: NotebookServer, path: str) -> None:
    """There, many are ordinary text."""
    async with at_jupyter(at_server, path) as desk:
        await desk.insert("# Text", "markdown")
        failures = [
            ("use_notebook", {"notebook_path": "missing.ipynb", "notebook_name": "missing"}, "missing.ipynb"),
            ("read_cell", {"cell_index": 9}, "9"),
            ("insert_cell", {"cell_index": 9, "cell_type": "code", "cell_source": ""}, "9"),
            ("edit_cell_source", {"cell_index": 0, "old_string": "absent", "new_string": ""}, "old_string"),
            ("execute_cell", {"cell_index": 0}, "markdown"),
            ("execute_code", {"code": "1 / 0"}, "zerodivisionerror"),
            ("execute_code", {"code": "1", "kernel_id": "no-such"}, "no-such"),
            ("list_files", {"path": "no-such"}, "no-such"),
        ]
        for tool, given, named in failures:
            told = await desk.fails(tool, **given)
            assert named in told.lower(), told


async def test_a_progress_bar_is_folded(at_server: NotebookServer, path: str) -> None:
    async with at_jupyter(at_server, path) as desk:
        ran = await desk.run("for n in range(101): print(f'\\r\\x1b[32m{n} %\\x1b[0m', end='', flush=True)")
        assert "100 %" in ran.text and "50 %" not in ran.text and not re.search("\x1b", ran.text)


async def test_a_citation_holds_the_cells(at_server: NotebookServer, path: str) -> None:
    async with at_jupyter(at_server, path) as desk:
        for number in range(4):
            await desk.insert(f"cell_{number} = {number}")
        given = {"prompt": "Explain", "cell_indices": "0-1,3", "notebook_name": path}
        cited = await desk.agent.prompt("jupyter_cite", given)
        assert "cell_0 = 0" in cited and "cell_3 = 3" in cited and "cell_2" not in cited and "Explain" in cited
