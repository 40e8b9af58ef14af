"""What agents do at a Jupyter server's own endpoint appears among Jupyter's metrics."""

import re

from e2e.support.inside_server import InsideServer, ask, call
from e2e.support.jupyter_program import jupyter_notebook
from e2e.support.jupyter_server import JupyterServer
from e2e.support.notebook_client import gate
from e2e.support.notebook_files import Json
from e2e.support.waiting import until

FORM = "plain"
MODE = "inside"


def _numbers(jupyter: JupyterServer) -> dict[str, float]:
    """Our metrics, by name and labels; those never counted are absent."""
    shown = re.findall(r"^(cellbridge_\S+) (\S+)$", jupyter.ask("GET", "metrics").text, re.MULTILINE)
    return {name: float(value) for name, value in shown}


def _health(jupyter: JupyterServer) -> Json:
    return ask(jupyter, "GET", "mcp/healthz", jupyter.token).json()


def _calls(numbers: dict[str, float], tool: str, outcome: str) -> float:
    return numbers.get(f'cellbridge_tool_calls_total{{outcome="{outcome}",tool="{tool}"}}', 0)


async def test_the_metrics_show_active_sessions_and_runs(
    mcp_server: InsideServer, jupyter: JupyterServer, path: str
) -> None:
    assert call(jupyter, "list_files")[0]
    before, health = _numbers(jupyter), _health(jupyter)
    assert "http_request_duration_seconds" in jupyter.ask("GET", "metrics").text, "Jupyter's own"
    async with jupyter_notebook(mcp_server, path) as client:
        opened, wait = gate(client)
        run = await client.start(wait)
        during = _numbers(jupyter)
        assert during["cellbridge_sessions"] == before["cellbridge_sessions"] + 1
        assert during["cellbridge_runs"] == before["cellbridge_runs"] + 1
        assert during["cellbridge_users"] == 1
        message = _health(jupyter)
        assert (message["sessions"], message["runs"]) == (health["sessions"] + 1, health["runs"] + 1)
        opened.touch()
        await client.wait(run)
        assert _numbers(jupyter)["cellbridge_runs"] == before["cellbridge_runs"]
    await until(lambda: _numbers(jupyter)["cellbridge_sessions"] == before["cellbridge_sessions"], "no session is left")
    assert _health(jupyter)["sessions"] == health["sessions"]


async def test_calls_are_counted_by_tool_and_outcome(
    mcp_server: InsideServer, jupyter: JupyterServer, path: str
) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        before, calls = _numbers(jupyter), _health(jupyter)["tool_calls"]
        await client.insert("x = 1")
        await client.do("read_cell", cell_index=0)
        await client.fails("read_cell", cell_index=99)
        opened, wait = gate(client)
        await client.run(wait, timeout=0.3)
        opened.touch()
        after = _numbers(jupyter)
        for tool, outcome, count in [
            ("insert_cell", "success", 1),
            ("read_cell", "success", 1),
            ("read_cell", "error", 1),
            ("insert_execute_code_cell", "success", 1),
        ]:
            assert _calls(after, tool, outcome) - _calls(before, tool, outcome) == count, f"{tool}: {outcome}"
        assert _health(jupyter)["tool_calls"] == calls + 4
        seconds = 'cellbridge_tool_seconds_total{tool="insert_execute_code_cell"}'
        assert 0.3 <= after[seconds] - before.get(seconds, 0) < 30


def test_unknown_tool_names_are_not_recorded(jupyter: JupyterServer) -> None:
    assert not call(jupyter, "no_such_tool")[0]
    assert "no_such_tool" not in jupyter.ask("GET", "metrics").text


def test_the_metrics_need_the_token(jupyter: JupyterServer) -> None:
    for path in ["metrics", "mcp/healthz"]:
        answer = ask(jupyter, "GET", path)
        assert answer.status_code in {401, 403} and "cellbridge_" not in answer.text
