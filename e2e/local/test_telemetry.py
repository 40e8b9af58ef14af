"""Spans of OpenTelemetry: in a file, at a collector, and where there is none."""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from e2e.support.home import Home
from e2e.support.inside_server import call
from e2e.support.jupyter_server import jupyter_server
from e2e.support.notebook_client import run_id
from e2e.support.notebook_server import NotebookServer, launch, running
from e2e.support.program import Launch, program
from e2e.support.stdio_client import StdioClient, stdio_client
from e2e.support.waiting import LONG, until

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
# In the code, and in its output.
SECRET = "correct horse battery staple"
SOURCE = f"{SECRET!r}.upper()"
HEADER = "Bearer top-secret"
# How long an exporter waits for a collector, in seconds. The program must not, at its end.
EXPORT_TIMEOUT = 10.0


@dataclass
class Span:
    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    events: list[str]
    links: list[tuple[str, str]]
    failed: bool


def read(file: Path) -> list[Span]:
    """The spans of a file as the collector's receiver of files reads it."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    resources = [resource for line in lines for resource in line["resourceSpans"]]
    spans = [span for each in resources for scope in each["scopeSpans"] for span in scope["spans"]]
    return [
        Span(
            name=span["name"],
            trace=span["traceId"],
            id=span["spanId"],
            parent=span["parentSpanId"],
            attributes={each["key"]: next(iter(each["value"].values())) for each in span["attributes"]},
            events=[event["name"] for event in span["events"]],
            links=[(link["traceId"], link["spanId"]) for link in span["links"]],
            failed=span["status"].get("code") == 2,
        )
        for span in spans
    ]


def the(spans: list[Span], name: str) -> Span:
    [span] = [span for span in spans if span.name == name]
    return span


class Collector:
    """A receiver of OTLP over HTTP."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str | None, ExportTraceServiceRequest]] = []
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                assert self.headers["content-type"] == "application/x-protobuf"
                said = ExportTraceServiceRequest.FromString(body)
                requests.append((self.path, self.headers["authorization"], said))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def spans(self) -> dict[str, Any]:
        """By name."""
        resources = [resource for _, _, said in self.requests for resource in said.resource_spans]
        return {span.name: span for each in resources for scope in each.scope_spans for span in scope.spans}


@contextmanager
def collector() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        collector.server.shutdown()
        thread.join()
        collector.server.server_close()


def with_variables(launch: Launch, **variables: str) -> Launch:
    return replace(launch, environment={**launch.environment, **variables})


async def run(agent: StdioClient, source: str, meta: dict[str, str] | None = None, **given: Any) -> str:
    arguments = {"cell_index": -1, "cell_source": source, **given}
    params = {"name": "insert_execute_code_cell", "arguments": arguments, "_meta": meta or {}}
    answer = await agent.ask("tools/call", params)
    return str(answer["content"][0]["text"])


async def open_notebook(agent: StdioClient) -> None:
    await agent.initialize()
    await agent.call("use_notebook", notebook_name="work", notebook_path="work.ipynb", mode="create")


async def test_the_file_has_spans_of_calls_runs_and_kernels_without_code(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    async with stdio_client(launch(tmp_path, home, "--otel-file", str(file))) as agent:
        await open_notebook(agent)
        assert SECRET.upper() in await run(agent, SOURCE, {"traceparent": PARENT})
        assert "ZeroDivisionError" in await run(agent, "1 / 0")
        started = await run(agent, "import time; time.sleep(1000)", timeout=1)
        assert "STILL RUNNING" in started
        stopped_id = run_id(started)
        await agent.call("interrupt_kernel")
        await agent.call("get_run", run_id=stopped_id, wait_seconds=50)
        await agent.call("restart_notebook")
        await agent.call("no such tool: " + SECRET)
        agent.end_input()
        assert await agent.ended() == 0

    assert file.stat().st_mode & 0o777 == 0o600
    assert SECRET.lower() not in file.read_text().lower()
    spans = read(file)
    started, failing, patient = [span for span in spans if span.name == "tools/call insert_execute_code_cell"]
    one, other, stopped = [span for span in spans if span.name == "run"]
    assert (started.trace, started.parent) == (TRACE, SPAN)
    assert (one.trace, one.parent) == (TRACE, started.id)
    assert started.attributes["mcp.method.name"] == "tools/call"
    assert started.attributes["gen_ai.tool.name"] == "insert_execute_code_cell"
    assert started.attributes["network.transport"] == "pipe"
    assert re.fullmatch(r"r1-[a-z]{6}", one.attributes["cellbridge.run.id"])
    assert one.attributes["cellbridge.notebook.path"] == "work.ipynb"
    assert one.attributes["cellbridge.run.state"] == "done"
    assert one.attributes["cellbridge.run.execution_count"] == "1"
    assert one.events == ["kernel.connected", "run.started"]
    assert not started.failed and not one.failed
    start = the(spans, "kernel.start")
    assert start.parent == one.id
    assert start.attributes["cellbridge.kernel.id"] == one.attributes["cellbridge.kernel.id"]

    assert failing.failed and failing.attributes["error.type"] == "tool_error"
    assert other.failed and other.attributes["error.type"] == "ZeroDivisionError"
    assert (other.trace, other.parent) == (failing.trace, failing.id) and failing.parent == ""
    assert stopped.parent == patient.id and stopped.attributes["cellbridge.run.state"] == "interrupted"
    assert the(spans, "kernel.interrupt").parent == the(spans, "tools/call interrupt_kernel").id
    assert the(spans, "kernel.restart").parent == the(spans, "tools/call restart_notebook").id
    assert the(spans, "tools/call").failed, "what is no tool is not named"


async def test_a_long_run_delays_no_other_span_and_gets_its_own(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    async with stdio_client(launch(tmp_path, home, "--otel-file", str(file))) as agent:
        await open_notebook(agent)
        started = await run(agent, "import time; time.sleep(1000)", timeout=0.1)
        assert "It continues" in started
        async with asyncio.timeout(LONG):
            # A run that waits for its kernel would be left for the next server.
            while "[QUEUED" in await agent.call("get_run", run_id=run_id(started), wait_seconds=0.05):
                pass
        name = "tools/call insert_execute_code_cell"
        await until(lambda: name in [span.name for span in read(file)], "the call is over")
        assert "run" not in [span.name for span in read(file)]
        agent.end_input()
        assert await agent.ended() == 0
    assert the(read(file), "run").parent == the(read(file), name).id


async def test_the_death_of_an_idle_kernel_is_recorded(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    async with stdio_client(launch(tmp_path, home, "--otel-file", str(file))) as agent:
        await open_notebook(agent)
        await run(agent, "import os, threading; threading.Timer(1, lambda: os._exit(3)).start()")
        await until(lambda: "kernel.died" in [span.name for span in read(file)], "its death is recorded")
    assert the(read(file), "kernel.died").failed


async def test_the_standard_variables_name_the_collector(home: Home, tmp_path: Path) -> None:
    with collector() as receiver:
        variables = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address,
            "OTEL_EXPORTER_OTLP_HEADERS": "authorization=" + HEADER.replace(" ", "%20"),
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=tests",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }
        async with stdio_client(with_variables(launch(tmp_path, home), **variables)) as agent:
            await open_notebook(agent)
            await run(agent, SOURCE, {"traceparent": PARENT})
            await until(lambda: "run" in receiver.spans(), "the run arrives while the program goes on")
            agent.end_input()
            assert await agent.ended() == 0
        spans = receiver.spans()
        asked = spans["tools/call insert_execute_code_cell"]
        assert asked.trace_id.hex() == TRACE and asked.parent_span_id.hex() == SPAN
        assert spans["run"].parent_span_id == asked.span_id
        [*_, (path, authorization, said)] = receiver.requests
        assert (path, authorization) == ("/v1/traces", HEADER)
        resource = {each.key: each.value.string_value for each in said.resource_spans[0].resource.attributes}
        assert resource["service.name"] == "cellbridge"
        assert resource["deployment.environment.name"] == "tests"
        assert all(SECRET.encode() not in each.SerializeToString() for _, _, each in receiver.requests)


async def test_a_missing_collector_changes_nothing(home: Home, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = f"http://name:pass-word@127.0.0.1:{unused.getsockname()[1]}"
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": address,
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=" + HEADER.replace(" ", "%20"),
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    log = tmp_path / "log"
    options = ("--log-file", str(log), "--log-level", "debug")
    async with stdio_client(with_variables(launch(tmp_path, home, *options), **variables)) as agent:
        await open_notebook(agent)
        await until(lambda: "spans could not be sent" in log.read_text(), "it is said")
        assert SECRET.upper() in await run(agent, SOURCE)
        await run(agent, SOURCE)
        await agent.call("restart_notebook")
        agent.end_input()
        started = time.monotonic()
        assert await agent.ended() == 0
        assert time.monotonic() - started < EXPORT_TIMEOUT
    said = log.read_text()
    assert said.count("spans could not be sent") == 1
    assert "top-secret" not in said and "pass-word" not in said


async def test_a_collector_that_never_answers_blocks_nobody(home: Home, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        async with stdio_client(with_variables(launch(tmp_path, home), **variables)) as agent:
            await open_notebook(agent)
            agent.end_input()
            started = time.monotonic()
            assert await agent.ended() == 0
            assert time.monotonic() - started < EXPORT_TIMEOUT


def test_an_http_request_can_name_its_parent_span(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    environment = {"CELLBRIDGE_OTEL_FILE": str(file)}
    with running(NotebookServer(tmp_path, home, environment=environment)) as server:
        headers = {"accept": "application/json, text/event-stream"}
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}}
        with httpx.Client(headers=headers) as http:
            opened = http.post(server.url, json=message("initialize", client))
            session = {"mcp-session-id": opened.headers["mcp-session-id"]}
            http.post(server.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
            asked = message("tools/call", {"name": "list_kernels", "arguments": {}})
            http.post(server.url, json=asked, headers={**session, "traceparent": PARENT})
            # What an agent says of a call counts more than what its HTTP client says of the request.
            text = {"traceparent": f"00-{TRACE[::-1]}-{SPAN[::-1]}-01"}
            asked = message("tools/call", {"name": "list_files", "arguments": {}, "_meta": text})
            http.post(server.url, json=asked, headers={**session, "traceparent": PARENT})
    span = the(read(file), "tools/call list_kernels")
    assert (span.trace, span.parent) == (TRACE, SPAN)
    assert span.attributes["network.transport"] == "tcp"
    both = the(read(file), "tools/call list_files")
    assert (both.trace, both.parent) == (TRACE[::-1], SPAN[::-1])
    assert both.links == [(TRACE, SPAN)]
    assert opened.headers["mcp-session-id"] not in file.read_text()


def message(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_spans_inside_a_jupyter_server_are_the_same(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    option = f"--CellbridgeApp.otel_file={file}"
    with jupyter_server("plain", tmp_path / "server", option, environment=variables) as server:
        assert SECRET.upper() in call(server, "execute_code", code=SOURCE)[1]
        # Runs in progress when the server ends are recorded as well.
        assert "It continues" in call(server, "execute_code", code="import time; time.sleep(1000)", timeout=1)[1]
        server.end()
    assert SECRET.lower() not in file.read_text().lower()
    spans = read(file)
    asked = [span for span in spans if span.name == "tools/call execute_code"]
    runs = [span for span in spans if span.name == "run"]
    assert [run.parent for run in runs] == [each.id for each in asked]
    ids = [run.attributes["cellbridge.run.id"] for run in runs]
    assert [re.sub(r"-[a-z]{6}$", "", run) for run in ids] == ["r1", "r2"]
    log = server.log.read_text()
    assert log.count("grpc") == 1 and "http/protobuf" in log, "warnings are in the server's log"


def test_inside_a_jupyter_server_a_file_that_cannot_be_written_is_reported_at_startup(tmp_path: Path) -> None:
    file = tmp_path / "missing" / "spans.jsonl"
    with jupyter_server("plain", tmp_path / "server", f"--CellbridgeApp.otel_file={file}") as server:
        assert str(file) in server.log.read_text()
        assert server.ask("GET", "api/status").is_success, "the server itself goes on"
