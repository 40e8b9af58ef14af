"""The page of `cellbridge view` inside a Jupyter server, behind that server's own login. What the page shows of any place is tested in
`local/test_view.py`."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from e2e.support.inside_server import ask, inside, own_lines
from e2e.support.jupyter_program import jupyter_notebook
from e2e.support.jupyter_server import JUPYTER_CONFIG, JupyterServer, jupyter_server
from e2e.support.lab_notebooks import write_notebook
from e2e.support.live_page import Seen, answer_input, new_page, take_back
from e2e.support.waiting import LONG

pytestmark = pytest.mark.asyncio(loop_scope="session")

VIEW = "cellbridge/view"
DATA = {"do": "look", "page": 1, "near": []}
DRAWN = "from IPython.display import SVG\nSVG('<svg width=\"40\" height=\"40\"><rect width=\"40\" height=\"40\"/></svg>')"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """A server below a path, as a Hub has them. It keeps notebooks in files: in rooms, the page is tested beside a server."""
    with jupyter_server("plain", tmp_path_factory.mktemp("server"), base_url="/user/x/") as server:
        yield server
        assert own_lines(server.log.read_text()) == []


@asynccontextmanager
async def logged_in(browser: Browser, server: JupyterServer, path: str) -> AsyncIterator[tuple[Page, Seen]]:
    """The page as a person reaches it who has not logged in yet."""
    page, seen = await new_page(browser)
    await page.goto(f"{server.url}{VIEW}?notebook={path}")
    await expect(page).to_have_url(f"{server.url}login?next=%2Fuser%2Fx%2Fcellbridge%2Fview%3Fnotebook%3D{path}")
    await page.locator("#password_input").fill(server.token)
    await page.locator("#login_submit").click()
    await expect(page.locator("#connection")).to_have_text("Connected")
    assert page.url == f"{server.url}{VIEW}#notebook={path}"
    yield page, seen
    await page.close()


async def test_what_an_agent_does_is_seen_interrupted_and_taken_back(
    browser: Browser, server: JupyterServer, path: str, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    waits = f"import pathlib, time\nwhile not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.01)"
    write_notebook(server.root / path, "print('before')")
    async with (
        jupyter_notebook(inside(server), path, create=False) as agent,
        logged_in(browser, server, path) as (page, seen),
    ):
        await agent.do("insert_execute_code_cell", cell_index=0, cell_source=DRAWN)
        cell = page.locator(".v-cell").nth(0)
        await expect(cell.locator("img")).to_be_visible()
        await expect(page.locator("#agents")).to_contain_text(path)

        source = f"for i in range(3): print(f'\\r{{i}}/3', end='')\n{waits}"
        running = asyncio.create_task(agent.call("insert_execute_code_cell", cell_index=1, cell_source=source))
        await expect(page.locator(".v-cell").nth(1).locator(".cb-output")).to_contain_text("2/3")
        await page.locator("#runs").get_by_role("button", name="Interrupt").click()
        await expect(page.locator(".v-cell").nth(1).locator(".cb-error")).to_contain_text("KeyboardInterrupt")
        await expect(page.locator("#runs")).to_contain_text("Nothing is running")
        # The server may subscribe to a new kernel's states after its first run.
        await expect(page.locator("#kernels li")).to_contain_text("idle")
        ended = (await running).text

        asking = asyncio.create_task(agent.call("insert_execute_code_cell", cell_index=2, cell_source="input('name? ')"))
        await answer_input(page, "name?", "Ada")
        await expect(page.locator(".v-cell").nth(2).locator(".cb-output")).to_contain_text("'Ada'")
        answered = (await asking).text

        changed = (await take_back(page, cell, agent.do)).text
        said = ended + answered + changed
        assert "The person interrupted run" in said and "The person answered the input() of run" in said, said
        await expect(cell.locator(".cb-source")).to_contain_text("IPython.display")
        read = (await agent.do("read_cell", cell_index=0)).text
        assert "The person undid o" in read and "IPython.display" in read, read
        assert seen.bad == []


async def test_nobody_without_the_login_gets_anything(browser: Browser, server: JupyterServer, path: str) -> None:
    for part in ["", "/page.js", "/page.css", "/frame"]:
        answer = ask(server, "GET", f"{VIEW}{part}")
        assert answer.status_code == (403 if part else 302) and "Cellbridge" not in answer.text, part
    # Anybody can make up an XSRF token that fits a cookie.
    made_up = {"Cookie": "_xsrf=00ff", "X-XSRFToken": "00ff"}
    for part, token in [("/act", None), ("/act", "wrong"), ("/events", None)]:
        for headers in ({}, made_up):
            assert ask(server, "POST", f"{VIEW}{part}", token, json=DATA, headers=headers).status_code == 403
    assert ask(server, "POST", f"{VIEW}/places", server.token, json={}).status_code == 404
    assert ask(server, "GET", f"{VIEW}/events", server.token).status_code == 405
    stranger = {"Host": "attacker.example"}
    assert ask(server, "POST", f"{VIEW}/act", server.token, json=DATA, headers=stranger).status_code == 403
    stranger = {"Sec-Fetch-Site": "cross-site"}
    assert ask(server, "POST", f"{VIEW}/act", server.token, json=DATA, headers=stranger).status_code == 403

    write_notebook(server.root / path, "print(1)")
    write_notebook(server.root / "other.ipynb", "print(2)")
    async with logged_in(browser, server, path) as (page, _):
        other = page.locator("#notebooks").get_by_text("other.ipynb")
        await expect(other).to_be_visible()
        # With the cookie alone, as a form of another page would send it.
        script = "(url) => fetch(url, { method: 'POST', body: '{}' }).then((answer) => answer.status)"
        assert await page.evaluate(script, f"{server.url}{VIEW}/act") == 403
        await page.context.clear_cookies()
        await other.click()
        await expect(page.locator("#connection")).to_contain_text("You are not logged in")
        await expect(page.locator(".v-cell")).to_have_count(0)
    page, _ = await new_page(browser)
    await page.goto(f"{server.url}{VIEW}?token={server.token}")
    await expect(page.locator("#connection")).to_have_text("Connected")
    assert server.token not in page.url


@pytest.mark.parametrize("ask_about", ["[]", "run"])
async def test_users_get_what_jupyter_lets_them(ask_about: str, tmp_path: Path) -> None:
    options = (f"--config={JUPYTER_CONFIG / 'users_config.py'}", f"--CellbridgeApp.ask={ask_about}")
    with jupyter_server("plain", tmp_path, *options, token="worker-token") as server:
        write_notebook(server.root / "n.ipynb", "print(1)")
        verify = {"do": "verify", "notebook": "n.ipynb"}
        done = 409 if ask_about == "run" else 200
        for user, status in [("reader", 409), ("writer", 409), ("scribe", 403), ("nobody", 403), ("worker", done)]:
            answer = ask(server, "POST", f"{VIEW}/act", f"{user}-token", json=verify, timeout=LONG)
            assert answer.status_code == status, answer.text
            assert status != 409 or "does not offer that" in answer.text, answer.text
