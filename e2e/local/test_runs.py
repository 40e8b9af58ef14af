"""Runs outlive their clients, report progress, and can be cancelled and answered."""

import asyncio
from pathlib import Path

import pytest

from e2e.support.agents.node_sdk import node_agent
from e2e.support.agents.python_sdk import python_agent
from e2e.support.home import Home
from e2e.support.notebook_client import NotebookClient, gate, notebook_client, run_in, shared_notebook
from e2e.support.notebook_files import Json, printed
from e2e.support.notebook_server import NotebookServer, launch, notebook_server
from e2e.support.waiting import until

MODERN = "2026-07-28"


def _prints(client: NotebookClient, text: str, index: int = -1) -> bool:
    cells: list[Json] = client.notebook()["cells"]
    return bool(cells) and text in printed(cells[index])


async def test_nothing_is_lost_when_a_client_vanishes_mid_run(server: NotebookServer) -> None:
    async with shared_notebook(server) as client:
        opened, wait = gate(client)
        cell = await client.insert(f"print('early', flush=True)\n{wait}\nprint('late')")
        async with node_agent("sdk_v2.mjs", server.url) as agent:
            vanishing = NotebookClient(agent, server.root, client.path)
            running = asyncio.create_task(vanishing.do("execute_cell", cell_id=cell))
            await until(lambda: _prints(client, "early"), "the run has started", during=running)
            agent.vanish()
            with pytest.raises(AssertionError, match="the Node client ended"):
                await running
        run = await client.run_of(cell)
        opened.touch()
        ended = await client.wait(run)
        assert "late" in ended.text and "[COMPLETED in" in ended.text
        assert printed(client.cell(cell)) == "early\nlate\n"


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_a_cancelled_call_interrupts_only_if_requested(mode: str, home: Home, tmp_path: Path) -> None:
    async with python_agent(launch(tmp_path, home), mode) as agent:
        client = NotebookClient(agent, tmp_path, "cancelled.ipynb")
        await client.create()
        opened, wait = gate(client)

        async def cancelled(source: str, **given: bool) -> str:
            cell = await client.insert(source)
            running = asyncio.create_task(client.do("execute_cell", cell_id=cell, **given))
            await until(lambda: _prints(client, "started"), "the run has started", during=running)
            running.cancel()
            await asyncio.wait([running])
            return cell

        going_on = await cancelled(f"print('started', flush=True)\n{wait}\nprint('ended')")
        opened.touch()
        ended = await client.wait(await client.run_of(going_on))
        assert "ended" in ended.text and "[COMPLETED in" in ended.text
        assert printed(client.cell(going_on)) == "started\nended\n"

        _, wait = gate(client, "never")
        stopped = await cancelled(f"print('started', flush=True)\n{wait}", interrupt_on_cancel=True)
        assert "[INTERRUPTED" in (await client.wait(await client.run_of(stopped))).text
        assert client.cell(stopped)["outputs"][-1]["ename"] == "KeyboardInterrupt"


async def test_a_timeout_interrupts_if_requested(server: NotebookServer) -> None:
    async with shared_notebook(server) as client:
        _, wait = gate(client)
        await client.do("execute_code", code="'the kernel is up'")
        given = {"cell_index": -1, "cell_source": wait, "timeout": 2, "interrupt_on_timeout": True}
        message = await client.fails("insert_execute_code_cell", **given)
        assert "[INTERRUPTED" in message and "KeyboardInterrupt" in message


async def test_progress_contains_the_time_and_the_last_line(server: NotebookServer) -> None:
    async with shared_notebook(server) as client:
        opened, wait = gate(client)
        code = f"print('step 1\\nstep 2', flush=True)\n{wait}"
        running = asyncio.create_task(client.run(code, progress_interval=0.1))
        await until(
            lambda: any("step 2" in str(message) for *_, message in client.agent.progress), "progress has the line"
        )
        opened.touch()
        ran = await running
        text = [message or "" for _, _, message in ran.progress]
        assert text[-1].endswith("step 2"), text
        assert all(" s" in message for message in text)
        moments = [moment for moment, _, _ in ran.progress]
        assert moments == sorted(moments) and len(set(moments)) == len(moments)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_the_person_behind_the_agent_answers_input(server: NotebookServer, mode: str) -> None:
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return f"answer {len(asked)}"

    async with shared_notebook(server, answer, mode) as client:
        ran = await client.run("first = input('Name? ')\nprint(first, '&', input('And? '))")
        assert [question.splitlines()[1:] for question in asked] == [
            ["The code asks:", "    Name?"],
            ["The code asks:", "    And?"],
        ]
        assert "answer 1 & answer 2" in ran.text and "[COMPLETED in" in ran.text
        assert len(client.notebook()["cells"]) == 1, "a repeated call does nothing twice"


async def test_a_person_is_not_asked_for_a_secret(server: NotebookServer) -> None:
    def never(question: str) -> str:
        raise AssertionError(question)

    async with shared_notebook(server, never) as client:
        waiting = await client.run("import getpass\nlen(getpass.getpass('Token? '))")
        assert "WAITING FOR INPUT" in waiting.text and "Token?" in waiting.text and "secret" in waiting.text
        ended = await client.do("answer_input", run_id=run_in(waiting), value="hunter2")
        assert "7" in ended.text and "hunter2" not in ended.text
        assert "hunter2" not in client.file.read_text()
        logs = [log for folder in server.home.keeper_folders for log in folder.glob("log.*")]
        assert logs and not any(b"hunter2" in log.read_bytes() for log in logs)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_looking_at_a_run_asks_nobody(server: NotebookServer, mode: str) -> None:
    """Only a real kernel waits for a line, which would run code; whoever may only read may look."""
    async with shared_notebook(server) as client:
        run = run_in(await client.run("input('Name? ')"))

        def never(question: str) -> str:
            raise AssertionError(question)

        async with python_agent(server.url, mode, never) as looking:
            answer = await looking.call("get_run", {"run_id": run, "wait_seconds": 1})
            assert "WAITING FOR INPUT" in answer.text
        await client.do("answer_input", run_id=run, value="ada")


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_the_person_is_asked_before_code_runs(home: Home, tmp_path: Path, mode: str) -> None:
    """With a client as it is in use, and a kernel that shows how often the code ran."""
    asked: list[str] = []

    def accept_two(question: str) -> str | None:
        asked.append(question)
        return "yes" if len(asked) <= 2 else None

    with notebook_server(tmp_path, home, "--ask", "run") as server:
        async with notebook_client(server, "asked.ipynb", accept_two, mode) as client:
            cell = await client.insert("count = globals().get('count', 0) + 1\nprint('run', count)")
            assert asked == [], "only what runs is asked about"
            for number in (1, 2):
                assert f"run {number}\n" in (await client.do("execute_cell", cell_id=cell)).text
            assert "print('run', count)" in asked[0] and "asked.ipynb" in asked[0]
            assert "The person declined" in await client.fails("execute_cell", cell_id=cell)
            assert printed(client.cell(cell)) == "run 2\n"
            assert len(asked) == 3


async def test_an_agent_answers_input_if_no_person_can(server: NotebookServer) -> None:
    async with shared_notebook(server) as client:
        waiting = await client.run("print(input('Name? ') * 2)\nprint(input())")
        assert "WAITING FOR INPUT" in waiting.text and "Name? " in waiting.text and "answer_input(" in waiting.text
        run = run_in(waiting)
        again = await client.do("answer_input", run_id=run, value="ada")
        assert "adaada" in again.text and "WAITING FOR INPUT" in again.text
        ended = await client.do("answer_input", run_id=run, value="last")
        assert "last" in ended.text and "[COMPLETED in" in ended.text
        assert "is not waiting for input" in await client.fails("answer_input", run_id=run, value="more")


async def test_a_person_who_declines_leaves_the_question_to_the_agent(server: NotebookServer) -> None:
    async with shared_notebook(server, lambda _: None) as client:
        waiting = await client.run("print(input('Name? '))")
        assert "WAITING FOR INPUT" in waiting.text
        assert "ada" in (await client.do("answer_input", run_id=run_in(waiting), value="ada")).text


async def test_input_can_be_interrupted(server: NotebookServer) -> None:
    async with shared_notebook(server) as client:
        waiting = await client.run("input('Name? ')")
        assert "it has ended" in (await client.do("interrupt_kernel", run_id=run_in(waiting))).text
        assert "[INTERRUPTED" in (await client.do("get_run", run_id=run_in(waiting))).text
        assert "2" in (await client.do("execute_code", code="1 + 1")).text


async def test_a_client_without_a_session_ends_its_kernel(server: NotebookServer, path: str) -> None:
    async with python_agent(server.url, MODERN) as agent:
        client = NotebookClient(agent, server.root, path)
        await client.create()
        before = set(server.kernels)
        await client.do("execute_code", code="1")
        [kernel] = set(server.kernels) - before
        assert "Its kernel" in (await client.do("unuse_notebook")).text
        assert kernel not in server.kernels
