"""Files of a folder, where only a kernel or the system shows it: other programs' changes during a run, and folders that cannot be read."""

from e2e.support.agents.python_sdk import python_agent
from e2e.support.notebook_client import notebook_client
from e2e.support.notebook_files import printed, sources, write
from e2e.support.notebook_server import NotebookServer


async def test_another_program_s_changes_during_a_run_are_kept(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        await client.insert("a")
        await client.insert("b")
        change = f"""
import nbformat
notebook = nbformat.read({client.file.name!r}, as_version=nbformat.NO_CONVERT)
notebook.cells[0].source = 'changed by a run'
nbformat.write(notebook, {client.file.name!r})
print('done')
"""
        await client.run(change)
        assert sources(client.notebook())[:2] == ["changed by a run", "b"]
        assert printed(client.cell(2)) == "done\n"


async def test_unreadable_folders_are_listed_too(server: NotebookServer, path: str) -> None:
    folder = server.root / path.removesuffix(".ipynb")
    (folder / "deep").mkdir(parents=True)
    (folder / "closed").mkdir(mode=0)
    write(folder / "deep/one.ipynb", "1")
    try:
        async with python_agent(server.url) as agent:
            listed = (await agent.call("list_files", {"path": folder.name, "max_depth": 3, "limit": 0})).text
            rows = dict(line.split("\t")[:2] for line in listed.splitlines() if line.startswith(f"{folder.name}/"))
            assert rows[f"{folder.name}/closed"].startswith("error"), listed
            assert rows[f"{folder.name}/deep/one.ipynb"] == "notebook", listed
            assert f"{folder.name}/deep/one.ipynb" in (await agent.call("list_notebooks")).text
    finally:
        (folder / "closed").chmod(0o700)
