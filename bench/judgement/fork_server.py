"""Kernels that start with the common libraries imported: most of a run would be spent on importing them.

A process imports them once and forks for each kernel. What Jupyter starts is `kernel.py`: it asks for a kernel, and lives as long as that.
"""

import importlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KERNEL = "forked"
ADDRESS = "BENCH_FORK_SERVER"
WAIT = 300.0
# Not `matplotlib.pyplot`, nor what imports it: it chooses the kernel's backend when it is imported.
MODULES = (
    "ipykernel.kernelapp ipykernel.ipkernel ipykernel.zmqshell IPython.core.completer comm debugpy numpy pandas scipy.stats scipy.optimize "
    "scipy.signal scipy.special matplotlib.figure matplotlib.axes matplotlib.backends.backend_agg matplotlib.image matplotlib.mlab "
    "sklearn.datasets sklearn.linear_model sklearn.model_selection sklearn.pipeline sklearn.preprocessing sklearn.ensemble sklearn.cluster "
    "sklearn.gaussian_process sklearn.svm sklearn.decomposition sklearn.neighbors sklearn.feature_selection statsmodels.api "
    "statsmodels.formula.api linearmodels"
).split()


@contextmanager
def fork_server(folder: Path) -> Iterator[None]:
    """Starts the process, and names it to all programs that this one starts."""
    install_kernelspec(folder)
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}
    environment = {**os.environ, **threads, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    # A module that is edited twice in a second, at the same length, would be loaded from its kept bytecode.
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ[ADDRESS] = str(folder / "fork_server.socket")
    environment[ADDRESS] = os.environ[ADDRESS]
    server = subprocess.Popen([sys.executable, __file__], env=environment, stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + WAIT
        while not Path(os.environ[ADDRESS]).exists():
            assert server.poll() is None and time.monotonic() < end, "the libraries cannot be imported"
            time.sleep(0.1)
        yield
    finally:
        server.kill()
        server.wait()


def install_kernelspec(folder: Path) -> None:
    argv = [sys.executable, "-I", "-S", str(Path(__file__).with_name("kernel.py")), "{connection_file}"]
    spec = {"argv": argv, "display_name": KERNEL, "language": "python", "interrupt_mode": "message"}
    (folder / "kernels" / KERNEL).mkdir(parents=True, exist_ok=True)
    (folder / "kernels" / KERNEL / "kernel.json").write_text(json.dumps(spec))
    os.environ["JUPYTER_PATH"] = str(folder)


def serve() -> None:
    for module in MODULES:
        importlib.import_module(module)
    assert "matplotlib.pyplot" not in sys.modules, "the kernel's backend is chosen already"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    address = Path(os.environ[ADDRESS])
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(address.with_suffix(".unfinished")))
    server.listen(16)
    address.with_suffix(".unfinished").rename(address)
    while True:
        connection, _ = server.accept()
        request = json.loads(connection.makefile().readline())
        if os.fork() == 0:
            server.close()
            become_kernel(connection, request)
        connection.close()


def become_kernel(connection: socket.socket, request: dict) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    for standard in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), standard)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    # The parent is this server and not the program that started `kernel.py`.
    os.environ.pop("JPY_PARENT_PID", None)
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    random.seed()
    numpy = sys.modules["numpy"]
    numpy.random.seed()
    sys.modules["matplotlib"].rcParams["backend"] = os.environ["MPLBACKEND"]
    threading.Thread(target=lambda: (connection.recv(1), os._exit(0)), daemon=True).start()
    sys.path.pop(0)
    sys.argv = ["ipykernel_launcher", "-f", request["file"]]
    sys.modules["ipykernel.kernelapp"].launch_new_instance(argv=sys.argv[1:])
    os._exit(0)


if __name__ == "__main__":
    serve()
