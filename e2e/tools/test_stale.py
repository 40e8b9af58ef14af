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
