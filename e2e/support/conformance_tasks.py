"""The tools that the official conformance suite expects of a server with tasks.

Some are offered by a stand-in Colab page. Those that ask the person are runs of code on a server of notebooks: a proxy before both
servers puts the call of `execute_code` in the place of theirs, and passes everything else on as it is."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from e2e.support.jupyter_server import free_port
from e2e.support.tab_socket import Call, Json, JsonRpcError, Tool
from e2e.support.waiting import LONG, until

NUMBER: Json = {"type": "object", "properties": {"seconds": {"type": "number"}, "label": {"type": "string"}}}
NAME: Json = {"type": "object", "properties": {"name": {"type": "string"}}}
NOTHING: Json = {"type": "object", "properties": {}}
# How long something takes that must become a task, in seconds, also on a busy machine.
A_WHILE = 2.0


def _text(text: str, **more: object) -> Json:
    return {"content": [{"type": "text", "text": text}], **more}


async def _greet(call: Call) -> Json:
    return _text(f"Hello, {call.arguments['name']}!")


async def _slow_compute(call: Call) -> Json:
    await asyncio.sleep(A_WHILE * call.arguments["seconds"])
    return _text("computed")


async def _failing_job(_: Call) -> Json:
    await asyncio.sleep(A_WHILE)
    return _text("it failed", isError=True)


async def _protocol_error_job(_: Call) -> Json:
    await asyncio.sleep(A_WHILE)
    raise JsonRpcError("it broke")


TASK_TOOLS = [
    Tool({"name": name, "description": f"Fixture {name}", "inputSchema": schema}, handle)
    for name, schema, handle in [
        ("greet", NAME, _greet),
        ("slow_compute", NUMBER, _slow_compute),
        ("failing_job", NOTHING, _failing_job),
        ("protocol_error_job", NOTHING, _protocol_error_job),
    ]
]
# After how many seconds a call of a page becomes a task, and a run. Of these, one asks when it is a task already, and one before.
PAGE_WAIT, RUN_WAIT = 0.3, 4
ASKING = {
    "confirm_delete": f"import time\ntime.sleep({RUN_WAIT + A_WHILE})\nprint('deleted', input('Delete it?'))",
    "test_tool_with_task": f"import time\nname = input('Your name?')\ntime.sleep({RUN_WAIT + A_WHILE})\nprint('Hello', name)",
}


@asynccontextmanager
async def fixture_tools(bridge: str, notebooks: str) -> AsyncIterator[str]:
    """Puts the proxy before the endpoints of a bridge to a page and of a server of notebooks; its address."""
    # Of the code that asks.
    runs: set[str] = set()
    async with httpx.AsyncClient(verify=False, trust_env=False, timeout=LONG) as client:

        async def relay(request: Request) -> Response:
            body, headers = await request.body(), dict(request.headers)
            for name in ("host", "content-length", "accept-encoding"):
                headers.pop(name, None)
            message: Json = json.loads(body) if body else {}
            params: Json = _with_line(message.get("params", {}))
            asks = message.get("method") == "tools/call" and params.get("name") in ASKING
            if asks:
                params |= {"arguments": {"code": ASKING[params["name"]]}, "name": "execute_code"}
                headers["mcp-name"] = "execute_code"
            endpoint = notebooks if asks or params.get("taskId") in runs else bridge
            if message:
                body = json.dumps({**message, "params": params}).encode()
            answer = await client.request(request.method, endpoint, headers=headers, content=body)
            if asks:
                runs.update(re.findall(r'"taskId":"([^"]+)"', answer.text))
            kept = {"content-type", "mcp-protocol-version"}
            given = {name: value for name, value in answer.headers.items() if name in kept}
            return Response(answer.content, answer.status_code, given)

        routes = [Route("/mcp", relay, methods=["GET", "POST", "DELETE"])]
        server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), port=(port := free_port()), log_level="error"))
        serving = asyncio.create_task(server.serve())
        await until(lambda: server.started, "the proxy listens")
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.should_exit = True
            await serving


def _with_line(params: Json) -> Json:
    """The same with an answer in the field of our form: the suite fills in fields that it does not look up."""
    responses = params.get("inputResponses", {})
    filled = {
        key: {**response, "content": {"value": str(next(iter(response["content"].values())))}}
        for key, response in responses.items()
        if "content" in response
    }
    return {**params, "inputResponses": {**responses, **filled}} if responses else params
