"""What an export and the page of `cellbridge view` have in common: they are valid HTML, and everybody can use them."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from nbformat import v4
from playwright.async_api import Browser, Page, expect

from e2e.support.kept_kernels import NOTEBOOK, Machine
from e2e.support.live_page import Seen, chromium, view
from e2e.support.notebook_server import nothing_is_left
from e2e.support.page_checks import inaccessible, invalid
from e2e.support.program import REPOSITORY
from e2e.support.terminal import Terminal

ATTACKS = REPOSITORY / "crates/html/src/testing/corpus.txt"
NOTEBOOKS = REPOSITORY / "crates/notebook/tests/corpus"
TEXT = """# Title

Some *text* with `code`, a [link](https://example.org), maths $\\frac{x^2}{y}$ and

$$\\sum_{i=1}^n i = \\begin{cases}1 & x\\\\2\\end{cases}$$

## Part

> quoted

| a | b |
|---|---|
| 1 | 2 |

- [ ] item

```python
def f(): return "x"  # comment
```"""
SOURCES = [
    "import pandas as pd\ntable = pd.DataFrame({'a': range(60)})\ntable",
    "from IPython.display import HTML\nHTML('<p style=\"background-color: yellow\">text</p>')",
    "for code in range(30, 50): print(f'\\x1b[{code}m{code}\\x1b[0m', end=' ')",
    "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 3, 2]);",
    "import sys; print('careful', file=sys.stderr)",
    "def f(): raise ValueError('a <b>')\nf()",
]
SCRIPTED = v4.new_output("display_data", {"text/html": "<p>waiting</p><script>1</script>"})


@pytest.fixture
def terminal(tmp_path: Path) -> Any:
    terminal = Terminal(tmp_path)
    yield terminal
    nothing_is_left(terminal.mark, terminal.home)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


async def opened(browser: Browser, url: str) -> tuple[Page, Seen]:
    page = await browser.new_page(viewport={"width": 1280, "height": 900})
    seen = Seen(page)
    await page.goto(url)
    return page, seen


async def test_every_export_is_valid(terminal: Terminal) -> None:
    attacks = [line for line in ATTACKS.read_text().splitlines() if line and not line.startswith("# ")]
    cells = []
    for attack in attacks:
        data = {"text/html": attack, "text/markdown": attack, "image/svg+xml": attack}
        outputs = [v4.new_output("display_data", {name: text}) for name, text in data.items()]
        cells += [v4.new_markdown_cell(attack), v4.new_code_cell(attack, outputs=outputs)]
    (terminal.root / "attacks.ipynb").write_text(v4.writes_json(v4.new_notebook(cells=cells)))
    notebooks = [terminal.root / "attacks.ipynb", *sorted(NOTEBOOKS.glob("*.ipynb"))]
    exported = []
    for notebook in notebooks:
        file = terminal.root / f"{notebook.stem}.html"
        # A file that is no notebook has no page.
        if (await terminal.run("export", str(notebook), "-o", str(file))).status == 0:
            exported.append(file)
    assert len(exported) > 80
    assert invalid(exported) == []


async def test_an_export_is_valid_and_accessible(browser: Browser, terminal: Terminal) -> None:
    file = terminal.root / "a.ipynb"
    cells = [v4.new_markdown_cell(TEXT), *map(v4.new_code_cell, SOURCES)]
    file.write_text(v4.writes_json(v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})))
    assert (await terminal.run("run", file.name, "--keep-going")).status == 1
    notebook = v4.reads_json(file.read_text())
    notebook.cells.append(v4.new_code_cell("x", outputs=[SCRIPTED]))
    file.write_text(v4.writes_json(notebook))
    for options in [[], ["--interactive"], ["--no-input"]]:
        ended = await terminal.run("export", "a.ipynb", "-o", "a.html", *options)
        assert ended.status == 0, ended.text
        page, _ = await opened(browser, (terminal.root / "a.html").as_uri())
        assert invalid([terminal.root / "a.html"]) == [], options
        assert await inaccessible(page) == [], options


async def test_a_report_is_valid_and_accessible(browser: Browser, terminal: Terminal) -> None:
    cells = [v4.new_code_cell(source) for source in ["import time\ntime.time()", "1 + 1", "1 / 0"]]
    (terminal.root / "a.ipynb").write_text(v4.writes_json(v4.new_notebook(cells=cells)))
    await terminal.run("run", "a.ipynb", "--keep-going")
    await terminal.run("verify", "a.ipynb", "--html", "a.html")
    page, _ = await opened(browser, (terminal.root / "a.html").as_uri())
    assert invalid([terminal.root / "a.html"]) == []
    assert await inaccessible(page) == []


async def test_the_page_is_valid_and_accessible(browser: Browser, machine: Machine) -> None:
    machine.options = ("--ask", "delete")
    cells = [v4.new_markdown_cell(TEXT), v4.new_code_cell("x", outputs=[SCRIPTED])]
    machine.file.write_text(json.dumps(v4.new_notebook(cells=cells)))

    async def assert_usable(page: Page) -> None:
        content = machine.root / "page.html"
        content.write_text("<!doctype html>\n" + await page.evaluate("document.documentElement.outerHTML"))
        assert invalid([content]) == []
        assert await inaccessible(page) == []
        await page.set_viewport_size({"width": 360, "height": 800})
        assert await page.evaluate("document.documentElement.scrollWidth") <= 360
        await page.set_viewport_size({"width": 1280, "height": 900})

    async with machine.server() as server, view(machine) as url:
        page, seen = await opened(browser, url)
        await expect(page.locator("#notebooks")).to_contain_text(NOTEBOOK)
        await assert_usable(page)
        await page.get_by_role("link", name=NOTEBOOK).click()
        await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK)
        for source in SOURCES:
            await server.call("insert_execute_code_cell", cell_index=-1, cell_source=source)
        await server.call("overwrite_cell_source", cell_index=2, cell_source="table = 2")
        deleting = asyncio.create_task(server.call("delete_cell", cell_indices=[5]))
        await expect(page.locator(".v-question")).to_be_visible()
        await assert_usable(page)
        await page.get_by_role("button", name="Decline").click()
        await deleting
        asks = asyncio.create_task(server.call("insert_execute_code_cell", cell_index=2, cell_source="input('name? ')"))
        await page.get_by_role("link", name=NOTEBOOK).first.click()
        await expect(page.get_by_label("name?").first).to_be_visible()
        await page.locator(".v-stale").first.wait_for()
        await assert_usable(page)
        await page.locator("#runs").get_by_role("button", name="Interrupt").click()
        await asks
        for button in ["changed by", "Keys", "Undo…", "Verify…"]:
            await page.get_by_role("button", name=button).first.click()
            await expect(page.get_by_role("dialog")).to_be_visible()
            await assert_usable(page)
            await page.keyboard.press("Escape")
        assert seen.bad == []
