"""A host of MCP Apps in Chromium: the official bridge, and views in two nested frames of another origin under a host's policy."""

import asyncio
import os
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Frame, FrameLocator, Page

from e2e.support.agents.node_sdk import node, node_modules
from e2e.support.live_page import Seen, new_page
from e2e.support.stdio_client import StdioClient

VIEW = "ui://cellbridge/view.html"
# What a client that shows views declares.
CAPABILITIES = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}
# The policies of the specification, of Claude's applications (claude-ai-mcp#40), and of the example host `basic-host`.
POLICIES = {
    "specification": "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'",
    "claude": "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data: https://assets.claude.ai; "
    "style-src 'self' 'unsafe-inline' https://assets.claude.ai; img-src 'self' data: blob: https://assets.claude.ai; "
    "font-src 'self' data: https://assets.claude.ai; connect-src 'self'; worker-src 'self' blob:; frame-src 'self'; base-uri 'self'",
    "basic-host": "default-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:; "
    "style-src 'self' 'unsafe-inline' blob: data:; img-src 'self' data: blob:; font-src 'self' data: blob:; media-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self' blob:; frame-src 'none'; object-src 'none'; base-uri 'none'",
}
BUNDLE = """require("esbuild").buildSync({
    entryPoints: [process.argv[1]], outfile: process.argv[2], bundle: true, format: "esm", nodePaths: [process.env.NODE_PATH],
})"""


class _Handler(SimpleHTTPRequestHandler):
    """The files, and the frame of a policy under its name."""

    folder: Path

    def translate_path(self, path: str) -> str:
        name = path.strip("/")
        file = "sandbox.html" if name in POLICIES else name
        return str(self.folder / file if file.endswith(".js") else Path(__file__).parent / file)

    def end_headers(self) -> None:
        policy = POLICIES.get(self.path.strip("/"))
        if policy:
            self.send_header("Content-Security-Policy", policy)
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@dataclass
class Host:
    """The two origins of a host."""

    ports: tuple[int, int]

    @asynccontextmanager
    async def shows(
        self,
        browser: Browser,
        server: StdioClient,
        policy: str,
        tool: str,
        *,
        names_tool: bool = True,
        context: dict[str, Any] | None = None,
        **given: Any,
    ) -> AsyncIterator["View"]:
        """The view of a call from its beginning, before its result."""
        lock = asyncio.Lock()
        asked: list[dict[str, Any]] = []

        async def mcp(method: str, params: dict[str, Any]) -> dict[str, Any]:
            asked.append(params)
            async with lock:
                return await server.ask(method, params)

        number = server.send("tools/call", {"name": tool, "arguments": given})
        page, seen = await new_page(browser, width=900)
        everything: list[str] = []
        page.on("request", lambda request: everything.append(request.url))
        await page.expose_function("mcp", mcp)
        host, sandbox = (f"http://127.0.0.1:{port}" for port in self.ports)
        await page.goto(f"{host}/host.html")
        await page.wait_for_function("document.body.dataset.ready")
        read = await mcp("resources/read", {"uri": VIEW})
        opened = {"sandbox": f"{sandbox}/{policy}", "html": read["contents"][0]["text"], "input": given}
        if names_tool:
            opened["tool"] = {"name": tool, "inputSchema": {"type": "object"}}
        opened["context"] = context or {}
        await page.evaluate("opened => openView(opened)", opened)
        yield View(page, seen, asked, server, lock, number)
        assert [url for url in everything if not url.startswith((host, sandbox, "data:", "about:", "blob:"))] == []
        assert seen.bad == [], seen.bad
        await page.close()
        # What it has asked for last is answered before the test asks the server again.
        async with lock:
            pass


@dataclass
class View:
    page: Page
    seen: Seen
    # What it has asked its host for.
    asked: list[dict[str, Any]]
    server: StdioClient
    lock: asyncio.Lock
    number: int

    @property
    def document(self) -> Frame:
        """The innermost frame that is not one of an output."""
        return self.page.frames[2]

    @property
    def frame(self) -> FrameLocator:
        return self.page.frame_locator("iframe").frame_locator("iframe")

    async def ends(self) -> str:
        """Waits for the call, and gives the view its result; the text of it."""
        async with self.lock:
            result = await self.server.answer(self.number)
        assert "structuredContent" not in result
        await self.page.evaluate("result => sendResult(result)", result)
        return "\n".join(block.get("text", "") for block in result["content"])


@contextmanager
def app_host(folder: Path) -> Iterator[Host]:
    """Serves a host on two ports."""
    bundle = [node(), "-e", BUNDLE, str(Path(__file__).parent / "host.js"), str(folder / "host.js")]
    subprocess.run(bundle, check=True, env={**os.environ, "NODE_PATH": str(node_modules())})
    handler = type("Handler", (_Handler,), {"folder": folder})
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Host((servers[0].server_address[1], servers[1].server_address[1]))
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
