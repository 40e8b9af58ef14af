"""Who may use a Jupyter server's own endpoint, and for what: Jupyter decides both."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from e2e.support.http import request
from e2e.support.inside_server import ask, call
from e2e.support.jupyter_server import JUPYTER_CONFIG, JupyterServer, jupyter_server
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_files import read_valid, sources
from e2e.support.waiting import LONG

FORM = "plain"

ENDPOINTS = [
    ("GET", "mcp", None),
    ("POST", "mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    ("DELETE", "mcp", None),
    ("GET", "mcp/healthz", None),
    ("GET", "mcp/tools/list", None),
    ("POST", "mcp/tools/call", {"tool_name": "list_files", "arguments": {}}),
]
LIST = {"tool_name": "list_files", "arguments": {}}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
TOOLS = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """A server of several users, below a path, as a Hub has them."""
    config = JUPYTER_CONFIG / "users_config.py"
    folder = tmp_path_factory.mktemp("users")
    with jupyter_server("plain", folder, f"--config={config}", token="worker-token", base_url="/user/x/") as server:
        yield server


def _session(server: JupyterServer, token: str) -> str:
    answer = ask(server, "POST", token=token, json=INITIALIZE)
    assert answer.status_code == 200, answer.text
    return answer.headers["mcp-session-id"]


@pytest.mark.parametrize(("method", "path", "body"), ENDPOINTS)
def test_requests_without_the_token_are_refused(method: str, path: str, body: object, jupyter: JupyterServer) -> None:
    given = {"json": body} if body else {}
    for token in [None, "wrong"]:
        assert ask(jupyter, method, path, token, **given).status_code in {401, 403}
    assert ask(jupyter, method, f"{path}?token=wrong", **given).status_code in {401, 403}


@pytest.mark.parametrize(("method", "path", "body"), [each for each in ENDPOINTS if each[1] != "mcp"])
def test_requests_with_the_token_are_accepted(method: str, path: str, body: object, jupyter: JupyterServer) -> None:
    given = {"json": body} if body else {}
    for scheme in ["token", "Bearer", "bearer"]:
        answer = ask(jupyter, method, path, headers={"Authorization": f"{scheme} {jupyter.token}"}, **given)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith("application/json")
    answer = ask(jupyter, method, f"{path}?token={jupyter.token}", **given)
    assert answer.status_code == 200 and answer.json().get("success", True), answer.text


def test_a_session_needs_the_token_in_each_request(jupyter: JupyterServer) -> None:
    session = {"Mcp-Session-Id": _session(jupyter, jupyter.token)}
    assert ask(jupyter, "POST", json=TOOLS, headers=session).status_code in {401, 403}
    assert "read_cell" in ask(jupyter, "POST", token=jupyter.token, json=TOOLS, headers=session).text
    assert ask(jupyter, "DELETE", headers=session).status_code in {401, 403}
    assert ask(jupyter, "DELETE", token=jupyter.token, headers=session).is_success
    assert ask(jupyter, "POST", token=jupyter.token, json=TOOLS, headers=session).status_code == 404


def test_a_login_cookie_needs_the_xsrf_token(jupyter: JupyterServer) -> None:
    with httpx.Client(base_url=jupyter.url, timeout=LONG) as browser:
        assert browser.get(f"login?token={jupyter.token}", follow_redirects=True).is_success
        known = {"X-XSRFToken": browser.cookies["_xsrf"]}
        listed = browser.post("mcp/tools/call", json=LIST, headers=known)
        # Jupyter itself is asked in the name of the page, too.
        assert listed.status_code == 200 and listed.json()["success"], listed.text
        assert browser.post("mcp/tools/call", json=LIST).status_code == 403
        assert browser.post("mcp/tools/call", json=LIST, headers={"X-XSRFToken": "wrong"}).status_code == 403
        assert browser.post("mcp", json=INITIALIZE).status_code == 403
        elsewhere = {"Origin": "http://attacker.example", **known}
        assert browser.post("mcp/tools/call", json=LIST, headers=elsewhere).status_code in {403, 404}


def test_an_unknown_host_name_is_refused(jupyter: JupyterServer) -> None:
    """So that no page can have its own name point here."""
    there = {"Host": "attacker.example"}
    assert ask(jupyter, "POST", "mcp/tools/call", jupyter.token, json=LIST, headers=there).status_code == 403


def test_each_user_may_do_what_the_authorizer_says(users: JupyterServer) -> None:
    write_notebook(users.root / "shared.ipynb", "print(6 * 7)")
    insert = {"cell_index": 0, "cell_type": "code", "cell_source": "new = 1"}
    may = {"reader": [True, False, False], "writer": [True, True, False], "worker": [True, True, True]}
    for number, (user, expected) in enumerate(may.items()):
        token = f"{user}-token"
        opened, message = call(users, "use_notebook", token, notebook_path="shared.ipynb")
        assert opened, message
        calls = {
            "read": ("read_cell", {"cell_index": 0}),
            "write": ("insert_cell", insert),
            "execute": ("execute_code", {"code": "print(6 * 7)"}),
        }
        for (action, (tool, given)), allowed in zip(calls.items(), expected, strict=True):
            done, message = call(users, tool, token, **given)
            assert done == allowed, f"{user}: {tool}: {message}"
            assert allowed or ("may not" in message and action in message), message
        written = sources(read_valid(users.root / "shared.ipynb"))
        assert written == ["new = 1"] * number + ["print(6 * 7)"]
    assert len(users.kernel_models()) == 1
    assert ask(users, "GET", "mcp/tools/list", "nobody-token").status_code == 403
    created, message = call(users, "use_notebook", "reader-token", notebook_path="made.ipynb", mode="create")
    assert not created and not (users.root / "made.ipynb").exists(), message


def test_a_token_does_not_act_with_the_rights_of_another_of_the_same_user(users: JupyterServer) -> None:
    """Only here the headers of a request reach the server again. Both tokens are the worker's; one is refused all contents."""
    write_notebook(users.root / "wide.ipynb", "print(6 * 7)")
    assert call(users, "use_notebook", "worker-token", notebook_path="wide.ipynb", notebook_name="wide")[0]
    opened, message = call(users, "use_notebook", "narrow-token", notebook_path="wide.ipynb")
    assert not opened, message
    # Nor through what the other has opened.
    read, message = call(users, "read_cell", "narrow-token", notebook_name="wide", cell_index=0)
    assert not read, message
    # While a call of the narrow one waits, one of the wide one comes, and the other way round.
    for first, second in [("narrow-token", "worker-token"), ("worker-token", "narrow-token")]:
        with ThreadPoolExecutor() as pool:
            given = {"notebook_path": "wide.ipynb"}
            calls = [
                pool.submit(call, users, "use_notebook", token, **given) for _ in range(10) for token in (first, second)
            ]
            done = [each.result()[0] for each in calls]
        assert done == [first == "worker-token", second == "worker-token"] * 10


def test_resources_need_the_right_to_read(users: JupyterServer) -> None:
    write_notebook(users.root / "read.ipynb", "unread = 1")
    read = {"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": "notebook://read.ipynb"}}
    for user, may_read in [("scribe", False), ("reader", True)]:
        session = {"Mcp-Session-Id": _session(users, f"{user}-token")}
        answer = ask(users, "POST", token=f"{user}-token", headers=session, json=read).text
        assert ("unread = 1" in answer) == may_read, answer
        assert may_read or 'does not allow the action \\"read\\"' in answer, answer


def test_the_person_is_asked_if_configured(users: JupyterServer) -> None:
    write_notebook(users.root / "kept.ipynb", "kept = 1")
    assert call(users, "use_notebook", "worker-token", notebook_path="kept.ipynb")[0]
    done, message = call(users, "delete_cell", "worker-token", notebook_name="kept.ipynb", cell_indices=[0])
    assert not done and "this client cannot ask" in message, message
    assert sources(read_valid(users.root / "kept.ipynb")) == ["kept = 1"]


def test_a_session_is_unknown_to_other_users(users: JupyterServer) -> None:
    session = {"Mcp-Session-Id": _session(users, "worker-token")}
    for method, given in [("POST", {"json": TOOLS}), ("GET", {})]:
        assert ask(users, method, token="colleague-token", headers=session, **given).status_code == 404
    # The reply does not reveal whether the session existed.
    ask(users, "DELETE", token="colleague-token", headers=session)
    assert "read_cell" in ask(users, "POST", token="worker-token", headers=session, json=TOOLS).text


def test_users_do_not_see_each_others_notebooks(users: JupyterServer) -> None:
    write_notebook(users.root / "own.ipynb", "secret = 1")
    opened, message = call(users, "use_notebook", "worker-token", notebook_path="own.ipynb", notebook_name="mine")
    assert opened, message
    assert "mine" in call(users, "list_notebooks", "worker-token")[1]
    assert "mine" not in call(users, "list_notebooks", "colleague-token")[1]


def test_the_endpoints_are_below_the_servers_path(users: JupyterServer) -> None:
    assert ask(users, "GET", "mcp/healthz", users.token).json()["status"] == "healthy"
    host = users.url.removesuffix(users.base_url)
    assert request("GET", f"{host}/mcp/healthz?token={users.token}").status_code == 404
