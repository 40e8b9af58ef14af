"""A person's terminal: commands of the program in a folder, until each ends."""

import asyncio
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import v4

from e2e.support.home import Home, new_mark
from e2e.support.lab_notebooks import KERNELSPEC
from e2e.support.program import program
from e2e.support.waiting import LONG
from e2e.support.wine import status

# A source; what is saved of it (text, an output, several, or None if it was never run); and its tags.
Cell = tuple[str, Any] | tuple[str, Any, list[str]]


@dataclass
class Ended:
    """How a command ended."""

    status: int | None
    printed: str
    complaints: str

    @property
    def text(self) -> str:
        return self.printed + self.complaints


class Terminal:
    def __init__(self, folder: Path, **environment: str) -> None:
        self.mark, self.home, self.root = new_mark(), Home(folder / "home"), folder / "root"
        self.environment = environment
        self.home.folder.mkdir()
        self.root.mkdir()

    async def start(self, *command: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *[program(), *command],
            env={**self.home.environment(self.mark), **self.environment},
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    async def run(self, *command: str) -> Ended:
        return await ended(await self.start(*command))


async def ended(running: asyncio.subprocess.Process) -> Ended:
    printed, complaints = await asyncio.wait_for(running.communicate(), 4 * LONG)
    return Ended(status(running.returncode), printed.decode(), complaints.decode())


def write(path: Path, cells: list[Cell]) -> None:
    """Writes a notebook with these code cells below a text."""
    made = [v4.new_markdown_cell("text", id="text")]
    for number, (source, saved, *tags) in enumerate(cells):
        outputs = saved if isinstance(saved, list) else [saved] if saved and not isinstance(saved, str) else []
        if saved and isinstance(saved, str):
            outputs = [v4.new_output("stream", text=saved)]
        count = None if saved is None else number + 1
        metadata = {"tags": tags[0]} if tags else {}
        made.append(
            v4.new_code_cell(source, id=f"c{number}", outputs=outputs, execution_count=count, metadata=metadata)
        )
    path.write_text(json.dumps(v4.new_notebook(cells=made, metadata={"kernelspec": KERNELSPEC})))
