"""What the servers of the latest tests have logged, for the report of a test that fails."""

from collections import deque
from collections.abc import Callable

# How much of each is shown, in characters: the end.
_SHOWN = 4000
_latest: deque[tuple[str, Callable[[], str]]] = deque(maxlen=6)


def keep(title: str, read: Callable[[], str]) -> None:
    """Has the log of a server shown if a test fails."""
    _latest.append((title, read))


def sections() -> list[tuple[str, str]]:
    """A title and the end of the log of each server."""
    return [(f"log of {title}", read()[-_SHOWN:]) for title, read in _latest]
