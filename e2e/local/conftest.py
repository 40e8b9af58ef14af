"""What the tests of a folder share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support.kept_kernels import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine for one test, on which no kernel is left."""
    machine = Machine(tmp_path)
    yield machine
    machine.end()
