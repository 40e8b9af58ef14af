"""A kernel that another program than ours has started, and that program's connection to it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jupyter_client.blocking import BlockingKernelClient

from e2e.support.home import Home, new_mark
from e2e.support.processes import obey_permissions
from e2e.support.waiting import LONG, wait_until


class ForeignKernel:
    """A kernel whose connection file is in Jupyter's runtime folder of a home."""

    def __init__(self, home: Home, kernel_id: str) -> None:
        runtime = home.folder / "jupyter-runtime"
        runtime.mkdir(mode=0o700, exist_ok=True)
        self.id = kernel_id
        self.file = runtime / f"kernel-{kernel_id}.json"
        # It has no mark of a server: nothing that a server leaves behind.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ipykernel_launcher", "-f", self.file],
            env=home.environment(new_mark()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Who may look at a process depends on what it may do.
            preexec_fn=obey_permissions,
        )
        self.client = BlockingKernelClient(connection_file=str(self.file))

    def connect(self) -> None:
        """Waits until it answers the program that has started it."""
        wait_until(lambda: self.file.exists() and self.file.read_text().endswith("}"), lambda: f"it starts; it lives: {self.lives}")
        self.client.load_connection_file()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LONG)

    def run(self, code: str) -> str:
        """Runs code for the program that has started it; what it printed."""
        printed: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            printed.append(message["content"].get("text", ""))

        reply = self.client.execute_interactive(code, timeout=LONG, output_hook=hear)
        assert reply["content"]["status"] == "ok", reply
        return "".join(printed)

    @property
    def key(self) -> str:
        return json.loads(self.file.read_text())["key"]

    @property
    def lives(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """Its file stays, as always after a crash."""
        self.process.kill()
        self.process.wait(LONG)


@contextmanager
def foreign_kernel(home: Home, kernel_id: str) -> Iterator[ForeignKernel]:
    """Starts one, and ends it as its owner does."""
    kernel = ForeignKernel(home, kernel_id)
    try:
        kernel.connect()
        yield kernel
    finally:
        kernel.client.stop_channels()
        kernel.kill()
        kernel.file.unlink(missing_ok=True)
