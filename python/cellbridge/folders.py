"""The folders of this user that the program writes to."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path


def history_folder(root: str) -> Path | None:
    """The folder in which changes of the notebooks below a server's root are recorded; None if this user has no folder."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    if sys.platform == "darwin":
        state = home / "Library/Application Support"
    else:
        state = given if given.is_absolute() else home / ".local/state"
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return state / "cellbridge/history" / f"jupyter-{digest}"
