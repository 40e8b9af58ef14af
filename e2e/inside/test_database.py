"""A Jupyter server whose notebooks are in a database: agents work with them, also when the storage fails."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager

import nbformat
import pytest

from e2e.support.agents.answer import Answer
from e2e.support.agents.python_sdk import python_agent
from e2e.support.inside_server import InsideServer, inside
from e2e.support.jupyter_program import JupyterNotebookClient, is_on_disk, jupyter_notebook, succeeds
from e2e.support.jupyter_server import JUPYTER_CONFIG, JupyterServer, jupyter_server
from e2e.support.notebook_files import printed, sources
from e2e.support.waiting import LONG, until

CONFIG = JUPYTER_CONFIG / "database_config.py"
FAULTS = {"broken": ("the database is away", "500"), "full": ("quota", "507")}


@pytest.fixture(scope="module", params=["plain", "rtc"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    with jupyter_server(request.param, tmp_path_factory.mktemp("database"), f"--config={CONFIG}") as server:
        yield server


@pytest.fixture
def mcp_server(database: JupyterServer) -> InsideServer:
    return inside(database)


@contextmanager
def _fault(server: JupyterServer, action: str, kind: str) -> Iterator[None]:
    message = server.root / "fault"
    beside = message.with_suffix(".new")
    beside.write_text(f"{action} {kind}")
    beside.rename(message)
    try:
        yield
    finally:
        message.unlink()


def _insertion(source: str) -> dict[str, object]:
    return {"cell_index": -1, "cell_type": "code", "cell_source": source}


def _stored(database: JupyterServer, path: str) -> list[str]:
    return sources(database.contents(path))


def _store(database: JupyterServer, path: str, source: str) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    stored = database.ask("PUT", f"api/contents/{path}", {"type": "notebook", "content": notebook})
    assert stored.is_success, stored.text


def _tells(answer: Answer, kind: str) -> None:
    """An answer that says in a few words what the storage said."""
    assert any(word in answer.text for word in FAULTS[kind]), answer.text
    assert "Traceback" not in answer.text and len(answer.text) < 2000, answer.text


async def test_a_notebook_in_a_database_is_created_edited_read_and_run(
    mcp_server: InsideServer, database: JupyterServer, path: str
) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        assert is_on_disk(await client.do("insert_cell", **_insertion("x = 7")))
        await client.do("edit_cell_source", cell_index=0, old_string="7", new_string="21")
        await client.do("execute_cell", cell_index=0)
        ran = await client.run("print(x * 2)")
        assert "42" in ran.text and is_on_disk(ran)
        assert path in (await client.do("list_files")).text
        whole = await client.agent.read_resource(f"notebook://{path}")
        assert sources(json.loads(whole["text"])) == _stored(database, path)
        assert printed(database.contents(path)["cells"][-1]) == "42\n"
    assert list(database.root.glob("*.ipynb")) == [], "nothing is in a file"


@pytest.mark.parametrize("kind", FAULTS)
async def test_an_unreadable_notebook_is_reported_and_opens_later(
    kind: str, mcp_server: InsideServer, database: JupyterServer, path: str
) -> None:
    _store(database, path, "precious = 1")
    async with python_agent(mcp_server.url) as agent:
        client = JupyterNotebookClient(agent, database.root, path)
        with _fault(database, "get", kind):
            async with asyncio.timeout(LONG):
                _tells(await client.call("use_notebook", notebook_path=path), kind)
            assert database.get("api/status")
        assert "precious = 1" in (await client.open()).text
        assert is_on_disk(await client.do("insert_cell", **_insertion("after = 1")))
    assert _stored(database, path) == ["precious = 1", "after = 1"]


@pytest.mark.parametrize("kind", FAULTS)
async def test_an_edit_that_cannot_be_stored_is_reported_and_nothing_is_lost(
    kind: str, mcp_server: InsideServer, database: JupyterServer, path: str
) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        await client.insert("before = 1")
        with _fault(database, "save", kind):
            answer = await client.call("insert_cell", **_insertion("tried = 1"))
            # Refused, or kept in the room and said to be nowhere else.
            assert answer.is_error or not is_on_disk(answer), answer.text
            if answer.is_error:
                _tells(answer, kind)
            assert _stored(database, path) == ["before = 1"]
            assert database.get("api/status")
        expected = ["before = 1", *([] if answer.is_error else ["tried = 1"]), "after = 1"]
        await succeeds(client, "insert_cell", **_insertion("after = 1"))
        await until(lambda: _stored(database, path) == expected, f"stored: {expected}")


async def test_a_hanging_storage_blocks_nobody_else(
    mcp_server: InsideServer, database: JupyterServer, path: str
) -> None:
    async with jupyter_notebook(mcp_server, path) as client, jupyter_notebook(mcp_server, f"other-{path}") as other:
        await other.insert("other = 1")
        with _fault(database, "save", "hanging"):
            waiting = asyncio.create_task(client.call("insert_cell", **_insertion("slow = 1")))
            await until((database.root / "hangs").exists, "the storage hangs")
            async with asyncio.timeout(LONG):
                assert "other = 1" in (await other.do("read_cell", cell_index=0)).text
                assert database.get("api/status")
            assert not waiting.done() or not is_on_disk(waiting.result())
        answer = await waiting
        assert not answer.is_error, answer.text
        await until(lambda: _stored(database, path) == ["slow = 1"], "the edit is stored")
