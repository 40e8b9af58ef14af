"""Serves an application on a free port of 127.0.0.1, in a thread of the tests."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from e2e.support.waiting import LONG, wait_until


@contextmanager
def serving(application: Starlette) -> Iterator[str]:
    """Yields the address, without a slash at the end."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(application, log_level="warning", access_log=False, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        wait_until(lambda: server.started, lambda: "the stand-in for Google listens")
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(LONG)
