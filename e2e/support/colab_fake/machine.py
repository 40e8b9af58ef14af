"""One machine: a real Jupyter server that starts when it is first needed, behind a proxy as strict as Google's."""

import asyncio
import json
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from e2e.support.colab_fake.file_shim import file_shim
from e2e.support.colab_fake.proxy import MachineProxy
from e2e.support.colab_fake.server import serving
from e2e.support.jupyter_server import JupyterServer

_HERE = Path(__file__).parent
_TOKEN_LIFETIME = 3600.0


@dataclass(frozen=True)
class Spec:
    """A kind of machine, without the prefixes of the API's enumerations."""

    variant: str
    accelerator: str = "NONE"
    shape: str = "STANDARD"

    @classmethod
    def parse(cls, key: object) -> "Spec | None":
        """What the API's `RuntimeSpec.Key` names. All of its fields are required."""
        if not isinstance(key, dict) or key.keys() != {"variant", "accelerator", "shape"}:
            return None
        spec = cls(str(key["variant"])[len("VARIANT_") :], str(key["accelerator"]), str(key["shape"])[len("SHAPE_") :])
        return spec if spec.json() == key else None

    def json(self) -> dict[str, str]:
        return {
            "variant": f"VARIANT_{self.variant}",
            "accelerator": self.accelerator,
            "shape": f"SHAPE_{self.shape}",
        }


class ColabMachine:
    """A machine that runs from the beginning."""

    def __init__(self, name: str, spec: Spec, folder: Path, issued: set[str], violations: list[str]) -> None:
        self.name = name
        self.spec = spec
        # How long a token of the proxy is valid, in seconds. Tests shorten it.
        self.token_lifetime = _TOKEN_LIFETIME
        self.has_ended = False
        self._issued = issued
        # When each token ends, by the clock of this machine.
        self._tokens: dict[str, float] = {}
        self._folder = folder / name
        self._server: JupyterServer | None = None
        self._starting = asyncio.Lock()
        self.proxy = MachineProxy(self._accepts, self._port, violations)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.proxy.port}"

    @property
    def content(self) -> Path:
        """The folder in which its kernels work."""
        return self._folder / "root/content"

    @property
    def kernels(self) -> list[int]:
        return self._server.kernels if self._server else []

    @property
    def server(self) -> JupyterServer:
        """Its server, as a browser tab of the person reaches it."""
        assert self._server, "nothing has asked for the server"
        return self._server

    @contextmanager
    def file_shim(self) -> Iterator[None]:
        """Lets another program than Jupyter serve its files."""
        with serving(file_shim(self._folder / "root")) as address:
            self.proxy.port_of_files = int(address.rpartition(":")[2])
            yield
            self.proxy.port_of_files = None

    def json(self, has_connection: bool = True) -> dict[str, object]:
        """The API's `Runtime`, with a new token."""
        answer: dict[str, object] = {
            "name": f"runtimes/{self.name}",
            "runtimeSpec": self.spec.json(),
            "version": "2026.07",
        }
        if has_connection:
            answer["connectionInfo"] = self.connection()
        return answer

    def connection(self) -> dict[str, str]:
        """An address, a token of its own, and when that ends."""
        token = secrets.token_urlsafe(24)
        self._issued.add(token)
        self._tokens[token] = time.time() + self.token_lifetime
        ends = datetime.fromtimestamp(self._tokens[token], UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {"url": self.url, "token": token, "expireTime": ends}

    def expire_tokens(self) -> None:
        """Ends the tokens that were issued so far, whatever their holders were told. Open WebSockets stay."""
        self._tokens.clear()

    def end(self) -> None:
        """Everything on it is lost, and its address answers 404."""
        self.has_ended = True
        self.proxy.drop()
        if self._server:
            self._server.stop()

    def close(self) -> None:
        """Also its address is gone."""
        self.end()
        self.proxy.close()

    def _accepts(self, token: str | None) -> bool:
        return not self.has_ended and token is not None and time.time() < self._tokens.get(token, 0)

    async def _port(self) -> int:
        """The port of its server, which is started if it does not run."""
        async with self._starting:
            if self._server is None:
                self._server = server = _server(self._folder)
                await asyncio.to_thread(server.start)
            return self._server.port


def _server(folder: Path) -> JupyterServer:
    """A server whose root is the machine's, and whose kernels' messages have no signatures."""
    server = JupyterServer(
        "plain",
        folder,
        f"--config={_HERE / 'machine_config.py'}",
        environment={
            "PYTHONPATH": str(_HERE / "kernel_modules"),
            "JUPYTER_PATH": str(folder / "jupyter-path"),
        },
    )
    (server.root / "content").mkdir()
    for name, language, argv in [
        ("python3", "python", [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]),
        ("ir", "R", ["R", "--slave", "-e", "IRkernel::main()", "--args", "{connection_file}"]),
        ("julia", "julia", ["julia", "kernel.jl", "{connection_file}"]),
    ]:
        _install(folder / "jupyter-path/kernels" / name, language, argv)
    return server


def _install(folder: Path, language: str, argv: list[str]) -> None:
    folder.mkdir(parents=True)
    spec = {"argv": argv, "display_name": folder.name.title(), "language": language}
    (folder / "kernel.json").write_text(json.dumps(spec))
