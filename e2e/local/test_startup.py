"""The start of a server in a folder: no kernel before the first run, and an answer whatever is missing."""

import os
import subprocess
from pathlib import Path

import pytest

from e2e.support import wine
from e2e.support.home import Home, new_mark
from e2e.support.notebook_server import launch
from e2e.support.processes import kernels
from e2e.support.program import Launch, program
from e2e.support.stdio_client import StdioClient, stdio_client
from e2e.support.waiting import LONG


async def test_no_kernel_is_started_before_the_first_run_and_each_notebook_has_one(home: Home, tmp_path: Path) -> None:
    mark = new_mark()
    async with stdio_client(launch(tmp_path, home, mark=mark)) as server:
        await server.initialize()
        await server.call("use_notebook", notebook_path="a.ipynb", mode="create")
        await server.call("read_notebook")
        assert kernels(mark) == []
        for _ in range(3):
            await server.call("use_notebook", notebook_path="a.ipynb")
            await server.call("execute_code", code="1")
        assert len(kernels(mark)) == 1
        assert "Its kernel" in await server.call("unuse_notebook", notebook_name="a.ipynb")
        nothing_but(server, mark)


def nothing_but(server: StdioClient, mark: str) -> None:
    """The kernel is gone, and the server is not."""
    assert kernels(mark) == []
    assert server.process.returncode is None


def _without_python(home: Home, tmp_path: Path) -> dict[str, str]:
    environment = home.environment(new_mark())
    environment.pop("VIRTUAL_ENV")
    (tmp_path / "programs").mkdir()
    return {**environment, "PATH": str(tmp_path / "programs"), "JUPYTER_DATA_DIR": str(tmp_path / "data")}


@pytest.mark.parametrize("lacking", ["nothing", "a readable folder", "any Python", "a home"])
async def test_initialize_is_answered_whatever_is_missing(lacking: str, home: Home, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir(mode=0 if lacking == "a readable folder" else 0o755)
    environment = home.environment(new_mark())
    if lacking == "any Python":
        environment = _without_python(home, tmp_path)
    elif lacking == "a home":
        environment = {"PATH": os.defpath, "HOME": "/nowhere"}
    start = Launch(("--no-browser", "--root", str(root)), environment, command=(), folder=tmp_path)
    async with stdio_client(start) as server:
        assert (await server.initialize())["serverInfo"]["name"] == "cellbridge"
        assert len((await server.ask("tools/list", {}))["tools"]) > 20
        listed = await server.call("list_files")
        assert ("cannot be listed" in listed) == (lacking == "a readable folder")
        server.end_input()
        assert await server.ended() == 0
    root.chmod(0o755)


def test_a_missing_folder_is_reported_at_once(tmp_path: Path) -> None:
    absent = str(tmp_path / "absent")
    ended = subprocess.run([program(), "--root", absent], input=b"", capture_output=True, timeout=LONG, check=False)
    assert wine.status(ended.returncode) == 1
    assert absent in ended.stderr.decode() and ended.stderr.count(b"\n") == 1
