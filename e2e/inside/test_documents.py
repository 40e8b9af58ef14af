"""Documents inside a server: with jupyter-server-documents, and without live documents."""

import asyncio
import json

import pytest

from e2e.support.collaborator import collaborator, watched_presence
from e2e.support.inside_server import InsideServer
from e2e.support.jupyter_program import is_on_disk, jupyter_notebook, until_on_disk
from e2e.support.jupyter_server import JupyterServer
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import id_in
from e2e.support.notebook_files import printed, sources
from e2e.support.waiting import LONG, until

MODE = "inside"


@pytest.fixture(scope="module", params=["plain", "jsd"])
def form(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_answered_edits_are_in_the_file(mcp_server: InsideServer, jupyter: JupyterServer, path: str) -> None:
    write_notebook(jupyter.root / path, "here = 6")
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        inserted = await client.do("insert_cell", cell_index=-1, cell_type="markdown", cell_source="größer 🪐")
        assert is_on_disk(inserted)
        await client.do("edit_cell_source", cell_index=0, old_string="6", new_string="21")
        assert sources(client.notebook()) == ["here = 21", "größer 🪐"]
        await client.do("execute_cell", cell_index=0)
        ran = await client.run("print('printed'); here * 2")
        assert "printed" in ran.text and "42" in ran.text and is_on_disk(ran)
        assert printed(client.cell(id_in(ran))) == "printed\n"
        read = (await client.do("read_cell", cell_id=id_in(ran))).text
        assert "printed" in read and "42" in read
        whole = await client.agent.read_resource(f"notebook://{path}")
        expected = ["here = 21", "größer 🪐", "print('printed'); here * 2"]
        assert sources(json.loads(whole["text"])) == expected == sources(client.notebook())


async def test_changes_are_recorded_for_the_servers_user_and_undone(
    mcp_server: InsideServer, jupyter: JupyterServer, path: str
) -> None:
    """The folder of the record comes from the extension in Python, which no cheaper test starts."""
    write_notebook(jupyter.root / path, "first = 1")
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        await client.do("overwrite_cell_source", cell_index=0, cell_source="second = 2")
        assert "overwrite_cell_source: changed #0" in (await client.do("history")).text
        await client.do("undo")
        await until_on_disk(client, lambda it: sources(it) == ["first = 1"], "the first source is on disk")
    logs = list((jupyter.home.folder / "state/cellbridge/history").glob("jupyter-*/*/log"))
    assert logs and all(log.stat().st_mode & 0o077 == 0 for log in logs)


@pytest.mark.parametrize("form", ["jsd"], scope="module")
async def test_others_in_the_room_see_the_agent_and_its_edits(
    mcp_server: InsideServer, jupyter: JupyterServer, path: str
) -> None:
    write_notebook(jupyter.root / path, "x = 1")
    async with watched_presence(jupyter, path) as states, collaborator(jupyter, path) as other:

        def agents() -> list[str]:
            return [message for state in states.values() if "mcp" in (message := json.dumps(state)).lower()]

        async with jupyter_notebook(mcp_server, path, create=False) as client:
            await client.insert("from the agent")
            await other.sees(lambda: other.sources == ["x = 1", "from the agent"], "the agent's cell")
            await until(agents, "the agent is named as its client names itself")
            other.append(0, "0")
            async with asyncio.timeout(LONG):
                while "x = 10" not in (await client.do("read_cell", cell_index=0)).text:
                    await asyncio.sleep(0.02)
        await until(lambda: not agents(), "the agent has left")
