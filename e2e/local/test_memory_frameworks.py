"""The memory handler on arrays of jax. Those of torch are checked by hand: see `support/frameworks.py`."""

import subprocess
import sys

from e2e.support.program import REPOSITORY


def test_arrays_of_jax_are_described() -> None:
    checked = [sys.executable, "-m", "e2e.support.frameworks", "jax"]
    done = subprocess.run(checked, cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
