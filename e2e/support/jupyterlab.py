"""A person at JupyterLab in a real browser, with one notebook open."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.async_api import Locator, Page, async_playwright, expect

from e2e.support.browser import executable
from e2e.support.jupyter_server import JupyterServer
from e2e.support.program import REPOSITORY
from e2e.support.waiting import LONG

# Between two keys, in milliseconds: as fast as people who type well. Each key makes the page draw, and sends it to everybody.
_PRESS = 80
_SWITCHES = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def artifacts() -> Path:
    """The folder for what people may want to look at after the tests."""
    folder = Path(os.environ.get("CELLBRIDGE_E2E_ARTIFACTS", REPOSITORY / "target/e2e/artifacts"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass
class Person:
    """Somebody who looks at a notebook in JupyterLab."""

    page: Page

    @property
    def _notebook(self) -> Locator:
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    @property
    def cells(self) -> Locator:
        return self._notebook.locator(".jp-Notebook-cell")

    def cell(self, index: int) -> Locator:
        return self.cells.nth(index)

    async def opens(self, path: str) -> "Person":
        """Opens another notebook in the page: JupyterLab takes ten times as long to come up."""
        script = """async (path) => {
            await window.jupyterapp.restored;
            await window.jupyterapp.commands.execute("docmanager:open", { path, factory: "Notebook" });
        }"""
        await self.page.wait_for_function("window.jupyterapp")
        await self.page.evaluate(script, path)
        await expect(self.page.locator(".lm-TabBar-tab.lm-mod-current", has_text=path)).to_be_visible()
        await self.sees_a_notebook()
        return self

    async def sees_a_notebook(self) -> None:
        await expect(self.cells.first).to_be_visible()

    async def sees_cells(self, *sources: str) -> None:
        """Waits until the notebook shows these cells."""
        await expect(self.cells).to_have_count(len(sources))
        for index, source in enumerate(sources):
            await self.sees_source(index, source)

    async def sees_source(self, index: int, source: str | re.Pattern[str]) -> None:
        lines = self.cell(index).locator(".cm-content .cm-line")
        expected = source.split("\n") if isinstance(source, str) else [source]
        await expect(lines).to_have_text(expected)

    async def sees_prompt(self, index: int, prompt: str | re.Pattern[str]) -> None:
        """What stands beside a cell: its number, or a star."""
        await expect(self.cell(index).locator(".jp-InputPrompt")).to_have_text(prompt)

    async def sees_output(self, index: int, text: str | re.Pattern[str]) -> None:
        await expect(self.cell(index).locator(".jp-OutputArea")).to_contain_text(text)

    async def has_a_kernel(self) -> None:
        """Waits until the kernel that JupyterLab started is there for the person."""
        indicator = self._notebook.locator(".jp-Notebook-ExecutionIndicator")
        await expect(indicator).to_have_attribute("data-status", "idle")

    async def type(self, index: int, text: str) -> None:
        """Types at the end of a cell."""
        await self.cell(index).locator(".cm-content").click()
        await self.page.keyboard.press("Control+End")
        await self.page.keyboard.type(text)

    async def type_until(self, index: int, text: str, enough: asyncio.Event) -> str:
        """Types the same at the end of a cell again and again, key by key; all that was typed."""
        await self.type(index, text)
        typed = text
        while not enough.is_set():
            await self.page.keyboard.type(text, delay=_PRESS)
            typed += text
        return typed

    async def run(self, index: int) -> None:
        """Runs a cell with the person's own keys."""
        await self.cell(index).locator(".cm-content").click()
        await self.page.keyboard.press("Control+Enter")

    async def screenshot(self, name: str) -> Path:
        path = artifacts() / f"{name}.png"
        await self.page.screenshot(path=path)
        return path

    async def watch_the_cells(self) -> None:
        """Makes the page note every change of what it shows of the cells."""
        script = """() => {
            const cells = document.querySelector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook");
            window.changed = [];
            const note = (records) => window.changed.push(...records.map((it) => it.target.className || it.target.data || ""));
            const watched = { subtree: true, childList: true, characterData: true };
            new MutationObserver(note).observe(cells, watched);
        }"""
        await self.page.evaluate(script)

    async def changes_of_the_cells(self) -> list[str]:
        """What has changed since `watch_the_cells`."""
        return await self.page.evaluate("() => window.changed.map(String)")

    async def note_when(self, name: str, condition: str) -> None:
        """Makes the page note the time (ms since 1970, this machine's clock) at which a condition first holds."""
        script = """([name, condition]) => {
            const holds = new Function(`return (${condition})`);
            window.noted ??= {};
            const look = () => {
                if (holds()) window.noted[name] = Date.now();
                else requestAnimationFrame(look);
            };
            look();
        }"""
        await self.page.evaluate(script, [name, condition])

    async def noted(self, name: str) -> float:
        """Waits for what `note_when` was asked for; seconds since 1970."""
        handle = await self.page.wait_for_function("name => window.noted[name]", arg=name)
        return await handle.json_value() / 1000


@asynccontextmanager
async def lab(server: JupyterServer, path: str = "", **options: Any) -> AsyncIterator[Person]:
    """Opens JupyterLab in a headless browser with an empty profile, on a notebook if there is a path."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable(), args=_SWITCHES)
        try:
            context = await browser.new_context(viewport={"width": 1280, "height": 900}, **options)
            context.set_default_timeout(LONG * 1000)
            page = await context.new_page()
            # What a busy machine makes JupyterLab ask, a person answers.
            await page.add_locator_handler(page.get_by_role("button", name="Continue waiting"), Locator.click)
            # A workspace of its own: JupyterLab keeps the layout of the default one on the server.
            there = f"lab/tree/{quote(path)}" if path else "lab"
            await page.goto(f"{server.url}{there}?reset&token={server.token}")
            person = Person(page)
            if path:
                await person.sees_a_notebook()
            yield person
        finally:
            await browser.close()
