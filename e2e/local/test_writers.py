"""Several servers edit a notebook of one folder at the same time."""

import asyncio
from pathlib import Path

from e2e.support.home import Home
from e2e.support.notebook_client import notebook_client
from e2e.support.notebook_server import notebook_server

CELLS = 40


async def test_cells_are_added_at_the_end_while_another_server_deletes_some(home: Home, tmp_path: Path) -> None:
    with notebook_server(tmp_path, home) as first, notebook_server(tmp_path, home) as second:
        async with notebook_client(first, "x.ipynb") as adding, notebook_client(second, "y.ipynb") as deleting:
            cells = [{"cell_type": "code", "cell_source": f"old = {number}"} for number in range(CELLS)]
            await adding.do("insert_cell", cells=cells)
            old = await adding.ids()
            deleting.path = adding.path

            async def delete() -> None:
                for cell_id in old:
                    await deleting.stores("delete_cell", cell_ids_to_delete=[cell_id])

            async def add() -> None:
                for number in range(CELLS):
                    await adding.stores("insert_cell", cell_type="code", cell_source=f"new = {number}")

            await asyncio.gather(delete(), add())
            assert await adding.sources() == [f"new = {number}" for number in range(CELLS)]
