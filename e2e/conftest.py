"""What several test files share."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser
from xdist.remote import Producer
from xdist.workermanage import WorkerController

from e2e.support import logs, wine
from e2e.support.browser import Browsers
from e2e.support.home import Home
from e2e.support.inside_server import InsideServer, program_at
from e2e.support.jupyter_server import JupyterServer, SharedServers
from e2e.support.jupyterlab import Person, lab
from e2e.support.notebook_server import NotebookServer, launched, nothing_is_left, notebook_server
from e2e.support.page_server import page_server
from e2e.support.scheduling import GroupScheduling, duration_of, group_of
from e2e.windows.left_out import why_left_out

DURATIONS = "e2e/durations"


@pytest.fixture(scope="session")
def page_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of the https server that has the stand-in page."""
    with page_server(tmp_path_factory.mktemp("page")) as port:
        yield port


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browsers(page_port: int) -> AsyncIterator[Browsers]:
    """For tests in the session's loop."""
    browsers = Browsers(page_port)
    yield browsers
    await browsers.close()


@pytest_asyncio.fixture(loop_scope="session")
async def browser(browsers: Browsers) -> AsyncIterator[Browser]:
    """A browser in which nothing stays open after the test."""
    browser = (await browsers.chromium()).browser
    before = set(browser.contexts)
    yield browser
    for context in set(browser.contexts) - before:
        await context.close()


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A person's home with kernels besides the environment's own: Bash, and one that does not start."""
    home = Home(tmp_path_factory.mktemp("home"))
    prefix = home.folder / "jupyter-prefix"
    subprocess.run([sys.executable, "-m", "bash_kernel.install", "--prefix", prefix], check=True, capture_output=True)
    home.data.mkdir()
    (prefix / "share/jupyter/kernels").rename(home.data / "kernels")
    bash = home.data / "kernels/bash/kernel.json"
    spec = json.loads(bash.read_text())
    bash.write_text(json.dumps(spec | {"argv": wine.command(spec["argv"])}))
    home.install("failing", [sys.executable, "-c", "import sys; sys.exit(3)", "{connection_file}"])
    return home


@pytest.fixture(scope="module")
def server(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookServer]:
    """A notebook server that the tests of one file share."""
    with notebook_server(tmp_path_factory.mktemp("root"), home) as server:
        yield server


@pytest.fixture(autouse=True)
def nothing_launched_is_left() -> Iterator[None]:
    """Ends the kernels that outlive the programs which a test starts as a client does."""
    launched.clear()
    yield
    for mark, home in launched:
        nothing_is_left(mark, home)


@pytest.fixture(scope="session")
def jupyter_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServers]:
    """Jupyter servers that many tests share; each starts when it is asked for."""
    servers = SharedServers(tmp_path_factory.mktemp)
    yield servers
    servers.stop()


@pytest.fixture(scope="module")
def form(request: pytest.FixtureRequest) -> str:
    """The kind of server that the tests of one file are about, if they are about one."""
    return getattr(request.module, "FORM", "rtc")


@pytest.fixture(scope="module")
def jupyter(
    form: str, request: pytest.FixtureRequest, jupyter_servers: SharedServers
) -> Iterator[JupyterServer]:
    """The shared server of that kind, which has JupyterLab if the file has a person at a browser."""
    server = jupyter_servers.of(form, has_lab=getattr(request.module, "HAS_LAB", False))
    yield server
    server.end_kernels()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def at_lab(jupyter: JupyterServer) -> AsyncIterator[Person]:
    """A person whose JupyterLab the tests of a server share."""
    async with lab(jupyter) as person:
        yield person


@pytest.fixture(scope="module")
def mode(request: pytest.FixtureRequest) -> str:
    """Whether the program is beside a server or inside."""
    return getattr(request.module, "MODE", "beside")


@pytest.fixture(scope="module")
def mcp_server(
    jupyter: JupyterServer, mode: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NotebookServer | InsideServer]:
    """The program at that server, or in it, shared by the tests of one file."""
    with program_at(jupyter, mode, tmp_path_factory.mktemp("home")) as program:
        yield program


@pytest.fixture
def path(request: pytest.FixtureRequest) -> str:
    """A notebook's path of this test's own."""
    return re.sub(r"\W+", "-", request.node.name).strip("-") + ".ipynb"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what has no meaning at a test's place, and skips what cannot run under wine."""
    if wine.IS_USED:
        for item in items:
            if why := why_left_out(item.nodeid):
                item.add_marker(pytest.mark.skip(reason=why))
    left_out = [item for item in items if _has_no_meaning(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    if groups := getattr(config, "workerinput", {}).get("groups"):
        # The process that distributes the tests knows only their names.
        content = json.dumps({item.nodeid: (group_of(item), duration_of(item)) for item in items})
        own = Path(f"{groups}.{os.getpid()}")
        own.write_text(content)
        own.replace(groups)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Removes what the tests of a worker have written while other workers go on; the process that distributes the tests would only
    start when all have ended."""
    if hasattr(session.config, "workerinput") and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(session.config._tmp_path_factory.getbasetemp(), ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows what servers have logged if a test fails."""
    report = yield
    if report.failed:
        report.sections += logs.sections()
    return report


def _has_no_meaning(item: pytest.Item) -> bool:
    """Whether `at` or `needs` leaves out this test of a place."""
    place = getattr(item, "callspec", None) and getattr(item, "callspec").params.get("place")
    if place is None:
        return False
    is_elsewhere = any(place not in mark.args for mark in item.iter_markers("at"))
    return is_elsewhere or any(mark.args[0] in place.lacks for mark in item.iter_markers("needs"))


class Distribution:
    """Spreads the tests over the processes of pytest-xdist, and keeps how long each took for the next run."""

    def __init__(self, config: pytest.Config) -> None:
        self._cache = config.cache
        self._folder = tempfile.TemporaryDirectory(prefix="cellbridge-e2e-")
        self._groups = Path(self._folder.name) / "groups.json"
        self._durations: dict[str, float] = self._cache.get(DURATIONS, {}) if self._cache else {}

    def pytest_configure_node(self, node: WorkerController) -> None:
        node.workerinput["groups"] = str(self._groups)

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> GroupScheduling | None:
        if config.getvalue("dist") != "loadgroup":
            return None
        return GroupScheduling(config, log, self._groups, self._durations)

    def pytest_sessionfinish(self) -> None:
        if self._cache:
            self._cache.set(DURATIONS, self._durations)
        self._folder.cleanup()


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Distribution(config))
