"""Notebooks as JupyterLab makes them, for servers."""

from pathlib import Path

import nbformat

KERNELSPEC = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}


def write_notebook(path: Path, *sources: str) -> list[str]:
    """Writes a notebook with code cells and a kernel's name, so that JupyterLab asks for none; the ids of the cells."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNELSPEC})
    nbformat.write(notebook, path)
    return [cell["id"] for cell in cells]
