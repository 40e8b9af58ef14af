"""The official conformance suite, against the program alone, through it to a page, and inside a Jupyter server."""

import asyncio
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.support.agents.node_sdk import node, node_modules
from e2e.support.agents.python_sdk import python_agent
from e2e.support.conformance_tasks import PAGE_WAIT, RUN_WAIT, TASK_TOOLS, fixture_tools
from e2e.support.conformance_tools import FIXTURE_TOOLS
from e2e.support.home import Home
from e2e.support.inside_server import inside
from e2e.support.jupyter_server import JUPYTER_CONFIG, JupyterServer, jupyter_server
from e2e.support.notebook_server import notebook_server
from e2e.support.program import OPEN, serving_http
from e2e.support.tab_socket import tab_socket
from e2e.support.waiting import LONG

BASELINES = Path(__file__).parent / "conformance"
OPEN_CONFIG = JUPYTER_CONFIG / "open_config.py"
# The suite calls the first tool of the list, which waits for a browser.
OPTIONS = ("--no-token", "--no-browser", "--connect-timeout", "1")


# The suite waits half a second for the answer, which a busy machine can exceed.
HURRIED = "server-stateless:sep-2575-server-no-log-without-loglevel"


@dataclass
class Verdict:
    """What the suite found."""

    code: int
    passed: set[str]
    unexpected: list[str]
    output: str


async def suite(url: str, revision: str, baseline: str, results: Path) -> Verdict:
    """Runs the suite, up to three times if only its own hurry was in the way."""
    for _ in range(3):
        verdict = await _suite_once(url, revision, baseline, results)
        if verdict.unexpected != [HURRIED]:
            break
    return verdict


async def _suite_once(url: str, revision: str, baseline: str, results: Path) -> Verdict:
    script = node_modules() / "@modelcontextprotocol/conformance/dist/index.js"
    what = ["--url", url, "--requirements", revision]
    files = ["--expected-failures", str(BASELINES / baseline), "--output-dir", str(results)]
    process = await asyncio.create_subprocess_exec(
        *[node(), str(script), "server", *what, *files],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "NO_COLOR": "1"},
    )
    printed, _ = await process.communicate()
    output = re.sub(r"\x1b\[[\d;]*m", "", printed.decode())
    summary = output.partition("=== SUMMARY ===")[2].partition("Total:")[0]
    return Verdict(
        process.returncode or 0,
        set(re.findall(r"^✓ ([\w-]+):", summary, re.MULTILINE)),
        re.findall(r"✗ ([\w:-]+)$", output.partition("Unexpected failures (")[2], re.MULTILINE),
        output[-8000:],
    )


# The scenarios that need nothing from a page; an empty run, or one that ends early, lacks them.
ALONE = {
    "2025-11-25": {
        "server-initialize",
        "logging-set-level",
        "ping",
        "completion-complete",
        "tools-list",
        "server-sse-multiple-streams",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
        "server-session-lifecycle",
    },
    "2026-07-28": {
        "tools-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "input-required-result-unsupported-methods",
        "http-header-validation",
    },
}
# The scenarios that a page's tools can serve.
CALLS = {
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
}
THROUGH_THE_BRIDGE = {
    "2025-11-25": CALLS | {"json-schema-2020-12", "tools-call-with-logging"},
    "2026-07-28": CALLS | {"json-schema-2020-12", "http-custom-header-server-validation"},
}


@pytest.mark.parametrize("revision", ALONE)
async def test_without_a_page_only_the_baseline_fails(revision: str, tmp_path: Path) -> None:
    async with serving_http(*OPTIONS) as server:
        verdict = await suite(server.url, revision, f"baseline-{revision}.yml", tmp_path)
    assert verdict.code == 0, verdict.output
    assert ALONE[revision] <= verdict.passed, verdict.output


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """Some requests of the suite leave out what stands in the address, so that no token can."""
    with jupyter_server("plain", tmp_path_factory.mktemp("open"), f"--config={OPEN_CONFIG}") as server:
        yield server


@pytest.mark.parametrize("revision", ALONE)
async def test_inside_a_jupyter_server_only_the_baseline_fails(
    revision: str, open_server: JupyterServer, tmp_path: Path
) -> None:
    """The endpoint inside a server has a transport of its own; beside one it is that of the tests above."""
    url = inside(open_server).url.partition("?")[0]
    verdict = await suite(url, revision, f"notebooks-{revision}.yml", tmp_path / "found")
    assert verdict.code == 0, verdict.output
    assert ALONE[revision] | {"resources-list", "prompts-list"} <= verdict.passed, verdict.output


@pytest.mark.parametrize("revision", ALONE)
async def test_the_suite_passes_through_the_bridge_to_a_page(revision: str, tmp_path: Path) -> None:
    async with serving_http(*OPTIONS) as server, python_agent(server.url) as agent:
        async with tab_socket(await agent.tab_address(), FIXTURE_TOOLS) as page:
            assert (await agent.call(OPEN)).is_connected
            verdict = await suite(server.url, revision, f"through-bridge-{revision}.yml", tmp_path)
            calls = page.received.count("tools/call")
    assert verdict.code == 0, verdict.output
    assert ALONE[revision] | THROUGH_THE_BRIDGE[revision] <= verdict.passed, verdict.output
    assert calls >= len(CALLS), "the calls did not reach the page"


# No tool of ours needs a client with tasks, and no run asks two questions at a time.
TASKS = {
    "tasks-lifecycle": set(),
    "tasks-capability-negotiation": set(),
    "tasks-wire-fields": set(),
    "tasks-request-state-removal": set(),
    "tasks-mrtr-input": {"tasks-mrtr-partial-fulfillment"},
    "tasks-request-headers": set(),
    "tasks-dispatch-and-envelope": set(),
    "tasks-status-notifications": set(),
    "tasks-required-task-error": {"sep-2663-server-returns-missing-capability-when-required"},
    "tasks-mrtr-composition": set(),
}
# The kernel runs one piece of code at a time, and the last scenario leaves one that waits.
IN_A_KERNEL = ("tasks-mrtr-composition", "tasks-mrtr-input", "tasks-dispatch-and-envelope")
@pytest.mark.lasts(30)
async def test_only_what_no_run_can_do_is_missing_of_tasks(home: Home, tmp_path: Path) -> None:
    """Against the program with fixture tools, most on a page, those that ask the person in a real kernel."""
    found: dict[str, set[str]] = {}
    at_once = asyncio.Semaphore(4)

    async def run(*scenarios: str) -> None:
        for scenario in scenarios:
            async with at_once:
                found[scenario] = await failures(url, scenario, tmp_path)

    options = ("--task-after", str(RUN_WAIT))
    async with serving_http(*OPTIONS, "--task-after", str(PAGE_WAIT)) as bridge, python_agent(bridge.url) as agent:
        with notebook_server(tmp_path, home, *options) as notebooks:
            async with python_agent(notebooks.url) as first:
                await first.call("execute_code", {"code": "1", "timeout": LONG})
            async with (
                tab_socket(await agent.tab_address(), TASK_TOOLS),
                fixture_tools(bridge.url, notebooks.url) as url,
            ):
                assert (await agent.call(OPEN)).is_connected
                await asyncio.gather(run(*IN_A_KERNEL), *[run(each) for each in TASKS if each not in IN_A_KERNEL])
    assert found == TASKS


async def failures(url: str, scenario: str, results: Path) -> set[str]:
    """The checks of a scenario that fail."""
    script = node_modules() / "@modelcontextprotocol/conformance/dist/index.js"
    process = await asyncio.create_subprocess_exec(
        *[node(), str(script), "server", "--url", url, "--scenario", scenario, "--output-dir", str(results / scenario)],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    [checks] = (results / scenario).glob("*/checks.json")
    statuses = {check["id"]: check["status"] for check in json.loads(checks.read_text())}
    assert statuses, printed.decode()
    failed = {check for check, status in statuses.items() if status == "FAILURE"}
    print(scenario, printed.decode()[-4000:] if failed else "")
    return failed
