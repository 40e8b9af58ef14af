"""Colab machines by Google's API: the program with a login, against a stand-in whose machines are real Jupyter servers."""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from e2e.support.colab_fake import CPU, T4, Spec, google_at_loopback
from e2e.support.colab_fake import failures as google_failures
from e2e.support.colab_fake.failures import Failure, Refusal
from e2e.support.colab_fake.person import MachineNotebook, Person, do, fails
from e2e.support.colab_fake.proxy import ProxyRequest
from e2e.support.http_client import HttpClient
from e2e.support.waiting import until
from e2e.support.wine import REQUEST_TO_END

LARGE = 200 << 20


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    """A person who has signed in, and whose machines and secrets are checked afterwards."""
    with google_at_loopback(tmp_path / "google") as google:
        person = Person(tmp_path, google)
        person.sign_in()
        yield person
        person.check()


async def test_from_the_login_to_the_first_plot(person: Person) -> None:
    """The whole way, with every part real but Google: a machine that boots, a kernel whose messages have no signature, an image; and
    requests to a page that is not there, which would hang the real kernel."""
    person.google.api.polls = 2
    person.google.api.boot = [404, 503]
    with person.serve() as server:
        async with person.agent(server) as agent:
            assert "Nobody" not in await do(agent, "list_machines")
            machine = await person.start(agent, accelerator="t4")
            assert machine.spec == T4 and machine.name.startswith("cellbridge-t4-")
            client = MachineNotebook(agent, machine)
            await client.create()
            plot = await client.run("import matplotlib.pyplot as plt\nplt.plot([1, 3])\nplt.show()")
            assert len(plot.images) == 1
            assert str(machine.content) in (await client.run("import os\nprint(os.getcwd())")).text
            for code in [
                "from google.colab import drive\ndrive.mount('drive')",
                "from google.colab import auth\nauth.authenticate_user()",
                "from google.colab import userdata\nuserdata.get('KEY')",
            ]:
                refused = await client.call("insert_execute_code_cell", cell_index=-1, cell_source=code)
                assert refused.is_error and "MessageError" in refused.text, refused.text
            quiet = "from google.colab import _message\n_message.notify('cell_display_stdin', {})\nprint('on')"
            assert "on" in (await client.run(quiet)).text
            assert "plotlib" in await do(agent, "read_notebook", notebook_name="colab-vm:a.ipynb")
            assert machine.name in await do(agent, "list_machines")
    # It ended with the program.
    assert person.google.api.count("DELETE", machine.name) >= 1


async def test_tokens_end_while_code_runs(person: Person) -> None:
    """A run goes on with an open WebSocket whose token has ended, and without one until there is a new token."""
    google = person.google
    with person.serve() as server:
        async with person.agent(server) as agent:
            machine = await person.start(agent)
            client = MachineNotebook(agent, machine)
            await client.create()
            opened, run = await client.begin_at_gate()
            machine.expire_tokens()
            google.sign_in.expire_access_tokens()
            opened.touch()
            await client.wait(run)
            opened, run = await client.begin_at_gate("print('before')")
            machine.expire_tokens()
            google.sign_in.expire_access_tokens()
            machine.proxy.drop_sockets()
            await until(lambda: machine.proxy.open_sockets > 0, "the program is connected again")
            opened.touch()
            assert "before" in (await client.wait(run)).text
            machine.expire_tokens()
            google.sign_in.revoke_all()
            assert "cellbridge colab login" in await fails(agent, "list_machines")
            google.api.reclaim(machine)


async def test_large_files_pass_both_ways_though_tokens_end(person: Person) -> None:
    """200 MB as real requests, whose token ends among them, arrive whole."""
    source = person.folder / "large.bin"
    with source.open("wb") as file:
        for number in range(LARGE >> 20):
            file.write(number.to_bytes(4, "little") * (1 << 18))
    digest = digest_of(source)
    with person.serve() as server:
        async with person.agent(server) as agent:
            machine = await person.start(agent)
            puts = 0

            def watch(request: ProxyRequest) -> int | None:
                nonlocal puts
                puts += request.method == "PUT"
                if request.method == "PUT" and puts == 3:
                    machine.expire_tokens()
                    return 404
                return None

            machine.proxy.watch = watch
            there = await do(agent, "copy_file", **{"from": "large.bin", "to": f"colab-vm:{machine.name}/"})
            assert digest in there and f"{LARGE} bytes" in there
            assert puts > 3 and digest_of(machine.content / "large.bin") == digest
            machine.expire_tokens()
            back = await do(agent, "copy_file", **{"from": f"colab-vm:{machine.name}/large.bin", "to": "back.bin"})
            assert digest in back and digest_of(person.folder / "back.bin") == digest


async def test_files_pass_a_program_that_takes_whole_files_only(person: Person) -> None:
    """Colab's file shim in Jupyter's place: notebooks and files arrive, and nothing else is left."""
    source = person.folder / "data.bin"
    source.write_bytes(bytes(range(256)) * (5 << 12))
    with person.serve() as server:
        async with person.agent(server) as agent:
            machine = await person.start(agent)
            await do(agent, "list_files", path=f"colab-vm:{machine.name}/")
            with machine.file_shim():
                for overwrites in ({}, {"overwrite": True}):
                    await do(agent, "copy_file", **{"from": "data.bin", "to": f"colab-vm:{machine.name}/"}, **overwrites)
                    assert digest_of(machine.content / "data.bin") == digest_of(source)
                await do(agent, "copy_file", **{"from": f"colab-vm:{machine.name}/data.bin", "to": "back.bin"})
                assert digest_of(person.folder / "back.bin") == digest_of(source)
                client = MachineNotebook(agent, machine)
                await client.create()
                assert "2" in (await client.run("1 + 1")).text
                assert sorted(each.name for each in machine.content.iterdir()) == ["a.ipynb", "data.bin"]


async def test_a_cell_costs_few_requests(person: Person) -> None:
    """Each request to a machine travels far."""
    with person.serve() as server:
        async with person.agent(server) as agent:
            machine = await person.start(agent)
            client = MachineNotebook(agent, machine)
            await client.create()
            await client.run("1")
            before = len(machine.proxy.requests)
            assert "42" in (await client.run("print(42)")).text
            cost = [f"{each.method} {each.path} {each.query}" for each in machine.proxy.requests[before:]]
            assert len(cost) <= 6, "\n".join(cost)


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


REFUSALS: list[tuple[Failure | Refusal, str]] = [
    (google_failures.TOO_MANY, "no further machine"),
    (google_failures.DENYLISTED, "blocked this account"),
    (google_failures.OUT_OF_TIME, "has used the time"),
    (google_failures.NONE_FREE, "No T4 GPU machine is available at Google now"),
    (google_failures.NOT_ENABLED, "gcloud services enable colaboratory.googleapis.com"),
    (google_failures.NOT_GRANTED, "open the API for the project"),
    (google_failures.NOT_OPENED, "Method not found."),
    (google_failures.RESOURCE_EXHAUSTED, "quota for such machines"),
    (google_failures.RATE_LIMITED, "per minute"),
]


async def test_each_refusal_reaches_the_agent_and_starts_nothing(person: Person) -> None:
    """What Google refuses gets through all layers as words that a person can act on."""
    api = person.google.api
    with person.serve() as server:
        async with person.agent(server) as agent:
            for refusal, words in REFUSALS:
                if isinstance(refusal, Refusal):
                    api.refusal = refusal
                else:
                    api.fail(refusal, method="POST")
                assert words in await fails(agent, "start_machine", accelerator="T4")
                api.refusal = None
            ineligible = await fails(agent, "start_machine", accelerator="A100")
            assert "A100" in ineligible and "T4" in ineligible
            assert not api.machines
            # One that Google refuses for a moment is started all the same, and once only.
            api.fail(google_failures.UNAVAILABLE, method="POST")
            api.fail(google_failures.UNAUTHORIZED)
            await person.start(agent)
            # Google hangs up, and the machine is there.
            api.hang_ups = 1
            await person.start(agent)
            # Google names the machine.
            api.most_machines, api.takes_ids = 3, False
            assert (await person.start(agent)).name.startswith("r-")
            api.most_machines = 2
            await do(agent, "stop_machine", machine_id=next(name for name in api.machines if name.startswith("r-")))
            assert len(api.machines) == 2
            running = await fails(agent, "start_machine")
            assert all(name in running for name in api.machines)


async def test_a_machine_is_reclaimed_while_code_runs(person: Person) -> None:
    """Everything on it is lost at once, as no scripted server loses it; the run ends in words, and the notebook is on this computer."""
    with person.serve() as server:
        async with person.agent(server) as agent:
            machine = await person.start(agent)
            client = MachineNotebook(agent, machine)
            await client.create()
            _, run = await client.begin_at_gate("print('before')")
            await client.until_printed(run, "before")
            person.google.api.reclaim(machine)
            ended = (await client.ended(run)).text
            assert "before" in ended.splitlines() and "[KERNEL DIED: its machine has ended]" in ended, ended
            gone = await fails(agent, "read_notebook", notebook_name=client.path)
            [copy] = person.state.rglob("a.ipynb")
            assert "reclaimed by Google" in gone and str(copy.parent) in gone, gone
            [cell] = json.loads(copy.read_text())["cells"]
            assert "print('before')" in "".join(cell["source"])
            assert "No machine" in await do(agent, "list_machines")
            # The same server starts another one.
            again = MachineNotebook(agent, await person.start(agent), "b.ipynb")
            await again.create()
            await again.run("1")


async def test_two_servers_at_one_machine(person: Person) -> None:
    """Two processes share a login whose refresh token is valid once, and a machine, which outlives the one that started it."""
    person.google.sign_in.rotates = True
    with person.serve() as second:
        async with person.agent(second) as other:
            with person.serve() as first:
                async with person.agent(first) as agent:
                    machine = await person.start(agent)
                    client = MachineNotebook(agent, machine)
                    await client.create()
                    await client.run("x = 41")
                    person.google.sign_in.expire_access_tokens()
                    _, listed = await asyncio.gather(do(agent, "list_machines"), do(other, "list_machines"))
                    assert "another Cellbridge server" in listed
                    there = MachineNotebook(other, machine)
                    await there.open()
                    assert "42" in (await there.run("x + 1")).text
            assert list(person.google.api.machines) == [machine.name]
            assert "42" in (await there.run("x + 1")).text


@pytest.mark.parametrize("stage", ["request", "answer", "operation", "boot"])
async def test_a_kill_leaves_no_unknown_machine(person: Person, stage: str) -> None:
    """However far a start has come when the process is killed, the next one knows the machine as ours."""
    api = person.google.api
    api.holds = stage if stage != "boot" else None
    with person.serve() as server:
        client = HttpClient(server.url)
        await client.initialize()
        starting = await client.send("tools/call", {"name": "start_machine", "arguments": {}})
        match stage:
            case "request":
                await until(lambda: api.count("POST"), "the request has arrived")
            case "boot":
                await until(lambda: api.machines, "there is a machine")
                [machine] = api.machines.values()
                machine.proxy.watch = lambda request: 503
                await until(lambda: machine.proxy.requests, "the machine is asked whether it has started")
            case _:
                await until(lambda: api.machines, "there is a machine")
        server.process.kill()
        server.ended()
        with pytest.raises(httpx.TransportError):
            await starting
        await client.vanish()
    api.holds = None
    await until(lambda: api.machines, "Google has done what was requested")
    [name] = api.machines
    with person.serve() as server:
        async with person.agent(server) as agent:
            listed = await do(agent, "list_machines")
            [line] = [line for line in listed.splitlines() if line.startswith(name)]
            assert "a Cellbridge server" in line and "has ended" in line, listed
            await do(agent, "stop_machine", machine_id=name)


async def test_a_start_that_is_given_up_leaves_no_machine(person: Person) -> None:
    """Whoever waits for a machine goes: the client cancels the call, then the program is asked to end."""
    api = person.google.api
    with person.serve() as server:
        async with person.agent(server) as agent:
            for is_cancelled in (True, False):
                api.holds = "operation"
                starting = asyncio.create_task(agent.call("start_machine", {}))
                await until(lambda: api.machines, "there is a machine")
                if is_cancelled:
                    starting.cancel()
                    api.holds = None
                else:
                    server.process.send_signal(REQUEST_TO_END)
                await until(lambda: not api.machines, "the machine was ended")
                starting.cancel()
        server.ended()


async def test_machines_that_run_on(person: Person) -> None:
    """An orderly end leaves what was to be kept, what works, and what the person started in the browser, also if it was used."""
    api = person.google.api
    api.most_machines = 3
    web = api.add_machine(CPU)
    with person.serve() as server:
        async with person.agent(server) as agent:
            attached = MachineNotebook(agent, web)
            # The short name means the only machine that runs.
            await do(agent, "use_notebook", notebook_path="colab-vm:a.ipynb", mode="create")
            assert "2" in (await attached.run("1 + 1")).text
            kept = await person.start(agent, keep=True)
            busy = await person.start(agent)
            working = MachineNotebook(agent, busy)
            await working.create()
            await working.begin_at_gate()
    person.left = [kept.name, busy.name, web.name]
    assert any(busy.name in line and "runs on" in line for line in server.log_lines)


async def test_a_machine_that_costs_is_started_when_the_person_agrees(person: Person) -> None:
    """The question to the person travels over the protocol before anything that costs."""
    api = person.google.api
    api.tier = "PRO"
    api.specs[Spec("GPU", "A100")] = True
    asked: list[str] = []
    answers = iter([None, "yes"])

    def answer(question: str) -> str | None:
        asked.append(question)
        return next(answers)

    with person.serve() as server:
        async with person.agent(server, answer) as agent:
            await fails(agent, "start_machine", accelerator="A100")
            assert not api.machines and not api.count("POST")
            await person.start(agent, accelerator="A100")
            assert len(asked) == 2 and "compute units of ada@example.com (Colab Pro)" in asked[0], asked
