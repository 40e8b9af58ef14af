"""The tools that the official conformance suite expects of a server, offered by a stand-in Colab page."""

import asyncio
import base64
import json
import struct
import zlib
from typing import Any

from e2e.support.tab_socket import Call, Json, Tool

BEAT = 0.05
"""Seconds between the progress notifications of a tool, as the suite demands."""


def _png() -> str:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00\xff\x00\x00")
    file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return base64.b64encode(file).decode()


def _wav() -> str:
    """Four samples of silence."""
    samples = bytes(8)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 16000, 2, 16)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", len(samples)) + samples
    return base64.b64encode(struct.pack("<4sI", b"RIFF", len(body)) + body).decode()


TEXT = {"type": "text", "text": "This is a simple text response for testing."}
IMAGE = {"type": "image", "data": _png(), "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": _wav(), "mimeType": "audio/wav"}


def _resource(uri: str, mime_type: str, text: str) -> Json:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}


EMBEDDED = _resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
MIXED = [
    {"type": "text", "text": "Multiple content types test:"},
    IMAGE,
    _resource("test://mixed-content-resource", "application/json", json.dumps({"test": "data", "value": 123})),
]
FAILURE = {"type": "text", "text": "This tool intentionally returns an error for testing"}

# Keywords that only a JSON Schema of 2020-12 has; the suite looks for each of them in the list of tools.
RICH_SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
# A client of 2026-07-28 sends this argument as an HTTP header too, and the server compares.
HEADER_SCHEMA: Json = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
NO_ARGUMENTS: Json = {"type": "object", "properties": {}}


def _answers(name: str, *content: Json, schema: Json = NO_ARGUMENTS, **more: Any) -> Tool:
    async def handle(_: Call) -> Json:
        return {"content": list(content), **more}

    return _tool(name, handle, schema)


def _tool(name: str, handle: Any, schema: Json = NO_ARGUMENTS) -> Tool:
    return Tool({"name": name, "description": f"Fixture {name}", "inputSchema": schema}, handle)


async def _with_progress(call: Call) -> Json:
    for done in (0, 50, 100):
        await call.progress(done, 100)
        await asyncio.sleep(BEAT)
    return {"content": [{"type": "text", "text": "Done"}]}


async def _with_logging(call: Call) -> Json:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await call.notify("notifications/message", {"level": "info", "data": said})
        await asyncio.sleep(BEAT)
    return {"content": [TEXT]}


async def _change(call: Call) -> Json:
    call.offer(_answers("test_appeared", TEXT))
    await call.notify("notifications/tools/list_changed", {})
    return {"content": [TEXT]}


FIXTURE_TOOLS = [
    _answers("test_simple_text", TEXT),
    _answers("test_image_content", IMAGE),
    _answers("test_audio_content", AUDIO),
    _answers("test_embedded_resource", EMBEDDED),
    _answers("test_multiple_content_types", *MIXED),
    _answers("test_error_handling", FAILURE, isError=True),
    _answers("json_schema_2020_12_tool", TEXT, schema=RICH_SCHEMA),
    _tool("test_tool_with_progress", _with_progress),
    _tool("test_tool_with_logging", _with_logging),
    # In 2026-07-28 the same lines must not reach an agent that did not ask for a log.
    _tool("test_logging_tool", _with_logging),
    _tool("test_trigger_tool_change", _change),
    _answers("test_argument_in_header", TEXT, schema=HEADER_SCHEMA),
]
