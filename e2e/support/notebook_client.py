"""An agent at one notebook of a folder. What must hold of every answer is checked on each."""

import asyncio
import base64
import itertools
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from e2e.support.agents.answer import Agent, Answer
from e2e.support.agents.python_sdk import Answerer, python_agent
from e2e.support.notebook_files import Json, cell, read_valid, sources
from e2e.support.notebook_server import NotebookServer
from e2e.support.places import Can, Lack
from e2e.support.waiting import LONG, until

BUDGET = 20_000
IMAGES = 4

# Tools that act on no notebook, or on a run whose notebook is known.
_WITHOUT_A_NOTEBOOK = {"answer_input", "copy_notebook", "get_run", "list_files", "list_kernels", "list_notebooks"}
_READS = {
    *("get_run", "list_files", "list_kernels", "list_notebooks", "read_cell", "read_notebook", "search_notebook"),
    *("history", "inspect_variable", "list_variables"),
}
_MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
# Tests may share a notebook, but no gate.
_numbers = itertools.count(1)
_ENCODED = re.compile(r"[A-Za-z0-9+/]{2000}")


class NotebookClient:
    """Calls tools for the notebook at `path`, which every call names."""

    # What the answer of an edit says when the edit is where the notebook is kept, and that of a run about its outputs.
    stored = "saved to disk"
    stored_outputs = "outputs saved to disk"

    def __init__(self, agent: Agent, root: Path, path: str, lacks: Mapping[Can, Lack] | None = None) -> None:
        self.agent = agent
        self.root = root
        self.path = path
        self.lacks = lacks or {}

    @property
    def file(self) -> Path:
        return self.root / self.path

    async def call(self, tool: str, **given: Any) -> Answer:
        if tool not in _WITHOUT_A_NOTEBOOK:
            given.setdefault("notebook_name", self.path)
        async with asyncio.timeout(LONG):
            answer = await self.agent.call(tool, given)
        budget = max(int(given.get("max_characters", BUDGET)), BUDGET)
        _check(answer, budget)
        return answer

    def has_progress(self, text: str) -> bool:
        """Whether the call that started last has reported this text as progress."""
        return any(text in (message or "") for _, _, message in self.agent.progress)

    async def do(self, tool: str, **given: Any) -> Answer:
        """A call that succeeds; whatever it changed, the file is valid."""
        answer = await self.call(tool, **given)
        assert not answer.is_error, f"{tool}({given}): {answer.text}"
        if tool not in _READS and self.file.exists():
            await self.check_file()
        return answer

    async def check_file(self) -> None:
        read_valid(self.file)

    async def fails(self, tool: str, **given: Any) -> str:
        """A call that fails with an error result; its text."""
        answer = await self.call(tool, **given)
        assert answer.is_error, f"{tool}({given}) succeeded: {answer.text}"
        return answer.text

    async def stores(self, tool: str, **given: Any) -> Answer:
        """A change that is where the notebook is kept when it is answered."""
        answer = await self.do(tool, **given)
        assert self.stored in answer.text, answer.text
        return answer

    async def attempt(self, capability: Can, tool: str, **given: Any) -> Answer | None:
        """A call that succeeds where the place can do that; elsewhere the refusal says what can be done instead."""
        if lack := self.lacks.get(capability):
            assert lack.instead, f"no tool asks for {capability}: {lack.reason}"
            refused = await self.fails(tool, **given)
            assert lack.instead in refused, refused
            return None
        return await self.do(tool, **given)

    async def create(self, **given: Any) -> Answer:
        return await self.do("use_notebook", notebook_path=self.path, mode="create", **given)

    async def open(self, **given: Any) -> Answer:
        return await self.do("use_notebook", notebook_path=self.path, **given)

    async def empty(self) -> None:
        """Deletes all cells."""
        if count := len(await self.cells()):
            await self.stores("delete_cell", cell_indices=list(range(count)), include_source=False)

    async def insert(self, source: str, cell_type: str = "code", cell_index: int = -1, **given: Any) -> str:
        """The id of the new cell."""
        given = {"cell_index": cell_index, "cell_type": cell_type, "cell_source": source, **given}
        return id_in(await self.do("insert_cell", **given))

    async def run(self, source: str, **given: Any) -> Answer:
        """A new cell that ends well."""
        return await self.do("insert_execute_code_cell", cell_index=-1, cell_source=source, **given)

    async def start(self, source: str, **given: Any) -> str:
        """A new cell that the kernel works on; the id of its run."""
        run = run_in(await self.run(source, timeout=0.1, **given))
        await self.until_started(run)
        return run

    async def until_started(self, run: str) -> None:
        """Waits until the kernel works on a run."""
        async with asyncio.timeout(LONG):
            while "[QUEUED" in (await self.do("get_run", run_id=run, wait_seconds=0.05)).text:
                pass

    async def begin_at_gate(self, before: str = "") -> tuple[Path, str]:
        """A new cell whose code has come to a closed gate: the gate's file, and the id of its run. An interrupt that
        reaches `ipykernel` between its `busy` and the first line of the code is lost."""
        opened, wait = gate(self)
        started, _ = gate(self, "started")
        run = await self.start(f"{before}\nimport pathlib\npathlib.Path({started.name!r}).touch()\n{wait}")
        await until(started.exists, "the code runs")
        return opened, run

    async def until_printed(self, run: str, line: str) -> None:
        """Waits until a run that has not ended has printed a line."""
        async with asyncio.timeout(LONG):
            while line not in (answer := await self.do("get_run", run_id=run, wait_seconds=0.05)).text.splitlines():
                assert "[STILL RUNNING after" in answer.text, answer.text

    async def wait(self, run: str, **given: Any) -> Answer:
        """Waits for the end of a run, which is no failure."""
        answer = await self.ended(run, **given)
        assert not answer.is_error, answer.text
        return answer

    async def run_of(self, cell_id: str) -> str:
        """The id of the newest run of a cell."""
        listed = (await self.do("get_run")).text
        return next(line.split("\t")[0] for line in listed.splitlines() if cell_id in line)

    async def ended(self, run: str, **given: Any) -> Answer:
        """Waits for the end of a run, or until it waits for input."""
        async with asyncio.timeout(LONG):
            while True:
                answer = await self.call("get_run", run_id=run, wait_seconds=50, **given)
                if not re.search(r"\[(QUEUED|STILL RUNNING) after", answer.text):
                    return answer

    async def cells(self) -> list[Json]:
        """The cells as they are now where the notebook is kept."""
        return self.notebook()["cells"]

    async def sources(self) -> list[str]:
        return sources({"cells": await self.cells()})

    async def ids(self) -> list[str]:
        """The ids of the cells, as agents know them."""
        return [each["id"] for each in await self.cells()]

    def notebook(self) -> Json:
        """What is on disk now."""
        return read_valid(self.file)

    def cell(self, reference: str | int) -> Json:
        return cell(self.notebook(), reference)


def _check(answer: Answer, budget: int) -> None:
    assert answer.structured is None, "text is sent once"
    assert len(answer.images) <= IMAGES
    # A little is added for the lines that say what was left out.
    assert len(answer.text) <= budget + 1000, f"{len(answer.text)} characters"
    assert not _ENCODED.search(answer.text), "encoded bytes in a text"
    for image in answer.images:
        assert base64.b64decode(image["data"]).startswith(_MAGIC[image["mimeType"]])


def id_in(answer: Answer) -> str:
    """The id of the cell that an answer is about."""
    found = re.search(r"(?<!Kernel )\bid ([\w-]+)", answer.text)
    assert found, answer.text
    return found[1]


def run_in(answer: Answer) -> str:
    """The id of the run that an answer is about."""
    return run_id(answer.text)


def run_id(text: str) -> str:
    """The id of the run that the text of an answer is about."""
    # The run that it waits for stands in parentheses.
    name = r"\brun (r\d+(?:-[a-z]{6})?)"
    found = re.search(r"(?<!\()" + name, text) or re.search(name, text)
    assert found, text
    return found[1]


def kernel_in(answer: Answer) -> str:
    """The id of the kernel of a notebook that was opened."""
    found = re.search(r"Kernel id (\S+)\.$", answer.text, re.MULTILINE)
    assert found, answer.text
    return found[1]


@asynccontextmanager
async def notebook_client(
    server: NotebookServer, path: str, answer: Answerer | None = None, mode: str = "legacy"
) -> AsyncIterator[NotebookClient]:
    """A Python agent with a session of its own at a server, and a notebook that it makes."""
    async with python_agent(server.url, mode, answer) as agent:
        client = NotebookClient(agent, server.root, path)
        await client.create()
        yield client


@asynccontextmanager
async def shared_notebook(
    server: NotebookServer, answer: Answerer | None = None, mode: str = "legacy"
) -> AsyncIterator[NotebookClient]:
    """A Python agent with a session of its own at the notebook that the tests of a file share. It has no cells; its kernel stays,
    because starting one takes longer than most tests."""
    async with python_agent(server.url, mode, answer) as agent:
        client = NotebookClient(agent, server.root, "shared.ipynb")
        await (client.open() if client.file.exists() else client.create())
        await client.empty()
        yield client


def gate(client: NotebookClient, name: str = "gate") -> tuple[Path, str]:
    """A file that is not there yet, and code that waits until it is."""
    path = client.file.with_suffix(f".{name}-{next(_numbers)}")
    return path, f"import pathlib, time\nwhile not pathlib.Path({path.name!r}).exists(): time.sleep(0.01)"
