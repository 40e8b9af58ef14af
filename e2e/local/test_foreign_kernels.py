"""Kernels that other programs have started: listed, joined by id, and never ended.

What cheaper tests cannot show is how a real ipykernel takes two programs at once: its signals, its threads, its end."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from e2e.support.foreign_kernel import ForeignKernel, foreign_kernel
from e2e.support.kept_kernels import NOTEBOOK, Machine, start, create, kill, until_printed
from e2e.support.program import program
from e2e.support.stdio_client import StdioClient
from e2e.support.waiting import LONG


@pytest.fixture
def kernel(machine: Machine) -> Iterator[ForeignKernel]:
    with foreign_kernel(machine.home, "theirs-4711") as kernel:
        yield kernel


async def join(server: StdioClient, kernel: ForeignKernel, mode: str = "create") -> str:
    return await server.call("use_notebook", notebook_path=NOTEBOOK, mode=mode, kernel_id=kernel.id)


async def wait_in(machine: Machine, server: StdioClient) -> str:
    """A cell that waits; the id of its run."""
    cell_id, run = await start(server, f"print('started', flush=True)\n{machine.gate()[1]}")
    await until_printed(machine, server, cell_id, run, "started")
    return run


async def test_it_is_listed_joined_shared_and_survives_every_end_of_ours(
    machine: Machine, kernel: ForeignKernel
) -> None:
    # That a real kernel answers both programs, and goes on after each way in which ours ends.
    kernel.run("theirs = 41")
    async with machine.server() as server:
        listed = await server.call("list_kernels")
        assert f"{kernel.id}: started by another program" in listed and "python" in listed
        opened = await join(server, kernel)
        assert "belongs to another program" in opened and f"Kernel id {kernel.id}." in opened
        cell_id, run = await start(server, "print(theirs + 1); ours = 7")
        assert "42" in await server.call("get_run", run_id=run, wait_seconds=LONG)
        assert machine.printed(cell_id) == "42\n"
        assert "theirs" in await server.call("list_variables")
        # What the other program prints is in no cell of ours.
        assert kernel.run("print('to them', ours)") == "to them 7\n"
        assert "to them" not in machine.file.read_text()
        assert kernel.key not in listed + opened
        await kill(server)
    assert kernel.run("print(ours)") == "7\n"
    async with machine.server() as server:
        await join(server, kernel, "connect")
        assert "42" in await server.call("execute_code", code="theirs + 1")
        assert "belongs to another program and cannot be restarted" in await server.call("restart_notebook")
        assert "42" in await server.call("execute_code", code="theirs + 1")
        assert "No kernel was shut down" in await server.call("unuse_notebook")
        assert "42" in await server.call("execute_code", code="theirs + 1", kernel_id=kernel.id)
        server.end_input()
        assert await server.ended() == 0
    assert kernel.lives and kernel.run("print(theirs)") == "41\n"


async def test_it_is_interrupted_by_a_signal_to_its_process_alone_and_answers_input(
    machine: Machine, kernel: ForeignKernel
) -> None:
    # That the process is found by its sockets, and that SIGINT interrupts the cell and not the kernel.
    async with machine.server() as server:
        await join(server, kernel)
        run = await wait_in(machine, server)
        await server.call("interrupt_kernel")
        ended = await server.call("get_run", run_id=run, wait_seconds=LONG)
        assert "[INTERRUPTED" in ended and "KeyboardInterrupt" in ended
        _, run = await start(server, "print('hello', input('Who? '))")
        while "WAITING FOR INPUT" not in await server.call("get_run", run_id=run, wait_seconds=1):
            pass
        await server.call("answer_input", run_id=run, value="Ada")
        assert "hello Ada" in await server.call("get_run", run_id=run, wait_seconds=LONG)
    assert kernel.run("print(1)") == "1\n"


async def test_its_death_is_noticed_and_a_new_kernel_takes_its_place(
    machine: Machine, kernel: ForeignKernel
) -> None:
    # That the end of connections over TCP is the only sign of a process that is not ours.
    async with machine.server() as server:
        await join(server, kernel)
        run = await wait_in(machine, server)
        kernel.kill()
        assert "[KERNEL DIED" in await server.call("get_run", run_id=run, wait_seconds=LONG)
        assert f"{kernel.id}: started" not in await server.call("list_kernels")
        again = await server.call("execute_code", code="'again'")
        assert "again" in again and "without its variables" in again
        # Its file was left behind, as after every crash.
        assert "does not answer" in await server.call("use_notebook", notebook_path=NOTEBOOK, kernel_id=kernel.id)


async def test_the_command_line_lists_it_beside_kept_kernels_and_does_not_stop_it(
    machine: Machine, kernel: ForeignKernel
) -> None:
    # That the files of kept kernels, in the same folder, are told from those of others.
    async with machine.server() as server:
        await create(server)
        kept, foreign = json.loads(machine.kernels_command("--json"))
        assert (kept["kind"], foreign["kind"], foreign["id"]) == ("kept", "foreign", kernel.id)
        assert foreign["language"] == "python" and foreign["connection_file"] == str(kernel.file)
        assert "python, started by another program" in machine.kernels_command()
        stopping = subprocess.run(
            [program(), "kernels", "stop", kernel.id],
            env=machine.home.environment(machine.mark),
            capture_output=True,
            text=True,
        )
        assert stopping.returncode != 0 and "belongs to another program" in stopping.stderr
        machine.kernels_command("stop", "--all")
    assert kernel.lives
    os.kill(kernel.process.pid, signal.SIGSTOP)
    # A process that is stopped answers nothing, not even its heartbeat.
    assert json.loads(machine.kernels_command("--json")) == []
    os.kill(kernel.process.pid, signal.SIGCONT)
    assert kernel.run("print(1)") == "1\n"
