"""Every tool on each kind of Jupyter server; every answered change is on disk and valid."""

import asyncio
import base64
import json
import re

import nbformat
import pytest

from e2e.support.agents.answer import Answer
from e2e.support.agents.python_sdk import python_agent
from e2e.support.inside_server import BESIDE, INSIDE, INSIDE_PLAIN, Place
from e2e.support.jupyter_program import JupyterNotebookClient, is_on_disk, jupyter_notebook
from e2e.support.jupyter_server import JupyterServer
from e2e.support.lab_notebooks import KERNELSPEC, write_notebook
from e2e.support.notebook_client import NotebookClient, gate, id_in, run_in
from e2e.support.notebook_files import printed, sources
from e2e.support.notebook_server import NotebookServer
from e2e.support.waiting import until

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SHOW_PIXEL = f"import base64\nfrom IPython.display import Image, display\ndisplay(Image(base64.b64decode({PIXEL!r})))"


@pytest.fixture(scope="module", params=[*BESIDE, INSIDE, INSIDE_PLAIN], ids="-".join)
def place(request: pytest.FixtureRequest) -> Place:
    return request.param


@pytest.fixture(scope="module")
def form(place: Place) -> str:
    return place.form


@pytest.fixture(scope="module")
def mode(place: Place) -> str:
    return place.mode


async def _saves(client: NotebookClient, tool: str, **given: object) -> Answer:
    """A change that is on disk when it is answered."""
    answer = await client.do(tool, **given)
    assert is_on_disk(answer), answer.text
    return answer


async def test_every_answered_edit_is_on_disk(mcp_server: NotebookServer, path: str) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        assert sources(client.notebook()) == []
        title = id_in(await _saves(client, "insert_cell", cell_index=-1, cell_type="markdown", cell_source="# A title"))
        assert sources(client.notebook()) == ["# A title"]
        code = id_in(
            await _saves(client, "insert_cell", cell_index=-1, cell_type="code", cell_source="x = 1\nprint(x)")
        )
        await _saves(client, "insert_cell", cell_index=1, cell_type="raw", cell_source="raw")
        assert sources(client.notebook()) == ["# A title", "raw", "x = 1\nprint(x)"]
        assert [cell["cell_type"] for cell in client.notebook()["cells"]] == ["markdown", "raw", "code"]
        assert [client.cell(0)["id"], client.cell(2)["id"]] == [title, code]

        greeting = "x = 'größer 🪐 \U0001f469\u200d\U0001f680'"
        edited = await _saves(client, "edit_cell_source", cell_id=code, old_string="x = 1", new_string=greeting)
        assert f"-x = 1\n+{greeting}" in edited.text
        assert sources(client.notebook())[2] == f"{greeting}\nprint(x)"
        # After what takes two units in UTF-16 and four bytes in UTF-8.
        await _saves(client, "edit_cell_source", cell_id=code, old_string="print(x)", new_string="print(x * 2)")
        assert sources(client.notebook())[2] == f"{greeting}\nprint(x * 2)"

        overwritten = await _saves(
            client, "overwrite_cell_source", cell_id=title, cell_source="# Another title\n\ntext"
        )
        assert "-# A title\n+# Another title" in overwritten.text
        moved = await _saves(client, "move_cell", source_cell_id=code, target_index=0)
        assert code in moved.text
        assert sources(client.notebook()) == [f"{greeting}\nprint(x * 2)", "# Another title\n\ntext", "raw"]
        assert client.cell(0)["id"] == code, "a moved cell keeps its id"

        await _saves(client, "change_cell", cell_id=title, cell_type="code", tags=["kept"], collapsed="source")
        changed = client.cell(title)
        assert changed["cell_type"] == "code" and changed["outputs"] == []
        assert changed["metadata"]["tags"] == ["kept"] and changed["metadata"]["jupyter"] == {"source_hidden": True}
        await _saves(client, "change_cell", cell_id=title, split_at=3)
        assert sources(client.notebook())[1:] == ["# Another title", "text", "raw"]
        await _saves(client, "change_cell", cell_index=1, merge_with_next=True)
        assert sources(client.notebook())[1:] == ["# Another title\n\ntext", "raw"]
        await _saves(client, "change_cell", cell_index=1, duplicate=True)
        assert sources(client.notebook())[1:] == ["# Another title\n\ntext", "# Another title\n\ntext", "raw"]
        await _saves(client, "delete_cell", cell_indices=[2])

        deleted = await _saves(client, "delete_cell", cell_indices=[1, 2])
        assert "deleted cell source:\nraw" in deleted.text
        assert sources(client.notebook()) == [f"{greeting}\nprint(x * 2)"]
        assert (await client.do("read_cell", cell_id=code)).text.count(greeting) == 1


async def test_runs_write_the_same_outputs_as_jupyter(mcp_server: NotebookServer, path: str) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        first = await _saves(client, "insert_execute_code_cell", cell_index=-1, cell_source="x = 6\nprint('größer', x)")
        assert "größer 6" in first.text and "[COMPLETED in" in first.text
        assert printed(client.cell(0)) == "größer 6\n"
        assert client.cell(0)["execution_count"] == 1

        both = await _saves(client, "insert_execute_code_cell", cell_index=-1, cell_source=f"{SHOW_PIXEL}\nx * 7")
        assert "42" in both.text and both.images[0]["mimeType"] == "image/png"
        display, result = client.cell(id_in(both))["outputs"]
        assert base64.b64decode(display["data"]["image/png"]) == base64.b64decode(PIXEL)
        assert result["output_type"] == "execute_result" and result["data"]["text/plain"] in ("42", ["42"])
        assert result["execution_count"] == client.cell(1)["execution_count"] == 2

        wrong = await client.fails("insert_execute_code_cell", cell_index=-1, cell_source="x / 0")
        assert "ZeroDivisionError" in wrong and "saved to disk" in wrong
        [error] = client.cell(2)["outputs"]
        assert error["output_type"] == "error" and error["ename"] == "ZeroDivisionError"

        beside = await client.do("execute_code", code="x")
        assert "6" in beside.text and len(client.notebook()["cells"]) == 3
        again = await client.do("run_cells", **{"from": "0", "through": "1"})
        assert "größer 6" in again.text
        assert [cell["execution_count"] for cell in client.notebook()["cells"]] == [5, 6, 3]

        cleared = await _saves(client, "clear_cell_output", cell_index=0)
        assert "1 output(s) removed" in cleared.text
        assert client.cell(0)["outputs"] == [] and client.cell(0)["execution_count"] is None


async def test_streams_keep_their_order_and_displays_are_updated(mcp_server: NotebookServer, path: str) -> None:
    code = """
import sys
from IPython.display import display
shown = display('first', display_id=True)
print('out', flush=True)
print('err', file=sys.stderr, flush=True)
shown.update('second')
print('last')
"""
    async with jupyter_notebook(mcp_server, path) as client:
        ran = await client.run(code)
        cell = client.cell(id_in(ran))
        assert printed(cell) == "out\nlast\n" and printed(cell, "stderr") == "err\n"
        [shown] = [each for each in cell["outputs"] if each["output_type"] == "display_data"]
        assert "second" in "".join(shown["data"]["text/plain"])


async def test_others_see_outputs_during_the_run(mcp_server: NotebookServer, jupyter: JupyterServer, path: str) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        opened, wait = gate(client)
        # jupyter-collaboration saves a second after the last change, but not a change that arrives while it saves.
        wait = wait.replace("time.sleep(0.01)", "print('.', end='', flush=True); time.sleep(3)")
        run = await client.begin(f"print('early', flush=True)\n{wait}\nprint('late')")

        def message() -> str:
            return "".join(printed(cell) for cell in jupyter.saved(path)["cells"])

        await until(lambda: message().startswith("early\n"), "the server has the first line")
        opened.touch()
        ended = await client.wait(run)
        assert "late" in ended.text and is_on_disk(ended)
        assert re.fullmatch(r"early\n\.+late\n", message())


async def test_reading_returns_the_server_s_content(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    ids = write_notebook(jupyter.root / path, "x = 1", "x + 1")
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        read = await client.do("read_notebook", response_format="detailed")
        assert all(cell in read.text for cell in ids)
        assert "has 2 cells" in read.text and "x + 1" in read.text
        found = await client.do("search_notebook", query="x + 1")
        assert ids[1] in found.text
        whole = json.loads((await client.agent.read_resource(f"notebook://{path}"))["text"])
        assert sources(whole) == ["x = 1", "x + 1"]
        assert whole["metadata"]["kernelspec"]["name"] == KERNELSPEC["name"]


async def test_an_old_notebook_is_opened_edited_and_stays_valid(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    old = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("old = 1")], metadata={"kernelspec": KERNELSPEC})
    del old.cells[0]["id"]
    old.nbformat_minor = 4
    (jupyter.root / path).write_text(nbformat.writes(old))
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        await _saves(client, "insert_cell", cell_index=-1, cell_type="code", cell_source="new = 2")
        ran = await client.run("old_and_new = 3; print(old_and_new)")
        assert "3" in ran.text and is_on_disk(ran)
        assert sources(client.notebook()) == ["old = 1", "new = 2", "old_and_new = 3; print(old_and_new)"]


async def test_untouched_metadata_and_attachments_survive(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    text = nbformat.v4.new_markdown_cell("![it](attachment:it.png)", metadata={"tags": ["kept"], "own": {"deep": [1]}})
    text["attachments"] = {"it.png": {"image/png": PIXEL}}
    code = nbformat.v4.new_code_cell("1", metadata={"collapsed": True, "scrolled": "auto"}, execution_count=7)
    code.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "1"}, execution_count=7)]
    metadata = {"kernelspec": KERNELSPEC, "own": {"nested": {"list": [1, 2.5, None, "x"]}}}
    nbformat.write(nbformat.v4.new_notebook(cells=[text, code], metadata=metadata), jupyter.root / path)
    before = json.loads((jupyter.root / path).read_text())
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        await client.insert("new")
        after = client.notebook()
        assert after["cells"][:2] == before["cells"]
        assert after["metadata"]["own"] == before["metadata"]["own"]


async def test_creating_never_overwrites_and_a_missing_notebook_is_an_error(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    write_notebook(jupyter.root / path, "precious")
    async with python_agent(mcp_server.url) as agent:
        client = JupyterNotebookClient(agent, jupyter.root, path)
        await client.call("use_notebook", notebook_path=path, mode="create")
        assert sources(client.notebook()) == ["precious"]
        missing = await client.fails("use_notebook", notebook_path="missing.ipynb", notebook_name="missing")
        assert "missing.ipynb" in missing
        assert not (jupyter.root / "missing.ipynb").exists()


async def test_files_kernels_and_notebooks_are_listed(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    folder = jupyter.root / f"folder-{path}.d"
    folder.mkdir()
    write_notebook(folder / "inner.ipynb")
    (folder / "data.csv").write_text("1,2\n")
    async with jupyter_notebook(mcp_server, path) as client:
        files = await client.do("list_files", path=folder.name)
        assert f"{folder.name}/inner.ipynb" in files.text and "data.csv" in files.text
        deep = await client.do("list_files", max_depth=1, limit=0, pattern="**/inner.ipynb")
        assert f"{folder.name}/inner.ipynb" in deep.text and "data.csv" not in deep.text
        notebooks = await client.do("list_notebooks")
        assert path in notebooks.text and "inner.ipynb" in notebooks.text
        await client.do("execute_code", code="1")
        kernels = (await client.do("list_kernels")).text
        assert jupyter.session_of(path)["kernel"]["id"] in kernels
        assert "Kernelspecs" in kernels and "python3" in kernels


async def test_two_agents_edit_one_notebook_at_once(mcp_server: NotebookServer, path: str) -> None:
    async with jupyter_notebook(mcp_server, path) as one, jupyter_notebook(mcp_server, path, create=False) as other:

        async def insert(client: NotebookClient, name: str) -> None:
            for number in range(10):
                cell = {"cell_index": -1, "cell_type": "code", "cell_source": f"{name} {number}"}
                # The file is not looked at: the server may be writing it for the other one.
                answer = await client.call("insert_cell", **cell)
                assert not answer.is_error, answer.text

        await asyncio.gather(insert(one, "one"), insert(other, "other"))
        found = sources(one.notebook())
        assert sorted(found) == sorted(f"{name} {number}" for name in ("one", "other") for number in range(10))
        for name in ("one", "other"):
            assert [each for each in found if each.startswith(f"{name} ")] == [f"{name} {n}" for n in range(10)]


async def test_a_run_continues_without_the_agent_and_can_be_read_later(mcp_server: NotebookServer, path: str) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        opened, wait = gate(client)
        begun = await client.run(f"{wait}\nprint('done')", timeout=0.3)
        assert "It continues" in begun.text
    opened.touch()
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        ended = await client.wait(run_in(begun))
        assert "done" in ended.text and "[COMPLETED in" in ended.text
        assert printed(client.cell(id_in(begun))) == "done\n"
