"""Asking for variables leaves no trace that a cell could notice. Only a real kernel has events, a history and threads."""

import asyncio

from e2e.support.notebook_client import NotebookClient, gate, notebook_client, run_in
from e2e.support.notebook_files import printed
from e2e.support.notebook_server import NotebookServer

QUESTIONS = 200
BEFORE = """from IPython import get_ipython
shell, events = get_ipython(), []
for name in ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell"):
    shell.events.register(name, lambda *given, name=name: events.append(name))
"""
# Prints from a thread, half a figure, and a line of input: what a request of another kind would disturb.
DURING = """import threading, matplotlib.pyplot as plt
plt.plot([1, 2])
printed = threading.Thread(target=lambda: print("from a thread"))
line = input("Name? ")
{wait}
printed.start(); printed.join()
print(line, len(plt.get_fignums()))
"""
AFTER = """print(events)
print(len(In), sorted(Out), repr(_), shell.execution_count)
history = [source for _, _, source in shell.history_manager.get_range(raw=True)]
print(len(history), history[0])
print(sorted(name for name in globals() if "cellbridge" in name.lower() or "handler" in name.lower()))
"""


async def _traces(client: NotebookClient, questions: int) -> tuple[list[str], list[str]]:
    """What the cells print, and the kinds of their outputs."""
    await client.run(BEFORE)
    door, wait = gate(client)
    run = run_in(await client.run(DURING.format(wait=wait)))
    await client.do("answer_input", run_id=run, value="ada", timeout=0.1)
    for number in range(questions):
        if number % 2:
            await client.do("list_variables", kinds="all")
        else:
            await client.do("inspect_variable", name="shell")
    door.touch()
    assert "[COMPLETED" in (await client.wait(run)).text
    for _ in range(questions // 20):
        await client.do("list_variables")
    await client.run(AFTER)
    cells = await client.cells()
    return [printed(cell) for cell in cells], [each["output_type"] for cell in cells for each in cell["outputs"]]


async def test_questions_leave_no_trace(server: NotebookServer, path: str) -> None:
    async with notebook_client(server, f"asked-{path}") as asked, notebook_client(server, f"silent-{path}") as silent:
        with_questions, without = await asyncio.gather(_traces(asked, QUESTIONS), _traces(silent, 0))
    assert with_questions == without
    texts, kinds = without
    assert "from a thread\nada 1\n" in texts[1] and "display_data" in kinds, "the cells did what is compared"
    assert "post_run_cell" in texts[2] and "get_ipython" in texts[2]
    assert texts[2].endswith("\n[]\n"), "the handler has left a name"
