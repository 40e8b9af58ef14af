"""Small notebooks as an agent writes them, with their edits, from a table."""

import tomllib
from pathlib import Path

import nbformat

from bench.judgement.edits import Edit
from bench.judgement.packages import KERNELSPEC, Example

LIST = Path(__file__).parent / "small.toml"


def small_examples(cache: Path) -> list[tuple[Example, list[Edit]]]:
    """Each notebook in a folder with its files, written anew as the table says."""
    return [prepare(entry, cache) for entry in tomllib.loads(LIST.read_text())["notebook"]]


def prepare(entry: dict, cache: Path) -> tuple[Example, list[Edit]]:
    name = f"small/{entry['name']}"
    folder = cache / "notebooks" / name
    folder.mkdir(parents=True, exist_ok=True)
    cells = [nbformat.v4.new_code_cell(source, id=f"cell-{at}") for at, source in enumerate(entry["cells"])]
    metadata = nbformat.from_dict({"kernelspec": KERNELSPEC})
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), folder / "notebook.ipynb")
    for file, text in entry.get("files", {}).items():
        (folder / file).write_text(text)
    edits = [Edit(name, at.get("cell", -1), at["old"], at["new"], "chosen", at.get("file", "")) for at in entry["edits"]]
    return Example(name, folder / "notebook.ipynb", cache / "runs"), edits
