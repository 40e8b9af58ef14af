"""Runs outlive the calls that started them, report progress, and can be interrupted, answered and queued."""

import asyncio
from pathlib import Path

import pytest

from e2e.support.agents.node_sdk import node_agent
from e2e.support.agents.python_sdk import python_agent
from e2e.support.home import Home
from e2e.support.notebook_client import NotebookClient, gate, id_in, notebook_client, run_in
from e2e.support.notebook_files import Json, printed, sources
from e2e.support.notebook_server import NotebookServer, launch, notebook_server
from e2e.support.waiting import until

MODERN = "2026-07-28"


def _prints(client: NotebookClient, text: str, index: int = -1) -> bool:
    cells: list[Json] = client.notebook()["cells"]
    return bool(cells) and text in printed(cells[index])


async def test_a_run_continues_after_its_timeout(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        opened, wait = gate(client)
        cell = await client.insert(f"print('early')\n{wait}\nprint('late')")
        await client.do("execute_code", code="'the kernel is up'")
        begun = await client.do("execute_cell", cell_id=cell, timeout=0.3)
        assert "[STILL RUNNING" in begun.text
        run = run_in(begun)
        assert "RUNNING" in (await client.do("get_run", run_id=run)).text
        opened.touch()
        ended = await client.wait(run)
        assert "early" in ended.text and "late" in ended.text and "[COMPLETED in" in ended.text
        assert printed(client.cell(cell)) == "early\nlate\n"
        assert run in (await client.do("get_run")).text, "without an id: the latest runs"


async def test_a_cell_runs_in_the_call_that_edits_it(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        code = {"cell_type": "code"}
        inserted = await client.do("insert_cell", **code, cell_source="x = 1\nprint(x)", run=True)
        assert "Cell inserted" in inserted.text and "[COMPLETED in" in inserted.text
        assert printed(client.cell(id_in(inserted))) == "1\n"
        edited = await client.do("edit_cell_source", cell_index=0, old_string="1", new_string="2", run=True)
        assert "edited successfully" in edited.text and "[COMPLETED in" in edited.text
        overwritten = await client.do("overwrite_cell_source", cell_index=0, cell_source="x += 1\nprint(x)", run=True)
        assert "\n3\n" in overwritten.text and printed(client.cell(0)) == "3\n"

        text = {"cell_type": "markdown", "cell_source": "# Text"}
        sources_of_code = ["print('before')", "1 / 0", "print('after')"]
        cells = [text, *({**code, "cell_source": source} for source in sources_of_code)]
        failed = await client.fails("insert_cell", cells=cells, run=True)
        assert "4 cell(s) inserted" in failed and "before" in failed and "ZeroDivisionError" in failed
        assert "2 of 3 cells run" in failed and "not run: from cell 4" in failed
        assert sources(client.notebook())[1:] == ["# Text", *sources_of_code]
        assert [each["execution_count"] for each in client.notebook()["cells"][2:]] == [4, 5, None]


async def test_outputs_reach_the_file_during_the_run(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        opened, wait = gate(client)
        cell = await client.insert(f"print('early', flush=True)\n{wait}")
        running = asyncio.create_task(client.do("execute_cell", cell_id=cell))
        await until(lambda: _prints(client, "early"), "the first output is on disk", during=running)
        assert not running.done()
        opened.touch()
        assert "[COMPLETED in" in (await running).text


async def test_nothing_is_lost_when_a_client_vanishes_mid_run(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        opened, wait = gate(client)
        cell = await client.insert(f"print('early', flush=True)\n{wait}\nprint('late')")
        async with node_agent("sdk_v2.mjs", server.url) as agent:
            vanishing = NotebookClient(agent, server.root, path)
            running = asyncio.create_task(vanishing.do("execute_cell", cell_id=cell))
            await until(lambda: _prints(client, "early"), "the run has begun", during=running)
            agent.vanish()
            with pytest.raises(AssertionError, match="the Node client ended"):
                await running
        listed = (await client.do("get_run")).text
        [run] = [line.split("\t")[0] for line in listed.splitlines() if cell in line]
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
            await until(lambda: _prints(client, "begun"), "the run has begun", during=running)
            running.cancel()
            await asyncio.wait([running])
            return cell

        going_on = await cancelled(f"print('begun', flush=True)\n{wait}\nprint('ended')")
        opened.touch()
        ended = await client.wait("r1")
        assert "ended" in ended.text and "[COMPLETED in" in ended.text
        assert printed(client.cell(going_on)) == "begun\nended\n"

        _, wait = gate(client, "never")
        stopped = await cancelled(f"print('begun', flush=True)\n{wait}", interrupt_on_cancel=True)
        assert "[INTERRUPTED" in (await client.wait("r2")).text
        assert client.cell(stopped)["outputs"][-1]["ename"] == "KeyboardInterrupt"


async def test_a_timeout_interrupts_if_requested(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        _, wait = gate(client)
        await client.do("execute_code", code="'the kernel is up'")
        given = {"cell_index": -1, "cell_source": wait, "timeout": 0.5, "interrupt_on_timeout": True}
        message = await client.fails("insert_execute_code_cell", **given)
        assert "[INTERRUPTED" in message and "KeyboardInterrupt" in message


async def test_progress_contains_the_time_and_the_last_line(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
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
async def test_the_person_behind_the_agent_answers_input(server: NotebookServer, path: str, mode: str) -> None:
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return f"answer {len(asked)}"

    async with notebook_client(server, path, answer, mode) as client:
        ran = await client.run("first = input('Name? ')\nprint(first, '&', input('And? '))")
        assert asked == ["Name? ", "And? "]
        assert "answer 1 & answer 2" in ran.text and "[COMPLETED in" in ran.text
        assert len(client.notebook()["cells"]) == 1, "a repeated call does nothing twice"


async def test_a_person_is_not_asked_for_a_secret(server: NotebookServer, path: str) -> None:
    def never(question: str) -> str:
        raise AssertionError(question)

    async with notebook_client(server, path, never) as client:
        waiting = await client.run("import getpass\nlen(getpass.getpass('Token? '))")
        assert "WAITING FOR INPUT" in waiting.text and "Token?" in waiting.text and "secret" in waiting.text
        ended = await client.do("answer_input", run_id=run_in(waiting), value="hunter2")
        assert "7" in ended.text and "hunter2" not in ended.text
        assert "hunter2" not in client.file.read_text()


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_looking_at_a_run_asks_nobody(server: NotebookServer, path: str, mode: str) -> None:
    """Only a real kernel waits for a line, which would run code; whoever may only read may look."""
    async with notebook_client(server, path) as client:
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


async def test_an_agent_answers_input_if_no_person_can(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        waiting = await client.run("print(input('Name? ') * 2)\nprint(input())")
        assert "WAITING FOR INPUT" in waiting.text and "Name? " in waiting.text and "answer_input(" in waiting.text
        run = run_in(waiting)
        again = await client.do("answer_input", run_id=run, value="ada")
        assert "adaada" in again.text and "WAITING FOR INPUT" in again.text
        ended = await client.do("answer_input", run_id=run, value="last")
        assert "last" in ended.text and "[COMPLETED in" in ended.text
        assert "is not waiting for input" in await client.fails("answer_input", run_id=run, value="more")


async def test_a_person_who_declines_leaves_the_question_to_the_agent(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path, lambda _: None) as client:
        waiting = await client.run("print(input('Name? '))")
        assert "WAITING FOR INPUT" in waiting.text
        assert "ada" in (await client.do("answer_input", run_id=run_in(waiting), value="ada")).text


async def test_an_interrupted_run_ends_and_variables_stay(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        _, run = await client.begin_at_gate("kept = 'kept'")
        assert "it is over" in (await client.do("interrupt_kernel")).text
        ended = await client.do("get_run", run_id=run)
        assert "[INTERRUPTED" in ended.text and "KeyboardInterrupt" in ended.text
        assert "'kept'" in (await client.do("execute_code", code="kept")).text


async def test_input_can_be_interrupted(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        waiting = await client.run("input('Name? ')")
        assert "it is over" in (await client.do("interrupt_kernel", run_id=run_in(waiting))).text
        assert "[INTERRUPTED" in (await client.do("get_run", run_id=run_in(waiting))).text
        assert "2" in (await client.do("execute_code", code="1 + 1")).text


async def test_a_restart_clears_variables_and_ends_runs(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        _, wait = gate(client)
        run = await client.begin(f"kept = 1\nprint('before', flush=True)\n{wait}")
        await until(lambda: _prints(client, "before"), "the run has begun")
        queued = await client.run("print('never runs')", timeout=0.1)
        assert "QUEUED" in queued.text
        assert "answers" in (await client.do("restart_notebook")).text
        assert "NameError" in await client.fails("execute_code", code="kept")
        ended = await client.wait(run)
        assert "before" in ended.text and "[INTERRUPTED" in ended.text
        assert "[INTERRUPTED" in (await client.wait(run_in(queued))).text
        assert printed(client.cell(0)) == "before\n", "outputs stay"
        assert client.cell(1)["outputs"] == []


async def test_runs_are_queued_in_order(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        opened, wait = gate(client)
        first = await client.begin(f"order = []\n{wait}\norder.append(1)")
        # An error in one must not end the others.
        second = run_in(await client.run("order.append(2)\n1 / 0", timeout=0.1))
        third = await client.run("order.append(3)", timeout=0.1)
        assert "QUEUED" in third.text
        taken_back = run_in(await client.run("order.append(4)", timeout=0.1))
        await client.do("interrupt_kernel", run_id=taken_back)
        opened.touch()
        assert "[COMPLETED in" in (await client.wait(first)).text
        assert "[ERROR ZeroDivisionError" in (await client.wait(second)).text
        assert "[COMPLETED in" in (await client.wait(run_in(third))).text
        assert "[INTERRUPTED" in (await client.wait(taken_back)).text
        assert "[1, 2, 3]" in (await client.do("execute_code", code="order")).text


async def test_running_several_cells_stops_at_an_error_or_continues(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        await client.insert("# Text", "markdown")
        for source in ["seen = 1", "1 / 0", "print('reached', seen)"]:
            await client.insert(source)
        stopped = await client.fails("run_cells", all=True)
        assert "ZeroDivisionError" in stopped and "reached 1" not in stopped and "2 of 3 cells" in stopped
        assert client.cell(3)["execution_count"] is None
        went_on = await client.fails("run_cells", all=True, on_error="continue")
        assert "ZeroDivisionError" in went_on and "reached 1" in went_on
        last = await client.do("run_cells", **{"from": "3"})
        assert "reached 1" in last.text
        assert printed(client.cell(3)) == "reached 1\n"


async def test_each_agent_has_a_current_notebook_of_its_own(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, f"one-{path}") as one, notebook_client(server, f"other-{path}") as other:
        for client in (one, other):
            # Without a name: the agent's current notebook.
            inserted = await client.agent.call(
                "insert_cell", {"cell_index": -1, "cell_type": "raw", "cell_source": client.path}
            )
            assert client.path in inserted.text
        for client in (one, other):
            assert sources(client.notebook()) == [client.path]
            [current] = [row for row in (await client.agent.call("list_notebooks")).text.splitlines() if "✓" in row]
            assert client.path in current


async def test_a_client_without_a_session_ends_its_kernel(server: NotebookServer, path: str) -> None:
    async with python_agent(server.url, MODERN) as agent:
        client = NotebookClient(agent, server.root, path)
        await client.create()
        before = set(server.kernels)
        await client.do("execute_code", code="1")
        [kernel] = set(server.kernels) - before
        assert "Its kernel" in (await client.do("unuse_notebook")).text
        assert kernel not in server.kernels


async def test_edits_of_two_agents_to_one_notebook_are_all_kept(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as one, python_agent(server.url) as agent:
        other = NotebookClient(agent, server.root, path)
        await other.open()
        texts = [f"cell {number}" for number in range(40)]
        clients = [one, other]
        added = [clients[number % 2].insert(text, "markdown", cell_index=0) for number, text in enumerate(texts)]
        ids = await asyncio.gather(*added)
        assert sorted(sources(one.notebook())) == sorted(texts)
        rewritten = [
            clients[number % 2].do("overwrite_cell_source", cell_id=cell, cell_source=f"{text}, again")
            for number, (cell, text) in enumerate(zip(ids, texts, strict=True))
        ]
        await asyncio.gather(*rewritten)
        assert sorted(sources(one.notebook())) == sorted(f"{text}, again" for text in texts)


async def test_a_cell_that_another_agent_changed_is_not_overwritten(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as one, python_agent(server.url) as agent:
        cell = await one.insert("mine")
        other = NotebookClient(agent, server.root, path)
        await other.open()
        await other.do("overwrite_cell_source", cell_id=cell, cell_source="theirs")
        refused = await one.fails("overwrite_cell_source", cell_id=cell, cell_source="mine again")
        assert "theirs" in refused
        assert sources(one.notebook()) == ["theirs"]
        await one.do("overwrite_cell_source", cell_id=cell, cell_source="mine again")
        assert sources(one.notebook()) == ["mine again"]


async def test_a_run_writes_into_its_cell_after_a_move(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, path) as client:
        opened, wait = gate(client)
        run = await client.begin(f"{wait}\nprint('from the run')")
        cell = client.cell(0)["id"]
        await client.insert("before it", "markdown", cell_index=0)
        await client.do("edit_cell_source", cell_id=cell, old_string="print", new_string="print  ")
        opened.touch()
        await client.wait(run)
        assert printed(client.cell(cell)) == "from the run\n"
        assert [each["cell_type"] for each in client.notebook()["cells"]] == ["markdown", "code"]
