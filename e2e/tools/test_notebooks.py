"""Notebooks on every place: listed, created, kept as they are, copied, and edited by several agents at once."""

import asyncio
import json

import nbformat
import pytest

from e2e.support.lab_notebooks import KERNELSPEC, write_notebook
from e2e.support.notebook_client import NotebookClient, kernel_in
from e2e.support.notebook_files import PIXEL, printed, read_valid, sources
from e2e.support.places import COLAB, FOLDER, JSD, PLAIN, RTC, Can, at
from e2e.tools.conftest import OpenPlace

pytestmark = pytest.mark.asyncio(loop_scope="session")

# What the servers make of a file; in a folder, the tests of our own code show it.
on_servers = at(PLAIN, RTC, JSD)
EACH = 4


async def test_notebooks_kernels_and_files_are_listed(opened: OpenPlace, path: str) -> None:
    async with opened.notebook() as client:
        folder = client.root / f"folder-{path}.d"
        folder.mkdir()
        write_notebook(folder / "inner.ipynb")
        (folder / "data.csv").write_text("1,2\n")
        await client.do("execute_code", code="1")
        kernel = kernel_in(await client.open())
        kernels = (await client.do("list_kernels")).text
        assert f"\n{kernel}\t" in kernels and "Kernelspecs" in kernels and "\npython3\t" in kernels
        notebooks = (await client.do("list_notebooks")).text
        assert f"{client.path}\t{client.path}\t{kernel}\tidle" in notebooks
        if Can.KEEP_FILES in client.lacks:
            await client.attempt(Can.KEEP_FILES, "list_files", path=client.path)
            return
        assert "inner.ipynb" in notebooks
        files = await client.do("list_files", path=folder.name)
        assert f"{folder.name}/inner.ipynb" in files.text and "data.csv" in files.text
        deep = await client.do("list_files", max_depth=1, limit=0, pattern="**/inner.ipynb")
        assert f"{folder.name}/inner.ipynb" in deep.text and "data.csv" not in deep.text


async def test_a_notebook_is_created_and_never_overwritten(opened: OpenPlace, path: str) -> None:
    async with opened.agent(path) as client:
        for name in ("nowhere", ""):
            assert "use_notebook" in await client.fails("read_cell", notebook_name=name, cell_index=0)
        if Can.CREATE_NOTEBOOKS in client.lacks:
            await client.attempt(Can.CREATE_NOTEBOOKS, "use_notebook", notebook_path=client.path, mode="create")
            return
        missing = await client.fails("use_notebook", notebook_path=path)
        assert path in missing and "create" in missing
        assert not client.file.exists()
        assert "has 0 cells" in (await client.create()).text and await client.sources() == []
    async with opened.agent(f"precious-{path}") as client:
        write_notebook(client.file, "precious")
        before = client.file.read_bytes()
        assert "connect" in await client.fails("use_notebook", notebook_path=client.path, mode="create")
        assert client.file.read_bytes() == before


@on_servers
async def test_reading_returns_what_others_wrote(opened: OpenPlace, path: str) -> None:
    async with opened.agent(path) as client:
        ids = write_notebook(client.file, "x = 1", "x + 1")
        await client.open()
        read = await client.do("read_notebook", response_format="detailed")
        assert all(cell in read.text for cell in ids)
        assert "has 2 cells" in read.text and "x + 1" in read.text
        whole = json.loads((await client.agent.read_resource(f"notebook://{path}"))["text"])
        assert sources(whole) == ["x = 1", "x + 1"]
        assert whole["metadata"]["kernelspec"]["name"] == KERNELSPEC["name"]


@on_servers
async def test_an_old_notebook_is_opened_edited_and_stays_valid(opened: OpenPlace, path: str) -> None:
    old = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("old = 1")], metadata={"kernelspec": KERNELSPEC})
    del old.cells[0]["id"]
    old.nbformat_minor = 4
    async with opened.agent(path) as client:
        client.file.write_text(nbformat.writes(old))
        await client.open()
        await client.stores("insert_cell", cell_index=-1, cell_type="code", cell_source="new = 2")
        ran = await client.run("old_and_new = 3; print(old_and_new)")
        assert "3" in ran.text and client.stored_outputs in ran.text
        assert await client.sources() == ["old = 1", "new = 2", "old_and_new = 3; print(old_and_new)"]


@on_servers
async def test_untouched_metadata_and_attachments_survive(opened: OpenPlace, path: str) -> None:
    text = nbformat.v4.new_markdown_cell("![it](attachment:it.png)", metadata={"tags": ["kept"], "own": {"deep": [1]}})
    text["attachments"] = {"it.png": {"image/png": PIXEL}}
    code = nbformat.v4.new_code_cell("1", metadata={"collapsed": True, "scrolled": "auto"}, execution_count=7)
    code.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "1"}, execution_count=7)]
    metadata = {"kernelspec": KERNELSPEC, "own": {"nested": {"list": [1, 2.5, None, "x"]}}}
    async with opened.agent(path) as client:
        nbformat.write(nbformat.v4.new_notebook(cells=[text, code], metadata=metadata), client.file)
        before = json.loads(client.file.read_text())
        await client.open()
        await client.insert("new")
        after = client.notebook()
        assert after["cells"][:2] == before["cells"]
        assert after["metadata"]["own"] == before["metadata"]["own"]


async def test_a_notebook_is_copied_with_its_outputs(opened: OpenPlace, path: str) -> None:
    async with opened.notebook() as client:

        def copy(source: str, target: str, *, overwrite: bool = False) -> dict[str, object]:
            return {"from": source, "to": target, "overwrite": overwrite}

        await client.run("print('here')")
        copied, cells = f"local:{path}", ["print('here')"]
        there = await client.attempt(Can.COPY_TO_THE_FOLDER, "copy_notebook", **copy(client.path, copied))
        if there:
            assert "1 cells, saved to disk" in there.text and path in there.text
            first = read_valid(opened.folder / path)
            assert sources(first) == cells and printed(first["cells"][0]) == "here\n"
        else:
            # Within the place, then.
            copied = path
            await client.do("copy_notebook", **copy(client.path, copied))
        kept = await client.fails("copy_notebook", **copy(client.path, copied))
        assert "overwrite: true" in kept

        await client.insert("# Mine", "markdown")
        assert "overwrite: true" in await client.fails("copy_notebook", **copy(copied, client.path))
        assert await client.sources() == [*cells, "# Mine"]
        back = await client.stores("copy_notebook", **copy(copied, client.path, overwrite=True))
        [cell] = await client.cells()
        assert "".join(cell["source"]) == cells[0]
        if Can.SET_OUTPUTS in client.lacks:
            assert "Cell outputs and metadata were omitted" in back.text and cell["outputs"] == []
        else:
            assert printed(cell) == "here\n"

        if Can.KEEP_FILES not in client.lacks:
            await client.stores("copy_notebook", **copy(copied, f"copy-{path}"))
            original = (opened.folder if there else client.root) / path
            assert (client.root / f"copy-{path}").read_bytes() == original.read_bytes()


@at(FOLDER, RTC, COLAB)
async def test_two_agents_edit_one_notebook_at_once(opened: OpenPlace) -> None:
    async with opened.notebook() as one, opened.notebook(emptied=False) as other:

        async def insert(client: NotebookClient, name: str) -> list[str]:
            # The file is not looked at: the server may be writing it for the other one.
            return [await client.insert(f"{name} {number}") for number in range(EACH)]

        cells = await asyncio.gather(insert(one, "one"), insert(other, "other"))
        found = await one.sources()
        assert sorted(found) == sorted(f"{name} {number}" for name in ("one", "other") for number in range(EACH))
        for name in ("one", "other"):
            assert [each for each in found if each.startswith(f"{name} ")] == [f"{name} {n}" for n in range(EACH)]
        edits = [
            client.do("overwrite_cell_source", cell_id=cell, cell_source=f"again {cell}")
            for client, ids in zip((one, other), cells, strict=True)
            for cell in ids
        ]
        await asyncio.gather(*edits)
        assert sorted(await one.sources()) == sorted(f"again {cell}" for ids in cells for cell in ids)
