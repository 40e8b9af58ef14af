"""An agent at the notebook of a Colab tab, through the notebook tools."""

import re
from pathlib import Path

from e2e.support.agents.answer import Agent
from e2e.support.browser import Tab
from e2e.support.notebook_client import NotebookClient
from e2e.support.notebook_files import Json
from e2e.support.places import COLAB

# A row of `read_notebook`: index, type, execution count, id.
_ROW = re.compile(r"^\d+\t\w+\t[^\t]*\t([\w-]+)\t", re.MULTILINE)


class TabNotebookClient(NotebookClient):
    """Works in the first tab's notebook, whose code runs in the folder `root`."""

    stored = "made in the Colab tab, which saves the notebook"
    # The page keeps them before it answers.
    stored_outputs = ""

    def __init__(self, agent: Agent, root: Path, tab: Tab) -> None:
        super().__init__(agent, root, "colab:", COLAB.lacks)
        self.tab = tab

    async def cells(self) -> list[Json]:
        return await self.tab.page.evaluate("window.tab.notebook.cells")

    async def ids(self) -> list[str]:
        # The page has ids of its own.
        return _ROW.findall((await self.do("read_notebook", limit=0)).text)
