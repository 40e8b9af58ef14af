"""Where the server's kernels listen."""

from __future__ import annotations

import json

from jupyter_server.serverapp import ServerApp

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def connection_file(serverapp: ServerApp, kernel_id: str) -> str | None:
    """What the kernel's connection file says; `None` if its sockets are elsewhere, as behind a gateway."""
    manager = serverapp.kernel_manager
    if serverapp.gateway_config.gateway_enabled or kernel_id not in manager:
        return None
    info = manager.get_kernel(kernel_id).get_connection_info()
    if info["transport"] == "tcp" and info["ip"] not in LOOPBACK:
        return None
    return json.dumps(info | {"key": info["key"].decode()})
