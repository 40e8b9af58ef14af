"""Kernels that outlive the server that started them: the next server finds the variables, the runs and their outputs."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from e2e.support.changes import line_of_changes
from e2e.support.home import Home, new_mark
from e2e.support.notebook_files import cell, printed, read_valid
from e2e.support.notebook_server import launch, nothing_is_left
from e2e.support.processes import kernels, marked
from e2e.support.program import program
from e2e.support.stdio_client import StdioClient, stdio_client
from e2e.support.waiting import LONG, until

NOTEBOOK = "kept.ipynb"


class Machine:
    """A person's machine, on which one server after the other is started."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.mark = new_mark()
        self.home = Home(folder / "home")
        self.root = folder / "root"
        self.options = options or ("--keep-kernels", "30m")
        self.home.folder.mkdir()
        self.root.mkdir()

    @asynccontextmanager
    async def server(self) -> AsyncIterator[StdioClient]:
        started = launch(self.root, self.home, *self.options, mark=self.mark)
        async with stdio_client(started, own_group=True) as server:
            await server.initialize()
            yield server

    @property
    def file(self) -> Path:
        return self.root / NOTEBOOK

    @property
    def keepers(self) -> list[int]:
        return [each for each in marked(self.mark) if _arguments(each)[1:2] == [b"keep"]]

    @property
    def folders(self) -> list[Path]:
        return list((self.home.folder / "state/cellbridge/kernels").glob("*"))

    def printed(self, cell_id: str) -> str:
        return printed(cell(read_valid(self.file), cell_id))

    def gate(self, name: str = "gate") -> tuple[Path, str]:
        path = self.root / name
        return path, f"import pathlib, time\nwhile not pathlib.Path({str(path)!r}).exists(): time.sleep(0.01)"

    def end(self) -> None:
        for keeper in self.keepers:
            os.kill(keeper, signal.SIGTERM)
        nothing_is_left(self.mark)


def _arguments(process: int) -> list[bytes]:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


@pytest.fixture
def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.end()


async def begin(server: StdioClient, source: str) -> tuple[str, str]:
    """Runs a new cell without waiting for its end; the ids of the cell and the run."""
    given = {"cell_index": -1, "cell_source": source, "timeout": 0.1}
    answer = await server.call("insert_execute_code_cell", notebook_name=NOTEBOOK, **given)
    run, cell_id = re.search(r"\brun (r\d+-[a-z]{4})", answer), re.search(r"\bid ([\w-]+)", answer)
    assert run and cell_id, answer
    return cell_id[1], run[1]


async def until_printed(machine: Machine, server: StdioClient, cell_id: str, run: str, line: str) -> None:
    """Waits until a run of this server has printed something, as the file shows."""
    try:
        await until(lambda: line in machine.printed(cell_id), "the run has begun")
    except AssertionError as error:
        answers = [await server.call("get_run", run_id=run, wait_seconds=0), await server.call("list_kernels")]
        raise AssertionError("\n".join([str(error), *answers])) from error


async def kill(server: StdioClient) -> None:
    """As clients do that end the whole process group."""
    os.killpg(server.process.pid, signal.SIGKILL)
    await server.ended()


async def create(server: StdioClient) -> None:
    """Makes the notebook and starts its kernel: a run that waits for that is known to this server only."""
    await server.call("use_notebook", notebook_path=NOTEBOOK, mode="create")
    await server.call("execute_code", code="1")


async def test_a_killed_server_loses_neither_variables_nor_outputs(machine: Machine) -> None:
    opened, wait = machine.gate()
    async with machine.server() as server:
        await create(server)
        await server.call("execute_code", code="x = 41")
        cell_id, run = await begin(server, f"print('before', flush=True)\n{wait}\nprint('after')\nx + 1")
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


async def test_the_next_server_answers_input(machine: Machine) -> None:
    async with machine.server() as server:
        await create(server)
        cell_id, run = await begin(server, "name = input('Who? ')\nprint('hello', name)")
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
    flood = "for n in range(200_000): print('line', n)\nfor n in range(5_000): display({'text/plain': str(n)}, raw=True)"
    async with machine.server() as server:
        await create(server)
        cell_id, run = await begin(server, f"{wait}\n{flood}\npathlib.Path('ended').touch()")
        await kill(server)
    opened.touch()
    await until((machine.root / "ended").exists, "the run has ended")
    async with machine.server() as server:
        await server.call("use_notebook", notebook_path=NOTEBOOK)
        assert "[COMPLETED" in await server.call("get_run", run_id=run, wait_seconds=LONG)
        ran = cell(read_valid(machine.file), cell_id)
        shown = ["".join(each["data"]["text/plain"]) for each in ran["outputs"] if each["output_type"] == "display_data"]
        is_whole = printed(ran) == "".join(f"line {n}\n" for n in range(200_000)) and shown == [str(n) for n in range(5_000)]
        # A kernel drops what nobody takes in time, which a busy machine can bring about; never without a word.
        assert is_whole != ("Messages of the kernel are missing" in printed(ran, "stderr"))


@pytest.mark.parametrize("victim", ["kernel", "keeper"])
async def test_a_death_while_nobody_is_attached_is_reported_with_what_was_printed(
    victim: str, machine: Machine
) -> None:
    async with machine.server() as server:
        await create(server)
        cell_id, run = await begin(server, f"print('before', flush=True)\n{machine.gate()[1]}")
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
        cell_id, run = await begin(server, f"{wait}\nprint('late')")
        await kill(server)
    text = machine.file.read_text().replace("print('late')", "print('mine')")
    machine.file.write_text(text)
    opened.touch()
    async with machine.server() as server:
        await server.call("use_notebook", notebook_path=NOTEBOOK)
        ended = await server.call("get_run", run_id=run, wait_seconds=LONG)
        assert "late" in ended and "only here" in ended
        assert machine.printed(cell_id) == ""


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
    await until(lambda: not machine.keepers and not machine.folders, "the keeper has ended")
    machine.end()
    assert machine.home.left_by_kernels() == []


async def test_outputs_reach_the_file_while_no_server_is_attached_and_the_next_one_tells(machine: Machine) -> None:
    opened, wait = machine.gate()
    async with machine.server() as server:
        await create(server)
        cell_id, run = await begin(server, f"{wait}\nprint('late')")
        await kill(server)
    opened.touch()
    await until(lambda: machine.printed(cell_id) == "late\n", "the output is in the file")
    machine.file.write_text(machine.file.read_text().replace("late\\n", "mine\\n"))
    async with machine.server() as server:
        assert f"run {run} of cell {cell_id} ended well" in await server.call("use_notebook", notebook_path=NOTEBOOK)
        assert "late" in await server.call("get_run", run_id=run, wait_seconds=LONG)
        # What was stored once is not written again.
        assert machine.printed(cell_id) == "mine\n"


async def test_cells_that_were_queued_are_reported_as_not_run(machine: Machine) -> None:
    async with machine.server() as server:
        await create(server)
        for source in (machine.gate()[1], "print('second')"):
            cell = {"cell_index": -1, "cell_type": "code", "cell_source": source}
            await server.call("insert_cell", notebook_name=NOTEBOOK, **cell)
        await server.call("run_cells", notebook_name=NOTEBOOK, all=True, timeout=0.5)
        await kill(server)
    async with machine.server() as server:
        text = await server.call("use_notebook", notebook_path=NOTEBOOK)
        assert "is still running" in text and "did not run" in text
        await server.call("interrupt_kernel")


async def test_runs_that_an_earlier_server_has_reported_are_found_and_not_reported_again(machine: Machine) -> None:
    async with machine.server() as server:
        await create(server)
        answer = await server.call("execute_code", code="print('earlier')")
        found = re.search(r"\brun (r\d+-[a-z]{4})", answer)
        assert found, answer
        server.end_input()
        await server.ended()
    async with machine.server() as server:
        assert found[1] not in await server.call("use_notebook", notebook_path=NOTEBOOK)
        text = await server.call("get_run", run_id=found[1])
        assert "earlier" in text and "[COMPLETED" in text


async def test_two_servers_take_turns_and_one_that_is_stopped_disturbs_nobody(machine: Machine) -> None:
    async with machine.server() as one, machine.server() as other:
        await create(one)
        await other.call("use_notebook", notebook_path=NOTEBOOK)
        opened, wait = machine.gate()
        cell_id, run = await begin(one, f"{wait}\nshared = 1\nraise ValueError('of one')")
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


async def test_kept_kernels_are_listed_and_stopped_at_the_command_line(machine: Machine) -> None:
    def kernels_command(*arguments: str) -> str:
        environment = machine.home.environment(machine.mark)
        return subprocess.run(
            [program(), "kernels", *arguments], env=environment, check=True, capture_output=True, text=True
        ).stdout

    assert "No kernels" in kernels_command()
    async with machine.server() as server:
        await create(server)
        await kill(server)
    [kernel] = json.loads(kernels_command("--json"))
    assert kernel["notebook"] == str(machine.file) and kernel["state"] == "idle"
    assert kernel["id"] in kernels_command() and "no server attached" in kernels_command()
    assert "stopped" in kernels_command("stop", kernel["id"][:8])
    await until(lambda: not machine.keepers and not machine.folders, "the keeper has ended")


async def test_a_ninth_kernel_ends_the_one_that_is_idle_longest(machine: Machine) -> None:
    async def use(number: int) -> str:
        async with machine.server() as server:
            await server.call("use_notebook", notebook_path=f"{number}.ipynb", mode="create")
            answer = await server.call("execute_code", code=str(number))
            # Killed, it could leave a run that nobody has read: such a kernel does not make room.
            server.end_input()
            await server.ended()
        return answer

    answers = [await use(number) for number in range(9)]
    assert all("kernels are kept" not in answer for answer in answers[:7])
    assert "8 kernels are kept now" in answers[7] and "0.ipynb" in answers[7]
    assert "was ended" in answers[8] and "0.ipynb" in answers[8]
    assert len(machine.keepers) == 8


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
            if above != folder.parent and "pytest-" in str(above):
                above.chmod(above.stat().st_mode | 0o011)
        assert as_another_user(ask) == "PermissionError"
        assert as_another_user(log.read_bytes) == "PermissionError"
        # Not even they: who connects is looked at.
        for opened in {folder.parent, folder, Path(address).parent}:
            opened.chmod(0o711)
        Path(address).chmod(0o777)
        assert as_another_user(log.read_bytes) == "PermissionError"
        assert as_another_user(ask) == "b''"


async def test_what_another_server_has_changed_is_left_out(machine: Machine) -> None:
    async with machine.server() as one, machine.server() as other:
        await create(one)
        await other.call("use_notebook", notebook_path=NOTEBOOK)

        async def after_the_other(name: str) -> str:
            await other.call("execute_code", code=f"theirs_{name} = 1")
            return await one.call("execute_code", code=f"{name} = [1]")

        assert await line_of_changes(after_the_other) == "new: NAME (list 1)"
        assert await line_of_changes(lambda name: other.call("execute_code", code=f"{name} = 1")) == "new: NAME (int)"
