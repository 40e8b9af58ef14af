"""Kernels that die, hang and print much: nothing is lost, every wait ends, memory stays bounded, no process is left."""

import asyncio
import os
import re
import signal
from pathlib import Path

import pytest

from e2e.support.home import Home, new_mark
from e2e.support.notebook_client import NotebookClient, gate, id_in, kernel_in, notebook_client, run_id, run_in, shared_notebook
from e2e.support.notebook_files import printed, read_valid
from e2e.support.notebook_server import NotebookServer, launch, notebook_server, nothing_is_left
from e2e.support.processes import MEGABYTE, Memory, kernels
from e2e.support.stdio_client import stdio_client
from e2e.support.waiting import LONG, until
from e2e.support.wine import REQUEST_TO_END

MOST_MEMORY = 150 * MEGABYTE
PAGE = 4_000_000


async def _kernel(client: NotebookClient) -> int:
    """The process of the notebook's kernel."""
    answer = await client.do("execute_code", code="import os; print('pid', os.getpid())")
    found = re.search(r"pid (\d+)", answer.text)
    assert found, answer.text
    return int(found[1])


async def _whole_output(client: NotebookClient, run: str, output: int = 0) -> str:
    """One output of a run, read page by page."""
    pages, offset = [], 0
    while True:
        page = await client.do("get_run", run_id=run, output=output, offset=offset, max_characters=PAGE)
        text, _, rest = page.text.rpartition("\n[")
        pages.append(text)
        found = re.search(r"offset=(\d+)", rest)
        if not found:
            assert "end]" in rest
            return "".join(pages)
        assert int(found[1]) > offset
        offset = int(found[1])


@pytest.mark.parametrize("end", ["killed", "exit code 7"])
async def test_a_kernel_that_ends_mid_run_ends_the_run_at_once_with_what_it_printed(
    end: str, server: NotebookServer, path: str
) -> None:
    async with notebook_client(server, path) as client:
        kernel = await _kernel(client)
        opened, wait = gate(client)
        cell = await client.insert(f"import os\nprint('before', flush=True)\n{wait}\nos._exit(7)")
        running = asyncio.create_task(client.fails("execute_cell", cell_id=cell))
        await until(lambda: "before" in printed(client.cell(cell)), "the run has started", during=running)
        if end == "killed":
            os.kill(kernel, signal.SIGKILL)
        else:
            opened.touch()
        message = await running
        assert "[KERNEL DIED" in message and "before" in message and (end in message or end == "killed")
        assert printed(client.cell(cell)) == "before\n"
        again = await client.do("execute_code", code="print('again')")
        assert "again" in again.text and "[COMPLETED in" in again.text


async def test_a_kernel_killed_while_idle_is_replaced_and_the_next_run_says_so(
    server: NotebookServer, path: str
) -> None:
    async with notebook_client(server, path) as client:
        kernel, name = await _kernel(client), kernel_in(await client.open())
        os.kill(kernel, signal.SIGKILL)
        async with asyncio.timeout(LONG):
            # Its keeper is the first to know.
            while not re.search(rf"^{name}\t.*\tdead", (await client.do("list_kernels")).text, re.MULTILINE):
                pass
        again = await client.do("execute_code", code="print('again')")
        assert "again" in again.text and "had died" in again.text and "[COMPLETED in" in again.text
        assert "had died" not in (await client.do("execute_code", code="1")).text


@pytest.mark.parametrize("remedy", ["interrupt_kernel", "restart_notebook"])
async def test_a_stopped_kernel_is_resumed(remedy: str, server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        kernel = await _kernel(client)
        os.kill(kernel, signal.SIGSTOP)
        started = await client.run("1", timeout=0.3)
        assert "It continues" in started.text
        await client.do(remedy)
        assert "RUNNING" not in (await client.wait(run_in(started))).text
        assert "2" in (await client.do("execute_code", code="1 + 1")).text
        assert (kernel in server.kernels) == (remedy == "interrupt_kernel")


async def test_a_kernel_that_ignores_interrupts_is_restarted(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        deaf = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf', flush=True)"
        run = await client.start(f"{deaf}\n{gate(client)[1]}")
        await until(lambda: "deaf" in printed(client.cell(0)), "the run has started")
        interrupted = await client.do("interrupt_kernel")
        assert "has not ended yet" in interrupted.text and "restart_notebook" in interrupted.text
        assert "answers" in (await client.do("restart_notebook")).text
        ended = await client.wait(run)
        assert "[INTERRUPTED" in ended.text and "deaf" in ended.text
        assert "2" in (await client.do("execute_code", code="1 + 1")).text


@pytest.mark.parametrize(("count", "flush"), [(50_000, False), (4_000, True)], ids=["unflushed", "flushed"])
async def test_many_lines_are_stored_in_full_and_shown_truncated(
    count: int, flush: bool, server: NotebookServer
) -> None:
    async with shared_notebook(server) as client:
        await _kernel(client)
        memory = Memory(server.process.pid)
        code = f"for number in range({count}): print('line', number, flush={flush})"
        ran = await client.run(code, timeout=LONG)
        if "published faster than its messages were read" in str(client.cell(id_in(ran))["outputs"]):
            # `ZeroMQ` drops what waits too long, as on a machine with too little time for the keeper. It is said, and not lost again.
            ran = await client.run(code, timeout=LONG)
        assert "[COMPLETED in" in ran.text and "left out" in ran.text
        assert "line 0\n" in ran.text and f"line {count - 1}" in ran.text
        expected = "".join(f"line {number}\n" for number in range(count))
        assert printed(client.cell(id_in(ran))) == expected
        assert (await _whole_output(client, run_in(ran))).rstrip("\n") == expected.rstrip("\n")
        assert memory.peak <= MOST_MEMORY


async def test_ten_megabytes_are_stored_in_full_and_shown_truncated(server: NotebookServer) -> None:
    """Enough for a copy too many to be seen in the memory."""
    async with shared_notebook(server) as client:
        await _kernel(client)
        memory = Memory(server.process.pid)
        lines = "''.join(f'{line:099}\\n' for line in range(part, part + 10_000))"
        ran = await client.run(f"for part in range(0, 100_000, 10_000): print({lines}, end='')", timeout=LONG)
        peak = memory.peak
        assert "[COMPLETED in" in ran.text and "left out" in ran.text
        expected = "".join(f"{line:099}\n" for line in range(100_000))
        assert printed(client.cell(id_in(ran))) == expected
        found = await client.do("get_run", run_id=run_in(ran), pattern=f"{90_000:099}")
        assert f"offset {90_000 * 100}:" in found.text
        last = await client.do("get_run", run_id=run_in(ran), output=0, offset=len(expected) - 1000)
        assert last.text.startswith(expected[-1000:].rstrip("\n"))
        # Three times as much as was printed, and what else a run takes. A fourth copy would be 40.
        assert peak <= 35 * MEGABYTE, peak


async def test_an_image_of_a_hundred_megabytes_is_stored_in_full_and_described(server: NotebookServer) -> None:
    async with shared_notebook(server) as client:
        await _kernel(client)
        memory = Memory(server.process.pid)
        ran = await client.run("display({'image/png': 'A' * 100_000_000}, raw=True)", timeout=LONG)
        assert "[COMPLETED in" in ran.text and "image/png" in ran.text
        assert ran.images == []
        assert memory.peak <= MOST_MEMORY
        [output] = client.cell(id_in(ran))["outputs"]
        assert output["data"]["image/png"] == "A" * 100_000_000
        again = await client.do("read_cell", cell_id=id_in(ran))
        assert "image/png" in again.text
        assert memory.peak <= MOST_MEMORY


async def test_a_line_without_a_newline_arrives(server: NotebookServer) -> None:
    async with shared_notebook(server) as client:
        ran = await client.run("import sys\nsys.stdout.write('no end'); sys.stderr.write('none here')")
        assert "no end" in ran.text and "none here" in ran.text
        assert printed(client.cell(id_in(ran))) == "no end"
        assert printed(client.cell(id_in(ran)), "stderr") == "none here"


async def test_output_of_a_forked_child_arrives(server: NotebookServer) -> None:
    fork = """
import os, sys
child = os.fork()
if child == 0:
    print('from the child', flush=True)
    os._exit(0)
os.waitpid(child, 0)
print('from the parent')
"""
    async with shared_notebook(server) as client:
        ran = await client.run(fork)
        await until(lambda: "from the child" in printed(client.cell(id_in(ran))), "the child's line is in the file")
        assert "from the parent" in printed(client.cell(id_in(ran)))
        assert "from the child" in (await client.do("get_run", run_id=run_in(ran))).text
        assert "2" in (await client.do("execute_code", code="1 + 1")).text


async def test_output_of_a_thread_after_the_run_reaches_the_cell(server: NotebookServer) -> None:
    async with shared_notebook(server) as client:
        opened, wait = gate(client)
        late = f"{wait}\nprint('from the thread')"
        ran = await client.run(f"import threading\nthreading.Thread(target=exec, args=({late!r}, {{}})).start()")
        assert "[COMPLETED in" in ran.text
        opened.touch()
        await until(lambda: "from the thread" in printed(client.cell(id_in(ran))), "the thread's line is in the file")
        assert "from the thread" in (await client.do("get_run", run_id=run_in(ran))).text


async def test_input_that_nobody_answers_blocks_nobody_else(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client, notebook_client(server, f"other-{path}") as other:
        waiting = await client.run("input('Anyone? ')")
        assert "WAITING FOR INPUT" in waiting.text and "Anyone?" in waiting.text
        assert "2" in (await other.do("execute_code", code="1 + 1")).text
        await client.do("interrupt_kernel")


@pytest.mark.parametrize("end", ["end of input", "SIGINT", "SIGKILL"])
async def test_no_kernel_that_is_not_kept_outlives_the_server(end: str, tmp_path: Path) -> None:
    mark, home, root = new_mark(), Home(tmp_path / "home"), tmp_path / "root"
    home.folder.mkdir()
    root.mkdir()
    async with stdio_client(launch(root, home, "--keep-kernels", "off", mark=mark)) as server:
        await server.initialize()
        for name in ("busy", "idle"):
            await server.call("use_notebook", notebook_path=f"{name}.ipynb", mode="create")
            # A child of the kernel that would outlive it, too.
            await server.call("execute_code", code="import subprocess; child = subprocess.Popen(['sleep', '1000'])")
        endless = "print('started', flush=True)\nwhile True: pass"
        given = {"cell_index": -1, "cell_source": endless, "timeout": 0.5, "notebook_name": "busy.ipynb"}
        started = await server.call("insert_execute_code_cell", **given)
        assert "It continues" in started
        async with asyncio.timeout(LONG):
            while "started\n" not in await server.call("get_run", run_id=run_id(started)):
                pass
        assert len(kernels(mark)) == 2
        if end == "end of input":
            server.end_input()
        else:
            server.process.send_signal(signal.Signals[end])
        code = await server.ended()
        await asyncio.to_thread(nothing_is_left, mark, home)
        busy = read_valid(root / "busy.ipynb")
        if end != "SIGKILL":
            assert printed(busy["cells"][0]) == "started\n"
            assert {each.name for each in root.iterdir()} == {"busy.ipynb", "idle.ipynb"}
            assert code == 0
            assert home.left_by_kernels() == []


async def test_output_so_far_is_in_the_file_after_a_request_to_end(home: Home, tmp_path: Path) -> None:
    with notebook_server(tmp_path, home) as server:
        async with notebook_client(server, "ended.ipynb") as client:
            _, wait = gate(client)
            printing, said = f"print('started', flush=True)\n{wait}", client.file.with_suffix(".said")
            printing = printing.replace("while", f"pathlib.Path({said.name!r}).touch()\nwhile")
            running = asyncio.create_task(client.run(printing))
            await until(said.exists, "the run has started", during=running)
            # Before the next periodic write of outputs.
            server.process.send_signal(REQUEST_TO_END)
            running.cancel()
            await asyncio.wait([running])
            assert server.ended() == 0
            assert printed(client.cell(0)) == "started\n"
