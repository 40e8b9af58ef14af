"""A real JupyterHub on loopback, with its own proxy; every user's server is a process with jupyter-collaboration."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from e2e.support.agents.node_sdk import node, node_modules
from e2e.support.home import MARK, Home, new_mark
from e2e.support.http import request
from e2e.support.jupyter_server import JUPYTER_CONFIG, PORTS, free_port, interpreter
from e2e.support.notebook_files import Json
from e2e.support.processes import end_server
from e2e.support.waiting import wait_until

_CONFIG = JUPYTER_CONFIG / "jupyterhub_config.py"
_TOKEN = "e2e-token-of-the-hub's-own-service"


class JupyterHub:
    """The Hub, asked with the rights of an administrator."""

    def __init__(self, folder: Path) -> None:
        self.mark = new_mark()
        self.homes = folder / "homes"
        self.homes.mkdir()
        self.log = folder / "hub.log"
        home = Home(folder / "home")
        home.folder.mkdir()
        python = interpreter("rtc")
        proxy = node_modules() / "configurable-http-proxy/bin/configurable-http-proxy"
        port, hub_port, proxy_port = free_port(), free_port(), free_port()
        self.url = f"http://127.0.0.1:{port}/"
        environment = home.environment(self.mark)
        # The users' servers have homes of their own.
        kept = [MARK, "JUPYTER_PATH", "JUPYTER_PREFER_ENV_PATH", *PORTS]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(python), "-m", "jupyterhub", "--config", str(_CONFIG)],
                cwd=folder,
                env={
                    **os.environ,
                    **environment,
                    **PORTS,
                    "PATH": f"{python.parent}{os.pathsep}{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}",
                    "VIRTUAL_ENV": str(python.parent.parent),
                    "JUPYTER_PREFER_ENV_PATH": "1",
                    # Alembic, which the Hub uses, cannot read paths that the locale has no letters for.
                    "LC_ALL": "C.UTF-8",
                    "E2E_HUB_URL": self.url,
                    "E2E_HUB_PORT": str(hub_port),
                    "E2E_HUB_PROXY_API": f"http://127.0.0.1:{proxy_port}",
                    "E2E_HUB_PROXY": json.dumps([str(node()), str(proxy)]),
                    "E2E_HUB_HOMES": str(self.homes),
                    "E2E_HUB_KEPT": " ".join(kept),
                    "E2E_HUB_TOKEN": _TOKEN,
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait(self) -> None:
        """Waits until the Hub answers through its proxy."""

        def answers() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            with suppress(httpx.TransportError):
                return self.ask("GET", "").is_success
            return False

        wait_until(answers, self.log.read_text)

    def stop(self) -> None:
        end_server(self.process, self.mark)
        shutil.rmtree(self.homes, ignore_errors=True)

    def ask(self, method: str, path: str, body: Any = None, token: str = _TOKEN) -> httpx.Response:
        """A request to the Hub's own API."""
        headers = {"Authorization": f"token {token}"}
        return request(method, f"{self.url}hub/api/{path}", headers=headers, json=body)

    def add_user(self, name: str) -> None:
        answer = self.ask("POST", f"users/{name}")
        assert answer.status_code == 201, answer.text
        (self.homes / name).mkdir()

    def root(self, name: str) -> Path:
        """The folder that a user's server serves."""
        return self.homes / name

    def token(self, user: str, *scopes: str) -> str:
        """A token of a user's, with exactly these scopes."""
        answer = self.ask("POST", f"users/{user}/tokens", {"scopes": list(scopes), "expires_in": 3600})
        assert answer.status_code == 201, answer.text
        return answer.json()["token"]

    def start_server(self, user: str, name: str = "") -> None:
        answer = self.ask("POST", f"users/{user}/servers/{name}" if name else f"users/{user}/server")
        assert answer.status_code in {201, 202}, answer.text
        wait_until(lambda: self.is_running(user, name), self.log.read_text)

    def stop_server(self, user: str, name: str = "") -> None:
        answer = self.ask("DELETE", f"users/{user}/servers/{name}" if name else f"users/{user}/server")
        assert answer.status_code in {202, 204}, answer.text
        wait_until(lambda: name not in self._servers(user), self.log.read_text)

    def is_running(self, user: str, name: str = "") -> bool:
        return self._servers(user).get(name, {}).get("ready", False)

    def _servers(self, user: str) -> Json:
        return self.ask("GET", f"users/{user}").json()["servers"]


@contextmanager
def jupyter_hub(folder: Path) -> Iterator[JupyterHub]:
    """A Hub that answers."""
    hub = JupyterHub(folder)
    try:
        hub.wait()
        yield hub
    finally:
        hub.stop()
