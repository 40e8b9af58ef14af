"""Ten tasks with three sets of tools on one kind of Jupyter server, and two days in a folder: calls, and bytes that a model writes and
reads.

`cargo xtask bench calls` runs it with the program, the original, and the variables of the end-to-end tests. `--days` leaves the tasks out,
and `--beside PROGRAM` spends the days with another build, too.
"""

import argparse
import os
import re
import tempfile
import time
from pathlib import Path

from bench.calls.agent import Agent, Cost, Json, compact
from bench.calls.days import DAYS, spend
from bench.calls.notebooks import read, write
from bench.calls.tasks import KITS, TASKS, Kit, Task
from e2e.support.jupyter_server import JupyterServer, jupyter_server

# jupyter-collaboration writes the file about a second after an edit.
SAVED = 20.0
TITLES = {"now": "now", "before": "before", "original": "jupyter-mcp-server"}


def command(kit: Kit, server: JupyterServer, program: str, original: str) -> list[str]:
    # With a slash at the end the original asks for `//api`.
    url = server.url.rstrip("/")
    address = ["--transport", "stdio", "--jupyter-url", url, "--jupyter-token", server.token]
    if kit == "original":
        return [original, *address, "--start-new-code-sandbox", "true"]
    return [program, "jupyter", *address]


def perform(task: Task, kit: Kit, server: JupyterServer, launch: list[str]) -> tuple[Cost, int]:
    """Does a task in a notebook of its own; what it cost, and the size of the tool list."""
    # Of the same length for all.
    name = f"task{TASKS.index(task)}{kit[0]}.ipynb"
    path = server.root / name
    if task.start is not None:
        write(path, task.start)
    environment = {**os.environ, **server.home.environment(server.mark)}
    replies = []
    with Agent(launch, server.root, environment) as agent:
        listed = size_of(agent.tools())
        for tool, given in task.steps[kit]:
            named = {"notebook_path": name} if tool == "use_notebook" else {}
            if tool == "get_run":
                named["run_id"] = re.findall(r"\brun (r\d+\S*)", replies[-1].text)[-1]
            replies.append(agent.call(tool, {**given, **named}))
        seen = "\n".join(reply.text for reply in replies)
        missing = [text for text in task.learns if text not in seen]
        assert not missing, f"{task.name}, {kit}: the model has not read {missing} in {seen}"
        assert not task.shows_image or any(reply.images for reply in replies), f"{task.name}, {kit}: no image"
        wait_until_done(task, kit, path, seen)
    server.end_kernels()
    return agent.cost, listed


def wait_until_done(task: Task, kit: Kit, path: Path, seen: str) -> None:
    end = time.monotonic() + SAVED
    while True:
        try:
            cells = read(path)
            if task.done(cells):
                return
        except (OSError, ValueError, IndexError) as problem:
            cells = problem
        assert time.monotonic() < end, f"{task.name}, {kit}: the notebook holds {cells}; the replies were {seen}"
        time.sleep(0.1)


def size_of(tools: list[Json]) -> int:
    """What a client shows its model of the tools."""
    shown = [{name: tool.get(name) for name in ("name", "description", "inputSchema")} for tool in tools]
    return len(compact(shown).encode())


def figures(cost: Cost) -> str:
    return f"{cost.calls} | {cost.arguments:,} | {cost.results:,}".replace(",", " ")


def compare_days(programs: list[str]) -> None:
    print("| day | program | calls | written | read | tokens read | images |\n|---" + "|---" * 6 + "|")
    for day in DAYS:
        for program in programs:
            cost = spend(day, program)
            print(f"| {day.name} | {program} | {figures(cost)} | {cost.results // 4:,} | {cost.images:,} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("original")
    parser.add_argument("--days", action="store_true", help="leave the ten tasks out")
    parser.add_argument("--beside", help="another build of the program")
    given = parser.parse_args()
    if not given.days:
        compare_tasks(given.program, given.original)
    compare_days([given.program, *([given.beside] if given.beside else [])])


def compare_tasks(program: str, original: str) -> None:
    totals: dict[Kit, Cost] = {kit: Cost() for kit in KITS}
    lists: dict[Kit, int] = {}
    print(f"| task | {' | '.join(f'{TITLES[kit]}: calls | written | read' for kit in KITS)} |")
    print("|---" * 10 + "|")
    with tempfile.TemporaryDirectory() as folder, jupyter_server("rtc", Path(folder) / "server") as server:
        for task in TASKS:
            row = []
            for kit in KITS:
                cost, lists[kit] = perform(task, kit, server, command(kit, server, program, original))
                totals[kit] += cost
                row.append(figures(cost))
            print(f"| {task.name} | {' | '.join(row)} |", flush=True)
    print(f"| **all ten** | {' | '.join(figures(totals[kit]) for kit in KITS)} |")
    # `before` is the program of now, whose list holds what it must not use.
    listed = {**{kit: f"{lists[kit]:,}".replace(",", " ") for kit in KITS}, "before": "–"}
    print(f"| the tool list, once | {' | '.join(f' | | {listed[kit]}' for kit in KITS)} |")
    images = ", ".join(f"{TITLES[kit]} {totals[kit].images}" for kit in KITS)
    texts = ", ".join(f"{TITLES[kit]} {totals[kit].as_text}" for kit in KITS)
    print(f"\nBytes of images, not counted above: {images}")
    print(f"Bytes read if clients showed the text of results that have structured content: {texts}")


if __name__ == "__main__":
    main()
