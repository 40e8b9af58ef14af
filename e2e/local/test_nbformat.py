"""Every notebook of the model's corpus, changed and written by the model, as Python's nbformat sees it."""

import json
import os
import subprocess
import warnings
from pathlib import Path

import nbformat
import pytest

from e2e.support.program import REPOSITORY

CORPUS = sorted((REPOSITORY / "crates/notebook/tests/corpus").glob("*.ipynb"))

CHANGES = [
    *("source", "sources", "insert", "delete", "empty", "move"),
    *("outputs", "clear", "types", "metadata", "kernel"),
]
SEVERAL = ["insert", "move", "outputs", "delete", "sources", "types", "metadata", "kernel"]

# What these hold is invalid in itself, and the model neither drops nor invents what it does not understand. A change
# that happens to remove the invalid part may well make such a file valid.
INVALID = {
    "attachments-on-code": "nbformat allows attachments on Markdown and raw cells only",
    "ids-in-4.4": "ids came with 4.5; the file keeps both its version and its ids",
    "mime-lists": "a list in text/plain holds a number",
    "missing-cell-type": "the kind of cell is unknown",
    "unknown-cell-key": "a cell has a member that nbformat does not know",
    "unknown-cell-type": "a cell has a type that nbformat does not know",
    "unknown-output-key": "an output has a member that nbformat does not know",
    "unknown-output-type": "an output has a type that nbformat does not know",
    "unknown-top-level-key": "the notebook has a member that nbformat does not know",
}

# As Jupyter would have written them: whatever is touched, the whole file must be as Jupyter would write it then.
CLEAN = ["another-language", "clean-4.0", "clean-4.4", "clean-4.5", "clean-outputs", "empty-notebook", "minor-6"]


@pytest.fixture(scope="module")
def touch() -> Path:
    """The program that changes a notebook file with the model and nothing else."""
    path = Path(os.environ.get("CELLBRIDGE_E2E_TOUCH", REPOSITORY / "target/debug/examples/touch"))
    assert path.is_file(), f"{path} is missing: `cargo xtask e2e` builds it"
    return path


def changed(touch: Path, path: Path, folder: Path, *changes: str) -> bytes:
    written = folder / "written.ipynb"
    subprocess.run([touch, path, written, *changes], check=True)
    return written.read_bytes()


def validate(text: bytes) -> None:
    """Fails unless the notebook is valid as it stands, without any of the repairs that nbformat warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nbformat.validate(json.loads(text))
    notebook = json.loads(text)
    ids = [cell["id"] for cell in notebook["cells"] if "id" in cell]
    assert len(ids) == len(set(ids))
    if (notebook["nbformat"], notebook["nbformat_minor"]) >= (4, 5):
        assert len(ids) == len(notebook["cells"])


@pytest.mark.parametrize("path", CORPUS, ids=[path.stem for path in CORPUS])
def test_written_notebooks_are_valid(touch: Path, path: Path, tmp_path: Path) -> None:
    assert changed(touch, path, tmp_path) == path.read_bytes()
    for changes in [*([change] for change in CHANGES), SEVERAL]:
        text = changed(touch, path, tmp_path, *changes)
        if text == path.read_bytes():
            continue
        if path.stem not in INVALID:
            validate(text)
            nbformat.reads(text.decode(), as_version=4)


@pytest.mark.parametrize("name", sorted(INVALID))
def test_a_file_listed_as_invalid_is_invalid(touch: Path, name: str, tmp_path: Path) -> None:
    [path] = [path for path in CORPUS if path.stem == name]
    with pytest.raises(nbformat.ValidationError):
        validate(changed(touch, path, tmp_path, "insert"))


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_file_is_written_as_jupyter_writes_it(touch: Path, name: str, tmp_path: Path) -> None:
    [path] = [path for path in CORPUS if path.stem == name]
    for changes in [*([change] for change in CHANGES), SEVERAL]:
        text = changed(touch, path, tmp_path, *changes)
        again = tmp_path / "jupyter.ipynb"
        nbformat.write(nbformat.from_dict(json.loads(text)), again)
        assert text == again.read_bytes(), changes


@pytest.mark.parametrize("name", ["nbformat-3-outputs", "nbformat-3-simple", "nbformat-3-prompt-float"])
def test_nbformat_3_is_converted_as_jupyter_converts_it(touch: Path, name: str, tmp_path: Path) -> None:
    [path] = [path for path in CORPUS if path.stem == name]
    ours = nbformat.reads(changed(touch, path, tmp_path, "kernel").decode(), as_version=4)
    theirs = nbformat.reads(path.read_text(), as_version=4)
    for cell in [*ours.cells, *theirs.cells]:
        del cell["id"]
    assert ours.cells == theirs.cells
    assert ours.nbformat_minor == theirs.nbformat_minor
