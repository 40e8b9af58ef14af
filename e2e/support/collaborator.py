"""Another program in the room of a notebook: Datalayer's client, on Python's own Y library."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import pycrdt
import websockets
from jupyter_nbmodel_client import NbModelClient, get_jupyter_notebook_websocket_url

from e2e.support.jupyter_server import JupyterServer
from e2e.support.waiting import LONG


class Collaborator:
    """Somebody else's replica of a notebook."""

    def __init__(self, client: NbModelClient) -> None:
        self.client = client

    @property
    def sources(self) -> list[str]:
        return [str(cell["source"]) for cell in self.cells]

    @property
    def cells(self) -> list[Any]:
        """The cells in the types that are shared: text as `Text`, lists as `Array`."""
        return list(self.document.ycells)

    def add(self, index: int, source: str) -> None:
        self.client.insert_code_cell(index, source)

    def delete(self, index: int) -> None:
        self.client.delete_cell(index)

    def append(self, cell: int, text: str) -> None:
        """Types at the end of a cell, leaving the rest of its text alone."""
        source = self.cells[cell]["source"]
        source += text

    async def sees(self, condition: Callable[[], object], what: str) -> None:
        """Waits until something holds of this replica."""
        try:
            async with asyncio.timeout(LONG):
                while not condition():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"not within {LONG} s: {what}; {self.sources}") from None

    @property
    def document(self) -> Any:
        """The notebook in Jupyter's own type for it."""
        return self.client._doc


@asynccontextmanager
async def collaborator(server: JupyterServer, path: str, name: str = "Ada") -> AsyncIterator[Collaborator]:
    """Joins the room of a notebook."""
    async with NbModelClient(_room(server, path), username=name) as client:
        yield Collaborator(client)


@asynccontextmanager
async def watched_presence(server: JupyterServer, path: str) -> AsyncIterator[dict[int, dict[str, Any]]]:
    """Joins the room of a notebook; the presence of everybody else, which Datalayer's client ignores."""
    document = pycrdt.Doc()
    awareness = pycrdt.Awareness(document)
    states = awareness.states
    states.pop(awareness.client_id, None)
    # The library's own limits are smaller than a notebook may be.
    async with websockets.connect(_room(server, path), max_size=None) as room:

        async def listen() -> None:
            async for frame in room:
                if frame[0] == pycrdt.YMessageType.SYNC:
                    if answer := pycrdt.handle_sync_message(frame[1:], document):
                        await room.send(answer)
                elif frame[0] == pycrdt.YMessageType.AWARENESS:
                    awareness.apply_awareness_update(pycrdt.read_message(frame[1:]), "room")

        await room.send(pycrdt.create_sync_message(document))
        listening = asyncio.create_task(listen())
        try:
            yield states
        finally:
            listening.cancel()


def _room(server: JupyterServer, path: str) -> str:
    """The address of a notebook's room."""
    if server.form == "jsd":
        # Datalayer's client knows only the way of jupyter-collaboration.
        file = server.ask("POST", f"api/fileid/index?path={quote(path)}").json()["id"]
        room = f"{server.url}api/collaboration/room/json:notebook:{file}?token={server.token}"
        return room.replace("http", "ws", 1)
    return get_jupyter_notebook_websocket_url(server_url=server.url, token=server.token, path=path)


def is_shared_text(value: Any) -> bool:
    """Whether others can append to a text instead of replacing it."""
    return isinstance(value, pycrdt.Text)
