"""The interface of all client drivers, whichever SDK is below."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from e2e.support.program import OPEN, TabAddress
from e2e.support.waiting import LONG

# How far, of how much, and a message.
Progress = tuple[float, float | None, str | None]


@dataclass
class Answer:
    """The result of a tool call as the client's SDK understood it."""

    content: list[dict[str, Any]]
    structured: Any = None
    is_error: bool = False
    meta: dict[str, Any] | None = None
    progress: list[Progress] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(block["text"] for block in self.content if block["type"] == "text")

    @property
    def is_connected(self) -> bool:
        """The result of `OPEN`; without a connection it repeats the text, for clients that show nothing else."""
        assert set(self.structured) == ({"result"} if self.structured["result"] else {"result", "message"})
        assert self.structured.get("message", "") in self.text
        return self.structured["result"]

    @property
    def images(self) -> list[dict[str, Any]]:
        return [block for block in self.content if block["type"] == "image"]


class Agent(ABC):
    """A connected MCP client."""

    revision: str

    def __init__(self) -> None:
        self.changes = 0
        # Progress of the latest call, while it runs.
        self.progress: list[Progress] = []
        self._changed = asyncio.Condition()

    @abstractmethod
    async def tools(self) -> list[dict[str, Any]]: ...

    @abstractmethod
    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> Answer: ...

    @abstractmethod
    async def resources(self) -> list[dict[str, Any]]: ...

    @abstractmethod
    async def resource_templates(self) -> list[str]: ...

    @abstractmethod
    async def read_resource(self, uri: str) -> dict[str, Any]: ...

    @abstractmethod
    async def prompt(self, name: str, arguments: dict[str, str]) -> str: ...

    async def tool_names(self) -> set[str]:
        return {tool["name"] for tool in await self.tools()}

    async def tab_address(self) -> TabAddress:
        """Asks the program, started with --no-browser, for the tab's address."""
        answer = await self.call(OPEN, {"timeout_seconds": 0})
        assert answer.is_connected is False, answer
        return TabAddress.parse(answer.text)

    async def note_change(self) -> None:
        async with self._changed:
            self.changes += 1
            self._changed.notify_all()

    async def tools_changed(self, since: int) -> None:
        """Waits for another notification that the tools changed, after `since` earlier ones."""
        async with self._changed, asyncio.timeout(LONG):
            await self._changed.wait_for(lambda: self.changes > since)
