"""How long `uvx` takes from nothing to a first answered tool call, and again when its cache is full.

`cargo xtask bench first-call` runs it with uv, our wheel, and the variables of the end-to-end tests. Both work on one Jupyter
server; they take turns.
"""

import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.calls.agent import Agent
from e2e.support.jupyter_server import JupyterServer, jupyter_server
from e2e.support.program import REPOSITORY

COLD, WARM = 3, 10


@dataclass
class Program:
    title: str
    command: list[str]
    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    size: int = 0
    packages: int = 0


def first_call(program: Program, server: JupyterServer, cache: Path) -> float:
    """Seconds from the start of `uvx` until the tool has answered."""
    environment = {**os.environ, **server.home.environment(server.mark), "UV_CACHE_DIR": str(cache)}
    start = time.monotonic()
    with Agent(program.command, server.root, environment) as agent:
        reply = agent.call("list_files", {})
        seconds = time.monotonic() - start
    assert "known.txt" in reply.text, reply.text
    return seconds


def measure(programs: list[Program], server: JupyterServer, folder: Path) -> None:
    for turn in range(COLD):
        for number, program in enumerate(programs):
            cache = folder / f"cache-{number}-{turn}"
            program.cold.append(first_call(program, server, cache))
            program.size = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
            program.packages = len({file.name for file in cache.rglob("*.dist-info")})
    for _ in range(WARM):
        for number, program in enumerate(programs):
            program.warm.append(first_call(program, server, folder / f"cache-{number}-0"))


def main() -> None:
    uv, wheel = sys.argv[1:]
    original = (REPOSITORY / "e2e/requirements/original.txt").read_text().strip()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with jupyter_server("rtc", folder / "server") as server:
            (server.root / "known.txt").touch()
            # With a slash at the end the original asks for `//api`.
            address = ["--transport", "stdio", "--jupyter-url", server.url.rstrip("/"), "--jupyter-token", server.token]
            uvx = [uv, "tool", "run", "--quiet", "--python", sys.executable, "--from"]
            programs = [
                Program("cellbridge", [*uvx, wheel, "cellbridge", "jupyter", *address]),
                Program("jupyter-mcp-server", [*uvx, original, "jupyter-mcp-server", *address]),
            ]
            measure(programs, server, folder)
    print("| | empty cache | full cache | packages | cache |")
    print("|---|---|---|---|---|")
    for program in programs:
        cold, warm = statistics.median(program.cold), statistics.median(program.warm)
        size = f"{program.size / 1e6:.0f} MB"
        print(f"| {program.title} | {cold:.2f} s | {warm:.2f} s | {program.packages} | {size} |")
    ours, theirs = programs
    ratios = [statistics.median(theirs.cold) / statistics.median(ours.cold)]
    ratios.append(statistics.median(theirs.warm) / statistics.median(ours.warm))
    print(f"| ratio | {ratios[0]:.1f} | {ratios[1]:.1f} | | |")


if __name__ == "__main__":
    main()
