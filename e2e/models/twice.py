"""A client that is started twice in a row: the second model finds the variables and the runs that the first one left."""

import asyncio
import os
import subprocess
import tempfile
from pathlib import Path

from e2e.models import launch
from e2e.models.scenario import AFTER, BEFORE, GATE, Step
from e2e.models.service import ModelService
from e2e.support.home import Home
from e2e.support.notebook_files import cell, printed, read_whole
from e2e.support.waiting import until


def play_twice(name: str, binary: Path, program: str) -> list[str]:
    """Starts one client twice; the problems."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, home = Path(temporary) / "notebooks", Home(Path(temporary) / "home")
        folder.mkdir()
        home.folder.mkdir()
        person = {"PATH": os.environ["PATH"], "HOME": str(home.folder)}
        entry = launch.Entry([program, "--no-browser", "--root", str(folder)], home.environment("models"))

        def start(steps: list[Step]) -> list[str]:
            with ModelService(steps) as service:
                launch.LAUNCH[name](launch.Client(binary, service.url, folder, person), entry)
                return service.missing()

        try:
            missing = start(BEFORE)
            if not missing:
                (folder / GATE).touch()
                asyncio.run(until(lambda: "ended" in _printed(folder), "the cell has ended, and its output is stored"))
                missing = start(AFTER)
        except (launch.ClientFailed, AssertionError) as failed:
            missing = [str(failed)]
        finally:
            stop = [program, "kernels", "stop", "--all"]
            subprocess.run(stop, env=home.environment("models"), check=True, capture_output=True)
    found = "MISSING" if missing else "the model found the variable and the run of the first start"
    print(f"  {'started twice':<22}{found}", flush=True)
    return [f"{name}, started twice: {problem}" for problem in missing]


def _printed(folder: Path) -> str:
    return printed(cell(read_whole(folder / "kept.ipynb"), 0))
