"""The program as the notebook server of a folder: over HTTP as a process of ours, on stdio as clients start it."""

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.support import logs
from e2e.support.home import Home, new_mark
from e2e.support.processes import command_lines, end_keepers, is_marked, kernels, marked, obey_permissions
from e2e.support.program import Launch, program
from e2e.support.waiting import LONG, wait_until
from e2e.support.wine import REQUEST_TO_END

# Serves the notebooks of the folder it is started in.
_FOLDER = ("--transport", "streamable-http", "--port", "0", "--no-token", "--no-browser")


class NotebookServer:
    """The program serving the notebooks of a folder over HTTP."""

    def __init__(
        self,
        root: Path,
        home: Home,
        *options: str,
        command: tuple[str, ...] = _FOLDER,
        environment: dict[str, str] | None = None,
        mark: str | None = None,
    ) -> None:
        self.root = root
        self.home = home
        self.mark = mark or new_mark()
        self.log_lines: list[str] = []
        self._endpoint = ""
        self._ready = threading.Event()
        self.process = subprocess.Popen(
            [program(), *command, *options],
            cwd=root,
            env={**home.environment(self.mark), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=obey_permissions,
        )
        logs.keep("the program", lambda: "\n".join(self.log_lines))
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    @property
    def url(self) -> str:
        assert self._ready.wait(LONG) and self._endpoint, f"no endpoint: {self.log_lines}"
        return self._endpoint

    @property
    def kernels(self) -> list[int]:
        return kernels(self.mark)

    def _listen(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.log_lines.append(line.rstrip())
            found = re.search(r"MCP endpoint (http://\S+)", line)
            if found:
                self._endpoint = found[1]
                self._ready.set()
        self._ready.set()

    def ended(self) -> int:
        """Waits for the end; the exit code."""
        code = self.process.wait(LONG)
        self._listening.join(LONG)
        return code


@contextmanager
def notebook_server(root: Path, home: Home, *options: str) -> Iterator[NotebookServer]:
    """Starts the program for the notebooks of a folder."""
    with running(NotebookServer(root, home, *options)) as server:
        yield server


@contextmanager
def running(server: NotebookServer) -> Iterator[NotebookServer]:
    """Checks that the program ends when it is asked to, and leaves no process behind."""
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.send_signal(REQUEST_TO_END)
        try:
            server.ended()
        except subprocess.TimeoutExpired:
            server.process.kill()
            raise AssertionError(f"the program did not end within {LONG} s of being asked to: {server.log_lines}") from None
        nothing_is_left(server.mark, server.home)


def nothing_is_left(mark: str, home: Home) -> None:
    """Ends the kept kernels, and waits until every process that the program started has ended. Folders of keepers stay for runs that
    nobody has read, until a person removes them; those of servers for runs that waited, until another server takes them."""
    end_keepers(mark)
    # Reading all of /proc is slow beside other tests, so in between only the processes that were found are looked at.
    while left := marked(mark):
        wait_until(lambda: not any(is_marked(it, mark) for it in left), lambda: f"left behind: {command_lines(left)}")
    if home.left_by_keepers():
        # Other tests may have the same home, and kernels that run.
        for kernel in json.loads(_kernels(mark, home, "--json")):
            if kernel["state"] == "ended; its last runs have not been read":
                _kernels(mark, home, "stop", kernel["id"])
    for log in home.left_by_servers():
        log.unlink(missing_ok=True)
    try:
        wait_until(lambda: not home.left_by_keepers(), lambda: f"left behind: {home.left_by_keepers()}")
    finally:
        # Once is enough: other tests may have the same home.
        for folder in home.left_by_keepers():
            shutil.rmtree(folder, ignore_errors=True)


def _kernels(mark: str, home: Home, *arguments: str) -> str:
    """What `cellbridge kernels` prints."""
    command = [program(), "kernels", *arguments]
    return subprocess.run(command, env=home.environment(mark), check=True, capture_output=True, text=True).stdout


# The marks and homes of the programs that the current test starts as a client does.
launched: list[tuple[str, Home]] = []


def launch(root: Path, home: Home, *options: str, mark: str | None = None) -> Launch:
    """How a client on stdio starts the program for a folder. What it leaves running is ended after the test."""
    mark = mark or new_mark()
    launched.append((mark, home))
    environment = home.environment(mark)
    return Launch(("--no-browser", *options), environment, command=(), folder=root)
