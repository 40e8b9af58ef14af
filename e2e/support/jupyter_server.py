"""A real Jupyter server on loopback, in one of three forms; it can be killed and started again on the same port."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from e2e.support import logs
from e2e.support.home import Home, new_mark
from e2e.support.http import request
from e2e.support.notebook_files import Json, read_whole
from e2e.support.processes import end_server, kernels, obey_permissions
from e2e.support.program import REPOSITORY
from e2e.support.waiting import LONG, wait_until

# Without anything for working together, with jupyter-collaboration, with jupyter-server-documents.
FORMS = ("plain", "rtc", "jsd")
LIVE_FORMS = ("rtc", "jsd")
JUPYTER_CONFIG = Path(__file__).parent / "jupyter_config"
# Gives the kernels of a server ports that no other test takes.
PORTS = {"JUPYTER_CONFIG_PATH": str(JUPYTER_CONFIG / "ports")}
TOKEN = "e2e-token-of-the-jupyter-server"

# JupyterLab, and what is of use only with it. Each start of a server that has them takes longer than all the rest, and starts Node.
_LAB = ("jupyter_lsp", "jupyterlab", "notebook", "notebook_shim")

# How long a server may take to end a kernel, in seconds.
END_OF_KERNEL = 60.0

# Each holds a port for this process, on the whole machine, until the process ends.
_claims: list[socket.socket] = []


def interpreter(form: str) -> Path:
    """The Python whose environment holds the server."""
    default = REPOSITORY / f"target/e2e/jupyter-{form}/bin/python"
    path = Path(os.environ.get(f"CELLBRIDGE_E2E_JUPYTER_{form.upper()}", default)).absolute()
    assert path.is_file(), f"{path} is missing: `cargo xtask e2e` provides it"
    return path


def free_port() -> int:
    """A port that no other process of these tests uses, below those that the system assigns."""
    while True:
        port = random.randrange(10_000, 32_000)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0cellbridge-e2e-port-{port}")
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return port


class JupyterServer:
    """A server with a root folder and a home of its own."""

    def __init__(
        self,
        form: str,
        folder: Path,
        *options: str,
        has_lab: bool = False,
        extension: str = "",
        token: str = TOKEN,
        base_url: str = "/",
        limits: Callable[[], None] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.form = form
        self.has_lab = has_lab
        self.extension = extension
        self.token = token
        self.base_url = base_url
        self.options = options
        self.limits = limits
        self.port = free_port()
        self.root = folder / "root"
        self.root.mkdir(parents=True)
        self.home = Home(folder / "home")
        self.home.folder.mkdir()
        # Its database of file ids is there, and without JupyterLab nobody else makes the folder.
        self.home.data.mkdir()
        self.mark = new_mark()
        self.log = folder / "server.log"
        logs.keep(f"the Jupyter server ({form})", lambda: self.log.read_text(errors="replace") if self.log.exists() else "")
        self._environment = environment or {}
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.base_url}"

    @property
    def runtime(self) -> Path:
        """Where the server says that it runs."""
        return self.home.folder / "jupyter-runtime"

    @property
    def kernels(self) -> list[int]:
        """The processes of its kernels."""
        return kernels(self.mark)

    def start(self) -> None:
        """Starts the server, and waits until it answers."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Starts the server, and waits for nothing."""
        assert self.process is None or self.process.poll() is not None, "the server runs"
        python = interpreter(self.form)
        settings = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": self.port,
            "ServerApp.port_retries": 0,
            "ServerApp.base_url": self.base_url,
            "ServerApp.open_browser": False,
            "ServerApp.root_dir": self.root,
            "IdentityProvider.token": self.token,
            # How long a kernel that is stopped is waited for, in seconds.
            "KernelManager.shutdown_wait_time": 2,
            **self._extensions(),
        }
        command = [str(python), "-m", "jupyterlab" if self.has_lab else "jupyter_server", "--allow-root"]
        command += [f"--{name}={value}" for name, value in settings.items()]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *self.options],
                cwd=self.root,
                env={**os.environ, **self.home.environment(self.mark), **_activated(python), **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=self._prepare,
            )

    def _extensions(self) -> dict[str, object]:
        chosen = {} if self.has_lab else dict.fromkeys(_LAB, False)
        if self.extension:
            chosen[self.extension] = True
        settings: dict[str, object] = {"ServerApp.jpserver_extensions": chosen}
        if self.has_lab:
            # Nothing is asked of a network, and a test can open notebooks in a page that is there.
            settings["LabApp.news_url"] = ""
            settings["LabApp.check_for_updates_class"] = "jupyterlab.NeverCheckForUpdate"
            settings["LabApp.expose_app_in_browser"] = True
        return settings

    def _prepare(self) -> None:
        obey_permissions()
        if self.limits:
            self.limits()

    def wait(self) -> None:
        """Waits until the server answers."""
        wait_until(self._answers, self.log.read_text)

    def _answers(self) -> bool:
        assert self.process is None or self.process.poll() is None, self.log.read_text()
        with suppress(httpx.TransportError):
            return self.ask("GET", "api/status").is_success
        return False

    def kill(self) -> None:
        """Ends the server as a power cut would."""
        assert self.process
        self.process.kill()
        self.process.wait(LONG)

    def restart(self, *options: str) -> None:
        """Starts a killed server again, on the same port and files."""
        self.options = (*self.options, *options)
        self.start()

    def end(self) -> None:
        """Ends the server as its owner does."""
        assert self.process
        self.process.terminate()
        self.process.wait(LONG)

    def stop(self) -> None:
        """Kills the server, and whatever it left."""
        end_server(self.process, self.mark)

    def ask(self, method: str, path: str, body: Any = None, **given: Any) -> httpx.Response:
        """A request as the person's own client makes it."""
        headers = {"Authorization": f"token {self.token}"}
        return request(method, self.url + path, headers=headers, json=body, **given)

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.is_success, answer.text
        return answer.json()

    def sessions(self) -> list[Json]:
        return self.get("api/sessions")

    def session_of(self, path: str) -> Json:
        """The one session of a notebook."""
        [found] = [each for each in self.sessions() if each["path"] == path]
        return found

    def start_session(self, path: str, kernel_name: str = "python3") -> Json:
        """Opens a notebook with a kernel as JupyterLab does."""
        body = {"path": path, "name": Path(path).name, "type": "notebook", "kernel": {"name": kernel_name}}
        answer = self.ask("POST", "api/sessions", body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def kernel_models(self) -> list[Json]:
        return self.get("api/kernels")

    def contents(self, path: str) -> Json:
        """A notebook as the contents API returns it. Not for a file that is being written: a server that finds it half
        written puts its own temporary copy in its place, and loses the file if that is gone by then."""
        answers: list[httpx.Response] = []

        def is_read() -> bool:
            answers.append(self.ask("GET", f"api/contents/{quote(path)}"))
            return answers[-1].is_success

        wait_until(is_read, lambda: answers[-1].text)
        return answers[-1].json()["content"]

    def saved(self, path: str) -> Json:
        """A notebook as it is on disk, also while it is being written."""
        return read_whole(self.root / path)

    def end_kernels(self) -> None:
        """Ends all sessions and kernels. A server that waits for a kernel which does not end can do so for ever; then the
        processes are killed."""
        try:
            for session in self.sessions():
                self.ask("DELETE", f"api/sessions/{session['id']}", timeout=END_OF_KERNEL)
            for kernel in self.kernel_models():
                self.ask("DELETE", f"api/kernels/{kernel['id']}", timeout=END_OF_KERNEL)
        except httpx.TimeoutException:
            for process in self.kernels:
                os.kill(process, signal.SIGKILL)


def _activated(python: Path) -> dict[str, str]:
    """What differs for a process of the server's environment; nothing of the tests' own settings."""
    programs = python.parent
    return {
        "PATH": f"{programs}{os.pathsep}{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "VIRTUAL_ENV": str(programs.parent),
        "JUPYTER_PREFER_ENV_PATH": "1",
        **PORTS,
    }


@contextmanager
def jupyter_server(form: str, folder: Path, *options: str, **given: Any) -> Iterator[JupyterServer]:
    """A server that answers."""
    server = JupyterServer(form, folder, *options, **given)
    try:
        server.start()
        yield server
    finally:
        server.stop()


class SharedServers:
    """One server of each form, and one more with JupyterLab, started when it is first asked for."""

    def __init__(self, make_folder: Callable[[str], Path]) -> None:
        self._make_folder = make_folder
        self._servers: dict[tuple[str, bool], JupyterServer] = {}

    def __getitem__(self, form: str) -> JupyterServer:
        return self.of(form)

    def of(self, form: str, *, has_lab: bool = False) -> JupyterServer:
        if (form, has_lab) not in self._servers:
            server = JupyterServer(form, self._make_folder(form), has_lab=has_lab)
            self._servers[form, has_lab] = server
            server.start()
        return self._servers[form, has_lab]

    def stop(self) -> None:
        for server in self._servers.values():
            server.stop()
