"""A person in JupyterLab and an agent at the server's own endpoint see each other's changes at once. Only JupyterLab shows what a
person sees; the rooms of jupyter-server-documents are reached as from beside the server (`jupyter/test_person.py`)."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from e2e.support.inside_server import InsideServer
from e2e.support.jupyter_program import jupyter_notebook, until_on_disk
from e2e.support.jupyter_server import JupyterServer
from e2e.support.jupyterlab import Person, lab
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_files import printed, sources
from e2e.support.waiting import LONG

# In seconds: more than it takes on any working machine, far less than until the next autosave.
AT_ONCE = 20.0


pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.whole]


@pytest.fixture(scope="module")
def has_lab() -> bool:
    return True


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def at_lab(jupyter: JupyterServer) -> AsyncIterator[Person]:
    """A person whose JupyterLab the tests of a server share."""
    async with lab(jupyter) as person:
        yield person


@pytest.fixture(scope="module")
def form() -> str:
    return "rtc"


@pytest.fixture(scope="module")
def mode() -> str:
    return "inside"


@asynccontextmanager
async def _seen_at_once(person: Person, text: str) -> AsyncIterator[None]:
    """Checks that what is done in the block shows a text to the person in time."""
    await person.note_when(text, f"document.body.innerText.includes('{text}')")
    asked = time.time()
    yield
    assert await person.noted(text) - asked < AT_ONCE


async def test_a_person_sees_the_agent_s_work_at_once_and_types_at_the_same_time(
    mcp_server: InsideServer, jupyter: JupyterServer, at_lab: Person, path: str
) -> None:
    write_notebook(jupyter.root / path, "mine = 1", "theirs = 2")
    person = await at_lab.opens(path)
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        await person.sees_cells("mine = 1", "theirs = 2")
        # The kernel is there before anything is timed.
        await person.has_a_kernel()
        enough = asyncio.Event()
        typing = asyncio.create_task(person.type_until(0, " + 1", enough))
        await person.sees_source(0, re.compile(r"mine = 1 \+ 1.*"))
        async with _seen_at_once(person, "inserted_by_the_agent"):
            await client.insert("inserted_by_the_agent = 3", cell_index=2)
        async with _seen_at_once(person, "edited_by_the_agent"):
            edit = {"old_string": "theirs", "new_string": "edited_by_the_agent"}
            await client.do("edit_cell_source", cell_index=1, **edit)
        await person.note_when("printed", r"/printed at \d+/.test(document.body.innerText)")
        ran = await client.run("import time; print('printed' + ' at', time.time())")
        made = re.search(r"printed at (\d+\.\d+)", ran.text)
        assert made and await person.noted("printed") - float(made[1]) < AT_ONCE
        enough.set()
        both = [
            f"mine = 1{await typing}",
            "edited_by_the_agent = 2",
            "inserted_by_the_agent = 3",
            "import time; print('printed' + ' at', time.time())",
        ]
        await person.screenshot(f"inside-{jupyter.form}-agent-and-person")
        await until_on_disk(client, lambda it: sources(it) == both, "what both wrote is on disk")
        assert printed(client.cell(3)) == f"{made[0]}\n"
        assert both[0] in (await client.do("read_cell", cell_index=0)).text


async def test_the_agent_reads_outputs_of_a_person_s_run(
    mcp_server: InsideServer, jupyter: JupyterServer, at_lab: Person, path: str
) -> None:
    write_notebook(jupyter.root / path, "print('by a' + ' person'); shared = 42")
    person = await at_lab.opens(path)
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        await person.has_a_kernel()
        await person.run(0)
        await person.sees_output(0, "by a person")
        async with asyncio.timeout(LONG):
            while "by a person" not in (await client.do("read_cell", cell_index=0)).text:
                await asyncio.sleep(0.02)
        assert "42" in (await client.do("execute_code", code="shared")).text, "they share the kernel"
