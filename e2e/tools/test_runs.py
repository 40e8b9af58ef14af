"""Runs on every place: what they answer and leave in their cells, and how they go on, wait and end."""

import base64
import re

import pytest

from e2e.support.notebook_client import gate, id_in, kernel_in, run_in
from e2e.support.notebook_files import PIXEL, SHOW_PIXEL, printed
from e2e.support.places import FOLDER, JSD, PLAIN, RTC, Can, at, each_kind_of_kernel, needs, same_everywhere
from e2e.support.waiting import until
from e2e.tools.conftest import OpenPlace

pytestmark = pytest.mark.asyncio(loop_scope="session")

CODE = {"cell_type": "code"}
FRESH_KERNELS = 5


async def test_outputs_are_answered_and_in_the_cell(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        first = await client.run("x = 6\nprint('größer', x)")
        assert "größer 6" in first.text and "[COMPLETED in" in first.text and client.stored_outputs in first.text
        [cell] = await client.cells()
        assert printed(cell) == "größer 6\n"

        both = await client.run(f"{SHOW_PIXEL}\nx * 7")
        assert "42" in both.text and "image/png" in both.text, "an image has a line of text beside it"
        assert [image["mimeType"] for image in both.images] == ["image/png"]
        assert base64.b64decode(both.images[0]["data"]) == base64.b64decode(PIXEL)
        counted = (await client.cells())[1]
        display, result = counted["outputs"]
        assert base64.b64decode(display["data"]["image/png"]) == base64.b64decode(PIXEL)
        assert result["output_type"] == "execute_result" and result["data"]["text/plain"] in ("42", ["42"])
        assert result["execution_count"] == counted["execution_count"] == cell["execution_count"] + 1
        assert len((await client.do("read_cell", cell_index=1)).images) == 1

        wrong = await client.fails("insert_execute_code_cell", cell_index=-1, cell_source="y = 0\nx / y")
        assert "Traceback" in wrong and "----> 2" in wrong and "ZeroDivisionError: division by zero" in wrong
        assert client.stored_outputs in wrong
        [error] = (await client.cells())[2]["outputs"]
        assert error["output_type"] == "error" and error["ename"] == "ZeroDivisionError"

        beside = await client.do("execute_code", code="print('beside'); x")
        assert "beside\n" in beside.text and "6" in beside.text
        assert len(await client.cells()) == 3, "code beside the cells leaves none"
        again = await client.do("run_cells", **{"from": "0", "through": "1"})
        assert "größer 6" in again.text and len(again.images) == 1
        first_count, second_count, last_count = [each["execution_count"] for each in await client.cells()]
        assert last_count < first_count < second_count

        if cleared := await client.attempt(Can.SET_OUTPUTS, "clear_cell_output", cell_index=0):
            assert "1 output(s) removed" in cleared.text and client.stored in cleared.text
            [cell, _, _] = await client.cells()
            assert cell["outputs"] == [] and cell["execution_count"] is None
            await client.stores("clear_cell_output", all=True)
            assert [each["outputs"] for each in await client.cells()] == [[], [], []]


@same_everywhere
async def test_a_cell_runs_in_the_call_that_edits_it(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        inserted = await client.stores("insert_cell", **CODE, cell_source="x = 1\nprint(x)", run=True)
        assert "Cell inserted" in inserted.text and "[COMPLETED in" in inserted.text
        assert printed((await client.cells())[0]) == "1\n"
        edited = await client.stores("edit_cell_source", cell_index=0, old_string="1", new_string="2", run=True)
        assert "edited successfully" in edited.text and "[COMPLETED in" in edited.text
        given = {"cell_index": 0, "cell_source": "x += 1\nprint(x)", "run": True}
        overwritten = await client.stores("overwrite_cell_source", **given)
        assert "\n3\n" in overwritten.text and printed((await client.cells())[0]) == "3\n"

        text = {"cell_type": "markdown", "cell_source": "# Text"}
        sources_of_code = ["print('before')", "1 / 0", "print('after')"]
        cells = [text, *({**CODE, "cell_source": source} for source in sources_of_code)]
        failed = await client.fails("insert_cell", cells=cells, run=True)
        assert "4 cell(s) inserted" in failed and "before" in failed and "ZeroDivisionError" in failed
        assert "2 of 3 cells run" in failed and "not run: from cell 4" in failed
        assert (await client.sources())[1:] == ["# Text", *sources_of_code]
        first, second, never = [each["execution_count"] for each in (await client.cells())[2:]]
        assert second == first + 1 and never is None


@same_everywhere
async def test_several_cells_run_until_an_error_or_through_it(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        sources = ["seen = 1", "1 / 0", "print('reached', seen)"]
        cells = [
            {"cell_type": "markdown", "cell_source": "# Text"},
            *({**CODE, "cell_source": each} for each in sources),
        ]
        await client.do("insert_cell", cells=cells)
        stopped = await client.fails("run_cells", all=True)
        assert "ZeroDivisionError" in stopped and "reached 1" not in stopped and "2 of 3 cells" in stopped
        assert (await client.cells())[3]["execution_count"] is None
        went_on = await client.fails("run_cells", all=True, on_error="continue")
        assert "ZeroDivisionError" in went_on and "reached 1" in went_on
        last = await client.do("run_cells", **{"from": "3"})
        assert "reached 1" in last.text
        assert printed((await client.cells())[3]) == "reached 1\n"


@each_kind_of_kernel
async def test_a_run_continues_after_its_timeout_and_without_its_agent(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        door, wait = gate(client)
        cell = await client.insert(f"print('early')\n{wait}\nprint('late')")
        started = await client.do("execute_cell", cell_id=cell, timeout=0.3)
        run = run_in(started)
        assert f'It continues: get_run(run_id="{run}"' in started.text.splitlines()[-1]
        await client.until_started(run)
        assert "[STILL RUNNING" in (await client.do("get_run", run_id=run)).text
    door.touch()
    async with opened.notebook(emptied=False) as client:
        ended = await client.wait(run)
        assert "early\nlate\n" in ended.text and "[COMPLETED in" in ended.text and client.stored_outputs in ended.text
        assert printed((await client.cells())[0]) == "early\nlate\n"
        assert run in (await client.do("get_run")).text, "without an id: the latest runs"


@same_everywhere
async def test_runs_are_queued_in_order(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        door, first = await client.begin_at_gate("order = []")
        # An error in one must not end the others.
        second = run_in(await client.run("order.append(2)\n1 / 0", timeout=0.1))
        third = await client.run("order.append(3)", timeout=0.1)
        assert "QUEUED" in third.text
        taken_back = run_in(await client.run("order.append(4)", timeout=0.1))
        await client.do("interrupt_kernel", run_id=taken_back)
        door.touch()
        assert "[COMPLETED in" in (await client.wait(first)).text
        assert "[ERROR ZeroDivisionError" in (await client.ended(second)).text
        assert "[COMPLETED in" in (await client.wait(run_in(third))).text
        assert "The run was cancelled before it started." in (await client.wait(taken_back)).text
        assert "[2, 3]" in (await client.do("execute_code", code="order")).text


@same_everywhere
async def test_a_run_writes_into_its_cell_after_a_move(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        door, wait = gate(client)
        answer = await client.run(f"{wait}\nprint('from the run')", timeout=0.1)
        await client.insert("before it", "markdown", cell_index=0)
        await client.do("edit_cell_source", cell_id=id_in(answer), old_string="print", new_string="print  ")
        door.touch()
        await client.wait(run_in(answer))
        text, cell = await client.cells()
        assert text["cell_type"] == "markdown" and printed(cell) == "from the run\n"


@each_kind_of_kernel
async def test_a_run_is_interrupted_and_variables_stay(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        door, run = await client.begin_at_gate("kept = 'kept'")
        interrupted = await client.attempt(Can.INTERRUPT, "interrupt_kernel")
        if not interrupted:
            door.touch()
            assert "[COMPLETED in" in (await client.wait(run)).text
        else:
            assert "it has ended" in interrupted.text
            ended = await client.do("get_run", run_id=run)
            assert "[INTERRUPTED" in ended.text and "KeyboardInterrupt" in ended.text
        assert "'kept'" in (await client.do("execute_code", code="kept")).text


@each_kind_of_kernel
async def test_a_restart_clears_variables_and_ends_runs(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        door, run = await client.begin_at_gate("kept = 1\nprint('before', flush=True)")
        if Can.RESTART in client.lacks:
            queued = run_in(await client.run("print('runs')", timeout=0.1))
            await client.attempt(Can.RESTART, "restart_notebook")
            door.touch()
            assert "before\n[COMPLETED in" in (await client.wait(run)).text, "nothing was restarted"
            assert "runs\n[COMPLETED in" in (await client.wait(queued)).text
            assert "1" in (await client.do("execute_code", code="kept")).text
            return
        await client.until_printed(run, "before")
        queued = run_in(await client.run("print('never runs')", timeout=0.1))
        kernel = kernel_in(await client.open())
        assert "answers" in (await client.do("restart_notebook")).text
        assert kernel_in(await client.open()) == kernel, "others may be connected to it"
        assert "NameError" in await client.fails("execute_code", code="kept")
        ended = await client.wait(run)
        assert "before" in ended.text and "[INTERRUPTED" in ended.text
        assert "[SKIPPED]" in (await client.wait(queued)).text
        before, never = await client.cells()
        assert printed(before) == "before\n" and never["outputs"] == [], "outputs stay"


@each_kind_of_kernel
async def test_a_kernel_is_chosen(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        await client.do("execute_code", code="mine = 1")
        given = {"notebook_path": client.path, "kernel_id": "NEW"}
        if await client.attempt(Can.CHOOSE_KERNELS, "use_notebook", **given):
            assert "NameError" in await client.fails("execute_code", code="mine")
        else:
            assert "1" in (await client.do("execute_code", code="mine")).text


@at(FOLDER, RTC, JSD)
async def test_the_first_output_of_a_fresh_kernel_arrives(opened: OpenPlace) -> None:
    """A client that starts to listen after the kernel has started can miss it."""
    async with opened.notebook() as client:
        for turn in range(FRESH_KERNELS):
            await client.open(kernel_id="NEW")
            assert f"first {turn}" in (await client.do("execute_code", code=f"print('first {turn}')")).text


@needs(Can.SHOW_OUTPUTS_DURING_RUNS)
async def test_streams_keep_their_order_and_displays_are_updated(opened: OpenPlace) -> None:
    code = """
import sys
from IPython.display import display
shown = display('first', display_id=True)
print('out', flush=True)
print('err', file=sys.stderr, flush=True)
shown.update('second')
print('last')
"""
    async with opened.notebook() as client:
        ran = await client.run(code)
        cell = client.cell(id_in(ran))
        assert printed(cell) == "out\nlast\n" and printed(cell, "stderr") == "err\n"
        [shown] = [each for each in cell["outputs"] if each["output_type"] == "display_data"]
        assert "second" in "".join(shown["data"]["text/plain"])


@needs(Can.SHOW_OUTPUTS_DURING_RUNS)
async def test_outputs_reach_the_file_during_the_run(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        door, wait = gate(client)
        # jupyter-collaboration saves a second after the last change, but not a change that arrives while it saves.
        pause = 0.2 if opened.place in (FOLDER, PLAIN) else 3
        wait = wait.replace("time.sleep(0.01)", f"print('.', end='', flush=True); time.sleep({pause})")
        run = await client.start(f"print('early', flush=True)\n{wait}\nprint('late')")

        def so_far() -> str:
            return "".join(printed(cell) for cell in client.notebook()["cells"])

        await until(lambda: so_far().startswith("early\n"), "the file has the first line")
        door.touch()
        ended = await client.wait(run)
        assert "late" in ended.text and client.stored_outputs in ended.text
        assert re.fullmatch(r"early\n\.+late\n", so_far())
