"""Kernels that outlive the server that started them: the next server finds the variables, the runs and their outputs."""

import asyncio
import json
import os
import signal

import pytest

from e2e.support.changes import line_of_changes
from e2e.support.kept_kernels import NOTEBOOK, Machine, start, create, kill, request, until_printed
from e2e.support.notebook_client import run_id
from e2e.support.notebook_files import cell, printed, read_valid
from e2e.support.processes import kernels
from e2e.support.stdio_client import StdioClient
from e2e.support.waiting import LONG, until


async def test_a_killed_server_loses_neither_variables_nor_outputs(machine: Machine) -> None:
    opened, wait = machine.gate()
    async with machine.server() as server:
        await create(server)
        await server.call("execute_code", code="x = 41")
        cell_id, run = await start(server, f"print('before', flush=True)\n{wait}\nprint('after')\nx + 1")
        await until_printed(machine, server, cell_id, run, "before")
        [kernel], [_] = kernels(machine.mark), machine.keepers
        await kill(server)
    opened.touch()
    async with machine.server() as server:
        text = await server.call("use_notebook", notebook_path=NOTEBOOK)
        assert "from an earlier server" in text and f"run {run} of cell {cell_id}" in text
        ended = await server.call("get_run", run_id=run, wait_seconds=LONG)
        assert "[COMPLETED" in ended and "before\nafter" in ended and "42" in ended
        assert machine.printed(cell_id) == "before\nafter\n"
        [*_, result] = cell(read_valid(machine.file), cell_id)["outputs"]
        assert "".join(result["data"]["text/plain"]) == "42"
        assert "[1, 41]" in await server.call("execute_code", code="[1, x]")
        assert kernels(machine.mark) == [kernel]
        # It is reported once.
        assert run not in await server.call("use_notebook", notebook_path=NOTEBOOK)


async def test_what_is_stale_survives_the_server(machine: Machine) -> None:
    """The kernel's file of runs, the keeper's log and the kernel's process belong together: only all of them show it."""
    opened, wait = machine.gate()
    async with machine.server() as server:
        await create(server)
        for source in ("x = 1", "y = x + 1"):
            await server.call("insert_execute_code_cell", cell_index=-1, cell_source=source)
        _, run = await start(server, f"{wait}\nprint(y)")
        await kill(server)
    opened.touch()
    async with machine.server() as server:
        await server.call("use_notebook", notebook_path=NOTEBOOK)
        # It ended while no server ran.
        assert "[COMPLETED" in await server.call("get_run", run_id=run, wait_seconds=LONG)
        assert "No code cell there is stale" in await server.call("run_cells", stale=True)
        await server.call("overwrite_cell_source", cell_index=1, cell_source="y = x + 2")
    async with machine.server() as server:
        # Models may name the notebook in each call instead of opening it.
        planned = await server.call("run_cells", notebook_name=NOTEBOOK, stale=True, preview=True)
        assert "run: 1 (edited), 2 (input changed)" in planned, planned
        await server.call("use_notebook", notebook_path=NOTEBOOK)
        planned = await server.call("run_cells", stale=True, preview=True)
        assert "run: 1 (edited), 2 (input changed)" in planned, planned
        [kernel] = kernels(machine.mark)
        os.kill(kernel, signal.SIGKILL)
        await until(lambda: kernel not in kernels(machine.mark), "the kernel is gone")
        # It depends on whether the death is known before the request.
        reply = await server.call("execute_cell", cell_index=0)
        assert "variables are gone" in reply or "variables are lost" in reply, reply
        assert "other kernel" in await server.call("read_notebook")


async def test_the_next_server_answers_input(machine: Machine) -> None:
    async with machine.server() as server:
        await create(server)
        cell_id, run = await start(server, "name = input('Who? ')\nprint('hello', name)")
        async with asyncio.timeout(LONG):
            while "WAITING FOR INPUT" not in await server.call("get_run", run_id=run, wait_seconds=1):
                pass
        await kill(server)
    async with machine.server() as server:
        assert "waits for input" in await server.call("use_notebook", notebook_path=NOTEBOOK)
        await server.call("answer_input", run_id=run, value="Ada")
        assert "hello Ada" in await server.call("get_run", run_id=run, wait_seconds=LONG)
        await until(lambda: "hello Ada" in machine.printed(cell_id), "the output is in the file")


async def test_a_flood_while_nobody_is_attached_arrives_whole(machine: Machine) -> None:
    opened, wait = machine.gate()
    flood = "for n in range(50_000): print('line', n)\nfor n in range(2_000): display({'text/plain': str(n)}, raw=True)"
    async with machine.server() as server:
        await create(server)
        cell_id, run = await start(server, f"{wait}\n{flood}\npathlib.Path('ended').touch()")
        await kill(server)
    opened.touch()
    await until((machine.root / "ended").exists, "the run has ended")
    async with machine.server() as server:
        await server.call("use_notebook", notebook_path=NOTEBOOK)
        assert "[COMPLETED" in await server.call("get_run", run_id=run, wait_seconds=LONG)
        ran = cell(read_valid(machine.file), cell_id)
        shown = ["".join(each["data"]["text/plain"]) for each in ran["outputs"] if each["output_type"] == "display_data"]
        is_whole = printed(ran) == "".join(f"line {n}\n" for n in range(50_000)) and shown == [str(n) for n in range(2_000)]
        # A kernel drops what nobody takes in time, which a busy machine can bring about; never without a word.
        assert is_whole != ("Messages of the kernel are missing" in printed(ran, "stderr"))


@pytest.mark.parametrize("victim", ["kernel", "keeper"])
async def test_a_death_while_nobody_is_attached_is_reported_with_what_was_printed(
    victim: str, machine: Machine
) -> None:
    async with machine.server() as server:
        await create(server)
        cell_id, run = await start(server, f"print('before', flush=True)\n{machine.gate()[1]}")
        await until_printed(machine, server, cell_id, run, "before")
        await kill(server)
    [process] = kernels(machine.mark) if victim == "kernel" else machine.keepers
    os.kill(process, signal.SIGKILL)
    await until(lambda: not kernels(machine.mark), "the kernel is gone")
    async with machine.server() as server:
        assert "the kernel died" in await server.call("use_notebook", notebook_path=NOTEBOOK)
        ended = await server.call("get_run", run_id=run, wait_seconds=LONG)
        assert "[KERNEL DIED" in ended and "before" in ended
        assert machine.printed(cell_id) == "before\n"
        again = await server.call("execute_code", code="'again'")
        if "the next run starts a new kernel" in again:
            # This run was the first to see the death.
            again = await server.call("execute_code", code="'again'")
        assert "again" in again and "[COMPLETED" in again
    await until(lambda: len(machine.folders) == 1, "what the dead one left is removed")


async def test_a_cell_that_was_changed_keeps_what_a_person_wrote(machine: Machine) -> None:
    opened, wait = machine.gate()
    async with machine.server() as server:
        await create(server)
        cell_id, run = await start(server, f"{wait}\nprint('late')")
        await kill(server)
    text = machine.file.read_text().replace("print('late')", "print('mine')")
    machine.file.write_text(text)
    opened.touch()
    async with machine.server() as server:
        await server.call("use_notebook", notebook_path=NOTEBOOK)
        ended = await server.call("get_run", run_id=run, wait_seconds=LONG)
        assert "late" in ended and "These outputs are not in the notebook" in ended
        assert machine.printed(cell_id) == ""


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "asked to end"])
async def test_cells_that_were_queued_are_reported_as_not_run(is_killed: bool, machine: Machine) -> None:
    started = machine.root / "started"
    async with machine.server() as server:
        await create(server)
        wait = machine.gate()[1].replace("while", f"open({started.name!r}, 'x').close()\nwhile")
        sources = [wait, "print(2)", "print(3)"]
        cells = [{"cell_type": "code", "cell_source": source} for source in sources]
        await server.call("insert_cell", notebook_name=NOTEBOOK, cells=cells)
        await server.call("run_cells", notebook_name=NOTEBOOK, all=True, timeout=0.1)
        await until(started.exists, "the first cell runs")
        if is_killed:
            await kill(server)
        else:
            server.end_input()
            await server.ended()
    async with machine.server() as server:
        text = await server.call("use_notebook", notebook_path=NOTEBOOK)
        assert "is still running" in text and text.count("did not run") == 2
        await server.call("interrupt_kernel")


async def test_runs_are_found_by_their_id_before_their_notebook_is_opened_and_while_their_server_runs(
    machine: Machine,
) -> None:
    opened, wait = machine.gate()
    async with machine.server() as server:
        await create(server)
        cell_id, run = await start(server, f"print('early', flush=True)\n{wait}\nprint('late')")
        await until_printed(machine, server, cell_id, run, "early")
        async with machine.server() as other:
            text = await other.call("get_run", run_id=run)
            assert "was started by another server" in text and "early" in text
        await kill(server)
    async with machine.server() as server:
        assert "STILL RUNNING" in await server.call("get_run", run_id=run)
        opened.touch()
        assert "late" in await server.call("get_run", run_id=run, wait_seconds=LONG)
        assert machine.printed(cell_id) == "early\nlate\n"


async def request_silent(machine: Machine, server: StdioClient) -> tuple[str, str]:
    """A run of a kernel that never says that it has started: the ids of the cell and the run."""
    machine.home.install("silent", ["sleep", "1000"])
    await server.call("use_notebook", notebook_path=NOTEBOOK, mode="create", kernel_name="silent")
    cell_id, run = await request(server, "1")
    await until(lambda: run in machine.logged() and machine.keepers, "the run waits for its kernel")
    return cell_id, run


@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM"])
async def test_a_run_whose_kernel_was_still_starting_is_reported_as_not_run(end: str, machine: Machine) -> None:
    async with machine.server() as server:
        cell_id, run = await request_silent(machine, server)
        os.killpg(server.process.pid, signal.Signals[end])
        await server.ended()
    await until(lambda: not machine.keepers, "the kernel is no longer wanted")
    async with machine.server() as server:
        text = await server.call("use_notebook", notebook_path=NOTEBOOK, kernel_name="silent")
        assert f"run {run} of cell {cell_id} in {NOTEBOOK} did not run" in text
        await until(lambda: not machine.folders and not machine.home.waiting_logs, "what the keeper left is removed")


async def test_a_run_that_is_cancelled_while_its_kernel_starts_leaves_nothing(machine: Machine) -> None:
    async with machine.server() as server:
        _, run = await request_silent(machine, server)
        await server.call("interrupt_kernel", run_id=run)
        assert "Its kernel" in await server.call("unuse_notebook")
        await until(lambda: not machine.keepers and not machine.folders, "the keeper has ended")
        assert not machine.home.waiting_logs


async def test_a_kernel_that_starts_can_be_stopped_at_the_command_line(machine: Machine) -> None:
    async with machine.server() as server:
        _, run = await request_silent(machine, server)
        [kernel] = json.loads(machine.kernels_command("--json"))
        assert kernel["state"] == "starting"
        assert "stopped" in machine.kernels_command("stop", "--all")
        assert "was stopped while it was starting" in await server.call("get_run", run_id=run, wait_seconds=LONG)
        await until(lambda: not machine.folders and not machine.home.waiting_logs, "nothing is left to tell")


async def test_what_another_server_has_changed_is_left_out(machine: Machine) -> None:
    async with machine.server() as one, machine.server() as other:
        await create(one)
        await other.call("use_notebook", notebook_path=NOTEBOOK)

        async def after_the_other(name: str) -> str:
            await other.call("execute_code", code=f"theirs_{name} = 1")
            return await one.call("execute_code", code=f"{name} = [1]")

        assert await line_of_changes(after_the_other) == "new: NAME (list 1)"
        assert await line_of_changes(lambda name: other.call("execute_code", code=f"{name} = 1")) == "new: NAME (int)"
