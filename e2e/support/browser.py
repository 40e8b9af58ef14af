"""Chromium, with the stand-in page where Colab would be."""

import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Browser, BrowserContext, Error, Page, async_playwright, expect

from e2e.support.tab_runtime import TabRuntime
from e2e.support.waiting import LONG

expect.set_options(timeout=LONG * 1000)

COLAB_ORIGIN = "https://colab.research.google.com"
# The permission for `ws://localhost`; Playwright uses its older name.
LOOPBACK_PERMISSION = "local-network-access"


def executable() -> str:
    found = os.environ.get("CELLBRIDGE_CHROMIUM") or shutil.which("chromium")
    assert found, "no Chromium: install Debian's package `chromium` or set CELLBRIDGE_CHROMIUM"
    return found


def switches(page_port: int) -> list[str]:
    """The switches that put the page at Colab's address, as a page from the public internet."""
    return [
        f"--host-resolver-rules=MAP colab.research.google.com:443 127.0.0.1:{page_port}",
        # Without this the page counts as loopback, nobody is asked, and the tests would prove nothing.
        f"--ip-address-space-overrides=127.0.0.1:{page_port}=public",
        "--ignore-certificate-errors",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]


@dataclass
class Chromium:
    """A running browser."""

    browser: Browser

    @asynccontextmanager
    async def person(
        self, *, granted: bool = True, runtime: TabRuntime | None = None, **tab_options: Any
    ) -> AsyncIterator["Person"]:
        """A person with a new profile, who has granted Colab access to this machine or was not asked yet. The person's
        notebooks run on `runtime`; without one, the page itself runs a few words."""
        context = await self.browser.new_context()
        context.set_default_timeout(LONG * 1000)
        if runtime:
            await context.expose_function("runOnRuntime", runtime.run)
        if granted:
            await context.grant_permissions([LOOPBACK_PERMISSION], origin=COLAB_ORIGIN)
        await context.add_init_script(f"window.tabOptions = {json.dumps(tab_options)}")
        try:
            yield Person(context)
        finally:
            try:
                await context.close()
            except Error:
                # A test may have killed the browser.
                if self.browser.is_connected():
                    raise

    async def process_id(self) -> int:
        session = await self.browser.new_browser_cdp_session()
        processes = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
        return next(process["id"] for process in processes if process["type"] == "browser")


@dataclass
class Person:
    """Somebody at the browser."""

    context: BrowserContext

    async def open(self, url: str) -> "Tab":
        page = await self.context.new_page()
        await page.goto(url)
        return Tab(page)

    async def connect(self, url: str) -> "Tab":
        """Opens the URL, consents, and waits until the page says that it is connected."""
        tab = await self.open(url)
        await tab.consent()
        await tab.says("Connected")
        return tab


@dataclass
class Tab:
    """The stand-in page in one tab."""

    page: Page

    async def consent(self) -> None:
        """Presses Enter in the consent dialog."""
        await expect(self.page.locator(".local-mcp-connect-dialog")).to_be_visible()
        await self.page.keyboard.press("Enter")

    async def says(self, status: str, *, within: float = LONG) -> None:
        await expect(self.page.locator("#status")).to_have_text(status, timeout=within * 1000)

    async def history(self) -> list[dict[str, Any]]:
        return await self.page.evaluate("window.tab.connection.history")

    async def transcripts(self) -> list[list[str]]:
        return await self.page.evaluate("window.tab.transcripts()")

    async def until_cell_is_running(self) -> None:
        await self.page.wait_for_function("window.slowCells() > 0")


class Browsers:
    """The browsers that the tests of one process share: to start one takes as long as a test."""

    def __init__(self, page_port: int) -> None:
        self._page_port = page_port
        self._stack = AsyncExitStack()
        self._chromium: Chromium | None = None

    async def chromium(self) -> Chromium:
        """Started when it is first asked for."""
        if self._chromium is None:
            self._chromium = await self._stack.enter_async_context(chromium(self._page_port))
        return self._chromium

    async def close(self) -> None:
        await self._stack.aclose()


@asynccontextmanager
async def chromium(
    page_port: int, *, display: str | None = None, size: tuple[int, int] = (1000, 700)
) -> AsyncIterator[Chromium]:
    """Starts Chromium with an empty profile: headless, or in a window on an X display."""
    environment: dict[str, str | float | bool] = {**os.environ, "DISPLAY": display} if display else dict(os.environ)
    window = [f"--window-size={size[0]},{size[1]}", "--window-position=0,0"]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable(),
            headless=display is None,
            args=switches(page_port) + window,
            env=environment,
        )
        try:
            yield Chromium(browser)
        finally:
            await browser.close()
