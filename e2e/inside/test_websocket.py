"""MCP over WebSocket at a Jupyter server's own endpoint, with a plain client."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol

from e2e.inside.test_access import INITIALIZE
from e2e.support.inside_server import InsideServer, ask, own_lines
from e2e.support.jupyter_program import jupyter_notebook
from e2e.support.jupyter_server import JupyterServer, jupyter_server
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import gate
from e2e.support.notebook_files import Json, printed, read_valid, sources
from e2e.support.waiting import LONG, until

FORM = "plain"
MODE = "inside"

MOST_SESSIONS = 256
MOST_CREDENTIALS = 16
MCP = Subprotocol("mcp")

# The user may do what a file says at that time, and time limits are short.
_CONFIG = """
from pathlib import Path
import cellbridge.websocket
from jupyter_server.auth import Authorizer

class Rights(Authorizer):
    def is_authorized(self, handler, user, action, resource):
        return action in Path("rights").read_text()

c.ServerApp.authorizer_class = Rights
cellbridge.websocket.SEND_TIMEOUT = 4
c.ServerApp.tornado_settings = {"ws_ping_interval": 200, "ws_ping_timeout": 8000}
"""
NEW_ERA = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class SocketAgent:
    """An agent with one session."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self._last_id = 1

    async def send(self, message: Json) -> None:
        # With line breaks.
        await self.socket.send(json.dumps(message, indent=1))

    async def request(self, method: str, params: Json | None = None) -> Json:
        """The message that answers a request."""
        self._last_id += 1
        await self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params or {}})
        return await self.answer(self._last_id)

    async def answer(self, number: int) -> Json:
        async with asyncio.timeout(LONG):
            while (message := json.loads(await self.socket.recv())).get("id") != number:
                pass
        return message

    async def call(self, tool: str, **arguments: object) -> tuple[bool, str]:
        """Whether a call succeeded, and its text."""
        result = (await self.request("tools/call", {"name": tool, "arguments": arguments}))["result"]
        return not result.get("isError"), "\n".join(block["text"] for block in result["content"])


def _connect(
    server: JupyterServer,
    query: str = "",
    token: str | None = None,
    name: str = "127.0.0.1",
    headers: dict[str, str] | None = None,
    **given: Any,
) -> connect:
    """A WebSocket to the server, which is addressed by this name."""
    known = {"Authorization": f"Bearer {token}"} if token else {}
    url = f"ws://{name}:{server.port}{server.base_url}mcp{query}"
    options = {"subprotocols": [MCP], "max_size": None, "proxy": None, "open_timeout": LONG, **given}
    return connect(url, host="127.0.0.1", additional_headers=known | (headers or {}), **options)


async def _refusal(server: JupyterServer, *given: str, **options: Any) -> int:
    """The status with which a handshake is refused."""
    with pytest.raises(InvalidStatus) as refused:
        async with _connect(server, *given, **options):
            pass
    return refused.value.response.status_code


@asynccontextmanager
async def socket_agent(server: JupyterServer) -> AsyncIterator[SocketAgent]:
    async with _connect(server, token=server.token) as socket:
        agent = SocketAgent(socket)
        await agent.send(INITIALIZE)
        opened = (await agent.answer(1))["result"]
        assert opened["protocolVersion"] == "2025-11-25" and opened["serverInfo"]["name"] == "cellbridge"
        await agent.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield agent


def _health(server: JupyterServer) -> Json:
    return ask(server, "GET", "mcp/healthz", server.token).json()


def _sessions(server: JupyterServer) -> int:
    return _health(server)["sessions"]


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """A server below a path, whose user has the rights in the file `rights`, and with short time limits."""
    folder = tmp_path_factory.mktemp("limited")
    config = folder / "config.py"
    config.write_text(_CONFIG)
    server = JupyterServer("plain", folder, f"--config={config}", base_url="/user/x/")
    (server.root / "rights").write_text("read write execute")
    try:
        server.start()
        yield server
    finally:
        server.stop()


async def test_a_session_edits_and_runs(jupyter: JupyterServer, path: str) -> None:
    before = _sessions(jupyter)
    listed = ask(jupyter, "GET", "mcp/tools/list", jupyter.token).json()["tools"]
    async with socket_agent(jupyter) as agent:
        assert agent.socket.subprotocol == MCP
        assert _sessions(jupyter) == before + 1
        assert f"cellbridge_sessions {before + 1}.0" in jupyter.ask("GET", "metrics").text
        tools = (await agent.request("tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in tools] == [tool["name"] for tool in listed]
        # Not a message, and not text.
        await agent.socket.send("nonsense")
        assert json.loads(await agent.socket.recv())["error"]["code"] == -32700
        await agent.socket.send(b"\xff")
        opened, message = await agent.call("use_notebook", notebook_path=path, mode="create")
        assert opened, message
        ran, message = await agent.call("insert_execute_code_cell", cell_index=-1, cell_source="print('größer', 6 * 7)")
        assert ran and "größer 42" in message
        assert printed(read_valid(jupyter.root / path)["cells"][-1]) == "größer 42\n"
        # More than Tornado takes unless told otherwise.
        source = "large = '" + "🪐" * 3_000_000 + "'"
        inserted, message = await agent.call("insert_cell", cell_index=0, cell_type="code", cell_source=source)
        assert inserted, message
        assert sources(read_valid(jupyter.root / path))[0] == source
    await until(lambda: _sessions(jupyter) == before, "the session has ended")


async def test_the_handshake_is_checked_as_a_request(jupyter: JupyterServer) -> None:
    before, token = _sessions(jupyter), {"token": jupyter.token}
    assert await _refusal(jupyter) == 403
    assert await _refusal(jupyter, token="wrong") == 403
    assert await _refusal(jupyter, "?token=wrong") == 403
    # So that no page can have its own name point here.
    assert await _refusal(jupyter, name="attacker.example", **token) == 403
    assert await _refusal(jupyter, subprotocols=[Subprotocol("graphql-ws")], **token) == 400
    async with _connect(jupyter, f"?token={jupyter.token}", subprotocols=None) as socket:
        assert socket.subprotocol is None
    # Other requests at the address are HTTP.
    opened = ask(jupyter, "POST", json=INITIALIZE, **token)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "Accept": "text/event-stream"}
    known = {**session, "Authorization": f"Bearer {jupyter.token}"}
    async with httpx.AsyncClient(timeout=LONG) as http, http.stream("GET", f"{jupyter.url}mcp", headers=known) as stream:
        assert stream.status_code == 200 and stream.headers["content-type"].startswith("text/event-stream")
    assert ask(jupyter, "DELETE", headers=session, **token).is_success
    await until(lambda: _sessions(jupyter) == before, "no session is left")


async def test_a_login_cookie_needs_the_xsrf_token_and_the_servers_origin(jupyter: JupyterServer) -> None:
    with httpx.Client(base_url=jupyter.url, timeout=LONG) as browser:
        assert browser.get(f"login?token={jupyter.token}", follow_redirects=True).is_success
        cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        login = {"Cookie": cookies, "X-XSRFToken": browser.cookies["_xsrf"]}
    own, other = Origin(jupyter.url.rstrip("/")), Origin("http://attacker.example")
    async with _connect(jupyter, headers=login, origin=own) as socket:
        assert socket.subprotocol == MCP
    assert await _refusal(jupyter, headers=login, origin=other) == 403
    for headers in [{"Cookie": cookies}, {**login, "X-XSRFToken": "wrong"}]:
        assert await _refusal(jupyter, headers=headers, origin=own) == 403


async def test_a_run_continues_after_its_client_vanishes(
    mcp_server: InsideServer, jupyter: JupyterServer, path: str
) -> None:
    before = _sessions(jupyter)
    async with jupyter_notebook(mcp_server, path) as client:
        opened, wait = gate(client)
        started, _ = gate(client, "started")
        code = f"import pathlib\npathlib.Path({started.name!r}).touch()\n{wait}\nprint('late')"
        async with socket_agent(jupyter) as agent:
            assert (await agent.call("use_notebook", notebook_path=path))[0]
            running = asyncio.create_task(agent.call("insert_execute_code_cell", cell_index=-1, cell_source=code))
            await until(started.exists, "the run has started", during=running)
            agent.socket.transport.abort()
            with pytest.raises(ConnectionClosed):
                await running
        await until(lambda: _sessions(jupyter) == before + 1, "the session has ended")
        assert "broken pipe" not in jupyter.log.read_text()
        opened.touch()
        done = "the server has the outputs"
        await until(lambda: "late\n" in map(printed, jupyter.saved(path)["cells"]), done)


async def test_there_are_as_many_sessions_as_over_http(jupyter: JupyterServer) -> None:
    assert jupyter.process
    files = Path(f"/proc/{jupyter.process.pid}/fd")
    before, open_files = _sessions(jupyter), len(list(files.iterdir()))
    async with AsyncExitStack() as stack:
        for _ in range(MOST_SESSIONS):
            await stack.enter_async_context(_connect(jupyter, token=jupyter.token))
        assert _sessions(jupyter) == before + MOST_SESSIONS
        assert await _refusal(jupyter, token=jupyter.token) == 503
    await until(lambda: _sessions(jupyter) == before, "the sessions have ended")
    await until(lambda: len(list(files.iterdir())) <= open_files + 5, "the connections are closed")
    async with socket_agent(jupyter):
        pass


async def test_a_session_has_the_rights_of_its_user(limited: JupyterServer) -> None:
    rights = limited.root / "rights"
    write_notebook(limited.root / "shared.ipynb", "here = 1")
    edit = {"cell_index": 0, "cell_type": "code", "cell_source": "new = 1"}
    rights.write_text("read")
    async with _connect(limited, token=limited.token) as socket:
        arguments = {"notebook_name": "shared.ipynb", **edit}
        params = {"name": "insert_cell", "arguments": arguments, "_meta": NEW_ERA}
        refused = (await SocketAgent(socket).request("tools/call", params))["result"]
        assert refused["isError"] and "may not" in refused["content"][0]["text"], refused
    async with socket_agent(limited) as agent:
        assert (await agent.call("use_notebook", notebook_path="shared.ipynb"))[0]
        edited, message = await agent.call("insert_cell", **edit)
        assert not edited and "may not" in message and "write" in message, message
        await _ends(agent, lambda: rights.write_text("read write"))
    async with socket_agent(limited) as agent:
        assert (await agent.call("use_notebook", notebook_path="shared.ipynb"))[0]
        edited, message = await agent.call("insert_cell", **edit)
        assert edited, message
        ran, message = await agent.call("execute_cell", cell_index=0)
        assert not ran and "execute" in message, message
        await _ends(agent, lambda: rights.write_text(""))
    assert sources(read_valid(limited.root / "shared.ipynb")) == ["new = 1", "here = 1"]
    assert await _refusal(limited, token=limited.token) == 403


async def _ends(agent: SocketAgent, change: Callable[[], object]) -> None:
    """A session with other rights than those of its opening ends with the next message."""
    change()
    with pytest.raises(ConnectionClosed):
        await agent.request("ping")


async def test_a_session_outlives_many_logins_of_its_user(limited: JupyterServer) -> None:
    """Only some credentials of a user have a state."""
    (limited.root / "rights").write_text("read write execute")
    write_notebook(limited.root / "kept.ipynb", "kept = 1")
    async with socket_agent(limited) as agent:
        assert (await agent.call("use_notebook", notebook_path="kept.ipynb"))[0]
        for _ in range(MOST_CREDENTIALS):
            # The socket answers pings meanwhile.
            async with httpx.AsyncClient(base_url=limited.url, timeout=LONG) as browser:
                assert (await browser.get(f"login?token={limited.token}", follow_redirects=True)).is_success
                assert (await browser.get("mcp/healthz")).is_success
        code = "import pathlib, time\nwhile not pathlib.Path('logged-in').exists(): time.sleep(0.01)"
        assert (await agent.call("execute_code", code=code, timeout=0.1))[0]
        # The server knows the state in which this session runs code.
        assert _health(limited)["runs"] == 1
        (limited.root / "logged-in").touch()
        await until(lambda: _health(limited)["runs"] == 0, "the run has ended")


async def test_clients_that_do_not_answer_or_do_not_read_are_disconnected(limited: JupyterServer) -> None:
    (limited.root / "rights").write_text("read write execute")
    write_notebook(limited.root / "large.ipynb", "🪐" * 1_000_000)
    before = _sessions(limited)
    async with _connect(limited, token=limited.token) as silent, socket_agent(limited) as unread:
        silent.transport.pause_reading()
        assert (await unread.call("use_notebook", notebook_path="large.ipynb", mode="connect"))[0]
        unread.socket.transport.pause_reading()
        read = {"name": "read_cell", "arguments": {"cell_index": 0, "max_characters": 1_000_000}}
        for number in range(10):
            await unread.send({"jsonrpc": "2.0", "id": f"r{number}", "method": "tools/call", "params": read})

        async def stay_alive() -> None:
            while True:
                await unread.socket.pong()
                await asyncio.sleep(0.1)

        alive = asyncio.create_task(stay_alive())
        await until(lambda: _sessions(limited) == before, "both sessions have ended")
        alive.cancel()
        for socket in [silent, unread.socket]:
            socket.transport.abort()


async def test_a_server_ends_with_open_sockets(tmp_path_factory: pytest.TempPathFactory) -> None:
    with jupyter_server("plain", tmp_path_factory.mktemp("ending")) as server:
        assert server.process
        async with socket_agent(server) as agent:
            code = "import pathlib, time\npathlib.Path('started').touch()\nwhile True: time.sleep(0.01)"
            call = {"name": "execute_code", "arguments": {"code": code, "timeout": 100}}
            running = asyncio.create_task(agent.request("tools/call", call))
            await until((server.root / "started").exists, "the run has started", during=running)
            server.process.terminate()
            assert "error" in await running
            async with asyncio.timeout(LONG):
                await agent.socket.wait_closed()
        assert await asyncio.to_thread(server.process.wait, LONG) == 0
        log = server.log.read_text().partition("received signal")[2]
        assert log and own_lines(log) == [], log
