"""An agent edits and runs a notebook in a real browser's tab."""

import asyncio
import re
from pathlib import Path

import pytest

from e2e.support.agents.python_sdk import python_agent
from e2e.support.browser import COLAB_ORIGIN, Chromium
from e2e.support.colab_client import ColabClient, printed
from e2e.support.notebook_client import NotebookClient
from e2e.support.opener import recording_opener
from e2e.support.program import NOTEBOOK_TOOLS, OPEN, TOOLS_WITHOUT_A_PAGE, Launch, TabAddress

pytestmark = pytest.mark.asyncio(loop_scope="session")

BIG_TEXT = 3 * 1024 * 1024
BIG_IMAGE_KILOBYTES = 2048


@pytest.mark.parametrize(
    ("strict", "results"), [(True, "both"), (True, "text"), (False, "structured")], ids=["strict", "text", "lenient"]
)
async def test_cells_are_added_edited_run_and_read(browser: Chromium, strict: bool, results: str) -> None:
    async with python_agent(Launch(("--no-browser",))) as agent:
        async with browser.person(strict=strict, results=results) as person:
            tab = await person.connect((await agent.tab_address()).url)
            assert "mcpProxy" not in tab.page.url
            assert (await agent.call(OPEN)).is_connected
            assert await agent.tool_names() == TOOLS_WITHOUT_A_PAGE | {"colab_extra"}

            notebook = ColabClient(agent)
            code = await notebook.add_code(0, "print(6 * 7)")
            title = await notebook.add_text(0, "# Title\ntext")
            assert [cell["id"] for cell in await notebook.cells()] == [title, code]
            assert printed(await notebook.run(code)) == "42\n"

            await notebook.update(code, "print('edited')")
            assert await tab.page.locator(f"#{code}").inner_text() == "print('edited')"
            assert printed(await notebook.run(code)) == "edited\n"

            await notebook.move(code, 0)
            first, second = await notebook.cells(includeOutputs=True)
            assert (first["id"], first["execution_count"], printed(first["outputs"])) == (code, 2, "edited\n")
            assert (second["id"], second["source"]) == (title, ["# Title\n", "text"])

            await notebook.delete(title)
            assert await tab.page.locator("#notebook pre").count() == 1


async def test_the_page_s_error_messages_reach_the_agent(browser: Chromium) -> None:
    async with python_agent(Launch(("--no-browser",))) as agent:
        async with browser.person() as person:
            tab = await person.connect((await agent.tab_address()).url)
            assert (await agent.call(OPEN)).is_connected
            tools = {tool["name"]: tool for tool in await agent.tools()}
            assert all(tools[name]["description"].startswith("Page: ") for name in NOTEBOOK_TOOLS)

            unknown = await agent.call("run_code_cell", {"cellId": "0"})
            assert (unknown.is_error, unknown.text) == (True, "No cell was found with ID '0'")
            missing = await agent.call("move_cell", {"cellId": "0"})
            wanted = "Invalid arguments for move_cell: cellIndex Required (received undefined)"
            assert (missing.is_error, missing.text) == (True, wanted)

            extra = await agent.call("colab_extra", {"word": "kept"})
            assert '"given":{"word":"kept"}' in extra.text
            assert extra.meta and extra.meta["page/kept"] == "as sent"

            before = agent.changes
            new = {"name": "colab_new", "description": "Came later", "inputSchema": {"type": "object"}}
            await tab.page.evaluate("tool => window.tab.offer(tool)", new)
            await agent.tools_changed(before)
            assert "colab_new" in await agent.tool_names()
            assert '"name":"colab_new"' in (await agent.call("colab_new")).text


async def test_the_person_sees_what_the_notebook_tools_do_and_is_not_overwritten(
    browser: Chromium, tmp_path: Path
) -> None:
    """What the tests of the tools on every place cannot show (`tools/`)."""
    launch = Launch(("--no-browser", "--root", str(tmp_path)), command=())
    async with python_agent(launch) as agent, browser.person() as person:
        tab = await person.connect((await agent.tab_address()).url)
        notebook = NotebookClient(agent, tmp_path, "colab:")
        assert "Kernel colab" in (await notebook.open()).text
        code = await notebook.insert("print(6 * 7)")
        title = await notebook.insert("# Title", "markdown", 0)
        await notebook.do("edit_cell_source", cell_id=code, old_string="6 * 7", new_string="6 * 8")
        scratch = await notebook.do("execute_code", code="print('scratch')")
        assert "scratch\n" in scratch.text and "removed afterwards" in scratch.text
        assert await tab.page.locator("#notebook pre").all_inner_texts() == ["# Title", "print(6 * 8)"]

        await tab.page.evaluate("window.tab.notebook.update(window.tab.notebook.cells[0].id, '# Theirs')")
        refused = await notebook.fails("overwrite_cell_source", cell_id=title, cell_source="# Ours")
        assert "# Theirs" in refused
        assert await tab.page.locator("#notebook pre").first.inner_text() == "# Theirs"


async def test_two_tabs_of_a_browser_show_two_notebooks(browser: Chromium, tmp_path: Path) -> None:
    """What the integration tests cannot show: two pages of one origin in one browser, each with its own token, runs and
    storage, also after a reload."""
    launch = Launch(("--no-browser", "--root", str(tmp_path)), command=())
    async with python_agent(launch) as agent, browser.person() as person:
        first_tab = await person.connect((await agent.tab_address()).url)
        first, second = NotebookClient(agent, tmp_path, "colab:"), NotebookClient(agent, tmp_path, "colab:2")
        url = f"{COLAB_ORIGIN}/drive/second"
        address = TabAddress.parse(await second.fails("use_notebook", notebook_path=url))
        assert address.url.startswith(f"{url}#mcpProxyToken=")
        second_tab = await person.connect(address.url)
        await first.open()
        assert "Opened colab:2 in" in (await second.do("use_notebook", notebook_path=url)).text

        run = await first.start("await slow(); print('first')")
        await first_tab.until_cell_is_running()
        assert "second\n" in (await second.run("print('second')")).text
        await second_tab.page.reload()
        await second_tab.consent()
        await second_tab.says("Connected")
        await second.do("use_notebook", notebook_path="colab:2")
        assert "third\n" in (await second.run("print('third')")).text
        await first_tab.page.evaluate("window.releaseSlowCells()")
        assert "first\n" in (await first.wait(run)).text
        for tab, source in [(first_tab, "await slow(); print('first')"), (second_tab, "print('third')")]:
            assert await tab.page.locator("#notebook pre").first.inner_text() == source


async def test_large_and_image_outputs_arrive_whole(browser: Chromium) -> None:
    async with python_agent(Launch(("--no-browser",))) as agent:
        async with browser.person(results="text") as person:
            await person.connect((await agent.tab_address()).url)
            notebook = ColabClient(agent)

            text = printed(await notebook.run_code(f"print('0123456789abcdef'.repeat({BIG_TEXT // 16}))"))
            assert text == "0123456789abcdef" * (BIG_TEXT // 16) + "\n"

            small, large = await notebook.run_code(f"image(1); image({BIG_IMAGE_KILOBYTES})")
            assert small["output_type"] == "display_data"
            assert small["data"]["image/png"].startswith("iVBORw0KGgo")
            assert len(large["data"]["image/png"]) > BIG_IMAGE_KILOBYTES * 1024 * 4 / 3


async def test_the_program_opens_the_browser_that_the_environment_names(browser: Chromium, tmp_path: Path) -> None:
    async with recording_opener(tmp_path) as opener:
        launch = Launch(environment={"BROWSER": opener.command})
        async with python_agent(launch) as agent, browser.person() as person:
            connecting = asyncio.create_task(agent.call(OPEN))
            url = await opener.url()
            assert re.fullmatch(rf"{COLAB_ORIGIN}/notebooks/empty.ipynb#mcpProxyToken=[\w-]+&mcpProxyPort=\d+", url)
            await person.connect(url)
            answer = await connecting

    assert answer.text == "true"
    assert answer.structured == {"result": True}
    assert answer.progress == [
        (1, 3, "The user is not connected to the Colab UI"),
        (2, 3, "Waiting for user to connect in Colab - will wait for 60s"),
        (3, 3, "The Colab UI is successfully connected!"),
    ]
