"""JupyterLab in a person's browser: an agent shows them a notebook there, and works on the cell that they are in."""

import asyncio
import time
from pathlib import Path

import pytest

from agents.python_sdk import MODERN, python_agent
from jupyter_notebooks import write_notebook
from jupyter_person import Person, lab
from jupyter_program import at_jupyter, is_on_disk, jupyter_program
from jupyter_server import LIVE_FORMS, JupyterServer, SharedServers
from notebook_desk import Desk
from notebook_server import NotebookServer

# How soon an agent is told that nobody looks.
SOON = 5.0


@pytest.fixture(scope="module")
def form() -> str:
    return "rtc"


async def _reads_selected(desk: Desk, source: str) -> None:
    """Waits until the cell that the person is in is this one."""
    async with asyncio.timeout(15):
        while True:
            answer = await desk.call("read_cell", cell_id="@selected")
            if not answer.is_error and source in answer.text:
                return
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_showing_a_notebook_is_offered_once_the_server_has_answered(
    mode: str, jupyter: JupyterServer, tmp_path: Path
) -> None:
    with jupyter_program(jupyter, tmp_path / "home") as program:
        async with python_agent(program.url, mode) as agent:
            assert "open_in_browser" not in await agent.tool_names()
            assert not (await agent.call("list_notebooks")).is_error
            await agent.told_of_a_change(0)
            assert "open_in_browser" in await agent.tool_names()


async def test_a_server_without_the_toolkit_offers_nothing(jupyter_servers: SharedServers, tmp_path: Path) -> None:
    plain = jupyter_servers["plain"]
    write_notebook(plain.root / "without.ipynb", "x = 1")
    with jupyter_program(plain, tmp_path / "home") as program:
        async with at_jupyter(program, "without.ipynb", create=False) as desk:
            assert "Nothing can be opened" in await desk.fails("open_in_browser")
            assert "not edited together" in await desk.fails("read_cell", cell_id="@selected")
            assert "open_in_browser" not in await desk.agent.tool_names()


async def test_an_agent_shows_a_person_another_notebook(
    at_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    write_notebook(jupyter.root / "first.ipynb", "this = 'the first'")
    write_notebook(jupyter.root / path, "this = 'the other'", "y = 2")
    async with at_jupyter(at_server, path, create=False) as desk:
        assert '"@selected"' in (await desk.open()).text
        began = time.monotonic()
        assert "No browser tab" in await desk.fails("open_in_browser")
        assert time.monotonic() - began < SOON
        async with lab(jupyter, "first.ipynb") as person:
            await person.sees_cells("this = 'the first'")
            shown = await desk.do("open_in_browser")
            assert "is open in the person's browser" in shown.text
            await person.sees_cells("this = 'the other'", "y = 2")
            # What is open is brought to the front.
            await desk.do("open_in_browser", notebook_name="first.ipynb")
            await person.sees_cells("this = 'the first'")
            assert "/nowhere.ipynb" in await desk.fails("open_in_browser", notebook_name="a/nowhere.ipynb")


@pytest.mark.parametrize("live", LIVE_FORMS)
async def test_the_selected_cell_is_the_one_with_the_cursor(
    live: str, jupyter_servers: SharedServers, path: str, tmp_path: Path
) -> None:
    jupyter = jupyter_servers[live]
    write_notebook(jupyter.root / path, "one = 1", "", "three = '🪐'\nlast = 3")
    with jupyter_program(jupyter, tmp_path / "home") as program:
        async with at_jupyter(program, path, create=False) as desk:
            assert "click into the cell" in await desk.fails("read_cell", cell_id="@selected")
            async with lab(jupyter, path) as person:
                await _works_where_the_person_is(desk, person)
                await person.screenshot(f"{live}-selected-cell")


async def _works_where_the_person_is(desk: Desk, person: Person) -> None:
    await person.type(2, "")
    await _reads_selected(desk, "last = 3")
    await person.type(0, "0")
    await _reads_selected(desk, "one = 10")
    changed = await desk.do("overwrite_cell_source", cell_id="@selected", cell_source="one = 'by the agent'")
    assert is_on_disk(changed)
    await person.sees_source(0, "one = 'by the agent'")
    # In a cell without text a position is told in another way; and the agent's own is never meant.
    await person.type(1, "")
    await _reads_selected(desk, "=====Cell 1 ")
    await desk.do("insert_cell", after_cell_id="@selected", cell_type="code", cell_source="after = 2")
    await person.sees_cells("one = 'by the agent'", "", "after = 2", "three = '🪐'\nlast = 3")
    ran = await desk.do("execute_cell", cell_id="@selected")
    assert "cell 1" in ran.text
    # The cell goes, and nobody is in one.
    await desk.do("delete_cell", cell_ids_to_delete=["@selected"])
    assert "click into the cell" in await desk.fails("read_cell", cell_id="@selected")
