"""How long questions about a kernel's memory take while it is idle, sleeps and computes, beside other ways to ask it; and what a run
takes longer for the line of what it has changed.

`cargo xtask bench state` runs it with the program and the variables of the end-to-end tests. All ways ask the same kernel in turns.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from jupyter_client.blocking.client import BlockingKernelClient

from bench.calls.agent import Agent, Json
from bench.timing import middle, timed
from e2e.support.home import Home, new_mark
from e2e.support.jupyter_server import jupyter_server

ROUNDS = 40
TIMEOUT = 30.0
NOTEBOOK = "state.ipynb"
VARIABLES = "for number in range(300): globals()[f'name_{number}'] = [number] * number\ndel number"
FRAME = "import numpy, pandas\nframe = pandas.DataFrame({'a': numpy.arange(10**7), 'b': numpy.random.rand(10**7)})"
STATES = {
    "idle": "",
    "in time.sleep": "import time; time.sleep(600)",
    "in a loop of Python": "while True: pass",
}


@dataclass
class Way:
    title: str
    ask: Callable[[], None]
    works_during_a_run: bool = True


class Kernel:
    """Python's client at a kernel that a program of ours uses."""

    def __init__(self, connection_file: Path) -> None:
        self.client = BlockingKernelClient(connection_file=str(connection_file))
        self.client.load_connection_file()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=TIMEOUT)

    def control(self, kind: str, content: Json) -> None:
        request = self.client.session.msg(kind, content)
        self.client.control_channel.send(request)
        while self.client.get_control_msg(timeout=TIMEOUT)["parent_header"].get("msg_id") != request["header"]["msg_id"]:
            pass

    def bare(self) -> None:
        """The least that a request on the control channel takes."""
        self.control("kernel_info_request", {})

    def debugger(self) -> None:
        self.control("debug_request", {"type": "request", "seq": 1, "command": "inspectVariables", "arguments": {}})

    def silent(self) -> None:
        request = self.client.execute("", silent=True, user_expressions={"names": "sorted(globals())"})
        while self.client.get_shell_msg(timeout=TIMEOUT)["parent_header"].get("msg_id") != request:
            pass


def questions(agent: Agent) -> Callable[[], None]:
    def ask() -> None:
        reply = agent.call("list_variables", {"notebook_name": NOTEBOOK})
        assert "300 in kernel" in reply.text and len(reply.text.encode()) <= 4096, reply.text

    return ask


def prepare(agent: Agent, home: Home) -> Kernel:
    agent.call("use_notebook", {"notebook_path": NOTEBOOK, "mode": "create"})
    agent.call("execute_code", {"code": VARIABLES})
    [connection_file] = (home.folder / "jupyter-runtime").glob("kernel-*.json")
    return Kernel(connection_file)


def ask_in_all_states(place: str, agent: Agent, kernel: Kernel) -> None:
    ways = [
        Way("bare control request", kernel.bare),
        Way("list_variables", questions(agent)),
        Way("inspectVariables of the debugger", kernel.debugger),
        Way("silent expression", kernel.silent, works_during_a_run=False),
    ]
    for state, source in STATES.items():
        if source:
            agent.call("execute_code", {"code": source, "timeout": 0.3})
        asked = [way for way in ways if way.works_during_a_run or not source]
        times: dict[str, list[float]] = {way.title: [] for way in asked}
        for _ in range(ROUNDS):
            for way in asked:
                # What a kernel does after an answer is not to be counted to the next way.
                time.sleep(0.05)
                times[way.title].append(timed(way.ask))
        for title, taken in times.items():
            print(f"| {place} | {state} | {title} | {middle(taken, 1)} |")
        added = statistics.median(times["list_variables"]) - statistics.median(times["bare control request"])
        print(f"| {place} | {state} | added by list_variables | {added:.1f} |")
        if source:
            agent.call("interrupt_kernel", {"notebook_name": NOTEBOOK})


def inspect_frame(agent: Agent) -> None:
    agent.call("execute_code", {"code": FRAME})
    replies: list[int] = []

    def ask() -> None:
        reply = agent.call("inspect_variable", {"name": "frame", "notebook_name": NOTEBOOK})
        assert "10000000" in reply.text, reply.text
        replies.append(len(reply.text.encode()))

    times = [timed(ask) for _ in range(ROUNDS // 4)]
    print(f"| folder | idle | inspect_variable, 10 000 000 rows, {max(replies)} bytes | {middle(times, 1)} |")


def compare_runs(with_line: Agent, without: Agent) -> None:
    """Runs that change something; the kernels have 300 variables."""
    times: dict[str, list[float]] = {"with": [], "without": []}
    for number in range(ROUNDS * 5):
        for title, agent in (("with", with_line), ("without", without)):
            given = {"code": f"changed = {number}"}
            times[title].append(timed(lambda agent=agent, given=given: agent.call("execute_code", given)))
    for title, taken in times.items():
        print(f"| folder | idle | execute_code {title} the line of changes | {middle(taken, 1)} |")


def main() -> None:
    [program] = sys.argv[1:]
    print("| place | kernel | | ms, p50 / p95 |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:

        def in_folder(name: str, *options: str) -> tuple[Agent, Home]:
            home = Home(Path(temporary) / name)
            (home.folder / "root").mkdir(parents=True)
            environment = home.environment(new_mark())
            command = [program, "--no-browser", *options]
            return stack.enter_context(Agent(command, home.folder / "root", environment)), home

        agent, home = in_folder("with")
        ask_in_all_states("folder", agent, prepare(agent, home))
        without, other_home = in_folder("without", "--no-changes")
        prepare(without, other_home)
        compare_runs(agent, without)
        inspect_frame(agent)
        with jupyter_server("rtc", Path(temporary) / "server") as server:
            command = [program, "--no-browser", "--jupyter-url", server.url, "--jupyter-token", server.token]
            environment = Home(Path(temporary)).environment(new_mark())
            with Agent(command, server.root, environment) as agent:
                ask_in_all_states("server", agent, prepare(agent, server.home))


if __name__ == "__main__":
    main()
