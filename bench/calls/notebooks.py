"""The notebooks that tasks start with, and how to look at those that they leave."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def markdown(source: str) -> Json:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source: str, *outputs: Json, count: int | None = None) -> Json:
    return {
        "cell_type": "code",
        "metadata": {},
        "source": source,
        "execution_count": count,
        "outputs": list(outputs),
    }


def printed(text: str) -> Json:
    return {"output_type": "stream", "name": "stdout", "text": text}


def raised(name: str, value: str, *lines: str) -> Json:
    return {"output_type": "error", "ename": name, "evalue": value, "traceback": [*lines, f"{name}: {value}"]}


def write(path: Path, cells: list[Json]) -> None:
    identified = [{"id": f"cell-{index:04}", **cell} for index, cell in enumerate(cells)]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernelspec, "language_info": {"name": "python"}}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": identified}
    path.write_text(json.dumps(notebook, indent=1) + "\n")


@dataclass
class Cell:
    kind: str
    source: str
    output: str = ""
    has_image: bool = False
    errors: list[str] = field(default_factory=list)


def read(path: Path) -> list[Cell]:
    """The cells that hold something; servers put an empty one into an empty notebook."""
    cells = [_cell(cell) for cell in json.loads(path.read_text())["cells"]]
    return [cell for cell in cells if cell.source]


def _cell(stored: Json) -> Cell:
    cell = Cell(stored["cell_type"], "".join(stored["source"]))
    for output in stored.get("outputs", []):
        data = output.get("data", {})
        cell.output += "".join(output.get("text", "")) + "".join(data.get("text/plain", ""))
        cell.has_image |= "image/png" in data
        if output["output_type"] == "error":
            cell.errors.append(output["ename"])
    return cell
