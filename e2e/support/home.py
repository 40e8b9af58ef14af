"""A person's machine in a temporary folder: what the program sees when it is started from an activated environment."""

import fcntl
import json
import os
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

from e2e.support import wine

# Every process below a server inherits this, however it was started; `processes.py` finds them by it.
# Kernels inherit it, as no variable of the program.
MARK = "E2E_MARK"


@dataclass
class Home:
    """A home folder, with a data folder for kernelspecs."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "jupyter"

    def environment(self, mark: str) -> dict[str, str]:
        """Overrides everything that could lead out of this home."""
        folders = {
            "XDG_CACHE_HOME": "cache",
            "XDG_CONFIG_HOME": "config",
            "XDG_DATA_HOME": "data",
            "XDG_STATE_HOME": "state",
            "IPYTHONDIR": "ipython",
            "JUPYTER_CONFIG_DIR": "jupyter-config",
            "JUPYTER_DATA_DIR": "jupyter",
            "JUPYTER_RUNTIME_DIR": "jupyter-runtime",
            "MPLCONFIGDIR": "matplotlib",
            "TMPDIR": "tmp",
        }
        (self.folder / "tmp").mkdir(exist_ok=True)
        programs = Path(sys.prefix) / "bin"
        variables = {
            "HOME": str(self.folder),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "VIRTUAL_ENV": sys.prefix,
            "JUPYTER_PATH": "",
            MARK: mark,
            **{variable: str(self.folder / name) for variable, name in folders.items()},
        }
        return wine.environment(variables)

    def left_by_kernels(self) -> list[Path]:
        """Connection files and sockets."""
        return [*(self.folder / "jupyter-runtime").glob("*"), *(self.folder / "tmp").glob("*")]

    @property
    def keeper_folders(self) -> list[Path]:
        return list((self.folder / "state/cellbridge/kernels").glob("*"))

    @property
    def keeper_records(self) -> list[Path]:
        return [folder / "kernel.json" for folder in self.keeper_folders if (folder / "kernel.json").exists()]

    def left_by_keepers(self) -> list[Path]:
        """The folders of keepers that have ended: whose lock nobody holds."""
        return [folder for folder in self.keeper_folders if not _is_locked(folder / "lock")]

    @property
    def waiting_logs(self) -> list[Path]:
        """The logs in which servers announce runs that wait for a kernel."""
        return list((self.folder / "state/cellbridge/waiting").glob("*.log"))

    def left_by_servers(self) -> list[Path]:
        """The waiting logs of servers that have ended. The next server in the same folder reports their runs, and removes them."""
        return [log for log in self.waiting_logs if not _is_locked(log)]

    def install(self, name: str, argv: list[str], **further: object) -> None:
        """Installs a kernelspec."""
        folder = self.data / "kernels" / name
        folder.mkdir(parents=True)
        spec = {"argv": wine.command(argv), "display_name": name.title(), "language": name, **further}
        (folder / "kernel.json").write_text(json.dumps(spec))


def _is_locked(file: Path) -> bool:
    try:
        with file.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


def new_mark() -> str:
    return uuid.uuid4().hex
