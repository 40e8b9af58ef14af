"""The stand-in for Google's machines itself: what the tests of machines rely on."""

import asyncio
import hashlib
import json
import struct
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
import pytest_asyncio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from e2e.support.colab_fake import T4, ColabMachine, Google, google_at_loopback
from e2e.support.colab_fake.failures import NONE_FREE, NOT_ENABLED
from e2e.support.waiting import LONG

TOKEN = "x-colab-runtime-proxy-token"
KERNELS = "/api/kernels"
KEY = {"runtimeSpec": {"variant": "VARIANT_GPU", "accelerator": "T4", "shape": "SHAPE_STANDARD"}}
# Notifies the page, and asks it for something.
ASKING = """
from google.colab import _message, drive
_message.notify("cell_display_stdin", {})
drive.mount("d")
"""


@pytest.fixture
def google(tmp_path: Path) -> Iterator[Google]:
    with google_at_loopback(tmp_path) as google:
        yield google


@pytest_asyncio.fixture
async def api(google: Google) -> AsyncIterator[httpx.AsyncClient]:
    """A client with an access token."""
    headers = {"authorization": google.sign_in.bearer()}
    async with httpx.AsyncClient(base_url=google.address, trust_env=False, timeout=LONG, headers=headers) as client:
        yield client


async def create(api: httpx.AsyncClient, name: str, request: str | None = None) -> httpx.Response:
    query = {"requestId": request or str(uuid.uuid4()), "runtimeId": name}
    return await api.post(f"/v1beta/runtimes?{urlencode(query)}", json=KEY)


async def test_operations_and_refusals_of_the_api(google: Google, api: httpx.AsyncClient) -> None:
    assert (await api.get("/v1beta/runtimes")).json() == {}
    request = str(uuid.uuid4())
    pending = (await create(api, "a-t4", request)).json()
    assert "done" not in pending and pending == (await create(api, "a-t4", request)).json()
    done = (await api.get(f"/v1/{pending['name']}:wait?timeout=1.5s")).json()
    assert done["done"] and done["response"]["name"] == "runtimes/a-t4"
    infos = [(await api.get("/v1beta/runtimes/a-t4")).json()["connectionInfo"] for _ in range(2)]
    assert infos[0]["expireTime"] < infos[1]["expireTime"] and infos[0]["token"] != infos[1]["token"]

    assert (await create(api, "a-t4")).json()["error"]["code"] == 6
    google.api.refusal = NONE_FREE
    google.api.polls = 0
    assert (await create(api, "b")).json()["error"] == {"code": 9, "message": "Precondition check failed."}
    google.api.refusal = None
    google.api.hang_ups = 1
    with pytest.raises(httpx.RemoteProtocolError):
        await create(api, "b")
    assert len((await api.get("/v1beta/runtimes")).json()["runtimes"]) == 2
    refused = (await create(api, "c")).json()["error"]
    assert refused["details"][0]["reason"] == "TOO_MANY_ACTIVE_RUNTIMES"
    assert (await api.delete("/v1beta/runtimes/b?allowMissing=true")).json() == {}
    assert (await api.get("/v1beta/runtimes/b")).status_code == 404
    assert (await api.delete("/v1beta/runtimes/b")).status_code == 404

    for path in ["/v1beta/runtimes?pageSize=1", "/v1/operations/x:wait?timeout=60"]:
        assert (await api.get(path)).status_code == 400
    wrong = await api.post(f"/v1beta/runtimes?requestId={uuid.uuid4()}", json=KEY | {"name": "runtimes/x"})
    assert wrong.status_code == 400
    google.api.fail(NOT_ENABLED)
    disabled = await api.get("/v1beta/subscription")
    assert disabled.status_code == 403 and "SERVICE_DISABLED" in disabled.text
    assert (await api.get("/v1beta/subscription")).json()["tier"] == "SUBSCRIPTION_TIER_FREE"
    google.sign_in.expire_access_tokens()
    assert (await api.get("/v1beta/runtimespecs")).status_code == 401
    assert list(google.api.machines) == ["a-t4"]


def at(machine: ColabMachine) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=machine.url, trust_env=False, timeout=LONG, headers={TOKEN: machine.connection()["token"]}
    )


async def test_the_proxy_refuses_what_google_refuses(google: Google) -> None:
    machine = google.api.add_machine()
    proxy = machine.proxy
    async with at(machine) as client:
        proxy.boot = [503]
        assert (await client.get("/api/status")).status_code == 503
        assert (await client.get("/api/colab/resources")).text.startswith(")]}'\n")
        machine.expire_tokens()
        assert (await client.get("/api/status")).status_code == 404
        proxy.denial = 401
        assert (await client.get("/api/status")).status_code == 401
        client.headers[TOKEN] = machine.connection()["token"]
        proxy.watch = lambda request: 302
        assert (await client.get("/api/status")).status_code == 302
        assert not proxy.violations
        for name, value in [
            ("authorization", "Bearer ya29"),
            ("origin", "https://example.com"),
            ("sec-websocket-protocol", "v1.kernel.websocket.jupyter.org"),
        ]:
            assert (await client.get("/api/status", headers={name: value})).status_code == 400
        assert (await client.get("/api/status?colab-runtime-proxy-token=x")).status_code == 400
    assert len(proxy.violations) == 4
    proxy.violations.clear()


async def test_large_bodies_pass_in_both_directions(google: Google) -> None:
    machine = google.api.add_machine()
    content = bytes(range(256)) * (1 << 14)
    async with at(machine) as client:
        body = {"type": "file", "format": "text", "content": "x" * (1 << 22)}
        assert (await client.put("/api/contents/content/big.txt", json=body)).status_code == 201
        (machine.content / "big.bin").write_bytes(content)
        there = await client.get("/files/content/big.bin")
        assert hashlib.sha256(there.content).digest() == hashlib.sha256(content).digest()
        machine.proxy.body_limit = 1 << 20
        refused = await client.put("/api/contents/content/big.txt", json=body)
        assert refused.status_code == 413


def message(kind: str, content: Any, channel: str = "shell") -> str:
    header = {"msg_id": uuid.uuid4().hex, "session": "s", "username": "", "msg_type": kind, "version": "5.3"}
    return json.dumps(
        {"channel": channel, "header": header, "parent_header": {}, "metadata": {}, "content": content, "buffers": []}
    )


def read(frame: str | bytes) -> Any:
    """A message: JSON, or binary with the numbers of parts, their offsets and the parts."""
    if isinstance(frame, str):
        return json.loads(frame)
    [count] = struct.unpack_from(">I", frame)
    offsets = [*struct.unpack_from(f">{count}I", frame, 4), len(frame)]
    return json.loads(frame[offsets[0] : offsets[1]])


async def until(socket: ClientConnection, kind: str) -> Any:
    async with asyncio.timeout(LONG):
        while (received := read(await socket.recv()))["header"]["msg_type"] != kind:
            pass
        return received


def socket_at(machine: ColabMachine, kernel: str, **given: Any) -> connect:
    address = machine.url.replace("http", "ws", 1)
    headers = {TOKEN: machine.connection()["token"]}
    return connect(
        f"{address}{KERNELS}/{kernel}/channels?session_id=s", additional_headers=headers, proxy=None, **given
    )


def running(code: str) -> str:
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": True}
    return message("execute_request", content)


async def test_a_kernel_asks_the_page_and_loses_its_machine(google: Google) -> None:
    machine = google.api.add_machine(T4)
    async with at(machine) as client:
        session = {"path": "content/a/b.ipynb", "name": "b", "type": "notebook", "kernel": {"name": "python3"}}
        kernel = (await client.post("/api/sessions", json=session)).json()["kernel"]["id"]
        assert set((await client.get("/api/kernelspecs")).json()["kernelspecs"]) == {"python3", "ir", "julia"}
    with pytest.raises(InvalidStatus):
        async with socket_at(machine, kernel, subprotocols=["v1.kernel.websocket.jupyter.org"]):
            pass
    google.api.violations.clear()
    async with socket_at(machine, kernel) as socket:
        await socket.send(running("import os; print(os.getcwd())"))
        assert (await until(socket, "stream"))["content"]["text"].strip() == str(machine.content)
        # Tokens matter only when a WebSocket is opened.
        machine.expire_tokens()
        await socket.send(running(ASKING))
        silent = await until(socket, "colab_request")
        assert silent["metadata"] == {"colab_request_type": "cell_display_stdin"}
        assert silent["parent_header"] == {"session": "s"}
        asked = await until(socket, "colab_request")
        assert asked["content"]["request"] == {"authType": "dfs_ephemeral"}
        value = {"type": "colab_reply", "colab_msg_id": asked["metadata"]["colab_msg_id"], "error": "no Drive here"}
        await socket.send(message("input_reply", {"value": value}, "stdin"))
        raised = (await until(socket, "error"))["content"]
        assert (raised["ename"], raised["evalue"]) == ("MessageError", "no Drive here")
        machine.proxy.drop_sockets()
        with pytest.raises(ConnectionClosed):
            await until(socket, "nothing")
    machine.proxy.refuses_sockets = True
    with pytest.raises(InvalidStatus, match="404"):
        async with socket_at(machine, kernel):
            pass
    machine.proxy.refuses_sockets = False
    async with socket_at(machine, kernel) as socket:
        assert len(machine.kernels) == 1
        google.api.reclaim(machine)
        with pytest.raises(ConnectionClosed):
            await until(socket, "nothing")
    assert not machine.kernels
    async with at(machine) as client:
        assert (await client.get("/api/status")).status_code == 404
