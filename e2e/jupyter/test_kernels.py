"""Kernels of a Jupyter server: existing ones are used, new ones are sessions, dead ones are reported. Only real servers show
in which order they say what happens to a kernel.

Kernels of a server without jupyter-collaboration are reached as those of one with it; a test is left out where the code and the
server do the same as on another place."""

import asyncio
import os
import re
import signal

from e2e.support.agents.python_sdk import python_agent
from e2e.support.jupyter_program import is_on_disk, jupyter_notebook
from e2e.support.jupyter_server import JupyterServer
from e2e.support.kernel_channels import listener
from e2e.support.lab_notebooks import write_notebook
from e2e.support.notebook_client import NotebookClient, gate, id_in, run_in
from e2e.support.notebook_files import printed
from e2e.support.notebook_server import NotebookServer
from e2e.support.places import INSIDE, JSD, RTC, at, fixtures_of
from e2e.support.waiting import LONG, until


place, form, mode = fixtures_of(RTC, JSD, INSIDE)


async def _process(client: NotebookClient) -> int:
    """The process of the notebook's kernel."""
    answer = await client.do("execute_code", code="import os; print('pid', os.getpid())")
    found = re.search(r"pid (\d+)", answer.text)
    assert found, answer.text
    return int(found[1])


@at(RTC)
async def test_the_kernel_of_an_open_notebook_is_joined(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    write_notebook(jupyter.root / path)
    session = jupyter.start_session(path)
    async with jupyter_notebook(mcp_server, path, create=False) as client:
        opened = await client.open()
        assert session["kernel"]["id"] in opened.text
        await client.do("execute_code", code="mine = 'kept'")
        assert jupyter.session_of(path)["id"] == session["id"]
        # A kernel of somebody else's is not ended.
        await client.do("unuse_notebook")
        assert jupyter.session_of(path)["kernel"]["id"] == session["kernel"]["id"]
        await client.open()
        assert "kept" in (await client.do("execute_code", code="mine")).text


@at(RTC, INSIDE)
async def test_the_first_run_starts_a_kernel_in_a_session(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        await client.insert("1")
        await client.do("read_notebook")
        await client.do("list_kernels")
        assert [each for each in jupyter.sessions() if each["path"] == path] == []
        await client.do("execute_cell", cell_index=0)
        session = jupyter.session_of(path)
        assert session["type"] == "notebook" and session["kernel"]["name"] == "python3"
        kernel = session["kernel"]["id"]
        assert kernel in (await client.do("list_kernels")).text
        assert "Its kernel" in (await client.do("unuse_notebook")).text
        assert kernel not in [each["id"] for each in jupyter.kernel_models()]


@at(JSD, INSIDE)
async def test_runs_end_while_others_listen_to_the_kernel(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        await client.do("execute_code", code="mine = 1")
        # jupyter-server-documents has the kernel answer whoever connected last.
        kernel = jupyter.session_of(path)["kernel"]["id"]
        async with listener(jupyter, kernel):
            for _ in range(2):
                message = (await client.do("execute_code", code="print('out'); mine + 1", timeout=LONG)).text
                assert "out" in message and "2" in message and "[COMPLETED in" in message
                assert "ZeroDivisionError" in await client.fails("execute_code", code="1 / 0", timeout=LONG)
            go_on, wait = gate(client)
            run = await client.start(f"print('started', flush=True)\n{wait}\nprint('ended')")
            async with listener(jupyter, kernel, "control"):
                go_on.touch()
                message = (await client.ended(run)).text
                assert "ended" in message and "[COMPLETED in" in message
        assert "2" in (await client.do("execute_code", code="mine + 1", timeout=LONG)).text


@at(RTC, JSD)
async def test_new_and_chosen_kernels(mcp_server: NotebookServer, jupyter: JupyterServer, path: str) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        await client.do("execute_code", code="mine = 1")
        first = jupyter.session_of(path)["kernel"]["id"]
        await client.open(kernel_id="NEW")
        assert "NameError" in await client.fails("execute_code", code="mine")
        second = jupyter.session_of(path)["kernel"]["id"]
        assert second != first
        theirs = jupyter.ask("POST", "api/kernels", {"name": "python3"}).json()["id"]
        await client.open(kernel_id=theirs)
        assert "2" in (await client.do("execute_code", code="1 + 1", timeout=LONG)).text
        assert jupyter.session_of(path)["kernel"]["id"] == theirs
        assert "no-such-kernel" in await client.fails("use_notebook", notebook_path=path, kernel_id="no-such-kernel")
        assert "no-such-spec" in await client.fails("use_notebook", notebook_path=path, kernel_name="no-such-spec")


@at(RTC, INSIDE)
async def test_a_kernel_is_used_without_a_notebook(mcp_server: NotebookServer, jupyter: JupyterServer) -> None:
    kernel = jupyter.ask("POST", "api/kernels", {"name": "python3"}).json()["id"]
    async with python_agent(mcp_server.url) as agent:
        answer = await agent.call("execute_code", {"code": "6 * 7", "kernel_id": kernel})
        assert not answer.is_error and "42" in answer.text


async def test_a_kernel_killed_mid_run_is_reported_and_the_next_run_works(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        process = await _process(client)
        _, wait = gate(client)
        cell = await client.insert(f"print('before', flush=True)\n{wait}")
        running = asyncio.create_task(client.fails("execute_cell", cell_id=cell, progress_interval=0.1))
        await until(lambda: client.has_progress("before"), "the run has started", during=running)
        os.kill(process, signal.SIGKILL)
        message = await running
        assert "[KERNEL DIED" in message and "before" in message
        assert printed(client.cell(cell)) == "before\n"
        again = await client.do("execute_code", code="print('again')")
        assert "again" in again.text and "[COMPLETED in" in again.text


@at(RTC, INSIDE)
async def test_a_kernel_deleted_by_a_person_is_reported_and_replaced(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        await client.do("execute_code", code="1")
        run = await client.start(gate(client)[1])
        gone = jupyter.session_of(path)["kernel"]["id"]
        assert jupyter.ask("DELETE", f"api/kernels/{gone}").status_code == 204
        # The server interrupts a kernel before it ends it, so the kernel may still report that.
        ended = (await client.ended(run)).text
        assert "[KERNEL DIED" in ended or "KeyboardInterrupt" in ended, ended
        assert "2" in (await client.do("execute_code", code="1 + 1", timeout=LONG)).text
        assert jupyter.session_of(path)["kernel"]["id"] != gone


@at(RTC, JSD)
async def test_a_kernel_deleted_without_a_status_message_is_reported(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        process = await _process(client)
        _, run = await client.begin_at_gate()
        os.kill(process, signal.SIGSTOP)
        kernel = jupyter.session_of(path)["kernel"]["id"]
        deleted = await asyncio.to_thread(jupyter.ask, "DELETE", f"api/kernels/{kernel}")
        assert deleted.status_code == 204
        assert "[KERNEL DIED" in (await client.ended(run)).text


async def test_a_person_restarts_the_kernel_mid_run(
    mcp_server: NotebookServer, jupyter: JupyterServer, path: str
) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        await client.do("execute_code", code="mine = 1")
        run = await client.start(gate(client)[1])
        kernel = jupyter.session_of(path)["kernel"]["id"]
        assert jupyter.ask("POST", f"api/kernels/{kernel}/restart").is_success
        message = (await client.ended(run)).text
        # The server interrupts it first. This one can also drop what the kernel says, so that nothing tells that the run had started.
        is_lost = jupyter.form == "jsd" and "[LOST: a new process replaced the kernel" in message
        assert is_lost or "[KERNEL DIED" in message or "KeyboardInterrupt" in message, message
        assert "It continues" not in message
        after = await client.call("execute_code", code="mine", timeout=LONG if jupyter.form == "rtc" else 10)
        async with asyncio.timeout(LONG):
            while jupyter.form == "jsd" and "NameError" not in after.text:
                # It can drop a request that comes while the kernel starts, or end the run before it reports the new process.
                if "It continues" in after.text:
                    await client.do("interrupt_kernel", run_id=run_in(after))
                else:
                    assert "[LOST" in after.text or "its earlier variables are gone" in after.text, after.text
                after = await client.call("execute_code", code="mine", timeout=10)
        assert "NameError" in after.text, after.text
        assert jupyter.session_of(path)["kernel"]["id"] == kernel


@at(RTC, INSIDE)
async def test_input_is_asked_for_and_answered(mcp_server: NotebookServer, path: str) -> None:
    async with jupyter_notebook(mcp_server, path) as client:
        waiting = await client.run("name = input('Name? '); print('Hello', name)")
        assert "WAITING FOR INPUT" in waiting.text and "Name?" in waiting.text
        await client.do("answer_input", run_id=run_in(waiting), value="Ada")
        ended = await client.wait(run_in(waiting))
        assert "Hello Ada" in ended.text and is_on_disk(ended)
        assert "Hello Ada" in printed(client.cell(id_in(waiting)))
