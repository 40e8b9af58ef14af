"""What is known to fail before a run: in the environment of a kernel that does not run, and in one that does."""

import subprocess
import sys
from pathlib import Path

from e2e.support.home import Home
from e2e.support.notebook_client import notebook_client
from e2e.support.notebook_server import NotebookServer, notebook_server

CELLS = [
    "import numpy as np, time\nimport no_such_module",
    "import pandas as pd\ndf = pd.read_csv('smal.csv')",
    "x = np.int(3)\ntime.clock()",
    "print dff",
    "frame.head()\nimport no_such_module.part",
    "x = 1\nreturn x\n%run missing.py",
]
SAME = [
    "cell 0: module `no_such_module` is not installed (also 4)",
    "cell 1: file `smal.csv` does not exist; the nearest is `small.csv`",
    "cell 2: `numpy` has no `int`",
    "cell 2: `time` has no `clock`",
    "cell 5: syntax error in line 2: 'return' outside function",
    "cell 5: file `missing.py` does not exist",
    "Undefined names were not checked: cells 5 may define any name.",
]


async def test_problems_are_found_without_and_with_a_kernel(server: NotebookServer, path: str) -> None:
    (server.root / "small.csv").write_text("a\n1\n")
    async with notebook_client(server, path) as client:
        for source in CELLS:
            await client.insert(source)
        before = (await client.do("read_notebook", only="problems")).text
        assert all(line in before for line in SAME), before
        assert "cell 3: syntax error in line 1: " in before and "KernelSpec" not in before
        await client.run("3", timeout=60)
        running = (await client.do("read_notebook", only="problems")).text
        assert all(line in running for line in SAME), running
        assert "Not installed: no_such_module; read_notebook" in (await client.do("use_notebook", notebook_path=path)).text
        await client.do("delete_cell", cell_indices=[5])
        assert "cell 4: uses frame, which no cell defines" in (await client.do("read_notebook", only="problems")).text
        assert "after needs around" in await client.fails("read_notebook", only="problems", after=2)
        assert "leave out include_outputs" in await client.fails("read_notebook", only="problems", include_outputs=True)


async def test_an_environment_in_the_folder_is_read_and_not_started(home: Home, tmp_path: Path) -> None:
    environment = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    [packages] = (environment / "lib").glob("python*/site-packages")
    for module, source in {"ipykernel/__init__.py": "", "own.py": "there = 1\nopen('started', 'w')"}.items():
        (packages / module).parent.mkdir(exist_ok=True)
        (packages / module).write_text(source)
    python = environment / "bin/python"
    python.unlink()
    python.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    python.chmod(0o755)
    (packages / "sitecustomize.py").write_text(f"open({str(tmp_path / 'started')!r}, 'w')")
    with notebook_server(tmp_path, home) as server:
        async with notebook_client(server, "notebook.ipynb") as client:
            await client.insert("import own, numpy\nown.there, own.missing")
            shown = (await client.do("read_notebook", only="problems")).text
    assert "cell 0: module `numpy` is not installed" in shown and "cell 0: `own` has no `missing`" in shown, shown
    assert "there`" not in shown and not (tmp_path / "started").exists()
