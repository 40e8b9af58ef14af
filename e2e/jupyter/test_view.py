"""`cellbridge view` at a Jupyter server, beside an agent. What the page shows of any place is tested in `local/test_view.py`."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from e2e.support.home import Home, new_mark
from e2e.support.jupyter_program import jupyter_launch, reaching
from e2e.support.jupyter_server import JupyterServer
from e2e.support.lab_notebooks import write_notebook
from e2e.support.live_page import answer_input, opened, take_back, viewing
from e2e.support.notebook_server import NotebookServer, running
from e2e.support.processes import command_lines, marked
from e2e.support.program import program
from e2e.support.stdio_client import stdio_client

pytestmark = pytest.mark.asyncio(loop_scope="session")

DRAWN = "from IPython.display import SVG\nSVG('<svg width=\"40\" height=\"40\"><rect width=\"40\" height=\"40\"/></svg>')"


async def test_what_an_agent_does_on_a_server_is_seen_and_taken_back(
    browser: Browser, jupyter: JupyterServer, path: str, tmp_path: Path
) -> None:
    mark, gate = new_mark(), tmp_path / "gate"
    waits = f"import pathlib, time\nwhile not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.01)"
    launch = jupyter_launch(tmp_path / "home", *reaching(jupyter), mark=mark)
    environment = {**launch.environment, "JUPYTER_TOKEN": jupyter.token}
    async with (
        stdio_client(launch) as server,
        viewing(environment, tmp_path, f"{jupyter.url}lab/tree/{path}") as url,
    ):
        await server.initialize()
        await server.call("use_notebook", notebook_name="n", notebook_path=path, mode="create")
        page, seen = await opened(browser, url)
        assert jupyter.token not in page.url
        assert await page.locator("#root").inner_text() == jupyter.url
        await server.call("insert_execute_code_cell", cell_index=0, cell_source=DRAWN)
        cell = page.locator(".v-cell").nth(0)
        await expect(cell.locator("img")).to_be_visible()
        await expect(page.locator("#agents")).to_contain_text(path)

        source = f"for i in range(3): print(f'\\r{{i}}/3', end='')\n{waits}"
        running = asyncio.create_task(server.call("insert_execute_code_cell", cell_index=1, cell_source=source))
        await expect(page.locator(".v-cell").nth(1).locator(".cb-output")).to_contain_text("2/3")
        await page.locator("#runs").get_by_role("button", name="Interrupt").click()
        await expect(page.locator(".v-cell").nth(1).locator(".cb-error")).to_contain_text("KeyboardInterrupt")
        await expect(page.locator("#runs")).to_contain_text("Nothing is running")
        # The server may subscribe to a new kernel's states after its first run.
        await expect(page.locator("#kernels li")).to_contain_text("idle")
        ended = await running

        asking = asyncio.create_task(server.call("insert_execute_code_cell", cell_index=2, cell_source="input('name? ')"))
        await answer_input(page, "name?", "Ada")
        await expect(page.locator(".v-cell").nth(2).locator(".cb-output")).to_contain_text("'Ada'")
        answered = await asking

        reply = await take_back(page, cell, server.call)
        said = ended + answered + reply
        assert "The person interrupted run" in said and "The person answered the input() of run" in said, said
        await expect(cell.locator(".cb-source")).to_contain_text("IPython.display")
        reply = await server.call("read_cell", cell_index=0)
        assert reply.startswith("[NOTICE] The person undid o") and "IPython.display" in reply, reply
        assert seen.bad == []


async def test_the_process_that_serves_all_pages_is_given_the_server(
    browser: Browser, jupyter: JupyterServer, tmp_path: Path
) -> None:
    mark, home = new_mark(), Home(tmp_path / "home")
    home.folder.mkdir()
    environment = {**home.environment(mark), "JUPYTER_TOKEN": jupyter.token}

    def address(*arguments: str) -> str:
        command = [program(), "view", "--no-browser", *arguments]
        return subprocess.run(command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    folder, server = address(), address("--jupyter-url", jupyter.url)
    assert folder.split("&root=")[0] == server.split("&root=")[0]
    served = [pid for pid in marked(mark) if "--serve" in command_lines([pid])[0]]
    try:
        page, seen = await opened(browser, server)
        await expect(page.locator("#root")).to_have_text(jupyter.url)
        await expect(page.locator("#notebooks li").first).to_be_visible()
        assert seen.bad == []
        assert len(served) == 1 and jupyter.token not in command_lines(served)[0]
        written = [file.read_bytes() for file in home.folder.rglob("*") if file.is_file()]
        assert not any(jupyter.token.encode() in content for content in written)
    finally:
        for pid in served:
            os.kill(pid, signal.SIGTERM)


async def test_a_program_over_http_serves_the_page_of_its_server(
    browser: Browser, jupyter: JupyterServer, path: str, tmp_path: Path
) -> None:
    write_notebook(jupyter.root / path, "print('on the server')")
    home = Home(tmp_path / "home")
    home.folder.mkdir()
    for command in ["jupyter", "--no-browser"]:
        options = (command, "--transport", "streamable-http", "--port", "0", *reaching(jupyter))
        token = {"MCP_TOKEN": "secret", "CELLBRIDGE_TOKEN": "secret"}
        with running(NotebookServer(tmp_path, home, command=options, environment=token)) as served:
            page, seen = await opened(browser, f"{served.url.removesuffix('/mcp')}/view#token=secret&notebook={path}")
            await expect(page.locator(".v-cell")).to_contain_text("on the server")
            await expect(page.locator("#notebooks")).to_contain_text(path)
            assert seen.bad == []
            await page.close()
