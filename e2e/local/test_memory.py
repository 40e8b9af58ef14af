"""The memory handler, in processes of their own: only those need the libraries whose objects it describes, and some libraries start
threads. `cargo xtask e2e -- e2e/memory` runs its tests one by one; arrays of torch are checked by hand (`support/frameworks.py`)."""

import subprocess
import sys

import pytest

from e2e.support.program import REPOSITORY
from e2e.support.waiting import LONG

# Without what the other tests share.
TESTS = ["pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--confcutdir=e2e/memory", "e2e/memory"]


@pytest.mark.parametrize("command", [TESTS, ["e2e.support.frameworks", "jax"]], ids=["tests", "jax"])
@pytest.mark.lasts(20)
def test_the_memory_handler(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=REPOSITORY, capture_output=True, text=True, timeout=LONG, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
