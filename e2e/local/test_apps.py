"""Views of calls in a host of MCP Apps, over the official bridge, under the policies of three hosts."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat import v4
from playwright.async_api import Browser, Locator, expect

from e2e.local.test_view import PLOT
from e2e.support.app_host import CAPABILITIES, POLICIES, VIEW, Host, app_host
from e2e.support.kept_kernels import NOTEBOOK, Machine
from e2e.support.page_checks import invalid, serious
from e2e.support.stdio_client import stdio_client

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Stands in for Plotly. Under some policies, the real one draws nothing with WebGL.
LIBRARY = "var Plotly = { newPlot: async (node, { data }) => { node.textContent = `${data[0].type} in ${origin}` } }"
CHART = (
    "from IPython.display import display\n"
    "display({'application/vnd.plotly.v1+json': {'data': [{'type': 'scattergl', 'x': [1]}], 'layout': {}}}, raw=True)"
)
# A colour of a host.
INK = {"theme": "light", "styles": {"variables": {"--color-text-primary": "rgb(1, 2, 3)"}}}
FAILED = v4.new_output("error", ename="ValueError", evalue="no", traceback=["ValueError Traceback (most recent call last)", "one", "two", "no"])


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with app_host(tmp_path_factory.mktemp("host")) as host:
        yield host


# The stand-in library would show the use of `eval` where it is forbidden.
@pytest.mark.parametrize("policy", POLICIES)
async def test_calls_are_seen_and_acted_on(browser: Browser, machine: Machine, host: Host, policy: str) -> None:
    package = machine.root / ".venv/lib/python3.13/site-packages/plotly/package_data"
    package.mkdir(parents=True)
    (machine.root / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    (package / "plotly.min.js").write_text(LIBRARY)
    gate, waits = machine.gate()
    never, waits_on = machine.gate("never")
    async with stdio_client(machine.launch(), own_group=True) as server:
        await server.initialize(capabilities=CAPABILITIES)
        await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK, mode="create")
        # A run is seen while it runs, answered, and its plot shown.
        source = f"print('begun')\nprint('hello', input('name? '))\n{waits}\n{PLOT}"
        insert = {"tool": "insert_execute_code_cell", "cell_index": 0}
        async with host.shows(browser, server, policy, **insert, cell_source=source, context=INK) as view:
            output = view.frame.locator(".cb-output").first
            await expect(output).to_contain_text("begun")
            await view.frame.get_by_label("name?").fill("Ada")
            await view.frame.get_by_role("button", name="Answer").click()
            await expect(output).to_contain_text("hello Ada")
            gate.touch()
            await view.ends()
            image = view.frame.locator(".cb-output img")
            await expect(image).to_be_visible()
            assert await drawn(image) > 100
            await expect(view.frame.locator("#head")).to_contain_text("done")
            assert await output.evaluate("it => getComputedStyle(it).color") == "rgb(1, 2, 3)"
        # A traceback is folded; the run is found by its code alone, and interrupted.
        source = f"def inner():\n    {waits_on.replace(chr(10), chr(10) + '    ')}\ndef outer(): inner()\nouter()"
        async with host.shows(browser, server, policy, "execute_code", names_tool=False, code=source) as view:
            await view.frame.get_by_role("button", name="Interrupt").click()
            await expect(view.frame.locator("#head")).to_contain_text("interrupted")
            reply = await view.ends()
            assert reply.startswith("[NOTICE] The person answered the input() of run") and "KeyboardInterrupt" in reply, reply
            earlier = view.frame.locator(".cb-error details")
            # The interrupt may find the loop in a function of the library.
            await expect(earlier).to_contain_text(re.compile("Earlier frames: [2-9]"))
            assert not await earlier.evaluate("details => details.open")
        assert not never.exists()
        # A chart is drawn, and the change is taken back.
        async with host.shows(browser, server, policy, **insert, cell_source=CHART) as view:
            await view.ends()
            chart = view.frame.frame_locator("iframe").locator("#chart")
            await expect(chart).to_have_text("scatter in null")
            await view.frame.get_by_role("button", name="changed by bare").click()
            await view.frame.get_by_role("button", name="Take back").click()
            await expect(view.frame.locator("#said")).to_contain_text("Undone: o")
            assert sum(asked["arguments"].get("do") == "library" for asked in view.asked if "arguments" in asked) == 1
        reply = await server.call("read_cell", cell_index=0)
        assert reply.startswith("[NOTICE] The person undid o"), reply
        # What no cell shows.
        async with host.shows(browser, server, policy, "history") as view:
            await view.ends()
            await expect(view.frame.locator("#history li").first).to_contain_text("you")
            await expect(view.frame.locator("#history li").first).to_contain_text("undid")
            assert await view.frame.locator("#result > *").count() == 0
        # Several cells, seen while they run: the call does not name them.
        second, waits_for_second = machine.gate("second")
        new = [{"cell_type": "code", "cell_source": source} for source in ("print('one')", f"{waits_for_second}\nprint('two')")]
        await server.call("insert_cell", cell_index=1, cells=new)
        async with host.shows(browser, server, policy, "run_cells", names_tool=False, **{"from": "1"}) as view:
            await expect(view.frame.locator("#head")).to_contain_text("running")
            await expect(view.frame.locator(".v-busy")).to_have_count(1)
            second.touch()
            await view.ends()
            await expect(view.frame.locator(".v-cell .cb-output")).to_have_text(["one", "two"])
            assert await view.frame.locator("#result > *").count() == 0
        # A cell without a run of the call.
        async with host.shows(browser, server, policy, "read_cell", names_tool=False, cell_index=2) as view:
            await expect(view.frame.locator(".v-cell .cb-output")).to_have_text("two")
            await view.ends()


async def test_a_view_is_valid_and_for_everybody(browser: Browser, machine: Machine, host: Host, tmp_path: Path) -> None:
    table = v4.new_output("display_data", {"text/html": "<table><tr><th>a</th></tr><tr><td>1</td></tr></table>"})
    printed = v4.new_output("stream", text="\x1b[31mred\x1b[0m")
    cell = v4.new_code_cell("import this  # text", outputs=[table, printed, FAILED], execution_count=1)
    machine.file.write_text(v4.writes_json(v4.new_notebook(cells=[cell], metadata={"language_info": {"name": "python"}})))
    async with stdio_client(machine.launch(), own_group=True) as server:
        await server.initialize(capabilities=CAPABILITIES)
        document = tmp_path / "view.html"
        document.write_text((await server.ask("resources/read", {"uri": VIEW}))["contents"][0]["text"])
        assert invalid([document]) == []
        await server.call("insert_cell", notebook_name=NOTEBOOK, cell_index=1, cell_type="code", cell_source="x")
        for theme, tool, given in [("light", "read_cell", {"cell_index": 0}), ("dark", "history", {})]:
            shown = host.shows(browser, server, "specification", tool, context={"theme": theme}, notebook_name=NOTEBOOK, **given)
            async with shown as view:
                await view.ends()
                await expect(view.frame.locator(".cb-cell, .v-op").first).to_be_visible()
                assert await serious(view.document) == []


async def test_a_verdict_and_a_refusal_are_rendered(browser: Browser, machine: Machine, host: Host) -> None:
    async with stdio_client(machine.launch(), own_group=True) as server:
        await server.initialize(capabilities=CAPABILITIES)
        await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK, mode="create")
        await server.call("insert_execute_code_cell", cell_index=0, cell_source="print(1)")
        async with host.shows(browser, server, "specification", "verify_notebook", confirm=True) as view:
            await view.ends()
            await expect(view.frame.locator(".v-verdict")).to_contain_text("1 of 1 cells identical")
            assert await view.frame.locator("#result > *").count() == 0
        async with host.shows(browser, server, "specification", "execute_cell", cell_index=7) as view:
            await view.ends()
            await expect(view.frame.locator("#result.cb-error")).to_contain_text("7")


async def drawn(image: Locator) -> int:
    """How many pixels of an image are neither white nor transparent."""
    return await image.evaluate(
        """image => {
            const canvas = Object.assign(document.createElement("canvas"), { width: image.naturalWidth, height: image.naturalHeight });
            const context = canvas.getContext("2d");
            context.drawImage(image, 0, 0);
            const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
            let count = 0;
            for (let at = 0; at < data.length; at += 4) count += data[at + 3] > 0 && data[at] + data[at + 1] + data[at + 2] < 700;
            return count;
        }"""
    )
