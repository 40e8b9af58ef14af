"""What a large notebook costs on the page of `cellbridge view`: the time until its first cells are painted in Chromium, and the memory
of the process that serves the page.

`cargo xtask bench view` runs it with the program of the end-to-end tests' environment.
"""

import asyncio
import json
import re
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from nbformat import v4
from playwright.async_api import Browser, async_playwright

from e2e.support.browser import executable
from e2e.support.home import Home, new_mark

ROUNDS = 5
# The time from the navigation to the frame that has the first cell, in milliseconds.
WATCH = """
new MutationObserver((_, observer) => {
  if (!document.querySelector(".cb-cell")) return;
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""


def notebooks() -> dict[str, Any]:
    def code(number: int, text: str) -> Any:
        return v4.new_code_cell(f"print({number})", execution_count=number, outputs=[v4.new_output("stream", text=text)])

    picture = "iVBORw0KGgo" + "A" * 999_989
    pictures = [v4.new_output("display_data", {"image/png": picture}) for _ in range(100)]
    return {
        "1 cell": [code(1, "a line\n")],
        "1000 cells": [code(number, "a line of output\n" * 20) for number in range(1000)],
        "100 MB of text": [code(number, "0123456 789\n" * 83_334) for number in range(100)],
        "100 MB of pictures": [v4.new_code_cell(str(number), outputs=[output]) for number, output in enumerate(pictures)],
    }


def memory(pid: int, name: str) -> int:
    """In MB: `VmRSS` now, `VmHWM` at most."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) // 1000 if found else 0


async def painted(browser: Browser, url: str) -> float:
    """The time until the first cells are painted. Then all cells are scrolled through."""
    page = await browser.new_page(viewport={"width": 1280, "height": 900})
    await page.add_init_script(WATCH)
    await page.goto(url)
    while not (time := await page.evaluate("window.painted")):
        await asyncio.sleep(0.02)
    cells = page.locator(".v-cell")
    for index in range(0, await cells.count(), 10):
        await cells.nth(index).evaluate("cell => cell.scrollIntoView()")
        await page.wait_for_timeout(100)
    await page.close()
    return time


async def measure(program: str, browser: Browser, folder: Path, name: str, cells: list[Any]) -> None:
    home, root = Home(folder / "home"), folder / "root"
    home.folder.mkdir(parents=True)
    root.mkdir()
    # Text is a string, not a list of lines, so that the file is as large as its outputs.
    (root / "a.ipynb").write_text(json.dumps(v4.new_notebook(cells=cells)))
    times, served = [], [program, "view", "--foreground", "--no-browser", "a.ipynb"]
    for _ in range(ROUNDS):
        process = await asyncio.create_subprocess_exec(
            *served, env=home.environment(new_mark()), cwd=root, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout
        url = (await process.stdout.readline()).decode().strip()
        times.append(await painted(browser, url))
        resident, most = memory(process.pid, "VmRSS"), memory(process.pid, "VmHWM")
        process.terminate()
        await process.wait()
    times.sort()
    print(f"| {name} | {statistics.median(times):.0f} / {times[-1]:.0f} | {resident} | {most} |", flush=True)


async def main() -> None:
    [program] = sys.argv[1:]
    print("| | first paint, ms: median / longest | memory after it was scrolled through, MB | at most |")
    print("|---|---|---|---|")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox", "--disable-gpu"])
        for name, cells in notebooks().items():
            with tempfile.TemporaryDirectory() as folder:
                await measure(program, browser, Path(folder), name, cells)
        await browser.close()


asyncio.run(main())
