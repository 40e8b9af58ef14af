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

NOTEBOOK = "startup.ipynb"
# How long the processes may take to end, in seconds.
ENDING = 60.0
# The hash at the end of a name, those of crates within one, and the numbers that the compiler appends change with each release.
CHANGING = re.compile(r"(?<=17h)[0-9a-f]{16}E.*|(?<=Cs)[0-9A-Za-z]+(?=_)|\.[0-9]+$")
HEADER = """/* Written by `cargo xtask startup`: the functions that a start and a first run use. The system makes a program's file
   resident in blocks of 64 KiB, so these functions, scattered, would make most of it resident. */
"""


def used(program: str, folder: Path, *, runs_code: bool) -> list[set[str]]:
    """The functions that the program uses and, if it runs code, those that the keeper of its kernel uses."""
    home = Home(folder / "home")
    root = home.folder / "root"
    root.mkdir(parents=True)
    environment = home.environment(new_mark())
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/calls.%p", "--demangle=no"]
    command += ["--trace-children=yes", "--trace-children-skip=*/python*", program, "--no-browser"]
    with Agent(command, root, environment) as agent:
        agent.tools()
        if runs_code:
            agent.call("use_notebook", {"notebook_path": NOTEBOOK, "mode": "create"})
            reply = agent.call("execute_code", {"code": "1 + 2"})
            assert "3" in reply.text, reply.text
    subprocess.run([program, "kernels", "stop", "--all"], cwd=root, env=environment, check=True)
    # A process writes what it has called when it ends.
    arguments, end = ["--no-browser", *["keep"] * runs_code], time.monotonic() + ENDING
    while True:
        written = [path.read_text() for path in folder.glob("calls.*")]
        found = [next((calls for calls in written if is_whole(calls, last)), None) for last in arguments]
        if None not in found:
            return [functions(calls) for calls in found if calls]
        assert time.monotonic() < end, f"not all of {arguments} have ended"
        time.sleep(0.1)


def is_whole(calls: str, last_argument: str) -> bool:
    return re.search(rf"^cmd:.* {last_argument}\n(?s:.*)^totals:", calls, re.MULTILINE) is not None


def functions(calls: str) -> set[str]:
    """The symbols of Rust functions in what the tool has written."""
    names = re.findall(r"^c?fn=\(\d+\) (\S+?)(?:'\d+)?$", calls, re.MULTILINE)
    return {CHANGING.sub("*", name) for name in names if name.startswith(("_ZN", "_R"))}


def main() -> None:
    program, script = sys.argv[1:]
    with tempfile.TemporaryDirectory() as temporary:
        [start] = used(program, Path(temporary) / "start", runs_code=False)
        run, keeper = used(program, Path(temporary) / "run", runs_code=True)
    names = ["main", *sorted(start & keeper), *sorted(start - keeper), *sorted(keeper - start), *sorted(run - keeper - start)]
    # The compiler puts functions that it takes to be unlikely, such as the growth of a table, into sections of their own.
    sections = "".join(f"    *(.text*.{name})\n" for name in names)
    Path(script).write_text(f"{HEADER}SECTIONS {{\n  .text.startup : {{\n{sections}  }}\n}}\nINSERT BEFORE .text;\n")
    print(f"{script}: {len(names)} functions")


if __name__ == "__main__":
    main()
