"""`cellbridge run`: a notebook from a terminal. Only a real kernel shows outputs, folders and signals."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from e2e.support import wine
from e2e.support.notebook_files import printed, read_valid, read_whole
from e2e.support.notebook_server import nothing_is_left
from e2e.support.program import Launch
from e2e.support.stdio_client import stdio_client
from e2e.support.terminal import Cell, Terminal, write
from e2e.support.waiting import LONG, until


class Machine(Terminal):
    def write(self, *cells: Cell) -> Path:
        write(self.root / "a.ipynb", list(cells))
        return self.root / "a.ipynb"

    async def run_notebook(self, *arguments: str) -> tuple[int | None, str]:
        """The exit status, and what is printed."""
        ended = await self.run("run", *arguments)
        return ended.status, ended.text


@pytest.fixture
def machine(tmp_path: Path) -> Any:
    machine = Machine(tmp_path)
    yield machine
    nothing_is_left(machine.mark, machine.home)


async def test_a_notebook_runs_to_its_first_error(machine: Machine) -> None:
    path = machine.write(("print('one')", None), ("1 / 0", None), ("print('three')", None))
    status, text = await machine.run_notebook("a.ipynb")
    assert status == 1 and "a.ipynb: 1 of 3 cells ran" in text
    assert "[2/3] cell 2: ZeroDivisionError: division by zero" in text and "Traceback" in text
    cells = read_valid(path)["cells"]
    assert (
        printed(cells[1]) == "one\n"
        and cells[2]["outputs"][0]["ename"] == "ZeroDivisionError"
        and not cells[3]["outputs"]
    )
    status, text = await machine.run_notebook("a.ipynb", "--keep-going")
    assert status == 1 and "2 of 3 cells ran" in text and printed(read_valid(path)["cells"][3]) == "three\n"
    status, text = await machine.run_notebook("a.ipynb", "--until", "1")
    assert status == 0 and "1 of 1 cells ran" in text
    status, text = await machine.run_notebook("a.ipynb", "--from", "nothing")
    assert status == 3 and "no cell nothing" in text
    status, text = await machine.run_notebook("absent.ipynb")
    assert status == 3 and "absent.ipynb" in text


async def test_parameters_and_another_file_leave_the_notebook_as_it_is(machine: Machine) -> None:
    path = machine.write(
        ("n, name = 1, 'x'", None, ["parameters"]), ("print(n * 2, name, open('data.txt').read())", None)
    )
    (machine.root / "data.txt").write_text("beside the notebook")
    (machine.root / "results").mkdir()
    before = path.read_bytes()
    status, _ = await machine.run_notebook("a.ipynb", "-o", "results/b.ipynb", "-p", "n=21", "-p", "name=it's")
    assert status == 0 and path.read_bytes() == before
    cells = read_valid(machine.root / "results/b.ipynb")["cells"]
    assert cells[2]["metadata"]["tags"] == ["injected-parameters"]
    assert printed(cells[3]) == "42 it's beside the notebook\n"


async def test_a_run_ends_with_a_cell_that_asks_the_kernel_to_exit(machine: Machine) -> None:
    """Only a real kernel asks, with a payload of its reply."""
    path = machine.write(("print('one')", None), ("exit()", None), ("print('three')", None))
    status, text = await machine.run_notebook("a.ipynb", "--keep-going")
    assert status == 1 and "cell 2 asked the kernel to exit: the rest did not run" in text, text
    assert not read_valid(path)["cells"][3]["outputs"]


async def test_an_interrupted_run_keeps_what_was_printed(machine: Machine) -> None:
    path = machine.write(("import time\nprint('started', flush=True)\nwhile True: time.sleep(0.01)", None), ("1", None))
    running = await machine.start("run", "a.ipynb")
    await until(lambda: "started" in printed(read_whole(path)["cells"][1]), "the cell runs")
    running.send_signal(signal.SIGINT)
    out, _ = await asyncio.wait_for(running.communicate(), LONG)
    assert wine.status(running.returncode) == 130 and b"0 of 2 cells ran" in out
    cell = read_valid(path)["cells"][1]
    assert printed(cell) == "started\n" and cell["outputs"][-1]["ename"] == "KeyboardInterrupt"
    machine.write(("while True: pass", None))
    status, text = await machine.run_notebook("a.ipynb", "--timeout", "0.5")
    assert status == 1 and "longer than the --timeout" in text
    # A cell that catches the interrupt has not run, either; neither has one that may fail.
    caught = "try:\n    while True: pass\nexcept KeyboardInterrupt: pass"
    for tags in ([], ["raises-exception"]):
        machine.write((caught, None, tags), ("1", None))
        status, text = await machine.run_notebook("a.ipynb", "--timeout", "0.5")
        assert status == 1 and "0 of 2 cells ran" in text, text
    # What comes after the death of a kernel would run without what came before.
    path = machine.write(("import os\nos._exit(1)", None), ("print('next')", None))
    status, text = await machine.run_notebook("a.ipynb", "--keep-going")
    assert status == 1 and not read_valid(path)["cells"][2]["outputs"], text
    machine.write(("input('name? ')", None))
    status, text = await machine.run_notebook("a.ipynb")
    assert status == 1 and "asks for input" in text
    assert json.loads(path.read_text())["nbformat"] == 4


async def test_outputs_that_cannot_be_written_are_no_success(machine: Machine) -> None:
    machine.write(("import os\nos.remove('a.ipynb')", None), ("1", None))
    status, text = await machine.run_notebook("a.ipynb")
    assert status == 3 and "outputs could not be written" in text, text


def make_environment(prefix: Path) -> None:
    """A virtual environment with the packages of the tests."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    [own] = prefix.glob("lib/python3*/site-packages")
    for entry in (Path(sys.prefix) / own.relative_to(prefix)).iterdir():
        if not (own / entry.name).exists():
            (own / entry.name).symlink_to(entry)


async def test_commands_take_the_python_of_the_project_as_agents_do(machine: Machine) -> None:
    project, notebooks = machine.root / "project", machine.root / "project/notebooks"
    make_environment(project / ".venv")
    notebooks.mkdir()
    write(notebooks / "a.ipynb", [("import sys; print(sys.prefix)", None)])
    status, text = await machine.run_notebook("project/notebooks/a.ipynb")
    assert status == 0 and f"kernel: python3, {project}/.venv/bin/python" in text, text
    assert printed(read_valid(notebooks / "a.ipynb")["cells"][1]) == f"{project}/.venv\n"
    (notebooks / ".venv").symlink_to("/nowhere")
    ended = await machine.run("verify", "project/notebooks/a.ipynb")
    assert ended.status == 0 and f"kernel: python3, {project}/.venv/bin/python" in ended.text, ended.text
    assert f"{notebooks}/.venv is not used: it is a link to a folder that does not exist." in ended.text
    launch = Launch(environment=machine.home.environment(machine.mark), command=(), folder=notebooks)
    async with stdio_client(launch) as client:
        await client.initialize()
        opened = await client.call("use_notebook", notebook_path="a.ipynb")
        assert f"{project}/.venv/bin/python" in opened and "/.venv is not used: it is a link" in opened, opened


async def test_kernels_get_no_setting_of_this_program(machine: Machine) -> None:
    machine.environment |= {"OTEL_EXPORTER_OTLP_HEADERS": "key=secret", "JUPYTER_URL": "http://127.0.0.1:1", "MINE": "1"}
    path = machine.write(("import os; print(sorted({'OTEL_EXPORTER_OTLP_HEADERS', 'JUPYTER_URL', 'MINE'} & {*os.environ}))", None))
    status, text = await machine.run_notebook("a.ipynb")
    assert status == 0 and printed(read_valid(path)["cells"][1]) == "['MINE']\n", text
