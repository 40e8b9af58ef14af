"""Ten tasks, each with the calls that an agent makes for it, and what its notebook must hold at the end.

The same calls serve `before` and jupyter-mcp-server where both have the tools; `steps` says what differs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.calls.notebooks import Cell, Json, code, markdown, printed, raised

# With all tools; without what saves calls (run, cells, all, only, around, change_cell, edit_cells); jupyter-mcp-server.
Kit = Literal["now", "before", "original"]
KITS: tuple[Kit, ...] = ("now", "before", "original")

Step = tuple[str, Json]


@dataclass
class Task:
    name: str
    steps: dict[Kit, list[Step]]
    # Whether the notebook is as it must be at the end.
    done: Callable[[list[Cell]], bool]
    start: list[Json] | None = None
    # What the model must have read in some reply.
    learns: list[str] = field(default_factory=list)
    shows_image: bool = False


def open_notebook(mode: str = "connect") -> Step:
    # Where the notebook is, the run adds.
    given = {"notebook_name": "task"}
    return "use_notebook", given if mode == "connect" else {**given, "mode": mode}


def insert(index: int, kind: str, source: str) -> Step:
    return "insert_cell", {"cell_index": index, "cell_type": kind, "cell_source": source}


def insert_and_run(index: int, source: str, **more: Any) -> Step:
    return "insert_cell", {"cell_index": index, "cell_type": "code", "cell_source": source, "run": True, **more}


def insert_execute(index: int, source: str) -> Step:
    return "insert_execute_code_cell", {"cell_index": index, "cell_source": source}


def edit(index: int, old: str, new: str, **more: Any) -> Step:
    return "edit_cell_source", {"cell_index": index, "old_string": old, "new_string": new, **more}


def execute(index: int) -> Step:
    return "execute_cell", {"cell_index": index}


def overwrite(index: int, source: str) -> Step:
    return "overwrite_cell_source", {"cell_index": index, "cell_source": source}


def read_cell(index: int) -> Step:
    return "read_cell", {"cell_index": index}


def read(**given: Any) -> Step:
    return "read_notebook", given


def read_theirs(**given: Any) -> Step:
    return "read_notebook", {"notebook_name": "task", **given}


def search(query: str) -> Step:
    return "search_notebook", {"query": query}


def delete(index: int) -> Step:
    return "delete_cell", {"cell_indices": [index]}


def clear(index: int) -> Step:
    return "clear_cell_output", {"cell_index": index}


RUN_ALL: Step = "run_cells", {"all": True}


def sources(cells: list[Cell]) -> list[tuple[str, str]]:
    return [(cell.kind, cell.source) for cell in cells]


def outputs(cells: list[Cell]) -> list[str]:
    return [cell.output.strip() for cell in cells if cell.kind == "code"]


def fix_a_cell() -> Task:
    wrong = "from statistics import mean\nvalues = [3, 1, 4, 1, 5, 9, 2, 6]\nprint(f'mean {mean(value):.2f}')"
    change = (1, "mean(value)", "mean(values)")
    return Task(
        "write, run and fix a cell",
        {
            "now": [open_notebook(), insert_and_run(1, wrong), edit(*change, run=True)],
            "before": [open_notebook(), insert_execute(1, wrong), edit(*change), execute(1)],
            "original": [open_notebook(), insert_execute(1, wrong), edit(*change), execute(1)],
        },
        lambda cells: outputs(cells) == ["mean 3.88"] and not cells[1].errors,
        start=[markdown("# Statistics")],
        learns=["NameError", "mean 3.88"],
    )


BUILT = [
    ("markdown", "# Prime numbers\n\nA sieve, and what it finds."),
    ("code", "limit = 1000"),
    ("markdown", "## The sieve"),
    (
        "code",
        "def sieve(limit):\n    is_prime = [False, False] + [True] * (limit - 1)\n"
        "    for number in range(2, int(limit**0.5) + 1):\n        if is_prime[number]:\n"
        "            is_prime[number * number :: number] = [False] * len(is_prime[number * number :: number])\n"
        "    return [number for number, is_so in enumerate(is_prime) if is_so]",
    ),
    ("code", "primes = sieve(limit)\nlen(primes)"),
    ("markdown", "## Gaps"),
    ("code", "gaps = [b - a for a, b in zip(primes, primes[1:])]\nmax(gaps)"),
    ("code", "from collections import Counter\ncommon = Counter(gaps).most_common(3)\ncommon"),
    ("markdown", "## Twins"),
    ("code", "twins = [(a, b) for a, b in zip(primes, primes[1:]) if b - a == 2]\nlen(twins), twins[-1]"),
]


def build() -> Task:
    one_by_one = [
        insert(index, kind, source) if kind == "markdown" else insert_execute(index, source)
        for index, (kind, source) in enumerate(BUILT)
    ]
    cells = [{"cell_type": kind, "cell_source": source} for kind, source in BUILT]
    return Task(
        "build a notebook of ten cells",
        {
            "now": [open_notebook("create"), ("insert_cell", {"cell_index": 0, "cells": cells, "run": True})],
            "before": [open_notebook("create"), *one_by_one],
            "original": [open_notebook("create"), *one_by_one],
        },
        # jupyter-mcp-server starts a notebook with a cell of its own.
        lambda cells: sources(cells)[:10] == BUILT
        and outputs(cells)[2:6] == ["168", "20", "[(6, 44), (4, 40), (2, 35)]", "(35, (881, 883))"],
        learns=["168", "883"],
    )


def long_notebook() -> list[Json]:
    cells = [markdown("# Orders")]
    for step in range(1, 20):
        cells.append(code(f"total_{step} = sum(range({step}))\ntotal_{step}", printed(f"{step}\n"), count=step))
    failed = raised(
        "KeyError",
        "'totl'",
        "Traceback (most recent call last)",
        "Cell In[14], line 2",
        "      1 order = {'total': 17, 'tax': 3}",
        "----> 2 print(order['totl'] + order['tax'])",
    )
    cells[13] = code("order = {'total': 17, 'tax': 3}\nprint(order['totl'] + order['tax'])", failed, count=14)
    return cells


def find_and_fix() -> Task:
    change = (13, "order['totl']", "order['total']")
    return Task(
        "find and fix an error",
        {
            "now": [open_notebook(), read(only="errors", include_outputs=True), edit(*change, run=True)],
            "before": [open_notebook(), search("Error"), read_cell(13), edit(*change), execute(13)],
            "original": [
                open_notebook(),
                read_theirs(response_format="detailed", limit=0),
                read_cell(13),
                edit(*change),
                execute(13),
            ],
        },
        lambda cells: cells[13].output.strip() == "20" and not cells[13].errors,
        start=long_notebook(),
        learns=["KeyError", "20"],
    )


def chain() -> list[Json]:
    first = [markdown("# Compound interest"), code("rate = 0.02")]
    later = [code(f"year_{year} = {'100' if year == 1 else f'year_{year - 1}'} * (1 + rate)") for year in range(1, 9)]
    return [*first, *later, code("print(round(year_8, 2))")]


def change_a_parameter() -> Task:
    change = (1, "0.02", "0.05")
    runs = [execute(index) for index in range(1, 11)]
    return Task(
        "change a parameter, run everything",
        {
            "now": [open_notebook(), edit(*change), RUN_ALL],
            "before": [open_notebook(), edit(*change), RUN_ALL],
            "original": [open_notebook(), edit(*change), *runs],
        },
        lambda cells: outputs(cells)[-1] == "147.75",
        start=chain(),
        learns=["147.75"],
    )


PLOT = """import struct, zlib
from IPython.display import Image
rows = b"".join(b"\\0" + bytes((x ^ y) & 255 for x in range(256)) for y in range(256))
chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
header = struct.pack(">IIBBBBB", 256, 256, 8, 0, 0, 0, 0)
Image(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))"""


def plot() -> Task:
    return Task(
        "draw a picture and look at it",
        {
            "now": [open_notebook(), insert_and_run(1, PLOT)],
            "before": [open_notebook(), insert_execute(1, PLOT)],
            "original": [open_notebook(), insert_execute(1, PLOT)],
        },
        lambda cells: cells[1].has_image,
        start=[markdown("# A picture")],
        shows_image=True,
    )


def two_hundred() -> list[Json]:
    cells = []
    for index in range(200):
        if index % 4 == 0:
            cells.append(markdown(f"## Part {index}\n\nWhat the next cells are about, in a line or two of *text*."))
        else:
            source = f"values_{index} = [number**2 for number in range({index})]\nprint(values_{index}[:3])"
            cells.append(code(source, printed("[0, 1, 4]\n"), count=index))
    cells[121] = code("def discount(order):\n    return order * 0.9 if order > 100 else order", count=121)
    return cells


def understand() -> Task:
    start = two_hundred()
    return Task(
        "find a function in 200 cells, read around it",
        {
            "now": [
                open_notebook(),
                search("def discount"),
                read(around="121", before=2, after=2, response_format="detailed"),
            ],
            "before": [open_notebook(), search("def discount"), read(start_index=119, limit=5, response_format="detailed")],
            "original": [
                open_notebook(),
                read_theirs(limit=0),
                read_theirs(start_index=119, limit=5, response_format="detailed"),
            ],
        },
        lambda cells: sources(cells) == [(cell["cell_type"], cell["source"]) for cell in start],
        start=start,
        learns=["order * 0.9", "values_119", "values_123"],
    )


def clear_outputs() -> Task:
    start = [markdown("# Report")] + [code(f"print({step})", printed(f"{step}\n"), count=step) for step in range(1, 9)]
    one_by_one = [clear(index) for index in range(1, 9)]
    return Task(
        "clear all outputs",
        {
            "now": [open_notebook(), ("clear_cell_output", {"all": True})],
            "before": [open_notebook(), *one_by_one],
            "original": [open_notebook(), *one_by_one],
        },
        lambda cells: outputs(cells) == [""] * 8,
        start=start,
    )


def split() -> Task:
    first, second = "raw = ['3', '5', '8']\nvalues = [int(text) for text in raw]", "print(sum(values))"
    return Task(
        "split a cell, make a note Markdown",
        {
            "now": [
                open_notebook(),
                read(response_format="detailed"),
                ("change_cell", {"cell_index": 1, "split_at": 3}),
                ("change_cell", {"cell_index": 0, "cell_type": "markdown"}),
            ],
            "before": [
                open_notebook(),
                read(response_format="detailed"),
                overwrite(1, first),
                insert(2, "code", second),
                insert(0, "markdown", "The sum of three readings."),
                delete(1),
            ],
            "original": [
                open_notebook(),
                read_theirs(response_format="detailed"),
                overwrite(1, first),
                insert(2, "code", second),
                insert(0, "markdown", "The sum of three readings."),
                delete(1),
            ],
        },
        lambda cells: sources(cells)
        == [("markdown", "The sum of three readings."), ("code", first), ("code", second)],
        start=[code("The sum of three readings."), code(f"{first}\n{second}")],
    )


def rename() -> Task:
    start = [
        markdown("# Readings"),
        code("x1 = [4, 8, 15]"),
        code("smallest = min(x1)"),
        code("largest = max(x1)"),
        code("print(len(x1), smallest, largest, sum(x1))"),
    ]
    renames = [edit(index, "x1", "readings", replace_all=True) for index in range(1, 5)]
    return Task(
        "rename a variable in four cells, run",
        {
            "now": [
                open_notebook(),
                ("edit_cells", {"rename": "x1", "rename_to": "readings", "run_stale": True}),
            ],
            "before": [open_notebook(), search("x1"), *renames, RUN_ALL],
            "original": [
                open_notebook(),
                read_theirs(response_format="detailed"),
                *renames,
                *[execute(index) for index in range(1, 5)],
            ],
        },
        lambda cells: outputs(cells)[-1] == "3 4 15 27" and not any("x1" in cell.source for cell in cells),
        start=start,
        learns=["3 4 15 27"],
    )


NOISY = "for step in range(5000):\n    print(f'step {step}: ' + ('WARNING: diverged' if step == 3210 else 'ok'))"


def long_output() -> Task:
    # Its `run_id` is that of the reply before.
    find = "get_run", {"output": 0, "pattern": "WARNING"}
    return Task(
        "find one line in 5000 lines of output",
        {
            "now": [open_notebook(), insert_and_run(1, NOISY), find],
            "before": [open_notebook(), insert_execute(1, NOISY), find],
            "original": [open_notebook(), insert_execute(1, NOISY)],
        },
        lambda cells: "step 3210: WARNING: diverged" in cells[1].output and "step 4999" in cells[1].output,
        start=[markdown("# A long run")],
        learns=["step 3210: WARNING: diverged"],
    )


TASKS = [
    fix_a_cell(),
    build(),
    find_and_fix(),
    change_a_parameter(),
    plot(),
    understand(),
    clear_outputs(),
    split(),
    rename(),
    long_output(),
]
