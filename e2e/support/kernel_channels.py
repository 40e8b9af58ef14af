"""Another client's connection to a kernel of a Jupyter server, as JupyterLab makes one."""

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from e2e.support.jupyter_server import JupyterServer

# https://jupyter-server.readthedocs.io/en/latest/developers/websocket-protocols.html
PROTOCOL = Subprotocol("v1.kernel.websocket.jupyter.org")


@asynccontextmanager
async def listener(server: JupyterServer, kernel: str, channel: str = "shell") -> AsyncIterator[None]:
    """A connection to a kernel that has received a reply; a busy kernel replies on the control channel only."""
    session = uuid.uuid4().hex
    url = f"{server.url.replace('http', 'ws', 1).rstrip('/')}/api/kernels/{kernel}/channels?session_id={session}"
    headers = {"Authorization": f"token {server.token}"}
    async with connect(
        url, subprotocols=[PROTOCOL], additional_headers=headers, max_size=None, max_queue=None
    ) as channels:
        await channels.send(_frame(channel, "kernel_info_request", session))
        async for frame in channels:
            if b'"kernel_info_reply"' in frame:
                break
        yield


def _frame(channel: str, kind: str, session: str) -> bytes:
    header = {"msg_id": uuid.uuid4().hex, "session": session, "username": "", "msg_type": kind, "version": "5.3"}
    parts = [channel.encode(), *(json.dumps(part).encode() for part in (header, {}, {}, {}))]
    # The offsets of the parts and of the end, behind the number of offsets.
    offsets = [8 * (len(parts) + 2)]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    numbers = [len(offsets), *offsets]
    return b"".join([*(number.to_bytes(8, "little") for number in numbers), *parts])
