"""The choice of a notebook's kernel: by language, by name, by the notebook's metadata, by the project."""

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.support.agents.node_sdk import node_modules
from e2e.support.agents.python_sdk import python_agent
from e2e.support.home import Home
from e2e.support.notebook_client import NotebookClient, id_in, notebook_client
from e2e.support.notebook_files import printed
from e2e.support.notebook_server import NotebookServer, notebook_server, running


async def test_notebooks_of_two_languages_run_side_by_side(server: NotebookServer) -> None:
    async with python_agent(server.url) as agent:
        python, bash = (
            NotebookClient(agent, server.root, "python.ipynb"),
            NotebookClient(agent, server.root, "bash.ipynb"),
        )
        await python.create()
        opened = await bash.create(kernel_name="bash")
        assert "bash" in opened.text and "starts with the first run" in opened.text

        for client, code, language in [
            (python, "import sys; print('from', sys.implementation.name)", "cpython"),
            (bash, "language=$0; echo from $(basename $BASH)", "bash"),
        ]:
            ran = await client.run(code)
            assert f"from {language}" in ran.text
            assert f"from {language}" in printed(client.cell(id_in(ran)))
        assert "bash" in (await bash.run("echo $language")).text, "variables stay"

        metadata = python.notebook()["metadata"]
        assert metadata["kernelspec"]["name"] == "python3"
        assert metadata["kernelspec"]["language"] == "python"
        assert metadata["language_info"]["name"] == "python"
        assert metadata["language_info"]["version"].startswith(f"{sys.version_info[0]}.")
        metadata = bash.notebook()["metadata"]
        assert metadata["kernelspec"] == {"name": "bash", "display_name": "Bash", "language": "bash"}
        assert metadata["language_info"]["name"] == "bash"
        assert metadata["language_info"]["file_extension"] == ".sh"

        kernels = (await agent.call("list_kernels")).text
        running, _, specs = kernels.partition("\n\n")
        assert {"bash", "python3"} <= {line.split("\t")[1] for line in running.splitlines()}
        assert {"bash", "python3", "failing"} <= {line.split("\t")[0] for line in specs.splitlines()}
        assert sys.prefix in specs, "the environment that is activated"


async def test_bash_lists_the_names_of_its_variables_between_two_runs(server: NotebookServer, path: str) -> None:
    async with python_agent(server.url) as agent:
        client = NotebookClient(agent, server.root, path)
        await client.create(kernel_name="bash")
        counted = id_in(await client.run("language=bash; my_token=hush"))
        listed = (await client.do("list_variables")).text
        names = [line.partition("\t")[0] for line in listed.splitlines()]
        assert {"language", "my_token"} <= set(names) and "PATH" not in names and "hush" not in listed, listed
        assert "\nenvironment: " in listed
        assert "PATH" in (await client.do("list_variables", pattern="PAT*", kinds="all")).text
        refused = await client.fails("inspect_variable", name="language")
        assert "can only list variables" in refused and "Run code that shows it" in refused
        opened = client.file.with_suffix(".gate")
        run = await client.start(f"echo started; while [ ! -e {opened.name} ]; do sleep 0.05; done")
        await client.until_printed(run, "started")
        assert "only while no cell is running" in await client.fails("list_variables")
        opened.touch()
        await client.wait(run)
        first, last = client.cell(counted), id_in(await client.run("echo $language"))
        assert client.cell(last)["execution_count"] == first["execution_count"] + 2, "the list is not counted"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the Deno kernel is installed for x86_64 alone")
async def test_a_result_that_the_kernel_publishes_after_idle_is_in_the_answer(
    server: NotebookServer, home: Home, path: str
) -> None:
    """Deno publishes a result and `idle` from two tasks, in either order."""
    deno = str(node_modules() / "@deno/linux-x64-glibc/deno")
    command = [deno, "jupyter", "--kernel", "--conn", "{connection_file}"]
    home.install("deno", command, language="typescript", interrupt_mode="message")
    async with python_agent(server.url) as agent:
        client = NotebookClient(agent, server.root, path)
        await client.create(kernel_name="deno")
        for _ in range(5):
            ran = await client.do("execute_code", code="1 + 1")
            assert "2" in ran.text.splitlines()[0] and "[COMPLETED in" in ran.text, ran.text
            printed_too = await client.do("execute_code", code="console.log('a line')")
            assert "a line" in printed_too.text, printed_too.text
            await client.do("restart_notebook")


async def test_an_error_of_another_language_is_an_error(server: NotebookServer, path: str) -> None:
    async with python_agent(server.url) as agent:
        client = NotebookClient(agent, server.root, path)
        await client.create(kernel_name="bash")
        assert "no-such-command" in await client.fails("execute_code", code="no-such-command")


def _make_environment(folder: Path) -> None:
    """An environment with ipykernel."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    [packages] = (folder / "lib").glob("python*/site-packages")
    for package in next(Path(sys.prefix, "lib").glob("python*/site-packages")).iterdir():
        (packages / package.name).symlink_to(package)


async def test_the_environment_of_the_project_is_used(home: Home, tmp_path: Path) -> None:
    _make_environment(tmp_path / ".venv")
    with notebook_server(tmp_path, home) as server:
        async with notebook_client(server, "notebook.ipynb") as client:
            assert f"{tmp_path}/.venv/bin/python" in (await client.open()).text, "it says which interpreter it is"
            assert f"{tmp_path}/.venv'" in (await client.run("import sys; sys.prefix")).text
        async with python_agent(server.url) as agent:
            notebooks = (await agent.call("list_notebooks")).text
            assert "notebook.ipynb" in notebooks and ".venv" not in notebooks


async def test_a_kernel_inherits_nothing_of_the_client(home: Home, tmp_path: Path) -> None:
    """Only a real process shows what it inherited. As some clients do, this one hides the activated environment."""
    _make_environment(tmp_path / ".venv")
    kept = {"OPENAI_API_KEY": "kept", "OWN": "kept"}
    removed = {"ANTHROPIC_API_KEY": "x", "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "x", "JUPYTER_TOKEN": "x"}
    hidden = {"VIRTUAL_ENV": "", "PATH": "/usr/bin:/bin"}
    environment = {**kept, **removed, **hidden, "CELLBRIDGE_KERNEL_ENV": "OPENAI_API_KEY,NOT_SET"}
    with running(NotebookServer(tmp_path, home, environment=environment)) as server:
        async with notebook_client(server, "notebook.ipynb") as client:
            await client.run("import json, os, sys\nprint(json.dumps([sys.prefix, dict(os.environ)]))")
            prefix, inherited = json.loads(printed(client.cell(0)))
    assert prefix == inherited["VIRTUAL_ENV"] == str(tmp_path / ".venv")
    assert kept.items() <= inherited.items()
    assert not removed.keys() & inherited.keys()
