"""The notebooks of Colab tabs on the page of `cellbridge view`, which runs beside the agents' servers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import expect

from e2e.support.agents.python_sdk import PythonAgent, python_agent
from e2e.support.browser import Chromium, Person, Tab
from e2e.support.home import Home, new_mark
from e2e.support.live_page import opened, take_back, viewing
from e2e.support.notebook_client import NotebookClient
from e2e.support.program import Launch

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    home = Home(tmp_path / "home")
    home.folder.mkdir()
    return home.environment(new_mark())


@asynccontextmanager
async def at_tab(
    environment: dict[str, str], root: Path, person: Person, *options: str
) -> AsyncIterator[tuple[PythonAgent, NotebookClient, Tab]]:
    """An agent whose server has a connected tab."""
    launch = Launch(("--no-browser", "--root", str(root), *options), environment=environment, command=())
    async with python_agent(launch) as agent:
        tab = await person.connect((await agent.tab_address()).url)
        notebook = NotebookClient(agent, root, "colab:")
        await notebook.open()
        yield agent, notebook, tab


async def test_the_notebook_of_a_tab_is_seen_and_taken_back_and_stays(
    browser: Chromium, environment: dict[str, str], tmp_path: Path
) -> None:
    async with viewing(environment, tmp_path) as url, browser.person() as person:
        page, seen = await opened(browser.browser, url)
        async with at_tab(environment, tmp_path, person) as (agent, notebook, tab):
            await notebook.insert("print('before')")
            await page.locator("#notebooks").get_by_role("link", name="colab:").click()
            await expect(page.locator("#connection")).to_have_text("Connected")
            await expect(page.locator("#root")).to_have_text("Colab tabs")
            await expect(page.locator("#source")).to_have_text(
                "The notebook of a Colab tab, as the agent's server read it last, just now."
            )
            cell = page.locator(".v-cell").nth(0)
            await expect(cell.locator(".cb-source")).to_have_text("print('before')")

            run = await notebook.start("await slow(); print('after')")
            await tab.until_cell_is_running()
            await expect(page.locator("#runs li")).to_contain_text("running")
            # Colab's tools cannot.
            await expect(page.get_by_role("button", name="Interrupt")).to_have_count(0)
            await tab.page.evaluate("window.releaseSlowCells()")
            await expect(page.locator(".v-cell").nth(1).locator(".cb-output")).to_contain_text("after")
            await notebook.do("get_run", run_id=run)

            await take_back(page, cell, notebook.do)
            assert await tab.page.locator("#notebook pre").first.inner_text() == "print('before')"
            read = (await notebook.do("read_cell", cell_index=0)).text
            assert "The person undid o" in read and "print('before')" in read, read

            await page.locator("#verify").click()
            await page.get_by_role("dialog").get_by_role("button", name="Verify").click()
            await expect(page.locator("#said")).to_contain_text("A Colab tab has one kernel")

            # What the person does in the tab, which reports no changes.
            await tab.page.evaluate("window.tab.notebook.update(window.tab.notebook.cells[0].id, '<b>theirs</b>')")
            await expect(cell.locator(".cb-source")).to_have_text("<b>theirs</b>")

            await tab.page.close()
            await expect(page.locator("#source")).to_contain_text("The Colab tab is not connected.")
            await page.reload()
            await expect(cell.locator(".cb-source")).to_have_text("<b>theirs</b>")
            await expect(page.locator("#connection")).to_have_text("Connected")
        await expect(page.locator("#connection")).to_contain_text("has ended")
        await expect(cell.locator(".cb-source")).to_have_text("<b>theirs</b>")
        assert [line for line in seen.bad if "409" not in line] == []
        await page.go_back()
        await expect(page.locator("#connection")).to_have_text("Connected")
        await expect(page.locator("#notebooks")).not_to_contain_text("colab:")
        await page.close()


async def test_each_server_s_tab_has_a_page_with_the_questions_of_all(
    browser: Chromium, environment: dict[str, str], tmp_path: Path
) -> None:
    async with (
        viewing(environment, tmp_path) as url,
        browser.person() as person,
        at_tab(environment, tmp_path, person) as (_, first, _),
        at_tab(environment, tmp_path, person, "--ask=edit,run") as (_, second, tab),
    ):
        await first.insert("print('first')")
        page, seen = await opened(browser.browser, url)
        links = page.locator("#notebooks").get_by_role("link", name="colab:")
        await expect(links).to_have_count(2)
        shown = []
        for number in range(2):
            await links.nth(number).click()
            await expect(page.locator("#root")).to_have_text("Colab tabs")
            await expect(page.locator("#source")).to_contain_text("as the agent's server read it last")
            shown.append(await page.locator(".v-cell .cb-source").all_inner_texts())
            # Both tabs have the same path.
            assert (await page.locator("#history li.v-op").count() > 0) == (shown[-1] != [])
            if number == 0:
                await page.go_back()
                await expect(links).to_have_count(2)
        assert sorted(shown) == [[], ["print('first')"]]

        inserting = asyncio.create_task(second.insert("print('second')"))
        question = page.locator("#questions li")
        await expect(question).to_contain_text("print('second')")
        assert not inserting.done()
        await question.get_by_role("button", name="Accept").click()
        await inserting
        assert await tab.page.locator("#notebook pre").first.inner_text() == "print('second')"
        await expect(page.locator("#questions")).to_have_text("Nothing waits for your answer.")
        assert seen.bad == []
