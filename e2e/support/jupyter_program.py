"""The program as a client of Jupyter servers: over HTTP as a process of ours, on stdio as clients start it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from e2e.support.agents.answer import Answer
from e2e.support.agents.python_sdk import Answerer, python_agent
from e2e.support.home import Home, new_mark
from e2e.support.jupyter_server import JupyterServer, jupyter_server
from e2e.support.notebook_client import NotebookClient
from e2e.support.notebook_files import Json, read_saved
from e2e.support.notebook_server import NotebookServer, running
from e2e.support.program import Launch
from e2e.support.stdio_client import StdioClient, stdio_client
from e2e.support.waiting import LONG, until

# `initialize` never waits for a server: less than the program gives a hanging one, more than a start takes on a busy
# machine.
AT_ONCE = 20.0
COMMAND = ("jupyter", "--transport", "streamable-http", "--port", "0", "--insecure-mcp-noauth")


def reaching(server: JupyterServer, url: str | None = None) -> tuple[str, ...]:
    """The options that lead to a server, as the person would give them."""
    return ("--jupyter-url", url or server.url, "--jupyter-token", server.token)


@contextmanager
def jupyter_program(
    server: JupyterServer, home: Path, *options: str, url: str | None = None, environment: dict[str, str] | None = None
) -> Iterator[NotebookServer]:
    """The program at a server; its own home is empty, so nothing is found that was not given."""
    given = (*reaching(server, url), *options)
    home.mkdir(exist_ok=True)
    with running(NotebookServer(server.root, Home(home), *given, command=COMMAND, environment=environment)) as program:
        yield program


def jupyter_launch(home: Path, *options: str, mark: str | None = None, **environment: str) -> Launch:
    """How a client on stdio starts the program with options of a person's configuration."""
    home.mkdir(exist_ok=True)
    given = {**Home(home).environment(mark or new_mark()), **environment}
    return Launch(options, given, command=("jupyter",), folder=home)


class JupyterNotebookClient(NotebookClient):
    """An agent at one notebook of a Jupyter server, which may be writing the file at any time."""

    def notebook(self) -> Json:
        return read_saved(self.file)

    async def check_file(self) -> None:
        self.notebook()


@asynccontextmanager
async def jupyter_notebook(
    program: NotebookServer, path: str, answer: Answerer | None = None, *, create: bool = True
) -> AsyncIterator[NotebookClient]:
    """An agent with a session of its own, at one notebook of the server, which has no cells if it is created."""
    async with python_agent(program.url, answer=answer) as agent:
        client = JupyterNotebookClient(agent, program.root, path)
        opened = await (client.create() if create else client.open())
        # Jupyter's Y document of a notebook without cells starts with an empty one, which is not to be seen.
        assert not create or "has 0 cells" in opened.text
        yield client


def is_on_disk(answer: Answer) -> bool:
    """Whether the change that an answer is about is on disk; every such answer says so."""
    saved, waits = "saved to disk" in answer.text, "NOT yet on disk" in answer.text
    assert saved != waits, f"does not say whether it is on disk: {answer.text}"
    return saved


async def until_on_disk(client: NotebookClient, condition: Callable[[Json], object], what: str) -> None:
    """Waits for a condition on the file."""
    await until(lambda: condition(client.notebook()), what)


@contextmanager
def own_server(
    folder: Path, form: str, *options: str, network_timeout: float = 30, **given: object
) -> Iterator[tuple[JupyterServer, NotebookServer]]:
    """A server that a test may break, and the program at it, which gives it up after `network_timeout` seconds."""
    with (
        jupyter_server(form, folder / "server", *options, **given) as server,
        jupyter_program(server, folder / "home", "--network-timeout", str(network_timeout)) as program,
    ):
        yield server, program


async def succeeds(client: NotebookClient, tool: str, **given: object) -> None:
    """Calls a tool until it succeeds: the server is on its way up."""
    async with asyncio.timeout(LONG):
        while (await client.call(tool, **given)).is_error:
            await asyncio.sleep(0.05)


@asynccontextmanager
async def started(home: Path, *options: str, mark: str | None = None, **environment: str) -> AsyncIterator[StdioClient]:
    """The program on stdio, which answers `initialize` and lists its tools at once."""
    async with stdio_client(jupyter_launch(home, *options, mark=mark, **environment)) as server:
        async with asyncio.timeout(AT_ONCE):
            assert (await server.initialize())["serverInfo"]["name"] == "cellbridge"
            assert len((await server.ask("tools/list", {}))["tools"]) > 20
        yield server


async def fails_in_a_line(server: StdioClient, tool: str = "list_notebooks", **given: object) -> str:
    """A call that fails with one line."""
    result = await server.ask("tools/call", {"name": tool, "arguments": given})
    [block] = result["content"]
    assert result["isError"], block
    assert "\n" not in block["text"].strip(), f"more than one line: {block['text']}"
    return block["text"]


async def opens(server: StdioClient, notebook: str) -> None:
    opened = await server.call("use_notebook", notebook_path=notebook)
    assert "here = 'it is'" in opened, opened
