"""Orders in which an agent or a person edits and runs, each judged against a fresh run of the notebook that stands there at the end.

An order is a list of steps: calls of the program, and what they do to a kernel. The same is done to a kernel without the program, which
shows what each cell read, made and showed when it last ran.
"""

import ast
import hashlib
import json
import pickle
import re
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import nbformat

from bench.judgement import fresh
from bench.judgement.dependence import dependent_cells
from bench.judgement.edits import Edit
from bench.judgement.names import bodies_of, parsed, reached
from bench.judgement.outputs import short
from bench.judgement.packages import Example
from bench.judgement.rerun import REQUIREMENTS, WIDGET, Failure, Score, Truth, differing, kept_run, made_by, sources
from bench.judgement.session import Session, environment, is_stale, session


@dataclass(frozen=True)
class Order:
    name: str
    # See `Doing.steps`; "run X" runs the cells that `chosen_cells` gives.
    steps: tuple[str, ...]
    # Of an edit of a "cell" or of a "file".
    of: str = "cell"
    # Whether the notebook stands there with the edit at the end.
    is_edited: bool = True


ORDERS = [
    Order("edited", ("edit",)),
    Order("edited with run", ("edit and run",)),
    Order("edited, run", ("edit", "run edited")),
    Order("edited, run twice", ("edit", "run edited", "run edited")),
    Order("edited, below first", ("edit", "run below", "run edited")),
    Order("edited with run, one user run", ("edit and run", "run below")),
    Order("edited, run, undone", ("edit", "run edited", "undo 2"), is_edited=False),
    Order("edited, run, edited back, run", ("edit and run", "edit back and run"), is_edited=False),
    Order("edited, run, older file", ("save", "edit", "run edited", "older file"), is_edited=False),
    Order("edited, restarted, run to the edit", ("edit", "restart", "run through")),
    Order("edited, restarted, every second run", ("edit", "restart", "run second")),
    Order("edited with run, new server", ("edit and run", "new server")),
    Order("run again", ("run edited",), is_edited=False),
    Order("run again, twice, last first", ("run last", "run edited", "run edited"), is_edited=False),
    Order("module edited", ("write",), of="file"),
    Order("module edited, users run", ("write", "run users"), of="file"),
    Order("module edited, imports and users run", ("write", "run imports", "run users"), of="file"),
    Order("module edited, reloaded, all run", ("write", "reload", "run imports", "run users"), of="file"),
    Order("module edited, restarted, users run", ("write", "restart", "run imports", "run users"), of="file"),
]


@dataclass
class Doing:
    """One order, as it is done: each step to the program, and recorded for the kernel without it."""

    program: str
    path: Path
    edit: Edit
    texts: dict[int, str]
    variables: dict[str, str]
    actions: list[tuple[Any, ...]] = field(default_factory=list)
    older: bytes = b""

    def __post_init__(self) -> None:
        self.first = dict(self.texts)

    @property
    def changed(self) -> dict[int | str, str]:
        if self.edit.file:
            return {self.edit.file: self.edit.applied((self.path.parent / self.edit.file).read_text())}
        return {self.edit.cell: self.edit.applied(self.first[self.edit.cell])}

    def do(self, opened: Session, step: str) -> None:
        cell, new = self.edit.cell, next(iter(self.changed.values()))
        match step:
            case "edit" | "edit and run":
                self.write_cell(opened, new, step != "edit")
            case "edit back and run":
                self.write_cell(opened, self.first[cell], True)
            case "undo 2":
                opened.call("undo", last=2)
                self.texts[cell] = self.first[cell]
            case "save":
                self.older = self.path.read_bytes()
            case "older file":
                self.path.write_bytes(self.older)
                self.texts[cell] = self.first[cell]
            case "restart":
                opened.call("restart_notebook")
                self.actions.append(("restart",))
            case "write":
                (self.path.parent / self.edit.file).write_text(new)
                self.actions.append(("write", self.edit.file, new))
            case "reload":
                module = self.edit.file.removesuffix(".py")
                code = f"import importlib, {module}; importlib.reload({module})"
                opened.call("execute_code", code=code)
                self.actions.append(("code", code))
            case _:
                for index in self.chosen_cells(step.removeprefix("run ")):
                    opened.call("execute_cell", cell_index=index, timeout=170.0)
                    self.actions.append(("run", index, self.texts[index]))

    def write_cell(self, opened: Session, source: str, runs: bool) -> None:
        cell = self.edit.cell
        opened.call("overwrite_cell_source", cell_index=cell, cell_source=source, run=runs)
        self.texts[cell] = source
        if runs:
            self.actions.append(("run", cell, source))

    def chosen_cells(self, which: str) -> list[int]:
        full = [index for index, text in self.texts.items() if text.strip()]
        at = self.edit.cell
        dependent = dependent_cells(self.first, at, self.texts[at]) if at >= 0 else set()
        below = [index for index in full if index > at]
        match which:
            case "edited":
                return [at]
            case "below":
                return ([index for index in below if index in dependent] or below)[:1]
            case "last":
                return full[-1:]
            case "through":
                return [index for index in full if index <= at]
            case "second":
                return full[::2]
        imports = [index for index in full if self.imports(index)]
        users = [index for index in full if index not in imports and reads(self.texts, index) & set().union(*map(self.imports, imports))]
        return imports if which == "imports" else users

    def imports(self, index: int) -> set[str]:
        """Names that a cell takes from the edited module."""
        module, tree = self.edit.file.removesuffix(".py"), parsed(self.texts[index])
        found: set[str] = set()
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.ImportFrom) and node.module == module:
                found |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.Import):
                found |= {alias.asname or alias.name for alias in node.names if alias.name == module}
        return found

    def dependent(self) -> set[int]:
        """Cells that depend by names on what was edited or has run."""
        ran = {action[1] for action in self.actions if action[0] == "run"}
        roots = ran | ({index for index in self.texts if self.imports(index)} if self.edit.file else set())
        found = set().union(*(dependent_cells({**self.texts, index: ""}, index, self.texts[index]) for index in roots))
        if not self.edit.file:
            found |= dependent_cells(self.first, self.edit.cell, self.changed[self.edit.cell])
            found |= dependent_cells({**self.first, **self.changed}, self.edit.cell, self.first[self.edit.cell])
        return found


def reads(texts: dict[int, str], index: int) -> set[str]:
    tree = parsed(texts[index])
    return reached(tree, bodies_of(texts)) if tree else set()


def orders_of(edit: Edit) -> list[Order]:
    return [order for order in ORDERS if order.of == ("file" if edit.file else "cell")]


def judge_order(program: str, example: Example, edit: Edit, order: Order, before: Truth, folder: Path) -> Score:
    """Runs all, does the steps, judges the states, runs the stale cells, and judges what is shown then."""
    path = example.copy_to(folder / "root")
    variables = environment(folder / "home")
    doing = Doing(program, path, edit, sources(path), variables)
    changed = doing.changed
    after = Truth(example, folder, changed) if order.is_edited else before
    doing.actions += [("run", index, text) for index, text in doing.texts.items()]
    steps = [step for step in order.steps if step != "new server"]
    keep = "off" if len(steps) == len(order.steps) else "30m"
    with session(program, path, variables, keep) as opened:
        opened.run_all()
        first = opened.saved()
        stale_before = {at for at, state in opened.states().items() if is_stale(state)}
        for step in steps:
            doing.do(opened, step)
        judged = None if keep != "off" else finish(opened)
    if judged is None:
        try:
            with session(program, path, variables, keep) as opened:
                judged = finish(opened)
        finally:
            subprocess.run([program, "kernels", "stop", "--all"], env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    last = replay(example, doing.actions, folder / "replay")
    return Judging(example, edit, order, doing, before, after, last, first, stale_before).score(*judged)


def finish(opened: Session) -> tuple[Any, ...]:
    states, saved = opened.states(), opened.saved()
    evidence = {index: line(opened.call("read_cell", cell_index=index)) for index in states}
    words = opened.run_stale()
    return states, saved, evidence, opened.states(), opened.saved(), words


def line(text: str) -> str:
    return next((part for part in text.splitlines() if part.startswith("[state]")), "")


def replay(example: Example, actions: list[tuple[Any, ...]], folder: Path) -> dict[int, fresh.Cell]:
    """Each cell as it was when it last ran in the present kernel; kept, since the program has no part in it."""
    key = json.dumps([example.path.read_text(), example.files(), actions, REQUIREMENTS.read_text()])

    def run() -> dict[int, fresh.Cell]:
        path = example.copy_to(folder / "root")
        return fresh.replay(path.parent, environment(folder / "home"), actions)

    return kept_run(example.cache / hashlib.sha256(key.encode()).hexdigest(), run)


@dataclass
class Judging:
    example: Example
    edit: Edit
    order: Order
    doing: Doing
    before: Truth
    after: Truth
    last: dict[int, fresh.Cell]
    first: dict[int, list[Any]]
    stale_before: set[int]

    def score(self, states: dict, saved: dict, evidence: dict, rest: dict, then: dict, words: str) -> Score:
        score = Score()
        dependent = self.doing.dependent()
        failed = [index for index, cell in self.after.run.items() if any(part[0] == "error" for part in cell.outputs)]
        for index, text in self.doing.texts.items():
            if not text.strip() or index in self.stale_before or index not in self.after.run:
                continue
            self.judge_state(score, index, states.get(index, ""), evidence.get(index, ""), saved.get(index, []), index in dependent)
            shown = then.get(index, [])
            state = rest.get(index, "")
            self.count(score, "compared after the rerun")
            if not self.is_same(index, shown) and not is_said(index, state, words):
                right = f"shown {short(shown)}, a fresh run {short(self.after.run[index].outputs)}"
                self.fail(score, "unlike a fresh run, silent", index, state, words[:300], right)
            if is_stale(state) and not any(at <= index for at in failed):
                self.fail(score, "stale after running stale", index, state, words[:300], "nothing is stale")
        return score

    def judge_state(self, score: Score, index: int, state: str, evidence: str, shown: list[Any], is_dependent: bool) -> None:
        expected, own = self.after.run[index], self.last.get(index)
        differs = [] if self.is_same(index, shown) else [f"shows {short(shown)}, a fresh run {short(expected.outputs)}"]
        again = self.after.again.get(index, expected)
        if own is None:
            differs.append("has not run in this kernel")
        elif self.has_steady_input(index):
            differs += self.names("makes", made_by(expected), own.after, expected.after, again.after)
        if is_stale(state):
            self.count(score, "reported")
            if own is not None and own.source == self.doing.texts[index]:
                differs += self.names("reads", reads(self.doing.texts, index), own.before, expected.before, again.before)
                if not differs:
                    kind = "reported, depends by names, but nothing differs" if is_dependent else "false stale"
                    self.fail(score, kind, index, state, evidence, "what it reads, makes and shows stays the same")
        elif differs:
            kind = f"differs, but only: {state.split(':')[0]}" if state else "silent"
            self.fail(score, kind, index, state, evidence, "; ".join(differs))

    def names(self, does: str, names: set[str], own: fresh.Digests, expected: fresh.Digests, again: fresh.Digests) -> list[str]:
        # A digest that is unknown in either run says nothing.
        found = [name for name in differing(names, expected, own, again) if own.get(name, "") is not None and expected.get(name)]
        return [f"{does} other values of {', '.join(found)}"] if found else []

    def has_steady_input(self, index: int) -> bool:
        """False below draws without a seed: what such a cell makes can be alike by chance in all fresh runs."""
        expected = self.after.run[index]
        again = self.after.again.get(index, expected)
        return all(expected.before.get(name) == again.before.get(name) for name in reads(self.doing.texts, index))

    def is_same(self, index: int, shown: list[Any]) -> bool:
        """Compares the outputs that the program and nbclient show alike from the start, and that two fresh runs give alike."""
        expected = self.after.run[index].outputs
        start = self.before.run.get(index)
        alike = index == self.edit.cell or (start is not None and self.first.get(index) == start.outputs)
        is_widget = any(WIDGET in output[-1] for output in expected)
        return shown == expected or is_widget or not alike or not self.after.is_steady(index) or not self.has_steady_input(index)

    def count(self, score: Score, name: str) -> None:
        score.add(name)
        score.add(f"{self.order.name}\t{name}")
        score.add(f"{self.example.name}\t{name}")

    def fail(self, score: Score, kind: str, index: int, state: str, evidence: str, right: str) -> None:
        self.count(score, kind)
        said = f"{state or 'up to date'}; {evidence}"
        failure = Failure(kind, self.example.name, index, self.doing.texts[index], asdict(self.edit), said, right)
        score.failures.append(replace(failure, order=self.order.name, steps=list(self.order.steps)))


def is_said(index: int, state: str, words: str) -> bool:
    return bool(state) or any(re.search(rf"(?<![\d.]){index}(?![\d.])", part) and "differ" in part for part in words.splitlines())


def tables(counts: dict[str, int]) -> Iterator[str]:
    """Counts by order and by notebook."""
    columns = ["silent", "false stale", "reported", "unlike a fresh run, silent", "stale after running stale", "compared after the rerun"]
    rows = sorted({name.split("\t")[0] for name in counts if "\t" in name}, key=lambda row: ("/" in row, row))
    yield "| order or notebook | " + " | ".join(columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for row in rows:
        yield f"| {row} | " + " | ".join(str(counts.get(f"{row}\t{column}", 0)) for column in columns) + " |"
