"""A newcomer's walk, part of `cargo xtask dist --check`: a package, `cellbridge install --all`, and the real clients.

Arguments: an empty home, the newcomer's PATH, the wheel, and `NAME=FILE` for each client and each program that the newcomer
has beside them. Fails at the first thing that is not as the README says.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from e2e.models import launch, network
from e2e.models.scenario import FIRST_STEPS
from e2e.models.service import ModelService

# As `cellbridge status` calls them.
IDS = {"Codex": "codex", "Claude Code": "claude-code"}


class Newcomer:
    """Somebody with an empty home, a folder, and these programs."""

    def __init__(self, home: Path, path: str, programs: list[Path]) -> None:
        self.home = home
        self.folder = home / "notebooks"
        self.folder.mkdir()
        links = home.parent / "programs"
        links.mkdir()
        for program in programs:
            (links / program.name).symlink_to(program)
        self.variables = {"PATH": f"{home / '.local/bin'}:{links}:{path}", "HOME": str(home)}

    def run(self, *command: str | Path) -> str:
        program = shutil.which(command[0], path=self.variables["PATH"])
        assert program, f"{command[0]} is not on the PATH"
        done = subprocess.run(
            [program, *command[1:]],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=launch.TIMEOUT,
        )
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def files(self) -> dict[Path, tuple[bytes, int]]:
        """The bytes and modes of all files of the home."""
        found = (file for file in self.home.rglob("*") if file.is_file() and not file.is_symlink())
        return {file.relative_to(self.home): (file.read_bytes(), file.stat().st_mode) for file in found}


def difference(before: dict[Path, tuple[bytes, int]], after: dict[Path, tuple[bytes, int]]) -> list[str]:
    return sorted(str(file) for file in before.keys() | after.keys() if before.get(file) != after.get(file))


def configured(newcomer: Newcomer) -> set[str]:
    """The ids of the clients that have our entry."""
    rows = json.loads(newcomer.run("cellbridge", "status", "--json"))
    return {row["id"] for row in rows if row["user"]["configured"]}


def check_installation(newcomer: Newcomer, clients: set[str]) -> None:
    """Installing twice changes as much as once, and uninstalling restores each byte."""
    untouched = newcomer.files()
    newcomer.run("cellbridge", "install", "--all")
    assert configured(newcomer) == clients
    installed = newcomer.files()
    newcomer.run("cellbridge", "install", "--all")
    assert not difference(installed, newcomer.files()), "the second `install` changed files"
    newcomer.run("cellbridge", "uninstall", "--all")
    assert not configured(newcomer)
    left = difference(untouched, newcomer.files())
    assert not left, f"`uninstall` left {left}"


def check_client(newcomer: Newcomer, name: str, binary: Path) -> None:
    """The client knows the server from its configuration, and a cell runs."""
    with ModelService(FIRST_STEPS) as service:
        launch.LAUNCH[name](launch.Client(binary, service.url, newcomer.folder, newcomer.variables), None)
        assert not service.missing(), f"{name}: {service.missing()}"
    notebook = newcomer.folder / "hello.ipynb"
    assert '"42' in notebook.read_text(), f"{name}: the output is not in the notebook"
    notebook.unlink()
    # The kernel outlives the server that the client started.
    assert "stopped" in newcomer.run("cellbridge", "kernels", "stop", "--all")


def main() -> int:
    home, path, wheel, *given = sys.argv[1:]
    if not network.isolate():
        print("The clients are run without a network, which takes Linux and root or user namespaces.")
        return 1
    programs = {name: Path(file) for name, file in (program.split("=", 1) for program in given)}
    clients = {name: file for name, file in programs.items() if name in launch.LAUNCH}
    newcomer = Newcomer(Path(home), path, list(programs.values()))
    newcomer.run("uv", "tool", "install", "--offline", wheel)
    check_installation(newcomer, {IDS[name] for name in clients})
    print(newcomer.run("cellbridge", "install", "--all"))
    for name, binary in clients.items():
        check_client(newcomer, name, binary)
        print(f"{name} started the server from its configuration, and a cell ran", flush=True)
    # The clients have rewritten their files since.
    used = newcomer.files()
    newcomer.run("cellbridge", "install", "--all")
    changed = difference(used, newcomer.files())
    assert not changed, f"`install` changed {changed}, which clients had rewritten"
    newcomer.run("cellbridge", "uninstall", "--all")
    assert not configured(newcomer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
