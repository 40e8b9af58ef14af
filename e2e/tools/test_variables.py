"""What is in memory, asked for on every place. A real kernel behind each kind of server: a handler of ours has to reach its
control channel through that server."""

import pytest

from e2e.support.changes import line_of_changes
from e2e.support.notebook_client import run_in
from e2e.support.places import Can, each_kind_of_kernel, same_everywhere
from e2e.tools.conftest import OpenPlace

pytestmark = pytest.mark.asyncio(loop_scope="session")

DEFINE = """import json
class Odd:
    def __repr__(self):
        raise SystemExit
    __len__ = __bool__ = __repr__
numbers = list(range(1000)); text = 'größer'; odd = Odd(); api_token = 'hush'
def area(width, height=2):
    return width * height"""


@each_kind_of_kernel
async def test_variables_are_listed_and_inspected(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        await client.run(DEFINE)
        count = (await client.cells())[0]["execution_count"]
        listed = await client.attempt(Can.ASK_MEMORY, "list_variables")
        if not listed:
            return
        rows = [line.split("\t") for line in listed.text.splitlines()]
        assert ["numbers", "list", "1000", "[0, 1, 2, 3, 4, 5, …]", "cell 0"] in rows
        assert ["text", "str", "6", "'größer'", "cell 0"] in rows
        assert ["odd", "Odd", "", "", "cell 0"] in rows
        assert "hush" not in listed.text
        assert "function: area" in listed.text and "module: json" in listed.text
        assert "area\tfunction" in (await client.do("list_variables", kinds="function", pattern="are*")).text
        assert "signature: (width, height=2)" in (await client.do("inspect_variable", name="area")).text
        assert (await client.do("inspect_variable", name="numbers[3]")).text == "```\nnumbers[3]: int 3\n```"
        assert "no variable 'missing'" in await client.fails("inspect_variable", name="missing")
        # Nothing of it is a cell, or counts.
        await client.run("after = 1")
        assert [cell["execution_count"] for cell in await client.cells()] == [count, count + 1]


@each_kind_of_kernel
async def test_variables_are_listed_while_a_cell_runs(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        await client.run("x = 6")
        if not await client.attempt(Can.ASK_MEMORY, "list_variables", pattern="x"):
            return
        door, run = await client.begin_at_gate("started = 'yes'")
        assert "started\tstr\t3\t'yes'" in (await client.do("list_variables", pattern="started")).text
        assert "started: str 3" in (await client.do("inspect_variable", name="started")).text
        assert "[STILL RUNNING" in (await client.do("get_run", run_id=run, wait_seconds=0)).text
        door.touch()
        assert "[COMPLETED" in (await client.wait(run)).text


@same_everywhere
async def test_the_cell_that_last_assigned_a_variable_is_named(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        if Can.ASK_MEMORY in client.lacks:
            return
        for source in ("of_first = 1; of_second = 1", "of_second = 2; del of_first; beside = 1"):
            await client.run(source)
        await client.do("execute_code", code="beside = 2")
        await client.insert("# Text", "markdown", cell_index=0)
        listed = (await client.do("list_variables", pattern="of_second")).text
        assert listed.endswith("of_second\tint\t\t2\tcell 2"), listed
        listed = (await client.do("list_variables", pattern="beside")).text
        assert listed.endswith("beside\tint\t\t2\t"), "not of a cell"


@same_everywhere
async def test_a_run_says_what_it_has_changed(opened: OpenPlace) -> None:
    async with opened.notebook() as client:

        async def cell(source: str) -> str:
            return (await client.call("insert_execute_code_cell", cell_index=-1, cell_source=source)).text

        async def code(source: str) -> str:
            return (await client.call("execute_code", code=source)).text

        if Can.ASK_MEMORY in client.lacks:
            assert "new: " not in await cell("quiet = 1")
            return
        await code("kept = [0]")
        assert await line_of_changes(lambda name: cell(f"{name} = [1]")) == "new: NAME (list 1)"
        assert await line_of_changes(lambda name: cell(f"import json as {name}\nkept.append(1)")) == "new: NAME (module); changed: kept"
        assert await line_of_changes(lambda name: cell(f"{name} = 1.5\n1 / 0")) == "new: NAME (float)", "of a run that fails, too"
        assert "changed: " not in await cell("print(kept[0])"), "nothing has changed"

        async def removing(name: str) -> str:
            await code(f"{name} = 1")
            return await code(f"del {name}")

        assert await line_of_changes(removing) == "gone: NAME"

        async def series(name: str) -> str:
            sources = [f"{name} = 1; {name}_first = 1", f"del {name}_first", f"{name} = 'two'"]
            given = [{"cell_type": "code", "cell_source": source} for source in sources]
            await client.do("insert_cell", cells=given)
            count = len(await client.cells())
            return (await client.do("run_cells", **{"from": str(count - 3)})).text

        # The type is that of the run that made it.
        assert await line_of_changes(series) == "new: NAME (int)"

        async def later(name: str) -> str:
            run = run_in(await client.do("execute_code", code=f"{name} = 1"))
            return (await client.do("get_run", run_id=run)).text

        assert await line_of_changes(later) == "new: NAME (int)"
