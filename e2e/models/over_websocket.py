"""A client that reaches a running server over WebSocket: Claude Code has an entry for it."""

import os
import tempfile
from pathlib import Path

from e2e.models import launch
from e2e.models.scenario import FIRST_STEPS
from e2e.models.service import ModelService
from e2e.support.home import Home
from e2e.support.notebook_server import NotebookServer, running

_TOKEN = "open-sesame"


def play_over_websocket(binary: Path, program: str) -> list[str]:
    """A newcomer's first steps in Claude Code; the problems."""
    os.environ["CELLBRIDGE_BIN"] = program
    with tempfile.TemporaryDirectory() as temporary:
        folder, home = Path(temporary) / "notebooks", Home(Path(temporary) / "home")
        folder.mkdir()
        home.folder.mkdir()
        command = ("--transport", "streamable-http", "--port", "0", "--token", _TOKEN, "--no-browser")
        person = {"PATH": os.environ["PATH"], "HOME": str(home.folder)}
        try:
            with running(NotebookServer(folder, home, command=command)) as server, ModelService(FIRST_STEPS) as service:
                entry = launch.Socket(server.url.replace("http", "ws", 1), _TOKEN)
                launch.claude_code(launch.Client(binary, service.url, folder, person), entry)
                missing = service.missing()
        except (launch.ClientFailed, AssertionError) as failed:
            missing = [str(failed)]
    print(f"  {'over WebSocket':<22}{'MISSING' if missing else 'the model ran a cell and saw its output'}", flush=True)
    return [f"Claude Code, over WebSocket: {problem}" for problem in missing]
