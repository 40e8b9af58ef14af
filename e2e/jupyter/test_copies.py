"""Files on their way between a folder and a Jupyter server.

No cheaper test shows it: what a server makes of a file that arrives in chunks, and of one that is replaced while people
have it open, is its own."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support.agents.answer import Agent, Answer
from e2e.support.agents.python_sdk import python_agent
from e2e.support.home import Home
from e2e.support.jupyter_program import reaching
from e2e.support.jupyter_server import JupyterServer
from e2e.support.notebook_server import NotebookServer, running
from e2e.support.processes import MEGABYTE, Memory

SIZE = 200 * MEGABYTE
MOST_MEMORY = 100 * MEGABYTE


@pytest.fixture
def both(jupyter: JupyterServer, tmp_path: Path) -> Iterator[NotebookServer]:
    """The program with a folder beside a server."""
    folder, home = tmp_path / "folder", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    with running(NotebookServer(folder, Home(home), *reaching(jupyter))) as program:
        yield program


async def copied(agent: Agent, tool: str, source: str, target: str, *, overwrite: bool = False) -> Answer:
    return await agent.call(tool, {"from": source, "to": target, "overwrite": overwrite})


async def test_a_large_file_arrives_whole_each_way_in_little_memory(
    both: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    piece = os.urandom(MEGABYTE)
    digest = hashlib.sha256()
    with (both.root / "large.bin").open("wb") as file:
        for number in range(SIZE // MEGABYTE):
            numbered = number.to_bytes(8) + piece[8:]
            file.write(numbered)
            digest.update(numbered)
    name = f"{path}.bin"
    async with python_agent(both.url) as agent:
        memory = Memory(both.process.pid)
        there = await copied(agent, "copy_file", "local:large.bin", f"jupyter:{name}")
        back = await copied(agent, "copy_file", f"jupyter:{name}", "local:back.bin")
        for answer in (there, back):
            assert f"{SIZE} bytes" in answer.text and digest.hexdigest() in answer.text, answer.text
        assert memory.peak <= MOST_MEMORY, memory.peak
    with (jupyter.root / name).open("rb") as theirs, (both.root / "back.bin").open("rb") as ours:
        assert hashlib.file_digest(theirs, "sha256").digest() == hashlib.file_digest(ours, "sha256").digest()
    left = [entry.name for folder in (both.root, jupyter.root) for entry in folder.iterdir() if "part-" in entry.name]
    assert left == []
    (jupyter.root / name).unlink()


async def test_a_file_is_never_overwritten_unasked_and_stays_below_the_roots(
    both: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    ours, theirs = both.root / "a.csv", jupyter.root / f"{path}.csv"
    ours.write_text("ours")
    theirs.write_text("theirs")
    async with python_agent(both.url) as agent:
        refused = await copied(agent, "copy_file", "local:a.csv", f"jupyter:{path}.csv")
        assert refused.is_error and "overwrite: true" in refused.text, refused.text
        assert theirs.read_text() == "theirs"
        for outside in ("local:../a.csv", "jupyter:../a.csv"):
            answer = await copied(agent, "copy_file", f"jupyter:{path}.csv", outside, overwrite=True)
            assert answer.is_error, answer.text
        answer = await copied(agent, "copy_file", "local:a.csv", f"jupyter:{path}.csv", overwrite=True)
        assert not answer.is_error, answer.text
        assert theirs.read_text() == "ours"
