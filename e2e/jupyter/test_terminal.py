"""Commands that a person types, on the notebooks of Jupyter servers. Only real servers keep them, and run their kernels."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from e2e.support.collaborator import collaborator
from e2e.support.jupyter_server import TOKEN, JupyterServer
from e2e.support.notebook_files import Json, printed, read_saved, read_whole, sources
from e2e.support.notebook_server import nothing_is_left
from e2e.support.terminal import Cell, Terminal, ended, write
from e2e.support.waiting import until

NEVER_ENDS: Cell = ("import time\nprint('started', flush=True)\nwhile True: time.sleep(0.01)", None)


# What has nothing to do with how the server keeps a notebook.
only_rtc = pytest.mark.parametrize("form", ["rtc"], indirect=True)


@pytest.fixture(scope="module", params=["plain", "rtc"])
def form(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def terminal(jupyter: JupyterServer, tmp_path: Path) -> Any:
    """A terminal whose environment names the server. No kernel stays on it."""
    jupyter.end_kernels()
    terminal = Terminal(tmp_path, JUPYTER_URL=jupyter.url, JUPYTER_TOKEN=TOKEN)
    yield terminal
    nothing_is_left(terminal.mark, terminal.home)
    assert jupyter.kernel_models() == [] and jupyter.sessions() == []


@pytest.fixture
def folder(jupyter: JupyterServer, path: str) -> Path:
    """A folder of this test on the server, with a file that cells read."""
    folder = jupyter.root / Path(path).stem
    folder.mkdir()
    (folder / "data.txt").write_text("beside")
    return folder


def on_server(jupyter: JupyterServer, file: Path) -> str:
    return f"jupyter:{file.relative_to(jupyter.root)}"


def by_source(notebook: Json, source: str) -> Json:
    [found] = [cell for cell in notebook["cells"] if source in "".join(cell["source"])]
    return found


async def test_a_notebook_runs_where_it_is(jupyter: JupyterServer, terminal: Terminal, folder: Path) -> None:
    write(
        folder / "a.ipynb",
        [
            ("n = 1", None, ["parameters"]),
            ("print(n * 2, open('data.txt').read())", None),
            ("1 / 0", None),
            ("3", None),
        ],
    )
    path = on_server(jupyter, folder / "a.ipynb")
    ran = await terminal.run("run", path, "-p", "n=21")
    # Cells have the numbers that the person sees, without the parameter cell.
    assert ran.status == 1 and ran.printed.startswith(f"{path}: 3 of 5 cells ran"), ran.text
    assert (
        "[4/5] cell 3: ZeroDivisionError: division by zero" in ran.complaints
        and "NOT yet on disk" not in ran.complaints
    )
    # What the command says has been stored is stored.
    notebook = read_saved(folder / "a.ipynb")
    assert printed(by_source(notebook, "print")) == "42 beside\n"
    assert by_source(notebook, "1 / 0")["outputs"][0]["ename"] == "ZeroDivisionError"
    assert by_source(notebook, "3")["outputs"] == []
    ran = await terminal.run("run", path, "--until", "c1", "--timeout", "60")
    assert ran.status == 0 and "3 of 3 cells ran" in ran.printed, ran.text
    # What the person changed by this command can be seen and taken back, as what agents do.
    listed = await terminal.run("history", path)
    assert listed.status == 0 and "person cellbridge run" in listed.printed, listed.text
    newest = next(line for line in listed.printed.splitlines() if "checkpoint" not in line).split(" ")[0]
    undone = await terminal.run("undo", path, newest)
    assert undone.status == 0 and "Undone:" in undone.printed, undone.text


@only_rtc
async def test_outputs_go_to_another_notebook_of_the_server(
    jupyter: JupyterServer, terminal: Terminal, folder: Path
) -> None:
    write(folder / "a.ipynb", [("print(open('data.txt').read())", None), ("print(2)", None)])
    before = (folder / "a.ipynb").read_bytes()
    (folder / "results").mkdir()
    source, target = on_server(jupyter, folder / "a.ipynb"), on_server(jupyter, folder / "results/b.ipynb")
    for _ in range(2):
        ran = await terminal.run("run", source, "-o", target)
        assert ran.status == 0 and ran.printed.startswith(f"{target}: 2 of 2 cells ran"), ran.text
        notebook = read_saved(folder / "results/b.ipynb")
        assert [printed(cell) for cell in notebook["cells"][1:]] == ["beside\n", "2\n"]
    assert (folder / "a.ipynb").read_bytes() == before


@only_rtc
async def test_outputs_go_from_the_server_to_this_machine_and_back(
    jupyter: JupyterServer, terminal: Terminal, folder: Path
) -> None:
    write(folder / "a.ipynb", [("print(open('data.txt').read())", None)])
    before = (folder / "a.ipynb").read_bytes()
    ran = await terminal.run("run", on_server(jupyter, folder / "a.ipynb"), "-o", "here.ipynb")
    assert ran.status == 0 and ran.printed.startswith("here.ipynb: 1 of 1 cells ran"), ran.text
    assert printed(read_saved(terminal.root / "here.ipynb")["cells"][1]) == "beside\n"
    # A notebook of this machine runs here, whatever gets its outputs.
    (terminal.root / "data.txt").write_text("here")
    ran = await terminal.run("run", "local:here.ipynb", "-o", on_server(jupyter, folder / "from-here.ipynb"))
    assert ran.status == 0, ran.text
    assert printed(read_saved(folder / "from-here.ipynb")["cells"][1]) == "here\n"
    assert printed(read_saved(terminal.root / "here.ipynb")["cells"][1]) == "beside\n"
    assert (folder / "a.ipynb").read_bytes() == before


@only_rtc
async def test_what_cannot_run_is_said_in_a_line(jupyter: JupyterServer, terminal: Terminal) -> None:
    absent, colab = await asyncio.gather(
        terminal.run("run", "jupyter:absent.ipynb"), terminal.run("run", "https://colab.research.google.com/drive/1")
    )
    elsewhere = await terminal.run("run", "http://127.0.0.1:1/a.ipynb")
    for refused, words in [(absent, "absent.ipynb"), (colab, "a browser tab"), (elsewhere, "--jupyter-url")]:
        assert refused.status == 3 and words in refused.complaints and refused.complaints.count("\n") == 1, refused.text
    verified = await terminal.run("verify", "colab:", "jupyter:absent.ipynb")
    assert verified.status == 3 and verified.printed.count("could not run") == 2, verified.text
    terminal.environment = {}
    nothing = await terminal.run("run", "jupyter:a.ipynb")
    assert nothing.status == 3 and "No Jupyter server" in nothing.complaints, nothing.text


@only_rtc
async def test_a_running_server_is_found(jupyter: JupyterServer, terminal: Terminal, folder: Path) -> None:
    write(folder / "a.ipynb", [("print(1)", "1\n")])
    terminal.environment = {"JUPYTER_RUNTIME_DIR": str(jupyter.runtime)}
    verified = await terminal.run("verify", on_server(jupyter, folder / "a.ipynb"))
    assert verified.status == 0 and "1 of 1 cells identical" in verified.printed, verified.text


@only_rtc
async def test_an_interrupted_run_leaves_no_kernel(jupyter: JupyterServer, terminal: Terminal, folder: Path) -> None:
    """With each signal that ends a program, this is shown in `local/`."""
    write(folder / "a.ipynb", [NEVER_ENDS])
    path = on_server(jupyter, folder / "a.ipynb")
    running = await terminal.start("run", path)
    await until(lambda: printed(read_whole(folder / "a.ipynb")["cells"][1]) == "started\n", "the cell runs")
    running.send_signal(signal.SIGTERM)
    assert (await ended(running)).status == 130 and jupyter.kernel_models() == []
    cell = read_saved(folder / "a.ipynb")["cells"][1]
    assert printed(cell) == "started\n" and cell["outputs"][-1]["ename"] == "KeyboardInterrupt"
    (folder / "started").unlink(missing_ok=True)
    write(folder / "b.ipynb", [("open('started', 'w').close()\nwhile True: pass", "")])
    running = await terminal.start("verify", on_server(jupyter, folder / "b.ipynb"))
    await until((folder / "started").exists, "the cell runs")
    running.send_signal(signal.SIGTERM)
    verified = await ended(running)
    assert verified.status == 3 and "it was interrupted" in verified.printed and jupyter.kernel_models() == []


@only_rtc
async def test_each_notebook_gets_the_verdict_that_it_deserves(
    jupyter: JupyterServer, terminal: Terminal, folder: Path
) -> None:
    stories: dict[str, tuple[list[Cell], list[str]]] = {
        "same": ([("print(open('data.txt').read())", "beside\n")], ["identical"]),
        "stale": ([("print(2)", "1\n"), ("import random\nprint(random.random())", "0.5\n")], ["stale", "not_deterministic"]),
        "fails": ([("print(x)", "1\n"), ("2", None)], ["failed", "not_run"]),
    }
    before = {}
    for name, (cells, _) in stories.items():
        write(folder / f"{name}.ipynb", cells)
        before[name] = (folder / f"{name}.ipynb").read_bytes()
    paths = {name: on_server(jupyter, folder / f"{name}.ipynb") for name in stories}
    verified = await terminal.run("verify", "--json", *paths.values())
    assert verified.status == 2, verified.text
    assert verified.complaints.splitlines() == [f"cellbridge: {path}: kernel: python3" for path in paths.values()]
    found = {each["path"]: [cell["verdict"] for cell in each["cells"]] for each in json.loads(verified.printed)}
    assert found == {paths[name]: verdicts for name, (_, verdicts) in stories.items()}
    assert {name: (folder / f"{name}.ipynb").read_bytes() for name in stories} == before
    applied = await terminal.run("verify", "--apply", paths["stale"])
    assert applied.status == 1 and printed(read_saved(folder / "stale.ipynb")["cells"][1]) == "2\n", applied.text


@only_rtc
async def test_people_see_the_outputs_come(jupyter: JupyterServer, terminal: Terminal, folder: Path) -> None:
    write(folder / "a.ipynb", [NEVER_ENDS])
    async with collaborator(jupyter, str((folder / "a.ipynb").relative_to(jupyter.root))) as other:
        before = other.sources
        running = await terminal.start("run", on_server(jupyter, folder / "a.ipynb"), "--timeout", "2")
        await other.sees(lambda: "started" in str(other.cells[1]["outputs"].to_py()), "the output")
        assert (await ended(running)).status == 1 and other.sources == before == sources(read_whole(folder / "a.ipynb"))
