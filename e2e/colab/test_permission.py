"""Chromium asks the person before a page from the internet may reach this machine: each answer, and no answer yet."""

import asyncio
import re
import time

import pytest

from e2e.support.agents.answer import Agent, Answer
from e2e.support.agents.python_sdk import python_agent
from e2e.support.browser import Chromium, chromium
from e2e.support.colab_client import ColabClient, printed
from e2e.support.desktop import desktop
from e2e.support.program import OPEN, Launch
from e2e.support.waiting import LONG

pytestmark = pytest.mark.asyncio(loop_scope="session")

TIMEOUT = 13
"""Seconds that the prompt stays open: more than the ten after which the original hangs up."""


async def test_without_permission_the_tab_cannot_connect_and_the_error_says_why(browser: Chromium) -> None:
    async with python_agent(Launch(("--no-browser",))) as agent:
        async with browser.person(granted=False) as person:
            tab = await person.open((await agent.tab_address()).url)
            await tab.consent()
            await tab.says("Disconnected")
            assert [each["code"] for each in await tab.history()] == [None, 1006]
            assert await tab.transcripts() == [[]]

        answer = await agent.call(OPEN, {"timeout_seconds": 1})
        assert answer.is_connected is False
        assert "block" in answer.text.lower() and "dismiss" in answer.text.lower(), answer.text


async def test_a_prompt_accepted_late_connects_the_same_socket(page_port: int) -> None:
    async with python_agent(Launch(("--no-browser",))) as agent, desktop() as screen:
        async with chromium(page_port, display=screen.display) as browser, browser.person(granted=False) as person:
            tab = await person.open((await agent.tab_address()).url)
            await tab.consent()
            await tab.says("Connecting")
            asked = time.monotonic()

            await _hears_of_the_prompt(agent)
            connecting = asyncio.create_task(agent.call(OPEN))
            # The test is about this wait: colab-mcp's handshake has timed out by then.
            await asyncio.sleep(asked + TIMEOUT - time.monotonic())
            await tab.says("Connecting")
            assert not connecting.done()

            await screen.allow_the_permission_prompt()
            await tab.says("Connected")
            async with asyncio.timeout(LONG):
                assert (await connecting).is_connected
            assert await tab.page.evaluate("window.tab.connection.sockets") == 1
            assert printed(await ColabClient(agent).run_code("print('patient')")) == "patient\n"


async def test_a_blocked_prompt_differs_from_an_open_one(page_port: int) -> None:
    async with python_agent(Launch(("--no-browser",))) as agent, desktop() as screen:
        async with chromium(page_port, display=screen.display) as browser, browser.person(granted=False) as person:
            tab = await person.open((await agent.tab_address()).url)
            await tab.consent()
            await tab.says("Connecting")
            await _hears_of_the_prompt(agent)

            await screen.block_the_permission_prompt()
            await tab.says("Disconnected")
            answer = await agent.call(OPEN, {"timeout_seconds": 1})
            assert answer.is_connected is False
            assert "block" in answer.text.lower(), answer.text
            assert not _tells_of_an_open_prompt(answer), answer.text


async def _hears_of_the_prompt(agent: Agent) -> None:
    answer = await agent.call(OPEN, {"timeout_seconds": 1})
    assert answer.is_connected is False
    assert _tells_of_an_open_prompt(answer), answer.text


def _tells_of_an_open_prompt(answer: Answer) -> bool:
    return re.search(r"show.{0,20}permission prompt|permission prompt.{0,20}show", answer.text.lower()) is not None
