"""`cellbridge colab --enable-runtime`: code of an agent on a Colab machine that the program starts, against a stand-in for Google whose
machines are real Jupyter servers."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from e2e.support.agents.answer import Agent, Answer
from e2e.support.agents.python_sdk import python_agent
from e2e.support.colab_fake import CPU, google_at_loopback
from e2e.support.colab_fake.machine import ColabMachine
from e2e.support.colab_fake.person import Person
from e2e.support.notebook_server import NotebookServer, running
from e2e.support.waiting import until

TOOL = "runtime_execute_code"
_COLAB = ("colab", "--transport", "streamable-http", "--port", "0", "--no-token", "--no-browser", "--enable-runtime")


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    """A person at whose end no machine runs and nothing secret was written."""
    with google_at_loopback(tmp_path / "google") as google:
        person = Person(tmp_path, google)
        yield person
        person.check()


@contextmanager
def serve(person: Person, *options: str) -> Iterator[NotebookServer]:
    """The program, which has to end in order."""
    google = ("--google-stand-in", person.google.address)
    log = ("--log-level", "trace")
    server = NotebookServer(person.folder, person.home, *google, *log, *options, command=_COLAB)
    try:
        with running(server):
            yield server
    finally:
        person.printed += server.log_lines


@asynccontextmanager
async def agent_of(person: Person, *options: str) -> AsyncIterator[Agent]:
    with serve(person, *options) as server:
        async with python_agent(server.url) as agent:
            yield agent


async def run(agent: Agent, code: str) -> Answer:
    answer = await agent.call(TOOL, {"code": code})
    if answer.structured:
        assert json.loads(answer.content[0]["text"]) == answer.structured["result"]
    return answer


async def outputs(agent: Agent, code: str) -> Any:
    """What a client of the original gets, which knows nothing else of an answer."""
    answer = await run(agent, code)
    assert not answer.is_error and len(answer.content) == 1, answer.content
    return json.loads(answer.text)


def machine_of(person: Person) -> ColabMachine:
    [machine] = person.google.api.machines.values()
    return machine


async def begin(agent: Agent, machine: ColabMachine, code: str) -> asyncio.Task[Answer]:
    """A call whose code has begun."""
    begun = machine.content / "begun"
    task = asyncio.create_task(run(agent, f"open({str(begun)!r}, 'w').close()\n{code}"))
    await until(begun.exists, "the code has begun", during=task)
    begun.unlink()
    return task


async def cancel(task: asyncio.Task[Answer]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_calls_share_the_kernel_of_one_machine(person: Person) -> None:
    """Every part is real but Google: the outputs are those of a kernel, in the form that clients of the original know."""
    person.sign_in()
    async with agent_of(person) as agent:
        assert TOOL in await agent.tool_names()
        # The login's.
        assert [each.path for each in person.google.api.requests] == ["/v1beta/subscription"]
        first = await run(agent, "x = 41\nprint('hi')")
        assert first.structured == {"result": [{"output_type": "stream", "name": "stdout", "text": "hi\n"}]}
        assert any("Jupyter server" in (message or "") for _, _, message in first.progress), first.progress
        assert len(first.content) == 1 and machine_of(person).spec == CPU
        [folder] = await outputs(agent, "import os\nprint(os.getcwd())")
        assert folder["text"].strip() == str(machine_of(person).content)
        [result] = await outputs(agent, "x + 1")
        assert result["output_type"] == "execute_result" and result["data"] == {"text/plain": "42"}
        assert await outputs(agent, "y = x") is None
        printed, failed = await outputs(agent, "print('before')\n1 / 0")
        assert printed["text"] == "before\n"
        assert failed["output_type"] == "error" and failed["ename"] == "ZeroDivisionError" and failed["traceback"]
        plot = "import matplotlib.pyplot as plt\nplt.plot([1, 3])\nplt.show()"
        [shown] = await outputs(agent, plot)
        assert shown["output_type"] == "display_data" and len(shown["data"]["image/png"]) > 1000
        asked = await run(agent, "print('now')\nname = input('Who? ')\nprint(name)")
        assert [each["output_type"] for each in asked.structured["result"]] == ["stream", "error"]
        assert "asked for input" in asked.content[1]["text"] and not asked.is_error
        # One after another, though they come at once.
        await asyncio.gather(*(run(agent, f"y += {number}\nz = y") for number in (1, 2, 3)))
        [sum] = await outputs(agent, "y - 41")
        assert sum["data"] == {"text/plain": "6"}
        assert person.google.api.count("POST") == 1


async def test_a_cancelled_call_interrupts_its_code_and_leaves_the_machine(person: Person) -> None:
    """A client that waits less long than a machine takes to start gets it all the same; and the interrupt reaches a real kernel."""
    person.sign_in()
    api = person.google.api
    async with agent_of(person) as agent:
        api.holds = "operation"
        starting = asyncio.create_task(run(agent, "kept = 'not run'"))
        await until(lambda: api.machines, "the machine is created", during=starting)
        await cancel(starting)
        api.holds = None
        assert await outputs(agent, "assert 'kept' not in globals()\nkept = 'kept'") is None
        await cancel(await begin(agent, machine_of(person), "import time\ntime.sleep(1000)"))
        [result] = await outputs(agent, "kept")
        assert result["data"] == {"text/plain": "'kept'"}
        assert api.count("POST") == 1


async def test_a_lost_machine_is_reported_before_another_is_started(person: Person) -> None:
    """A kernel dies, and Google takes a machine between two calls, and another one while code runs: as no scripted server does."""
    person.sign_in()
    api = person.google.api
    async with agent_of(person) as agent:
        await run(agent, "x = 1")
        died = await run(agent, "import os\nos._exit(1)")
        assert died.is_error and "died" in died.text, died.text
        new = await run(agent, "'x' in globals()")
        assert new.structured["result"][0]["data"] == {"text/plain": "False"} and "variables" in new.text, new.text
        api.reclaim(machine_of(person))
        lost = await run(agent, "x")
        assert lost.is_error and "lost" in lost.text and TOOL in lost.text, lost.text
        assert not api.machines and api.count("POST") == 1
        [failed] = await outputs(agent, "x")
        assert failed["ename"] == "NameError"
        running = await begin(agent, machine_of(person), "print('before', flush=True)\nimport time\ntime.sleep(1000)")
        api.reclaim(machine_of(person))
        lost = await running
        assert lost.is_error and "lost" in lost.text, lost.text
        assert await outputs(agent, "x = 2") is None
        assert api.count("POST") == 3


async def test_a_machine_that_costs_is_named_once(person: Person) -> None:
    """The option has agreed to it; the first answer says who pays, behind the outputs."""
    person.sign_in()
    person.google.api.tier = "PRO"
    async with agent_of(person) as agent:
        first = await run(agent, "1")
        assert first.structured["result"][0]["data"] == {"text/plain": "1"}
        assert "compute units of ada@example.com (Colab Pro)" in first.content[1]["text"]
        await outputs(agent, "2")


async def test_a_machine_that_a_killed_server_has_left_is_named(person: Person) -> None:
    """No other tool of this server would tell of a machine that runs on."""
    person.sign_in()
    with serve(person) as server:
        async with python_agent(server.url) as agent:
            await run(agent, "1")
            server.process.kill()
            server.ended()
    left = machine_of(person).name
    async with agent_of(person) as agent:
        first = await run(agent, "2")
        assert first.structured["result"] and left in first.content[1]["text"], first.content
        await outputs(agent, "3")
    person.left = [left]


async def test_the_login_is_a_command_of_the_person(person: Person) -> None:
    """A server that runs uses the login that was made after its start, and no login of another client."""
    client, other = (person.home.folder.with_name(name) for name in ("client.json", "other.json"))
    other.write_text(person.google.sign_in.client_file.replace('client_id": "', 'client_id": "9'))
    async with agent_of(person, "--client-oauth-config", str(client)) as agent:
        client.write_text(person.google.sign_in.client_file)
        refused = await run(agent, "1")
        assert refused.is_error and f'cellbridge colab login --client-oauth-config "{client}"' in refused.text
        assert not person.google.api.requests
        person.sign_in()
        assert await outputs(agent, "1")
    async with agent_of(person, "-c", str(other)) as agent:
        refused = await run(agent, "1")
        assert refused.is_error and f'cellbridge colab login --client-oauth-config "{other}"' in refused.text


@pytest.mark.parametrize("stage", ["run", "start"])
async def test_a_machine_ends_with_the_program_whatever_it_does(person: Person, stage: str) -> None:
    """Code that runs, and a machine that starts, are no reasons to leave a machine that costs."""
    person.sign_in()
    api = person.google.api
    with serve(person) as server:
        async with python_agent(server.url) as agent:
            if stage == "run":
                await run(agent, "1")
                calling = await begin(agent, machine_of(person), "import time\ntime.sleep(1000)")
            else:
                api.holds = "operation"
                calling = asyncio.create_task(run(agent, "1"))
                await until(lambda: api.machines, "the machine is created", during=calling)
            server.process.terminate()
            await asyncio.to_thread(server.ended)
            calling.cancel()
            with suppress(BaseException):
                await calling
    assert not api.machines
