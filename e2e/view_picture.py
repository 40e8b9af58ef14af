"""Makes the pictures of `cellbridge view`: a session of an agent as its person sees it, and a question that waits.

Not part of the suite, because it writes into the repository. Run it with
`cargo xtask e2e -- e2e/view_picture.py -n 0`."""

import asyncio
import io
from pathlib import Path

from PIL import Image
from playwright.async_api import Page, expect

from e2e.session_picture import LOAD, PLOT
from e2e.support.kept_kernels import Machine
from e2e.support.live_page import chromium, opened, view
from e2e.support.program import REPOSITORY
from e2e.support.stdio_client import stdio_client

PICTURES = REPOSITORY / "docs/images"
NOTEBOOK = "weather.ipynb"
TREND = """\
import time
for year in range(1990, 2025):
    print(f"\\rfitting {year}", end="")
    time.sleep(0.1)
input(" Which city is next? ")"""


async def picture(page: Page, name: str, *, height: int) -> None:
    """The upper part of the page, in few enough colours for a small file."""
    shot = await page.screenshot(clip={"x": 0, "y": 0, "width": 1280, "height": height})
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(128).save(PICTURES / name, optimize=True)


async def test_pictures_of_the_page(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "--ask", "delete")
    try:
        async with (
            stdio_client(machine.launch(), own_group=True) as agent,
            view(machine) as url,
            chromium() as browser,
        ):
            await agent.initialize("claude-code")
            await agent.call("use_notebook", notebook_name="weather", notebook_path=NOTEBOOK, mode="create")
            await agent.call("insert_cell", cell_index=0, cell_type="markdown", cell_source="# Which city has the most sun?")
            await agent.call("insert_execute_code_cell", cell_index=1, cell_source=LOAD)
            # What the README shows beside the picture.
            print(await agent.call("insert_execute_code_cell", cell_index=2, cell_source=PLOT))
            await agent.call("insert_cell", cell_index=3, cell_type="markdown", cell_source="**Cairo**: 3451 hours of sun per year.")
            page, _ = await opened(browser, f"{url}&notebook={NOTEBOOK}")
            await page.set_viewport_size({"width": 1280, "height": 860})
            # The folder of the pictures is nobody's.
            await page.evaluate("document.getElementById('root').textContent = '/home/ada/weather'")
            question = asyncio.create_task(agent.call("delete_cell", cell_indices=[3]))
            await expect(page.locator(".v-question")).to_contain_text("Cairo")
            await expect(page.locator(".v-cell img")).to_be_visible()
            await picture(page, "view-question.png", height=560)
            await page.get_by_role("button", name="Decline").click()
            await question
            await agent.call("overwrite_cell_source", cell_index=1, cell_source=LOAD.replace("2495", "2250"))
            running = asyncio.create_task(agent.call("insert_execute_code_cell", cell_index=4, cell_source=TREND))
            await expect(page.locator("#runs")).to_contain_text("waits for input")
            await page.locator(".v-stale").first.wait_for()
            await page.locator("#said").evaluate("said => said.textContent = ''")
            await page.evaluate("scrollTo(0, 0)")
            await picture(page, "view.png", height=860)
            await page.locator("#runs").get_by_role("button", name="Interrupt").click()
            await running
    finally:
        machine.end()
