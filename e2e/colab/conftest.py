"""The browser that the tests of tabs share."""

import pytest_asyncio

from e2e.support.browser import Browsers, Chromium


@pytest_asyncio.fixture(loop_scope="session")
async def browser(browsers: Browsers) -> Chromium:
    """Chromium, in which each test has a person of its own."""
    return await browsers.chromium()
