"""A person who has signed in, and the programs that use their machines."""

import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx

from e2e.support.agents.answer import Agent, Answer
from e2e.support.agents.python_sdk import Answerer, python_agent
from e2e.support.colab_fake.google import Google
from e2e.support.colab_fake.machine import ColabMachine
from e2e.support.home import Home, new_mark
from e2e.support.jupyter_program import JupyterNotebookClient
from e2e.support.notebook_server import NotebookServer, running
from e2e.support.processes import end_server
from e2e.support.program import program
from e2e.support.waiting import LONG

_FOLDER = ("--transport", "streamable-http", "--port", "0", "--no-token", "--no-browser")


class Person:
    """Has a home and a folder of notebooks. What the programs print is searched for secrets."""

    def __init__(self, folder: Path, google: Google) -> None:
        self.google = google
        self.home = Home(folder / "home")
        self.folder = folder / "notebooks"
        for each in (self.home.folder, self.folder):
            each.mkdir(parents=True)
        self.printed: list[str] = []
        # The machines that the test leaves running.
        self.left: list[str] = []

    @property
    def state(self) -> Path:
        """What the program keeps about Colab."""
        return self.home.folder / "state/cellbridge/colab"

    def sign_in(self) -> None:
        """Signs in with a browser on this machine."""
        client = self.home.folder.with_name("client.json")
        client.write_text(self.google.sign_in.client_file)
        google = ["--google-stand-in", self.google.address, "--log-level", "trace"]
        command = [program(), "colab", "login", "--no-browser", "-c", str(client), *google]
        environment = self.home.environment(new_mark())
        pipe = subprocess.PIPE
        with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as login:
            assert login.stdout
            address = login.stdout.readline().strip()
            httpx.get(address, follow_redirects=True, trust_env=False, timeout=LONG)
            printed, complaints = login.communicate(timeout=LONG)
        self.printed += [printed, complaints]
        assert login.returncode == 0, complaints

    @contextmanager
    def serve(self, *options: str) -> Iterator[NotebookServer]:
        """The program for the folder, which has to end in order unless the test kills it."""
        server = NotebookServer(
            self.folder,
            self.home,
            *("--google-stand-in", self.google.address, "--log-level", "trace"),
            *options,
            command=_FOLDER,
        )
        try:
            with running(server):
                yield server
        finally:
            end_server(None, server.mark)
            self.printed += server.log_lines

    @asynccontextmanager
    async def agent(self, server: NotebookServer, answer: Answerer | None = None) -> AsyncIterator[Agent]:
        """An agent of the program. What it is shown is searched for secrets, too."""
        async with python_agent(server.url, answer=answer) as agent:
            call = agent.call

            async def listening(name: str, arguments: dict[str, Any] | None = None) -> Answer:
                answer = await call(name, arguments)
                self.printed += [str(answer.content), *(message or "" for _, _, message in answer.progress)]
                return answer

            agent.call = listening  # type: ignore[method-assign]
            yield agent

    async def start(self, agent: Agent, **given: Any) -> ColabMachine:
        """Starts a machine, and returns it."""
        before = set(self.google.api.machines)
        await do(agent, "start_machine", **given)
        [name] = set(self.google.api.machines) - before
        return self.google.api.machines[name]

    def check(self) -> None:
        """What must hold at the end of each test."""
        self.google.check(self.printed, self.home.folder, self.left)


class MachineNotebook(JupyterNotebookClient):
    """An agent at one notebook of a machine."""

    def __init__(self, agent: Agent, machine: ColabMachine, name: str = "a.ipynb") -> None:
        super().__init__(agent, machine.content, f"colab-vm:{machine.name}/{name}")
        self.name = name

    @property
    def file(self) -> Path:
        return self.root / self.name


async def do(agent: Agent, tool: str, **given: Any) -> str:
    """A call that succeeds; its text."""
    answer = await agent.call(tool, given)
    assert not answer.is_error, f"{tool}({given}): {answer.text}"
    return answer.text


async def fails(agent: Agent, tool: str, **given: Any) -> str:
    """A call that fails; its text."""
    answer = await agent.call(tool, given)
    assert answer.is_error, f"{tool}({given}) succeeded: {answer.text}"
    return answer.text
