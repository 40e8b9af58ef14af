"""Waiting for conditions that nothing notifies us of."""

import asyncio
from collections.abc import Callable

# More than anything takes that works, however busy the machine is. What must be prompt has a bound of its own, and the
# test is marked `alone`.
LONG = 200.0


async def until(condition: Callable[[], object], what: str, within: float = LONG) -> None:
    """Waits until something holds."""
    try:
        async with asyncio.timeout(within):
            while not condition():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within {within} s: {what}") from None
