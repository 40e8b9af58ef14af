"""Cells on every place: named, read, searched and edited."""

import base64
import json

import pytest

from e2e.support.notebook_client import NotebookClient, id_in
from e2e.support.notebook_files import PIXEL, SHOW_PIXEL, printed, sources
from e2e.support.places import Can, same_everywhere
from e2e.tools.conftest import OpenPlace

pytestmark = pytest.mark.asyncio(loop_scope="session")

TEXT = {"cell_type": "markdown"}
CODE = {"cell_type": "code"}


async def _filled(client: NotebookClient, *cells: tuple[str, str]) -> list[str]:
    """Inserts cells, each a type and a source; their ids."""
    await client.stores("insert_cell", cells=[{"cell_type": kind, "cell_source": source} for kind, source in cells])
    return await client.ids()


async def test_cells_are_inserted_edited_moved_and_deleted(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        title = id_in(await client.stores("insert_cell", cell_index=-1, **TEXT, cell_source="# A title"))
        assert await client.sources() == ["# A title"]
        code = id_in(await client.stores("insert_cell", cell_index=-1, **CODE, cell_source="x = 1\nprint(x)"))
        await client.stores("insert_cell", after_cell_id=title, **TEXT, cell_source="text")
        assert await client.sources() == ["# A title", "text", "x = 1\nprint(x)"]
        assert [cell["cell_type"] for cell in await client.cells()] == ["markdown", "markdown", "code"]
        assert (await client.ids())[::2] == [title, code]

        greeting = "x = 'größer 🪐 \U0001f469\u200d\U0001f680'"
        edited = await client.stores("edit_cell_source", cell_id=code, old_string="x = 1", new_string=greeting)
        assert f"-x = 1\n+{greeting}" in edited.text
        # After what takes two units in UTF-16 and four bytes in UTF-8.
        await client.stores("edit_cell_source", cell_id=code, old_string="print(x)", new_string="print(x * 2)")
        assert (await client.sources())[2] == f"{greeting}\nprint(x * 2)"
        overwritten = await client.stores("overwrite_cell_source", cell_id=title, cell_source="# Another title\n\ntext")
        assert "-# A title\n+# Another title" in overwritten.text
        moved = await client.stores("move_cell", source_cell_id=code, target_index=0)
        assert code in moved.text
        assert await client.sources() == [f"{greeting}\nprint(x * 2)", "# Another title\n\ntext", "text"]
        assert (await client.ids())[:2] == [code, title], "a moved cell keeps its id"

        deleted = await client.stores("delete_cell", cell_indices=[1, 2])
        assert "deleted cell source:\ntext" in deleted.text
        assert await client.sources() == [f"{greeting}\nprint(x * 2)"]
        assert (await client.do("read_cell", cell_id=code)).text.count(greeting) == 1


@same_everywhere
async def test_a_cell_is_named_by_index_id_prefix_or_execution_count(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        [cell, _] = await _filled(client, ("code", "'here'"), ("code", "alpha = 1"))
        await client.do("execute_cell", cell_index=0)
        count = (await client.cells())[0]["execution_count"]
        named: list[dict[str, object]] = [
            {"cell_index": 0},
            {"cell_id": cell},
            {"cell_id": f"In[{count}]"},
            {"cell_id": cell[:6]},
        ]
        for reference in named:
            assert "'here'" in (await client.do("read_cell", **reference)).text
        wrong = cell[:-1] + ("0" if cell[-1] != "0" else "1")
        refused = await client.fails("read_cell", cell_id=wrong)
        assert cell in refused and "'here'" in refused, "the nearest ones"
        assert "#1" in await client.fails("read_cell", cell_index=7)
        assert "In[999]" in await client.fails("execute_cell", cell_id="In[999]")


async def test_cells_keep_what_they_hold_when_they_are_changed_split_and_merged(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        code = await client.insert("print('one')\nprint('two')", run=True)
        given = {"tags": ["a", "b"], "metadata": {"custom": {"n": 1.5}}, "collapsed": "both"}
        metadata = (await client.cells())[0]["metadata"]
        if await client.attempt(Can.SET_METADATA, "change_cell", cell_id=code, **given):
            metadata = {"collapsed": True, "jupyter": {"outputs_hidden": True, "source_hidden": True}}
            metadata |= {"custom": {"n": 1.5}, "tags": ["a", "b"]}
        await client.stores("change_cell", cell_id=code, split_at=2)
        assert await client.sources() == ["print('one')", "print('two')"]
        assert printed((await client.cells())[1]) == "one\ntwo\n", "the outputs stay with the last part"
        await client.stores("change_cell", cell_index=0, duplicate=True)
        await client.stores("change_cell", cell_index=0, merge_with_next=True)
        assert await client.sources() == ["print('one')\n\nprint('one')", "print('two')"]

        if await client.attempt(Can.SET_OUTPUTS, "change_cell", cell_id=code, duplicate=True):
            assert printed((await client.cells())[2]) == "one\ntwo\n"
        else:
            await client.insert("print('two')")
        if await client.attempt(Can.SET_OUTPUTS, "change_cell", cell_id=code, merge_with_next=True):
            assert (await client.sources())[1:] == ["print('two')\n\nprint('two')"]
            assert (await client.cells())[1]["outputs"] == []
        for cell_type in ("markdown", "raw"):
            if await client.attempt(Can.SET_CELL_TYPES, "change_cell", cell_id=code, cell_type=cell_type):
                assert (await client.cells())[1]["cell_type"] == cell_type
        retagged = {"cell_type": "code", "tags": ["kept"]}
        kept = [metadata, metadata]
        if await client.attempt(Can.SET_METADATA, "change_cell", cell_id=code, **retagged):
            kept[1] = metadata | {"tags": ["kept"]}
        assert [each["metadata"] for each in (await client.cells())[:2]] == kept
        changed = (await client.cells())[1]
        assert changed["cell_type"] == "code" and bool(changed["outputs"]) == (Can.SET_OUTPUTS in client.lacks)


@same_everywhere
async def test_a_notebook_and_its_cells_are_resources(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        cell = await client.insert(f"{SHOW_PIXEL}\n'größer'", run=True)
        read = client.agent.read_resource
        [listed] = await client.agent.resources()
        whole = json.loads((await read(listed["uri"]))["text"])
        assert [sources(whole), whole["cells"][0]["id"]] == [await client.sources(), cell]
        address = f"notebook://{client.path}/cells/{cell}"
        assert (await read(address))["text"] == f"{SHOW_PIXEL}\n'größer'"
        image = await read(f"{address}/outputs/0")
        assert image["mimeType"] == "image/png" and base64.b64decode(image["blob"]) == base64.b64decode(PIXEL)
