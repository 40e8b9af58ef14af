"""Rooms that close, and files that are moved or deleted, while an agent uses a server's own endpoint."""

import asyncio
from collections.abc import Iterator

import pytest

from e2e.support.collaborator import collaborator
from e2e.support.inside_server import InsideServer, inside
from e2e.support.jupyter_program import is_on_disk, jupyter_notebook, until_on_disk
from e2e.support.jupyter_server import JUPYTER_CONFIG, JupyterServer, SharedServers, jupyter_server
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import NotebookClient, gate
from e2e.support.notebook_files import printed, read_saved, sources
from e2e.support.waiting import LONG, until

OPTIONS = (
    # Rooms of jupyter-collaboration end as soon as nobody is in them.
    "--YDocExtension.document_cleanup_delay=0",
    # Rooms that end and start lock each other's database, for five seconds each time if the machine is busy.
    "--CellbridgeApp.network_timeout=120",
)
EXTENSIONS = {"PYTHONPATH": str(JUPYTER_CONFIG)}


@pytest.fixture(scope="module", params=["plain", "rtc"])
def form(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def server(
    form: str, jupyter_servers: SharedServers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JupyterServer]:
    if form == "plain":
        yield jupyter_servers[form]
        return
    with jupyter_server(form, tmp_path_factory.mktemp(form), *OPTIONS, extension="eviction", environment=EXTENSIONS) as server:
        yield server


@pytest.fixture
def program(server: JupyterServer) -> InsideServer:
    return inside(server)


def _insertion(source: str) -> dict[str, object]:
    return {"cell_index": -1, "cell_type": "code", "cell_source": source}


@pytest.mark.parametrize("form", ["rtc"], scope="module")
async def test_an_agent_keeps_working_in_a_room_that_everybody_else_left(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    write_notebook(server.root / path, "first = 1")
    async with jupyter_notebook(program, path, create=False) as client:
        for turn in range(3):
            async with collaborator(server, path) as other:
                other.add(0, f"other = {turn}")
                await _reads(client, f"other = {turn}")
            await client.do("insert_cell", **_insertion(f"agent = {turn}"))
        expected = [*(f"other = {turn}" for turn in (2, 1, 0)), "first = 1", *(f"agent = {n}" for n in range(3))]
        await until_on_disk(client, lambda it: sources(it) == expected, "what all wrote is on disk")


async def _reads(client: NotebookClient, source: str) -> None:
    async with asyncio.timeout(LONG):
        while source not in (await client.do("read_notebook")).text:
            await asyncio.sleep(0.02)


async def _evict(server: JupyterServer) -> None:
    """Closes all rooms, with agents in them."""
    ended = "Deleting Y document from memory"
    before = server.log.read_text().count(ended)
    answer = server.ask("POST", "evict")
    assert answer.is_success and answer.json()["clients"] > 0, answer.text
    await until(lambda: server.log.read_text().count(ended) > before, "the room has ended")


@pytest.mark.parametrize("form", ["rtc"], scope="module")
async def test_an_agent_whose_room_is_closed_reopens_it_without_loss(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    async with jupyter_notebook(program, path) as client:
        for turn in range(3):
            assert is_on_disk(await client.do("insert_cell", **_insertion(f"before = {turn}")))
            await _evict(server)
            assert is_on_disk(await client.do("insert_cell", **_insertion(f"after = {turn}")))
        expected = [f"{when} = {turn}" for turn in range(3) for when in ("before", "after")]
        assert sources(client.notebook()) == expected == sources(server.contents(path))


@pytest.mark.parametrize("form", ["rtc"], scope="module")
async def test_outputs_are_in_the_file_after_the_room_was_closed(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    async with jupyter_notebook(program, path) as client:
        opened, wait = gate(client)
        run = await client.start(f"print('early', flush=True)\n{wait}\nprint('late')")
        await client.until_printed(run, "early")
        await _evict(server)
        opened.touch()
        assert "late" in (await client.wait(run)).text
        await until_on_disk(client, lambda it: printed(it["cells"][0]) == "early\nlate\n", "all outputs are on disk")
        assert len(client.notebook()["cells"]) == 1


async def test_a_file_deleted_outside_the_server_is_reported(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    async with jupyter_notebook(program, path) as client:
        await client.insert("precious = 1")
        client.file.unlink()
        answer = await client.call("insert_cell", **_insertion("after = 1"))
        # Either an error, or the whole notebook is written again; never success without a file.
        if answer.is_error:
            assert path in answer.text and "Traceback" not in answer.text, answer.text
        elif is_on_disk(answer):
            assert sources(client.notebook()) == ["precious = 1", "after = 1"]
        # Other notebooks keep working.
        async with jupyter_notebook(program, f"other-{path}") as other:
            assert is_on_disk(await other.do("insert_cell", **_insertion("other = 1")))


async def test_a_file_renamed_outside_the_server_is_not_lost(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    renamed = server.root / f"renamed-{path}"
    async with jupyter_notebook(program, path) as client:
        await client.insert("precious = 1")
        client.file.rename(renamed)
        answer = await client.call("insert_cell", **_insertion("after = 1"))
        if answer.is_error:
            assert path in answer.text and "Traceback" not in answer.text, answer.text
        assert sources(read_saved(renamed))[:1] == ["precious = 1"]
        if not answer.is_error and is_on_disk(answer):
            found = [sources(read_saved(file)) for file in (client.file, renamed) if file.exists()]
            assert ["precious = 1", "after = 1"] in found
        opened = await client.do("use_notebook", notebook_path=renamed.name)
        assert "precious = 1" in opened.text


async def test_a_corrupted_file_is_reported_and_read_again_once_valid(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    async with jupyter_notebook(program, path) as client:
        await client.insert("precious = 1")
        client.file.write_text("{ this is no notebook")
        answer = await client.call("insert_cell", **_insertion("typed = 1"))
        # Whoever has the notebook in a room may write it over what is there.
        if not answer.is_error and is_on_disk(answer):
            assert sources(client.notebook()) == ["precious = 1", "typed = 1"]
        else:
            assert path in answer.text and "Traceback" not in answer.text, answer.text
        write_notebook(client.file, "repaired = 1")
        async with asyncio.timeout(LONG):
            while "repaired = 1" not in (await client.call("read_notebook")).text:
                await asyncio.sleep(0.02)
        assert is_on_disk(await client.do("insert_cell", **_insertion("after = 1")))
        assert sources(client.notebook()) == ["repaired = 1", "after = 1"]
