"""The user who makes a request, with which credential, and what the user may do."""

from __future__ import annotations

import hashlib
import re

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import ensure_async
from tornado import web


def user_key(handler: JupyterHandler) -> str:
    """A key for the user. With a token or a password alone, Jupyter generates a name, with a token even one for each
    request; all who know it are one user."""
    user = handler.current_user
    name = getattr(user, "username", None) or str(user)
    is_generated = re.fullmatch("[0-9a-f]{32}", name) and getattr(user, "name", "").startswith("Anonymous ")
    return "" if is_generated else f"user {name}"


def credential(handler: JupyterHandler) -> str:
    """A key for what the user was recognised by. Tokens of one user may have different rights, so that what was begun with one
    must not go on with another."""
    authorization = handler.request.headers.get("Authorization", "")
    # However it is sent: `Bearer X`, `token X`, `?token=X`.
    token = authorization.split(" ", 1)[-1].strip() or handler.get_query_argument("token", "")
    cookie = "" if token else handler.get_cookie(handler.identity_provider.get_cookie_name(handler), "")
    return hashlib.sha256(f"{token}\n{cookie}".encode()).hexdigest()


def identity(handler: JupyterHandler) -> list[tuple[str, str]]:
    """The request's headers, with the token from its address if that is where it is."""
    headers = list(handler.request.headers.get_all())
    token = handler.get_query_argument("token", "")
    if token and "Authorization" not in handler.request.headers:
        headers.append(("Authorization", f"token {token}"))
    return headers


async def permissions(handler: JupyterHandler) -> tuple[bool, ...]:
    """Whether the authorizer lets this user read, write, execute, and see kernels."""
    own = handler.auth_resource
    # Rust connects to kernels directly, without the handlers that would check this.
    kernels = "kernels"
    actions = (("read", own), ("write", own), ("read", kernels), ("execute", own), ("execute", kernels))
    read, write, sees_kernels, *execute = [
        bool(await ensure_async(handler.authorizer.is_authorized(handler, handler.current_user, *action)))
        for action in actions
    ]
    if not (read or write or all(execute)):
        raise web.HTTPError(403)
    return read, write, all(execute), sees_kernels
