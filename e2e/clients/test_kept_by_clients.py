"""Kernels outlive the real clients that start a server for each session, and end it in their own way."""

import os
import signal
from pathlib import Path

import pytest

from e2e.support.agents.python_sdk import python_agent
from e2e.support.kept_kernels import NOTEBOOK, Machine
from e2e.support.notebook_client import NotebookClient
from e2e.support.notebook_files import cell
from e2e.support.processes import kernels
from e2e.support.waiting import until


@pytest.mark.parametrize("is_stuck", [False, True], ids=["the server ends", "its process group is killed"])
async def test_the_next_client_finds_what_the_one_before_left(is_stuck: bool, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    opened, wait = machine.gate()
    async with python_agent(machine.launch()) as agent:
        client = NotebookClient(agent, machine.root, NOTEBOOK)
        await client.create()
        await client.do("execute_code", code="x = 41")
        cell_id = await client.insert(f"print('before', flush=True)\n{wait}\nprint('after')\nx + 1")
        await client.do("execute_cell", cell_id=cell_id, timeout=0.1)
        run = await client.run_of(cell_id)
        await client.until_printed(run, "before")
        [server], kept = machine.servers, (kernels(machine.mark), machine.keepers)
        if is_stuck:
            # The SDK kills the process group of a server that does not end when its input does.
            os.kill(server, signal.SIGSTOP)
    await until(lambda: machine.servers == [], "the server has ended")
    assert (kernels(machine.mark), machine.keepers) == kept
    opened.touch()
    async with python_agent(machine.launch()) as agent:
        client = NotebookClient(agent, machine.root, NOTEBOOK)
        found = await client.open()
        assert "from an earlier server" in found.text and f"run {run} of cell {cell_id}" in found.text
        ended = await client.wait(run)
        assert "before\nafter" in ended.text and "42" in ended.text
        await until(lambda: machine.printed(cell_id) == "before\nafter\n", "the outputs are in the file")
        [*_, result] = cell(client.notebook(), cell_id)["outputs"]
        assert "".join(result["data"]["text/plain"]) == "42"
        assert "[1, 41]" in (await client.do("execute_code", code="[1, x]")).text
    assert (kernels(machine.mark), machine.keepers) == kept
