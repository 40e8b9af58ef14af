"""What `cellbridge verify` adds to the time of the cells, beside `jupyter execute`, which runs them and compares nothing.

`cargo xtask bench verify` runs it with the program and the environment of a Jupyter server. Both run the same notebooks in turns, with
the same Python; the cells note themselves when they start and end.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from e2e.support.home import Home, new_mark
from e2e.support.jupyter_server import interpreter
from e2e.support.lab_notebooks import KERNELSPEC

ROUNDS = 5
CLOCK = "clock.txt"
NOTE = f"print(__import__('time').monotonic(), file=open('{CLOCK}', 'a'))"

# What the cells of a notebook do, and how many there are.
NOTEBOOKS = {
    "100 cells of 10 ms": (100, "__import__('time').sleep(0.01)\nprint('done')"),
    "40 cells of 0.5 s": (40, "__import__('time').sleep(0.5)\nprint('done')"),
    "40 cells of 0.5 s that compute": (
        40,
        "end = __import__('time').monotonic() + 0.5\nwhile __import__('time').monotonic() < end: pass\nprint('done')",
    ),
    "20 cells that print 1 MB": (20, "for _ in range(10_000): print('x' * 99)"),
}


@dataclass
class Times:
    """Seconds of each round: of the command, before the first cell, and of the cells."""

    whole: list[float] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    cells: list[float] = field(default_factory=list)

    def added(self, *, is_started: bool) -> str:
        """What is added to the time of the cells, as a part of it: all, or only from the first cell on."""
        rounds = zip(self.whole, self.start, self.cells, strict=True)
        parts = ((whole - (start if is_started else 0) - cells) / cells for whole, start, cells in rounds)
        return f"{statistics.median(parts):.1%}"


def write_notebook(path: Path, count: int, source: str) -> None:
    cells = [nbformat.v4.new_code_cell(f"{NOTE}\n{source}\n{NOTE}") for _ in range(count)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNELSPEC}), path)


def measure(times: Times, folder: Path, run: Callable[[], None]) -> None:
    clock = folder / CLOCK
    clock.unlink(missing_ok=True)
    start = time.monotonic()
    run()
    times.whole.append(time.monotonic() - start)
    noted = [float(line) for line in clock.read_text().splitlines()]
    times.start.append(noted[0] - start)
    times.cells.append(sum(end - start for start, end in zip(noted[::2], noted[1::2], strict=True)))


def compare(program: str, folder: Path, environment: dict[str, str], rounds: int) -> tuple[Times, Times]:
    """Both commands in turns, each first in every other round."""

    def command(*words: str) -> None:
        subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)

    execute = str(interpreter("rtc").parent / "jupyter-execute")
    # What is verified later, so that it reruns once.
    command(execute, "--inplace", "a.ipynb")
    ours, theirs = Times(), Times()
    for number in range(rounds):
        turns = [
            (ours, lambda: command(program, "verify", "a.ipynb")),
            (theirs, lambda: command(execute, "a.ipynb")),
        ]
        for times, run in turns if number % 2 else reversed(turns):
            measure(times, folder, run)
    return ours, theirs


def main() -> None:
    program, *rest = sys.argv[1:]
    rounds = int(rest[0]) if rest else ROUNDS
    columns = ["notebook", "cells"]
    for name in ("cellbridge verify", "jupyter execute"):
        columns += [f"`{name}`", "before the first cell", "adds", "adds from the first cell on"]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for title, (count, source) in NOTEBOOKS.items():
        with tempfile.TemporaryDirectory() as temporary:
            home, folder = Home(Path(temporary) / "home"), Path(temporary) / "root"
            home.folder.mkdir()
            folder.mkdir()
            write_notebook(folder / "a.ipynb", count, source)
            programs = interpreter("rtc").parent
            environment = {
                **home.environment(new_mark()),
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                "VIRTUAL_ENV": str(programs.parent),
            }
            ours, theirs = compare(program, folder, environment, rounds)
        row = [title, f"{statistics.median(ours.cells):.2f} s"]
        for times in (ours, theirs):
            row += [f"{statistics.median(seconds):.2f} s" for seconds in (times.whole, times.start)]
            row += [times.added(is_started=False), times.added(is_started=True)]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
