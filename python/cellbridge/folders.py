"""The folders of this user that the program writes to."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path


def history_folder(root: str) -> Path | None:
    """The folder in which changes of the notebooks below a server's root are recorded; None if this user has no folder."""
    state = _state_folder()
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return state and state / "cellbridge/history" / f"jupyter-{digest}"


def _state_folder() -> Path | None:
    """The folder for what programs remember between two starts, as the binary chooses it."""
    given = Path(os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME", ""))
    if sys.platform == "win32":
        return given if given.is_absolute() else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library/Application Support"
    return given if given.is_absolute() else home / ".local/state"
