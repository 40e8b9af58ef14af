"""What the official MCP Inspector finds: views of calls, the skill, and schemas that other clients cannot read."""

import os
import subprocess
import tempfile
from pathlib import Path

from e2e.models import launch
from e2e.support.home import Home

# Arguments, and how they must end: with 2 for a tool without a view, and 5 for no tool.
_CHECKS = [
    (["--method", "tools/call", "--tool-name", "execute_cell", "--app-info", "--advertise-apps"], 0),
    (["--method", "tools/call", "--tool-name", "use_notebook", "--app-info", "--advertise-apps"], 2),
    (["--method", "tools/call", "--tool-name", "no_tool", "--app-info", "--advertise-apps"], 5),
    (["--method", "skills/list", "--verify", "--protocol-era", "modern"], 0),
    (["--method", "tools/list", "--strict"], 0),
    (["--method", "tools/list", "--strict", "--protocol-era", "modern"], 0),
]


def inspect(binary: Path, program: str) -> list[str]:
    """Checks the program; the problems."""
    problems = []
    with tempfile.TemporaryDirectory() as temporary:
        folder, home = Path(temporary) / "notebooks", Home(Path(temporary) / "home")
        folder.mkdir()
        home.folder.mkdir()
        person = {"PATH": os.environ["PATH"], "HOME": str(home.folder)}
        for arguments, expected in _CHECKS:
            command = [str(binary), "--cli", *arguments, program, "--no-browser", "--root", str(folder)]
            done = subprocess.run(command, env=person, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=launch.TIMEOUT)
            if done.returncode != expected:
                problems.append(f"Inspector: {' '.join(arguments)} ended with {done.returncode}: {(done.stdout + done.stderr)[-1000:]}")
    print(f"Inspector\n  {'views, skill, schemas':<22}{'MISSING' if problems else 'as they should be'}", flush=True)
    return problems
