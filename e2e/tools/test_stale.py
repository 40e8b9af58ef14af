"""Which cells are stale on every place, and whether a notebook reruns there from a fresh kernel. The rules have tests of their
own; here a place must give back the source that ran and the count of its kernel's run, for otherwise each cell would seem
edited or run elsewhere, and start and end a kernel beside the notebook's. No stand-in tells either."""

import pytest

from e2e.support.notebook_client import NotebookClient
from e2e.support.notebook_files import printed
from e2e.support.places import COLAB, FOLDER, INSIDE, RTC, Can, at, each_kind_of_kernel
from e2e.tools.conftest import OpenPlace

pytestmark = pytest.mark.asyncio(loop_scope="session")

SOURCES = ["first = 1", "# Text", "second = first * 2", "print(second)", "print('apart')"]


async def _filled(client: NotebookClient) -> None:
    """Gives the notebook these cells, and runs them."""
    kinds = ["markdown" if source.startswith("#") else "code" for source in SOURCES]
    cells = [{"cell_type": kind, "cell_source": source} for kind, source in zip(kinds, SOURCES, strict=True)]
    await client.do("insert_cell", cells=cells, run=True)


async def _states(client: NotebookClient, **given: str) -> dict[str, str]:
    """The states of the cells that `read_notebook` shows, by their sources; empty for those that are up to date."""
    lines = (await client.do("read_notebook", **given)).text.splitlines()
    rows = [line.split("\t") for line in lines if "\t" in line and not line.startswith("Index\t")]
    return {row[5]: row[6] if len(row) > 6 else "" for row in rows}


@each_kind_of_kernel
async def test_stale_cells_are_found_and_run(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        await _filled(client)
        assert await _states(client) == dict.fromkeys(SOURCES, "")
        assert await _states(client, only="stale") == {}

        await client.stores("overwrite_cell_source", cell_index=0, cell_source="first = 21")
        expected = {"first = 21": "edited", SOURCES[2]: "input changed", SOURCES[3]: "input changed"}
        assert await _states(client, only="stale") == expected
        read = await client.do("read_cell", cell_index=2)
        assert "[state] input changed: uses first: cell 0 defines it and was edited after its run " in read.text

        before = (await client.cells())[4]
        ran = await client.do("run_cells", stale=True)
        assert "Cells to run: 0 (edited), 2–3 (input changed)." in ran.text
        assert "42" in ran.text and "apart" not in ran.text and "[3 cells run in" in ran.text
        cells = await client.cells()
        assert printed(cells[3]) == "42\n" and cells[4] == before
        assert await _states(client, only="stale") == {}
        assert "nothing was run" in (await client.do("run_cells", stale=True)).text
        edit = {"cell_index": 0, "old_string": "21", "new_string": "4"}
        edited = (await client.do("edit_cells", edits=[edit], run_stale=True)).text
        assert "-first = 21" in edited and "\n8\n" in edited and "[3 cells run in" in edited, edited


@at(FOLDER, RTC, INSIDE, COLAB)
async def test_after_a_restart_all_outputs_are_stale(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        await _filled(client)
        if not await client.attempt(Can.RESTART, "restart_notebook"):
            assert await _states(client, only="stale") == {}
            return
        code = [source for source in SOURCES if not source.startswith("#")]
        assert await _states(client, only="stale") == dict.fromkeys(code, "other kernel")
        assert "NameError" in await client.fails("execute_cell", cell_index=3)
        assert (await _states(client))[SOURCES[3]] == "out of order"
        ran = await client.do("run_cells", stale=True, **{"from": "3", "through": "3"})
        assert "[3 cells run in" in ran.text and printed((await client.cells())[3]) == "2\n"
        assert await _states(client, only="stale") == {SOURCES[4]: "other kernel"}


@at(RTC, INSIDE, COLAB)
async def test_a_notebook_is_verified_beside_its_kernel(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        sources = ["kept = 41", "print(kept + 1)"]
        await client.do(
            "insert_cell", cells=[{"cell_type": "code", "cell_source": source} for source in sources], run=True
        )
        await client.do("execute_code", code="kept = 1")
        before = await client.cells()
        verified = await client.attempt(Can.START_FRESH_KERNELS, "verify_notebook", confirm=True)
        if not verified:
            return
        assert "Reruns from a fresh kernel: 2 of 2 cells identical; 0 errors;" in verified.text
        # The notebook's kernel and cells are as they were.
        assert await client.cells() == before
        assert "\n1" in (await client.do("execute_code", code="print(); kept")).text
        await client.stores("overwrite_cell_source", cell_index=0, cell_source="kept = 10")
        verified = await client.do("verify_notebook", confirm=True, apply=True)
        assert "1 stale or from another environment (#1)" in verified.text and "-42\n+11" in verified.text
        assert "\n11" in (await client.do("read_cell", cell_index=1)).text
        await client.do("undo")
        assert "\n42" in (await client.do("read_cell", cell_index=1)).text


async def _insert(client: NotebookClient, *sources: str, run: bool = True) -> None:
    await client.do("insert_cell", cells=[{"cell_type": "code", "cell_source": source} for source in sources], run=run)


@at(FOLDER)
async def test_code_in_the_kernel_counts_for_the_cells_of_its_notebook(opened: OpenPlace) -> None:
    """Only a call with the id of a kernel shows that it is found to be the notebook's."""
    async with opened.notebook() as client:
        await _insert(client, "x = 1", "x + 1")
        kernels = (await client.do("list_kernels")).text.splitlines()
        [kernel] = [line.split("\t")[0] for line in kernels if "\tpython3\t" in line and "\tidle\t" in line]
        await client.do("execute_code", code="x = 9", kernel_id=kernel)
        ran = await client.do("execute_cell", cell_index=1)
        assert "10" in ran.text
        assert "[stale now: 1; run_cells(stale=true" in ran.text
        assert await _states(client, only="stale") == {"x + 1": "out of order"}


@at(FOLDER)
async def test_cells_that_stopped_or_killed_their_kernel_are_not_run_again(opened: OpenPlace) -> None:
    """A kernel that dies at once may not have said its number, which no stand-in does at the same moment."""
    killing, endless = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "while True: pass"
    async with opened.notebook() as client:
        await _insert(client, "x = 1", killing, endless, run=False)
        await client.fails("execute_cell", cell_index=1)
        # The next kernel has started when the time of the cell begins.
        await client.do("execute_code", code="1")
        await client.fails("execute_cell", cell_index=2, timeout=1, interrupt_on_timeout=True)
        states = await _states(client)
        assert states[killing.splitlines()[0] + " …+1"] == states[endless] == "interrupted"
        ran = await client.do("run_cells", stale=True)
        assert "Cells to run: 0 (never run). Not run: 1 (its kernel died while it ran" in ran.text
        assert "2 (it did not run to its end" in ran.text
        assert "[1 cells run in" in ran.text


@at(FOLDER)
async def test_users_of_an_edited_module_are_named_and_run_after_a_reload(opened: OpenPlace) -> None:
    """Python itself keeps the module that it has loaded."""
    async with opened.notebook() as client:
        module = opened.folder / "shared_helpers.py"
        module.write_text("def f(): return 20\n")
        await _insert(client, "import shared_helpers", "shared_helpers.f() + 1", "'apart'")
        module.write_text("def f(): return 40 + 1\n")
        user = "shared_helpers.f() + 1"
        assert await _states(client, only="stale") == {user: "input changed"}
        ran = (await client.do("run_cells", stale=True)).text
        assert "Nothing was run. Not run: 1 (uses shared_helpers: shared_helpers.py was edited" in ran
        await client.do("execute_code", code="import importlib; importlib.reload(shared_helpers)")
        ran = (await client.do("run_cells", stale=True)).text
        assert "42" in ran
        assert "[1 cells run in" in ran
        assert await _states(client, only="stale") == {}


@at(FOLDER)
async def test_a_merge_says_how_its_outputs_come_back(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        await _insert(client, "x = 20", "x + 1")
        merged = await client.do("change_cell", cell_index=0, merge_with_next=True)
        assert "without outputs: execute_cell shows them again!" in merged.text
        assert "21" in (await client.do("execute_cell", cell_index=0)).text
