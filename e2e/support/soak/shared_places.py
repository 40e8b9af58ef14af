"""Places whose notebooks many agents share, with servers that are killed and started again."""

import asyncio
import random
import signal
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from e2e.support.collaborator import collaborator
from e2e.support.home import Home, new_mark
from e2e.support.jupyter_program import reaching
from e2e.support.jupyter_server import JupyterServer, free_port
from e2e.support.notebook_files import Json, printed, read_valid
from e2e.support.notebook_server import NotebookServer, launch
from e2e.support.program import Launch
from e2e.support.waiting import LONG, until

_HTTP = ("--transport", "streamable-http", "--no-browser")


class HttpServer:
    """The program over HTTP, always on the same port."""

    def __init__(self, start: Callable[[int], NotebookServer]) -> None:
        self._start, self._port = start, free_port()
        self.is_up = asyncio.Event()
        self.program: NotebookServer | None = None
        self.url = ""
        # Counts the processes.
        self.life = 0

    @property
    def process(self) -> int:
        assert self.program, "it was started"
        return self.program.process.pid

    async def start(self) -> None:
        self.program = program = self._start(self._port)
        self.url = await asyncio.to_thread(lambda: program.url)
        self.is_up.set()

    async def kill(self) -> None:
        self.is_up.clear()
        self.life += 1
        assert await self._ended(signal.SIGKILL) == -signal.SIGKILL
        await self.start()

    async def stop(self) -> None:
        assert await self._ended(signal.SIGTERM) == 0

    async def _ended(self, number: signal.Signals) -> int:
        assert self.program, "it was started"
        self.program.process.send_signal(number)
        return await asyncio.to_thread(self.program.ended)


class SharedPlace(ABC):
    """A folder or a Jupyter server on one machine. Its first server is killed, its second one is not."""

    # The prefix of the names of agents.
    letter: str
    # Whether runs whose server was killed are stored in the end.
    keeps_runs: bool

    def __init__(self, folder: Path, root: Path, notebooks: int) -> None:
        self.root = root
        self.home = Home(folder)
        self.home.folder.mkdir()
        self.mark = new_mark()
        self.paths = [f"shared-{number}.ipynb" for number in range(notebooks)]
        self.servers = [HttpServer(self.serve) for _ in range(2)]
        # The names of all agents, and what they did.
        self.names: set[str] = set()
        self.counts: Counter[str] = Counter()
        # The processes of the notebooks' kernels.
        self.kernels: set[str] = set()
        # Whose each run is.
        self.owners: dict[str, str] = {}

    @abstractmethod
    def serve(self, port: int) -> NotebookServer: ...

    @abstractmethod
    def launch(self) -> Launch:
        """How an agent on stdio starts the program."""

    @abstractmethod
    async def cells(self, path: str) -> list[Json]:
        """The cells of a notebook without our program."""

    async def start(self) -> None:
        await asyncio.gather(*(server.start() for server in self.servers))

    async def stop(self) -> None:
        await asyncio.gather(*(server.stop() for server in self.servers))

    def end(self) -> None:
        """Ends what a test that failed has left."""
        for server in self.servers:
            if server.program and server.program.process.poll() is None:
                server.program.process.kill()
                server.program.ended()

    async def kill_now_and_then(
        self, chance: random.Random, calls: tuple[int, int], finished: asyncio.Event
    ) -> None:
        """Kills the first server after so many calls at the place, again and again. It runs when the agents have finished."""
        while True:
            wanted = self.counts["calls"] + chance.randint(*calls)
            await until(lambda: finished.is_set() or self.counts["calls"] >= wanted, "agents call", within=LONG)
            if finished.is_set():
                return
            self.counts["servers killed"] += 1
            await self.servers[0].kill()


class SharedFolder(SharedPlace):
    letter = "f"
    keeps_runs = True

    def __init__(self, folder: Path, notebooks: int) -> None:
        folder.mkdir()
        root = folder / "root"
        root.mkdir()
        super().__init__(folder / "home", root, notebooks)

    def serve(self, port: int) -> NotebookServer:
        command = (*_HTTP, "--no-token", "--port", str(port))
        return NotebookServer(self.root, self.home, command=command, mark=self.mark)

    def launch(self) -> Launch:
        return launch(self.root, self.home, mark=self.mark)

    async def cells(self, path: str) -> list[Json]:
        return read_valid(self.root / path)["cells"]


class SharedJupyter(SharedPlace):
    letter = "j"
    keeps_runs = False

    def __init__(self, folder: Path, notebooks: int) -> None:
        self.jupyter = JupyterServer("rtc", folder)
        super().__init__(folder / "own-home", self.jupyter.root, notebooks)

    def serve(self, port: int) -> NotebookServer:
        command = ("jupyter", *_HTTP[:2], "--insecure-mcp-noauth", "--port", str(port), *reaching(self.jupyter))
        return NotebookServer(self.root, self.home, command=command, mark=self.mark)

    def launch(self) -> Launch:
        environment = self.home.environment(self.mark)
        return Launch(reaching(self.jupyter), environment, command=("jupyter",), folder=self.home.folder)

    async def start(self) -> None:
        await asyncio.to_thread(self.jupyter.start)
        await super().start()

    async def cells(self, path: str) -> list[Json]:
        """Those of the room, once they are in the file."""
        async with collaborator(self.jupyter, path) as reader:

            def is_saved() -> bool:
                room, file = [each.to_py() for each in reader.cells], self.jupyter.saved(path)["cells"]
                return _comparable(room) == _comparable(file)

            await until(is_saved, f"{path} is saved")
        return self.jupyter.saved(path)["cells"]


def _comparable(cells: list[Json]) -> list[tuple[str, str, str]]:
    """Texts may be lists of lines."""
    return [(each["id"], "".join(each["source"]), printed(each)) for each in cells]
