"""Which servers let an agent show notebooks to the person, and where. In JupyterLab it is shown in `test_person.py`."""

import os
import signal
from pathlib import Path

import pytest
from playwright.async_api import expect

from e2e.support.agents.python_sdk import MODERN, python_agent
from e2e.support.home import Home, new_mark
from e2e.support.jupyter_program import jupyter_notebook, jupyter_program, reaching
from e2e.support.jupyter_server import JupyterServer, SharedServers
from e2e.support.jupyterlab import lab
from e2e.support.lab_notebooks import write_notebook
from e2e.support.live_page import chromium, opened
from e2e.support.opener import recording_opener
from e2e.support.processes import command_lines, marked
from e2e.support.program import Launch
from e2e.support.stdio_client import stdio_client

HAS_LAB = True


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
            assert "can be opened in a browser" in await client.fails("open_in_browser")
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
