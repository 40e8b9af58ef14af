"""Times of calls, and their order statistics as text."""

import statistics
import time
from collections.abc import Callable


def timed(act: Callable[[], object]) -> float:
    """In milliseconds."""
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1000


def middle(times: list[float], digits: int) -> str:
    """The median and the 95th percentile."""
    times.sort()
    return f"{statistics.median(times):.{digits}f} / {times[len(times) * 95 // 100]:.{digits}f}"
