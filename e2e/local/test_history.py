"""Changes are recorded and can be undone: byte for byte, after a server was killed, and by the person."""

import asyncio
import os
import signal
import subprocess
from contextlib import nullcontext, suppress

import nbformat

from e2e.support import wine
from e2e.support.kept_kernels import NOTEBOOK, Machine
from e2e.support.notebook_files import read_valid
from e2e.support.program import program
from e2e.support.stdio_client import StdioClient
from e2e.support.terminal import Ended
from e2e.support.waiting import until

# One of each kind, with the tool that makes it. Each is possible after those before it.
CHANGES = [
    ("insert_cell", {"cell_index": 0, "cell_type": "markdown", "cell_source": "new"}),
    ("overwrite_cell_source", {"cell_id": "c0", "cell_source": "x = 1"}),
    ("edit_cell_source", {"cell_id": "c0", "old_string": "1", "new_string": "2"}),
    ("move_cell", {"source_cell_id": "c0", "target_index": 4}),
    ("delete_cell", {"cell_ids_to_delete": ["c1", "title"]}),
    ("clear_cell_output", {"cell_id": "c2"}),
    ("change_cell", {"cell_id": "c2", "duplicate": True}),
    ("change_cell", {"cell_id": "c3", "cell_type": "markdown"}),
    ("change_cell", {"cell_id": "c2", "tags": ["t"]}),
    ("execute_cell", {"cell_id": "c0"}),
]


def _write(machine: Machine) -> bytes:
    """A notebook as Jupyter writes it, with outputs; its bytes."""
    cells = [nbformat.v4.new_markdown_cell("# Title", id="title")]
    for number in range(4):
        output = nbformat.v4.new_output("stream", name="stdout", text=f"{number}\n")
        source = f"print({number})"
        cells.append(nbformat.v4.new_code_cell(source, id=f"c{number}", outputs=[output], execution_count=number + 1))
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, machine.file)
    return machine.file.read_bytes()


def _command(machine: Machine, *arguments: str) -> Ended:
    command, environment = [program(), *arguments], machine.home.environment(machine.mark)
    ended = subprocess.run(command, env=environment, cwd=machine.root, capture_output=True, text=True)
    return Ended(wine.status(ended.returncode), ended.stdout, ended.stderr)


def _text(machine: Machine) -> str:
    """What is in the file. Windows replaces a file in two steps, so that there is none for a moment."""
    with suppress(FileNotFoundError) if wine.IS_USED else nullcontext():
        return machine.file.read_text()
    return ""


async def _call(server: StdioClient, tool: str, **given: object) -> str:
    return await server.call(tool, notebook_name=NOTEBOOK, **given)


async def test_twenty_changes_are_undone_byte_for_byte(machine: Machine) -> None:
    first = _write(machine)
    async with machine.server() as server:
        for tool, given in CHANGES:
            await _call(server, tool, **given)
        for number in range(10):
            await _call(server, "insert_cell", cell_index=number, cell_type="code", cell_source=f"n{number}")
        changed = machine.file.read_bytes()
        history = await _call(server, "history", limit=100)
        assert history.count("\n") == 20 and "execute_cell r" in history and 'checkpoint "before ' in history
        # A preview touches nothing.
        before = machine.file.stat()
        assert "Would undo" in await _call(server, "undo", preview=True)
        assert machine.file.stat() == before
        for _ in range(20):
            assert "Undone" in await _call(server, "undo")
        assert machine.file.read_bytes() == first
        # Each undo is an operation: 21, 20 of them, and the newest undid the first.
        newest = (await _call(server, "history", limit=1)).split(" ")[0]
        await _call(server, "undo", id=newest)
        await _call(server, "undo")
        assert machine.file.read_bytes() == first
        await _call(server, "checkpoint", name="tidy")
        await _call(server, "delete_cell", cell_ids_to_delete=["c0", "c1", "c2"])
        await _call(server, "undo", since="tidy")
        assert machine.file.read_bytes() == first
    assert changed != first


async def test_a_preview_shows_the_change_and_touches_nothing(machine: Machine) -> None:
    _write(machine)
    async with machine.server() as server:
        for tool, given in CHANGES[:-1]:
            before, history = machine.file.stat(), await _call(server, "history")
            shown = await _call(server, tool, **given, preview=True)
            assert "nothing was changed" in shown, (tool, shown)
            assert machine.file.stat() == before and await _call(server, "history") == history, tool
            await _call(server, tool, **given)
            # The difference that the change then made, but for the ids of new cells.
            made = (await _call(server, "history", id=(await _call(server, "history", limit=1)).split(" ")[0])).splitlines()
            if "new cells" not in shown:
                assert shown.splitlines()[1:] == made[1:], (tool, shown, made)


async def test_a_server_that_is_killed_while_it_records_loses_nothing_else(machine: Machine) -> None:
    first = _write(machine)
    for number in range(5):
        async with machine.server() as server:
            await _call(server, "overwrite_cell_source", cell_id="c0", cell_source=f"recorded {number}")
            last = asyncio.create_task(
                _call(server, "overwrite_cell_source", cell_id="c0", cell_source=f"last {number}")
            )
            await until(lambda number=number: f"last {number}" in _text(machine), "the edit is on disk")
            os.killpg(server.process.pid, signal.SIGKILL)
            await server.ended()
            await asyncio.gather(last, return_exceptions=True)
    async with machine.server() as server:
        read_valid(machine.file)
        history = await _call(server, "history", limit=100)
        assert history.count("overwrite_cell_source") >= 5
        await _call(server, "checkpoint", name="after")
        kept = machine.file.read_bytes()
        await _call(server, "overwrite_cell_source", cell_id="c1", cell_source="last")
        await _call(server, "undo", since="after")
        assert machine.file.read_bytes() == kept
    assert kept != first


async def test_a_person_undoes_nothing_while_a_cell_runs(machine: Machine) -> None:
    _write(machine)
    waiting = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
    async with machine.server() as server:
        # The kernel has started when the cell starts.
        await _call(server, "execute_code", code="1")
        await _call(server, "overwrite_cell_source", cell_id="c1", cell_source=waiting)
        await _call(server, "execute_cell", cell_id="c1", timeout=0.5)
        busy = _command(machine, "undo", NOTEBOOK)
        assert busy.status == 1 and "Cell c1 is running" in busy.complaints, busy
        # The others are not touched by the run.
        await _call(server, "overwrite_cell_source", cell_id="c0", cell_source="0")
        assert _command(machine, "undo", NOTEBOOK).status == 0
        (machine.root / "go").touch()
        await _call(server, "execute_code", code="1")
        assert _command(machine, "undo", NOTEBOOK).status == 0


async def test_calls_are_undone_in_the_order_in_which_they_arrived(machine: Machine) -> None:
    first = _write(machine)
    training = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('trained')"
    async with machine.server() as server:
        await _call(server, "overwrite_cell_source", cell_id="c0", cell_source=training)
        await _call(server, "execute_cell", cell_id="c0", timeout=0.5)
        await _call(server, "overwrite_cell_source", cell_id="c1", cell_source="precious = 1")
        (machine.root / "go").touch()
        await _call(server, "execute_code", code="1")
        undone = await _call(server, "undo")
        assert "overwrite_cell_source: changed #2" in undone, undone
        assert "trained" in _text(machine) and "precious" not in _text(machine)
        undone = await _call(server, "undo", last=2)
        assert "new outputs of #1" in undone and "overwrite_cell_source: changed #1" in undone, undone
        assert machine.file.read_bytes() == first


async def test_an_undo_waits_for_the_run_before_it(machine: Machine) -> None:
    first = _write(machine)
    async with machine.server() as server:
        await _call(server, "execute_code", code="1")
        new = {"cell_index": 1, "cell_source": "import time; time.sleep(0.5); print(9)"}
        insert = {"name": "insert_execute_code_cell", "arguments": {"notebook_name": NOTEBOOK, **new}}
        undo = {"name": "undo", "arguments": {"notebook_name": NOTEBOOK}}
        sent = [server.send("tools/call", call) for call in (insert, undo)]
        ran, undone = [str(await server.answer(number)) for number in sent]
        assert "9" in ran and "insert_execute_code_cell" in undone, (ran, undone)
        assert machine.file.read_bytes() == first
