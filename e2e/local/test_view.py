"""`cellbridge view` in a real browser, beside real servers with real kernels. What the page is made of is tested in `page`."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from nbformat import v4
from playwright.async_api import Browser, Page, expect

from e2e.support.kept_kernels import NOTEBOOK, Machine
from e2e.support.live_page import Seen, opened, take_back, view
from e2e.support.notebook_server import launch
from e2e.support.processes import command_lines, marked
from e2e.support.program import program
from e2e.support.stdio_client import StdioClient, stdio_client
from e2e.support.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")

ATTACKS = Path(__file__).parents[2] / "crates/html/src/testing/corpus.txt"
# Stands in for Plotly: what is tested is how a library reaches its frame.
LIBRARY = "var Plotly = { newPlot: async (node, figure) => { node.textContent = `drawn ${figure.layout.title} in ${origin}` } }"
CHART = (
    "from IPython.display import display\n"
    "display({'application/vnd.plotly.v1+json': {'data': [], 'layout': {'title': 'T'}}}, raw=True)"
)
LEAVING = """from IPython.display import HTML
HTML('<p id="p">waiting</p><script>fetch("https://example.invalid/fetch").catch(() => {});'
     'try { parent.document.title; p.textContent = "reached the page" } catch { p.textContent = "ran" }'
     'new Image().src = "https://example.invalid/image"; open("https://example.invalid/window");</script>')"""
PLOT = "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 3, 2]);"
TABLE = "import pandas as pd\npd.DataFrame({'a': range(60)})"


@asynccontextmanager
async def working(machine: Machine, browser: Browser) -> AsyncIterator[tuple[StdioClient, Page, Seen]]:
    """An agent at a new notebook, and the person's page of it."""
    async with machine.server() as server, view(machine) as url:
        await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK, mode="create")
        page, seen = await opened(browser, f"{url}&notebook={NOTEBOOK}")
        yield server, page, seen


async def test_what_an_agent_does_is_seen_and_taken_back(browser: Browser, machine: Machine) -> None:
    async with machine.server() as server, view(machine) as url:
        await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK, mode="create")
        page, seen = await opened(browser, url)
        assert "token" not in page.url
        await page.get_by_role("link", name=NOTEBOOK).first.click()
        await server.call("insert_execute_code_cell", cell_index=0, cell_source=PLOT)
        await server.call("insert_execute_code_cell", cell_index=1, cell_source=TABLE)
        await expect(page.locator(".cb-table tbody tr")).to_have_count(60)
        image = page.locator(".cb-output img")
        await expect(image).to_be_visible()
        assert await image.evaluate("image => image.naturalWidth > 0")
        cell = page.locator(".v-cell").nth(0)
        await take_back(page, cell, server.call, named="changed by bare")
        await expect(cell.locator(".cb-source")).to_contain_text("plt.plot")
        reply = await server.call("read_cell", cell_index=0)
        assert reply.startswith("[NOTICE] The person undid o") and reply.splitlines()[0].endswith(f"in {NOTEBOOK}."), reply
        assert "[NOTICE]" not in await server.call("read_cell", cell_index=0)
        assert "person" in await server.call("history")
        # One call has made both cells; what is shown of one is that cell's.
        await server.call("insert_cell", cell_index=2, cells=[{"cell_type": "code", "cell_source": f"part_{index}"} for index in range(2)])
        await page.locator(".v-cell").nth(3).get_by_role("button", name="changed by").click()
        await expect(page.get_by_role("dialog")).to_contain_text("+part_1")
        await expect(page.get_by_role("dialog")).not_to_contain_text("part_0")
        await page.keyboard.press("Escape")
        await expect(page.locator(".v-cell").nth(3).get_by_role("button", name="changed by")).to_be_focused()
        assert seen.bad == []


async def test_a_running_cell_moves_is_answered_and_interrupted(browser: Browser, machine: Machine) -> None:
    gate, waits = machine.gate()
    async with working(machine, browser) as (server, page, seen):
        source = "import sys\nfor i in range(3): print(f'\\r{i}/3', end='')\nprint('hello', input('name? '))\n" + waits
        call = asyncio.create_task(server.call("insert_execute_code_cell", cell_index=0, cell_source=source))
        cell = page.locator(".v-cell").first
        await expect(cell.locator(".cb-output")).to_contain_text("2/3")
        await cell.get_by_label("name?").fill("Ada")
        await cell.get_by_role("button", name="Answer").click()
        await expect(cell.locator(".cb-output")).to_contain_text("hello Ada")
        assert "2/3" in await cell.locator(".cb-output").inner_text()
        await page.locator("#runs").get_by_role("button", name="Interrupt").click()
        await expect(cell.locator(".cb-error")).to_contain_text("KeyboardInterrupt")
        await expect(page.locator("#runs")).to_contain_text("Nothing is running")
        await call
        reply = await server.call("read_cell", cell_index=0)
        assert "[NOTICE] The person answered the input() of run" in reply and "then interrupted run" in reply, reply
        assert not gate.exists()
        assert seen.bad == []


async def test_the_page_goes_on_when_a_server_is_killed(browser: Browser, machine: Machine) -> None:
    gate, waits = machine.gate()
    async with view(machine) as url:
        async with machine.server() as server:
            await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK, mode="create")
            await server.call("insert_cell", cell_index=0, cell_type="code", cell_source=f"print('before')\n{waits}\nprint('after')")
            asyncio.create_task(server.call("execute_cell", cell_index=0))
            page, seen = await opened(browser, f"{url}&notebook={NOTEBOOK}")
            cell = page.locator(".v-cell").first
            await expect(cell.locator(".cb-output")).to_contain_text("before")
            server.process.kill()
        gate.touch()
        await expect(cell.locator(".cb-output")).to_contain_text("after")
        await expect(page.locator("#runs")).to_contain_text("Nothing is running")
        await page.reload()
        await expect(page.locator(".v-cell")).to_have_count(1)
        assert seen.bad == []


async def test_stale_cells_and_agents_are_seen(browser: Browser, machine: Machine) -> None:
    elsewhere = machine.root.parent / "elsewhere"
    elsewhere.mkdir()
    async with working(machine, browser) as (server, page, seen):
        await server.call("insert_execute_code_cell", cell_index=0, cell_source="x = 1")
        await server.call("insert_execute_code_cell", cell_index=1, cell_source="print(x)")
        await expect(page.locator("#agents")).to_contain_text("bare")
        await expect(page.locator("#kernels li")).to_contain_text("programs connected: 1")
        await server.call("overwrite_cell_source", cell_index=0, cell_source="x = 2")
        stale = page.locator(".v-cell").nth(1).locator(".v-stale")
        await stale.locator("summary").click()
        await expect(stale).to_contain_text("x")
        # It stays open while other things change.
        await server.call("insert_cell", cell_index=2, cell_type="markdown", cell_source="text")
        await expect(page.locator(".v-cell")).to_have_count(3)
        assert await stale.evaluate("details => details.open")
        agents, notebook = page.locator("#agents"), "elsewhere/other.ipynb"
        other = launch(elsewhere, machine.home, *machine.options, mark=machine.mark)
        async with stdio_client(other, own_group=True) as other_agent:
            await other_agent.initialize()
            await other_agent.call("use_notebook", notebook_name="o", notebook_path="other.ipynb", mode="create")
            await other_agent.call("insert_cell", cell_index=0, cell_type="code", cell_source="1")
            await expect(agents).to_contain_text(notebook)
        await expect(agents).not_to_contain_text(notebook)
        assert seen.bad == []


async def test_charts_are_alive_and_reach_nothing(browser: Browser, machine: Machine) -> None:
    environment = machine.root / ".venv"
    package = environment / "lib/python3.13/site-packages/plotly/package_data"
    package.mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (package / "plotly.min.js").write_text(LIBRARY)
    async with working(machine, browser) as (server, page, seen):
        await server.call("insert_execute_code_cell", cell_index=0, cell_source=CHART)
        await server.call("insert_execute_code_cell", cell_index=1, cell_source=LEAVING)
        await expect(page.locator("iframe")).to_have_count(2)
        await expect(page.frame_locator("iframe").nth(0).locator("#chart")).to_have_text("drawn T in null")
        await expect(page.frame_locator("iframe").nth(1).locator("#p")).to_have_text("ran")
        assert [it for it in seen.bad if it.startswith(("dialog", "popup"))] == []
        assert not seen.answered


async def test_outputs_from_elsewhere_run_after_a_click(browser: Browser, machine: Machine) -> None:
    html = '<p id="p">waiting</p><script>document.getElementById("p").textContent = "ran"</script>'
    output = v4.new_output("display_data", {"text/html": html})
    cells = [v4.new_code_cell("x", outputs=[output], execution_count=1)]
    (machine.root / NOTEBOOK).write_text(json.dumps(v4.new_notebook(cells=cells)))
    async with view(machine, NOTEBOOK) as url:
        page, seen = await opened(browser, url)
        await expect(page.locator(".v-trust")).to_be_visible()
        assert await page.locator("iframe").count() == 0
        await page.get_by_role("button", name="Trust this notebook").click()
        await expect(page.frame_locator("iframe").locator("#p")).to_have_text("ran")
        # Outputs that were replaced since the person looked are not trusted.
        await page.get_by_role("button", name="Stop trusting").click()
        await expect(page.get_by_role("button", name="Trust this notebook")).to_be_visible()
        await page.evaluate("document.querySelector('[data-do=trust]').dataset.shown = 'another'")
        await page.get_by_role("button", name="Trust this notebook").click()
        await expect(page.locator("#said")).to_contain_text("none of their scripts run")
        # Browsers write the status of the refusal into their log.
        seen.bad = [it for it in seen.bad if "409 (Conflict)" not in it]
        # Trust is for what was seen, and can be taken back.
        output["data"]["text/html"] = html.replace("ran", "ran again")
        (machine.root / NOTEBOOK).write_text(json.dumps(v4.new_notebook(cells=cells)))
        await expect(page.get_by_role("button", name="Trust this notebook")).not_to_have_attribute("data-shown", "another")
        assert await page.locator("iframe").count() == 0
        await page.get_by_role("button", name="Trust this notebook").click()
        await page.get_by_role("button", name="Stop trusting").click()
        await expect(page.locator("iframe")).to_have_count(0)
        assert seen.bad == []


async def test_outputs_of_a_command_run_and_those_of_another_program_do_not(browser: Browser, machine: Machine) -> None:
    source = "from IPython.display import HTML\nHTML('<p id=p>waiting</p><script>p.textContent = \"ran\"</script>')"
    machine.file.write_text(json.dumps(v4.new_notebook(cells=[v4.new_code_cell(source)])))
    command, environment = [program(), "run", NOTEBOOK], machine.home.environment(machine.mark)
    subprocess.run(command, env=environment, cwd=machine.root, check=True, capture_output=True)
    async with view(machine, NOTEBOOK) as url:
        page, seen = await opened(browser, url)
        await expect(page.frame_locator("iframe").locator("#p")).to_have_text("ran")
        machine.file.write_text(machine.file.read_text().replace("waiting", "from elsewhere"))
        await expect(page.locator(".v-trust")).to_be_visible()
        assert await page.locator("iframe").count() == 0 and seen.bad == []


async def test_links_lead_where_they_say(browser: Browser, machine: Machine) -> None:
    text = (
        "[next](sub/b%20c.ipynb) [next part](sub/b%20c.ipynb#Far-below) [part](#far-below) [data](data.csv) [site](https://example.invalid/a) "
        "[host](//example.invalid/b) [token](/view#token=x) [script](javascript:alert(1)) [up](../../x.ipynb)"
    )
    framed = v4.new_output("display_data", {"text/html": '<a href="#far-below">framed</a><script>1</script>'})
    plain = v4.new_output("display_data", {"text/html": '<a href="sub/b c.ipynb">plain</a>'})
    far = [v4.new_code_cell(f"{index}\n{index}") for index in range(60)] + [v4.new_markdown_cell("# Far below")]
    first = [v4.new_markdown_cell(text), v4.new_code_cell("x", outputs=[framed, plain])]
    machine.file.write_text(json.dumps(v4.new_notebook(cells=first + far)))
    (machine.root / "sub").mkdir()
    other = v4.new_notebook(cells=[v4.new_markdown_cell("[back](../kept.ipynb)"), *far])
    (machine.root / "sub/b c.ipynb").write_text(json.dumps(other))
    async with view(machine, NOTEBOOK) as url:
        page, seen = await opened(browser, url)
        title, said, heading = page.locator("#title"), page.locator("#said"), page.get_by_role("heading", name="Far below")
        address = page.url

        async def back() -> None:
            await page.evaluate("scrollTo(0, 0)")
            await expect(title).to_have_text(NOTEBOOK)
            await expect(page.get_by_role("link", name="site")).to_be_in_viewport()

        await page.locator(".cb-index").nth(1).click()
        await page.get_by_role("link", name="part", exact=True).click()
        await expect(heading).to_be_in_viewport()
        await back()
        await page.get_by_role("button", name="Trust this notebook").click()
        await page.frame_locator("iframe").get_by_role("link", name="framed").click()
        await expect(heading).to_be_in_viewport()
        await back()
        for name, expected in [("data", "/data.csv"), ("script", None), ("up", "leads out of"), ("token", "shows notebooks only")]:
            await page.get_by_text(name, exact=True).click()
            if expected:
                await expect(said).to_contain_text(expected)
        assert page.url == address
        for name in ("site", "host"):
            async with page.context.expect_page() as opening:
                await page.get_by_role("link", name=name, exact=True).click()
            assert await (await opening.value).evaluate("opener") is None
        for tab in ({"modifiers": ["ControlOrMeta"]}, {"button": "middle"}):
            async with page.context.expect_page() as opening:
                await page.get_by_role("link", name="next", exact=True).click(**tab)
            await expect((await opening.value).locator("#title")).to_have_text("sub/b c.ipynb")
            await expect(title).to_have_text(NOTEBOOK)
        seen.bad = [it for it in seen.bad if not it.startswith("popup")]
        for name in ("next", "plain"):
            await page.get_by_role("link", name=name, exact=True).click()
            await expect(title).to_have_text("sub/b c.ipynb")
            await page.go_back()
            await back()
        await page.get_by_role("link", name="next part").click()
        await expect(title).to_have_text("sub/b c.ipynb")
        await expect(heading).to_be_in_viewport()
        assert seen.bad == []


async def test_a_click_is_for_the_question_that_was_seen(browser: Browser, machine: Machine) -> None:
    machine.options = ("--ask", "edit")
    async with machine.server() as server, view(machine) as url:
        page, seen = await opened(browser, url)
        await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK, mode="create")
        insert = {"cell_index": 0, "cell_type": "code"}
        first = asyncio.create_task(server.call("insert_cell", **insert, cell_source="print('harmless')"))
        accept = page.locator(".v-question").get_by_role("button", name="Accept")
        await expect(accept).to_be_enabled()
        before = await accept.bounding_box()
        assert before
        await page.evaluate("""() => new MutationObserver(() => {
          const buttons = [...document.querySelectorAll(".v-question button")];
          if (buttons.length) (window.states ??= []).push(buttons.every((it) => it.disabled));
        }).observe(document.getElementById("questions"), { childList: true })""")
        await page.locator(".v-question").get_by_role("button", name="Decline").click()
        await first
        second = asyncio.create_task(server.call("insert_cell", **insert, cell_source="print('harmful')"))
        await expect(page.locator(".v-question")).to_contain_text("harmful")
        assert (await page.evaluate("window.states"))[0]
        await page.mouse.click(before["x"] + 5, before["y"] + 5)
        after = await accept.bounding_box()
        assert after and after["y"] >= before["y"] + before["height"], (before, after)
        await expect(accept).to_be_enabled()
        # What moves it starts the time again.
        assert await page.evaluate("""() => {
          document.getElementById("runs").style.paddingTop = "50px";
          document.querySelector('.v-question [data-do="accept"]').click();
          return document.querySelector('.v-question [data-do="accept"]').disabled;
        }""")
        assert not second.done() and "harmful" not in machine.file.read_text()
        await accept.click()
        assert "saved to disk" in await second and seen.bad == []


async def test_attacks_do_nothing(browser: Browser, machine: Machine) -> None:
    attacks = [line for line in ATTACKS.read_text().splitlines() if line and not line.startswith("# ")]
    cells = []
    for attack in attacks:
        cells.append(v4.new_markdown_cell(attack))
        data = {"text/html": attack, "text/plain": attack, "image/svg+xml": attack}
        cells.append(v4.new_code_cell(attack, outputs=[v4.new_output("display_data", data)]))
    metadata = {"kernelspec": {"name": attacks[0], "display_name": attacks[1]}}
    name = "<img src=x onerror=alert(1)>.ipynb"
    (machine.root / name).write_text(v4.writes_json(v4.new_notebook(cells=cells, metadata=metadata)))
    async with view(machine) as url:
        page, seen = await opened(browser, url)
        await page.get_by_role("link", name="onerror").click()
        await expect(page.locator(".v-cell")).to_have_count(len(cells))
        for index in range(0, len(cells), 15):
            cell = page.locator(".v-cell").nth(index)
            # Playwright would wait for an element that is replaced.
            await cell.evaluate("cell => cell.scrollIntoView()")
            await expect(cell.locator(".cb-cell")).to_have_count(1)
        assert await page.locator("#cells").locator("script, iframe, form, input, svg, object").count() == 0
        assert seen.bad == []


async def test_only_what_is_looked_at_is_rendered(browser: Browser, machine: Machine) -> None:
    cells = [v4.new_code_cell(f"first = {index}\nsecond = {index}") for index in range(1000)]
    (machine.root / NOTEBOOK).write_text(json.dumps(v4.new_notebook(cells=cells)))
    async with view(machine, NOTEBOOK) as url:
        page, seen = await opened(browser, url)
        await expect(page.locator(".v-cell")).to_have_count(1000)
        assert await page.locator(".v-cell:not(.v-far)").count() < 100
        last = page.locator(".v-cell").last
        await last.evaluate("cell => cell.scrollIntoView()")
        await expect(last).to_contain_text("second = 999")
        assert await page.locator(".v-cell:not(.v-far)").count() < 250
        assert seen.bad == []


async def test_a_notebook_is_verified(browser: Browser, machine: Machine) -> None:
    async with working(machine, browser) as (server, page, seen):
        await server.call("insert_execute_code_cell", cell_index=0, cell_source="print(1)")
        await page.get_by_role("button", name="Verify…").click()
        await expect(page.get_by_role("dialog").get_by_role("button", name="Cancel")).to_be_focused()
        await page.get_by_role("dialog").get_by_role("button", name="Verify").click()
        await expect(page.locator("#verified")).to_contain_text("identical")
        # One that runs is seen, and interrupted; another notebook shows no word of it.
        (machine.root / "other.ipynb").write_text(json.dumps(v4.new_notebook(cells=[v4.new_code_cell("2")])))
        gate, waits = machine.gate()
        await server.call("insert_cell", cell_index=1, cell_type="code", cell_source=waits)
        await page.get_by_role("button", name="Verify…").click()
        await page.get_by_role("dialog").get_by_role("button", name="Verify").click()
        await expect(page.locator("#verified")).to_contain_text("Verifying: cell 2 of 2")
        await page.reload()
        await expect(page.locator("#verified")).to_contain_text("Verifying: cell 2 of 2")
        await page.locator("#verified").get_by_role("button", name="Interrupt").click()
        await expect(page.locator("#verified")).to_contain_text("was interrupted")
        await page.locator("#notebooks").get_by_role("link", name="other.ipynb").click()
        await expect(page.locator("#verified")).to_be_empty()
        assert not gate.exists() and seen.bad == []


async def test_a_client_that_cannot_ask_is_answered_on_the_page(browser: Browser, machine: Machine) -> None:
    """`asking.rs` answers without a browser; here the question of a server reaches a page of another process."""
    machine.options = ("--ask", "edit")
    async with machine.server() as server, view(machine) as url:
        await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK, mode="create")
        insert = {"cell_index": 0, "cell_type": "code", "cell_source": "print('asked')"}
        assert "no page of the person is open" in await server.call("insert_cell", **insert)
        page, seen = await opened(browser, url)
        question = page.locator("#questions .v-question")
        for button, expected in [("Decline", "The person declined"), ("Accept", "saved to disk")]:
            call = asyncio.create_task(server.call("insert_cell", **insert))
            await expect(question).to_contain_text("bare asks for your consent")
            await expect(question).to_contain_text("print('asked')")
            await question.get_by_role("button", name=button).click()
            assert expected in await call
            await expect(question).to_have_count(0)
        assert "asked" in machine.file.read_text() and seen.bad == []


# Headless, Chromium shows no notifications, and every page has the focus.
ELSEWHERE = """
window.made = [];
const count = () => {
  const shown = document.getElementById("made") ?? document.body.appendChild(Object.assign(document.createElement("p"), { id: "made" }));
  shown.textContent = made.length;
};
window.Notification = new Proxy(Notification, { construct: (real, [title, options]) => { made.push([title, options.body]); count(); return new real(title, options); } });
document.hasFocus = () => window.looks;
"""


async def test_who_looks_elsewhere_is_notified(browser: Browser, machine: Machine) -> None:
    machine.options = ("--ask", "delete")
    async with machine.server() as server, view(machine) as url:
        await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK, mode="create")
        page, seen = await opened(browser, url)
        await page.context.grant_permissions(["notifications"], origin=url.split("/view")[0])
        await page.add_init_script(ELSEWHERE)
        await page.reload()
        await expect(page.locator("#connection")).to_have_text("Connected")
        assert await page.evaluate("Notification.permission") == "granted"
        await expect(page.get_by_role("button", name="Notify me")).to_be_hidden()

        async def made(count: int) -> list[list[str]]:
            await page.locator("#made").get_by_text(str(count), exact=True).wait_for(state="attached")
            return await page.evaluate("made")

        asking = asyncio.create_task(server.call("insert_execute_code_cell", cell_index=0, cell_source="1 / int(input('zero? '))"))
        [[title, body]] = await made(1)
        assert title == NOTEBOOK and body.endswith("waits for input: zero?"), body
        await page.get_by_label("zero?").fill("0")
        await page.get_by_role("button", name="Answer").click()
        await asking
        assert (await made(2))[1][1].endswith(": failed")
        deleting = asyncio.create_task(server.call("delete_cell", cell_indices=[0]))
        assert (await made(3))[2] == ["bare", "asks for your consent"]
        await page.get_by_role("button", name="Decline").click()
        await deleting
        await page.evaluate("window.looks = true")
        await server.call("insert_execute_code_cell", cell_index=1, cell_source="1")
        await expect(page.locator("#agents")).to_contain_text("insert_execute_code_cell")
        assert len(await made(3)) == 3
        assert seen.bad == []


async def test_notifications_are_asked_for_by_a_click(browser: Browser, machine: Machine) -> None:
    async with view(machine) as url:
        page, seen = await opened(browser, url)
        await page.evaluate("void (Notification.requestPermission = async () => { window.asked = true; return 'granted' })")
        assert await page.evaluate("window.asked") is None
        # Headless, Chromium has refused already.
        await page.evaluate("document.getElementById('notify').hidden = false")
        await page.get_by_role("button", name="Notify me").click()
        await expect(page.locator("#said")).to_contain_text("you are notified when a run ends")
        await expect(page.get_by_role("button", name="Notify me")).to_be_hidden()
        assert await page.evaluate("window.asked") and seen.bad == []


async def test_keys_and_a_phone(browser: Browser, machine: Machine) -> None:
    cells = [v4.new_code_cell("print(1)"), v4.new_markdown_cell("# Title")]
    (machine.root / NOTEBOOK).write_text(json.dumps(v4.new_notebook(cells=cells)))
    async with view(machine, NOTEBOOK) as url:
        page, seen = await opened(browser, url)
        await expect(page.locator(".v-cell")).to_have_count(2)
        for key, index in [("j", 0), ("j", 1), ("k", 0)]:
            await page.keyboard.press(key)
            await expect(page.locator(".v-cell").nth(index)).to_be_focused()
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog")).to_contain_text("next, previous cell")
        await page.keyboard.press("Escape")
        await expect(page.locator(".v-cell").nth(0)).to_be_focused()
        await page.set_viewport_size({"width": 390, "height": 800})
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        assert seen.bad == []


async def test_one_process_serves_all_pages_of_a_person(machine: Machine) -> None:
    command, environment = [program(), "view", "--no-browser"], machine.home.environment(machine.mark)
    other = machine.root / "other"
    other.mkdir()

    def address(folder: Path) -> str:
        return subprocess.run([*command, str(folder)], env=environment, check=True, capture_output=True, text=True).stdout

    first, second = address(machine.root), address(other)
    assert first.split("&root=")[0] == second.split("&root=")[0]
    assert first != second
    file = machine.home.folder / "state/cellbridge/view/page"
    assert file.stat().st_mode & 0o777 == 0o600
    served = [pid for pid in marked(machine.mark) if "--serve" in command_lines([pid])[0]]
    assert len(served) == 1
    # Its arguments hold no token.
    token = first.split("token=")[1].split("&")[0]
    assert token not in command_lines(served)[0]
    os.kill(served[0], signal.SIGTERM)
    await until(lambda: not marked(machine.mark), "the process has ended")
    assert file.read_text() == ""
