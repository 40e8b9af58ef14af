"""An agent that counts: what a model would write and read if it made these calls."""

import json
import os
import selectors
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

TIMEOUT = 180.0
# The original does not always end with its input.
ENDING = 5.0


@dataclass
class Cost:
    """What calls cost a model, in calls and bytes."""

    calls: int = 0
    arguments: int = 0
    results: int = 0
    # The results as text, where clients show structured content instead.
    as_text: int = 0
    images: int = 0

    def __iadd__(self, other: "Cost") -> "Cost":
        self.calls += other.calls
        self.arguments += other.arguments
        self.results += other.results
        self.as_text += other.as_text
        self.images += other.images
        return self


@dataclass
class Reply:
    text: str
    images: int


class Agent:
    """A program on stdio. Ending the block ends the program."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.cost = Cost()
        self._number = 0
        self._rest = b""
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        given = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self._ask("initialize", given)
        self._say({"method": "notifications/initialized"})

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def tools(self) -> list[Json]:
        return self._ask("tools/list", {})["tools"]

    def call(self, tool: str, given: Json) -> Reply:
        """Calls a tool. Of a result with structured content a client shows its model that alone, and the images."""
        result = self._ask("tools/call", {"name": tool, "arguments": given})
        text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
        shown = text
        if result.get("structuredContent") is not None:
            shown = compact(result["structuredContent"])
        images = [block["data"] for block in result["content"] if block["type"] == "image"]
        self.cost += Cost(
            calls=1,
            arguments=len(tool) + len(compact(given).encode()),
            results=len(shown.encode()),
            as_text=len(text.encode()),
            images=sum(len(data) * 3 // 4 for data in images),
        )
        return Reply(shown, len(images))

    def _ask(self, method: str, params: Json) -> Json:
        self._number += 1
        self._say({"id": self._number, "method": method, "params": params})
        while True:
            message = json.loads(self._line())
            if message.get("id") == self._number and "method" not in message:
                assert "result" in message, message
                return message["result"]

    def _say(self, message: Json) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def _line(self) -> bytes:
        assert self._process.stdout
        end = time.monotonic() + TIMEOUT
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                assert ready.select(max(0.0, end - time.monotonic())), "no answer in time"
                more = os.read(self._process.stdout.fileno(), 1 << 16)
                assert more, "the program ended"
                self._rest += more
        line, self._rest = self._rest.split(b"\n", 1)
        return line


def compact(value: Any) -> str:
    """JSON as short as a model can write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
