"""`cellbridge view` at a Colab machine. What the page shows of any place is tested in `local/test_view.py`."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from e2e.support.browser import Chromium
from e2e.support.colab_fake import google_at_loopback
from e2e.support.colab_fake.person import MachineNotebook, Person
from e2e.support.home import new_mark
from e2e.support.live_page import opened, take_back, viewing

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_what_an_agent_does_on_a_machine_is_seen_and_taken_back(browser: Chromium, tmp_path: Path) -> None:
    """A process of its own reaches the machine with the login alone: no scripted part has its proxy, tokens and paths."""
    with google_at_loopback(tmp_path / "google") as google:
        person = Person(tmp_path, google)
        person.sign_in()
        with person.serve() as server:
            async with person.agent(server) as agent:
                machine = await person.start(agent)
                client = MachineNotebook(agent, machine)
                await client.create()
                await client.run("print(6 * 7)")
                environment = person.home.environment(new_mark())
                options = ["--google-stand-in", google.address]
                async with viewing(environment, person.folder, "colab-vm:", *options) as url:
                    page, seen = await opened(browser.browser, f"{url}&notebook=colab-vm:{machine.name}/a.ipynb")
                    assert await page.locator("#root").inner_text() == f"colab-vm:{machine.name}/"
                    cell = page.locator(".v-cell").nth(0)
                    await expect(cell.locator(".cb-output")).to_contain_text("42")
                    machine.expire_tokens()
                    await client.run("print(7 * 7)")
                    await expect(page.locator(".v-cell").nth(1).locator(".cb-output")).to_contain_text("49")
                    await take_back(page, cell, client.call)
                    assert seen.bad == []
        person.check()
