"""`cellbridge view` in a real browser, beside real servers with real kernels. What the page is made of is tested in `page`."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from e2e.support.kept_kernels import NOTEBOOK, Machine
from e2e.support.live_page import Seen, chromium, view

PLOT = "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 3, 2]);"
TABLE = "import pandas as pd\npd.DataFrame({'a': range(60)})"


@pytest.fixture
def machine(tmp_path: Path) -> Any:
    machine = Machine(tmp_path)
    yield machine
    machine.end()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


async def opened(browser: Browser, url: str) -> tuple[Page, Seen]:
    page = await browser.new_page(viewport={"width": 1400, "height": 900})
    seen = Seen(page)
    await page.goto(url)
    await expect(page.locator("#connection")).to_have_text("Connected")
    return page, seen


async def test_what_an_agent_does_is_seen_and_taken_back(browser: Browser, machine: Machine) -> None:
    async with machine.server() as server, view(machine) as url:
        await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK, mode="create")
        page, seen = await opened(browser, url)
        assert "token" not in page.url
        await page.get_by_role("link", name=NOTEBOOK).first.click()
        await server.call("insert_execute_code_cell", cell_index=0, cell_source=PLOT)
        await server.call("insert_execute_code_cell", cell_index=1, cell_source=TABLE)
        await expect(page.locator(".cb-table tbody tr")).to_have_count(60)
        image = page.locator(".cb-output img")
        await expect(image).to_be_visible()
        assert await image.evaluate("image => image.naturalWidth > 0")
        cell = page.locator(".v-cell").nth(0)
        await server.call("overwrite_cell_source", cell_index=0, cell_source="print('other')")
        await expect(cell.locator(".cb-source")).to_have_text("print('other')")
        await cell.get_by_role("button", name="changed by bare").click()
        await expect(page.get_by_role("dialog")).to_contain_text("+print('other')")
        await page.get_by_role("button", name="Take back").click()
        await expect(page.locator("#said")).to_contain_text("Undone: o")
        await expect(cell.locator(".cb-source")).to_contain_text("plt.plot")
        await expect(page.locator("#history li").first).to_contain_text("you")
        assert "person" in await server.call("history")
        assert seen.bad == []


async def test_a_running_cell_moves_is_answered_and_interrupted(browser: Browser, machine: Machine) -> None:
    gate, waits = machine.gate()
    async with machine.server() as server, view(machine) as url:
        await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK, mode="create")
        page, seen = await opened(browser, f"{url}&notebook={NOTEBOOK}")
        source = "import sys\nfor i in range(3): print(f'\\r{i}/3', end='')\nprint('hello', input('name? '))\n" + waits
        call = asyncio.create_task(server.call("insert_execute_code_cell", cell_index=0, cell_source=source))
        cell = page.locator(".v-cell").first
        await expect(cell.locator(".cb-output")).to_contain_text("2/3")
        await cell.get_by_label("name?").fill("Ada")
        await cell.get_by_role("button", name="Answer").click()
        await expect(cell.locator(".cb-output")).to_contain_text("hello Ada")
        assert "2/3" in await cell.locator(".cb-output").inner_text()
        await page.locator("#runs").get_by_role("button", name="Interrupt").click()
        await expect(cell.locator(".cb-error")).to_contain_text("KeyboardInterrupt")
        await expect(page.locator("#runs")).to_contain_text("Nothing is running")
        await call
        assert not gate.exists()
        assert seen.bad == []


async def test_the_page_goes_on_when_a_server_is_killed(browser: Browser, machine: Machine) -> None:
    gate, waits = machine.gate()
    async with view(machine) as url:
        async with machine.server() as server:
            await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK, mode="create")
            await server.call("insert_cell", cell_index=0, cell_type="code", cell_source=f"print('before')\n{waits}\nprint('after')")
            asyncio.create_task(server.call("execute_cell", cell_index=0))
            page, seen = await opened(browser, f"{url}&notebook={NOTEBOOK}")
            cell = page.locator(".v-cell").first
            await expect(cell.locator(".cb-output")).to_contain_text("before")
            server.process.kill()
        gate.touch()
        await expect(cell.locator(".cb-output")).to_contain_text("after")
        await expect(page.locator("#runs")).to_contain_text("Nothing is running")
        await page.reload()
        await expect(page.locator(".v-cell")).to_have_count(1)
        assert seen.bad == []
