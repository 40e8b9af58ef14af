"""A story of two agents and a person at one notebook, who take turns, chosen by a seed."""

import itertools
import json
import random
import re
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import nbformat

from e2e.support.notebook_files import Json
from e2e.support.soak.undo_model import Operation, State, check, expected
from e2e.support.soak.undo_places import AGENTS, Shared

MOST_CELLS = 10
# How many of the last operations an undo by id may mean.
RECENT = 25
_LINE = re.compile(r"o(\d+) \d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?P<agent>\S+) (?P<rest>.*)")
PIXEL = {"pixel.png": {"image/png": "aGk="}}


class Story:
    def __init__(self, place: Shared, seed: int) -> None:
        self.place = place
        self.chance = random.Random(f"{seed} {place.name}")
        self.state: State = ()
        self.operations: dict[int, Operation] = {}
        self.checkpoints: list[str] = []
        self.counts: Counter[str] = Counter()
        # The operations that each undo has undone.
        self._undoes: dict[int, list[int]] = {}
        # What happened last, for whoever reads a failure.
        self.last: deque[str] = deque(maxlen=200)
        self._newest = 0
        self._numbers = itertools.count(1)

    async def start(self) -> None:
        self.state = await self.place.settled()

    async def step(self) -> None:
        """One agent or the person does something, and it is compared with the model."""
        if self.chance.random() < 0.3:
            await self._person()
            return
        agent = self.chance.choice(AGENTS)
        acts = [(4, self._edit), (1, self._checkpoint), (4, self._undo)]
        [act] = self.chance.choices([act for _, act in acts], [weight for weight, _ in acts])
        await act(agent)

    def _new(self, what: str) -> str:
        return f"print('{what} {next(self._numbers)}')"

    def _note(self, what: str) -> None:
        self.last.append(what)

    async def _person(self) -> None:
        """Edits from outside."""
        cells = json.loads(json.dumps(self.place.cells()))
        index = self.chance.randrange(len(cells)) if cells else 0
        changes: list[Callable[[list[Json], int], str]] = [self._add]
        if cells:
            changes += [self._type, self._type, self._delete, self._move, self._tag, self._attach, self._run_elsewhere]
        change = self.chance.choice(changes)
        self._note(f"person: {change(cells, index)}")
        self.counts["edits from outside"] += 1
        self.place.replace(cells)
        self.state = await self.place.settled()

    def _type(self, cells: list[Json], index: int) -> str:
        cells[index]["source"] = "".join(cells[index]["source"]) + f"\n# typed {next(self._numbers)}"
        return f"types in {cells[index]['id']}"

    def _add(self, cells: list[Json], index: int) -> str:
        make = self.chance.choice([nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell])
        cell = dict(make(self._new("person"), id=f"p{next(self._numbers)}"))
        cells.insert(index, cell)
        return f"adds {cell['id']} at {index}"

    def _delete(self, cells: list[Json], index: int) -> str:
        return f"deletes {cells.pop(index)['id']}"

    def _move(self, cells: list[Json], index: int) -> str:
        cell = cells.pop(index)
        cells.insert(to := self.chance.randrange(len(cells) + 1), cell)
        return f"moves {cell['id']} to {to}"

    def _tag(self, cells: list[Json], index: int) -> str:
        cells[index]["metadata"] = {"tags": [f"person-{next(self._numbers)}"]}
        return f"tags {cells[index]['id']}"

    def _attach(self, cells: list[Json], index: int) -> str:
        if cells[index]["cell_type"] == "code":
            return self._tag(cells, index)
        cells[index]["attachments"] = PIXEL
        return f"attaches an image to {cells[index]['id']}"

    def _run_elsewhere(self, cells: list[Json], index: int) -> str:
        if cells[index]["cell_type"] != "code":
            return self._tag(cells, index)
        text = f"elsewhere {next(self._numbers)}\n"
        cells[index]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]
        cells[index]["execution_count"] = next(self._numbers)
        return f"runs {cells[index]['id']} elsewhere"

    async def _edit(self, agent: str) -> None:
        """A change by an agent that has read what is there."""
        await self.place.call(agent, "read_notebook", response_format="detailed")
        tool, given, moved = self._choose_edit()
        self._note(f"{agent}: {tool}({given})")
        failed, text = await self.place.call(agent, tool, **given)
        if failed and "has attachments, which a code cell cannot have" in text:
            return
        assert not failed, f"{tool}({given}): {text}"
        self.counts["edits of agents"] += 1
        await self._record(agent, frozenset(moved))

    def _choose_edit(self) -> tuple[str, Json, set[str]]:
        cell = self.chance.choice(self.state) if self.state else None
        count = len(self.state)
        if cell is None or (count < MOST_CELLS and self.chance.random() < 0.25):
            given = {"cell_index": self.chance.randint(0, count), "cell_type": self.chance.choice(["code", "markdown"])}
            return "insert_cell", {**given, "cell_source": self._new("agent")}, set()
        if count >= MOST_CELLS or self.chance.random() < 0.15:
            ids = {each.id for each in self.chance.sample(self.state, min(count, self.chance.randint(1, 2)))}
            return "delete_cell", {"cell_ids_to_delete": sorted(ids)}, ids
        other_type = "markdown" if cell.is_code else "code"
        ways: list[tuple[str, Json, set[str]]] = [
            ("overwrite_cell_source", {"cell_id": cell.id, "cell_source": self._new("agent")}, set()),
            ("move_cell", {"source_cell_id": cell.id, "target_index": self.chance.randrange(count)}, {cell.id}),
            ("change_cell", {"cell_id": cell.id, "tags": [f"agent-{next(self._numbers)}"]}, set()),
            ("change_cell", {"cell_id": cell.id, "cell_type": other_type}, set()),
        ]
        if cell.is_code:
            ways.append(("execute_cell", {"cell_id": cell.id}, set()))
            ways.append(("clear_cell_output", {"cell_id": cell.id}, set()))
        return self.chance.choice(ways)

    async def _checkpoint(self, agent: str) -> None:
        name = f"checkpoint-{next(self._numbers)}"
        self._note(f"{agent}: {name}")
        failed, text = await self.place.call(agent, "checkpoint", name=name)
        assert not failed, text
        self.checkpoints.append(name)

    async def _undo(self, agent: str) -> None:
        """Undoes something, or is refused; either way nothing is lost."""
        given = self._choose_undo()
        self._note(f"{agent}: undo({given})")
        before = self.state
        failed, text = await self.place.call(agent, "undo", **given)
        if failed or given.get("preview"):
            assert await self.place.settled() == before, f"changed, although it was not to be: {text}"
            self.counts["undos refused" if failed else "undos previewed"] += 1
            self._note(f"  {text.splitlines()[0] if text else text}")
            if failed:
                self._check_refusal(before, given, text)
            return
        undone = [int(found[1]) for line in text.splitlines() if (found := _LINE.match(line))]
        assert undone == sorted(undone, reverse=True) and undone, text
        self._note(f"  undone: {undone}")
        only = set(given["only"]) if "only" in given else None
        operations = self._meant(undone)
        if "id" not in given and "since" not in given:
            assert {operation.agent for operation in operations} == {agent}, text
        self.state = await self.place.settled()
        check(before, self.state, operations, only)
        self.counts["undos"] += 1
        self.counts["operations undone"] += len(operations)
        moved = frozenset().union(*(operation.moved for operation in operations))
        newest = self._newest
        await self._record(agent, moved, before)
        self._mark_undone(undone, only)
        if self._newest != newest:
            self._undoes[self._newest] = undone

    def _meant(self, numbers: list[int]) -> list[Operation]:
        """An undo is undone as a whole, also where it is already undone."""
        is_undo = self._undoes.__contains__
        return [replace(self.operations[it], undone=frozenset()) if is_undo(it) else self.operations[it] for it in numbers]

    def _mark_undone(self, numbers: list[int], only: set[str] | None) -> None:
        for number in numbers:
            operation = self.operations[number]
            cells = operation.changed if only is None else operation.changed & only
            self.operations[number] = replace(operation, undone=operation.undone | cells)
            # What an undo had taken back was restored.
            for brought_back in self._undoes.get(number, []):
                known = self.operations[brought_back]
                self.operations[brought_back] = replace(known, undone=known.undone - cells)

    def _choose_undo(self) -> Json:
        recent = sorted(self.operations)[-RECENT:]
        given: Json = {}
        kind = self.chance.random()
        if recent and kind < 0.5:
            given["id"] = f"o{self.chance.choice(recent)}"
        elif self.checkpoints and kind < 0.6:
            given["since"] = self.chance.choice(self.checkpoints[-3:])
        else:
            given["last"] = self.chance.randint(1, 3)
        if self.state and self.chance.random() < 0.15:
            given["only"] = sorted({each.id for each in self.chance.sample(self.state, min(len(self.state), 2))})
        if self.chance.random() < 0.1:
            given["preview"] = True
        return given

    def _check_refusal(self, now: State, given: Json, text: str) -> None:
        """A refusal has a reason: something would be lost, a place is no longer known, or there is nothing to undo."""
        if "Nothing was undone: " not in text:
            return
        numbers = {int(number) for number in re.findall(r"o(\d+)\) ", text)}
        operations = self._meant(sorted(numbers, reverse=True))
        only = set(given["only"]) if "only" in given else None
        lost = expected(now, operations, only).lost
        moved = frozenset[str]().union(*(operation.moved for operation in operations))
        is_about_order = "was moved" in text or moved - {cell.id for cell in now}
        assert is_about_order or lost or "id" not in given, f"refused, although nothing would be lost: {text}"

    async def _record(self, agent: str, moved: frozenset[str], before: State | None = None) -> None:
        """Notes the operation that the program has recorded for the last call."""
        before = self.state if before is None else before
        self.state = await self.place.settled()
        lines: list[re.Match[str]] = []

        async def read() -> None:
            _, text = await self.place.call(agent, "history", limit=10)
            found = [line for each in text.splitlines() if (line := _LINE.match(each))]
            new = [line for line in found if int(line[1]) > self._newest]
            lines[:] = [line for line in new if ": checkpoint " not in line["rest"]]

        await read()
        if self.state != before and not lines:
            await _until(read, lambda: bool(lines))
        assert len(lines) <= 1, f"one call, and {len(lines)} operations: {[line[0] for line in lines]}"
        for line in lines:
            number = int(line[1])
            assert line["agent"] == agent, line[0]
            self._newest = number
            self.operations[number] = Operation(agent, before, self.state, moved)
            self._note(f"  o{number}")


async def _until(act: Callable[[], Coroutine[Any, Any, None]], condition: Callable[[], bool]) -> None:
    for _ in range(100):
        await act()
        if condition():
            return
    raise AssertionError("the change was not recorded")
