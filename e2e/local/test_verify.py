"""Notebooks that run again from a fresh kernel. Only real kernels show what differs from run to run; how outputs are compared is
tested in `verify/src/compare`."""

import asyncio
import itertools
import json
import re
import signal
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

import pytest
from nbformat import v4

from e2e.support import wine
from e2e.support.notebook_files import PIXEL, SHOW_PIXEL, read_valid
from e2e.support.notebook_server import launch, nothing_is_left
from e2e.support.processes import kernels
from e2e.support.stdio_client import stdio_client
from e2e.support.terminal import Cell, Terminal, write
from e2e.support.waiting import LONG, until

ONE = v4.new_output("execute_result", {"text/plain": "1"}, execution_count=1)


def image(data: str) -> Any:
    return v4.new_output("display_data", {"image/png": data, "text/plain": "<IPython.core.display.Image object>"})


def shown(**data: Any) -> Any:
    return v4.new_output("display_data", {name.replace("_", "/"): value for name, value in data.items()})


def error(name: str, value: str) -> Any:
    return v4.new_output("error", ename=name, evalue=value, traceback=[f"{name}: {value}"])


# Name: the cells, each a source with its saved output (text, an output, or None if it was never run) and tags; and what is
# expected of each code cell.
STORIES: dict[str, tuple[list[Cell], list[str]]] = {
    "plain": ([("print('a')", "a\n"), ("1", ONE)], ["identical", "identical"]),
    "stale": ([("x = 2\nprint(x)", "1\n")], ["stale"]),
    "hidden_state": ([("print(1)", "1\n"), ("print(made_elsewhere)", "5\n"), ("2", "2")], ["identical", "failed", "not_run"]),
    "random": (
        [("import random\nx = random.random()", ""), ("print(x)", "0.5\n"), ("print(x + 1)", "1.5\n"), ("print(3)", "3\n")],
        ["identical", "not_deterministic", "follows", "identical"],
    ),
    "seeded": ([("import random\nrandom.seed(1)\nprint(random.random())", "0.13436424411240122\n")], ["identical"]),
    "follows": ([("x = 2\nprint(x)", "1\n"), ("print(x * 2)", "2\n")], ["stale", "follows"]),
    "mutation": ([("a = []", ""), ("a.append(2)\nprint(a)", "[1]\n"), ("print(len(a), a)", "1 [1]\n")], ["identical", "stale", "follows"]),
    "time_magic": ([("%time x = 1", "CPU times: user 3 µs, sys: 1 µs, total: 4 µs\nWall time: 5.01 µs\n")], ["identical"]),
    "address": ([("print(object())", "<object object at 0x7f0102030405>\n")], ["identical"]),
    "image": ([(SHOW_PIXEL, image(PIXEL))], ["identical"]),
    "updated_later": (
        [("h = display('a', display_id='x')", shown(text_plain="'b'")), ("h.update('b')", "")],
        ["identical", "identical"],
    ),
    "help": ([("len?", "")], ["identical"]),
    "exit": ([("x = 1", ""), ("exit()", ""), ("print(x)", "1\n")], ["identical", "failed", "not_run"]),
    "exit_at_the_end": ([("print(1)", "1\n"), ("quit()", "")], ["identical", "identical"]),
    "error_of_another_cell": ([("get_ipython().run_cell('1 / 0');", "")], ["failed"]),
    "expected_error_of_another_cell": ([("get_ipython().run_cell('1 / 0');", None, ["raises-exception"])], ["none_saved"]),
    "warnings": ([("import sys\nprint('w', file=sys.stderr)\nprint(1)", "1\n")], ["identical"]),
    "error": ([("1 / 0", error("ZeroDivisionError", "division by zero")), ("print(1)", "1\n")], ["identical", "identical"]),
    "new_error": ([("1 / 0", "1"), ("2", "2")], ["failed", "not_run"]),
    "expected_error": ([("1 / 0", None, ["raises-exception"]), ("print(1)", "1\n")], ["none_saved", "identical"]),
    "skipped": ([("1 / 0", "x", ["skip-execution"]), ("# NBVAL_SKIP\n1 / 0", "x"), ("print(1)", "1\n")], ["identical"]),
    "never_run": ([("print(1)", None), ("# nothing", None)], ["none_saved"]),
    "input": ([("input('name? ')", "me"), ("1", "1")], ["failed", "not_run"]),
    "thread": (
        [("import threading\nt = threading.Thread(target=lambda: print('from a thread'))\nt.start(); t.join()", "from a thread\n")],
        ["identical"],
    ),
    "file_beside": ([("print(open('data.txt').read())", "42\n\n")], ["identical"]),
    "never_ends": ([("print(1)", "1\n"), ("while True: pass", "")], ["identical", "failed"]),
    "kernel_dies": ([("import os\nos._exit(3)", ""), ("1", "1")], ["failed", "not_run"]),
    "only_text": ([], []),
}


class Machine(Terminal):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (self.root / "data.txt").write_text("42\n")

    async def verify(self, *arguments: str) -> tuple[int, str]:
        """The exit status, and what is printed."""
        ended = await self.run("verify", *arguments)
        assert ended.status is not None, ended.complaints
        # The Python that was taken is named beside the verdict.
        assert "error: " not in ended.complaints, ended.complaints
        return ended.status, ended.printed


@pytest.fixture
def machine(tmp_path: Path) -> Any:
    machine = Machine(tmp_path)
    yield machine
    nothing_is_left(machine.mark, machine.home)


def _notebooks() -> dict[str, list[str]]:
    """The stories of each notebook. A failure or an exit ends a notebook; the others are told one after the other, to start fewer kernels:
    those that differ, which run once more, and those that do not."""
    notebooks: dict[str, list[str]] = {"same": [], "different": []}
    for name, (_, expected) in STORIES.items():
        if "failed" in expected or not expected or name == "exit_at_the_end":
            notebooks[name] = [name]
        else:
            notebooks["same" if {"identical", "none_saved"} >= set(expected) else "different"].append(name)
    return notebooks


@pytest.mark.lasts(20)
async def test_each_notebook_gets_the_verdict_that_it_deserves(machine: Machine) -> None:
    notebooks = _notebooks()
    before = {}
    for name, stories in notebooks.items():
        path = machine.root / f"{name}.ipynb"
        write(path, [cell for story in stories for cell in STORIES[story][0]])
        before[name] = path.read_bytes(), path.stat().st_mtime_ns

    async def verdicts(some: list[str], *options: str) -> dict[str, list[str]]:
        files = [f"{name}.ipynb" for name in some]
        _, printed = await machine.verify("--json", *options, *files)
        found = {}
        for name, each in zip(some, json.loads(printed), strict=True):
            left = iter([cell["verdict"] for cell in each["cells"]])
            found |= {story: list(itertools.islice(left, len(STORIES[story][1]))) for story in notebooks[name]}
            assert list(left) == []
        return found

    # Two at a time: each takes its time to start kernels.
    ending, endless = await asyncio.gather(
        verdicts([name for name in notebooks if name != "never_ends"]), verdicts(["never_ends"], "--timeout", "2")
    )
    assert ending | endless == {name: expected for name, (_, expected) in STORIES.items()}
    for name, untouched in before.items():
        path = machine.root / f"{name}.ipynb"
        assert (path.read_bytes(), path.stat().st_mtime_ns) == untouched, name


async def test_what_is_printed_and_the_exit_status_fit_the_verdict(machine: Machine) -> None:
    for name in ("plain", "stale", "new_error"):
        write(machine.root / f"{name}.ipynb", STORIES[name][0])
    status, printed = await machine.verify("plain.ipynb", "stale.ipynb", "--junit", "report.xml", "--html", "report.html")
    assert status == 1 and "1 stale or from another environment (#1)" in printed and "-1\n+2" in printed
    assert printed.startswith("plain.ipynb: Reruns from a fresh kernel: 2 of 2 cells identical; 0 errors;")
    assert "; Python 3." in printed
    suites = xml.parse(machine.root / "report.xml").getroot()
    assert [suite.attrib["failures"] for suite in suites] == ["0", "1"]
    page = (machine.root / "report.html").read_text()
    assert "<h2>stale.ipynb</h2>" in page and "<del>-1</del>" in page and "<ins>+2</ins>" in page
    assert 'id="cell-1"' in page and 'id="notebook-1-cell-1"' in page
    status, printed = await machine.verify("new_error.ipynb")
    assert status == 2 and "cell #1 fails (ZeroDivisionError: division by zero)" in printed and "Traceback" in printed
    renamed = machine.root / "plain.ipynb"
    renamed.write_text(renamed.read_text().replace('"name": "python3"', '"name": "nope-kernel"'))
    status, printed = await machine.verify("plain.ipynb")
    assert status == 0 and "in place of the kernelspec nope-kernel)" in printed, printed
    status, printed = await machine.verify("absent.ipynb")
    assert status == 3 and "could not run" in printed
    status, printed = await machine.verify("stale.ipynb", "--apply")
    assert status == 1 and read_valid(machine.root / "stale.ipynb")["cells"][1]["outputs"][0]["text"] in ("2\n", ["2\n"])
    status, _ = await machine.verify("stale.ipynb")
    assert status == 0


async def test_files_stay_as_they_are_where_the_code_works_in_a_copy(machine: Machine) -> None:
    source = "assert open('data.txt').read() == '42\\n'\nopen('data.txt', 'w').write('43')\nopen('made.txt', 'x').close()"
    write(machine.root / "a.ipynb", [(source, ""), ("import random\nprint(random.random())", "0.5\n")])
    status, printed = await machine.verify("a.ipynb", "--copy")
    # It ran twice, each time in a new copy.
    assert status == 1 and "1 of 2 cells identical; 1 not deterministic" in printed
    assert (machine.root / "data.txt").read_text() == "42\n"
    assert {path.name for path in machine.root.iterdir()} == {"a.ipynb", "data.txt"}
    assert machine.home.left_by_kernels() == []
    status, printed = await machine.verify("a.ipynb")
    # Without a copy, the second run finds the files that the first one has made.
    assert status == 1 and "1 fails in the second run (#1)" in printed
    assert (machine.root / "data.txt").read_text() == "43"


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_no_kernel_outlives_a_verification_that_is_ended(machine: Machine, ending: signal.Signals) -> None:
    for name in ("a", "b"):
        cell = f"open('{name} has started', 'w').close()\nimport time\nwhile True: time.sleep(0.01)"
        write(machine.root / f"{name}.ipynb", [(cell, "")])
    running = await machine.start("verify", "a.ipynb", "b.ipynb")
    await until((machine.root / "a has started").exists, "the cell runs")
    running.send_signal(ending)
    printed, _ = await asyncio.wait_for(running.communicate(), LONG)
    if ending == signal.SIGINT:
        assert wine.status(running.returncode) == 3 and printed.decode().count("could not run: it was interrupted") == 2
    else:
        assert running.returncode not in (0, 1, 2)
    await until(lambda: not kernels(machine.mark), "the kernel has ended")
    assert not (machine.root / "b has started").exists()


async def test_an_agent_verifies_beside_the_persons_kernel(machine: Machine) -> None:
    write(machine.root / "a.ipynb", [("print(x)", "1\n"), ("import time\nwhile True: time.sleep(0.01)", "")])
    async with stdio_client(launch(machine.root, machine.home, mark=machine.mark)) as server:
        await server.initialize()
        await server.call("use_notebook", notebook_path="a.ipynb")
        await server.call("execute_code", code="x = 1")
        assert "confirm=true" in await server.call("verify_notebook")
        answer = await server.call("verify_notebook", confirm=True)
        assert "Does not rerun from a fresh kernel: cell #1 fails (NameError: name 'x' is not defined)" in answer
        assert "1" in await server.call("execute_code", code="x")
        # The second cell never ends, until the verification is cancelled.
        await server.call("overwrite_cell_source", cell_index=1, cell_source="print(1)")
        before = (machine.root / "a.ipynb").read_bytes()
        answer = await server.call("verify_notebook", confirm=True, timeout=0.1)
        found = re.search(r"\brun (r\d+-[a-z]{6})", answer)
        assert found, answer
        run = found[1]
        await until(lambda: len(kernels(machine.mark)) == 2, "the fresh kernel has started")
        await server.call("interrupt_kernel", run_id=run)
        await until(lambda: len(kernels(machine.mark)) == 1, "the fresh kernel has ended")
        assert "cancelled" in await server.call("get_run", run_id=run)
        assert (machine.root / "a.ipynb").read_bytes() == before
        # So does an agent that cancels its call.
        waiting = asyncio.create_task(server.call("verify_notebook", confirm=True))
        await until(lambda: len(kernels(machine.mark)) == 2, "the fresh kernel has started")
        waiting.cancel()
        server.notify("notifications/cancelled", {"requestId": server.latest})
        await until(lambda: len(kernels(machine.mark)) == 1, "the fresh kernel has ended")
