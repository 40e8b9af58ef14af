"""Asking for variables leaves no trace that a cell could notice. Only a real kernel has events, a history and threads."""

import asyncio
import os
from collections.abc import Iterator

import pytest

from e2e.support.agents.python_sdk import python_agent
from e2e.support.changes import last_line, line_of_changes
from e2e.support.home import Home
from e2e.support.notebook_client import NotebookClient, gate, notebook_client, run_in
from e2e.support.notebook_files import printed
from e2e.support.notebook_server import NotebookServer, notebook_server
from e2e.support.waiting import LONG

QUESTIONS = 60
BEFORE = """from IPython import get_ipython
shell, events = get_ipython(), []
for name in ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell"):
    shell.events.register(name, lambda *given, name=name: events.append(name))
shell.display_formatter.formatters["text/plain"].for_type(str, lambda *given: events.append("a text was shown"))
getattr = dict = json = None
"""
# Prints from a thread, half a figure, and a line of input: what a request of another kind would disturb.
DURING = """import threading, matplotlib.pyplot as plt
plt.plot([1, 2])
printed = threading.Thread(target=lambda: print("from a thread"))
line = input("Name? ")
{wait}
printed.start(); printed.join()
print(line, len(plt.get_fignums()))
"""
AFTER = """print(events)
print(len(In), sorted(Out), repr(_), shell.execution_count)
history = [source for _, _, source in shell.history_manager.get_range(raw=True)]
print(len(history), history[0])
import sys
print(sorted(name for name in vars(sys) if name.startswith("last_")))
print(sorted(name for name in globals() if "cellbridge" in name.lower() or "handler" in name.lower()))
"""


async def _traces(client: NotebookClient, questions: int) -> tuple[list[str], list[str]]:
    """What the cells print, and the kinds of their outputs."""
    await client.run(BEFORE)
    door, wait = gate(client)
    run = run_in(await client.run(DURING.format(wait=wait)))
    await client.do("answer_input", run_id=run, value="ada", timeout=0.1)
    for number in range(questions):
        if number % 2:
            await client.do("list_variables", kinds="all")
        else:
            await client.do("inspect_variable", name="shell")
    door.touch()
    assert "[COMPLETED" in (await client.wait(run)).text
    for _ in range(questions // 20):
        await client.do("list_variables")
    await client.run(AFTER)
    cells = await client.cells()
    return [printed(cell) for cell in cells], [each["output_type"] for cell in cells for each in cell["outputs"]]


@pytest.fixture(scope="module")
def silent_server(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookServer]:
    """A server that does not ask what runs have changed."""
    with notebook_server(tmp_path_factory.mktemp("silent"), home, "--no-changes") as server:
        yield server


async def test_questions_leave_no_trace(server: NotebookServer, silent_server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as asked, notebook_client(silent_server, path) as silent:
        with_questions, without = await asyncio.gather(_traces(asked, QUESTIONS), _traces(silent, 0))
    assert with_questions == without
    texts, kinds = without
    assert "from a thread\nada 1\n" in texts[1] and "display_data" in kinds, "the cells did what is compared"
    assert "post_run_cell" in texts[2] and "get_ipython" in texts[2]
    assert texts[2].endswith("\n[]\n"), "the handler has left a name"


async def test_changes_are_left_out_if_they_are_switched_off(silent_server: NotebookServer, path: str) -> None:
    async with notebook_client(silent_server, path) as client:
        for source in ("x = 1", "y = 1", "z = 1"):
            assert last_line((await client.run(source)).text).startswith("[COMPLETED")


async def test_changes_of_a_kernel_without_the_handler_are_left_out(server: NotebookServer, path: str) -> None:
    async with python_agent(server.url) as agent:
        client = NotebookClient(agent, server.root, path)
        await client.create(kernel_name="bash")
        assert last_line((await client.run("x=1")).text).startswith("[COMPLETED")


async def test_the_changes_of_a_large_cell_are_one_line(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:

        async def run(name: str) -> str:
            return (await client.run(f"for number in range(100): globals()[f'{name}_{{number}}'] = number")).text

        line = await line_of_changes(run)
        assert len(line) <= 300 and line.startswith("new: ") and "NAME_9 (int), " in line
        assert line.rpartition(", ")[2].startswith("… and ") and line.endswith(" more")


async def test_native_code_that_keeps_the_interpreter_is_said(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        pipe = client.file.with_suffix(".pipe")
        os.mkfifo(pipe)
        # `PyDLL` keeps the interpreter during the call, which ends when somebody writes into the pipe.
        run = await client.start(f"import ctypes\nctypes.PyDLL(None).open({pipe.name.encode()!r}, 0)")
        async with asyncio.timeout(LONG):
            while not (answer := await client.call("list_variables")).is_error:
                pass
        assert "did not answer within 1 s: the running cell is in native code" in answer.text, answer.text
        pipe.write_bytes(b"")
        await client.wait(run)


async def test_a_question_that_never_ends_does_not_stop_an_interrupt(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        await client.run("x = 1")
        # As if what answers were stuck for good.
        stuck = "lambda *given: time.sleep(1000)"
        handlers = "get_ipython().kernel.control_handlers['cellbridge_memory_request']"
        opened, run = await client.begin_at_gate(f"import time\n{handlers} = {stuck}")
        asked = asyncio.create_task(client.call("list_variables"))
        interrupted = await client.do("interrupt_kernel")
        assert "it has ended" in interrupted.text, interrupted.text
        assert "[INTERRUPTED" in (await client.wait(run)).text
        answer = await asked
        assert answer.is_error and "did not answer within" in answer.text, answer.text
