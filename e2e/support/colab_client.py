"""An agent that knows only MCP, working in a notebook."""

import json
from typing import Any

from e2e.support.agents.answer import Agent, Answer


class ColabClient:
    """Short names for the notebook tools; each call must succeed."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def add_code(self, index: int, code: str) -> str:
        given = {"cellIndex": index, "language": "python", "code": code}
        return (await self._do("add_code_cell", given))["newCellId"]

    async def add_text(self, index: int, content: str) -> str:
        return (await self._do("add_text_cell", {"cellIndex": index, "content": content}))["newCellId"]

    async def update(self, cell: str, content: str) -> None:
        await self._do("update_cell", {"cellId": cell, "content": content})

    async def move(self, cell: str, index: int) -> None:
        await self._do("move_cell", {"cellId": cell, "cellIndex": index})

    async def delete(self, cell: str) -> None:
        await self._do("delete_cell", {"cellId": cell})

    async def cells(self, **which: Any) -> list[dict[str, Any]]:
        return (await self._do("get_cells", which))["cells"]

    async def run(self, cell: str) -> list[dict[str, Any]]:
        return (await self._do("run_code_cell", {"cellId": cell}))["outputs"]

    async def run_code(self, code: str) -> list[dict[str, Any]]:
        return await self.run(await self.add_code(0, code))

    async def by_name(self, tool: str, given: dict[str, Any]) -> dict[str, Any]:
        """A tool of the page that is not listed."""
        return await self._do("call_colab_tool", {"name": tool, "arguments": given})

    async def _do(self, tool: str, given: dict[str, Any]) -> dict[str, Any]:
        answer = await self._agent.call(tool, given)
        assert not answer.is_error, answer.text
        return payload(answer)


def payload(answer: Answer) -> dict[str, Any]:
    """A result of the page, from its structured or its text content, which must agree."""
    message = [answer.structured] if answer.structured is not None else []
    message += [json.loads(block["text"]) for block in answer.content]
    assert message, "an empty result"
    assert all(each == message[0] for each in message)
    return message[0]


def printed(outputs: list[dict[str, Any]]) -> str:
    return "".join("".join(each["text"]) for each in outputs if each["output_type"] == "stream")
