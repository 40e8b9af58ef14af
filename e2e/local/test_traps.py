"""A folder full of traps: before a run that somebody asked for, nothing that lies in it is executed or imported. Only whole processes
show that, for each tool and each command, whatever starts a program for it."""

import asyncio
import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support.agents.python_sdk import python_agent
from e2e.support.home import Home, new_mark
from e2e.support.notebook_files import Json
from e2e.support.program import Launch, program
from e2e.support.stdio_client import stdio_client
from e2e.support.waiting import LONG

# What runs code that somebody asked for.
RUNS = {
    *("execute_cell", "execute_code", "insert_execute_code_cell", "run_cells", "restart_notebook", "verify_notebook"),
    "add_packages",
}
# Commands that run code of the folder because a person asks for it.
RUN_COMMANDS = {"run", "verify", "demo", "help"}
COMMANDS = {
    "history": ["x.ipynb"],
    "diff": ["x.ipynb"],
    "undo": ["x.ipynb", "--preview"],
    "install": ["cursor"],
    "uninstall": ["cursor"],
}
GIVEN = {
    "notebook_path": "x.ipynb",
    "notebook_name": "x.ipynb",
    "path": "data.txt",
    "source_path": "data.txt",
    "target_path": "copy.txt",
    "cell_index": 0,
    "cell_id": "a",
    "cell_source": "1",
    "run_id": "r1",
    "url": "http://127.0.0.1:9",
}
MODULES = [
    *("importlib", "sitecustomize", "usercustomize", "site", "os", "json", "encodings", "ipykernel", "ipykernel_launcher"),
    *("pip", "conftest", "setup", "ipython_config", "jupyter_config", "jupyter_server_config", "cellbridge", "uv"),
]
PROGRAMS = [
    *("python", "python3", "python3.12", "uv", "uvx", "conda", "pixi", "git", "jupyter", "ipython", "pyenv", "node", "npx"),
    *("less", "more", "ps", "lsof", "sh", "bash", "env", "rm", "sleep", "xdg-open", "cellbridge", "claude", "codex"),
]
CELL: Json = {
    "cell_type": "code",
    "id": "a",
    "metadata": {},
    "outputs": [],
    "execution_count": None,
    "source": "import missing",
}


class Traps:
    """The folder. Whatever is executed in it leaves a mark outside."""

    def __init__(self, folder: Path, has_kernel: bool) -> None:
        self.root = folder / "root"
        self.home = Home(folder / "home")
        self.marks = folder / "marks"
        for each in (self.root, self.home.folder, self.marks):
            each.mkdir()
        for name in MODULES:
            (self.root / name).with_suffix(".py").write_text(self._python(name))
        (self.root / "x.pth").write_text(f"import os; {self._python('pth')}\n")
        for name in PROGRAMS:
            self._program(self.root / "bin" / name)
        for name in (".venv", "venv", "env"):
            self._environment(self.root / name, "pyvenv.cfg", has_kernel)
        self._environment(self.root / ".pixi/envs/default", "conda-meta/history", has_kernel)
        for place in ("jupyter", "share/jupyter", ".venv/share/jupyter", ".local/share/jupyter", "."):
            self._kernelspec(self.root / place / "kernels", "trap", [str(self.root / "bin/python3")])
            self._kernelspec(self.root / place / "kernels", "python3", ["python3", "-m", "ipykernel_launcher"])
        (self.root / "pyproject.toml").write_text(
            '[build-system]\nrequires = []\nbuild-backend = "setup"\nbackend-path = ["."]\n[project]\nname = "t"\nversion = "1"\n'
            '[tool.uv]\nmanaged = true\npython-preference = "only-system"\n'
        )
        (self.root / "uv.toml").write_text('python-preference = "only-system"\n')
        (self.root / ".python-version").write_text(f"{self.root}/bin/python3\n")
        (self.root / ".mcp.json").write_text(self._server())
        (self.root / ".cursor").mkdir()
        (self.root / ".cursor/mcp.json").write_text(self._server())
        (self.root / ".git").mkdir()
        (self.root / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (self.root / ".git/config").write_text(f"[core]\n\tfsmonitor = {self.root}/bin/git\n\tpager = {self.root}/bin/less\n")
        (self.root / "data.txt").write_text("text")
        spec = {"name": "trap", "display_name": "Trap", "language": "python"}
        notebook = {"cells": [CELL], "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
        (self.root / "x.ipynb").write_text(json.dumps(notebook))

    def environment(self) -> dict[str, str]:
        """As after the activation of an environment in the folder, with further variables that lead there."""
        variables = {**os.environ, **self.home.environment(new_mark())}
        path = ["bin", "", ".venv/bin", str(self.root / ".venv/bin"), str(self.root / "bin"), variables["PATH"]]
        return {
            **variables,
            "PATH": os.pathsep.join(path),
            "PYTHONPATH": str(self.root),
            "VIRTUAL_ENV": str(self.root / ".venv"),
            "CONDA_PREFIX": str(self.root / ".pixi/envs/default"),
            "JUPYTER_PATH": os.pathsep.join([str(self.root / "jupyter"), "jupyter"]),
        }

    def left(self) -> list[str]:
        return sorted(mark.name for mark in self.marks.iterdir())

    def _python(self, name: str) -> str:
        return f"open({str(self.marks / name)!r}, 'a').write(__name__)"

    def _program(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        name = "-".join(path.relative_to(self.root).parts)
        path.write_text(f'#!/bin/sh\necho "$0 $@" >> "{self.marks}/{name}"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def _environment(self, prefix: Path, sign: str, has_kernel: bool) -> None:
        for name in ("python", "python3", "pip", "uv", "jupyter"):
            self._program(prefix / "bin" / name)
        (prefix / sign).parent.mkdir(parents=True, exist_ok=True)
        (prefix / sign).write_text(
            f"home = {self.root / 'bin'}\ninclude-system-site-packages = true\nversion = 3.12.3\n",
        )
        packages = prefix / "lib/python3.12/site-packages"
        packages.mkdir(parents=True)
        (packages / "x.pth").write_text(f"import os; {self._python('pth')}\n")
        if has_kernel:
            (packages / "ipykernel").mkdir()
            (packages / "ipykernel/__init__.py").write_text(self._python("ipykernel"))

    def _kernelspec(self, folder: Path, name: str, argv: list[str]) -> None:
        resources = folder / name
        resources.mkdir(parents=True)
        spec = {"argv": [*argv, "-f", "{connection_file}"], "display_name": name, "language": "python"}
        (resources / "kernel.json").write_text(json.dumps(spec))

    def _server(self) -> str:
        return json.dumps({"mcpServers": {"cellbridge": {"command": str(self.root / "bin/cellbridge"), "args": []}}})


@pytest.fixture(params=[True, False], ids=["kernel", "no-kernel"])
def traps(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Traps]:
    yield Traps(tmp_path, has_kernel=request.param)


def _given(tool: Json) -> dict[str, Any]:
    """Arguments for what a tool requires."""
    schema = tool["inputSchema"]
    # Nobody comes.
    given = {"timeout_seconds": 0.1} if "timeout_seconds" in schema["properties"] else {}
    for name in schema.get("required", []):
        described = schema["properties"][name]
        kinds = {"integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}
        kind = described.get("type", "string")
        given[name] = GIVEN.get(name, described.get("enum", [kinds.get(kind, "x")])[0])
    return given


@pytest.mark.parametrize("options", [(), ("--read-only",)], ids=["", "read-only"])
async def test_no_tool_but_a_run_executes_anything_of_the_folder(traps: Traps, options: tuple[str, ...]) -> None:
    launch = Launch(options=options, environment=traps.environment(), command=(), folder=traps.root)
    async with stdio_client(launch) as client:
        await client.initialize()
        tools = {tool["name"]: tool for tool in (await client.ask("tools/list", {}))["tools"]}
        called = {name: _given(tool) for name, tool in tools.items() if name not in RUNS}
        assert {"list_kernels", "use_notebook", "read_notebook", "list_files"} <= called.keys()
        # Everything once with nothing open, and once with a notebook.
        for _ in range(2):
            for name, given in called.items():
                await client.call(name, **given)
                assert traps.left() == [], name
            for kernel in ("python3", "trap", "none"):
                await client.call("use_notebook", notebook_path="x.ipynb", kernel_name=kernel)
            await client.call("use_notebook", notebook_path="new.ipynb", mode="create")
        client.end_input()
        await client.ended()
    assert traps.left() == []


async def test_a_run_starts_the_environment_of_the_folder(traps: Traps) -> None:
    """The traps work: what the others do not start is started here."""
    launch = Launch(environment=traps.environment(), command=(), folder=traps.root)
    async with stdio_client(launch) as client:
        await client.initialize()
        await client.call("use_notebook", notebook_path="x.ipynb")
        async with asyncio.timeout(LONG):
            await client.call("execute_code", code="1")
    assert traps.left()


async def test_the_question_before_the_first_run_names_the_interpreter_of_the_folder(traps: Traps) -> None:
    questions: list[str] = []
    launch = Launch(options=("--ask", "run"), environment=traps.environment(), command=(), folder=traps.root)
    async with python_agent(launch, answer=questions.append) as agent:
        await agent.call("use_notebook", {"notebook_path": "x.ipynb"})
        for tool, given in [("execute_cell", {"cell_index": 0}), ("add_packages", {"packages": ["six"]})]:
            assert (await agent.call(tool, given)).is_error and traps.left() == []
    kernel = f"The first run starts the kernel trap ({traps.root}/bin/python3), which lies in the folder."
    assert len(questions) == 2 and all(kernel in question for question in questions), questions


def test_no_command_but_a_run_executes_anything_of_the_folder(traps: Traps) -> None:
    def run(*command: str) -> str:
        ended = subprocess.run(
            [program(), *command],
            cwd=traps.root,
            env=traps.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
        assert traps.left() == [], (command, ended)
        return ended.stdout

    _, _, listed = run("--help").partition("Commands:\n")
    listed, _, _ = listed.partition("\n\n")
    commands = [line.split()[0] for line in listed.splitlines()]
    assert {"doctor", "kernels", "status"} <= set(commands)
    for command in commands:
        if command not in RUN_COMMANDS | {"view"}:
            run(command, *COMMANDS.get(command, []))
    # It serves until it is stopped.
    view = [program(), "view", "--foreground", "--no-browser", "x.ipynb"]
    with subprocess.Popen(view, cwd=traps.root, env=traps.environment(), stdout=subprocess.PIPE, text=True) as viewing:
        assert viewing.stdout and "/view#" in viewing.stdout.readline()
        viewing.terminate()
    assert traps.left() == []
    run("doctor", "--json", "--fix")
    run("kernels", "--json")
