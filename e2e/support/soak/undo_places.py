"""A notebook that two agents and a person change: in a folder, and in a room of a Jupyter server."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat

from e2e.support.collaborator import Collaborator, collaborator
from e2e.support.home import Home
from e2e.support.http_client import HttpClient
from e2e.support.jupyter_program import jupyter_program
from e2e.support.jupyter_server import JupyterServer
from e2e.support.lab_notebooks import KERNELSPEC
from e2e.support.notebook_files import Json, read_valid
from e2e.support.notebook_server import NotebookServer, notebook_server
from e2e.support.soak.undo_model import State, state_of

AGENTS = ("ada", "bob")
CELLS = 4
# How long what the person did may take to reach the program, and the other way round, in seconds.
SETTLED = 30


class Shared(ABC):
    """The notebook, with the person's way to change it."""

    def __init__(self, name: str, path: str, program: NotebookServer) -> None:
        self.name, self.path = name, path
        self.agents = {agent: HttpClient(program.url, agent) for agent in AGENTS}

    @abstractmethod
    def cells(self) -> list[Json]:
        """As the person sees it."""

    @abstractmethod
    def replace(self, cells: list[Json]) -> None:
        """The person changes it. Cells that are the same objects as before stay as they are."""

    async def call(self, agent: str, tool: str, **given: Any) -> tuple[bool, str]:
        """Whether it failed, and its text."""
        arguments = {"notebook_name": self.path, **given}
        result = await self.agents[agent].ask("tools/call", {"name": tool, "arguments": arguments})
        return result.get("isError", False), "\n".join(block.get("text", "") for block in result["content"])

    async def settled(self) -> State:
        """The state, once the program and the person see the same."""
        end = asyncio.get_running_loop().time() + SETTLED
        pause = 0.005
        while True:
            seen = state_of(self.cells())
            if seen == (known := await self._known()):
                return seen
            assert asyncio.get_running_loop().time() < end, f"the program sees {known} instead of {seen}"
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.1)

    async def _known(self) -> State:
        """As the program sees it."""
        [contents] = (await self.agents[AGENTS[0]].ask("resources/read", {"uri": f"notebook://{quote(self.path)}"}))[
            "contents"
        ]
        return state_of(json.loads(contents["text"])["cells"])


class InFolder(Shared):
    def __init__(self, file: Path, program: NotebookServer) -> None:
        super().__init__("folder", file.name, program)
        self._file = file

    def cells(self) -> list[Json]:
        return read_valid(self._file)["cells"]

    def replace(self, cells: list[Json]) -> None:
        content = {**read_valid(self._file), "cells": cells}
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(content, indent=1))
        new.replace(self._file)


class InRoom(Shared):
    def __init__(self, form: str, path: str, program: NotebookServer, other: Collaborator) -> None:
        super().__init__(form, path, program)
        self._other = other

    def cells(self) -> list[Json]:
        document = self._other.document
        return [document.get_cell(index) for index in range(document.cell_number)]

    def replace(self, cells: list[Json]) -> None:
        """Types where only a source differs, as a person does, and gives other cells as new ones."""
        document = self._other.document
        with document.ydoc.transaction():
            wanted = {cell["id"] for cell in cells}
            for index in reversed(range(document.cell_number)):
                if document.get_cell(index)["id"] not in wanted:
                    del document.ycells[index]
            for index, cell in enumerate(cells):
                ids = [each["id"] for each in self.cells()]
                if cell["id"] in ids:
                    now = document.get_cell(here := ids.index(cell["id"]))
                    if here == index and {**now, "source": ""} == {**cell, "source": ""}:
                        if now != cell:
                            document.set_cell(index, source=cell["source"])
                        continue
                    del document.ycells[here]
                document.ycells.insert(index, document.create_ycell(cell))


@asynccontextmanager
async def in_folder(folder: Path) -> AsyncIterator[Shared]:
    root, home = folder / "root", Home(folder / "home")
    root.mkdir(parents=True)
    home.folder.mkdir()
    _write(root / "undo.ipynb")
    with notebook_server(root, home) as program:
        async with _with_agents(InFolder(root / "undo.ipynb", program)) as shared:
            yield shared


@asynccontextmanager
async def in_room(form: str, server: JupyterServer, folder: Path) -> AsyncIterator[Shared]:
    path = f"undo-{form}.ipynb"
    _write(server.root / path)
    with jupyter_program(server, folder) as program:
        async with collaborator(server, path) as other, _with_agents(InRoom(form, path, program, other)) as shared:
            yield shared


@asynccontextmanager
async def _with_agents(shared: Shared) -> AsyncIterator[Shared]:
    for agent in shared.agents.values():
        await agent.initialize()
    yield shared
    for agent in shared.agents.values():
        await agent.leave()


def _write(path: Path) -> None:
    cells = [nbformat.v4.new_code_cell(f"print('first {number}')", id=f"c{number}") for number in range(CELLS)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNELSPEC}), path)
