"""A client that goes on while a cell runs: Claude Code declares tasks in a terminal, and nowhere else."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from e2e.models import launch
from e2e.models.scenario import Step
from e2e.models.service import SERVER, ModelService
from e2e.support.home import Home

_CODE = """\
import time
for line in range(4):
    print('line', line, flush=True)
    time.sleep(1)
from PIL import Image
display(Image.new('RGB', (8, 8), 'red'))"""
_STEPS = [Step("a long cell", "execute_code", {"code": _CODE}, texts=["started server-side task"])]
# How often it is asked to proceed, and how long it may take to ask its model, in seconds.
_TURNS, _TURN = 10, 5.0
# Of the terminal, in lines and columns.
_SIZE = (50, 160)
# What wakes the model must hold.
_NOTIFIED = ["<status>completed</status>", "line 3", "[COMPLETED", "To see the images: get_run(run_id="]


class _WokenModel(ModelService):
    """Ends its turn after the call; `notification` is what the client tells it later."""

    def __init__(self) -> None:
        super().__init__(_STEPS)
        self.notification = ""
        self.is_woken = Event()
        self.has_tools = Event()

    def answer(self, path: str, request: dict[str, Any]) -> list[dict[str, Any]]:
        if any(str(tool.get("name", "")).startswith(SERVER) for tool in request.get("tools", [])):
            self.has_tools.set()
        told = json.dumps(request["messages"][-1])
        if "<task-notification>" in told:
            self.notification = told
            self.is_woken.set()
        return super().answer(path, request)


def play_as_task(binary: Path, program: str) -> list[str]:
    """A cell that outlasts its wait, in a terminal; the problems."""
    with tempfile.TemporaryDirectory() as temporary, _WokenModel() as service:
        folder, home = Path(temporary) / "notebooks", Home(Path(temporary) / "home")
        folder.mkdir()
        home.folder.mkdir()
        command = [program, "--no-browser", "--root", str(folder), "--task-after", "1"]
        problems = []
        try:
            with _in_terminal(binary, service.url, folder, home, command) as (typed, shows):
                shows("for agents", "the prompt")
                # The client takes its first turns without our tools, and may not read keys yet.
                for _ in range(_TURNS):
                    typed("Proceed")
                    shows("Proceed", "what is typed")
                    # A line that comes at once is pasted text.
                    typed("\r")
                    if service.has_tools.wait(_TURN):
                        break
                if not service.is_woken.wait(launch.TIMEOUT):
                    problems = ["the model was not woken"]
        except launch.ClientFailed as failed:
            problems = [str(failed)]
        problems += service.missing()
        problems += [f"{text!r} is not in {service.notification}" for text in _NOTIFIED if text not in service.notification]
    print(f"  {'as a task':<22}{'MISSING' if problems else 'the model went on, and was woken with the output'}", flush=True)
    return [f"Claude Code, as a task: {problem}" for problem in problems]


@contextmanager
def _in_terminal(
    binary: Path, url: str, folder: Path, home: Home, command: list[str]
) -> Iterator[tuple[Callable[[str], None], Callable[[str, str], None]]]:
    """Claude Code in a terminal of a person who has used it before; what types into it, and what waits for a text."""
    known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    settings = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "projects": {str(folder): known},
        "customApiKeyResponses": {"approved": ["none"], "rejected": []},
    }
    (home.folder / ".claude.json").write_text(json.dumps(settings))
    server = {"command": command[0], "args": command[1:], "env": home.environment("models"), "alwaysLoad": True}
    configuration = home.folder / "mcp.json"
    configuration.write_text(json.dumps({"mcpServers": {"cellbridge": server}}))
    options = ["--mcp-config", str(configuration), "--strict-mcp-config", "--allowedTools", "mcp__cellbridge"]
    variables = {"PATH": os.environ["PATH"], "HOME": str(home.folder), "TERM": "xterm-256color"}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *_SIZE, 0, 0))
    process = subprocess.Popen(
        [binary, *options],
        cwd=folder,
        env={**variables, **launch.scripted_claude(url)},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    printed = bytearray()

    def read() -> None:
        # The terminal ends with its last process.
        try:
            while part := os.read(ours, 65536):
                printed.extend(part)
        except OSError:
            pass

    def typed(text: str) -> None:
        os.write(ours, text.encode())

    def shows(text: str, what: str) -> None:
        end = time.monotonic() + launch.TIMEOUT
        while text.encode() not in printed:
            if time.monotonic() > end or process.poll() is not None:
                raise launch.ClientFailed(f"{what} was not shown: {printed.decode(errors='replace')[-2000:]}")
            time.sleep(0.05)

    Thread(target=read, daemon=True).start()
    try:
        yield typed, shows
    finally:
        process.terminate()
        try:
            process.wait(launch.TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
        os.close(ours)
