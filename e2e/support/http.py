"""Requests of a person's own programs to servers on loopback."""

import ssl
from typing import Any

import httpx

from e2e.support.waiting import LONG

# Made once: it takes ten times longer than a request.
_TLS = ssl.create_default_context()


def request(method: str, url: str, timeout: float = LONG, **given: Any) -> httpx.Response:
    """A request that shares no connection and no cookie with another."""
    return httpx.request(method, url, verify=_TLS, trust_env=False, timeout=timeout, **given)
