"""Who asks."""

from __future__ import annotations

import re

from jupyter_server.base.handlers import JupyterHandler


def user_key(handler: JupyterHandler) -> str:
    """The name of the user. Where there is only a token or a password, Jupyter makes up a name, with the token one for
    each request; whoever knows it is the server's one user."""
    user = handler.current_user
    name = getattr(user, "username", None) or str(user)
    is_made_up = re.fullmatch("[0-9a-f]{32}", name) and getattr(user, "name", "").startswith("Anonymous ")
    return "" if is_made_up else f"user {name}"


def identity(handler: JupyterHandler) -> list[tuple[str, str]]:
    """The request's headers, with the token that may stand in its address instead."""
    headers = list(handler.request.headers.get_all())
    token = handler.get_query_argument("token", "")
    if token and "Authorization" not in handler.request.headers:
        headers.append(("Authorization", f"token {token}"))
    return headers
