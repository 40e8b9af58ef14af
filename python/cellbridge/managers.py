"""Where the server's kernels listen, and where its files are."""

from __future__ import annotations

import json

from jupyter_client.jsonutil import json_default
from jupyter_server.serverapp import ServerApp
from jupyter_server.services.contents.filemanager import AsyncFileContentsManager, FileContentsManager
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager, LargeFileManager
from jupyter_server.services.kernels.kernelmanager import MappingKernelManager
from tornado.web import HTTPError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Jupyter's own. Other managers may return something else than what their file holds.
FILE_MANAGERS = (AsyncFileContentsManager, AsyncLargeFileManager, FileContentsManager, LargeFileManager)


def connection_file(serverapp: ServerApp, kernel_id: str) -> str | None:
    """The kernel's connection info as JSON; `None` if its sockets are elsewhere, as behind a gateway."""
    manager = serverapp.kernel_manager
    if serverapp.gateway_config.gateway_enabled or kernel_id not in manager:
        return None
    info = manager.get_kernel(kernel_id).get_connection_info()
    if info["transport"] == "tcp" and info["ip"] not in LOOPBACK:
        return None
    return json.dumps(info | {"key": info["key"].decode()})


def kernels(serverapp: ServerApp, _: str) -> str | None:
    """The server's list of kernels as JSON; `None` if they are elsewhere."""
    if serverapp.gateway_config.gateway_enabled or not isinstance(
        serverapp.kernel_manager, MappingKernelManager
    ):
        return None
    return json.dumps(serverapp.kernel_manager.list_kernels(), default=json_default)


def notebook_file(serverapp: ServerApp, path: str) -> str | None:
    """The file at a path below the server's root; `None` if the contents are not plain files."""
    manager = serverapp.contents_manager
    if type(manager) not in FILE_MANAGERS:
        return None
    try:
        return manager._get_os_path(path)
    except HTTPError:
        return None
