"""Rooms that end, and files that move or vanish, under an agent at a server's own endpoint: it goes on, or is told."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_collaborator import collaborator
from jupyter_inside import InsideServer, inside
from jupyter_notebooks import write_notebook
from jupyter_program import at_jupyter, is_on_disk, until_on_disk
from jupyter_server import JupyterServer, SharedServers, jupyter_server
from notebook_desk import Desk, gate
from notebook_files import printed, read_valid, sources
from processes import until

# The same stories as beside a server, with the fixtures of this file.
from test_jupyter_faults import (  # noqa: F401
    test_a_change_on_disk_is_seen_and_not_overwritten,
    test_a_file_that_may_not_be_written_is_told,
    test_a_missing_notebook_is_told_and_not_made,
    test_a_notebook_deleted_while_it_is_open_is_told,
    test_a_notebook_renamed_while_it_is_open,
)

# Rooms of jupyter-collaboration end as soon as nobody is in them.
OPTIONS = ("--YDocExtension.document_cleanup_delay=0", "--ServerApp.jpserver_extensions={'eviction': True}")
EXTENSIONS = {"PYTHONPATH": str(Path(__file__).parent / "jupyter")}


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
    with jupyter_server(form, tmp_path_factory.mktemp(form), *OPTIONS, environment=EXTENSIONS) as server:
        yield server
        # Asked to end, it may wait for ever for a thread of jupyter-collaboration's, whether an agent was there or not.
        server.kill()


@pytest.fixture
def program(server: JupyterServer) -> InsideServer:
    return inside(server)


def _insertion(source: str) -> dict[str, object]:
    return {"cell_index": -1, "cell_type": "code", "cell_source": source}


@pytest.mark.parametrize("form", ["rtc"], scope="module")
async def test_an_agent_goes_on_in_a_room_that_everybody_else_left(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    write_notebook(server.root / path, "first = 1")
    async with at_jupyter(program, path, create=False) as desk:
        for turn in range(3):
            async with collaborator(server, path) as other:
                other.add(0, f"other = {turn}")
                await _reads(desk, f"other = {turn}")
            await desk.do("insert_cell", **_insertion(f"agent = {turn}"))
        expected = [*(f"other = {turn}" for turn in (2, 1, 0)), "first = 1", *(f"agent = {n}" for n in range(3))]
        await until_on_disk(desk, lambda it: sources(it) == expected, "what all wrote is on disk")


async def _reads(desk: Desk, source: str) -> None:
    async with asyncio.timeout(15):
        while source not in (await desk.do("read_notebook")).text:
            await asyncio.sleep(0.02)


async def _evict(server: JupyterServer) -> None:
    """Ends all rooms with the agents in them."""
    ended = "Deleting Y document from memory"
    before = server.log.read_text().count(ended)
    answer = server.ask("POST", "evict")
    assert answer.is_success and answer.json()["clients"] > 0, answer.text
    await until(lambda: server.log.read_text().count(ended) > before, "the room has ended")


@pytest.mark.parametrize("form", ["rtc"], scope="module")
async def test_an_agent_whose_room_ends_enters_it_again_and_loses_nothing(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    async with at_jupyter(program, path) as desk:
        for turn in range(3):
            assert is_on_disk(await desk.do("insert_cell", **_insertion(f"before = {turn}")))
            await _evict(server)
            assert is_on_disk(await desk.do("insert_cell", **_insertion(f"after = {turn}")))
        expected = [f"{when} = {turn}" for turn in range(3) for when in ("before", "after")]
        assert sources(desk.notebook()) == expected == sources(server.contents(path))


@pytest.mark.parametrize("form", ["rtc"], scope="module")
async def test_outputs_of_a_run_whose_room_ends_are_in_the_file(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    async with at_jupyter(program, path) as desk:
        opened, wait = gate(desk)
        run = await desk.begin(f"print('early', flush=True)\n{wait}\nprint('late')")
        await until_on_disk(desk, lambda it: printed(it["cells"][0]) == "early\n", "the first output is on disk")
        await _evict(server)
        opened.touch()
        assert "late" in (await desk.wait(run)).text
        await until_on_disk(desk, lambda it: printed(it["cells"][0]) == "early\nlate\n", "all outputs are on disk")
        assert len(desk.notebook()["cells"]) == 1


async def test_a_notebook_that_was_left_is_as_the_file_says_when_it_is_opened_again(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    async with at_jupyter(program, path) as desk:
        for turn in range(3):
            assert is_on_disk(await desk.do("insert_cell", **_insertion(f"turn = {turn}")))
            await desk.do("unuse_notebook")
            assert f"turn = {turn}" in (await desk.open()).text
        assert sources(desk.notebook()) == [f"turn = {turn}" for turn in range(3)]


async def test_a_file_that_somebody_deletes_behind_the_server_s_back_is_told(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    async with at_jupyter(program, path) as desk:
        await desk.insert("precious = 1")
        desk.file.unlink()
        answer = await desk.call("insert_cell", **_insertion("after = 1"))
        # Either it is refused, or the whole notebook comes back; success without a file is a lie.
        if answer.is_error:
            assert path in answer.text and "Traceback" not in answer.text, answer.text
        elif is_on_disk(answer):
            assert sources(desk.notebook()) == ["precious = 1", "after = 1"]
        # The rest of the server's notebooks go on.
        async with at_jupyter(program, f"other-{path}") as other:
            assert is_on_disk(await other.do("insert_cell", **_insertion("other = 1")))


async def test_a_file_that_somebody_renames_behind_the_server_s_back_is_not_lost(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    renamed = server.root / f"renamed-{path}"
    async with at_jupyter(program, path) as desk:
        await desk.insert("precious = 1")
        desk.file.rename(renamed)
        answer = await desk.call("insert_cell", **_insertion("after = 1"))
        if answer.is_error:
            assert path in answer.text and "Traceback" not in answer.text, answer.text
        assert sources(read_valid(renamed))[:1] == ["precious = 1"]
        if not answer.is_error and is_on_disk(answer):
            found = [sources(read_valid(file)) for file in (desk.file, renamed) if file.exists()]
            assert ["precious = 1", "after = 1"] in found
        opened = await desk.do("use_notebook", notebook_path=renamed.name)
        assert "precious = 1" in opened.text


async def test_a_file_that_somebody_spoils_is_told_and_read_again_once_it_is_whole(
    server: JupyterServer, program: InsideServer, path: str
) -> None:
    async with at_jupyter(program, path) as desk:
        await desk.insert("precious = 1")
        desk.file.write_text("{ this is no notebook")
        answer = await desk.call("insert_cell", **_insertion("meanwhile = 1"))
        # Whoever has the notebook in a room may write it over what is there.
        if not answer.is_error and is_on_disk(answer):
            assert sources(desk.notebook()) == ["precious = 1", "meanwhile = 1"]
        else:
            assert path in answer.text and "Traceback" not in answer.text, answer.text
        write_notebook(desk.file, "repaired = 1")
        async with asyncio.timeout(30):
            while "repaired = 1" not in (await desk.call("read_notebook")).text:
                await asyncio.sleep(0.02)
        assert is_on_disk(await desk.do("insert_cell", **_insertion("after = 1")))
        assert sources(desk.notebook()) == ["repaired = 1", "after = 1"]
