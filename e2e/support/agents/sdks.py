"""The MCP clients of the tests: each official SDK, with each protocol revision it supports."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial

import pytest

from e2e.support.agents.answer import Agent
from e2e.support.agents.node_sdk import node_agent
from e2e.support.agents.python_sdk import python_agent
from e2e.support.program import Launch

LEGACY = "2025-11-25"
MODERN = "2026-07-28"

Connect = Callable[[Launch | str, str], AbstractAsyncContextManager[Agent]]


@dataclass
class Sdk:
    """An SDK, the mode it works in, and the protocol revision that it then negotiates."""

    connect: Connect
    mode: str
    revision: str


typescript_v1 = partial(node_agent, "sdk_v1.mjs")
typescript_v2 = partial(node_agent, "sdk_v2.mjs")
SDKS = {
    "python-legacy": Sdk(python_agent, "legacy", LEGACY),
    "python-auto": Sdk(python_agent, "auto", MODERN),
    "python-modern": Sdk(python_agent, MODERN, MODERN),
    "typescript1-legacy": Sdk(typescript_v1, "legacy", LEGACY),
    "typescript2-legacy": Sdk(typescript_v2, "legacy", LEGACY),
    "typescript2-auto": Sdk(typescript_v2, "auto", MODERN),
    "typescript2-modern": Sdk(typescript_v2, MODERN, MODERN),
}

# Each client once, so that each era goes over each transport, in Python and in TypeScript: what a client says and how it comes
# here meet nowhere in our code.
_ONCE = {
    "python-legacy": "stdio",
    "python-auto": "stdio",
    "python-modern": "http",
    "typescript1-legacy": "http",
    "typescript2-legacy": "stdio",
    "typescript2-auto": "http",
    "typescript2-modern": "stdio",
}
each_client = pytest.mark.parametrize(
    ("sdk", "transport"), [(SDKS[name], transport) for name, transport in _ONCE.items()], ids=map("-".join, _ONCE.items())
)
