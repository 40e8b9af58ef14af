"""What a new server says of its own accord: its first reply tells what earlier ones have left, also if that call only reads.

Servers have to be killed and started for that, and every tool is meant, so no cheaper test shows it."""

import asyncio
import json
import os
import shutil
import signal

import pytest

from e2e.support.kept_kernels import NOTEBOOK, Machine, start, create, kill, request
from e2e.support.notebook_client import run_id
from e2e.support.waiting import LONG, until
from e2e.support.wine import REQUEST_TO_END


async def left_run(machine: Machine) -> tuple[str, str]:
    """A cell and its run, which has ended after its server was killed."""
    opened, wait = machine.gate()
    async with machine.server() as server:
        await create(server)
        cell_id, run = await start(server, f"x = 41\n{wait}\nprint('late')")
        await kill(server)
    opened.touch()
    await until(lambda: machine.printed(cell_id) == "late\n", "the output is in the file")
    return cell_id, run


@pytest.mark.parametrize("tool", ["list_notebooks", "read_cell"])
async def test_a_first_call_that_only_reads_says_once_what_was_left(tool: str, machine: Machine) -> None:
    cell_id, run = await left_run(machine)
    given = {
        "list_notebooks": {},
        "read_cell": {"notebook_name": NOTEBOOK, "cell_id": cell_id},
    }
    ended = f"run {run} of cell {cell_id}"
    async with machine.server() as server:
        text = await server.call(tool, **given[tool])
        assert f"The kernel of {NOTEBOOK} from an earlier server is still running since 20" in text
        assert f"{ended} in {NOTEBOOK} completed." in text
        assert "[NOTICE]" not in await server.call(tool, **given[tool])
        opened = await server.call("use_notebook", notebook_path=NOTEBOOK)
        assert "from an earlier server" in opened and run not in opened
        assert "late" in await server.call("get_run", run_id=run, wait_seconds=LONG)
        assert "[41]" in await server.call("execute_code", code="[x]")


async def test_code_of_no_notebook_and_its_variables_outlive_the_server(machine: Machine) -> None:
    opened, wait = machine.gate()
    async with machine.server() as server:
        assert "own kernel" in await server.call("execute_code", code="x = 41")
        text = await server.call("execute_code", code=f"{wait}\nprint('late')", timeout=0.5)
        run = run_id(text)
        while "[QUEUED" in await server.call("get_run", run_id=run, wait_seconds=0.05):
            pass
        await kill(server)
    opened.touch()
    async with machine.server() as server:
        assert "for code without a notebook" in await server.call("list_notebooks")
        ended = await server.call("get_run", run_id=run, wait_seconds=LONG)
        assert "[COMPLETED" in ended and "late" in ended
        text = await server.call("execute_code", code="[x]")
        assert "[41]" in text and "from an earlier server" in text
        async with machine.server() as other:
            # It is in use.
            assert "NameError" in await other.call("execute_code", code="[x]")
            assert "from an earlier server" not in await other.call("execute_code", code="1")


async def test_cells_that_ran_on_a_kernel_of_another_notebook_are_stored_while_no_server_is_attached(
    machine: Machine,
) -> None:
    opened, wait = machine.gate()
    async with machine.server() as server:
        (machine.root / "other").mkdir()
        await server.call("use_notebook", notebook_path="other/first.ipynb", mode="create")
        await server.call("execute_code", code="x = 41")
        [kernel] = json.loads(machine.kernels_command("--json"))
        await server.call("use_notebook", notebook_path=NOTEBOOK, mode="create", kernel_id=kernel["id"])
        cell_id, _ = await start(server, f"{wait}\nprint(x)")
        await kill(server)
    opened.touch()
    await until(lambda: machine.printed(cell_id) == "41\n", "the output is in the file")
    machine.kernels_command("stop", "--all")


async def test_a_run_of_a_living_server_is_waited_for(machine: Machine) -> None:
    opened, wait = machine.gate()
    async with machine.server() as server:
        await create(server)
        _, run = await start(server, f"print('before', flush=True)\n{wait}\nprint('after')")
        async with machine.server() as other:
            running = await other.call("get_run", run_id=run)
            assert "still running" in running and "started by another server" in running
            running = await other.call("get_run", run_id=run, wait_seconds=0.5)
            assert "still running" in running
            opened.touch()
            ended = await other.call("get_run", run_id=run, wait_seconds=LONG)
            assert "The run completed" in ended and "before\nafter" in ended
            machine.kernels_command("stop", "--all")
            assert "Its kernel was stopped" in await other.call("get_run", run_id=run)


async def test_a_run_whose_kernel_was_still_being_chosen_is_reported_as_not_run(machine: Machine) -> None:
    # An interpreter that says nothing keeps the choice waiting.
    python = machine.root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (machine.root / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    python.write_text("#!/bin/sh\nexec sleep 1000\n")
    python.chmod(0o755)
    machine.file.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    async with machine.server() as server:
        cell_id, run = await request(server, "1")
        async with machine.server() as other:
            assert "waits for its turn" in await other.call("get_run", run_id=run)
        await kill(server)
    shutil.rmtree(machine.root / ".venv")
    async with machine.server() as server:
        assert f"run {run} of cell {cell_id} in {NOTEBOOK} did not run" in await server.call("list_notebooks")
        assert "stopped before its turn" in await server.call("get_run", run_id=run)
    async with machine.server() as server:
        assert run not in await server.call("list_notebooks")
    await until(lambda: not machine.servers, "the servers have ended")
    for folder in machine.folders:
        shutil.rmtree(folder)


async def test_a_run_whose_kernel_was_still_starting_is_left_for_the_next_server(machine: Machine) -> None:
    """If no server comes, the fixture has to remove what the server has left. The keeper of a kernel that never ran leaves nothing."""
    machine.home.install("silent", ["sleep", "1000"])
    kernelspec = {"name": "silent", "display_name": "Silent", "language": "silent"}
    content = {"cells": [], "metadata": {"kernelspec": kernelspec}, "nbformat": 4, "nbformat_minor": 5}
    machine.file.write_text(json.dumps(content))
    async with machine.server() as server:
        await request(server, "1")
        await until(lambda: machine.home.keeper_records, "a keeper starts the kernel")
        server.process.send_signal(REQUEST_TO_END)
        await server.ended()
    await until(lambda: not machine.keepers, "the keeper has ended")
    assert not machine.home.keeper_records
    assert len(machine.home.left_by_servers()) == 1


@pytest.mark.lasts(60)
async def test_a_keeper_that_hangs_ends_its_run_and_names_itself(machine: Machine) -> None:
    """That a run ends is shown in `kernel`; that tools and the next run go on takes a real keeper. One notebook goes on with another
    kernel; the other one waits until its keeper continues."""
    opened, wait = machine.gate()
    async with machine.server() as server, machine.server() as patient:
        await create(server)
        _, run = await start(server, machine.gate("never")[1])
        await patient.call("use_notebook", notebook_path="patient.ipynb", mode="create")
        await patient.call("insert_execute_code_cell", cell_index=-1, cell_source="x = 41")
        _, found = await start(patient, f"{wait}\nx", "patient.ipynb")
        keepers = machine.keepers
        for keeper in keepers:
            os.kill(keeper, signal.SIGSTOP)
        try:
            await server.call("interrupt_kernel")
            waiting = asyncio.create_task(patient.call("get_run", run_id=found, wait_seconds=60))
            ended = await server.call("get_run", run_id=run, wait_seconds=60)
            assert "[LOST" in ended and any(f"process {keeper}" in ended for keeper in keepers)
            again = await server.call("execute_code", code="'again'")
            assert "[COMPLETED" in again and "does not answer" in again
            assert "[LOST" in await waiting
            assert "unreachable" in await patient.call("list_kernels")
        finally:
            for keeper in keepers:
                os.kill(keeper, signal.SIGCONT)
        opened.touch()
        answer = await patient.call("insert_execute_code_cell", cell_index=-1, cell_source="x")
        assert "41" in answer and "gone" not in answer
        assert "[COMPLETED" in await patient.call("get_run", run_id=found, wait_seconds=LONG)
        read = await patient.call("read_notebook")
        assert "other kernel" not in read and "\n1\tcode\t2\t" in read
        machine.kernels_command("stop", "--all")


async def test_a_state_folder_that_was_loosened_is_named(machine: Machine) -> None:
    async with machine.server() as server:
        await create(server)
        await kill(server)
    [folder] = machine.folders
    folder.parent.chmod(0o755)
    try:
        said = f"The folder {folder.parent} is not used, because others can use it (mode 755)"
        assert said in machine.kernels_command()
        async with machine.server() as server:
            assert said in await server.call("list_notebooks")
            assert said in await server.call("use_notebook", notebook_path=NOTEBOOK)
            assert "cannot be kept" in await server.call("execute_code", code="1")
    finally:
        folder.parent.chmod(0o700)
    assert said not in machine.kernels_command()
    machine.kernels_command("stop", "--all")
