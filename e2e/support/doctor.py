"""`cellbridge doctor` on a home of its own."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from e2e.support.home import Home, new_mark
from e2e.support.notebook_files import Json
from e2e.support.program import program
from e2e.support.waiting import LONG


@dataclass
class Diagnosis:
    """What it found."""

    code: int
    findings: list[Json]

    def about(self, subject: str) -> Json:
        """The one finding about this subject."""
        [found] = [each for each in self.findings if each["subject"] == subject]
        return found


def doctor(home: Path, *options: str, runtime: Path | None = None) -> Diagnosis:
    """Looks at a machine whose Jupyter servers say in `runtime` that they run."""
    home.mkdir(exist_ok=True)
    environment = {**os.environ, **Home(home).environment(new_mark())}
    environment.pop("JUPYTER_URL", None)
    if runtime:
        environment["JUPYTER_RUNTIME_DIR"] = str(runtime)
    ended = subprocess.run(
        [program(), "doctor", "--json", "--root", str(home), *options],
        env=environment,
        capture_output=True,
        timeout=LONG,
        check=False,
    )
    assert ended.returncode in {0, 1} and not ended.stderr, ended
    return Diagnosis(ended.returncode, json.loads(ended.stdout))
