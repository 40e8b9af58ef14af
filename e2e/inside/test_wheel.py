"""The wheel can be published."""

import email
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

WHEEL = Path(os.environ["CELLBRIDGE_E2E_WHEEL"])


@pytest.mark.parametrize(
    "checks",
    [
        pytest.param(["twine", "check", "--strict"], id="its description and metadata can be published"),
        pytest.param(["abi3audit", "--strict"], id="it keeps to the stable ABI of Python 3.10"),
    ],
)
def test_the_wheel_can_be_published(checks: list[str]) -> None:
    checked = subprocess.run([sys.executable, "-m", *checks, str(WHEEL)], capture_output=True, text=True, timeout=120)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_wheel_is_for_python_3_10_and_newer() -> None:
    assert "-cp310-abi3-" in WHEEL.name


def test_the_program_needs_no_other_package() -> None:
    with zipfile.ZipFile(WHEEL) as wheel:
        names = wheel.namelist()
        [metadata] = [wheel.read(name) for name in names if name.endswith(".dist-info/METADATA")]
    required = email.message_from_bytes(metadata).get_all("Requires-Dist")
    # Jupyter Server is an extra, so that `uvx cellbridge` installs nothing else.
    assert required == ["jupyter-server>=2 ; extra == 'jupyter'"]
    # A console script of the program's name would replace it.
    assert not [name for name in names if name.endswith("entry_points.txt")]
