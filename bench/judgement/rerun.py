"""Judges what is said after an edit, and what `run_cells` with `stale` leaves, by fresh runs of the notebook before and after the edit."""

import hashlib
import json
import os
import pickle
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat

from bench.judgement import fresh
from bench.judgement.dependence import dependent_cells
from bench.judgement.edits import Edit
from bench.judgement.fresh import Run
from bench.judgement.names import bodies_of, parsed, reached
from bench.judgement.outputs import short
from bench.judgement.packages import Example
from bench.judgement.session import environment, is_stale, session

REQUIREMENTS = Path(__file__).parent / "requirements.txt"
# The folder of the second fresh run.
AGAIN = "again"
WIDGET = "application/vnd.jupyter.widget-view+json"
# Words of a reply that name cells whose outputs a rerun cannot repeat.
WARNING = re.compile(r"random|reproduc|seed|deterministic|cannot be known|may differ")


@dataclass
class Failure:
    """For those who fix it: what was done, what was said, what is right."""

    kind: str
    notebook: str
    cell: int
    source: str
    edit: dict[str, Any] | None = None
    said: str = ""
    right: str = ""
    order: str = ""
    steps: list[str] = field(default_factory=list)


@dataclass
class Score:
    """Counts of one notebook or one edit."""

    counts: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def add(self, name: str, count: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + count

    def fail(self, failure: Failure) -> None:
        self.add(failure.kind)
        self.failures.append(failure)


def sources(path: Path) -> dict[int, str]:
    return {at: cell.source for at, cell in enumerate(nbformat.read(path, as_version=4).cells) if cell.cell_type == "code"}


def fresh_run(example: Example, folder: Path, changed: dict[int | str, str] | None = None) -> Run:
    """A run by nbclient of a copy, with other sources for some cells or files. It is kept: the program has no part in it."""
    edits = sorted((changed or {}).items(), key=str)
    key = json.dumps([example.path.read_text(), example.files(), edits, folder.name, REQUIREMENTS.read_text()])

    def run() -> Run:
        path = example.copy_to(folder / "root")
        notebook = nbformat.read(path, as_version=4)
        for place, text in edits:
            if isinstance(place, str):
                (path.parent / place).write_text(text)
            else:
                notebook.cells[place].source = text
        return fresh.run(notebook, path.parent, environment(folder / "home"), counts_on=folder.name.startswith(AGAIN))

    return kept_run(example.cache / hashlib.sha256(key.encode()).hexdigest(), run)


def kept_run(kept: Path, make: Callable[[], Run]) -> Run:
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    run = make()
    kept.parent.mkdir(exist_ok=True)
    unfinished = kept.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(pickle.dumps(run))
    unfinished.rename(kept)
    return run


class Truth:
    """Fresh runs of a notebook, each when it is first asked for."""

    def __init__(self, example: Example, folder: Path, changed: dict[int | str, str] | None = None) -> None:
        self._example, self._folder, self._changed = example, folder, changed

    @cached_property
    def run(self) -> Run:
        return fresh_run(self._example, self._folder / "fresh", self._changed)

    @cached_property
    def again(self) -> Run:
        """Another run. Where the two differ, draws without a seed are likely, and these may be alike by chance in two runs: then two
        more runs decide, and what is not alike in all of them is unlike `run`."""
        again = fresh_run(self._example, self._folder / AGAIN, self._changed)
        for more in range(0 if alike(self.run, again) else 2):
            again = unlike_first(self.run, again, fresh_run(self._example, self._folder / f"{AGAIN}-{more}", self._changed))
        return again

    def is_steady(self, index: int) -> bool:
        """Whether a cell gives the same in all runs."""
        return index in self.again and self.run[index].outputs == self.again[index].outputs


def alike(run: Run, other: Run) -> bool:
    return run.keys() == other.keys() and all(
        (cell.outputs, cell.after) == (other[index].outputs, other[index].after) for index, cell in run.items()
    )


def unlike_first(run: Run, again: Run, more: Run) -> Run:
    """The second run, with what is unlike the first one in the second or in the third."""

    def digests(first: fresh.Digests, second: fresh.Digests, third: fresh.Digests) -> fresh.Digests:
        return {name: third.get(name) if digest == first.get(name) else digest for name, digest in second.items()}

    cells: Run = {}
    for index in run.keys() & again.keys() & more.keys():
        first, second, third = run[index], again[index], more[index]
        raw = third.raw if second.outputs == first.outputs else second.raw
        before = digests(first.before, second.before, third.before)
        cells[index] = fresh.Cell(before, digests(first.after, second.after, third.after), raw, second.source)
    return cells


def judge_edit(program: str, example: Example, edit: Edit, before: Truth, folder: Path) -> Score:
    """Runs all, edits, reads the marks, runs the stale cells, and compares with the fresh runs."""
    score = Score()
    path = example.copy_to(folder / "root")
    texts = sources(path)
    changed = {edit.cell: edit.applied(texts[edit.cell])}
    assert changed[edit.cell] != texts[edit.cell], f"{edit} changes nothing"
    with session(program, path, environment(folder / "home")) as opened:
        opened.run_all()
        first = opened.saved()
        stale_before = {at for at, state in opened.states().items() if is_stale(state)}
        opened.overwrite(edit.cell, changed[edit.cell])
        marks = opened.states()
        opened.run_stale()
        words, rest = opened.said[-1][1], opened.states()
        saved = opened.saved()
    after = Truth(example, folder, changed)
    own: dict[int, list[Any]] = {}
    dependent = dependent_cells(texts, edit.cell, changed[edit.cell])
    texts |= changed
    for index in after.run:
        if index != edit.cell and index not in stale_before and texts[index].strip():
            judge_mark(score, edit, index, texts, marks.get(index, ""), index in dependent, before, after)
        # What another runner drops from the start, such as a pager's text, is no matter of the rerun.
        if index == edit.cell or (index in before.run and first.get(index) == before.run[index].outputs):
            shown = saved.get(index, [])
            expected = after.run[index].outputs
            # Of a widget we save what it shows as text, and nbclient what the kernel sends: only two runs by us can be compared.
            if shown != expected and any(WIDGET in output[-1] for output in shown):
                own = own or own_run(program, example, changed, folder / "own")
                expected = own[index]
            judge_result(score, edit, index, texts, (shown, expected), (rest.get(index, ""), words), after)
    return score


def own_run(program: str, example: Example, changed: dict[int, str], folder: Path) -> dict[int, list[Any]]:
    """What the program saves when it runs a notebook with other sources from top to bottom."""
    path = example.copy_to(folder / "root")
    notebook = nbformat.read(path, as_version=4)
    for index, source in changed.items():
        notebook.cells[index].source = source
    nbformat.write(notebook, path)
    with session(program, path, environment(folder / "home")) as opened:
        opened.run_all()
        return opened.saved()


def judge_mark(
    score: Score,
    edit: Edit,
    index: int,
    texts: dict[int, str],
    mark: str,
    is_dependent: bool,
    before: Truth,
    after: Truth,
) -> None:
    old, new = before.run.get(index), after.run[index]
    if old is None:
        return
    is_changed = old.outputs != new.outputs
    failure = Failure("", edit.notebook, index, texts[index], asdict(edit), mark or "up to date")
    if is_stale(mark):
        score.add("reported")
        again = before.again.get(index, old)
        tree = parsed(texts[index])
        names = reached(tree, bodies_of(texts)) if tree else set()
        reads = differing(names, old.before, new.before, again.before)
        makes = differing(made_by(new), old.after, new.after, again.after)
        if not (is_changed or reads or makes):
            failure.kind = "reported, depends on the edit, but nothing differs" if is_dependent else "false stale"
            failure.right = "what it reads, makes and shows stays the same"
            score.fail(failure)
    elif is_changed and before.is_steady(index) and after.is_steady(index):
        failure.kind = f"changed, but only: {mark.split(':')[0]}" if mark else "silent"
        failure.right = f"{short(old.outputs)} becomes {short(new.outputs)}"
        score.fail(failure)


def differing(names: set[str], old: fresh.Digests, new: fresh.Digests, again: fresh.Digests) -> list[str]:
    """Names whose values the edit has changed. One whose value is not the same in two runs of the same code is unknown."""
    return sorted(name for name in names if old.get(name) == again.get(name) and old.get(name) != new.get(name))


def made_by(cell: fresh.Cell) -> set[str]:
    return {name for name, digest in cell.after.items() if cell.before.get(name, "") != digest}


def judge_result(
    score: Score,
    edit: Edit,
    index: int,
    texts: dict[int, str],
    outputs: tuple[list[Any], list[Any]],
    mark: tuple[str, str],
    after: Truth,
) -> None:
    (saved, expected), (state, words) = outputs, mark
    score.add("compared after the rerun")
    if saved == expected or not after.is_steady(index):
        return
    is_told = bool(state) or any(
        WARNING.search(line) and re.search(rf"(?<![\d.]){index}(?![\d.])", line) for line in words.splitlines()
    )
    kind = "unlike a fresh run, with a word" if is_told else "unlike a fresh run, silent"
    first = next((line for line in words.splitlines() if line.startswith("To run")), words[:200])
    said = f"{state or 'up to date'}; {first}"
    right = f"shown {short(saved)}, a fresh run {short(expected)}"
    score.fail(Failure(kind, edit.notebook, index, texts[index], asdict(edit), said, right))
