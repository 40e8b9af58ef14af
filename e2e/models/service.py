"""A model service on loopback that answers each request with the next call of the scenario.

It speaks the streamed form of the OpenAI Responses API and of the Anthropic Messages API. A request holds the whole
conversation, so the number of tool results in it says which step comes next.
"""

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any

from e2e.models.scenario import Step

Json = dict[str, Any]
SERVER = "mcp__cellbridge"


@dataclass
class Arrived:
    """A tool result as the client shows it to its model."""

    text: str
    images: list[str] = field(default_factory=list)


class ModelService:
    """Makes these calls within the block; `arrived` holds the results by step."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self.arrived: dict[int, Arrived] = {}
        self._lock = Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "ModelService":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def missing(self) -> list[str]:
        """What the model was not shown of what the steps need."""
        missing = []
        for number, step in enumerate(self._steps):
            shown = self.arrived.get(number)
            if not shown:
                missing.append(f"{step.name}: the call was not made")
            else:
                lost = [text for text in step.texts if text not in shown.text]
                missing += [f"{step.name}: {text!r} is not in {shown.text!r}" for text in lost]
        return missing

    def answer(self, path: str, request: Json) -> list[Json]:
        """The events of the answer to a model request."""
        if path.endswith("/responses"):
            results = _codex_results(request)
            self._keep(results)
            return _codex_events(len(results), self._next(len(results)))
        results = _claude_results(request)
        self._keep(results)
        # A client also asks for titles and the like, without tools.
        has_tools = any(str(tool.get("name", "")).startswith(SERVER) for tool in request.get("tools", []))
        return _claude_events(len(results), self._next(len(results)) if has_tools else None, request.get("model", ""))

    def _next(self, done: int) -> Step | None:
        return self._steps[done] if done < len(self._steps) else None

    def _keep(self, results: list[Arrived]) -> None:
        with self._lock:
            for step, result in enumerate(results):
                # As it was first shown: clients shorten old results.
                self.arrived.setdefault(step, result)


def _handler(service: ModelService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._reply(404, "text/plain", b"")

        def do_HEAD(self) -> None:
            self._reply(200, "text/plain", b"")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.split("?")[0]
            if not path.endswith(("/responses", "/messages")):
                self._reply(404, "text/plain", b"")
                return
            events = service.answer(path, request)
            lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
            self._reply(200, "text/event-stream", "".join(lines).encode())

        def _reply(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            pass

    return Handler


def _codex_results(request: Json) -> list[Arrived]:
    outputs = [item["output"] for item in request["input"] if item.get("type") == "function_call_output"]
    return [_content(output, "input_text", lambda block: block.get("image_url", "")) for output in outputs]


def _claude_results(request: Json) -> list[Arrived]:
    contents = [message["content"] for message in request["messages"] if isinstance(message["content"], list)]
    blocks = [block for content in contents for block in content if block["type"] == "tool_result"]
    return [_content(block.get("content", ""), "text", lambda block: block["source"]["data"]) for block in blocks]


def _content(content: Any, text_type: str, image_data: Any) -> Arrived:
    if isinstance(content, str):
        return Arrived(content)
    texts = [block["text"] for block in content if block["type"] == text_type]
    images = [image_data(block) for block in content if "image" in block["type"]]
    return Arrived("\n".join(texts), images)


def _codex_events(number: int, step: Step | None) -> list[Json]:
    if step:
        item = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "namespace": SERVER,
            "name": step.tool,
            "arguments": json.dumps(step.arguments),
        }
    else:
        content = [{"type": "output_text", "text": "That was all."}]
        item = {"type": "message", "role": "assistant", "id": "msg", "content": content}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return [
        {"type": "response.created", "response": {"id": f"resp_{number}"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": f"resp_{number}", "usage": usage}},
    ]


def _claude_events(number: int, step: Step | None, model: str) -> list[Json]:
    if step:
        reason, name = "tool_use", f"{SERVER}__{step.tool}"
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}
    else:
        reason = "end_turn"
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": "That was all."}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": []}
    stopped = {"stop_reason": None, "stop_sequence": None}
    return [
        {"type": "message_start", "message": {**message, **stopped, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {**stopped, "stop_reason": reason}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
