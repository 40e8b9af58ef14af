"""What an agent knows of its cells: what was acknowledged, and what may be because nobody answered."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from e2e.support.notebook_files import Json, printed

# The name of an agent, wherever it occurs.
NAME = re.compile(r"\b[fj][hs]\d+\b")
_MARK = re.compile(r"# ((?P<name>[fj][hs]\d+)-c\d+)-v(?P<version>\d+)\n")
_LINES = 4


def source(mark: str, version: int) -> str:
    """Code that leaves a trace with the kernel's process, and prints nothing but its mark, some of it slowly."""
    name, pause = mark.split("-")[0], version % 3 * 0.04
    return (
        f"# {mark}-v{version}\n"
        f"print('{mark}-v{version}', __import__('os').getpid(), file=open('ran-{name}', 'a'))\n"
        f"for {name} in range({_LINES}):\n"
        f"    print('{mark}-v{version}', {name}, flush=True)\n"
        f"    __import__('time').sleep({pause})"
    )


# Said in a cell by whoever has lost outputs: a Jupyter server keeps nothing that it sends to a server that was just killed.
MISSING = "Messages of the kernel are missing"


def outputs(mark: str, version: int) -> str:
    """What that prints."""
    return "".join(f"{mark}-v{version} {line}\n" for line in range(_LINES))


def is_part(shown: str, mark: str, version: int, *, is_missing: bool) -> bool:
    """Whether that is how the outputs start, or some of their lines if it is said that others are missing."""
    whole = outputs(mark, version)
    rest = iter(whole.splitlines())
    return whole.startswith(shown) or is_missing and all(line in rest for line in shown.splitlines())


@dataclass
class KnownCell:
    """A cell that one agent alone edits and runs. Its versions are numbered from 1."""

    mark: str
    path: str
    # Empty until the agent has seen that the cell was inserted.
    id: str = ""
    # The last version that was acknowledged or seen, and the last one that was sent.
    base: int = 1
    newest: int = 1
    sources: set[int] = field(default_factory=lambda: {1})
    # Whose outputs it may show; `None` for no outputs.
    shown: set[int | None] = field(default_factory=lambda: {None})
    # Runs whose end the agent has not seen: their outputs may go on.
    unfinished: set[int] = field(default_factory=set)
    # The same, with an edit since, after which nobody adds the rest.
    abandoned: set[int] = field(default_factory=set)
    # A deletion was not answered.
    may_be_deleted: bool = False

    @property
    def is_in_doubt(self) -> bool:
        return len(self.sources) > 1 or self.may_be_deleted

    def next_source(self) -> str:
        """A version that is on its way."""
        self.newest += 1
        self.sources.add(self.newest)
        self.abandoned |= self.unfinished
        return source(self.mark, self.newest)

    def edited(self) -> None:
        """That version was acknowledged."""
        self.base, self.sources = self.newest, {self.newest}

    def begin_run(self) -> None:
        self.unfinished |= self.sources
        self.shown |= {None, *self.sources}

    def ran(self, answer: str) -> int:
        """The run was acknowledged; the version that ran."""
        [version] = [each for each in self.sources if outputs(self.mark, each).strip() in answer]
        self.shown, self.unfinished, self.abandoned = {version}, set(), set()
        return version

    def check(self, text: str, shown: str, *, is_missing: bool, is_final: bool = False) -> None:
        """Compares with a source and its outputs. In the end, nothing of a run is missing unless that was abandoned, or is said."""
        seen = next((each for each in self.sources if source(self.mark, each) == text), None)
        assert seen is not None, f"{self}: its source is {text!r}"
        whole = {outputs(self.mark, each) if each else "" for each in self.shown}
        started = self.abandoned if is_final and not is_missing else self.abandoned | self.unfinished
        assert shown in whole or any(is_part(shown, self.mark, each, is_missing=is_missing) for each in started), (
            f"{self}: its outputs are {shown!r}"
        )
        if seen != self.base:
            # An edit that was made refuses all others that were sent for the version before.
            self.base, self.sources = seen, {seen}


def says_missing(cell: Json) -> bool:
    """Whether the cell says that outputs are missing."""
    return MISSING in json.dumps(cell["outputs"])


def check_cells(cells: Iterable[Json], names: set[str]) -> dict[str, Json]:
    """The cells by their marks, if each is whole and there once, and shows outputs of its own."""
    found: dict[str, Json] = {}
    for cell in cells:
        text = "".join(cell["source"])
        said = _MARK.match(text)
        assert said and said["name"] in names, f"a cell of nobody here: {cell}"
        mark = said[1]
        assert text == source(mark, int(said["version"])), f"a mixed source: {cell}"
        assert mark not in found, f"there twice: {cell} and {found[mark]}"
        found[mark] = cell
        assert all(each["output_type"] == "stream" for each in cell["outputs"]), cell
        shown = printed(cell)
        version = re.match(rf"{mark}-v(\d+)(?: |$)", shown)
        is_of_run = version and is_part(shown, mark, int(version[1]), is_missing=says_missing(cell))
        assert not shown or is_of_run, f"mixed outputs: {cell}"
    return found


@dataclass
class Runs:
    """How often an agent has had each version run."""

    ended: Counter[str] = field(default_factory=Counter)
    started: Counter[str] = field(default_factory=Counter)

    def check(self, traces: Iterable[str]) -> set[str]:
        """Compares with what the runs have left behind; the kernels' processes."""
        lines = [line.split() for line in traces]
        ran = Counter(mark for mark, _ in lines)
        for mark in self.ended | ran:
            assert self.ended[mark] <= ran[mark] <= self.started[mark], f"{mark} ran {ran[mark]} times: {self}"
        return {process for _, process in lines}
