"""Networks that cut and drop traffic: no output and no edit is lost. What a real server keeps for whoever comes
back, only it shows; with a room, both kinds of connections are used: for the kernel and for the notebook."""

import asyncio
from pathlib import Path

import pytest

from e2e.support.jupyter_program import jupyter_notebook, jupyter_program, succeeds, until_on_disk
from e2e.support.jupyter_server import LIVE_FORMS, JupyterServer, jupyter_server
from e2e.support.notebook_client import gate
from e2e.support.notebook_files import printed, sources
from e2e.support.tcp_proxy import TcpProxy, tcp_proxy
from e2e.support.waiting import LONG, until


def print_(word: str) -> str:
    return f"print({word!r}, flush=True)"


def _connections(server: JupyterServer) -> int:
    return server.session_of("x.ipynb")["kernel"]["connections"]


async def _cut(proxy: TcpProxy, server: JupyterServer) -> None:
    """Cuts the connection; what a kernel prints before the server knows of it is lost."""
    proxy.refuse()
    await until(lambda: _connections(server) == 0, "the server knows of the cut")


@pytest.mark.parametrize("form", LIVE_FORMS)
async def test_a_cut_connection_loses_no_output_and_no_edit(form: str, tmp_path: Path) -> None:
    with jupyter_server(form, tmp_path / "server") as server:
        async with tcp_proxy(server.port) as proxy:
            with jupyter_program(server, tmp_path / "home", url=proxy.url) as program:
                async with jupyter_notebook(program, "x.ipynb") as client:
                    opened, wait = gate(client)
                    second, wait_again = gate(client, "second")
                    passed = client.file.with_suffix(".passed")
                    touch = f"pathlib.Path({passed.name!r}).touch()"
                    code = [print_("one"), wait, print_("two"), touch, wait_again, print_("three")]
                    run = await client.start("\n".join(code))
                    await client.until_printed(run, "one")
                    ending = asyncio.create_task(client.ended(run))
                    await _cut(proxy, server)
                    opened.touch()
                    await until(lambda: passed.exists(), "the kernel has printed")
                    proxy.restore()
                    await succeeds(client, "insert_cell", cell_index=-1, cell_type="code", cell_source="offline")
                    # jupyter-server-documents buffers nothing, and does not count clients that reconnect.
                    is_kept = form != "jsd"
                    if is_kept:
                        await client.until_printed(run, "two")
                    await _cut(proxy, server)
                    proxy.restore()
                    if is_kept:
                        await until(lambda: _connections(server) == 1, "the program is back")
                    second.touch()
                    ended = await ending
                    is_reported = "missing" in printed(client.cell(0), "stderr")
                    if not is_kept and (is_reported or "[COMPLETED in" not in ended.text):
                        assert is_reported
                    else:
                        assert printed(client.cell(0)) == "one\ntwo\nthree\n"
                    assert sources(client.notebook())[1:] == ["offline"]


async def test_a_proxy_that_closes_every_socket_is_named_by_all_that_wait(tmp_path: Path) -> None:
    with jupyter_server("plain", tmp_path / "server") as server:
        async with tcp_proxy(server.port) as proxy:
            with jupyter_program(server, tmp_path / "home", url=proxy.url) as program:
                async with jupyter_notebook(program, "x.ipynb") as client:
                    proxy.closes_sockets = True
                    calls = [client.fails("execute_code", code=str(number), timeout=LONG) for number in range(2)]
                    for text in await asyncio.gather(*calls):
                        assert "[NOT RUN]" in text and "not usable: " in text and "pass WebSockets on" in text, text
                    dials = proxy.accepted
                    assert "unreachable: " in (await client.do("list_kernels")).text
                    assert "Nothing reaches the kernel: " in await client.fails("list_variables")
                    assert dials < 60, "the pauses grow"
                    proxy.closes_sockets = False
                    async with asyncio.timeout(LONG):
                        while "2" not in (await client.call("execute_code", code="1 + 1", timeout=LONG)).text:
                            pass


async def test_a_half_open_connection_is_detected(tmp_path: Path) -> None:
    """Packets vanish without a reset, as after a laptop slept or a router forgot the connection."""
    with jupyter_server("rtc", tmp_path / "server") as server:
        async with tcp_proxy(server.port) as proxy:
            timeout = ("--network-timeout", "3")
            with jupyter_program(server, tmp_path / "home", *timeout, url=proxy.url) as program:
                async with jupyter_notebook(program, "x.ipynb") as client:
                    opened, wait = gate(client)
                    run = await client.start(f"print('one', flush=True)\n{wait}\nprint('two')")
                    await client.until_printed(run, "one")
                    before = proxy.accepted
                    proxy.freeze()
                    opened.touch()
                    # It reconnects without a call.
                    await until(lambda: proxy.accepted > before, "it has reconnected")
                    proxy.restore()
                    ended = (await client.ended(run)).text
                    # The reply went into the dead connection as well, unless it came earlier.
                    assert "[COMPLETED in" in ended or "[LOST" in ended
                    await succeeds(client, "insert_cell", cell_index=-1, cell_type="code", cell_source="after")
                    # What the server sent into the dead connection is lost, and that must be reported.
                    lost = "[LOST" in ended or "missing" in printed(client.cell(0), "stderr")
                    assert printed(client.cell(0)) == ("one\n" if lost else "one\ntwo\n")
                    await until_on_disk(client, lambda it: sources(it)[1:] == ["after"], "the edit is on disk")
