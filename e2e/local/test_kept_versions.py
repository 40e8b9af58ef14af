"""Keepers outlive upgrades: a server works with the keeper of an earlier version, and leaves that of a later one alone."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from e2e.support import first_keeper
from e2e.support.kept_kernels import NOTEBOOK, Machine, begin, kill, until_printed
from e2e.support.notebook_files import write
from e2e.support.processes import kernels
from e2e.support.waiting import LONG, until

SOURCE = "x = 41\nprint('of the first version')"
# The run of a client that has gone.
RUN = "r7-frst"


async def test_a_server_works_with_a_keeper_of_the_first_version(machine: Machine) -> None:
    [cell_id] = write(machine.file, SOURCE)
    async with first(machine, cell_id) as record:
        async with machine.server() as server:
            text = await server.call("use_notebook", notebook_path=NOTEBOOK)
            assert "from an earlier server" in text and f"run {RUN} of cell {cell_id} ended well" in text
            assert "of the first version" in await server.call("get_run", run_id=RUN)
            await until(lambda: machine.printed(cell_id) == "of the first version\n", "the output is in the file")
            assert "42" in await server.call("execute_code", code="x + 1")
            listed = await server.call("list_kernels")
            assert record["id"] in listed and "1 server attached" in listed
            opened, wait = machine.gate()
            later, run = await begin(server, f"{wait}\nprint('later')")
            await kill(server)
        opened.touch()
        async with machine.server() as server:
            await server.call("use_notebook", notebook_path=NOTEBOOK)
            assert "later" in await server.call("get_run", run_id=run, wait_seconds=LONG)
            await until(lambda: machine.printed(later) == "later\n", "the output is in the file")
            endless, run = await begin(server, f"print('begun', flush=True)\n{machine.gate('never')[1]}")
            await until_printed(machine, server, endless, run, "begun")
            await server.call("interrupt_kernel", run_id=run)
            assert "[INTERRUPTED" in await server.call("get_run", run_id=run, wait_seconds=LONG)
            [before] = kernels(machine.mark)
            await server.call("restart_notebook")
            assert "NameError" in await server.call("execute_code", code="x")
            assert before not in kernels(machine.mark) and len(kernels(machine.mark)) == 1
        [listed] = json.loads(machine.kernels_command("--json"))
        assert (listed["id"], listed["state"], listed["keeper"]) == (record["id"], "idle", record["process"])
        assert f"{RUN} | of the first version" in machine.kernels_command("logs", record["id"])
        assert machine.kernels_command("stop", record["id"]) == f"stopped {record['id']}\n"
        assert not kernels(machine.mark) and not machine.folders


async def test_a_keeper_of_a_later_version_is_left_alone_and_the_run_says_so(machine: Machine) -> None:
    [cell_id] = write(machine.file, SOURCE)
    async with first(machine, cell_id, says=2) as later:
        [kernel], [folder] = kernels(machine.mark), machine.folders
        await until(lambda: has_ended(folder), "its own run is in its log")
        kept = {file: file.read_bytes() for file in folder.iterdir()}
        async with machine.server() as server:
            text = await server.call("use_notebook", notebook_path=NOTEBOOK)
            assert "earlier server" not in text and later["id"] not in text
            assert "its keeper is of another version of cellbridge (protocol 2, here 1)" in text
            assert "42" in await server.call("execute_code", code="6 * 7")
            assert "is not used" not in await server.call("execute_code", code="y = 1")
            assert later["id"] not in await server.call("list_kernels")
            server.end_input()
            await server.ended()
        async with machine.server() as server:
            # The notebook's kernel is the new one from now on.
            assert "from an earlier server" in await server.call("use_notebook", notebook_path=NOTEBOOK)
            ran = await server.call("execute_code", code="y + 1")
            assert "2" in ran and "is not used" not in ran
        assert {file: file.read_bytes() for file in folder.iterdir()} == kept
        listed = {each["id"]: each for each in json.loads(machine.kernels_command("--json"))}
        assert len(listed) == 2 and "of another version of cellbridge" in listed[later["id"]]["state"]
        # It ends only if a person asks for it.
        assert kernel in kernels(machine.mark)
        assert machine.kernels_command("stop", later["id"]) == f"stopped {later['id']}\n"
        assert kernel not in kernels(machine.mark)


def has_ended(folder: Path) -> bool:
    """Whether all that the kernel says about the run of the first keeper is in its log."""
    [log] = folder.glob("log.*")
    _, _, after = log.read_bytes().partition(b'"execute_input"')
    return b'"execute_reply"' in log.read_bytes() and b'"execution_state": "idle"' in after


@asynccontextmanager
async def first(machine: Machine, cell_id: str, **further: Any) -> AsyncIterator[dict[str, Any]]:
    """A keeper of the first version for the notebook, on which that cell has run; its record."""
    record = {
        "id": "0f1e2d3c-first",
        "program_version": "0.1.0",
        "choice": {
            "kernelspec": {
                "name": "python3",
                "resources": "",
                "argv": ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                "display_name": "Python 3 (ipykernel)",
                "language": "python",
                "env": {},
                "interrupt_mode": "Signal",
            },
            "program": sys.executable,
            "environment": {"prefix": sys.prefix, "interpreter": sys.executable},
        },
        "folder": str(machine.root),
        "notebook": str(machine.file),
        "runs": [{"run": RUN, "cell": cell_id, "source": SOURCE}],
        **further,
    }
    folder = machine.home.folder / "state/cellbridge/kernels/first"
    folder.parent.mkdir(mode=0o700, parents=True)
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, first_keeper.__file__, str(folder)],
        stdin=asyncio.subprocess.PIPE,
        env=machine.home.environment(machine.mark),
    )
    assert process.stdin
    process.stdin.write(json.dumps(record).encode())
    process.stdin.close()
    written = folder / "kernel.json"
    try:
        await until(lambda: written.exists() or process.returncode is not None, "it listens")
        yield json.loads(written.read_text())
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), LONG)
