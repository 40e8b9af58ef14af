"""The program for Windows under wine, with a Python for Linux: what the tests give it instead of paths of Linux.

`cargo xtask platforms windows --run` sets the variable below; elsewhere nothing here changes anything."""

import os
import signal
import sys
from pathlib import Path, PurePath
from typing import Any
from unittest.mock import ANY

# Names a folder that exists under wine, too; it holds `deno.exe` and `venv`, an environment of Python as on Windows.
FOLDER = "CELLBRIDGE_WINDOWS_FOLDER"
# Set where the tests of the folder run under wine, too.
IS_USED = "CELLBRIDGE_E2E_UNDER_WINE" in os.environ
# Asks the program to end. wine passes this one on as Ctrl+C, and Windows has no SIGTERM.
REQUEST_TO_END = signal.SIGINT if IS_USED else signal.SIGTERM

_PATHS = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")


def on_windows(path: PurePath | str) -> str:
    """The drive `Z:` of wine is this machine's file system."""
    return "Z:" + str(path).replace("/", "\\")


def of_windows(path: str) -> Path:
    """Where this machine has what is on the drive `C:` of wine."""
    drive, names = path[:2], path[2:]
    assert drive == "C:", path
    return Path(os.environ[FOLDER]).parent / "wine/drive_c" / names.replace("\\", "/").lstrip("/")


def status(code: int | None) -> Any:
    """An exit status. A program whose threads end with it often gets 0 from wine, whatever it has returned, so 0 may be any."""
    return ANY if IS_USED and code == 0 else code


def environment(variables: dict[str, str]) -> dict[str, str]:
    """The variables of a person's machine, as Windows names them."""
    if not IS_USED:
        return variables
    home = PurePath(variables["HOME"])
    folders = {"USERPROFILE": home, "APPDATA": home / "AppData/Roaming", "LOCALAPPDATA": home / "AppData/Local"}
    folders |= {name: PurePath(variables[name]) for name in _PATHS}
    for folder in folders.values():
        Path(folder).mkdir(parents=True, exist_ok=True)
    folders["VIRTUAL_ENV"] = PurePath(os.environ[FOLDER]) / "venv"
    # wine ends with some of them, and Windows does not know it.
    kept = {name: value for name, value in variables.items() if name != "TMPDIR"}
    return kept | {name: on_windows(folder) for name, folder in folders.items()}


def command(argv: list[str]) -> list[str]:
    """The command of a kernelspec. Of the programs for Linux, only Python can be started."""
    if not IS_USED:
        return argv
    python = on_windows(Path(os.environ[FOLDER]) / "venv/Scripts/python.exe")
    if argv[0] == sys.executable:
        return [python, *argv[1:]]
    if argv[0] == "sleep":
        return [python, "-c", f"import time; time.sleep({argv[1]})"]
    return argv
