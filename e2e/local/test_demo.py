"""`cellbridge demo`, on a machine that has Python and no kernel."""

import base64
import os
import pty
import subprocess
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from e2e.support.home import Home, new_mark
from e2e.support.notebook_server import nothing_is_left
from e2e.support.program import program

# The first demo installs a kernel from the package registry.
INSTALLING = 900.0
WITH_A_KERNEL = 120.0
NOTEBOOK = "cellbridge-demo.ipynb"

pytestmark = [pytest.mark.timeout(INSTALLING + WITH_A_KERNEL), pytest.mark.whole]


@dataclass
class Person:
    """Somebody who has only this program and Python."""

    home: Home
    folder: Path

    def environment(self, mark: str) -> dict[str, str]:
        environment = {**os.environ, **self.home.environment(mark)}
        del environment["VIRTUAL_ENV"]
        # As on a person's machine, Python keeps what it compiles of the packages that are installed.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return environment

    def demo(self, timeout: float) -> subprocess.CompletedProcess[str]:
        mark = new_mark()
        command = [program(), "demo", str(self.folder)]
        done = subprocess.run(
            command,
            env=self.environment(mark),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        nothing_is_left(mark, self.home)
        return done


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return Person(Home(tmp_path_factory.mktemp("home")), tmp_path_factory.mktemp("folder"))


@pytest.fixture(scope="module")
def first(person: Person) -> subprocess.CompletedProcess[str]:
    """The first demo of this person."""
    return person.demo(INSTALLING)


@pytest.mark.lasts(50)
def test_the_demo_prints_every_step_in_plain_text(first: subprocess.CompletedProcess[str]) -> None:
    assert first.returncode == 0, first.stdout + first.stderr
    message = [
        "An agent connects",
        " tools:",
        'agent calls use_notebook(notebook_path="cellbridge-demo.ipynb"',
        "Created cellbridge-demo.ipynb",
        "agent calls execute_cell(",
        "500 walks of 1000 steps",
        "an image for the model: image/png",
        "isError",
        "KeyError",
        "+for steps in distance:",
        "after  1000 steps:",
        "STILL RUNNING",
        "agent calls get_run(",
        "part 8 of 8",
        "is valid and complete",
        '" install\n',
    ]
    end = 0
    for line in message:
        found = first.stdout.find(line, end)
        assert found >= 0, f"{line!r} is not printed after {first.stdout[:end][-200:]!r} in\n{first.stdout}"
        end = found
    assert "\x1b" not in first.stdout + first.stderr
    assert first.stderr == ""


def test_the_demo_says_how_clients_start_the_program(first: subprocess.CompletedProcess[str]) -> None:
    assert program() in first.stdout


def test_the_demo_s_notebook_is_valid(person: Person, first: subprocess.CompletedProcess[str]) -> None:
    assert first.returncode == 0
    notebook = nbformat.read(person.folder / NOTEBOOK, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert {output.output_type for output in outputs} == {"stream", "display_data"}
    [plot] = [output.data["image/png"] for output in outputs if output.output_type == "display_data"]
    assert base64.b64decode(plot).startswith(b"\x89PNG\r\n\x1a\n")
    assert notebook.metadata.language_info.name == "python"


def test_on_a_terminal_the_demo_has_colour_and_a_progress_bar(
    person: Person, first: subprocess.CompletedProcess[str]
) -> None:
    assert first.returncode == 0
    before = (person.folder / NOTEBOOK).read_bytes()
    mark = new_mark()
    ours, theirs = pty.openpty()
    environment = {**person.environment(mark), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    command = [program(), "demo", str(person.folder)]
    with subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as demo:
        os.close(theirs)
        seen = b""
        try:
            while block := os.read(ours, 1 << 16):
                seen += block
        except OSError:
            pass  # Linux says so when the last one has closed the terminal.
        assert demo.wait(WITH_A_KERNEL) == 0, seen.decode()
    nothing_is_left(mark, person.home)
    assert b"\x1b[36m" in seen
    assert b"7/7" in seen
    assert (person.folder / NOTEBOOK).read_bytes() != before, "the notebook of the first demo was not replaced"


def test_a_step_that_fails_fails_the_demo(person: Person, first: subprocess.CompletedProcess[str]) -> None:
    assert first.returncode == 0
    # A kernel that is gone would be installed again.
    [numpy] = person.home.folder.glob("data/**/site-packages/numpy")
    numpy.rename(numpy.with_name("gone"))
    broken = person.demo(WITH_A_KERNEL)
    assert broken.returncode == 1, broken.stdout
    assert "agent calls execute_cell" in broken.stdout
    assert '" install' not in broken.stdout
    assert "execute_cell failed" in broken.stderr and "ModuleNotFoundError" in broken.stderr
