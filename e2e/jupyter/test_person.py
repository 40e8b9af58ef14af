"""A person and an agent in the same notebook at the same time: each sees the other, and nothing of either is lost. Only JupyterLab
shows what a person sees."""

import asyncio
import json
import re
import time

import pytest

from e2e.support.collaborator import collaborator, is_shared_text, watched_presence
from e2e.support.jupyter_program import is_on_disk, jupyter_notebook, until_on_disk
from e2e.support.jupyter_server import JupyterServer
from e2e.support.jupyterlab import Person
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import NotebookClient, gate, id_in
from e2e.support.notebook_files import printed, sources
from e2e.support.notebook_server import NotebookServer
from e2e.support.places import JSD, RTC, at, fixtures_of
from e2e.support.waiting import LONG, until

HAS_LAB = True

# In seconds: more than it takes on any working machine, far less than until the next autosave.
AT_ONCE = 20.0
# How soon an agent learns that no browser tab is open, in seconds: far less than its call may take.
SOON = 30.0
TURNS = 5

# What JupyterLab does itself, and the code that all rooms share.
only_rtc = at(RTC)
place, form, mode = fixtures_of(RTC, JSD)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.whole]


@only_rtc
async def test_without_a_browser_tab_a_notebook_is_not_shown(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    """The first test: after it, the person's JupyterLab is open."""
    write_notebook(jupyter.root / path, "one = 1")
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        assert '"@selected"' in (await client.open()).text
        assert "click into the cell" in await client.fails("read_cell", cell_id="@selected")
        started = time.monotonic()
        assert "No browser tab" in await client.fails("open_in_browser")
        assert time.monotonic() - started < SOON


@only_rtc
async def test_an_agent_shows_the_person_notebooks_and_works_where_the_cursor_is(
    mcp_server: NotebookServer, jupyter: JupyterServer, at_lab: Person, path: str
) -> None:
    first = f"first-{path}"
    write_notebook(jupyter.root / first, "this = 'the first'")
    write_notebook(jupyter.root / path, "one = 1", "", "three = '🪐'\nlast = 3")
    await at_lab.opens(first)
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        await _is_shown_notebooks(client, at_lab, first)
        await _works_where_the_person_is(client, at_lab)
        await at_lab.screenshot("selected-cell")


async def _is_shown_notebooks(client: NotebookClient, person: Person, first: str) -> None:
    await person.sees_cells("this = 'the first'")
    shown = await client.do("open_in_browser")
    assert "is open in the person's browser" in shown.text
    await person.sees_cells("one = 1", "", "three = '🪐'\nlast = 3")
    # What is open is brought to the front.
    await client.do("open_in_browser", notebook_name=first)
    await person.sees_cells("this = 'the first'")
    assert "/nowhere.ipynb" in await client.fails("open_in_browser", notebook_name="a/nowhere.ipynb")
    await client.do("open_in_browser")
    await person.sees_cells("one = 1", "", "three = '🪐'\nlast = 3")


async def _works_where_the_person_is(client: NotebookClient, person: Person) -> None:
    await person.type(2, "")
    await _reads_selected(client, "last = 3")
    await person.type(0, "0")
    await _reads_selected(client, "one = 10")
    changed = await client.do("overwrite_cell_source", cell_id="@selected", cell_source="one = 'by the agent'")
    assert is_on_disk(changed)
    await person.sees_source(0, "one = 'by the agent'")
    # In an empty cell a position has another form; the agent's own is ignored.
    await person.type(1, "")
    await _reads_selected(client, "=====Cell 1 ")
    await client.do("insert_cell", after_cell_id="@selected", cell_type="code", cell_source="after = 2")
    await person.sees_cells("one = 'by the agent'", "", "after = 2", "three = '🪐'\nlast = 3")
    ran = await client.do("execute_cell", cell_id="@selected")
    assert "cell 1" in ran.text
    # The cell goes, and nobody is in one.
    await client.do("delete_cell", cell_ids_to_delete=["@selected"])
    assert "click into the cell" in await client.fails("read_cell", cell_id="@selected")


async def _reads_selected(client: NotebookClient, source: str) -> None:
    """Waits until the cell that the person is in is this one."""
    async with asyncio.timeout(LONG):
        while True:
            answer = await client.call("read_cell", cell_id="@selected")
            if not answer.is_error and source in answer.text:
                return
            await asyncio.sleep(0.02)


async def test_a_person_sees_cells_and_outputs_at_once_and_types_at_the_same_time(
    mcp_server: NotebookServer, jupyter: JupyterServer, at_lab: Person, path: str
) -> None:
    write_notebook(jupyter.root / path, "mine = 1", "theirs = 2")
    person = await at_lab.opens(path)
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        await person.sees_cells("mine = 1", "theirs = 2")
        await _inserts_while_somebody_types(person, client)
        await _runs_while_somebody_looks(person, client)
        await person.screenshot(f"{jupyter.form}-agent-and-person")
        # What the person runs is there for the agent.
        await person.run(0)
        await person.sees_output(2, "made")
        await until_on_disk(client, lambda it: it["cells"][0]["execution_count"], "the person's own run is on disk")
        assert "mine = 1 + 1" in (await client.do("read_cell", cell_index=0)).text
        assert "[COMPLETED in" in (await client.do("execute_code", code="mine")).text, "they share the kernel"


async def _inserts_while_somebody_types(person: Person, client: NotebookClient) -> None:
    enough = asyncio.Event()
    typing = asyncio.create_task(person.type_until(0, " + 1", enough))
    await person.sees_source(0, re.compile(r"mine = 1 \+ 1.*"))
    await person.note_when("inserted", "document.body.innerText.includes('by_the_agent')")
    asked = time.time()
    await client.insert("by_the_agent = 3", cell_index=2)
    assert await person.noted("inserted") - asked < AT_ONCE
    overwritten = await client.do("overwrite_cell_source", cell_index=1, cell_source="theirs = 'changed'")
    assert is_on_disk(overwritten)
    enough.set()
    typed = await typing
    await person.sees_cells(f"mine = 1{typed}", "theirs = 'changed'", "by_the_agent = 3")
    both = [f"mine = 1{typed}", "theirs = 'changed'", "by_the_agent = 3"]
    await until_on_disk(client, lambda it: sources(it) == both, "what both wrote is on disk")


async def _runs_while_somebody_looks(person: Person, client: NotebookClient) -> None:
    opened, wait = gate(client)
    await person.note_when("printed", "/made at \\d+/.test(document.body.innerText)")
    await client.do(
        "overwrite_cell_source",
        cell_index=2,
        cell_source=f"import time\nprint('made' + ' at', time.time(), flush=True)\n{wait}\nprint('the' + ' end')",
    )
    running = asyncio.create_task(client.do("execute_cell", cell_index=2))
    seen = await person.noted("printed")
    # Beside a cell that runs there is a star.
    await person.sees_prompt(2, "[*]:")
    opened.touch()
    ran = await running
    made = re.search(r"made at (\d+\.\d+)", ran.text)
    assert made and seen - float(made[1]) < AT_ONCE
    await person.sees_output(2, "the end")
    await person.sees_prompt(2, re.compile(r"\[\d+\]:"))
    assert is_on_disk(ran)
    assert printed(client.cell(2)).endswith("the end\n")


@only_rtc
async def test_a_person_sees_nothing_of_questions_about_variables(
    mcp_server: NotebookServer, jupyter: JupyterServer, at_lab: Person, path: str
) -> None:
    """Only JupyterLab shows what a kernel's messages about our questions do to a page."""
    write_notebook(jupyter.root / path, "mine = 1")
    person = await at_lab.opens(path)
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        await person.has_a_kernel()
        await client.do("execute_cell", cell_index=0)
        await person.sees_prompt(0, re.compile(r"\[\d+\]:"))
        opened, run = await client.begin_at_gate()
        await person.sees_prompt(1, "[*]:")
        await person.watch_the_cells()
        for _ in range(10):
            assert "mine" in (await client.do("list_variables")).text
            assert "mine: int 1" in (await client.do("inspect_variable", name="mine")).text
        assert await person.changes_of_the_cells() == []
        await person.sees_prompt(1, "[*]:")
        opened.touch()
        await client.wait(run)
        await person.sees_prompt(1, re.compile(r"\[\d+\]:"))


@only_rtc
async def test_both_may_type_in_one_cell(
    mcp_server: NotebookServer, jupyter: JupyterServer, at_lab: Person, path: str
) -> None:
    write_notebook(jupyter.root / path, "first = 0\nsecond = 0\n")
    person = await at_lab.opens(path)
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        enough = asyncio.Event()
        typing = asyncio.create_task(person.type_until(0, "# typed by a person ", enough))
        turns = 0
        while turns < TURNS:
            given = {"cell_index": 0, "old_string": f"first = {turns}\n", "new_string": f"first = {turns + 1}\n"}
            answer = await client.call("edit_cell_source", **given)
            # Refused when the person has typed since the agent read the cell; the error has the new source.
            assert not answer.is_error or "changed after you read it" in answer.text, answer.text
            turns += not answer.is_error
        enough.set()
        both = f"first = {TURNS}\nsecond = 0\n{await typing}"
        await person.sees_source(0, both)
        await until_on_disk(client, lambda it: sources(it) == [both], "what both wrote is on disk")
        assert both in (await client.do("read_cell", cell_index=0)).text


async def test_another_program_and_the_agent_see_each_other(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    write_notebook(jupyter.root / path, "x = 1")
    async with collaborator(jupyter, path) as other, jupyter_notebook(mcp_server, path, create=False) as client:
        await client.insert("from the agent")
        await other.sees(lambda: other.sources == ["x = 1", "from the agent"], "the agent's cell")
        other.add(1, "from the other 🪐")
        other.append(0, "0")
        await _reads(client, ["x = 10", "from the other 🪐", "from the agent"])

        ran = await client.run("print('one', flush=True); print('two'); 3")
        await other.sees(lambda: len(other.cells) == 4 and len(other.cells[3]["outputs"]) == 2, "the outputs")
        stream, result = other.cells[3]["outputs"]
        assert str(stream["text"]) == "one\ntwo\n" and stream["name"] == "stdout"
        assert is_shared_text(stream["text"]), "JupyterLab appends to it"
        assert result["data"]["text/plain"] in ("3", ["3"])
        assert int(other.cells[3]["execution_count"]) == client.cell(3)["execution_count"]
        await other.sees(lambda: other.cells[3]["execution_state"] == "idle", "nothing runs")

        await client.do("move_cell", source_cell_id=id_in(ran), target_index=0)
        # An index means the cell that the agent was shown there.
        await client.do("read_notebook")
        await client.do("delete_cell", cell_indices=[2])
        left = ["print('one', flush=True); print('two'); 3", "x = 10", "from the agent"]
        await other.sees(lambda: other.sources == left, "the move and the deletion")


async def _reads(client: NotebookClient, expected: list[str]) -> None:
    """Waits until the agent reads these cells, and nothing else."""
    async with asyncio.timeout(LONG):
        while True:
            contents = await client.agent.read_resource(f"notebook://{client.path}")
            if sources(json.loads(contents["text"])) == expected:
                return


@only_rtc
async def test_others_changes_are_not_overwritten_unread(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    write_notebook(jupyter.root / path, "x = 1")
    async with collaborator(jupyter, path) as other, jupyter_notebook(mcp_server, path, create=False) as client:
        await client.do("read_cell", cell_index=0)
        other.append(0, " + 1")
        await _reads_in_another_session(mcp_server, path, "x = 1 + 1")
        refused = await client.fails("overwrite_cell_source", cell_index=0, cell_source="x = 2")
        assert "x = 1 + 1" in refused
        assert other.sources == ["x = 1 + 1"]
        await client.do("overwrite_cell_source", cell_index=0, cell_source="x = 2")
        await other.sees(lambda: other.sources == ["x = 2"], "what the agent wrote when it knew")


async def _reads_in_another_session(program: NotebookServer, path: str, source: str) -> None:
    """Waits until the program knows, without telling the agent that the test is about."""
    async with jupyter_notebook(program, path, create=False) as client:
        await _reads(client, [source])


@only_rtc
async def test_the_agent_s_presence_has_a_name_and_a_position(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    write_notebook(jupyter.root / path, "x = 1", "y = 2")
    async with watched_presence(jupyter, path) as states:

        def agents() -> list[str]:
            return [message for state in states.values() if "mcp" in (message := json.dumps(state)).lower()]

        async with jupyter_notebook(mcp_server, path, create=False) as client:
            await client.do("overwrite_cell_source", cell_index=1, cell_source="y = 3")
            await until(agents, "the agent is named as its client names itself")
            await until(lambda: any('"cursors"' in message for message in agents()), "its position is shared")
        await until(lambda: not agents(), "the agent has left")
