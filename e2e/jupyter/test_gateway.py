"""A server whose kernels run behind a Kernel Gateway, as on clusters: it speaks the older form of the channels."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from e2e.support.home import Home, new_mark
from e2e.support.http import request
from e2e.support.jupyter_program import is_on_disk, jupyter_notebook, jupyter_program, until_on_disk
from e2e.support.jupyter_server import PORTS, JupyterServer, free_port, interpreter, jupyter_server
from e2e.support.notebook_client import gate
from e2e.support.notebook_files import printed
from e2e.support.notebook_server import NotebookServer
from e2e.support.processes import end_server
from e2e.support.waiting import LONG, wait_until

_TOKEN = "e2e-token-of-the-gateway"


@contextmanager
def _gateway(folder: Path) -> Iterator[str]:
    port, mark = free_port(), new_mark()
    home = Home(folder)
    home.folder.mkdir()
    command = [interpreter("plain"), "-m", "kernel_gateway", "--JupyterWebsocketPersonality.list_kernels=True"]
    command += [f"--KernelGatewayApp.port={port}", f"--KernelGatewayApp.auth_token={_TOKEN}"]
    with (folder / "gateway.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env={**home.environment(mark), **PORTS}, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(f"{url}/api?token={_TOKEN}"), (folder / "gateway.log").read_text)
        yield url
    finally:
        end_server(process, mark)


def _answers(url: str) -> bool:
    try:
        return request("GET", url).is_success
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    with _gateway(tmp_path_factory.mktemp("gateway") / "home") as url:
        options = (f"--gateway-url={url}", f"--GatewayClient.auth_token={_TOKEN}")
        with jupyter_server("plain", tmp_path_factory.mktemp("server"), *options) as server:
            yield server


@pytest.fixture(scope="module")
def program(server: JupyterServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookServer]:
    with jupyter_program(server, tmp_path_factory.mktemp("home")) as program:
        yield program


async def test_cells_run_on_kernels_behind_the_gateway(
    program: NotebookServer, server: JupyterServer, path: str
) -> None:
    async with jupyter_notebook(program, path) as client:
        ran = await client.run("print('out', flush=True)\n6 * 7")
        assert is_on_disk(ran) and "42" in ran.text
        assert printed(client.cell(0)) == "out\n"
        kernel = server.session_of(path)["kernel"]["id"]
        assert kernel in (await client.do("list_kernels")).text
        await client.do("execute_code", code="kept = 'it is'")
        assert "it is" in (await client.do("execute_code", code="kept")).text


async def test_a_run_behind_the_gateway_is_interrupted_and_its_kernel_restarted(
    program: NotebookServer, path: str
) -> None:
    async with jupyter_notebook(program, path) as client:
        opened, wait = gate(client)
        run = await client.start(f"lost = 1\nprint('started', flush=True)\n{wait}")
        await until_on_disk(client, lambda it: "started" in printed(it["cells"][0]), "it runs")
        await client.do("interrupt_kernel")
        assert "KeyboardInterrupt" in (await client.wait(run)).text
        await client.do("restart_notebook")
        assert "NameError" in (await client.call("execute_code", code="lost")).text
        opened.touch()
        assert "2" in (await client.do("execute_code", code="1 + 1", timeout=LONG)).text


async def test_lost_output_behind_the_gateway_is_reported(program: NotebookServer, path: str) -> None:
    async with jupyter_notebook(program, path) as client:
        ran = await client.run("for number in range(2000): print('line', number, flush=True)", timeout=LONG)
        assert "[COMPLETED in" in ran.text
        whole = printed(client.cell(0)) == "".join(f"line {number}\n" for number in range(2000))
        assert whole or "missing" in printed(client.cell(0), "stderr")
