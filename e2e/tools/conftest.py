"""The places, each with the program at it and one notebook that the tests of a file share."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from e2e.support.agents.answer import Agent
from e2e.support.agents.python_sdk import python_agent
from e2e.support.browser import Browsers, Chromium
from e2e.support.home import Home
from e2e.support.inside_server import inside
from e2e.support.jupyter_program import JupyterNotebookClient, reaching
from e2e.support.jupyter_server import JupyterServer
from e2e.support.notebook_client import NotebookClient
from e2e.support.notebook_server import notebook_server
from e2e.support.places import COLAB, FOLDER, PLACES, Place
from e2e.support.tab_client import TabNotebookClient
from e2e.support.tab_runtime import tab_runtime


@dataclass
class OpenPlace:
    """The program at a place."""

    place: Place
    url: str
    # What `local:` names, if there is a folder.
    folder: Path
    # An agent at the notebook with a path; a tab has one notebook.
    at: Callable[[Agent, str], NotebookClient]

    @property
    def shared(self) -> str:
        """The path of the notebook that the tests share."""
        return f"{self.folder.name}.ipynb"

    @asynccontextmanager
    async def notebook(self, *, emptied: bool = True) -> AsyncIterator[NotebookClient]:
        """A new session at the notebook that the tests share, whose kernel stays."""
        async with self.agent(self.shared) as client:
            await client.open()
            if emptied:
                await client.empty()
            yield client

    @asynccontextmanager
    async def agent(self, path: str) -> AsyncIterator[NotebookClient]:
        """A new session, for a notebook that it has not opened yet."""
        async with python_agent(self.url) as agent:
            yield self.at(agent, path)


@pytest.fixture(scope="module", params=PLACES, ids=str)
def place(request: pytest.FixtureRequest) -> Place:
    return request.param


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(
    place: Place, browsers: Browsers, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[OpenPlace]:
    folder, home = tmp_path_factory.mktemp("folder"), request.getfixturevalue("home")
    async with AsyncExitStack() as stack:
        if place == COLAB:
            yield await _colab(stack, folder, home, await browsers.chromium())
            return
        if place == FOLDER:
            url = stack.enter_context(notebook_server(folder, home)).url
            opened = OpenPlace(place, url, folder, lambda agent, path: NotebookClient(agent, folder, path))
        else:
            opened = _jupyter(stack, place, folder, home, request.getfixturevalue("jupyter_servers")[place.form])
        async with opened.agent(opened.shared) as client:
            await client.create()
        yield opened


def _jupyter(stack: AsyncExitStack, place: Place, folder: Path, home: Home, jupyter: JupyterServer) -> OpenPlace:
    stack.callback(jupyter.end_kernels)
    if place.mode == "inside":
        url = inside(jupyter).url
    else:
        url = stack.enter_context(notebook_server(folder, home, *reaching(jupyter))).url

    def at(agent: Agent, path: str) -> NotebookClient:
        return JupyterNotebookClient(agent, jupyter.root, path, place.lacks)

    return OpenPlace(place, url, folder, at)


async def _colab(stack: AsyncExitStack, folder: Path, home: Home, browser: Chromium) -> OpenPlace:
    """The program with the first tab in a browser, whose notebook runs on a kernel."""
    url = stack.enter_context(notebook_server(folder, home)).url
    runs_in = folder / "runtime"
    runs_in.mkdir()
    runtime = await stack.enter_async_context(tab_runtime(runs_in, home))
    person = await stack.enter_async_context(browser.person(runtime=runtime))
    async with python_agent(url) as agent:
        address = await agent.tab_address()
    tab = await person.connect(address.url)
    return OpenPlace(COLAB, url, folder, lambda agent, _: TabNotebookClient(agent, runs_in, tab))
