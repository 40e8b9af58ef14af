"""Calls that go on as tasks, for agents that declare the extension: runs of real kernels, and servers that are killed.

What the protocol demands of tasks is checked by the conformance suite (`clients/test_conformance.py`)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from e2e.support.kept_kernels import NOTEBOOK, Machine, kill
from e2e.support.stdio_client import StdioClient, stdio_client
from e2e.support.waiting import LONG

TASKS = "io.modelcontextprotocol/tasks"
PLOT = "from PIL import Image\ndisplay(Image.new('RGB', (8, 8), 'red'))"


class TaskClient:
    """An agent of the 2026-07-28 era that declares tasks in each request, and forms if it `shows_forms`."""

    def __init__(self, server: StdioClient, *, shows_forms: bool = False) -> None:
        forms = {"elicitation": {"form": {}}} if shows_forms else {}
        self.server = server
        self.meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "tasks", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}, **forms},
        }

    @property
    def declaring_nothing(self) -> dict[str, Any]:
        """The same, for a request that declares nothing."""
        return {**self.meta, "io.modelcontextprotocol/clientCapabilities": {}}

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        return await self.server.ask(method, {**params, "_meta": self.meta})

    async def call(self, tool: str, **given: Any) -> dict[str, Any]:
        return await self.ask("tools/call", name=tool, arguments={"notebook_name": NOTEBOOK, **given})

    async def plain(self, tool: str, **given: Any) -> str:
        """What a request is answered that declares nothing."""
        params = {"name": tool, "arguments": given, "_meta": self.declaring_nothing}
        result = await self.server.ask("tools/call", params)
        assert result["resultType"] == "complete"
        return "\n".join(block.get("text", "") for block in result["content"])

    async def begin(self, tool: str, **given: Any) -> str:
        """Calls a tool that outlasts its wait; the id of its task."""
        created = await self.call(tool, **given)
        assert (created["resultType"], created["status"], created["ttlMs"]) == ("task", "working", None), created
        assert "get_run(run_id=" in created["statusMessage"]
        return str(created["taskId"])

    async def accept(self, task: str, asked: dict[str, Any], line: str) -> None:
        response = {"action": "accept", "content": {"value": line}}
        await self.ask("tasks/update", taskId=task, inputResponses=dict.fromkeys(asked["inputRequests"], response))

    async def until(self, task: str, *statuses: str) -> dict[str, Any]:
        """The task, once it has one of these statuses."""
        async with asyncio.timeout(LONG):
            while (now := await self.ask("tasks/get", taskId=task))["status"] not in statuses:
                await asyncio.sleep(0.05)
        return now


def _text(task: dict[str, Any]) -> str:
    return "\n".join(block.get("text", "") for block in task["result"]["content"])


@pytest.fixture
def machine(machine: Machine) -> Machine:
    machine.options = ("--execution-timeout", "1", "--task-after", "1")
    return machine


@asynccontextmanager
async def task_client(machine: Machine, *, shows_forms: bool = False) -> AsyncIterator[TaskClient]:
    async with stdio_client(machine.launch(), own_group=True) as server:
        agent = TaskClient(server, shows_forms=shows_forms)
        await agent.plain("use_notebook", notebook_path=NOTEBOOK, mode="create" if not machine.file.exists() else "connect")
        await agent.plain("execute_code", code="1", timeout=LONG)
        yield agent


async def test_a_task_is_its_run_also_for_a_later_server(machine: Machine) -> None:
    opened, wait = machine.gate()
    async with task_client(machine) as agent:
        # Who declares nothing has the reply that they always had.
        assert "[STILL RUNNING" in await agent.plain("insert_execute_code_cell", cell_index=0, cell_source=f"{wait}")
        await agent.plain("interrupt_kernel", notebook_name=NOTEBOOK)
        task = await agent.begin("insert_execute_code_cell", cell_index=0, cell_source=f"{PLOT}\n{wait}\nprint('end')")
        working = await agent.ask("tasks/get", taskId=task)
        assert (working["status"], working["resultType"], working["pollIntervalMs"]) == ("working", "complete", 1000)
        assert "[STILL RUNNING" in await agent.plain("get_run", run_id=task)
        await kill(agent.server)
    async with stdio_client(machine.launch()) as server:
        agent = TaskClient(server)
        assert (await agent.ask("tasks/get", taskId=task))["status"] == "working"
        opened.touch()
        done = await agent.until(task, "completed")
        assert "[COMPLETED" in _text(done) and "end" in _text(done)
        assert f'To see the images: get_run(run_id="{task}").' in _text(done)
        assert [block["type"] for block in done["result"]["content"]].count("image") == 1
        # A failure is the result of the call, and none of the task.
        failing = await agent.begin("execute_code", code="import time; time.sleep(1.5); 1 / 0")
        failed = await agent.until(failing, "completed", "failed")
        assert failed["status"] == "completed" and failed["result"]["isError"] and "ZeroDivisionError" in _text(failed)


async def test_cancelling_a_task_interrupts_all_its_runs(machine: Machine) -> None:
    _, wait = machine.gate()
    async with task_client(machine) as agent:
        for source in ["x = 1", wait, "x = 2"]:
            await agent.call("insert_cell", cell_index=-1, cell_type="code", cell_source=source)
        task = await agent.begin("run_cells", all=True)
        await agent.ask("tasks/cancel", taskId=task)
        assert "result" not in await agent.until(task, "cancelled", "completed")
        assert "1" in await agent.plain("execute_code", notebook_name=NOTEBOOK, code="x")
        assert (await agent.ask("tasks/cancel", taskId=task)) == {"resultType": "complete"}
        # An interrupt by somebody else is no cancellation.
        task = await agent.begin("execute_code", code=wait)
        await agent.plain("interrupt_kernel", run_id=task)
        assert "[INTERRUPTED" in _text(await agent.until(task, "cancelled", "completed"))


async def test_a_task_asks_the_person_for_input_and_never_for_a_password(machine: Machine) -> None:
    opened, wait = machine.gate()
    asks = f"{wait}\nprint('Hello', input('Name?'), input('Age?'))"
    async with task_client(machine, shows_forms=True) as agent:
        task = await agent.begin("execute_code", code=asks)
        opened.touch()
        keys = set()
        for line in ["Ada", "36"]:
            asked = await agent.until(task, "input_required", "completed")
            [(key, question)] = asked["inputRequests"].items()
            assert question["method"] == "elicitation/create" and "Name?" in str(question) or line == "36"
            keys.add(key)
            response = {"action": "accept", "content": {"value": line}}
            assert await agent.ask("tasks/update", taskId=task, inputResponses={key: response}) == {"resultType": "complete"}
            await agent.ask("tasks/update", taskId=task, inputResponses={key: response})
        assert "Hello Ada 36" in _text(await agent.until(task, "completed")) and len(keys) == 2
        # What is declined is not asked again, and what comes later is.
        opened.unlink()
        task = await agent.begin("execute_code", code=asks)
        opened.touch()
        [key] = (await agent.until(task, "input_required"))["inputRequests"]
        with pytest.raises(KeyError):
            await agent.ask("tasks/update", taskId=task, inputResponses={key: "Ada"})
        await agent.ask("tasks/update", taskId=task, inputResponses={key: {"action": "decline"}})
        assert "answer_input" in (await agent.until(task, "working", "input_required"))["statusMessage"]
        assert (await agent.ask("tasks/get", taskId=task))["status"] == "working"
        await agent.plain("answer_input", run_id=task, value="Ada", timeout=0.1)
        asked = await agent.until(task, "input_required")
        assert key not in asked["inputRequests"]
        await agent.accept(task, asked, "36")
        assert "Hello Ada 36" in _text(await agent.until(task, "completed"))
        # A password is never asked for by a form.
        opened.unlink()
        task = await agent.begin("execute_code", code=f"{wait}\nimport getpass\nprint(len(getpass.getpass()), input())")
        opened.touch()
        async with asyncio.timeout(LONG):
            while "answer_input" not in (now := await agent.ask("tasks/get", taskId=task))["statusMessage"]:
                await asyncio.sleep(0.05)
        assert now["status"] == "working"
        await agent.plain("answer_input", run_id=task, value="secret", timeout=0.1)
        await agent.accept(task, await agent.until(task, "input_required"), "line")
        assert "6 line" in _text(done := await agent.until(task, "completed"))
        assert done["statusMessage"].startswith(f"Run {task} is")


async def test_requests_about_tasks_pass_the_gate_of_the_tools(machine: Machine) -> None:
    """Under `--ask run`, a client without forms neither answers nor interrupts what the person has accepted elsewhere."""
    opened, wait = machine.gate()
    machine.options = (*machine.options, "--ask", "run")
    async with stdio_client(machine.launch(), own_group=True) as server:
        agent, silent = TaskClient(server, shows_forms=True), TaskClient(server)
        await agent.plain("use_notebook", notebook_path=NOTEBOOK, mode="create")
        code = {"notebook_name": NOTEBOOK, "code": f"{wait}\nprint('Hello', input('Name?'))"}
        asked = await agent.ask("tools/call", name="execute_code", arguments=code)
        reply = {"requestState": asked["requestState"], "inputResponses": {"person": {"action": "accept"}}}
        created = await agent.ask("tools/call", name="execute_code", arguments=code, **reply)
        assert created["resultType"] == "task", created
        task = str(created["taskId"])
        with pytest.raises(KeyError):
            await silent.ask("tasks/cancel", taskId=task)
        opened.touch()
        asked = await agent.until(task, "input_required", "cancelled", "completed")
        with pytest.raises(KeyError):
            await silent.accept(task, asked, "nobody")
        await agent.accept(task, asked, "Ada")
        assert "Hello Ada" in _text(await agent.until(task, "completed", "cancelled"))
