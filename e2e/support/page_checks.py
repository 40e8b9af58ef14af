"""What a page must be for everybody: valid HTML, and usable with a screen reader, in each theme and at each width."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from playwright.async_api import Frame, Page

from e2e.support.agents.node_sdk import node, node_modules

PHONE = {"width": 360, "height": 800}

VALIDATE = """
const { HtmlValidate, StaticConfigLoader } = require("html-validate");
const checker = new HtmlValidate(new StaticConfigLoader({ root: true, extends: ["html-validate:standard"] }));
(async () => {
  for (const file of process.argv.slice(1)) {
    for (const { messages } of (await checker.validateFile(file)).results)
      for (const { line, column, ruleId, message } of messages) console.log(`${file}:${line}:${column} ${ruleId}: ${message}`);
  }
})();
"""
SERIOUS = """async (part) => {
  const { violations } = await axe.run(part, { resultTypes: ["violations"] });
  return violations.filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, any }) => `${html} ${any.map(({ message }) => message)}`).join("\\n  ")}`);
}"""


def invalid(files: Iterable[Path]) -> list[str]:
    """What a checker finds in HTML files."""
    environment = {**os.environ, "NODE_PATH": str(node_modules())}
    command = [node(), "--eval", VALIDATE, "--", *map(str, files)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return ended.stdout.splitlines()


async def inaccessible(page: Page, part: str = "html") -> list[str]:
    """What axe finds that is serious or critical in a part of a page: in the light theme at the page's width, and in the dark one at a
    phone's. Themes differ in nothing but colours, widths in nothing but places."""
    size, found = page.viewport_size, []
    assert size
    for theme, width in [("dark", PHONE), ("light", size)]:
        await page.set_viewport_size(width)
        await page.emulate_media(color_scheme=theme)
        found += [f"{theme}, {width['width']} pixels: {problem}" for problem in await serious(page, part)]
    return found


async def serious(shown: Page | Frame, part: str = "html") -> list[str]:
    """What axe finds that is serious or critical in a page as it is."""
    if await shown.evaluate("typeof axe") == "undefined":
        await shown.evaluate((node_modules() / "axe-core/axe.min.js").read_text())
    return await shown.evaluate(SERIOUS, part)
