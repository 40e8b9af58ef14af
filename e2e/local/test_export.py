"""`cellbridge export` in a real browser: what a real kernel made is seen, and nothing runs, loads or leaves. What the HTML is made of is
tested in `html`."""

import json
from pathlib import Path
from typing import Any

import pytest
from nbformat import v4
from playwright.async_api import Browser

from e2e.support.live_page import new_page
from e2e.support.terminal import Terminal

pytestmark = pytest.mark.asyncio(loop_scope="session")

ATTACKS = Path(__file__).parents[2] / "crates/html/src/testing/corpus.txt"
SOURCES = [
    "import pandas as pd\npd.DataFrame({'a': range(60)})",
    "print('\\x1b[31mred\\x1b[0m')\nfor i in range(3): print(f'\\r{i}', end='')",
    "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 3, 2]);",
    "def f(): raise ValueError('a <b>')\nf()",
]
# Stands in for Plotly: what is tested is how a library reaches its frame.
LIBRARY = "var Plotly = { newPlot: async (node, figure) => { node.textContent = `drawn ${figure.layout.title} in ${origin}` } }"
LEAVING = """<p id="p">waiting</p><script>
document.getElementById("p").textContent = "ran";
try { parent.document.title; document.getElementById("p").textContent = "reached the page" } catch {}
fetch("https://example.invalid/fetch").catch(() => {});
new Image().src = "https://example.invalid/image";
open("https://example.invalid/window");
</script>"""


async def export(terminal: Terminal, *arguments: str) -> str:
    """Exports the notebook, and returns the address of the page."""
    ended = await terminal.run("export", "a.ipynb", "-o", "a.html", *arguments)
    assert ended.status == 0, ended.text
    return (terminal.root / "a.html").as_uri()


def output(**data: Any) -> Any:
    return v4.new_output("display_data", {name.replace("_", "/", 1): content for name, content in data.items()})


def write(terminal: Terminal, cells: list[Any]) -> None:
    notebook = v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})
    (terminal.root / "a.ipynb").write_text(v4.writes_json(notebook))


async def test_what_a_kernel_made_is_seen(browser: Browser, terminal: Terminal) -> None:
    write(terminal, [v4.new_markdown_cell("# Title\n\n$x^2$"), *map(v4.new_code_cell, SOURCES)])
    assert (await terminal.run("run", "a.ipynb", "--keep-going")).status == 1
    # As wide as a phone.
    page, seen = await new_page(browser, 400, 800)
    await page.goto(await export(terminal))
    assert seen.bad == seen.asked == []
    assert await page.locator("math msup").count() == 1
    assert await page.locator(".cb-table tbody tr").count() == 60
    assert await page.locator(".cb-fg1").first.inner_text() == "red"
    assert await page.locator("img").evaluate("image => image.complete && image.naturalWidth > 0")
    assert "ValueError: a <b>" in await page.locator(".cb-error").inner_text()
    # At the width of a phone, only parts of the page scroll.
    assert await page.evaluate("document.documentElement.scrollWidth") == 400
    # The header stays while the table scrolls.
    table = page.locator(".cb-table")
    await table.evaluate("table => table.scrollTop = 500")
    header, top = await table.locator("thead th").first.bounding_box(), await table.bounding_box()
    assert header and top and abs(header["y"] - top["y"]) < 2


async def test_attacks_do_nothing(browser: Browser, terminal: Terminal) -> None:
    attacks = [line for line in ATTACKS.read_text().splitlines() if line and not line.startswith("# ")]
    cells = []
    for attack in attacks:
        cells.append(v4.new_markdown_cell(attack))
        cells.append(v4.new_code_cell(attack, outputs=[output(text_html=attack), output(text_markdown=attack), output(**{"image_svg+xml": attack})]))
    write(terminal, cells)
    page, seen = await new_page(browser, 400, 800)
    await page.goto(await export(terminal))
    assert seen.bad == seen.asked == []
    assert await page.locator("main > article").count() == await page.locator("article").count() == len(cells)
    assert await page.locator("script, iframe, form, input, button, svg, object").count() == 0


async def test_scripts_run_in_frames_that_reach_nothing(browser: Browser, terminal: Terminal) -> None:
    environment = terminal.root / ".venv"
    packages = environment / "lib/python3.13/site-packages/plotly/package_data"
    packages.mkdir(parents=True)
    (packages / "plotly.min.js").write_text(LIBRARY)
    (environment / "bin").mkdir()
    (environment / "bin/python").write_text("")
    (environment / "pyvenv.cfg").write_text("")
    chart = {"data": [], "layout": {"title": "</script>"}}
    cells = [
        v4.new_code_cell("a", outputs=[output(**{"application_vnd.plotly.v1+json": chart})]),
        v4.new_code_cell("b", outputs=[output(text_html=LEAVING)]),
        v4.new_code_cell("c", outputs=[output(text_html="<script>location = 'https://example.invalid/location'</script>")]),
        v4.new_code_cell("d", outputs=[output(text_html="<meta http-equiv=refresh content='0;https://example.invalid/'><script>1</script>")]),
    ]
    write(terminal, cells)
    page, seen = await new_page(browser, 400, 800)
    await page.goto(await export(terminal, "--interactive"))
    frames = page.locator("iframe")
    for index in range(await frames.count()):
        await frames.nth(index).scroll_into_view_if_needed()
    await page.frame_locator("iframe").nth(0).get_by_text("drawn </script> in null").wait_for()
    await page.frame_locator("iframe").nth(1).get_by_text("ran", exact=True).wait_for()
    assert seen.answered == []
    assert [bad for bad in seen.bad if bad.startswith(("dialog", "popup", "error"))] == []
    assert await page.title() == "a.ipynb"
    assert json.dumps(chart["layout"]["title"]) not in await page.locator("main").inner_text()
