"""Cells on every place: named, read, searched and edited."""

import base64
import json

import pytest

from e2e.support.notebook_client import NotebookClient, id_in
from e2e.support.notebook_files import PIXEL, SHOW_PIXEL, printed, sources
from e2e.support.places import Can, same_everywhere
from e2e.tools.conftest import OpenPlace

pytestmark = pytest.mark.asyncio(loop_scope="module")

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
async def test_a_list_of_cells_is_inserted_whole_or_not(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        cells = [{**TEXT, "cell_source": "# Text"}, {"cell_type": "raw", "cell_source": "raw"}]
        await client.insert("last")
        inserted = await client.attempt(Can.SET_CELL_TYPES, "insert_cell", cell_index=0, cells=cells)
        if inserted:
            assert "2 cell(s) inserted" in inserted.text and client.stored in inserted.text
        assert await client.sources() == (["# Text", "raw", "last"] if inserted else ["last"])
        unknown = {"cell_type": "prose", "cell_source": "x"}
        assert "prose" in await client.fails("insert_cell", cell_index=0, cells=[*cells[:1], unknown])
        assert (await client.sources())[-1] == "last" and "# Text" not in (await client.sources())[1:]


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


@same_everywhere
async def test_a_stale_revision_is_refused_with_the_new_source(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        cell = await client.insert("a")
        for tool, given in [
            ("overwrite_cell_source", {"cell_source": "b"}),
            ("edit_cell_source", {"old_string": "a", "new_string": "b"}),
            ("change_cell", {"duplicate": True}),
        ]:
            refused = await client.fails(tool, cell_id=cell, if_revision="00000000", **given)
            assert "\na" in refused
        listed = (await client.do("read_cell", cell_id=cell)).text
        revision = listed.partition("revision: ")[2].partition("=")[0]
        await client.stores("overwrite_cell_source", cell_id=cell, cell_source="b", if_revision=revision)
        assert await client.sources() == ["b"]


@same_everywhere
async def test_a_cell_that_another_agent_changed_is_not_overwritten_or_deleted(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        [_, mine] = await _filled(client, ("markdown", "# Text"), ("code", "mine"))
        async with opened.notebook(emptied=False) as other:
            await other.stores("overwrite_cell_source", cell_id=mine, cell_source="theirs")
        assert "Changed since you read them: cells 1" in (await client.do("read_notebook")).text
        assert "theirs" in await client.fails("delete_cell", cell_indices=[0, 1])
        assert await client.sources() == ["# Text", "theirs"], "all or nothing"
        async with opened.notebook(emptied=False) as other:
            await other.stores("overwrite_cell_source", cell_id=mine, cell_source="theirs again")
        assert "theirs again" in await client.fails("overwrite_cell_source", cell_id=mine, cell_source="mine again")
        assert await client.sources() == ["# Text", "theirs again"]
        # Now it has seen the new source.
        await client.stores("overwrite_cell_source", cell_id=mine, cell_source="mine again")
        assert await client.sources() == ["# Text", "mine again"]


@same_everywhere
async def test_an_index_that_now_means_another_cell_is_refused(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        [_, cell] = await _filled(client, ("code", "a"), ("code", "b"))
        async with opened.notebook(emptied=False) as other:
            await other.insert("of another", "markdown", 0)
        refused = await client.fails("overwrite_cell_source", cell_index=1, cell_source="lost?")
        assert cell in refused and "index 2" in refused
        assert await client.sources() == ["of another", "a", "b"]


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
async def test_cells_are_selected_and_searched(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        cells = [
            ("markdown", "# Title"),
            ("code", "print('größer')"),
            ("code", "1 / 0"),
            ("markdown", "## Part"),
            ("code", "2"),
        ]
        ids = await _filled(client, *cells)
        await client.fails("run_cells", all=True)

        async def selected(**given: object) -> list[str]:
            table = (await client.do("read_notebook", **given)).text
            return [cell for cell in ids if cell in table]

        assert await selected(only="errors") == [ids[2]]
        assert await selected(only="markdown") == [ids[0], ids[3]]
        assert await selected(only="code", start_index=2) == [ids[2], ids[4]]
        assert await selected(around=ids[2], before=1, after=0) == ids[1:3]
        assert await selected(limit=2) == ids[:2]
        tagged = await client.attempt(Can.SET_METADATA, "change_cell", cell_id=ids[4], tags=["here"])
        assert await selected(only="tag:here") == (ids[4:] if tagged else [])

        detailed = await client.do("read_notebook", only="errors", include_outputs=True)
        assert "=====Cell 2 | type: code" in detailed.text and "ZeroDivisionError" in detailed.text
        found = await client.do("search_notebook", query="GRÖßER")
        assert found.text.count(ids[1]) == 2, "in the source and in the output"
        headings = (await client.do("search_notebook")).text
        assert ids[0] in headings and ids[3] in headings and ids[1] not in headings


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


@same_everywhere
async def test_a_prompt_embeds_the_cells(opened: OpenPlace) -> None:
    async with opened.notebook() as client:
        await _filled(client, *(("code", f"cell_{number} = {number}") for number in range(4)))
        given = {"prompt": "Explain", "cell_indices": "0-1,3", "notebook_name": client.path}
        cited = await client.agent.prompt("jupyter_cite", given)
        assert "cell_0 = 0" in cited and "cell_3 = 3" in cited and "cell_2" not in cited and "Explain" in cited


@same_everywhere
async def test_every_failure_is_an_error_result(opened: OpenPlace) -> None:
    """jupyter-mcp-server returns many as ordinary text."""
    async with opened.notebook() as client:
        await client.insert("# Text", "markdown")
        failures = [
            ("use_notebook", {"notebook_path": "local:missing.ipynb", "notebook_name": "missing"}, "missing.ipynb"),
            ("read_notebook", {"notebook_name": "nowhere"}, "use_notebook"),
            ("read_cell", {"cell_index": 9}, "9"),
            ("insert_cell", {"cell_index": 9, "cell_type": "code", "cell_source": ""}, "9"),
            ("edit_cell_source", {"cell_index": 0, "old_string": "absent", "new_string": ""}, "old_string"),
            ("execute_cell", {"cell_index": 0}, "markdown"),
            ("execute_code", {"code": "1 / 0"}, "zerodivisionerror"),
            ("execute_code", {"code": "1", "kernel_id": "no-such"}, "no-such"),
            ("list_files", {"path": "no-such"}, "no-such"),
            ("get_run", {"run_id": "r99999"}, "r99999"),
            ("read_notebook", {"limit": -1}, "limit"),
            ("insert_cell", {}, "cell_type"),
        ]
        for tool, given, named in failures:
            message = await client.fails(tool, **given)
            assert named in message.lower(), message
