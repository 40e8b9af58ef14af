"""The person's Drive as a folder of the machine."""

import os

from google.colab import _message


def mount(mountpoint: str, force_remount: bool = False, timeout_ms: int = 120_000, readonly: bool = False) -> None:
    """Asks the page for access to the person's Drive."""
    _message.ask("request_auth", {"authType": "dfs_ephemeral"}, timeout_ms / 1000)
    os.makedirs(mountpoint, exist_ok=True)
    print(f"Mounted at {mountpoint}")
