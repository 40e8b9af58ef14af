"""A run from top to bottom in a fresh kernel, by nbclient: what each cell gives, and what each variable holds before and after it."""

import ast
import asyncio
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError

from bench.judgement.fork_server import KERNEL
from bench.judgement.outputs import canonical, plain

PROBE = (Path(__file__).parent / "probe.py").read_text()
MODULE = f"""
import sys, types
probe = types.ModuleType('_bench_probe')
exec({PROBE!r}, vars(probe))
sys.modules['_bench_probe'] = probe
"""
BEGIN = f"exec({MODULE!r}, {{}})"
ASK = "__import__('json').dumps(__import__('_bench_probe').digests(globals(), set(get_ipython().user_ns_hidden)))"
COUNT_ON = "__import__('_bench_probe').count_on()"
CELL_TIMEOUT = 120

Digests = dict[str, str | None]


@dataclass
class Cell:
    """A code cell of a fresh run. The digests are those of all variables."""

    before: Digests
    after: Digests
    raw: list[Any]
    source: str = ""

    @cached_property
    def outputs(self) -> list[Any]:
        """Of a kept run as well in the form that is compared today."""
        return canonical(self.raw)


Run = dict[int, Cell]


def run(notebook: nbformat.NotebookNode, folder: Path, environment: dict[str, str], *, counts_on: bool = False) -> Run:
    """Runs all code cells, also below one that fails. The keys are the indices of the cells. With `counts_on`, libraries that name what
    they make by counting start with another number."""
    return asyncio.run(_run(notebook, folder, environment, COUNT_ON if counts_on else ""))


async def _run(notebook: nbformat.NotebookNode, folder: Path, environment: dict[str, str], after_each: str) -> Run:
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        allow_errors=True,
        kernel_name=KERNEL,
        resources={"metadata": {"path": str(folder)}},
    )
    digests: dict[int, tuple[Digests, Digests]] = {}
    async with client.async_setup_kernel(env=environment):
        await ask(client, BEGIN, "0")
        before: Digests = {}
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type != "code":
                continue
            try:
                await client.async_execute_cell(cell, index)
            except CellTimeoutError:
                break
            answer = await ask(client, after_each, ASK)
            after: Digests = json.loads(ast.literal_eval(answer)) if answer else {}
            digests[index] = before, after
            before = after
    # Only now, because a cell can update what one above it displays.
    shown = {index: notebook.cells[index].outputs for index in digests}
    return {index: Cell(*digests[index], plain(shown[index])) for index in digests}


def replay(folder: Path, environment: dict[str, str], actions: list[tuple[Any, ...]]) -> Run:
    """Does what an order of edits and runs does to a kernel. Gives each cell as it was when it last ran since the last restart."""
    parts: list[list[tuple[Any, ...]]] = [[]]
    for action in actions:
        parts.append([]) if action[0] == "restart" else parts[-1].append(action)
    cells: Run = {}
    for part in parts:
        cells = asyncio.run(_replay(folder, environment, part))
    return cells


async def _replay(folder: Path, environment: dict[str, str], actions: list[tuple[Any, ...]]) -> Run:
    notebook = nbformat.v4.new_notebook()
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=CELL_TIMEOUT, allow_errors=True, kernel_name=KERNEL, resources=resources)
    cells: Run = {}
    async with client.async_setup_kernel(env=environment):
        await ask(client, BEGIN, "0")
        before: Digests = {}
        for kind, *given in actions:
            if kind == "write":
                (folder / given[0]).write_text(given[1])
                continue
            cell = nbformat.v4.new_code_cell(given[-1])
            notebook.cells.append(cell)
            await client.async_execute_cell(cell, len(notebook.cells) - 1)
            answer = await ask(client, "", ASK)
            after: Digests = json.loads(ast.literal_eval(answer)) if answer else {}
            if kind == "run":
                cells[given[0]] = Cell(before, after, plain(cell.outputs), given[-1])
            before = after
    return cells


async def ask(client: NotebookClient, source: str, expression: str) -> str | None:
    """Runs silently, so that counts and history stay as they are."""
    assert client.kc
    request = client.kc.execute(source, silent=True, user_expressions={"answer": expression})
    while True:
        reply = await client.kc.get_shell_msg(timeout=CELL_TIMEOUT)
        if reply["parent_header"].get("msg_id") == request:
            break
    answer = reply["content"].get("user_expressions", {}).get("answer", {})
    return answer.get("data", {}).get("text/plain")
