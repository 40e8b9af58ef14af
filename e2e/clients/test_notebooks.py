"""Real MCP clients work in a notebook: each SDK in each era it speaks. What an SDK accepts, only that SDK shows."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


from e2e.support.agents.answer import Agent
from e2e.support.agents.python_sdk import python_agent
from e2e.support.agents.sdks import Sdk, each_client
from e2e.support.home import Home
from e2e.support.notebook_client import NotebookClient, id_in, notebook_client
from e2e.support.notebook_files import PIXEL, SHOW_PIXEL, printed, sources
from e2e.support.notebook_server import NotebookServer, launch

TOOLS = {
    "answer_input",
    "change_cell",
    "checkpoint",
    "clear_cell_output",
    "connect_to_jupyter",
    "copy_file",
    "copy_notebook",
    "delete_cell",
    "edit_cell_source",
    "edit_cells",
    "execute_cell",
    "execute_code",
    "get_run",
    "history",
    "insert_cell",
    "insert_execute_code_cell",
    "inspect_variable",
    "interrupt_kernel",
    "list_files",
    "list_kernels",
    "list_notebooks",
    "list_variables",
    "move_cell",
    "open_in_browser",
    "overwrite_cell_source",
    "read_cell",
    "read_notebook",
    "restart_notebook",
    "run_cells",
    "verify_notebook",
    "search_notebook",
    "undo",
    "unuse_notebook",
    "use_notebook",
}
COLAB_TOOLS = {"call_colab_tool", "open_colab_browser_connection"}
TOKENS = 5000


@asynccontextmanager
async def working(
    sdk: Sdk, transport: str, server: NotebookServer, home: Home, root: Path
) -> AsyncIterator[NotebookClient]:
    if transport == "http":
        async with sdk.connect(server.url, sdk.mode) as agent:
            yield NotebookClient(agent, server.root, f"{root.name}.ipynb")
    else:
        async with sdk.connect(launch(root, home), sdk.mode) as agent:
            yield NotebookClient(agent, root, "work.ipynb")


@each_client
async def test_a_client_creates_edits_and_runs_a_notebook(
    sdk: Sdk, transport: str, server: NotebookServer, home: Home, tmp_path: Path
) -> None:
    async with working(sdk, transport, server, home, tmp_path) as client:
        assert client.agent.revision == sdk.revision
        await _costs_little(client.agent)
        created = await client.create()
        assert client.path in created.text
        assert sources(client.notebook()) == []
        await _edits(client)
        await _runs(client)
        await _reads(client)
        await _resources(client)


async def _costs_little(agent: Agent) -> None:
    tools = await agent.tools()
    assert {tool["name"] for tool in tools} == TOOLS | COLAB_TOOLS
    message = [tool["name"] + tool["description"] + json.dumps(tool["inputSchema"]) for tool in tools]
    assert sum(len(each.encode()) for each in message) / 4 <= TOKENS


async def _edits(client: NotebookClient) -> None:
    code = await client.insert("x = 1\nprint(x)")
    await client.insert("# Title", "markdown")
    await client.insert("raw", "raw", cell_index=0)
    edited = await client.do("edit_cell_source", cell_id=code, old_string="x = 1", new_string="x = 'größer 🪐'")
    assert "-x = 1\n+x = 'größer 🪐'" in edited.text
    deleted = await client.do("delete_cell", cell_indices=[0])
    assert "deleted cell source:\nraw" in deleted.text
    assert sources(client.notebook()) == ["x = 'größer 🪐'\nprint(x)", "# Title"]


async def _runs(client: NotebookClient) -> None:
    ran = await client.do("execute_cell", cell_index=0)
    assert "größer 🪐" in ran.text and "[COMPLETED in" in ran.text
    assert printed(client.cell(0)) == "größer 🪐\n"
    picture = await client.run(SHOW_PIXEL)
    [image] = picture.images
    assert image["mimeType"] == "image/png" and base64.b64decode(image["data"]) == base64.b64decode(PIXEL)
    wrong = await client.fails("insert_execute_code_cell", cell_index=-1, cell_source="y = 3\nx / y")
    assert "Traceback" in wrong and "TypeError: unsupported operand" in wrong and "----> 2" in wrong
    both = await client.do("run_cells", **{"from": "0", "through": "2"})
    assert "größer 🪐" in both.text and len(both.images) == 1


async def _reads(client: NotebookClient) -> None:
    detailed = await client.do("read_notebook", response_format="detailed", include_outputs=True)
    assert "=====Cell 1 | type: markdown" in detailed.text
    assert "x / y" in detailed.text and "TypeError" in detailed.text and len(detailed.images) == 1


async def _resources(client: NotebookClient) -> None:
    templates = await client.agent.resource_templates()
    assert "notebook://{name}/cells/{cell_id}/outputs/{index}" in templates
    address = "notebook://" + client.path
    whole = await client.agent.read_resource(address)
    assert json.loads(whole["text"]) == client.notebook()
    picture = client.cell(2)
    source = await client.agent.read_resource(f"{address}/cells/{picture['id']}")
    assert source["text"] == SHOW_PIXEL
    blob = await client.agent.read_resource(f"{address}/cells/{picture['id']}/outputs/0")
    assert blob["mimeType"] == "image/png"
    assert base64.b64decode(blob["blob"]) == base64.b64decode(PIXEL)

    cited = await client.agent.prompt(
        "jupyter_cite", {"prompt": "Explain it", "cell_indices": "0-1", "notebook_name": client.path}
    )
    assert "USER Cite cells [0, 1]" in cited and "# Title" in cited
    assert cited.endswith("=====End of Cited Cells=====\nUSER's Instruction are follow: Explain it")


async def test_tool_names_of_published_prompts_still_work(server: NotebookServer, path: str) -> None:
    async with python_agent(server.url) as agent:
        client = NotebookClient(agent, server.root, path)
        await client.do("connect_notebook", notebook_path=path, mode="create")
        await client.do("append_markdown_cell", cell_source="# Text")
        assert "42" in (await client.do("append_execute_code_cell", cell_source="6 * 7")).text
        assert sources(client.notebook()) == ["# Text", "6 * 7"]
        assert "# Text" in (await client.do("list_cells")).text
        for name in ["read_cells", "read_all_cells"]:
            whole = await client.do(name)
            assert "=====Cell 1" in whole.text and "42" in whole.text
        assert "43" in (await client.do("execute_ipython", code="43")).text
        for name in ["execute_cell_simple_timeout", "execute_cell_streaming", "execute_cell_with_progress"]:
            assert "42" in (await client.do(name, cell_index=1, timeout_seconds=60)).text
        assert path in (await agent.call("list_notebook")).text
        assert path in (await agent.call("list_all_files", {"limit": 0})).text
        await client.do("switch_notebook", notebook_path=path)
        await client.do("disconnect_notebook")
        assert not {"list_cells", "connect_notebook"} & await agent.tool_names(), "older names are not listed"


async def test_a_plot_and_a_data_frame_arrive_as_an_image_and_a_compact_table(
    server: NotebookServer, path: str
) -> None:
    async with notebook_client(server, path) as client:
        plot = await client.run("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 3, 2]);")
        [image] = plot.images
        assert len(base64.b64decode(image["data"])) > 1000
        frame = await client.run("import pandas as pd\npd.DataFrame({'city': ['Ulm', 'Köln'], 'height': [478, 37]})")
        assert "Köln" in frame.text and "478" in frame.text and "<td>" not in frame.text
        [output] = client.cell(id_in(frame))["outputs"]
        assert set(output["data"]) == {"text/html", "text/plain"}, "the file keeps what the reply leaves out"
