"""Makes the README's picture: JupyterLab with a notebook that an agent has edited and run.

Not part of the suite, because it writes into the repository. Run it with
`cargo xtask e2e -- e2e/session_picture.py -n 0`."""

import sys
from pathlib import Path

from e2e.support.home import Home
from e2e.support.jupyter_program import jupyter_notebook, jupyter_program
from e2e.support.jupyter_server import jupyter_server
from e2e.support.jupyterlab import lab
from e2e.support.lab_notebooks import write_notebook
from e2e.support.program import REPOSITORY

PICTURE = REPOSITORY / "docs/images/session.png"

LOAD = """\
import pandas as pd
cities = pd.DataFrame({
    "city": ["Bergen", "Lisbon", "Cairo"],
    "rain": [2495, 725, 18],
    "sun": [1187, 2806, 3451],
}).set_index("city")
cities"""
PLOT = """\
axes = cities.plot.bar(figsize=(6, 2.6), rot=0, xlabel="", ylabel="per year",
                       color={"rain": "tab:blue", "sun": "tab:orange"})
axes.legend(["rain (mm)", "sun (h)"]);"""


async def test_session_picture(tmp_path: Path) -> None:
    with jupyter_server("rtc", tmp_path / "server", has_lab=True) as server:
        _install_kernel(server.home)
        # The person's notebook, before the agent comes.
        path = "weather.ipynb"
        write_notebook(server.root / path, "# Which city has the most sun?")
        with jupyter_program(server, tmp_path / "home") as program:
            async with (
                lab(server, path, device_scale_factor=1.5) as person,
                jupyter_notebook(program, path, create=False) as client,
            ):
                await person.page.keyboard.press("Control+b")
                await person.page.get_by_role("button", name="No", exact=True).click()
                await client.open(kernel_name="analysis")
                await client.insert("# Which city has the most sun?", cell_type="markdown", cell_index=0)
                # JupyterLab would add an empty cell to a notebook without any.
                await client.do("delete_cell", cell_indices=[1])
                await client.run(LOAD)
                await client.run(PLOT)
                await client.insert("**Cairo**: 3451 hours of sun and 18 mm of rain per year.", cell_type="markdown")
                await person.sees_output(1, "Cairo")
                await person.cell(2).locator(".jp-OutputArea img").wait_for()
                await person.page.set_viewport_size({"width": 1100, "height": 860})
                PICTURE.parent.mkdir(exist_ok=True)
                await person.page.screenshot(path=PICTURE)


def _install_kernel(home: Home) -> None:
    """A kernel with pandas and matplotlib, which the server's own environment lacks."""
    launch = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    home.install("analysis", launch, display_name="Python 3 (analysis)", language="python")
