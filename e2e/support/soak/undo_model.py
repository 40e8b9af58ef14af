"""What an undo may do to a notebook, from its states before and after each operation. It knows nothing of how the program
records and undoes."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from e2e.support.notebook_files import Json


@dataclass(frozen=True)
class Cell:
    """What is compared of a cell, each part as text."""

    id: str
    content: str
    outputs: str

    @classmethod
    def of(cls, cell: Json) -> "Cell":
        kind, source = cell["cell_type"], _joined(cell["source"])
        # A room says in its metadata whether a server trusts the cell, which is not in the file.
        metadata = {name: value for name, value in cell.get("metadata", {}).items() if name != "trusted"}
        content = [kind, source, metadata, cell.get("attachments") or {}]
        outputs = [_plain(output) for output in cell.get("outputs", [])], _count(cell.get("execution_count"))
        return cls(cell["id"], json.dumps(content, sort_keys=True), json.dumps(outputs, sort_keys=True))

    @property
    def source(self) -> str:
        return json.loads(self.content)[1]

    @property
    def is_code(self) -> bool:
        return json.loads(self.content)[0] == "code"


State = tuple[Cell, ...]


def state_of(cells: Iterable[Json]) -> State:
    return tuple(Cell.of(cell) for cell in cells)


@dataclass(frozen=True)
class Operation:
    """What the program calls `o12`."""

    agent: str
    before: State
    after: State
    # The cells that may have another place afterwards.
    moved: frozenset[str] = frozenset()
    # The cells in which it is undone already.
    undone: frozenset[str] = frozenset()

    @property
    def changed(self) -> frozenset[str]:
        """The cells in which it is still to be undone."""
        before, after = _by_id(self.before), _by_id(self.after)
        return frozenset(id for id in before | after if before.get(id) != after.get(id)) - self.undone


@dataclass
class Expected:
    """What undoing operations must come to."""

    cells: dict[str, Cell]
    # Cells of which undoing would lose what somebody else has made.
    lost: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)


def expected(now: State, operations: Sequence[Operation], only: set[str] | None = None) -> Expected:
    """Undoes operations, given newest first, one after the other."""
    found = Expected(_by_id(now))
    for operation in operations:
        before, after = _by_id(operation.before), _by_id(operation.after)
        for id in operation.changed if only is None else operation.changed & only:
            found.touched.add(id)
            here, is_lost = _undone(found.cells.get(id), before.get(id), after.get(id))
            if is_lost:
                found.lost.add(id)
            found.cells.pop(id, None)
            if here:
                found.cells[id] = here
    return found


def _undone(here: Cell | None, was: Cell | None, left: Cell | None) -> tuple[Cell | None, bool]:
    """A cell that was changed from `was` to `left`, after that is undone, and whether this loses anything."""
    if was is None or left is None:
        return was, here != left
    if here is None:
        return None, True
    is_lost = False
    is_other_type = here.is_code != left.is_code
    if was.content != left.content:
        is_lost |= here.content != left.content
        here = replace(here, content=was.content)
    # A cell of another type has no outputs.
    if was.outputs != left.outputs or was.is_code != left.is_code:
        is_lost |= here.outputs != left.outputs or is_other_type
        here = replace(here, outputs=was.outputs)
    return here, is_lost


def check(now: State, after: State, operations: Sequence[Operation], only: set[str] | None) -> None:
    """Checks an undo that has been made."""
    wanted = expected(now, operations, only)
    assert not wanted.lost, f"lost what others have made in {wanted.lost}"
    found = _by_id(after)
    assert len(found) == len(after), f"cells are there twice: {[cell.id for cell in after]}"
    different = {id for id in wanted.cells | found if wanted.cells.get(id) != found.get(id)}
    assert not different, "\n".join(f"{found.get(id)} instead of {wanted.cells.get(id)}" for id in different)
    placed = wanted.touched.union(*(operation.moved for operation in operations))
    stay = [[cell.id for cell in state if cell.id not in placed] for state in (now, after)]
    assert stay[0] == stay[1], f"cells that were not touched have moved: {stay}"
    is_whole = only is None and not any(operation.undone for operation in operations)
    if is_whole and _is_chain(now, operations):
        assert after == operations[-1].before, "not as it was, although nobody has changed anything since"


def _is_chain(now: State, operations: Sequence[Operation]) -> bool:
    """Whether nothing else happened from the oldest operation on."""
    states = [now, *(operation.before for operation in operations)]
    return all(state == operation.after for state, operation in zip(states, operations, strict=False))


def _by_id(state: State) -> dict[str, Cell]:
    return {cell.id: cell for cell in state}


def _joined(text: Any) -> str:
    return "".join(text) if isinstance(text, list) else str(text)


def _plain(value: Any) -> Any:
    """Texts may be lists of lines, and counts may be floats."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        is_text = value and all(isinstance(each, str) for each in value)
        return _joined(value) if is_text else [_plain(each) for each in value]
    return _count(value)


def _count(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
