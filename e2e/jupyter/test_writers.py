"""Many writers in one notebook at the same time end with the same document. Only real rooms merge; that our edits do is tested in
`ydoc`."""

import asyncio
import json
import random
from pathlib import Path

import pytest

from e2e.support.agents.answer import Answer
from e2e.support.collaborator import Collaborator, collaborator
from e2e.support.jupyter_program import jupyter_notebook, jupyter_program, own_server, until_on_disk
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import NotebookClient, id_in
from e2e.support.notebook_files import sources

EDITS = 120
WRITERS = 3


@pytest.mark.lasts(15)
async def test_random_edits_by_three_writers_end_in_one_document(tmp_path: Path) -> None:
    """Two programs and Datalayer's client, each with edits of its own; every cell is there once, or was deleted."""
    with (
        own_server(tmp_path, "rtc") as (server, program),
        jupyter_program(server, tmp_path / "second") as second,
    ):
        write_notebook(server.root / "x.ipynb", "start")
        async with (
            jupyter_notebook(program, "x.ipynb", create=False) as one,
            jupyter_notebook(second, "x.ipynb", create=False) as two,
            collaborator(server, "x.ipynb") as other,
        ):
            share = EDITS // WRITERS
            kept = await asyncio.gather(
                _edits_as_agent(one, "one", share, random.Random(1)),
                _edits_as_agent(two, "two", share, random.Random(2)),
                _edits_as_collaborator(other, "other", share, random.Random(3)),
            )
            expected = sorted(["start", *[source for each in kept for source in each]])
            await other.sees(lambda: sorted(other.sources) == expected, "all edits, each once")
            await until_on_disk(one, lambda it: sources(it) == other.sources, "all edits are on disk")
            order = other.sources
            assert sorted(order) == expected
            for client in (one, two):
                read = await client.agent.read_resource("notebook://x.ipynb")
                assert sources(json.loads(read["text"])) == order


async def _edits_as_agent(client: NotebookClient, name: str, share: int, choose: random.Random) -> list[str]:
    """Inserts, changes, moves and deletes cells of its own; what they hold at the end."""
    cells: dict[str, str] = {}
    for number in range(share):
        kind = choose.choice(["insert", "insert", "edit", "overwrite", "move", "delete"]) if cells else "insert"
        cell = choose.choice(list(cells)) if cells else ""
        if kind == "insert":
            source = f"{name} {number}"
            # By id: an index that means another cell by now is refused.
            place = {"after_cell_id": cell} if cell and choose.random() < 0.5 else {"cell_index": -1}
            answer = await _do(client, "insert_cell", cell_type="code", cell_source=source, **place)
            cells[id_in(answer)] = source
        elif kind == "edit":
            await _do(client, "edit_cell_source", cell_id=cell, old_string=name, new_string=f"{name} +")
            cells[cell] = cells[cell].replace(name, f"{name} +")
        elif kind == "overwrite":
            cells[cell] = f"{name} {number} overwritten"
            await _do(client, "overwrite_cell_source", cell_id=cell, cell_source=cells[cell])
        elif kind == "move":
            await _do(client, "move_cell", source_cell_id=cell, target_cell_id=choose.choice(list(cells)))
        else:
            await _do(client, "delete_cell", cell_ids_to_delete=[cell], include_source=False)
            del cells[cell]
    return list(cells.values())


async def _do(client: NotebookClient, tool: str, **given: object) -> Answer:
    """A call that succeeds; the file is not looked at, for others write it at any time."""
    answer = await client.call(tool, **given)
    assert not answer.is_error, f"{tool}({given}): {answer.text}"
    return answer


async def _edits_as_collaborator(other: Collaborator, name: str, share: int, choose: random.Random) -> list[str]:
    """The same by hand: its own cells are known by what they hold."""
    own: list[str] = []
    for number in range(share):
        kind = choose.choice(["insert", "insert", "append", "delete"]) if own else "insert"
        if kind == "insert":
            own.append(f"{name} {number}")
            other.add(choose.choice([0, len(other.cells)]), own[-1])
        else:
            chosen = choose.choice(own)
            index = other.sources.index(chosen)
            if kind == "append":
                other.append(index, " +")
                own[own.index(chosen)] += " +"
            else:
                other.delete(index)
                own.remove(chosen)
        # The others shall come in between.
        await asyncio.sleep(0.005)
    return own
