"""Calls of one session that are sent together have the effects that they have one after the other.

Only a running server can show it: the order is that of its tasks, of its files and of a kernel's queue. The stories are random;
`CELLBRIDGE_ORDER_SEED` repeats one."""

import os
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from e2e.support.home import Home
from e2e.support.http_client import HttpClient
from e2e.support.notebook_files import read_valid, sources, write
from e2e.support.notebook_server import launch, notebook_server
from e2e.support.stdio_client import StdioClient, stdio_client

SEED = int(os.environ.get("CELLBRIDGE_ORDER_SEED", "0")) or random.randrange(1, 1 << 32)
ROUNDS = 6
CALLS = 14

Call = tuple[str, dict[str, Any]]
Answer = dict[str, Any]

both_transports = pytest.mark.parametrize("transport", ["stdio", "http"])
# The order of calls is kept by the session; only how it gets them depends on the transport, which the first test shows.
over_stdio = pytest.mark.parametrize("transport", ["stdio"])


@dataclass
class Session:
    """One session at the program in a folder, and how it sends calls."""

    client: StdioClient | HttpClient

    async def together(self, calls: Sequence[Call]) -> list[Answer]:
        """Sends all calls before the first answer is read; the answers in the order of the calls."""
        if isinstance(self.client, StdioClient):
            numbers = [self.client.send("tools/call", _params(call)) for call in calls]
            return [await self.client.answer(number) for number in numbers]
        answers = [await self.client.send("tools/call", _params(call)) for call in calls]
        return [await answer for answer in answers]

    async def one(self, tool: str, **given: Any) -> str:
        return text(await self.client.ask("tools/call", _params((tool, given))))


def _params(call: Call) -> dict[str, Any]:
    return {"name": call[0], "arguments": call[1]}


def text(answer: Answer) -> str:
    words = "\n".join(block.get("text", "") for block in answer["content"])
    assert not answer.get("isError"), words
    return words


@asynccontextmanager
async def session(transport: str, root: Path, home: Home) -> AsyncIterator[Session]:
    if transport == "stdio":
        async with stdio_client(launch(root, home)) as client:
            await client.initialize()
            yield Session(client)
        return
    with notebook_server(root, home) as server:
        client = HttpClient(server.url)
        await client.initialize()
        yield Session(client)
        await client.leave()


@dataclass
class Story:
    """Random calls of an agent that knows how many cells its notebooks have."""

    choose: random.Random
    counts: list[int]
    at: int = 1
    number: int = 0
    calls: list[Call] = field(default_factory=list)

    def step(self, paths: Sequence[str]) -> None:
        count = self.counts[self.at]
        kinds = ["insert last", "insert", "use", "read"]
        if count > 1:
            kinds += ["overwrite", "overwrite", "edit", "move", "delete", "read cell"]
        self.number += 1
        source = f"v{self.number} = {self.number}"
        index = self.choose.randrange(max(count, 1))
        match self.choose.choice(kinds):
            case "insert last":
                self._insert(-1, source)
            case "insert":
                self._insert(index, source)
            case "overwrite":
                self._call("overwrite_cell_source", cell_index=index, cell_source=source)
            case "edit":
                self._call("edit_cell_source", cell_index=index, old_string=" = ", new_string=f"_{self.number} = ")
            case "move":
                self._call("move_cell", source_index=index, target_index=self.choose.randrange(count))
            case "delete":
                self._call("delete_cell", cell_indices=[index])
                self.counts[self.at] -= 1
            case "use":
                self.at = self.choose.randrange(len(paths))
                self._call("use_notebook", notebook_path=paths[self.at])
            case "read":
                self._call("read_notebook")
            case "read cell":
                self._call("read_cell", cell_index=0)

    def _insert(self, index: int, source: str) -> None:
        self._call("insert_cell", cell_index=index, cell_type="code", cell_source=source)
        self.counts[self.at] += 1

    def _call(self, tool: str, **given: Any) -> None:
        self.calls.append((tool, given))


@both_transports
async def test_edits_sent_together_make_the_notebook_that_they_make_one_after_the_other(
    transport: str, home: Home, tmp_path: Path
) -> None:
    print(f"seed {SEED}")
    choose = random.Random(SEED)
    root = tmp_path / "root"
    root.mkdir()
    async with session(transport, root, home) as agent:
        for turn in range(ROUNDS):
            counts = [choose.randrange(5), choose.randrange(5)]
            choices = choose.random()
            made = []
            for way in ("together", "in turn"):
                paths = [f"{turn} {way} {name}.ipynb".replace(" ", "-") for name in "ab"]
                for path, count in zip(paths, counts, strict=True):
                    write(root / path, *[f"{number} = 'old'" for number in range(count)])
                    await agent.one("use_notebook", notebook_path=path)
                story = Story(random.Random(choices), list(counts))
                for _ in range(CALLS):
                    story.step(paths)
                if way == "together":
                    answers = [text(answer) for answer in await agent.together(story.calls)]
                else:
                    answers = [await agent.one(tool, **given) for tool, given in story.calls]
                made.append([sources(read_valid(root / path)) for path in paths])
                assert len(answers) == CALLS
                assert [len(cells) for cells in made[-1]] == story.counts
            assert made[0] == made[1], f"seed {SEED}, turn {turn}: {story.calls}"


@over_stdio
async def test_runs_sent_together_run_in_order_after_the_edits_before_them(
    transport: str, home: Home, tmp_path: Path
) -> None:
    print(f"seed {SEED}")
    choose = random.Random(SEED)
    write(tmp_path / "a.ipynb", "trace = []", "trace.append(0)")
    async with session(transport, tmp_path, home) as agent:
        await agent.one("use_notebook", notebook_path="a.ipynb")
        await agent.one("execute_cell", cell_index=0)
        cells, expected, calls = [0], [], []
        for number in range(1, 25):
            source = f"trace.append({number})"
            index = choose.randrange(len(cells))
            match choose.choice(["overwrite", "overwrite and run", "run", "run", "insert", "insert and run", "code", "read"]):
                case "overwrite" | "overwrite and run" as kind:
                    cells[index] = number
                    given: dict[str, Any] = {"run": True} if kind != "overwrite" else {}
                    expected += [number] if given else []
                    calls.append(("overwrite_cell_source", {"cell_index": index + 1, "cell_source": source, **given}))
                case "insert" | "insert and run" as kind:
                    cells.append(number)
                    given = {"run": True} if kind != "insert" else {}
                    expected += [number] if given else []
                    new = {"cell_index": -1, "cell_type": "code", "cell_source": source}
                    calls.append(("insert_cell", {**new, **given}))
                case "run":
                    expected.append(cells[index])
                    calls.append(("execute_cell", {"cell_index": index + 1}))
                case "code":
                    expected.append(number)
                    calls.append(("execute_code", {"code": source}))
                case "read":
                    calls.append(("read_cell", {"cell_index": 0}))
        for answer in await agent.together(calls):
            text(answer)
        assert str(expected) in await agent.one("execute_code", code="print(trace)"), f"seed {SEED}: {calls}"


@over_stdio
async def test_a_long_run_holds_up_no_edit_and_no_reader_but_the_next_run(
    transport: str, home: Home, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    # The run lasts until the test has seen the effects of the calls behind it.
    wait = f"import pathlib, time\nwhile not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.01)\ntrace = ['long']"
    write(tmp_path / "a.ipynb", wait)
    async with session(transport, tmp_path, home) as agent:
        await agent.one("use_notebook", notebook_path="a.ipynb")
        client = agent.client
        calls: list[Call] = [
            ("execute_cell", {"cell_index": 0}),
            ("insert_cell", {"cell_index": -1, "cell_type": "code", "cell_source": "trace.append('next')\nprint(trace)"}),
            ("execute_cell", {"cell_index": 1}),
            ("overwrite_cell_source", {"cell_index": 1, "cell_source": "later = 1"}),
            ("read_cell", {"cell_index": 1}),
            ("get_run", {}),
        ]
        sent: list[Any] = []
        for call in calls:
            number = client.send("tools/call", _params(call))
            sent.append(number if isinstance(number, int) else await number)
        answer = client.answer if isinstance(client, StdioClient) else _finished
        # While the first run goes on.
        for index in (1, 3, 4, 5):
            said = text(await answer(sent[index]))
            assert index != 4 or "later = 1" in said
        gate.touch()
        text(await answer(sent[0]))
        # The second run has the source that its cell had when it was requested, and the variables of the first run.
        assert "['long', 'next']" in text(await answer(sent[2]))
        assert sources(read_valid(tmp_path / "a.ipynb"))[1] == "later = 1"


@over_stdio
async def test_what_ends_a_kernel_or_copies_comes_after_short_runs_before_it(
    transport: str, home: Home, tmp_path: Path
) -> None:
    write(tmp_path / "a.ipynb", "print(6 * 7)")
    async with session(transport, tmp_path, home) as agent:
        await agent.one("use_notebook", notebook_path="a.ipynb")
        await agent.one("execute_code", code="1")
        ran, restarted = await agent.together([("execute_code", {"code": "print(6 * 7)"}), ("restart_notebook", {})])
        assert "COMPLETED" in text(ran) and "That ended" not in text(restarted)
        copy = ("copy_notebook", {"to": "b.ipynb"})
        ran, copied = await agent.together([("execute_cell", {"cell_index": 0}), copy])
        assert "COMPLETED" in text(ran) and "not finished" not in text(copied)
        output = read_valid(tmp_path / "b.ipynb")["cells"][0]["outputs"][0]
        assert "".join(output["text"]) == "42\n"
        # One that hangs does not keep its kernel.
        hung, restarted = await agent.together(
            [("execute_code", {"code": "import time\nwhile True: time.sleep(1)"}), ("restart_notebook", {})]
        )
        assert "That ended code of" in text(restarted)
        assert "COMPLETED" not in hung["content"][0]["text"]


async def _finished(answer: Any) -> Answer:
    return await answer
