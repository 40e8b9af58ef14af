"""Killed servers, changing files, failing tokens and disks: no answered edit is lost, every failure is reported. Only real servers
show what they keep."""

import asyncio
import json
import resource
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from e2e.support.jupyter_program import is_on_disk, jupyter_notebook, jupyter_program, own_server, succeeds
from e2e.support.jupyter_server import FORMS, TOKEN, JupyterServer, SharedServers
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import gate, run_in
from e2e.support.notebook_files import printed, read_saved, sources
from e2e.support.notebook_server import NotebookServer
from e2e.support.tcp_proxy import tcp_proxy
from e2e.support.waiting import LONG, until

LARGEST_FILE = 400_000
KILLS = 2


def _at(*forms: str) -> pytest.MarkDecorator:
    """The servers that behave in ways of their own."""
    return pytest.mark.parametrize("form", forms, indirect=True)


@pytest.fixture(scope="module", params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def shared(form: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[JupyterServer, NotebookServer]]:
    with own_server(tmp_path_factory.mktemp("own"), form) as both:
        yield both


@pytest.fixture
def server(shared: tuple[JupyterServer, NotebookServer]) -> Iterator[JupyterServer]:
    """A server that a test may break."""
    server, _ = shared
    yield server
    assert server.process
    if server.process.poll() is not None or server.token != TOKEN:
        server.kill()
        server.token = TOKEN
        server.start()


@pytest.fixture
def program(shared: tuple[JupyterServer, NotebookServer]) -> NotebookServer:
    """The program at that server."""
    return shared[1]


@_at("rtc", "jsd")
async def test_an_answered_edit_survives_a_power_cut(server: JupyterServer, program: NotebookServer, path: str) -> None:
    async with jupyter_notebook(program, path) as client:
        expected: list[str] = []
        for turn in range(KILLS):
            assert is_on_disk(await client.do("insert_cell", cell_index=-1, cell_type="code", cell_source=f"{turn}"))
            server.kill()
            expected.append(f"{turn}")
            assert sources(client.notebook()) == expected
            server.restart()
            await succeeds(client, "read_notebook")
            assert sources(server.contents(path)) == expected
        assert f"has {KILLS} cells" in (await client.do("read_notebook")).text


@_at("plain", "rtc")
async def test_a_power_cut_mid_edit_keeps_all_or_nothing_and_reports_which(
    server: JupyterServer, program: NotebookServer, path: str
) -> None:
    async with jupyter_notebook(program, path) as client:
        answered: list[str] = []
        for turn in range(1):
            asked = [
                asyncio.create_task(
                    client.call("insert_cell", cell_index=-1, cell_type="code", cell_source=f"{turn}.{number}")
                )
                for number in range(8)
            ]
            # The first that is done is in the middle of the others.
            await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            server.kill()
            # What waits for the server is answered once it is back, or earlier with an error.
            server.launch()
            for number, answer in enumerate(await asyncio.gather(*asked)):
                if not answer.is_error and is_on_disk(answer):
                    answered.append(f"{turn}.{number}")
            server.wait()
            await succeeds(client, "read_notebook")
        found = sources(client.notebook())
        assert set(answered) <= set(found)
        assert len(found) == len(set(found)), "a cell is there twice"
        # Every cell that was reported is there, and every cell that is there is read.
        read = await client.agent.read_resource(f"notebook://{path}")
        assert all(each in read["text"] for each in found)


@_at("rtc")
async def test_a_server_killed_mid_run_is_reported_and_earlier_outputs_are_kept(
    server: JupyterServer, program: NotebookServer, path: str
) -> None:
    async with jupyter_notebook(program, path) as client:
        _, wait = gate(client)
        cell = await client.insert(f"print('before', flush=True)\n{wait}")
        running = asyncio.create_task(client.call("execute_cell", cell_id=cell, progress_interval=0.1))
        await until(lambda: client.has_progress("before"), "the run has started", during=running)
        server.kill()
        # The kernel is a child of the server and ends with it.
        await until(lambda: not server.kernels, "the kernel is gone")
        server.restart()
        message = (await running).text
        assert "before" in message and ("[KERNEL DIED" in message or "gone" in message or "It continues" in message), (
            message
        )
        await succeeds(client, "execute_code", code="1 + 1")
        assert printed(client.cell(cell)) == "before\n"
        assert len(client.notebook()["cells"]) == 1


async def test_an_expired_room_is_reopened_without_loss(tmp_path: Path) -> None:
    with own_server(tmp_path, "rtc", "--YDocExtension.document_cleanup_delay=0.1") as (server, program):
        async with jupyter_notebook(program, "x.ipynb") as client:
            await client.insert("first")
            async with tcp_proxy(server.port) as proxy:
                with jupyter_program(server, tmp_path / "other", url=proxy.url) as through:
                    async with jupyter_notebook(through, "x.ipynb", create=False) as other:
                        await other.insert("second")
                        proxy.refuse()
                        await client.do("unuse_notebook")
                        proxy.restore()
                        await succeeds(other, "insert_cell", cell_index=-1, cell_type="code", cell_source="third")
                        assert sources(other.notebook()) == ["first", "second", "third"]
            await client.open()
            assert sources(client.notebook()) == ["first", "second", "third"]


async def test_an_open_notebook_is_renamed(server: JupyterServer, program: NotebookServer) -> None:
    async with jupyter_notebook(program, "old.ipynb") as client:
        await client.insert("before")
        assert server.ask("PATCH", "api/contents/old.ipynb", {"path": "new.ipynb"}).is_success
        answer = await client.call("insert_cell", cell_index=-1, cell_type="code", cell_source="after")
        assert not (server.root / "old.ipynb").exists(), "the old name must not come back"
        if answer.is_error:
            assert sources(read_saved(server.root / "new.ipynb")) == ["before"]
            await client.do("use_notebook", notebook_path="new.ipynb")
            await client.do(
                "insert_cell", notebook_name="new.ipynb", cell_index=-1, cell_type="code", cell_source="after"
            )
        assert sources(read_saved(server.root / "new.ipynb")) == ["before", "after"]


async def test_the_deletion_of_an_open_notebook_is_reported(
    server: JupyterServer, program: NotebookServer, path: str
) -> None:
    async with jupyter_notebook(program, path) as client:
        await client.insert("precious")
        assert server.ask("DELETE", f"api/contents/{path}").is_success
        answer = await client.call("insert_cell", cell_index=-1, cell_type="code", cell_source="after")
        # Either an error, or the room writes the whole notebook again; never success without a file.
        if answer.is_error:
            assert path in answer.text
        elif is_on_disk(answer):
            assert sources(client.notebook()) == ["precious", "after"]


async def test_a_change_on_disk_is_seen_and_not_overwritten(
    server: JupyterServer, program: NotebookServer, path: str
) -> None:
    async with jupyter_notebook(program, path) as client:
        await client.insert("by the agent")
        changed = client.notebook()
        changed["cells"].append({**changed["cells"][0], "id": "by-an-editor", "source": "by an editor"})
        beside = server.root / "x.new"
        async with asyncio.timeout(LONG):
            while "by an editor" not in (await client.do("read_notebook")).text:
                # As an editor writes: another file in its place. jupyter-server-documents takes a change for its own
                # that comes while it saves, so the editor saves again.
                beside.write_text(json.dumps(changed))
                beside.rename(client.file)
                await asyncio.sleep(2)
        await client.insert("after")
        assert sources(client.notebook()) == ["by the agent", "by an editor", "after"]


async def test_a_change_on_disk_right_before_a_write_is_not_overwritten(
    jupyter_servers: SharedServers, path: str, tmp_path: Path
) -> None:
    """Without a room nothing merges changes; another program's file must not be lost."""
    with jupyter_program(jupyter_servers["plain"], tmp_path / "home") as program:
        async with jupyter_notebook(program, path) as client:
            await client.insert("by the agent")
            for turn in range(10):
                write_notebook(client.file, f"somebody else {turn}")
                answer = await client.call("insert_cell", cell_index=-1, cell_type="code", cell_source=f"agent {turn}")
                found = sources(client.notebook())
                assert found[0] == f"somebody else {turn}"
                assert (f"agent {turn}" in found) == (not answer.is_error)


@_at("rtc")
async def test_an_invalid_token_is_reported(server: JupyterServer, program: NotebookServer, path: str) -> None:
    async with jupyter_notebook(program, path) as client:
        await client.insert("before")
        server.kill()
        server.token = "another-token"
        server.start()
        for tool in ["read_notebook", "insert_cell", "execute_code"]:
            given = {"cell_index": -1, "cell_type": "code", "cell_source": "lost"} if tool == "insert_cell" else {}
            given |= {"code": "1"} if tool == "execute_code" else {}
            answer = await client.call(tool, **given)
            assert TOKEN not in answer.text
            # A notebook that is held may still be read; nothing else works.
            assert answer.is_error or tool == "read_notebook", answer.text
            assert tool == "read_notebook" or "token" in answer.text.lower(), answer.text
        assert sources(client.notebook()) == ["before"]
        server.kill()
        server.token = TOKEN
        server.start()
        await succeeds(client, "read_notebook")
        answer = await client.do("insert_cell", cell_index=-1, cell_type="code", cell_source="after")
        assert is_on_disk(answer)
        assert sources(client.notebook()) == ["before", "after"], "what was refused does not come later"


@pytest.mark.parametrize("form", FORMS)
async def test_a_full_disk_is_reported_and_the_file_stays_valid(form: str, tmp_path: Path) -> None:
    """A limit on the file size makes writing fail as on a full disk."""

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, resource.RLIM_INFINITY))

    # jupyter-server-documents reports nothing about saving, so the file is watched for this long.
    with own_server(tmp_path, form, limits=small_files, network_timeout=3) as (server, program):
        async with jupyter_notebook(program, "x.ipynb") as client:
            await client.insert("before")
            answer = await client.call(
                "insert_cell", cell_index=-1, cell_type="code", cell_source="x" * (LARGEST_FILE + 1000)
            )
            assert answer.is_error or not is_on_disk(answer), answer.text
            assert sources(client.notebook()) == ["before"]
            await succeeds(client, "read_notebook")


async def test_a_read_only_file_is_reported(server: JupyterServer, program: NotebookServer, path: str) -> None:
    write_notebook(server.root / path, "before")
    (server.root / path).chmod(0o444)
    async with jupyter_notebook(program, path, create=False) as client:
        answer = await client.call("insert_cell", cell_index=-1, cell_type="code", cell_source="after")
        assert answer.is_error or not is_on_disk(answer), answer.text
        assert sources(client.notebook()) == ["before"]


async def test_a_server_that_is_gone_is_reported_and_the_program_ends(tmp_path: Path) -> None:
    with own_server(tmp_path, "rtc", network_timeout=3) as (server, program):
        async with jupyter_notebook(program, "x.ipynb") as client:
            await client.insert("before")
            run = await client.start(gate(client)[1])
            server.kill()
            with pytest.raises(httpx.TransportError):
                server.ask("GET", "api")
            message = await client.fails("insert_cell", cell_index=-1, cell_type="code", cell_source="after")
            assert str(server.port) in message
            assert run_in(await client.call("get_run", run_id=run)) == run
        # The program ends with the block and leaves nothing behind.
