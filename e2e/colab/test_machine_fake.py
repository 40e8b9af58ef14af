"""The stand-in for Google's machines itself: what the tests of machines rely on."""

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
import pytest_asyncio

from e2e.support.colab_fake import ColabMachine, Google, google_at_loopback
from e2e.support.colab_fake.failures import NONE_FREE, NOT_ENABLED
from e2e.support.waiting import LONG

TOKEN = "x-colab-runtime-proxy-token"
KEY = {"runtimeSpec": {"variant": "VARIANT_GPU", "accelerator": "T4", "shape": "SHAPE_STANDARD"}}


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
    none_free = (await create(api, "b")).json()["error"]
    assert none_free["code"] == 9 and none_free["details"][0]["reason"] == "NO_RUNTIMES"
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
    headers = {TOKEN: machine.connection()["token"], "x-colab-client-agent": "tests"}
    return httpx.AsyncClient(base_url=machine.url, trust_env=False, timeout=LONG, headers=headers)


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


