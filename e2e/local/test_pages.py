"""What an export and the page of `cellbridge view` have in common: they are valid HTML, and everybody can use them."""

import asyncio
import subprocess
from pathlib import Path

import pytest
from nbformat import v4
from playwright.async_api import Browser, Page, expect

from e2e.support.kept_kernels import NOTEBOOK, Machine
from e2e.support.live_page import new_page, view
from e2e.support.notebook_server import nothing_is_left
from e2e.support.page_checks import PHONE, inaccessible, invalid
from e2e.support.program import REPOSITORY, program
from e2e.support.terminal import Terminal, write

pytestmark = pytest.mark.asyncio(loop_scope="session")

ATTACKS = REPOSITORY / "crates/html/src/testing/corpus.txt"
NOTEBOOKS = REPOSITORY / "crates/notebook/tests/corpus"
TEXT = """# Title

Some *text* with `code`, a [link](https://example.org), maths $\\frac{x^2}{y}$ and

$$\\sum_{i=1}^n i = \\start{cases}1 & x\\\\2\\end{cases}$$

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


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A notebook with outputs of a real kernel."""
    terminal = Terminal(tmp_path_factory.mktemp("ran"))
    file = terminal.root / "a.ipynb"
    cells = [v4.new_markdown_cell(TEXT), *map(v4.new_code_cell, SOURCES)]
    file.write_text(v4.writes_json(v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})))
    command = [program(), "run", file.name, "--keep-going"]
    ended = subprocess.run(command, cwd=terminal.root, env=terminal.home.environment(terminal.mark), check=False)
    assert ended.returncode == 1
    nothing_is_left(terminal.mark, terminal.home)
    notebook = v4.reads_json(file.read_text())
    notebook.cells.append(v4.new_code_cell("x", outputs=[SCRIPTED]))
    return v4.writes_json(notebook)


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


@pytest.mark.lasts(10)
async def test_an_export_is_valid_and_accessible(browser: Browser, terminal: Terminal, ran: str) -> None:
    (terminal.root / "a.ipynb").write_text(ran)
    page, _ = await new_page(browser)
    for options in [["--interactive"], ["--no-input"], []]:
        exported = terminal.root / f"a{''.join(options)}.html"
        ended = await terminal.run("export", "a.ipynb", "-o", exported.name, *options)
        assert ended.status == 0, ended.text
        await page.goto(exported.as_uri())
        assert await inaccessible(page) == [], options
    assert invalid(terminal.root.glob("*.html")) == []


async def test_a_report_is_valid_and_accessible(browser: Browser, terminal: Terminal) -> None:
    write(terminal.root / "a.ipynb", [("import time\nprint(time.time())", "1\n"), ("print(2)", "1\n"), ("1 / 0", "1\n")])
    await terminal.run("verify", "a.ipynb", "--html", "a.html")
    page, _ = await new_page(browser)
    await page.goto((terminal.root / "a.html").as_uri())
    assert invalid([terminal.root / "a.html"]) == []
    assert await inaccessible(page) == []


@pytest.mark.lasts(20)
async def test_the_page_is_valid_and_accessible(browser: Browser, machine: Machine, ran: str) -> None:
    machine.options = ("--ask", "delete")
    machine.file.write_text(ran)
    contents: list[Path] = []

    async def assert_usable(page: Page, part: str = "html") -> None:
        contents.append(machine.home.folder / f"{len(contents)}.html")
        contents[-1].write_text("<!doctype html>\n" + await page.evaluate("document.documentElement.outerHTML"))
        assert await inaccessible(page, part) == []
        await page.set_viewport_size(PHONE)
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        await page.set_viewport_size({"width": 1280, "height": 900})

    async with machine.server() as server, view(machine) as url:
        page, seen = await new_page(browser, 1280)
        await page.goto(url)
        await expect(page.locator("#notebooks")).to_contain_text(NOTEBOOK)
        await assert_usable(page)
        await page.get_by_role("link", name=NOTEBOOK).click()
        await server.call("use_notebook", notebook_name="n", notebook_path=NOTEBOOK)
        for source in ["table = 1", "table"]:
            await server.call("insert_execute_code_cell", cell_index=-1, cell_source=source)
        await server.call("overwrite_cell_source", cell_index=8, cell_source="table = 2")
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
            await assert_usable(page, "dialog[open]")
            await page.keyboard.press("Escape")
        assert seen.bad == []
    assert invalid(contents) == []
