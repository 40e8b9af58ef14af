"""Files: other programs' changes are kept, and nothing outside the folder is accessible."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest

from e2e.support.agents.python_sdk import python_agent
from e2e.support.notebook_client import NotebookClient, notebook_client
from e2e.support.notebook_files import Json, printed, read_valid, sources, write
from e2e.support.notebook_server import NotebookServer

CODE = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
V3 = {
    "metadata": {"name": "old"},
    "nbformat": 3,
    "nbformat_minor": 0,
    "worksheets": [
        {
            "metadata": {},
            "cells": [
                {"cell_type": "heading", "level": 2, "metadata": {}, "source": ["Old"]},
                {
                    "cell_type": "code",
                    "collapsed": False,
                    "input": ["print 'x'"],
                    "language": "python",
                    "metadata": {},
                    "outputs": [{"output_type": "stream", "stream": "stdout", "text": ["x\n"]}],
                    "prompt_number": 7,
                },
            ],
        }
    ],
}
OLD = {
    "version 3": V3,
    "version 4.2": {
        "cells": [{**CODE, "source": ["a"]}, {**CODE, "source": ["b"]}],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "nbformat": 4,
        "nbformat_minor": 2,
    },
    "no ids": {
        "cells": [{**CODE, "source": "a"}, {**CODE, "source": "b"}],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    },
    "the same id twice": {
        "cells": [{**CODE, "source": "a", "id": "x"}, {**CODE, "source": "b", "id": "x"}],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    },
}


@contextmanager
def permitting(path: Path, mode: int) -> Iterator[None]:
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)


def _changed(file: Path, index: int, source: str) -> None:
    """What another program does: it reads the file, changes one cell, and writes it."""
    notebook = nbformat.read(file, as_version=nbformat.NO_CONVERT)
    notebook.cells[index].source = source
    nbformat.write(notebook, file)


async def test_another_program_s_changes_are_kept_and_merged(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        ids = [await client.insert(source) for source in ("a", "b", "c")]
        for index in range(3):
            await client.do("read_cell", cell_index=index)
        _changed(client.file, 0, "a of another program")
        await client.do("overwrite_cell_source", cell_id=ids[1], cell_source="b of ours")
        assert sources(client.notebook()) == ["a of another program", "b of ours", "c"]
        listed = await client.do("read_notebook")
        assert "Changed since you read them: cells 0" in listed.text
        assert "a of another program" in (await client.do("read_cell", cell_index=0)).text


async def test_a_cell_that_another_program_changed_is_refused_with_its_new_source(
    server: NotebookServer, path: str
) -> None:
    async with notebook_client(server, path) as client:
        cell = await client.insert("a")
        _changed(client.file, 0, "a of another program")
        before = client.file.read_bytes()
        refused = await client.fails("overwrite_cell_source", cell_id=cell, cell_source="ours")
        assert "a of another program" in refused
        assert client.file.read_bytes() == before, "nothing is overwritten"
        # Now it has seen the new source.
        await client.do("edit_cell_source", cell_id=cell, old_string="another", new_string="the other")
        assert sources(client.notebook()) == ["a of the other program"]


async def test_another_program_s_changes_during_a_run_are_kept(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        await client.insert("a")
        await client.insert("b")
        change = f"""
import nbformat
notebook = nbformat.read({client.file.name!r}, as_version=nbformat.NO_CONVERT)
notebook.cells[0].source = 'changed by a run'
nbformat.write(notebook, {client.file.name!r})
print('done')
"""
        await client.run(change)
        assert sources(client.notebook())[:2] == ["changed by a run", "b"]
        assert printed(client.cell(2)) == "done\n"


@pytest.mark.parametrize("kind", OLD)
async def test_notebooks_of_older_formats_are_edited_and_stay_valid(
    kind: str, server: NotebookServer, path: str
) -> None:
    (server.root / path).write_text(json.dumps(OLD[kind]))
    async with python_agent(server.url) as agent:
        client = NotebookClient(agent, server.root, path)
        before = client.file.read_bytes()
        answer = await agent.call("use_notebook", {"notebook_path": path})
        assert not answer.is_error, answer.text
        listed = await agent.call("read_notebook", {"response_format": "detailed", "include_outputs": True})
        assert not listed.is_error, listed.text
        assert client.file.read_bytes() == before, "reading changes nothing"

        source = sources(as_v4(OLD[kind]))[1]
        await client.do("edit_cell_source", cell_index=1, old_string=source, new_string="print('new')")
        await client.do("execute_cell", cell_index=1)
        await client.insert("more")
        notebook = client.notebook()
        assert sources(notebook) == [sources(as_v4(OLD[kind]))[0], "print('new')", "more"]
        assert printed(notebook["cells"][1]) == "new\n"
        minor = OLD[kind]["nbformat_minor"] if OLD[kind]["nbformat"] == 4 else 5
        assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, minor)


def as_v4(notebook: Json) -> Json:
    if notebook["nbformat"] == 4:
        return notebook
    return nbformat.reads(json.dumps(notebook), as_version=4)


async def test_reading_leaves_the_file_byte_for_byte(server: NotebookServer, path: str) -> None:
    odd = '\ufeff{"nbformat":4, "nbformat_minor":5,\r\n\t"metadata":{"zz":1.50,"aa":[]}, "cells":[{"id":"a",' + (
        '"source":["1"],"outputs":[{"output_type":"stream","name":"stdout","text":"x"}],"execution_count":3.0,'
        '"metadata":{"scrolled":"auto"},"cell_type":"code"}],"unknown":{"kept":null}}'
    )
    (server.root / path).write_bytes(odd.encode())
    async with python_agent(server.url) as agent:
        for tool, given in [
            ("use_notebook", {"notebook_path": path}),
            ("read_notebook", {"response_format": "detailed", "include_outputs": True}),
            ("read_cell", {"cell_index": 0}),
            ("search_notebook", {"query": "x"}),
            ("list_notebooks", {}),
            ("list_files", {}),
        ]:
            answer = await agent.call(tool, given)
            assert not answer.is_error, answer.text
        await agent.read_resource(f"notebook://{path}")
    assert (server.root / path).read_bytes() == odd.encode()


async def test_cells_that_an_edit_does_not_touch_stay_byte_for_byte(server: NotebookServer, path: str) -> None:
    first = '{"id": "a",  "cell_type":"raw", "metadata": {"x":1.50}, "source":"1"}'
    second = '{"cell_type":"raw","id":"b","metadata":{},"source":"2"}'
    rest = '"metadata":{"zz" :1e5},"nbformat":4'
    (server.root / path).write_text(f'{{"cells": [{first}, {second}],\n {rest},"nbformat_minor":5}}')
    async with python_agent(server.url) as agent:
        client = NotebookClient(agent, server.root, path)
        await client.do("overwrite_cell_source", cell_id="b", cell_source="new")
        written = client.file.read_text()
        assert first in written and rest in written
        assert sources(client.notebook()) == ["1", "new"]


async def test_nothing_outside_the_folder_is_reached(server: NotebookServer, path: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.ipynb"
    write(secret, "secret")
    before = secret.read_bytes()
    stem = path.removesuffix(".ipynb")
    (server.root / f"{stem}-link.ipynb").symlink_to(secret)
    (server.root / f"{stem}-folder").symlink_to(tmp_path)
    up = os.path.relpath(secret, server.root)
    async with python_agent(server.url) as agent:
        client = NotebookClient(agent, server.root, path)
        for outside in [str(secret), up, f"{stem}-link.ipynb", f"{stem}-folder/secret.ipynb", f"{stem}/../{up}"]:
            for tool, given in [
                ("use_notebook", {"notebook_path": outside, "notebook_name": "outside"}),
                ("read_notebook", {"notebook_name": outside}),
                ("insert_cell", {"notebook_name": outside, "cell_index": 0, "cell_type": "code", "cell_source": "x"}),
            ]:
                assert "secret\n" not in await client.fails(tool, **given)
        for outside in ["../new.ipynb", f"{stem}-folder/new.ipynb", str(tmp_path / "new.ipynb")]:
            await client.fails("use_notebook", notebook_path=outside, notebook_name="outside", mode="create")
        for outside in ["..", f"{stem}-folder", str(tmp_path)]:
            await client.fails("list_files", path=outside)
    assert secret.read_bytes() == before
    assert not (tmp_path / "new.ipynb").exists() and not (server.root.parent / "new.ipynb").exists()


async def test_a_link_within_the_folder_is_followed_and_stays_a_link(server: NotebookServer, path: str) -> None:
    write(server.root / f"real-{path}", "a")
    (server.root / path).symlink_to(f"real-{path}")
    async with python_agent(server.url) as agent:
        client = NotebookClient(agent, server.root, path)
        await client.open()
        await client.insert("b")
        assert (server.root / path).is_symlink()
        assert sources(read_valid(server.root / f"real-{path}")) == ["a", "b"]


@pytest.mark.parametrize("guarded", ["the file", "the folder too"])
async def test_a_read_only_notebook_is_an_error_and_unchanged(guarded: str, server: NotebookServer, path: str) -> None:
    folder = server.root / path.removesuffix(".ipynb")
    folder.mkdir()
    file = folder / "a.ipynb"
    write(file, "a")
    before = file.read_bytes()
    with permitting(file, 0o444), permitting(folder, 0o755 if guarded == "the file" else 0o555):
        async with python_agent(server.url) as agent:
            client = NotebookClient(agent, server.root, f"{folder.name}/a.ipynb")
            message = await client.fails("insert_cell", cell_index=0, cell_type="code", cell_source="x")
            assert "a.ipynb" in message
            assert "\ta" in (await client.do("read_notebook")).text
        assert file.read_bytes() == before
        assert [each.name for each in folder.iterdir()] == ["a.ipynb"], "no half-written file is left"


async def test_a_file_that_is_not_a_notebook_is_refused(server: NotebookServer, path: str) -> None:
    (server.root / "notes.txt").write_text("notes")
    async with python_agent(server.url) as agent:
        client = NotebookClient(agent, server.root, path)
        for mode in ["connect", "create"]:
            message = await client.fails("use_notebook", notebook_path="notes.txt", notebook_name="notes", mode=mode)
            assert ".ipynb" in message
        assert (server.root / "notes.txt").read_text() == "notes"
        (server.root / path).write_text('{"cells": [\n  {"source": }\n]}')
        message = await client.fails("use_notebook", notebook_path=path)
        assert path in message and "line 2" in message
        assert (server.root / path).read_text() == '{"cells": [\n  {"source": }\n]}'


async def test_a_leading_slash_means_the_served_folder(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        await client.do("use_notebook", notebook_name="slash", notebook_path=f"/{path}")
        await client.do("insert_cell", notebook_name=f"/{path}", cell_index=-1, cell_type="raw", cell_source="a")
        await client.do("insert_cell", notebook_name="slash", cell_index=-1, cell_type="raw", cell_source="b")
        assert sources(client.notebook()) == ["a", "b"]


async def test_unreadable_folders_are_listed_too(server: NotebookServer, path: str) -> None:
    folder = server.root / path.removesuffix(".ipynb")
    (folder / "deep/deeper").mkdir(parents=True)
    (folder / "closed").mkdir()
    (folder / "deep/deeper/far.csv").write_text("1,2")
    (folder / "near.csv").write_text("1,2")
    write(folder / "deep/one.ipynb", "1")
    with permitting(folder / "closed", 0):
        async with python_agent(server.url) as agent:

            async def rows(**given: object) -> dict[str, str]:
                answer = await agent.call("list_files", {"path": folder.name, "max_depth": 3, "limit": 0, **given})
                assert not answer.is_error, answer.text
                lines = answer.text.partition("Path\t")[2].splitlines()[1:]
                return {
                    row[0].removeprefix(f"{folder.name}/"): row[1]
                    for row in (line.split("\t") for line in lines if "\t" in line)
                }

            everything = await rows()
            assert everything["closed"].startswith("error")
            assert everything["deep/one.ipynb"] == "notebook"
            assert everything["deep/deeper/far.csv"] == "file"
            assert set(await rows(pattern="**/*.csv")) == {"near.csv", "deep/deeper/far.csv"}
            assert set(await rows(max_depth=0)) == {"closed", "deep", "near.csv"}
            first = await agent.call("list_files", {"path": folder.name, "max_depth": 3, "limit": 2})
            assert "list_files(" in first.text, "it says how to see more"
            found = (await agent.call("list_notebooks")).text
            assert f"{folder.name}/deep/one.ipynb" in found
