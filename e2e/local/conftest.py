"""What the tests of a folder share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support.kept_kernels import Machine
from e2e.support.notebook_server import nothing_is_left
from e2e.support.terminal import Terminal


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine for one test, on which no kernel is left."""
    machine = Machine(tmp_path)
    yield machine
    machine.end()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal of a person, whose commands leave nothing behind."""
    terminal = Terminal(tmp_path)
    yield terminal
    nothing_is_left(terminal.mark, terminal.home)
