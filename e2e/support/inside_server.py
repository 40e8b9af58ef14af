"""Cellbridge inside Jupyter servers: where its agents go, and which of the tests run there as well."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from e2e.support.http import request
from e2e.support.jupyter_program import jupyter_program
from e2e.support.jupyter_server import JupyterServer
from e2e.support.notebook_server import NotebookServer


@dataclass
class InsideServer:
    """A server's own endpoint, for tests that also take the program at a server."""

    url: str
    root: Path


def inside(server: JupyterServer) -> InsideServer:
    return InsideServer(f"{server.url}mcp?token={server.token}", server.root)


@contextmanager
def program_at(server: JupyterServer, mode: str, home: Path) -> Iterator[NotebookServer | InsideServer]:
    """The program at a server, or the one that is a part of it."""
    if mode == "inside":
        yield inside(server)
        return
    with jupyter_program(server, home) as program:
        yield program


def ask(
    server: JupyterServer, method: str, path: str = "mcp", token: str | None = None, **given: Any
) -> httpx.Response:
    """A request without an MCP client; by default without a token."""
    headers = {"Accept": "application/json, text/event-stream", **given.pop("headers", {})}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return request(method, server.url + path, headers=headers, **given)


def call(server: JupyterServer, tool: str, token: str | None = None, **arguments: object) -> tuple[bool, str]:
    """Calls a tool over plain HTTP; whether it succeeded, and its text."""
    body = {"tool_name": tool, "arguments": arguments}
    answer = ask(server, "POST", "mcp/tools/call", token or server.token, json=body)
    assert answer.status_code == 200, answer.text
    message = answer.json()
    return message["success"], "\n".join(
        block["text"] for block in message["result"]["content"] if block["type"] == "text"
    )


# What our crates log starts with the module, what our Python code logs names the logger, and a traceback the file.
_OWN_LINE = re.compile(
    r"^(?:(?:_native|jupyter|kernel|mcp|rest|telemetry|workspace|ydoc)(?:::\w+)*: "
    r"|\[[A-Z] [^]]* (?:CellbridgeApp|cellbridge)\]"
    r"|\s*File \"[^\"]*/site-packages/cellbridge/\w+\.py\")"
)


def own_lines(log: str) -> list[str]:
    """The lines of a server's log that come from us, wherever the server's environment is."""
    return [line for line in log.splitlines() if _OWN_LINE.match(line)]


def sockets(server: JupyterServer) -> list[Path]:
    """The folders of the private sockets."""
    return [*(server.home.folder / "tmp").glob("cellbridge-*")]
