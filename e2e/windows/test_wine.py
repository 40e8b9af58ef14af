"""The program for Windows under wine, with a kernel for Windows: `cargo xtask platforms windows --run`.

wine says nothing about access control lists, reserved names, consoles and virus scanners.
"""

import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from e2e.support.program import Launch, program
from e2e.support.stdio_client import StdioClient, stdio_client
from e2e.support.waiting import LONG, until
from e2e.support.wine import FOLDER, of_windows, on_windows

pytestmark = pytest.mark.skipif(FOLDER not in os.environ, reason="only `cargo xtask platforms windows --run` has wine")


@dataclass
class Machine:
    root: Path
    launch: Launch

    @property
    def connection_files(self) -> list[Path]:
        return list((self.root.parent / "run").glob("kernel-*.json"))

    @property
    def kernels(self) -> list[int]:
        """The processes of kernels, which have the path of a connection file of this machine."""
        mark = self.root.parent.name.encode()
        found = []
        for entry in Path("/proc").iterdir():
            try:
                command = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            except OSError:
                continue
            if b"deno.exe" in command and mark in command:
                found.append(int(entry.name))
        return found


@pytest.fixture
def machine() -> Iterator[Machine]:
    shared = Path(os.environ[FOLDER])
    with TemporaryDirectory(dir=shared) as name:
        folder = Path(name)
        root = folder / "work"
        root.mkdir()
        kernelspec = folder / "jupyter/kernels/deno/kernel.json"
        kernelspec.parent.mkdir(parents=True)
        argv = [on_windows(shared / "deno.exe"), "jupyter", "--kernel", "--conn", "{connection_file}"]
        kernelspec.write_text(
            json.dumps({"argv": argv, "display_name": "Deno", "language": "typescript", "interrupt_mode": "message"})
        )
        environment = {
            **os.environ,
            "JUPYTER_PATH": on_windows(folder / "jupyter"),
            "JUPYTER_RUNTIME_DIR": on_windows(folder / "run"),
        }
        yield Machine(root, Launch(command=(), options=("--root", on_windows(root)), environment=environment))


@asynccontextmanager
async def agent(machine: Machine) -> AsyncIterator[StdioClient]:
    async with stdio_client(machine.launch) as client:
        await client.initialize()
        yield client


async def open_notebook(client: StdioClient) -> None:
    answer = await client.call("use_notebook", notebook_path="a.ipynb", mode="create", kernel_name="deno")
    assert "a.ipynb" in answer, answer
    # Deno's kernel sometimes loses the result of its first request.
    await client.call("execute_code", code="0")


async def test_code_runs_and_the_notebook_is_saved(machine: Machine) -> None:
    async with agent(machine) as client:
        await open_notebook(client)
        answer = await client.call("insert_execute_code_cell", cell_source="[6 * 7, Deno.build.os]", cell_index=0)
        assert "42" in answer
        assert "windows" in answer
        stored = (machine.root / "a.ipynb").read_text()
        assert "6 * 7" in stored
        assert "windows" in stored
        answer = await client.call("insert_execute_code_cell", cell_source="Deno.cwd()", cell_index=1)
        assert "work" in answer
        assert "?" not in answer


async def test_an_interrupt_reaches_the_kernel(machine: Machine) -> None:
    async with agent(machine) as client:
        await open_notebook(client)
        # An interrupt does not end what Deno only waits for.
        run = "while (true) {}"
        assert "STILL RUNNING" in await client.call("execute_code", code=run, timeout=1)
        answer = await client.call("interrupt_kernel")
        assert "interrupt" in answer.lower()
        assert "42" in await client.call("execute_code", code="6 * 7")


@pytest.mark.parametrize(
    "path",
    ["..\\x.ipynb", "C:\\windows\\x.ipynb", "C:x.ipynb", "\\x.ipynb", "nul.ipynb", "a.ipynb:b.ipynb", "x.ipynb."],
)
async def test_paths_that_lead_elsewhere_are_refused(machine: Machine, path: str) -> None:
    async with agent(machine) as client:
        answer = await client.call("use_notebook", notebook_path=path, mode="create")
        assert "cannot be used" in answer, answer
    assert not list(machine.root.iterdir())


async def test_an_absolute_path_inside_is_the_same_notebook(machine: Machine) -> None:
    async with agent(machine) as client:
        await client.call("use_notebook", notebook_path="a.ipynb", mode="create")
        absolute = on_windows(machine.root / "A.IPYNB").lower()
        answer = await client.call("use_notebook", notebook_path=absolute)
        assert "a.ipynb" in answer
        assert "\\\\?" not in answer
    assert [path.name for path in machine.root.iterdir()] == ["a.ipynb"]


async def test_a_kernel_ends_with_its_server(machine: Machine) -> None:
    async with agent(machine) as client:
        await open_notebook(client)
        await until(lambda: machine.kernels, "the kernel runs")
        client.process.kill()
        await client.process.wait()
        await until(lambda: not machine.kernels, "the system ends the kernel")
        [left] = machine.connection_files
    async with agent(machine) as client:
        await client.call("use_notebook", notebook_path="a.ipynb", kernel_name="deno")
        await client.call("execute_code", code="0")
        assert left not in machine.connection_files
        client.end_input()
        assert await client.ended() == 0
    assert machine.connection_files == []
    await until(lambda: not machine.kernels, "the kernel has ended")


def run(machine: Machine, *arguments: str) -> str:
    """What the program prints until it ends."""
    command = [program(), *arguments]
    given = {"cwd": machine.root, "env": machine.launch.environment, "stdin": subprocess.DEVNULL, "timeout": LONG}
    return subprocess.run(command, check=False, capture_output=True, **given).stdout.decode()


def test_clients_are_configured_and_taken_back(machine: Machine) -> None:
    # wine lets no variable say where the user's folders are.
    rows = json.loads(run(machine, "status", "--json"))
    cursor, vscode = (of_windows(row["file"]) for row in rows if row["id"] in {"cursor", "vscode"})
    assert cursor.parts[-2:] == (".cursor", "mcp.json")
    assert vscode.parts[-5:] == ("AppData", "Roaming", "Code", "User", "mcp.json")
    cursor.unlink(missing_ok=True)
    vscode.parent.mkdir(parents=True, exist_ok=True)
    before = b'{\r\n  "servers": {\r\n    "other": { "command": "x" } // mine\r\n  }\r\n}\r\n'
    vscode.write_bytes(before)

    run(machine, "install", "cursor", "vscode")
    entry = json.loads(cursor.read_text())["mcpServers"]["cellbridge"]
    assert entry["command"].startswith("Z:\\")
    assert entry["command"].endswith("\\cellbridge.exe")
    assert entry["args"] == ["--root", on_windows(machine.root)]
    assert b'"other": { "command": "x" }, // mine\r\n' in vscode.read_bytes()
    said = run(machine, "status")
    for file in ("\\.cursor\\mcp.json", "\\Code\\User\\mcp.json"):
        [line] = [line for line in said.splitlines() if file in line]
        assert entry["command"] in line
        assert "does not exist" not in line

    run(machine, "uninstall", "cursor", "vscode")
    assert not cursor.exists()
    assert vscode.read_bytes() == before
    vscode.unlink()
