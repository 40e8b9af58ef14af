"""The calls that the scripted model makes, one in each turn, and what the program has to send for each."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NOTEBOOK = "notes.ipynb"
_PLOT = "import matplotlib.pyplot as plt\nplt.plot([3, 1, 4, 1, 5])\nplt.show()\n"
# Another picture: one that was sent before is only named.
_FAILED_PLOT = "plt.plot([2, 7, 1, 8, 2])\nplt.show()\nraise ValueError('after the plot')"


@dataclass
class Step:
    name: str
    tool: str
    arguments: dict[str, Any]
    # What the reply must hold, or the step shows nothing.
    texts: list[str] = field(default_factory=list)
    images: int = 0


STEPS = [
    Step("plot", "execute_code", {"code": _PLOT, "timeout": 100}, images=1),
    Step(
        "failed run with plot",
        "execute_code",
        {"code": _FAILED_PLOT, "timeout": 100},
        ["FAILED", "after the plot"],
        images=1,
    ),
    Step(
        "30 000 characters",
        "execute_code",
        {"code": "for line in range(600):\n    print(f'{line:4} ' + chr(97 + line % 26) * 44)", "timeout": 100},
        ["get_run"],
    ),
    Step("still running", "execute_code", {"code": "import time\ntime.sleep(600)", "timeout": 1}, ["get_run"]),
    Step(
        "refused edit",
        "overwrite_cell_source",
        {"notebook_name": NOTEBOOK, "cell_index": 0, "cell_source": "x = 2", "if_revision": "00000000"},
        ["x = 1  # as it is now"],
    ),
    Step(
        "Colab not connected",
        "open_colab_browser_connection",
        {"timeout_seconds": 0},
        ["https://colab.research.google.com/"],
    ),
]

# What a person asks first.
FIRST_STEPS = [
    Step("create", "use_notebook", {"notebook_path": "hello.ipynb", "mode": "create"}, ["hello.ipynb"]),
    Step("run", "insert_execute_code_cell", {"cell_index": -1, "cell_source": "print(6 * 7)", "timeout": 100}, ["42"]),
]

# A client that is started twice in a row. Between the starts a file ends the cell that runs.
GATE = "gate"
_LONG_CELL = (
    f"print('started', flush=True)\nimport pathlib, time\nwhile not pathlib.Path('{GATE}').exists(): time.sleep(0.01)\n"
)
BEFORE = [
    Step("create", "use_notebook", {"notebook_path": "kept.ipynb", "mode": "create"}, ["kept.ipynb"]),
    Step("set a variable", "execute_code", {"code": "x = 41", "timeout": 100}, ["COMPLETED"]),
    Step(
        "start a long cell",
        "insert_execute_code_cell",
        {"cell_index": -1, "cell_source": f"{_LONG_CELL}print('ended')", "timeout": 1},
        ["started", "STILL RUNNING"],
    ),
]
AFTER = [
    Step(
        "open again",
        "use_notebook",
        {"notebook_path": "kept.ipynb"},
        ["from an earlier server", "From an earlier server: run", "completed"],
    ),
    Step("use the variable", "execute_code", {"code": "[1, x]", "timeout": 100}, ["[1, 41]"]),
    Step("read the long cell", "read_cell", {"cell_index": 0}, ["started", "ended"]),
]


def write_notebook(folder: Path) -> None:
    """The notebook whose edit is refused."""
    cell = {
        "id": "first",
        "cell_type": "code",
        "metadata": {},
        "source": "x = 1  # as it is now",
        "execution_count": None,
        "outputs": [],
    }
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    (folder / NOTEBOOK).write_text(json.dumps(notebook))
