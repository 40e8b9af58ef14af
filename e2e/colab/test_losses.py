"""Tabs that reload, connect twice, connect late or crash: the agent keeps working."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Page

from e2e.support.agents.python_sdk import python_agent
from e2e.support.browser import Chromium, chromium
from e2e.support.colab_client import ColabClient, printed
from e2e.support.program import OPEN, Launch

pytestmark = pytest.mark.asyncio(loop_scope="session")

PROMPTLY = 20.0
"""The program promises one second; the rest is for a busy machine. Without the promise, nothing would end."""

HELLO = ["initialize", "notifications/initialized", "tools/list"]


async def test_a_reloaded_tab_gets_a_session_of_its_own_and_works(browser: Chromium) -> None:
    async with python_agent(Launch(("--no-browser",))) as agent:
        async with browser.person() as person:
            tab = await person.connect((await agent.tab_address()).url)
            notebook = ColabClient(agent)
            await notebook.add_text(0, "lost with the page")

            before = agent.changes
            await tab.page.reload()
            await agent.tools_changed(before)
            assert (await agent.call("get_cells")).is_error

            before = agent.changes
            await tab.consent()
            await tab.says("Connected")
            await agent.tools_changed(before)
            assert await notebook.cells() == []
            assert printed(await notebook.run_code("print('again')")) == "again\n"
            (transcript,) = await tab.transcripts()
            assert transcript[:3] == HELLO


async def test_a_second_tab_is_refused_and_the_first_keeps_working(browser: Chromium) -> None:
    async with python_agent(Launch(("--no-browser",))) as agent:
        async with browser.person() as person:
            url = (await agent.tab_address()).url
            first = await person.connect(url)
            second = await person.open(url)
            await second.consent()
            await second.says("Only one notebook session can be connected at a time")
            assert (await second.history())[-1]["code"] == 1013
            assert await second.transcripts() == [[]]

            assert printed(await ColabClient(agent).run_code("print('first')")) == "first\n"
            await first.says("Connected")


async def test_a_tab_can_connect_after_the_timeout(browser: Chromium) -> None:
    async with python_agent(Launch(("--no-browser", "--connect-timeout", "2"))) as agent:
        address = await agent.tab_address()
        started = time.monotonic()
        answer = await agent.call(OPEN)
        assert 2 <= time.monotonic() - started < 2 + PROMPTLY
        assert answer.is_connected is False
        assert [message for _, _, message in answer.progress] == [
            "The user is not connected to the Colab UI",
            "Waiting for user to connect in Colab - will wait for 2s",
            "Timeout while waiting for the user to connect.",
        ]

        before = agent.changes
        async with browser.person() as person:
            await person.connect(address.url)
            await agent.tools_changed(before)
            assert "colab_extra" in await agent.tool_names()
            assert printed(await ColabClient(agent).run_code("print('late')")) == "late\n"


async def test_the_tab_s_connection_is_closed_cleanly_when_the_agent_exits(browser: Chromium) -> None:
    async with browser.person() as person:
        async with python_agent(Launch(("--no-browser",))) as agent:
            tab = await person.connect((await agent.tab_address()).url)
        await tab.says("Disconnected")
        assert (await tab.history())[-1]["code"] == 1000


async def test_another_tab_can_connect_after_one_left(browser: Chromium) -> None:
    async with python_agent(Launch(("--no-browser",))) as agent:
        async with browser.person() as person:
            url = (await agent.tab_address()).url
            first = await person.connect(url)
            before = agent.changes
            await first.page.close()
            await agent.tools_changed(before)
            await person.connect(url)
            assert printed(await ColabClient(agent).run_code("print('next')")) == "next\n"


async def _crash(page: Page) -> None:
    session = await page.context.new_cdp_session(page)
    crashed = asyncio.get_running_loop().create_future()
    page.once("crash", lambda _: crashed.set_result(None))
    crashing = asyncio.create_task(session.send("Page.crash"))
    await crashed
    crashing.cancel()


@pytest.mark.parametrize("lose", [Page.close, _crash], ids=["closed", "crashed"])
async def test_a_call_ends_at_once_when_its_tab_is_lost(
    browser: Chromium, lose: Callable[[Page], Awaitable[None]]
) -> None:
    await _call_ends_at_once(browser, lose)


async def test_a_call_ends_at_once_when_its_browser_is_killed(page_port: int) -> None:
    async with chromium(page_port) as browser:

        async def kill(_: Page) -> None:
            os.kill(await browser.process_id(), signal.SIGKILL)

        await _call_ends_at_once(browser, kill)


async def _call_ends_at_once(browser: Chromium, lose: Callable[[Page], Awaitable[None]]) -> None:
    async with python_agent(Launch(("--no-browser",))) as agent, browser.person() as person:
        tab = await person.connect((await agent.tab_address()).url)
        cell = await ColabClient(agent).add_code(0, "await slow()")
        running = asyncio.create_task(agent.call("run_code_cell", {"cellId": cell}))
        await tab.until_cell_is_running()
        assert not running.done()

        before = agent.changes
        await lose(tab.page)
        async with asyncio.timeout(PROMPTLY):
            answer = await running
        assert answer.is_error
        assert "run_code_cell" in answer.text
        assert "may still be running in Colab" in answer.text
        await agent.tools_changed(before)


async def test_cancelling_a_call_interrupts_the_cell(browser: Chromium) -> None:
    async with python_agent(Launch(("--no-browser",))) as agent:
        async with browser.person() as person:
            tab = await person.connect((await agent.tab_address()).url)
            notebook = ColabClient(agent)
            cell = await notebook.add_code(0, "await slow()")
            running = asyncio.create_task(agent.call("run_code_cell", {"cellId": cell}))
            await tab.until_cell_is_running()
            await _cancel(running)
            await tab.page.wait_for_function("window.slowCells() === 0")
            assert (await tab.transcripts())[0].count("notifications/cancelled") == 1
            assert printed(await notebook.run_code("print('free')")) == "free\n"


async def _cancel(running: asyncio.Task) -> None:
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
