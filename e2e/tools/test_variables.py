"""What is in memory, asked for on every place. A real kernel behind each kind of server: a handler of ours has to reach its
control channel through that server."""

import pytest

from e2e.support.places import Can
from e2e.tools.conftest import OpenPlace

pytestmark = pytest.mark.asyncio(loop_scope="module")

DEFINE = """import json
class Odd:
    def __repr__(self):
        raise SystemExit
    __len__ = __bool__ = __repr__
numbers = list(range(1000)); text = 'größer'; odd = Odd(); api_token = 'hush'
def area(width, height=2):
    return width * height"""


async def test_variables_are_listed_and_inspected(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        await client.run(DEFINE)
        count = (await client.cells())[0]["execution_count"]
        listed = await client.attempt(Can.ASK_MEMORY, "list_variables")
        if not listed:
            return
        rows = [line.split("\t") for line in listed.text.splitlines()]
        assert ["numbers", "list", "1000", "[0, 1, 2, 3, 4, 5, …]"] in rows
        assert ["text", "str", "6", "'größer'"] in rows
        assert ["odd", "Odd", "", ""] in rows
        assert "hush" not in listed.text
        assert "function: area" in listed.text and "module: json" in listed.text
        assert "area\tfunction" in (await client.do("list_variables", kinds="function", pattern="are*")).text
        assert "signature: (width, height=2)" in (await client.do("inspect_variable", name="area")).text
        assert (await client.do("inspect_variable", name="numbers[3]")).text == "numbers[3]: int 3"
        assert "no variable 'missing'" in await client.fails("inspect_variable", name="missing")
        # Nothing of it is a cell, or counts.
        await client.run("after = 1")
        assert [cell["execution_count"] for cell in await client.cells()] == [count, count + 1]


async def test_variables_are_listed_while_a_cell_runs(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        await client.run("x = 6")
        if not await client.attempt(Can.ASK_MEMORY, "list_variables", pattern="x"):
            return
        door, run = await client.begin_at_gate("begun = 'yes'")
        assert "begun\tstr\t3\t'yes'" in (await client.do("list_variables", pattern="begun")).text
        assert "begun: str 3" in (await client.do("inspect_variable", name="begun")).text
        assert "[STILL RUNNING" in (await client.do("get_run", run_id=run, wait_seconds=0)).text
        door.touch()
        assert "[COMPLETED" in (await client.do("get_run", run_id=run, wait_seconds=20)).text
