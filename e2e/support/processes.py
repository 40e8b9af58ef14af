"""Processes of the program, its kernels and their children, found through /proc."""

import ctypes
import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from e2e.support.home import MARK
from e2e.support.waiting import LONG

MEGABYTE = 1 << 20

_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


def marked(mark: str) -> list[int]:
    """The living processes that inherited `mark`, however they were started and whoever their parent is now."""
    processes = (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
    return [process for process in processes if is_marked(process, mark)]


def is_marked(process: int, mark: str) -> bool:
    """Whether a living process inherited `mark`."""
    try:
        return f"{MARK}={mark}".encode() in Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        # It has ended since, or belongs to somebody else.
        return False


def kernels(mark: str) -> list[int]:
    """Those of `marked` that are kernels of Python; not what stands for one under wine."""
    stand_ins = (b"python.exe", b"Scripts/python.py")
    commands = {process: _command(process) for process in marked(mark)}
    return [
        process
        for process, command in commands.items()
        if b"ipykernel_launcher" in command and not any(each in command for each in stand_ins)
    ]


def keepers(mark: str) -> list[int]:
    """Those of `marked` that keep a kernel."""
    return [process for process in marked(mark) if _first_argument(process) == b"keep"]


def servers(mark: str) -> list[int]:
    """Those of `marked` that serve agents on stdio."""
    return [process for process in marked(mark) if _first_argument(process) == b"--no-browser"]


def end_keepers(mark: str) -> None:
    """Asks them to end their kernels."""
    for keeper in keepers(mark):
        with suppress(ProcessLookupError):
            os.kill(keeper, signal.SIGTERM)


def command_lines(processes: list[int]) -> list[str]:
    """For messages of failed tests."""
    return [f"{process}: {_command(process).replace(bytes(1), b' ').decode()}" for process in processes]


def _first_argument(process: int) -> bytes:
    words = _command(process).split(bytes(1))
    # An emulator stands before the program that it runs.
    return next(iter(words[2 if b"/qemu-" in words[0] else 1 :]), b"")


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def open_files(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def listening_ports(process: int) -> list[int]:
    """The TCP ports on which a process listens, over IPv4."""
    listens = "0A"
    own = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        # It may be closed by now.
        with suppress(FileNotFoundError):
            own.add(os.readlink(entry))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == listens and f"socket:[{row[9]}]" in own]


def resident(process: int) -> int:
    """How much memory a process holds, in bytes."""
    return _status(process, "VmRSS")


def _status(process: int, name: str) -> int:
    status = Path(f"/proc/{process}/status")
    found = re.search(rf"^{name}:\s+(\d+) kB$", status.read_text(), re.MULTILINE)
    assert found, f"no {name} in {status}"
    return int(found[1]) * 1024


class Memory:
    """The growth of a process above what it held when this was made."""

    def __init__(self, process: int) -> None:
        self._process = process
        # 5 sets the high-water mark back to what is held now.
        Path(f"/proc/{process}/clear_refs").write_text("5")
        self._idle = resident(process)

    @property
    def peak(self) -> int:
        """In bytes."""
        return _status(self._process, "VmHWM") - self._idle


def obey_permissions() -> None:
    """Makes files that forbid reading or writing forbid it even where the tests run as root."""
    for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
        # Whoever is not root has no capability to drop.
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def end_server(process: subprocess.Popen[bytes] | None, mark: str) -> None:
    """Kills a server and whatever bears its mark. If they are asked to end, some servers hang in threads of their extensions."""
    if process:
        process.kill()
        process.wait(LONG)
    while left := marked(mark):
        for each in left:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
