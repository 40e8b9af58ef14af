"""The modules that runs load from files that belong to no package."""

import hashlib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from e2e.support.memory_handler import Memory

# Long before anything here.
OLD = 1_000_000_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    known = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def write(file: Path, text: str, changed: float = OLD) -> int:
    """Returns the digest of the text."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    os.utime(file, (changed, changed))
    importlib.invalidate_caches()
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def told(memory: Memory) -> tuple[dict[str, Any], dict[str, int]]:
    memory.ran()
    changes = memory.changes()
    return changes["loaded"], changes["changed_files"]


def test_a_run_has_loaded_what_it_imports_and_reloads(folder: Path) -> None:
    memory = Memory()
    helpers, part = folder / "helpers.py", folder / "pack/part.py"
    digest, of_part, of_pack = write(helpers, "A = 1"), write(part, "B = 1"), write(folder / "pack/__init__.py", "")
    module = importlib.import_module("helpers")
    importlib.import_module("pack.part")
    importlib.import_module("wave")
    assert told(memory) == (
        {"helpers": [str(helpers), digest], "pack": [str(part.parent / "__init__.py"), of_pack], "pack.part": [str(part), of_part]},
        {},
    )
    assert told(memory) == ({}, {}), "nothing else was loaded"
    edited = write(helpers, "A = 22", OLD + 10)
    assert told(memory) == ({}, {"helpers": edited})
    importlib.reload(module)
    assert told(memory) == ({"helpers": [str(helpers), edited]}, {})
    importlib.reload(module)
    assert told(memory) == ({"helpers": [str(helpers), edited]}, {}), "though its file is the same"
    del sys.modules["helpers"]
    importlib.import_module("helpers")
    assert told(memory)[0] == {"helpers": [str(helpers), edited]}
    helpers.unlink()
    assert told(memory) == ({}, {"helpers": 0})


def test_a_file_that_was_put_back_is_as_it_was_loaded(folder: Path) -> None:
    memory = Memory()
    digest = write(folder / "helpers.py", "A = 1")
    importlib.import_module("helpers")
    told(memory)
    write(folder / "helpers.py", "A = 2", OLD + 10)
    told(memory)
    write(folder / "helpers.py", "A = 1", OLD + 20)
    assert told(memory) == ({}, {"helpers": digest})


def test_autoreload_loads_again_without_a_new_spec(folder: Path) -> None:
    memory = Memory()
    mtimes: dict[str, float] = {}
    reloader = SimpleNamespace(_reloader=SimpleNamespace(modules_mtimes=mtimes))
    memory.shell.magics_manager = SimpleNamespace(registry={"AutoreloadMagics": reloader})  # type: ignore[attr-defined]
    write(folder / "helpers.py", "A = 1")
    importlib.import_module("helpers")
    told(memory)
    mtimes["helpers"] = float(OLD)
    assert told(memory) == ({}, {}), "it has only looked at the file"
    edited = write(folder / "helpers.py", "A = 22", OLD + 10)
    mtimes["helpers"] = OLD + 10.0
    assert told(memory) == ({"helpers": [str(folder / "helpers.py"), edited]}, {})


def test_what_the_runs_of_others_have_loaded_is_told_with_the_next_run(folder: Path) -> None:
    memory = Memory()
    digest = write(folder / "helpers.py", "A = 1")
    importlib.import_module("helpers")
    memory.ran(theirs=1)
    memory.ran(ours=1)
    assert memory.changes() == {}
    assert told(memory)[0] == {"helpers": [str(folder / "helpers.py"), digest]}
