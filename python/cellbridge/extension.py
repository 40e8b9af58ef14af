"""The server extension: its settings, its start and its end."""

from __future__ import annotations

import asyncio
import json
import os
from functools import partial

from jupyter_server.extension.application import ExtensionApp
from jupyter_server.utils import url_path_join
from traitlets import Bool, Float, Int, List, Unicode, default
from traitlets.config import Config

from . import metrics
from ._native import Core, check_tools
from .folders import history_folder
from .handler import McpHandler, ViewDataHandler, ViewHandler
from .managers import connection_file, kernels, notebook_file
from .installed import has_commands, has_rooms
from .private_socket import PrivateSocket
from .websocket import McpSocketHandler, WebSocketRequest


class CellbridgeApp(ExtensionApp):
    """Serves agents at /mcp, over the Model Context Protocol, and their person at /cellbridge/view."""

    name = "cellbridge"

    document_url = Unicode(
        "local", config=True, help="The server of the notebooks; `local` is this one."
    )
    document_token = Unicode(None, allow_none=True, config=True, help="Its token, if it is not this one.")
    document_id = Unicode(None, allow_none=True, config=True, help="The notebook to open first.")
    runtime_url = Unicode(
        "local", config=True, help="The server of the kernels; `local` is this one."
    )
    runtime_token = Unicode(None, allow_none=True, config=True, help="Its token, if it is not this one.")
    runtime_id = Unicode(
        None, allow_none=True, config=True, help="The kernel of the first notebook."
    )
    max_characters = Int(20_000, min=500, config=True, help="Maximum number of characters in one reply.")
    max_images = Int(4, min=0, config=True, help="Maximum number of images in one reply.")
    no_changes = Bool(
        config=True,
        help="Whether replies omit a run's changes in memory [default: $CELLBRIDGE_NO_CHANGES, or False].",
    )
    no_history = Bool(
        config=True,
        help="Whether changes of notebooks are not recorded, so that they cannot be undone [default: "
        "$CELLBRIDGE_NO_HISTORY, or False].",
    )
    execution_timeout = Float(
        50,
        min=0,
        config=True,
        help="Seconds that `execute_cell` waits if the call names no timeout; the run continues.",
    )
    max_execution_timeout = Float(
        3600, min=0, config=True, help="The most seconds that a call waits for a run."
    )
    network_timeout = Float(
        min=0.1,
        max=3600,
        config=True,
        help="Seconds that a server or a connection may be silent before it is given up "
        "[default: $CELLBRIDGE_NETWORK_TIMEOUT, or 30].",
    )
    max_notebooks = Int(
        100, min=1, config=True, help="The most notebooks that one agent's session may have open."
    )
    max_runs = Int(
        100, min=1, config=True, help="The most unfinished runs that one agent's session may have."
    )
    read_only = Bool(
        config=True,
        help="Whether agents may only read, whatever their user may do [default: $CELLBRIDGE_READ_ONLY, or False].",
    )
    tools = List(
        Unicode(),
        config=True,
        help="The only tools that agents may use, as groups (read, edit, run, files, kernels) or by name; all, if the "
        "list is empty [default: $CELLBRIDGE_TOOLS].",
    )
    ask = List(
        Unicode(),
        config=True,
        help="The tools about which the person is asked before each call, as groups (edit, run, files, kernels, delete) or "
        "by name; none, if the list is empty [default: $CELLBRIDGE_ASK].",
    )
    allow_install = Bool(
        config=True,
        help="Whether agents may install packages without the person being asked [default: $CELLBRIDGE_ALLOW_INSTALL, or "
        "False].",
    )
    otel_file = Unicode(
        None,
        allow_none=True,
        config=True,
        help="The file to which OpenTelemetry spans are appended [default: $CELLBRIDGE_OTEL_FILE].",
    )

    _configured = (
        "document_url",
        "document_token",
        "document_id",
        "runtime_url",
        "runtime_token",
        "runtime_id",
        "max_characters",
        "max_images",
        "no_changes",
        "execution_timeout",
        "max_execution_timeout",
        "network_timeout",
        "max_notebooks",
        "max_runs",
        "read_only",
        "tools",
        "ask",
        "allow_install",
        "otel_file",
    )
    _socket: PrivateSocket | None = None
    _core: Core | None = None

    @default("network_timeout")
    def _network_timeout(self) -> float:
        return float(os.environ.get("CELLBRIDGE_NETWORK_TIMEOUT") or 30)

    @default("read_only")
    def _read_only(self) -> bool:
        return _truth("CELLBRIDGE_READ_ONLY")

    @default("no_changes")
    def _no_changes(self) -> bool:
        return _truth("CELLBRIDGE_NO_CHANGES")

    @default("no_history")
    def _no_history(self) -> bool:
        return _truth("CELLBRIDGE_NO_HISTORY")

    @default("tools")
    def _tools(self) -> list[str]:
        return _names("CELLBRIDGE_TOOLS")

    @default("ask")
    def _ask(self) -> list[str]:
        return _names("CELLBRIDGE_ASK")

    @default("allow_install")
    def _allow_install(self) -> bool:
        return _truth("CELLBRIDGE_ALLOW_INSTALL")

    @default("otel_file")
    def _otel_file(self) -> str | None:
        # The second name is that of jupyter-mcp-server.
        return os.environ.get("CELLBRIDGE_OTEL_FILE") or os.environ.get("JUPYTER_MCP_OTEL_FILE") or None

    def initialize_settings(self) -> None:
        # Settings for jupyter-mcp-server: traits of these names mean the same here.
        theirs = self.config.get("JupyterMCPServerExtensionApp", {})
        ours = self.config.get(type(self).__name__, {})
        named = {name.replace("code_sandbox_", "runtime_"): value for name, value in theirs.items()}
        adopted = {name: named[name] for name in self._configured if name in named and name not in ours}
        for name in sorted(named.keys() - adopted.keys() - ours.keys()):
            self.log.warning("JupyterMCPServerExtensionApp.%s has no effect on cellbridge", name)
        if adopted:
            self.update_config(Config({type(self).__name__: adopted}))
        # A misspelled setting must fail now, not when the first agent comes.
        _ = self.read_only, self.allow_install, self.no_changes, self.no_history
        check_tools(self.tools, self.ask)
        if self.otel_file:
            # Fail now if the file cannot be written, not when the first agent comes.
            os.close(os.open(self.otel_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))

    def initialize_handlers(self) -> None:
        # Before the handlers of requests, which have the same path.
        sockets = WebSocketRequest(url_path_join(self.serverapp.base_url, McpSocketHandler.pattern))
        self.serverapp.web_app.add_handlers(".*$", [(sockets, McpSocketHandler, {"extension": self})])
        for handler in (McpHandler, ViewHandler, ViewDataHandler):
            self.handlers.append((handler.pattern, handler, {"extension": self}))

    def core(self) -> Core:
        """The native core; made for the first request, so that an unused extension costs nothing."""
        if self._core is None:
            self._socket = PrivateSocket(self.serverapp)
            config = {trait: getattr(self, trait) for trait in self._configured}
            config |= {"socket": self._socket.address, "base_url": self.serverapp.base_url}
            history = None if self.no_history else history_folder(self.serverapp.root_dir)
            config |= {"history": history and str(history)}
            config |= {"has_rooms": has_rooms(self.serverapp), "has_commands": has_commands(self.serverapp)}
            callbacks = (partial(callback, self.serverapp) for callback in (connection_file, notebook_file, kernels))
            self._core = Core(json.dumps(config), *callbacks)
            metrics.show(self._core)
        return self._core

    async def stop_extension(self) -> None:
        core, socket = self._core, self._socket
        if core is not None:
            metrics.hide(core)
            await core.close(asyncio.get_running_loop())
        if socket is not None:
            await socket.close()


def _truth(variable: str) -> bool:
    """A variable's boolean in any of the spellings that the command line accepts."""
    text = os.environ.get(variable, "")
    match text.strip().lower():
        case "1" | "true" | "t" | "yes" | "y" | "on" | "enable" | "enabled":
            return True
        case "" | "0" | "false" | "f" | "no" | "n" | "off" | "disable" | "disabled" | "none" | "null":
            return False
        case _:
            raise ValueError(f"{variable} is {text!r}, neither true nor false")


def _names(variable: str) -> list[str]:
    """The names that a variable holds, separated by commas."""
    names = os.environ.get(variable, "").strip()
    return names.split(",") if names else []
