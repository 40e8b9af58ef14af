"""What else is installed in the server, so that we do not request what it does not have."""

from __future__ import annotations

from jupyter_server.base.handlers import Template404
from jupyter_server.serverapp import ServerApp
from tornado.httputil import HTTPServerRequest

COMMANDS = "https://events.jupyter.org/jupyterlab_command_toolkit/lab_command/v1"


def has_rooms(serverapp: ServerApp) -> bool:
    """Whether the server has live notebooks, of jupyter-collaboration or jupyter-server-documents."""
    return _answers(serverapp, "api/collaboration/session/x") or _answers(serverapp, "api/fileid/index")


def has_commands(serverapp: ServerApp) -> bool:
    """Whether JupyterLab accepts commands through the server's events."""
    return COMMANDS in serverapp.event_logger.schemas


def _answers(serverapp: ServerApp, path: str) -> bool:
    request = HTTPServerRequest("GET", serverapp.base_url + path)
    found = serverapp.web_app.find_handler(request)
    return not issubclass(getattr(found, "handler_class", object), Template404)
