"""Notebook files as programs other than ours write and read them."""

import json
import warnings
from pathlib import Path
from typing import Any

import nbformat

from e2e.support.waiting import wait_until

Json = dict[str, Any]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SHOW_PIXEL = f"import base64\nfrom IPython.display import Image, display\ndisplay(Image(base64.b64decode({PIXEL!r})))"


def read_valid(path: Path) -> Json:
    """The notebook in a file, which must be valid as it is, without repairs."""
    return validated(json.loads(path.read_text(encoding="utf-8")))


def validated(content: Json) -> Json:
    with warnings.catch_warnings():
        # Where nbformat would repair something, it warns.
        warnings.simplefilter("error")
        nbformat.validate(nbformat.from_dict(content))
    return content


def read_whole(path: Path) -> Json:
    """The notebook in a file that another program may be writing, which is empty or cut for a moment then."""
    texts: list[str] = []

    def is_whole() -> bool:
        texts.append(path.read_text(encoding="utf-8"))
        try:
            return bool(json.loads(texts[-1]))
        except ValueError:
            return False

    wait_until(is_whole, lambda: f"{path} is whole: {texts[-1][-200:]}")
    return json.loads(texts[-1])


def read_saved(path: Path) -> Json:
    """The valid notebook in a file that a Jupyter server may be saving."""
    return validated(read_whole(path))


def sources(notebook: Json) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"]]


def cell(notebook: Json, reference: str | int) -> Json:
    """The cell at an index, or with an id."""
    if isinstance(reference, int):
        return notebook["cells"][reference]
    [found] = [each for each in notebook["cells"] if each.get("id") == reference]
    return found


def printed(cell: Json, name: str = "stdout") -> str:
    streams = [each for each in cell["outputs"] if each["output_type"] == "stream" and each["name"] == name]
    return "".join("".join(each["text"]) for each in streams)


def write(path: Path, *sources: str) -> list[str]:
    """Writes a notebook with code cells, as Jupyter does; the ids of the cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    nbformat.write(notebook, path)
    return [each["id"] for each in notebook.cells]
