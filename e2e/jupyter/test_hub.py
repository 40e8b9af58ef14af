"""JupyterHub: a token with few scopes is enough, for the program and for `/user/NAME/mcp`; a stopped server is started if the token
allows it; the page is for the user who logs in at the Hub. Only a real Hub checks scopes."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.async_api import Browser, Page, expect

from e2e.inside.test_access import ENDPOINTS, LIST
from e2e.support.agents.python_sdk import PythonAgent, python_agent
from e2e.support.doctor import doctor
from e2e.support.home import Home
from e2e.support.http import request
from e2e.support.jupyter_hub import JupyterHub, jupyter_hub
from e2e.support.jupyter_program import COMMAND, JupyterNotebookClient, is_on_disk
from e2e.support.lab_notebooks import write_notebook
from e2e.support.live_page import new_page
from e2e.support.notebook_client import id_in
from e2e.support.notebook_files import printed, sources
from e2e.support.notebook_server import NotebookServer, running
from e2e.support.waiting import LONG

_USERS = itertools.count(1)
# A Hub takes longer to start than a test.
pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterHub]:
    with jupyter_hub(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


@pytest.fixture
def user(hub: JupyterHub) -> str:
    """A user without a server."""
    return _user(hub)


@pytest.fixture(scope="module")
def served(hub: JupyterHub) -> str:
    """A user whose server runs, and stays as it is."""
    name = _user(hub)
    hub.start_server(name)
    return name


def _user(hub: JupyterHub) -> str:
    name = f"ada-{next(_USERS)}"
    hub.add_user(name)
    write_notebook(hub.root(name) / "x.ipynb", "here = 'it is'")
    return name


@contextmanager
def _program(hub: JupyterHub, home: Path, user: str, url: str, *scopes: str) -> Iterator[NotebookServer]:
    """The program with a token of these scopes and no others."""
    token = hub.token(user, *scopes)
    given = ("--jupyter-url", url, "--jupyter-token", token)
    with running(NotebookServer(hub.root(user), Home(home), *given, command=COMMAND)) as program:
        yield program


async def test_a_token_with_few_scopes_is_enough_for_all_tools(hub: JupyterHub, served: str, tmp_path: Path) -> None:
    user = served
    with _program(hub, tmp_path, user, f"{hub.url}user/{user}/", f"access:servers!user={user}") as program:
        async with python_agent(program.url) as agent:
            client = JupyterNotebookClient(agent, program.root, "x.ipynb")
            opened = await client.open()
            assert "here = 'it is'" in opened.text and "[NOTICE]" not in opened.text
            answer = await client.do("insert_cell", cell_index=-1, cell_type="code", cell_source="new = 1")
            assert is_on_disk(answer)
            ran = await client.run("print('in the hub', flush=True); 6 * 7")
            assert "42" in ran.text and is_on_disk(ran)
            assert printed(client.cell(id_in(ran))) == "in the hub\n"
            assert sources(client.notebook())[:2] == ["here = 'it is'", "new = 1"]
            _, run = await client.begin_at_gate()
            await client.do("interrupt_kernel", run_id=run)
            assert "x.ipynb" in (await client.do("list_files")).text
            assert "python3" in (await client.do("list_kernels")).text
            await client.do("unuse_notebook")


PASTED = ["user/{user}", "user/{user}/lab/tree/x.ipynb", "hub/user-redirect/lab", "hub/home"]


async def test_addresses_of_the_hub_work_or_the_error_names_the_right_one(
    hub: JupyterHub, served: str, tmp_path: Path
) -> None:
    user = served
    for number, pasted in enumerate(PASTED):
        url = hub.url + pasted.format(user=user)
        home = tmp_path / str(number)
        home.mkdir()
        with _program(hub, home, user, url, f"access:servers!user={user}", "read:users!user") as program:
            async with python_agent(program.url) as agent:
                answer = await agent.call("use_notebook", {"notebook_path": "x.ipynb"})
        if pasted.startswith("user/"):
            assert "here = 'it is'" in answer.text, f"{pasted}: {answer.text}"
        else:
            # The token alone may not name the server's owner.
            assert "here = 'it is'" in answer.text or "/user/" in answer.text, f"{pasted}: {answer.text}"


async def test_a_stopped_server_is_started_when_the_token_allows_it(
    hub: JupyterHub, user: str, tmp_path: Path
) -> None:
    """A server with a name; that of no name is started at the same place of the Hub's API, which `rest::hub` shows."""
    scopes, name = (f"access:servers!user={user}", f"servers!user={user}"), "second"
    with _program(hub, tmp_path, user, f"{hub.url}user/{user}/{name}/", *scopes) as program:
        assert not hub.is_running(user, name)
        async with python_agent(program.url) as agent:
            client = JupyterNotebookClient(agent, program.root, "x.ipynb")
            opened = await client.open()
            assert "here = 'it is'" in opened.text
            assert any(message for _, _, message in opened.progress), "the client gets progress"
            assert hub.is_running(user, name)
            assert "42" in (await client.do("execute_code", code="6 * 7")).text
            # Stopped by the person, or culled, while the agent works.
            hub.stop_server(user, name)
            given = {"cell_index": -1, "cell_type": "code", "cell_source": "new = 1"}
            again = await client.do("insert_cell", **given)
            assert is_on_disk(again)
            assert sources(client.notebook()) == ["here = 'it is'", "new = 1"]


async def test_the_error_for_a_stopped_server_names_the_missing_scope(
    hub: JupyterHub, user: str, tmp_path: Path
) -> None:
    with _program(hub, tmp_path, user, f"{hub.url}user/{user}/", f"access:servers!user={user}") as program:
        async with python_agent(program.url) as agent:
            client = JupyterNotebookClient(agent, program.root, "x.ipynb")
            message = await client.fails("use_notebook", notebook_path="x.ipynb")
            assert "servers" in message and user in message and hub.url in message, message
            assert not hub.is_running(user)
            # The person presses the button; nothing else is needed.
            hub.start_server(user)
            assert "here = 'it is'" in (await client.open()).text


async def test_the_error_for_a_token_without_access_names_the_scope(
    hub: JupyterHub, served: str, tmp_path: Path
) -> None:
    with _program(hub, tmp_path, served, f"{hub.url}user/{served}/", f"read:users!user={served}") as program:
        async with python_agent(program.url) as agent:
            answer = await agent.call("use_notebook", {"notebook_path": "x.ipynb"})
            assert answer.is_error and "access:servers" in answer.text, answer.text


def test_the_doctor_says_whether_a_token_starts_a_stopped_server(
    hub: JupyterHub, user: str, served: str, tmp_path: Path
) -> None:
    def look(owner: str, *further: str) -> tuple[str, str]:
        url, token = f"{hub.url}user/{owner}/", hub.token(owner, f"access:servers!user={owner}", *further)
        found = doctor(tmp_path / "home", "--jupyter-url", url, "--jupyter-token", token).about(url)
        return found["status"], found["message"]

    status, message = look(user, f"servers!user={user}")
    assert status == "ok" and "starts it" in message, message
    status, message = look(user)
    assert status == "error" and hub.url in message, message
    assert not hub.is_running(user), "looking starts nothing"
    status, message = look(served)
    assert status == "ok" and "jupyter-collaboration" in message, message


@asynccontextmanager
async def _agent_inside(hub: JupyterHub, user: str) -> AsyncIterator[PythonAgent]:
    """A client of the user's server, with the token in a header; the Hub accepts none in an address."""
    token = hub.token(user, f"access:servers!user={user}")
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"token {token}"}, timeout=LONG) as http,
        Client(streamable_http_client(f"{hub.url}user/{user}/mcp", http_client=http)) as client,
    ):
        yield PythonAgent(client)


async def test_a_token_with_few_scopes_works_inside_the_user_s_server(hub: JupyterHub, served: str) -> None:
    write_notebook(hub.root(served) / "inside.ipynb", "here = 'it is'")
    async with _agent_inside(hub, served) as agent:
        client = JupyterNotebookClient(agent, hub.root(served), "inside.ipynb")
        assert "here = 'it is'" in (await client.open()).text
        assert is_on_disk(await client.do("insert_cell", cell_index=-1, cell_type="code", cell_source="new = 1"))
        ran = await client.run("print('in the hub', flush=True); 6 * 7")
        assert "42" in ran.text and is_on_disk(ran)
        assert sources(client.notebook())[:2] == ["here = 'it is'", "new = 1"]
        await client.do("unuse_notebook")


def _ask_inside(hub: JupyterHub, user: str, token: str | None, method: str, path: str, body: object) -> httpx.Response:
    headers = {"Accept": "application/json, text/event-stream", **({"Authorization": f"Bearer {token}"} if token else {})}
    given = {"json": body} if body else {}
    return request(method, f"{hub.url}user/{user}/{path}", headers=headers, **given)


def test_who_has_no_access_is_refused_inside_the_user_s_server(hub: JupyterHub, served: str, user: str) -> None:
    def is_refused(answer: httpx.Response) -> bool:
        """Whether the Hub redirects to its login, or refuses."""
        if answer.status_code == 302:
            return "/hub/" in answer.headers["location"]
        return answer.status_code in {401, 403} and "result" not in answer.text

    tokens = {
        "nobody": None,
        "another user": hub.token(user, f"access:servers!user={user}"),
        "without access": hub.token(served, f"read:users!user={served}"),
        "unknown": "0" * 32,
    }
    for (method, path, body), (whose, token) in itertools.product(ENDPOINTS, tokens.items()):
        answer = _ask_inside(hub, served, token, method, path, body)
        assert is_refused(answer), f"{whose}, {method} {path}: {answer.status_code} {answer.text}"
    token = hub.token(served, f"access:servers!user={served}")
    assert _ask_inside(hub, served, token, "POST", "mcp/tools/call", LIST).json()["success"]
    in_address = _ask_inside(hub, served, None, "POST", f"mcp/tools/call?token={token}", LIST)
    assert is_refused(in_address), in_address.text


async def _log_in(page: Page, name: str) -> None:
    """Fills the Hub's form, which an address of a user's server leads to."""
    await page.locator("#username_input").fill(name)
    await page.locator("#password_input").fill("any")
    await page.locator("#login_submit").click()


@pytest.mark.asyncio(loop_scope="session")
async def test_only_the_user_of_a_server_sees_its_page_and_interrupts_there(
    hub: JupyterHub, served: str, user: str, browser: Browser, tmp_path: Path
) -> None:
    write_notebook(hub.root(served) / "seen.ipynb", "here = 'it is'")
    view = f"{hub.url}user/{served}/cellbridge/view"
    waits = f"import pathlib, time\nprint('begun')\nwhile not pathlib.Path({str(tmp_path / 'gate')!r}).exists(): time.sleep(0.01)"
    async with _agent_inside(hub, served) as agent:
        client = JupyterNotebookClient(agent, hub.root(served), "seen.ipynb")
        await client.open()

        page, seen = await new_page(browser)
        await page.goto(f"{view}?notebook=seen.ipynb")
        await _log_in(page, served)
        await expect(page.locator("#connection")).to_have_text("Connected")
        assert page.url == f"{view}#notebook=seen.ipynb"
        await expect(page.locator(".v-cell")).to_contain_text("here = 'it is'")
        running = asyncio.create_task(client.call("insert_execute_code_cell", cell_index=1, cell_source=waits))
        cell = page.locator(".v-cell").nth(1)
        await expect(cell.locator(".cb-output")).to_contain_text("begun")
        assert not running.done()
        await page.locator("#runs").get_by_role("button", name="Interrupt").click()
        await expect(cell.locator(".cb-error")).to_contain_text("KeyboardInterrupt")
        assert "KeyboardInterrupt" in (await running).text
        # The run can end before or after the interruption is recorded.
        await expect(page.locator("#history")).to_contain_text("interrupted run")
        assert "person" in (await client.do("history")).text
        assert seen.bad == []
        await client.do("unuse_notebook")

    stranger, _ = await new_page(browser)
    await stranger.goto(f"{view}?notebook=seen.ipynb")
    async with stranger.expect_response(lambda answer: answer.status == 403):
        await _log_in(stranger, user)
    await expect(stranger.locator("body")).not_to_contain_text("here = 'it is'")
    # With all cookies that the Hub and the server have set, and with a token.
    form = {"do": "look", "page": 1, "near": []}
    assert (await stranger.request.post(f"{view}/act", data=form, max_redirects=0)).status == 403
    for whose, status in [(served, 200), (user, 403)]:
        token = hub.token(whose, f"access:servers!user={whose}")
        assert _ask_inside(hub, served, token, "POST", "cellbridge/view/act", form).status_code == status, whose
