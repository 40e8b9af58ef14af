"""What several test files share."""

from collections.abc import Iterator

import pytest

from server import page_server


@pytest.fixture(scope="session")
def page_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of the https server that has the stand-in page."""
    with page_server(tmp_path_factory.mktemp("page")) as port:
        yield port
