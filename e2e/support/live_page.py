"""`cellbridge view`, and Chromium in front of it."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from playwright.async_api import Browser, Locator, Page, async_playwright, expect

from e2e.support.browser import executable
from e2e.support.kept_kernels import Machine
from e2e.support.program import program
from e2e.support.waiting import LONG

T = TypeVar("T")


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox", "--disable-gpu"])
        yield browser
        await browser.close()


async def new_page(browser: Browser, width: int = 1400, height: int = 900) -> tuple[Page, "Seen"]:
    """A window of its own."""
    page = await browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(LONG * 1000)
    return page, Seen(page)


@asynccontextmanager
async def view(machine: Machine, *arguments: str) -> AsyncIterator[str]:
    """The address of the page of a machine's folder, while the command runs."""
    async with viewing(machine.home.environment(machine.mark), machine.root, *arguments) as url:
        yield url


@asynccontextmanager
async def viewing(environment: dict[str, str], folder: Path, *arguments: str) -> AsyncIterator[str]:
    """The address of the page, while the command runs."""
    process = await asyncio.create_subprocess_exec(
        *[program(), "view", "--foreground", "--no-browser", *arguments],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    try:
        yield (await asyncio.wait_for(process.stdout.readline(), LONG)).decode().strip()
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), LONG)


async def opened(browser: Browser, url: str) -> tuple[Page, "Seen"]:
    """The page, connected, in a window of its own."""
    page, seen = await new_page(browser)
    await page.goto(url)
    await expect(page.locator("#connection")).to_have_text("Connected")
    return page, seen


async def answer_input(page: Page, prompt: str, line: str) -> None:
    """Answers the `input()` of a cell."""
    field = page.get_by_label(prompt).first
    await field.fill(line)
    await field.press("Enter")


async def take_back(page: Page, cell: Locator, change: Callable[..., Awaitable[T]], named: str = "changed by") -> T:
    """An agent overwrites the first cell, and the person takes that back; returns the reply to the agent."""
    mark = cell.get_by_role("button", name=named)
    before = await mark.get_attribute("data-operation") or ""
    reply = await change("overwrite_cell_source", cell_index=0, cell_source="print('other')")
    await expect(cell.locator(".cb-source")).to_have_text("print('other')")
    # The page can show the source before it shows whose change that was.
    await expect(mark).not_to_have_attribute("data-operation", before)
    await mark.click()
    await expect(page.get_by_role("dialog")).to_contain_text("+print('other')")
    await page.get_by_role("button", name="Take back").click()
    await expect(page.locator("#said")).to_contain_text("Undone: o")
    await expect(page.locator("#history li").first).to_contain_text("you")
    return reply


class Seen:
    """What happened in a page that must not."""

    def __init__(self, page: Page) -> None:
        self.bad: list[str] = []
        page.on("dialog", lambda dialog: self.bad.append(f"dialog {dialog.message}"))
        page.on("popup", lambda popup: self.bad.append(f"popup {popup.url}"))
        page.on("pageerror", lambda error: self.bad.append(f"error {error}"))
        page.on("console", lambda message: self.bad.append(f"console {message.text}") if message.type == "error" else None)
        # What a page elsewhere was asked, and what it has answered; a blocked request is a request, too.
        self.asked: list[str] = []
        self.answered: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url) if _is_remote(request.url) else None)
        page.on("response", lambda response: self.answered.append(response.url) if _is_remote(response.url) else None)


def _is_remote(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "file:", "data:", "about:", "blob:"))
