"""One server for a folder and a Jupyter server: both are worked on in one session, by the names that replies show.

No cheaper test shows it, because only a real server keeps a notebook and runs its kernel beside one of this machine."""

from pathlib import Path


from e2e.support.agents.python_sdk import python_agent
from e2e.support.home import Home, new_mark
from e2e.support.jupyter_program import reaching
from e2e.support.jupyter_server import JupyterServer
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_files import read_saved, read_valid, sources
from e2e.support.program import Launch
from e2e.support.waiting import until


async def test_a_folder_and_a_server_are_worked_on_in_one_session(
    jupyter: JupyterServer, path: str, tmp_path: Path
) -> None:
    folder, home = tmp_path / "folder", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    # The same path in both places.
    write_notebook(folder / path, "where = 'folder'")
    write_notebook(jupyter.root / path, "where = 'server'")
    options = (*reaching(jupyter), "--no-browser", "--root", str(folder))
    async with python_agent(Launch(options, Home(home).environment(new_mark()), command=(), folder=home)) as agent:
        listed = (await agent.call("list_notebooks")).text
        names = [row.split("\t")[1].strip() for row in listed.splitlines() if path in row]
        assert sorted(names) == sorted([path, f"local:{path}"]), listed
        for name, place in [(path, "server"), (f"local:{path}", "folder")]:
            assert f"where = '{place}'" in (await agent.call("read_notebook", {"notebook_name": name})).text
            given = {"notebook_name": name, "cell_index": -1, "cell_source": "where + '!'"}
            # The cell above has not run.
            await agent.call("execute_cell", {"notebook_name": name, "cell_index": 0})
            ran = await agent.call("insert_execute_code_cell", given)
            assert not ran.is_error and f"{place}!" in ran.text and name in ran.text, ran.text
        assert sources(read_valid(folder / path)) == ["where = 'folder'", "where + '!'"]
        saved = jupyter.root / path
        await until(lambda: sources(read_saved(saved)) == ["where = 'server'", "where + '!'"], "the server saves it")
        # Both kernels are listed, each for its own notebook.
        kernels = (await agent.call("list_kernels")).text
        assert jupyter.session_of(path)["kernel"]["id"] in kernels, kernels
        shown = (await agent.call("read_notebook", {"notebook_name": f"jupyter:{path}"})).text
        assert shown.startswith(f"Notebook {path} has 2 cells"), shown
