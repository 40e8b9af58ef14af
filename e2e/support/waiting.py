"""Waiting for conditions that nothing notifies us of."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

# More than anything takes that works, however busy the machine is. What must be prompt has a bound of its own.
LONG = 200.0
# The time between two looks at a condition grows, because looking costs the machine something.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.2


def wait_until(condition: Callable[[], object], what: Callable[[], str]) -> None:
    """The same as `until` where there is no event loop; `what` is for the message."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, f"not within {LONG} s: {what()}"
        time.sleep(0.02)


async def until(
    condition: Callable[[], object], what: str, within: float = LONG, during: asyncio.Task[Any] | None = None
) -> None:
    """Waits until something holds, which it has to before the task `during` ends."""
    try:
        async with asyncio.timeout(within):
            pause = _FIRST_PAUSE
            while not condition():
                assert during is None or not during.done() or condition(), f"{what}: not before {during}"
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
    except TimeoutError:
        raise AssertionError(f"not within {within} s: {what}") from None
