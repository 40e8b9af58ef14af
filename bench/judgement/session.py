"""Cellbridge as an agent uses it: over stdio, in a folder of its own, with one notebook and one kernel."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from bench.calls.agent import Agent
from bench.judgement.fork_server import ADDRESS
from bench.judgement.outputs import canonical
from e2e.support.home import Home, new_mark

WAIT = 170.0
# The states that docs/stale.md calls stale.
STALE = {
    "outputs from elsewhere",
    "never run",
    "edited",
    "other kernel",
    "undefined name",
    "out of order",
    "input changed",
}


def environment(folder: Path) -> dict[str, str]:
    """Of the program, in a home of its own."""
    folder.mkdir(parents=True)
    return {**Home(folder).environment(new_mark()), **{name: os.environ[name] for name in (ADDRESS, "JUPYTER_PATH")}}


@dataclass
class Session:
    agent: Agent
    path: Path
    said: list[tuple[str, str]] = field(default_factory=list)

    def call(self, tool: str, **given: Any) -> str:
        text = self.agent.call(tool, given).text
        self.said.append((tool, text))
        return text

    def run_all(self) -> str:
        return self.call("run_cells", all=True, on_error="continue", timeout=WAIT)

    def run_stale(self) -> str:
        return self.call("run_cells", stale=True, on_error="continue", timeout=WAIT)

    def overwrite(self, index: int, source: str) -> str:
        return self.call("overwrite_cell_source", cell_index=index, cell_source=source)

    def states(self) -> dict[int, str]:
        """What the table says of each cell; up to date is an empty text."""
        found = {}
        is_told = False
        for line in self.call("read_notebook", limit=0).splitlines():
            columns = line.split("\t")
            if columns[0] == "Index":
                is_told = columns[-1] == "State"
            elif re.fullmatch(r"\d+", columns[0]) and columns[1] == "code":
                found[int(columns[0])] = columns[-1] if is_told and len(columns) > 6 else ""
        return found

    def saved(self) -> dict[int, list[Any]]:
        """The outputs in the file, of each code cell."""
        cells = nbformat.read(self.path, as_version=4).cells
        return {at: canonical(cell.outputs) for at, cell in enumerate(cells) if cell.cell_type == "code"}


def is_stale(state: str) -> bool:
    return any(state.startswith(word) for word in STALE)


@contextmanager
def session(program: str, path: Path, variables: dict[str, str], keep: str = "off") -> Iterator[Session]:
    """A notebook in a folder that is served, opened; its kernel ends with the program unless it is kept."""
    with Agent([program, "--no-browser", "--keep-kernels", keep], path.parent, variables) as agent:
        opened = Session(agent, path)
        opened.call("use_notebook", notebook_path=path.name)
        yield opened
