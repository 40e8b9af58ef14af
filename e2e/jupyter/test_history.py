"""Changes of a notebook that people edit too are undone; what they changed is left alone."""

from pathlib import Path

import pytest

from e2e.support.collaborator import collaborator
from e2e.support.jupyter_program import jupyter_notebook, own_server, until_on_disk
from e2e.support.jupyter_server import LIVE_FORMS
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import id_in
from e2e.support.notebook_files import sources

FIRST = ["one", "two", "three"]


@pytest.mark.parametrize("form", LIVE_FORMS)
async def test_an_undo_is_an_ordinary_edit_of_a_live_notebook(form: str, tmp_path: Path) -> None:
    with own_server(tmp_path, form) as (server, program):
        write_notebook(server.root / "x.ipynb", *FIRST)
        async with (
            jupyter_notebook(program, "x.ipynb", create=False) as client,
            collaborator(server, "x.ipynb") as other,
        ):
            await client.do("overwrite_cell_source", cell_index=0, cell_source="changed")
            await client.do("delete_cell", cell_indices=[1])
            await client.do("move_cell", source_index=1, target_index=0)
            inserted = id_in(await client.do("insert_cell", cell_index=1, cell_type="code", cell_source="new"))
            changed = ["three", "new", "changed"]
            await other.sees(lambda: other.sources == changed, "the changes")
            await client.do("undo", last=4)
            await other.sees(lambda: other.sources == FIRST, "the first cells")
            await until_on_disk(client, lambda it: sources(it) == FIRST, "the first cells are on disk")
            newest = (await client.do("history", limit=1)).text.split(" ")[0]
            await client.do("undo", id=newest)
            await other.sees(lambda: other.sources == changed, "the changes again")
            cell = (await client.do("read_cell", cell_id=inserted)).text
            assert "new" in cell
