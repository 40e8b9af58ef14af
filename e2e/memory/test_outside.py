"""What an installer is started with leads nowhere into the served folder, as `files::lies_in` decides it for the server."""

from pathlib import Path
from typing import Any

import pytest

from e2e.support.memory_handler import SOURCE

SPACE: dict[str, Any] = {}
exec(SOURCE, SPACE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("work/bin", "other/bin"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "tool").touch(0o755)
    links = {
        "work/bin/out": "../../other/bin/tool",
        "other/bin/in": "../../work/bin/tool",
        "other/linked": f"{tmp_path}/work/bin",
        "work/through": f"{tmp_path}/other/bin",
        "bent": "work/through",
        "loop": "loop",
        "served": "work",
    }
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    return tmp_path


def test_links_into_the_folder_out_of_it_and_through_it_count(folder: Path) -> None:
    lies_in = SPACE["lies_in"]
    inside = ["work/bin/tool", "work/bin/out", "work/none", "other/bin/in", "other/linked/tool", "bent/tool", "loop"]
    for path in [*inside, "other/../work/bin/tool", "served/bin/tool"]:
        for root in ("work", "served"):
            assert lies_in(f"{folder}/{root}", f"{folder}/{path}"), (path, root)
    for path in ["other/bin/tool", "other/none", "works", "none/../other/bin/tool"]:
        assert not lies_in(f"{folder}/work", f"{folder}/{path}"), path
    assert lies_in(f"{folder}/work", "bin/tool")


def test_variables_and_programs_of_the_folder_are_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = f"{folder}/work"
    given = {
        "PATH": f"{work}/bin:bin::{folder}/other/linked:{folder}/other/bin",
        "CONDARC": f"{work}/.condarc",
        "PIP_CONFIG_FILE": f"{work}/pip.conf",
        "PYTHONPATH": "/x",
        "UV_CONFIG_FILE": f"{work}/uv.toml",
        "HOME": work,
        "UV_INDEX_URL": "https://x",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    found = SPACE["variables_outside"]([work])
    kept = {"PATH": f"{folder}/other/bin", "HOME": work, "UV_INDEX_URL": "https://x"}
    assert {name: found.get(name) for name in given} == {**dict.fromkeys(given), **kept}
    packages = SPACE["Packages"]()
    packages.folders = [work]
    assert packages.program("tool") == f"{folder}/other/bin/tool"
    assert packages.uv_config() in (None, "/etc/uv/uv.toml")
