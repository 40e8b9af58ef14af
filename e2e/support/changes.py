"""The line of a reply with what a run has changed in memory."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from e2e.support.waiting import LONG

_numbers = itertools.count(1)


def last_line(text: str) -> str:
    return text.splitlines()[-1]


async def line_of_changes(run: Callable[[str], Awaitable[str]]) -> str:
    """The line of a run, which is given a name that nothing has yet and answers its reply. In the line it is called `NAME`.

    A kernel is not waited for longer than 50 ms, so that on a busy machine it may take several runs until there is a line."""
    async with asyncio.timeout(LONG):
        while True:
            name = f"variable_{next(_numbers)}"
            lines = (await run(name)).splitlines()
            # What is stale now may come below it.
            if found := [line for line in lines if line.startswith(("new: ", "changed: ", "gone: "))]:
                return found[-1].replace(name, "NAME")
