"""Kept kernels: when they end, who shares them, who may look at them, and what a person sees of them."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.support.kept_kernels import NOTEBOOK, Machine, start, create, kill, request
from e2e.support.processes import MEGABYTE, kernels
from e2e.support.waiting import LONG, until


@pytest.mark.lasts(20)
async def test_a_kernel_ends_on_request_and_when_its_folder_is_removed(machine: Machine) -> None:
    async with machine.server() as server:
        await create(server)
        assert "was shut down" in await server.call("unuse_notebook")
        await until(lambda: not machine.keepers and not machine.folders, "the keeper has ended")
        await server.call("use_notebook", notebook_path="another.ipynb", mode="create")
        await server.call("execute_code", code="1")
        [folder] = machine.folders
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
        await until(lambda: not machine.keepers, "the keeper has ended")


async def test_an_idle_kernel_ends_after_its_time(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "--keep-kernels", "2s")
    async with machine.server() as server:
        await create(server)
        assert len(machine.keepers) == 1
        # Killed at once, it might not have said yet that the run is known, which then stays for the next server.
        server.end_input()
        await server.ended()
    await until(lambda: not machine.keepers and not machine.folders, "the keeper has ended")
    machine.end()
    assert machine.home.left_by_kernels() == []


async def test_two_servers_take_turns_and_one_that_is_stopped_disturbs_nobody(machine: Machine) -> None:
    async with machine.server() as one, machine.server() as other:
        await create(one)
        await other.call("use_notebook", notebook_path=NOTEBOOK)
        opened, wait = machine.gate()
        cell_id, run = await start(one, f"{wait}\nshared = 1\nraise ValueError('of one')")
        # What waits for the run of another server is withdrawn, and that one goes on.
        _, withdrawn = await request(other, "print('never')")
        queued = await other.call("get_run", run_id=withdrawn)
        assert f"Queued behind cell 0 of bare (run {run})." in queued and "[QUEUED" in queued, queued
        for tool in ("interrupt_kernel", "restart_notebook"):
            refused = await other.call(tool)
            assert "needs confirm=true" in refused and f"It would end cell 0 of bare (run {run})" in refused, refused
        assert "it has ended" in await other.call("interrupt_kernel", run_id=withdrawn)
        assert "[SKIPPED]" in await other.call("get_run", run_id=withdrawn)
        assert "STILL RUNNING" in await one.call("get_run", run_id=run)
        waiting = asyncio.create_task(other.call("execute_code", code="shared + 1"))
        one.process.send_signal(signal.SIGSTOP)
        opened.touch()
        # The error of the first run does not abort the second.
        assert "2" in await waiting and "[COMPLETED" in waiting.result()
        assert "3" in await other.call("execute_code", code="shared + 2")
        one.process.send_signal(signal.SIGCONT)
        assert "[ERROR ValueError" in await one.call("get_run", run_id=run, wait_seconds=LONG)
        assert len(kernels(machine.mark)) == 1
        listed = await other.call("list_kernels")
        assert "2 servers attached" in listed


async def test_servers_that_open_a_notebook_before_its_kernel_starts_share_it_and_say_what_the_other_ran(
    machine: Machine,
) -> None:
    async with machine.server() as one, machine.server() as other:
        await one.call("use_notebook", notebook_path=NOTEBOOK, mode="create")
        await other.call("use_notebook", notebook_path=NOTEBOOK)
        await asyncio.gather(
            one.call("execute_code", code="first = 1"), other.call("execute_code", code="second = 2")
        )
        assert len(kernels(machine.mark)) == 1
        assert "3" in await one.call("execute_code", code="first + second")
        cell_id, run = await start(one, "third = 3")
        assert "[COMPLETED" in await one.call("get_run", run_id=run, wait_seconds=LONG)
        text = await other.call("execute_code", code="third + 1")
        assert "4" in text and "Another server (bare) has used this kernel since: " in text and f"cell {cell_id}" in text
        assert cell_id not in await other.call("execute_code", code="third")


async def test_a_notebook_that_is_closed_and_a_restart_name_the_run_that_they_end(machine: Machine) -> None:
    async with machine.server() as server:
        await create(server)
        _, wait = machine.gate()
        _, run = await start(server, wait)
        restarted = await server.call("restart_notebook")
        assert f"That ended cell 0 of bare (run {run})." in restarted, restarted
        _, run = await request(server, wait)
        closed = await server.call("unuse_notebook")
        assert f"That ended run {run}" in closed or f"(run {run})" in closed, closed


async def test_a_run_says_that_another_server_has_restarted_its_kernel(machine: Machine) -> None:
    async with machine.server() as one, machine.server() as other:
        await create(one)
        await other.call("use_notebook", notebook_path=NOTEBOOK)
        _, run = await start(one, machine.gate()[1])
        assert f"That ended cell 0 of bare (run {run})." in await other.call("restart_notebook", confirm=True)
        ended = await one.call("get_run", run_id=run, wait_seconds=LONG)
        assert "[KERNEL RESTARTED by another server" in ended and "run the cells that this one needs" in ended, ended
        assert "Another server (bare) has restarted this kernel" in ended and "DIED" not in ended, ended
        assert "variables" not in await one.call("execute_code", code="1")


async def test_a_kernel_that_a_person_stops_is_reported_as_stopped(machine: Machine) -> None:
    async with machine.server() as server:
        await create(server)
        assert "stopped" in machine.kernels_command("stop", "--all")
        text = await server.call("execute_code", code="6 * 7")
        assert "it was stopped" in text and "42" in text and "os error" not in text


async def test_kernels_that_a_new_one_does_not_replace_are_named(machine: Machine) -> None:
    async with machine.server() as server:
        await create(server)
        await kill(server)
    [kernel] = json.loads(machine.kernels_command("--json"))
    async with machine.server() as server:
        text = await server.call("use_notebook", notebook_path=NOTEBOOK, kernel_id="NEW")
        assert f"earlier kernel {kernel['id']} of this notebook is still running" in text
    machine.file.rename(machine.root / "renamed.ipynb")
    async with machine.server() as server:
        text = await server.call("use_notebook", notebook_path="renamed.ipynb")
        assert f"kernel {kernel['id']} of {NOTEBOOK} is still running" in text
        text = await server.call("use_notebook", notebook_path="renamed.ipynb", kernel_id=kernel["id"])
        assert "from an earlier server" in text


async def test_a_kernel_that_a_new_one_has_replaced_ends_with_its_notebook(machine: Machine) -> None:
    async with machine.server() as server:
        await create(server)
        await server.call("execute_code", code="1")
        text = await server.call("use_notebook", notebook_path=NOTEBOOK, kernel_id="NEW")
        assert "is still running, in addition to this one; unuse_notebook stops both" in text, text
        await server.call("execute_code", code="1")
        assert len(json.loads(machine.kernels_command("--json"))) == 2
        assert "Its kernels" in await server.call("unuse_notebook")
        await until(lambda: not machine.keepers, "both keepers have ended")


async def test_kept_kernels_are_listed_and_stopped_at_the_command_line(machine: Machine) -> None:
    assert "No kernels" in machine.kernels_command()
    async with machine.server() as server:
        await create(server)
        await kill(server)
    [kernel] = json.loads(machine.kernels_command("--json"))
    assert kernel["notebook"] == str(machine.file) and kernel["state"] == "idle"
    assert kernel["memory"] > MEGABYTE
    listed = machine.kernels_command()
    assert kernel["id"] in listed and "no server attached" in listed and "MB in memory" in listed
    assert "stopped" in machine.kernels_command("stop", kernel["id"][:8])
    await until(lambda: not machine.keepers and not machine.folders, "the keeper has ended")


@pytest.mark.parametrize("is_killed", [False, True], ids=["the keeper lives", "the keeper was killed"])
async def test_what_a_kernel_printed_is_shown_at_the_command_line(is_killed: bool, machine: Machine) -> None:
    async with machine.server() as server:
        await create(server)
        # One write: the kernel may send what `print` writes as two messages.
        write = r"sys.stderr.write('oh\n')"
        source = f"import sys\nprint('one', end=' ', flush=True)\nprint('two', flush=True)\n{write}\n1 / 0"
        cell_id, run = await start(server, source)
        await server.call("get_run", run_id=run, wait_seconds=LONG)
        # Its end is not acknowledged by a server that is killed in it.
        await start(server, machine.gate()[1])
        await until(lambda: "while not pathlib" in machine.logged(), "the run is written down")
        await kill(server)
    [folder] = machine.folders
    kernel = json.loads((folder / "kernel.json").read_text())["id"]
    if is_killed:
        [keeper] = machine.keepers
        os.kill(keeper, signal.SIGKILL)
        await until(lambda: not kernels(machine.mark), "the kernel has ended with its keeper")
    shown = [line.split(" ", 2)[2] for line in machine.kernels_command("logs", kernel[:8]).splitlines()]
    assert f"{run} * cell {cell_id} was requested: import sys" in shown
    assert f"{run} | one two" in shown and f"{run} ! oh" in shown and f"{run} * cell {cell_id} ended: error" in shown
    assert any("ZeroDivisionError" in line and line.startswith(f"{run} !") for line in shown)
    entries = [json.loads(line) for line in machine.kernels_command("logs", kernel, "--json").splitlines()]
    assert {"run": run, "cell": cell_id, "kind": "stderr", "text": "oh\n"}.items() <= next(
        entry.items() for entry in entries if entry["kind"] == "stderr"
    )
    assert machine.kernels_command("stop", kernel) == f"stopped {kernel}\n"


async def test_a_ninth_kernel_ends_the_one_that_is_idle_longest(machine: Machine) -> None:
    answers = []
    # A kernel that a server is attached to does not make room.
    for numbers in (range(7), range(7, 9)):
        async with machine.server() as server:
            for number in numbers:
                await server.call("use_notebook", notebook_path=f"{number}.ipynb", mode="create")
                answers.append(await server.call("execute_code", code=str(number)))
            # Killed, it could leave a run that nobody has read: such a kernel does not make room, either.
            server.end_input()
            await server.ended()
    shown = "\n".join([*answers, machine.kernels_command()])
    assert all("kernels are kept" not in answer for answer in answers[:7]), shown
    assert "8 kernels are kept, which" in answers[7] and "0.ipynb" in answers[7], shown
    assert "Stopped the idle kernel" in answers[8] and "0.ipynb" in answers[8], shown
    assert answers[8].index("[COMPLETED in") < answers[8].index("Stopped the idle kernel"), "it is not about the cell"
    await until(lambda: len(machine.keepers) == 8, "its keeper has ended")


async def test_where_no_kernel_can_be_kept_it_ends_with_the_server_and_the_run_says_so(machine: Machine) -> None:
    state = machine.home.folder / "state/cellbridge"
    state.mkdir(parents=True)
    (state / "kernels").write_text("no folder")
    async with machine.server() as server:
        await server.call("use_notebook", notebook_path=NOTEBOOK, mode="create")
        ran = await server.call("execute_code", code="6 * 7")
        assert "42" in ran and "cannot be kept" in ran
        assert not machine.keepers
        await kill(server)
    await until(lambda: not kernels(machine.mark), "the kernel has ended")
    (state / "kernels").unlink()


def as_another_user(act: Callable[[], object]) -> str:
    """What another user gets who does this: the result, or the name of the error."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            result = repr(act())
        except BaseException as error:
            result = type(error).__name__
        os.write(writing, result.encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as results:
        result = results.read()
    os.waitpid(child, 0)
    return result


async def test_another_user_can_neither_connect_nor_read(machine: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    async with machine.server() as server:
        await create(server)
        [folder] = machine.folders
        log, address = next(folder.glob("log.*")), json.loads((folder / "kernel.json").read_text())["socket"]

        def ask() -> bytes:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(address)
                # Whoever is served waits for an answer here.
                client.settimeout(10)
                return client.recv(1)

        # Only the keeper's own folders are in the way.
        for above in {*folder.parent.parents, *Path(address).parent.parent.parents, Path(address).parent.parent}:
            if above != folder.parent and above.is_relative_to(machine.root.parents[3]):
                above.chmod(above.stat().st_mode | 0o011)
        assert as_another_user(ask) == "PermissionError"
        assert as_another_user(log.read_bytes) == "PermissionError"
        # Not even they: who connects is looked at.
        for opened in {folder.parent, folder, Path(address).parent}:
            opened.chmod(0o711)
        Path(address).chmod(0o777)
        assert as_another_user(log.read_bytes) == "PermissionError"
        assert as_another_user(ask) == "b''"


async def test_a_subscriber_is_notified_of_the_runs_of_another_server(machine: Machine) -> None:
    """Two servers and a file between them, which no test of one crate has."""
    async with machine.server() as server, machine.server() as other:
        await create(server)
        await server.ask("resources/subscribe", {"uri": f"notebook://{NOTEBOOK}"})
        await other.call("use_notebook", notebook_path=NOTEBOOK)

        async def is_notified() -> None:
            async with asyncio.timeout(LONG):
                while True:
                    await server.ask("ping", {})
                    if any(said.get("method") == "notifications/resources/updated" for said in server.heard):
                        return
                    await asyncio.sleep(0.1)

        opened, wait = machine.gate()
        cell = {"cell_index": -1, "cell_type": "code", "cell_source": f"{wait}\nprint('late')"}
        await other.call("insert_cell", **cell)
        await is_notified()
        await other.call("execute_cell", cell_index=0, timeout=0.5)
        await server.ask("ping", {})
        opened.touch()
        await is_notified()
