"""Requests of code in a kernel to the page: a message on the IOPub channel, and an answer on that for input."""

import time
import uuid
from typing import Any

import zmq
from IPython import get_ipython

_PAUSE = 0.02


class MessageError(Exception):
    """The page has answered with an error."""


def notify(kind: str, request: Any) -> None:
    """Sends a request that has no answer."""
    _send(kind, request, {})


def ask(kind: str, request: Any = None, timeout: float | None = None) -> Any:
    """Sends a request, and waits for the answer; without a timeout, for ever."""
    identity = str(uuid.uuid4())
    _send(kind, request, {"colab_msg_id": identity})
    end = None if timeout is None else time.monotonic() + timeout
    while end is None or time.monotonic() < end:
        if (value := _received(identity)) is None:
            time.sleep(_PAUSE)
        elif "error" in value:
            raise MessageError(value["error"])
        else:
            return value.get("data")
    raise TimeoutError(f"no answer to {kind} within {timeout} s")


def _send(kind: str, request: Any, metadata: dict[str, str]) -> None:
    kernel = get_ipython().kernel
    # The client whose code runs, but no id: the message does not belong to a cell.
    parent = {"header": {"session": kernel.shell.parent_header["header"]["session"]}}
    kernel.session.send(
        kernel.iopub_socket,
        "colab_request",
        {"request": request},
        parent=parent,
        metadata={"colab_request_type": kind, **metadata},
    )


def _received(identity: str) -> dict[str, Any] | None:
    """The answer, if it has come. Others are dropped."""
    kernel = get_ipython().kernel
    try:
        parts = kernel.stdin_socket.recv_multipart(zmq.NOBLOCK)
    except zmq.Again:
        return None
    _, parts = kernel.session.feed_identities(parts)
    message = kernel.session.deserialize(parts)
    value = message["content"].get("value")
    is_answer = message["header"]["msg_type"] == "input_reply" and isinstance(value, dict)
    is_ours = is_answer and value.get("type") == "colab_reply" and value.get("colab_msg_id") == identity
    return value if is_ours else None
