"""JupyterLab in a person's browser: an agent shows a notebook there, and works on the selected cell."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
from playwright.async_api import expect

from e2e.support.agents.python_sdk import MODERN, python_agent
from e2e.support.home import Home, new_mark
from e2e.support.jupyter_program import is_on_disk, jupyter_notebook, jupyter_program, reaching
from e2e.support.jupyter_server import JupyterServer, SharedServers
from e2e.support.jupyterlab import Person, lab
from e2e.support.lab_notebooks import write_notebook
from e2e.support.live_page import chromium, opened
from e2e.support.notebook_client import NotebookClient
from e2e.support.notebook_server import NotebookServer
from e2e.support.opener import recording_opener
from e2e.support.processes import command_lines, marked
from e2e.support.program import Launch
from e2e.support.stdio_client import stdio_client
from e2e.support.waiting import LONG

# How soon an agent learns that no browser tab is open, in seconds: far less than its call may take.
SOON = 30.0


@pytest.fixture(scope="module")
def has_lab() -> bool:
    return True


@pytest.fixture(scope="module")
def form() -> str:
    return "rtc"


async def _reads_selected(client: NotebookClient, source: str) -> None:
    """Waits until the cell that the person is in is this one."""
    async with asyncio.timeout(LONG):
        while True:
            answer = await client.call("read_cell", cell_id="@selected")
            if not answer.is_error and source in answer.text:
                return
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_the_tool_that_shows_a_notebook_appears_once_the_server_has_answered(
    mode: str, jupyter: JupyterServer, tmp_path: Path
) -> None:
    with jupyter_program(jupyter, tmp_path / "home") as program:
        async with python_agent(program.url, mode) as agent:
            assert "open_in_browser" not in await agent.tool_names()
            assert not (await agent.call("list_notebooks")).is_error
            await agent.tools_changed(0)
            assert "open_in_browser" in await agent.tool_names()


async def test_a_server_without_the_toolkit_offers_nothing(jupyter_servers: SharedServers, tmp_path: Path) -> None:
    plain = jupyter_servers["plain"]
    write_notebook(plain.root / "without.ipynb", "x = 1")
    with jupyter_program(plain, tmp_path / "home") as program:
        async with jupyter_notebook(program, "without.ipynb", create=False) as client:
            assert "cannot open notebooks" in await client.fails("open_in_browser")
            assert "not a live notebook" in await client.fails("read_cell", cell_id="@selected")
            assert "open_in_browser" not in await client.agent.tool_names()


async def test_a_notebook_is_opened_in_lab_or_on_our_page_where_no_tab_shows_it(
    jupyter: JupyterServer, jupyter_servers: SharedServers, path: str, tmp_path: Path
) -> None:
    """Only a browser shows that the address leads to the notebook."""
    mark, home, plain = new_mark(), Home(tmp_path / "home"), jupyter_servers["plain"]
    home.folder.mkdir()
    write_notebook(jupyter.root / path, "in_lab = 1")
    write_notebook(plain.root / path, "on_our_page = 1")
    async with recording_opener(tmp_path) as opener, chromium() as browser:
        environment = {**home.environment(mark), "BROWSER": opener.command}
        launch = Launch(reaching(jupyter), environment, command=(), folder=home.folder)
        async with stdio_client(launch) as server:
            await server.initialize()
            await server.call("use_notebook", notebook_name="a", notebook_path=path)
            await server.call("open_in_browser")
            assert (await opener.url()).startswith(f"{jupyter.url}lab/tree/{path}?token=")
            await server.call("connect_to_jupyter", jupyter_url=plain.url, jupyter_token=plain.token)
            await server.call("use_notebook", notebook_name="b", notebook_path=f"{plain.url}{path}")
            await server.call("open_in_browser")
            try:
                page, seen = await opened(browser, await opener.url())
                await expect(page.locator("#root")).to_have_text(plain.url)
                await expect(page.locator(".v-cell .cb-source")).to_have_text("on_our_page = 1")
                assert seen.bad == []
            finally:
                for pid in marked(mark):
                    if "--serve" in command_lines([pid])[0]:
                        os.kill(pid, signal.SIGTERM)


async def test_an_agent_shows_the_person_notebooks_and_works_where_the_cursor_is(
    jupyter: JupyterServer, path: str, tmp_path: Path
) -> None:
    first = f"first-{path}"
    write_notebook(jupyter.root / first, "this = 'the first'")
    write_notebook(jupyter.root / path, "one = 1", "", "three = '🪐'\nlast = 3")
    with jupyter_program(jupyter, tmp_path / "home") as program:
        async with jupyter_notebook(program, path, create=False) as client:
            assert '"@selected"' in (await client.open()).text
            assert "click into the cell" in await client.fails("read_cell", cell_id="@selected")
            began = time.monotonic()
            assert "No browser tab" in await client.fails("open_in_browser")
            assert time.monotonic() - began < SOON
            # One page for both: it takes most of the time.
            async with lab(jupyter, first) as person:
                await _is_shown_notebooks(client, person, first)
                await _works_where_the_person_is(client, person)
                await person.screenshot("selected-cell")


async def _is_shown_notebooks(client: NotebookClient, person: Person, first: str) -> None:
    await person.sees_cells("this = 'the first'")
    shown = await client.do("open_in_browser")
    assert "is open in the person's browser" in shown.text
    await person.sees_cells("one = 1", "", "three = '🪐'\nlast = 3")
    # What is open is brought to the front.
    await client.do("open_in_browser", notebook_name=first)
    await person.sees_cells("this = 'the first'")
    assert "/nowhere.ipynb" in await client.fails("open_in_browser", notebook_name="a/nowhere.ipynb")
    await client.do("open_in_browser")
    await person.sees_cells("one = 1", "", "three = '🪐'\nlast = 3")


async def _works_where_the_person_is(client: NotebookClient, person: Person) -> None:
    await person.type(2, "")
    await _reads_selected(client, "last = 3")
    await person.type(0, "0")
    await _reads_selected(client, "one = 10")
    changed = await client.do("overwrite_cell_source", cell_id="@selected", cell_source="one = 'by the agent'")
    assert is_on_disk(changed)
    await person.sees_source(0, "one = 'by the agent'")
    # In an empty cell a position has another form; the agent's own is ignored.
    await person.type(1, "")
    await _reads_selected(client, "=====Cell 1 ")
    await client.do("insert_cell", after_cell_id="@selected", cell_type="code", cell_source="after = 2")
    await person.sees_cells("one = 'by the agent'", "", "after = 2", "three = '🪐'\nlast = 3")
    ran = await client.do("execute_cell", cell_id="@selected")
    assert "cell 1" in ran.text
    # The cell goes, and nobody is in one.
    await client.do("delete_cell", cell_ids_to_delete=["@selected"])
    assert "click into the cell" in await client.fails("read_cell", cell_id="@selected")
