"""What `cellbridge verify` adds to the time of the cells, beside `jupyter execute`, which runs them and compares nothing.

`cargo xtask bench verify` runs it with the program and the environment of a Jupyter server. Both run the same notebooks in turns, with
the same Python; the cells note themselves when they begin and end.
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

ROUNDS = 10
CLOCK = "clock.txt"
NOTE = f"print(__import__('time').monotonic(), file=open('{CLOCK}', 'a'))"

# What the cells of a notebook do, and how many there are.
NOTEBOOKS = {
    "100 cells of 10 ms": (100, "__import__('time').sleep(0.01)\nprint('done')"),
    "20 cells of 0.5 s": (20, "__import__('time').sleep(0.5)\nprint('done')"),
    "20 cells of 0.5 s that compute": (
        20,
        "end = __import__('time').monotonic() + 0.5\nwhile __import__('time').monotonic() < end: pass\nprint('done')",
    ),
    "20 cells that print 1 MB": (20, "for _ in range(10_000): print('x' * 99)"),
}


@dataclass
class Times:
    """Seconds of each round."""

    whole: list[float] = field(default_factory=list)
    cells: list[float] = field(default_factory=list)

    @property
    def added(self) -> float:
        """What is added to the time of the cells, as a part of it."""
        pairs = zip(self.whole, self.cells, strict=True)
        return statistics.median((whole - cells) / cells for whole, cells in pairs)


def write_notebook(path: Path, count: int, source: str) -> None:
    cells = [nbformat.v4.new_code_cell(f"{NOTE}\n{source}\n{NOTE}") for _ in range(count)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNELSPEC}), path)


def measure(times: Times, folder: Path, run: Callable[[], None]) -> None:
    clock = folder / CLOCK
    clock.unlink(missing_ok=True)
    begin = time.monotonic()
    run()
    times.whole.append(time.monotonic() - begin)
    noted = [float(line) for line in clock.read_text().splitlines()]
    times.cells.append(sum(end - begin for begin, end in zip(noted[::2], noted[1::2], strict=True)))


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
    print("| notebook | cells | `cellbridge verify` | it adds | `jupyter execute` | it adds |")
    print("|---|---|---|---|---|---|")
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
            row += [f"{statistics.median(times.whole):.2f} s", f"{times.added:.1%}"]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
