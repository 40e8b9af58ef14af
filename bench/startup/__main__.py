"""Finds the functions that a start and a first run use, and writes them as a script for the linker, which puts them next to each
other.

`cargo xtask startup` runs it with a program that has its symbols.
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.calls.agent import Agent
from e2e.support.home import Home, new_mark
from e2e.support.processes import marked

NOTEBOOK = "startup.ipynb"
# How long the keeper may take to end, in seconds.
ENDING = 60.0
# The hash at the end of a name, those of crates within one, and the numbers that the compiler appends change with each release.
CHANGING = re.compile(r"(?<=17h)[0-9a-f]{16}E.*|(?<=Cs)[0-9A-Za-z]+(?=_)|\.[0-9]+$")
HEADER = """/* Written by `cargo xtask startup`: the functions that a start and a first run use. The system makes a program's file
   resident in blocks of 64 KiB, so these functions, scattered, would make most of it resident. */
"""


def calls(program: str, folder: Path, *, runs_code: bool) -> set[str]:
    """The functions that a start uses and, if it runs code, that a first run and the keeper of its kernel use."""
    home = Home(folder / "home")
    root = home.folder / "root"
    root.mkdir(parents=True)
    mark = new_mark()
    environment = home.environment(mark)
    traced = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/calls.%p", "--demangle=no"]
    traced += ["--trace-children=yes", "--trace-children-skip=*/python*", program, "--no-browser"]
    with Agent(traced, root, environment) as agent:
        agent.tools()
        if runs_code:
            agent.call("use_notebook", {"notebook_path": NOTEBOOK, "mode": "create"})
            reply = agent.call("execute_code", {"code": "1 + 2"})
            assert "3" in reply.text, reply.text
    subprocess.run([program, "kernels", "stop", "--all"], cwd=root, env=environment, check=True)
    # The keeper writes what it has called when it ends.
    end = time.monotonic() + ENDING
    while marked(mark):
        assert time.monotonic() < end, "the keeper did not end"
        time.sleep(0.1)
    written = list(folder.glob("calls.*"))
    assert len(written) >= 1 + runs_code, written
    return set[str]().union(*(functions(one.read_text()) for one in written))


def functions(calls: str) -> set[str]:
    """The symbols of Rust functions in what the tool has written."""
    names = re.findall(r"^c?fn=\(\d+\) (\S+?)(?:'\d+)?$", calls, re.MULTILINE)
    return {CHANGING.sub("*", name) for name in names if name.startswith(("_ZN", "_R"))}


def main() -> None:
    program, script = sys.argv[1:]
    with tempfile.TemporaryDirectory() as temporary:
        start = calls(program, Path(temporary) / "start", runs_code=False)
        run = calls(program, Path(temporary) / "run", runs_code=True)
    sections = "".join(f"    *(.text.{name})\n" for name in [*sorted(start), *sorted(run - start)])
    Path(script).write_text(f"{HEADER}SECTIONS {{\n  .text.startup : {{\n{sections}  }}\n}}\nINSERT BEFORE .text;\n")
    print(f"{script}: {len(start)} functions of a start, {len(run - start)} of a first run")


if __name__ == "__main__":
    main()
