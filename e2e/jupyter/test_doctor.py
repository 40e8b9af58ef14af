"""`cellbridge doctor` at real Jupyter servers: it recognises the kind of collaboration by routes, and rights by what the
server says of a token. Both are the servers' own behaviour, which no stand-in can show."""

from pathlib import Path

import pytest

from e2e.support.doctor import doctor
from e2e.support.jupyter_server import FORMS, JUPYTER_CONFIG, JupyterServer, SharedServers, jupyter_server
from e2e.support.notebook_files import Json

COLLABORATION = {
    "plain": "no live notebooks",
    "rtc": "live notebooks by jupyter-collaboration;",
    "jsd": "live notebooks by jupyter-server-documents;",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_running_server_is_found_and_left_as_it_is(
    form: str, jupyter_servers: SharedServers, tmp_path: Path
) -> None:
    server = jupyter_servers[form]
    before = (server.sessions(), sorted(server.root.rglob("*")))
    found = doctor(tmp_path / "home", runtime=server.runtime)
    finding = found.about(server.url)
    assert finding["check"] == "servers" and finding["status"] == "ok", finding
    assert COLLABORATION[form] in finding["message"], finding
    assert finding["message"].endswith("the token may read, write, run code."), finding
    assert str(server.root) in finding["message"], finding
    assert (server.sessions(), sorted(server.root.rglob("*"))) == before


def test_the_rights_of_a_token_and_a_killed_server_are_reported(tmp_path: Path) -> None:
    config = JUPYTER_CONFIG / "users_config.py"
    with jupyter_server("plain", tmp_path / "server", f"--config={config}", token="worker-token") as server:

        def look(user: str) -> tuple[int, Json]:
            found = doctor(tmp_path / "home", "--jupyter-url", server.url, "--jupyter-token", f"{user}-token")
            return found.code, found.about(server.url)

        code, worker = look("worker")
        assert (code, worker["status"]) == (0, "ok") and "read, write, run code." in worker["message"], worker
        code, reader = look("reader")
        assert (code, reader["status"]) == (0, "warning"), reader
        assert reader["message"].endswith("the token may read, but not write, run code."), reader
        for unusable in ["nobody", "unknown"]:
            code, finding = look(unusable)
            assert (code, finding["status"]) == (1, "error"), finding
            assert "-token" not in str(finding), finding

        server.kill()
        code, stopped = look("worker")
        assert (code, stopped["status"]) == (1, "error") and str(server.port) in stopped["message"], stopped
        stale = doctor(tmp_path / "home", runtime=server.runtime).about("stale file")
        assert stale["status"] == "warning" and stale["fix"].startswith("rm "), stale
