"""What the record of changes costs: edits with it and without, in turns; a long history; and the same with outputs to be kept.

`cargo xtask bench history` runs it with the program of the end-to-end tests' environment.
"""

import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import nbformat

from bench.calls.agent import Agent
from bench.timing import middle, timed
from e2e.support.home import Home, new_mark

NOTEBOOK = "history.ipynb"
CELLS = 50
ROUNDS = 300
OPERATIONS = 10_000


def write_notebook(root: Path) -> None:
    cells = []
    for number in range(CELLS):
        output = nbformat.v4.new_output("stream", name="stdout", text="a line of output\n" * 20)
        cells.append(nbformat.v4.new_code_cell(f"print({number})\n" * 10, id=f"c{number}", outputs=[output]))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), root / NOTEBOOK)


def edit(agent: Agent, number: int) -> None:
    given = {"notebook_name": NOTEBOOK, "cell_id": f"c{number % CELLS}", "cell_source": f"x = {number}\n" * 10}
    reply = agent.call("overwrite_cell_source", given)
    assert "overwritten successfully" in reply.text, reply.text


def move(agent: Agent, number: int) -> None:
    given = {"notebook_name": NOTEBOOK, "source_cell_id": f"c{number % CELLS}", "target_index": (number * 7) % CELLS}
    assert "moved" in agent.call("move_cell", given).text


def compare(title: str, agents: dict[str, Agent], change: Callable[[Agent, int], None]) -> None:
    times: dict[str, list[float]] = {name: [] for name in agents}
    for number in range(ROUNDS):
        for name, agent in agents.items():
            times[name].append(timed(lambda agent=agent, number=number: change(agent, number)))
    for name, taken in times.items():
        print(f"| {title}, {name} | {middle(taken, 2)} |")
    recorded, unrecorded = (statistics.median(taken) for taken in times.values())
    print(f"| {title}: with the record it takes | {recorded / unrecorded:.3f} × |")


def main() -> None:
    [program] = sys.argv[1:]
    print("| | ms, p50 / p95 |")
    print("|---|---|")
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:

        def start(name: str, *options: str) -> tuple[Agent, Home]:
            home = Home(Path(temporary) / name)
            root = home.folder / "root"
            root.mkdir(parents=True)
            write_notebook(root)
            command = [program, "--no-browser", *options]
            agent = stack.enter_context(Agent(command, root, home.environment(new_mark())))
            agent.call("use_notebook", {"notebook_path": NOTEBOOK})
            return agent, home

        recording, home = start("recording")
        agents = {"recorded": recording, "not recorded": start("not", "--no-history")[0]}
        compare("overwrite_cell_source", agents, edit)
        compare("move_cell", agents, move)
        for number in range(OPERATIONS):
            edit(recording, number)
        times = [timed(lambda: recording.call("history", {"notebook_name": NOTEBOOK})) for _ in range(40)]
        print(f"| history after {OPERATIONS} operations | {middle(times, 2)} |")
        kept = [path for path in (home.folder / "state/cellbridge/history").rglob("*") if path.is_file()]
        print(f"| its files | {len(kept)}, {sum(path.stat().st_size for path in kept) / 1e6:.1f} MB |")


if __name__ == "__main__":
    main()
