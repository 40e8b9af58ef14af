"""Configurations for jupyter-mcp-server work unchanged; options of a vendor's cloud are refused."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.support.jupyter_program import fails_in_a_line, opens, reaching, started
from e2e.support.jupyter_server import JupyterServer, SharedServers, interpreter, jupyter_server
from e2e.support.lab_notebooks import write_notebook
from e2e.support.listener import listening

PASSWORD = "the person's own password"


@pytest.fixture(scope="module")
def notebook(jupyter: JupyterServer) -> str:
    """A notebook on the shared server."""
    write_notebook(jupyter.root / "configured.ipynb", "here = 'it is'")
    return "configured.ipynb"


@dataclass
class Configuration:
    """Options and environment of an existing user's configuration."""

    options: Callable[[JupyterServer], tuple[str, ...]] = lambda it: ()
    environment: Callable[[JupyterServer], dict[str, str]] = lambda it: {}


CONFIGURATIONS = {
    "environment": Configuration(environment=lambda it: {"JUPYTER_URL": it.url, "JUPYTER_TOKEN": it.token}),
    "options win": Configuration(
        reaching, lambda it: {"JUPYTER_URL": "http://127.0.0.1:1", "JUPYTER_TOKEN": "another"}
    ),
    "start": Configuration(lambda it: ("start", *reaching(it), "--transport", "stdio")),
    "two addresses": Configuration(
        lambda it: (
            *("--document-url", it.url, "--document-token", it.token, "--document-provider", "jupyter"),
            *("--code-sandbox-url", it.url, "--code-sandbox-token", it.token),
        )
    ),
    "older names": Configuration(
        lambda it: (
            *("--provider", "jupyter", "--document-url", it.url, "--document-token", it.token),
            *("--runtime-url", it.url, "--runtime-token", it.token, "--start-new-runtime", "true"),
        )
    ),
    "environment of older names": Configuration(
        environment=lambda it: {
            **{"PROVIDER": "jupyter", "DOCUMENT_URL": it.url, "DOCUMENT_TOKEN": it.token},
            **{"RUNTIME_URL": it.url, "RUNTIME_TOKEN": it.token, "START_NEW_RUNTIME": "false"},
        }
    ),
    "all that does nothing": Configuration(
        lambda it: (*reaching(it), "--jupyterlab", "True", "--open-notebook-in-ui", "False"),
        lambda it: {
            **{"TRANSPORT": "stdio", "PORT": "4040", "HOST": "127.0.0.1", "START_NEW_CODE_SANDBOX": "false"},
            **{"JUPYTERLAB": "true", "ALLOW_IMG_OUTPUT": "true", "RECONNECT_INTERVAL": "5", "OPEN_NOTEBOOK_IN_UI": "0"},
            **{"JUPYTER_MCP_EXECUTION_TIMEOUT": "60", "JUPYTER_MCP_MAX_EXECUTION_TIMEOUT": "600"},
            **{"DOCUMENT_PROVIDER": "jupyter", "JUPYTER_MCP_CAPABILITIES": "kernel.auto-restart"},
        },
    ),
    "unset as clients unset": Configuration(
        reaching,
        lambda it: {
            "DOCUMENT_URL": "",
            "DOCUMENT_TOKEN": "",
            "DOCUMENT_ID": "None",
            "CODE_SANDBOX_URL": "",
            "PORT": "",
        },
    ),
    "an unknown document": Configuration(lambda it: (*reaching(it), "--document-id", "missing.ipynb")),
}


@pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
async def test_existing_configurations_work(
    configuration: Configuration, jupyter: JupyterServer, notebook: str, tmp_path: Path
) -> None:
    given = configuration.environment(jupyter)
    async with started(tmp_path / "home", *configuration.options(jupyter), **given) as server:
        await opens(server, notebook)
        assert "42" in await server.call("execute_code", code="6 * 7")


async def test_the_configured_document_is_the_current_notebook(
    jupyter: JupyterServer, notebook: str, tmp_path: Path
) -> None:
    async with started(tmp_path / "home", *reaching(jupyter), "--document-id", notebook) as server:
        assert "here = 'it is'" in await server.call("read_cell", cell_index=0)


async def test_the_configured_kernel_is_used(jupyter: JupyterServer, notebook: str, tmp_path: Path) -> None:
    kernel = jupyter.ask("POST", "api/kernels", {"name": "python3"}).json()["id"]
    named = ("--document-id", notebook, "--code-sandbox-id", kernel, "--start-new-code-sandbox", "false")
    async with started(tmp_path / "home", *reaching(jupyter), *named) as server:
        assert "42" in await server.call("execute_code", code="6 * 7")
        assert kernel in await server.call("list_kernels")
    models = {each["id"]: each for each in jupyter.kernel_models()}
    assert kernel in models, "it is not ours to end"


async def test_images_can_be_turned_off(jupyter: JupyterServer, notebook: str, tmp_path: Path) -> None:
    shown = "display({'image/png': 'iVBORw0KGgo=', 'text/plain': 'a picture'}, raw=True)"
    given = {"ALLOW_IMG_OUTPUT": "false"}
    async with started(tmp_path / "home", *reaching(jupyter), **given) as server:
        await server.call("use_notebook", notebook_path=notebook)
        result = await server.ask("tools/call", {"name": "execute_code", "arguments": {"code": shown}})
        assert [block["type"] for block in result["content"]] == ["text"]


async def test_a_password_is_accepted(tmp_path: Path) -> None:
    hashed = _hashed(PASSWORD)
    options = (f"--PasswordIdentityProvider.hashed_password={hashed}",)
    with jupyter_server("rtc", tmp_path / "server", *options) as it:
        write_notebook(it.root / "x.ipynb", "here = 'it is'")
        given = {"JUPYTER_PASSWORD": PASSWORD, "JUPYTER_URL": it.url}
        async with started(tmp_path / "home", **given) as server:
            await opens(server, "x.ipynb")
            inserted = await server.call("insert_cell", cell_index=-1, cell_type="code", cell_source="written = 1")
            assert "saved to disk" in inserted
            assert "42" in await server.call("execute_code", code="6 * 7")
        async with started(tmp_path / "other", "--jupyter-url", it.url, "--jupyter-password", "wrong") as server:
            message = await fails_in_a_line(server)
            assert "password" in message.lower() and "wrong-password" not in message


def _hashed(password: str) -> str:
    command = [
        interpreter("rtc"),
        "-c",
        "import sys; from jupyter_server.auth import passwd; print(passwd(sys.argv[1]))",
    ]
    return subprocess.run([*command, password], check=True, capture_output=True, text=True).stdout.strip()


async def test_documents_and_kernels_on_two_servers_and_no_token_reaches_the_other(
    jupyter: JupyterServer, jupyter_servers: SharedServers, notebook: str, tmp_path: Path
) -> None:
    kernels = jupyter_servers["plain"]
    given = (
        *("--document-url", jupyter.url, "--document-token", jupyter.token),
        *("--code-sandbox-url", kernels.url, "--code-sandbox-token", kernels.token),
    )
    before = len(jupyter.kernel_models())
    async with started(tmp_path / "home", *given) as server:
        await opens(server, notebook)
        ran = await server.call("insert_execute_code_cell", cell_index=-1, cell_source="import os; os.getcwd()")
        assert str(kernels.root) in ran and "saved to disk" in ran
        assert len(jupyter.kernel_models()) == before
    refusal = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}"
    async with listening(refusal) as listener:
        for options in [
            (*reaching(jupyter), "--code-sandbox-url", listener.url, "--code-sandbox-token", "of-the-listener"),
            ("--document-url", jupyter.url, "--document-token", jupyter.token, "--code-sandbox-url", listener.url),
        ]:
            async with started(tmp_path / "home", *options) as server:
                await opens(server, notebook)
                await server.call("execute_code", code="1")
                await server.call("list_kernels")
        assert listener.received and jupyter.token not in listener.text
