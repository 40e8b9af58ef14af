"""The wheel can be published."""

import os
import subprocess
import sys
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
