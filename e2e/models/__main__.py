"""`cargo xtask clients`: a fixed scenario through real clients, and what of our replies their models were shown.

Arguments: the program, then `NAME=BINARY` for each client that is installed. Fails if a client does not show its model
something that we sent for it, or if it does not find the kernel again when it is started a second time.
"""

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.models import launch, network
from e2e.models.as_task import play_as_task
from e2e.models.over_websocket import play_over_websocket
from e2e.models.inspector import inspect
from e2e.models.scenario import STEPS, Step, write_notebook
from e2e.models.searching import search
from e2e.models.service import Arrived, ModelService
from e2e.models.twice import play_twice
from e2e.support.home import Home


@dataclass
class Sent:
    """A tool result as the program wrote it."""

    texts: list[str]
    images: int
    structured: Any
    is_error: bool


def sent(copy: Path) -> list[Sent]:
    """The results of the calls, in order: each is made after the one before was answered."""
    results = [json.loads(line).get("result") for line in copy.read_text().splitlines()]
    return [_sent(result) for result in results if isinstance(result, dict) and "content" in result]


def _sent(result: dict[str, Any]) -> Sent:
    blocks = result["content"]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    images = sum(block["type"] == "image" for block in blocks)
    return Sent(texts, images, result.get("structuredContent"), bool(result.get("isError")))


def missing(reply: Sent, arrived: Arrived) -> list[str]:
    """What the model was not shown."""
    shown = "\n".join([arrived.text, *_strings_of_json(arrived.text)])
    lost = [f"text: {text[:60]!r}… ({len(text)} characters)" for text in reply.texts if text.strip() not in shown]
    if len(arrived.images) < reply.images:
        lost.append(f"{reply.images - len(arrived.images)} image(s)")
    return lost


def _strings_of_json(text: str) -> list[str]:
    """Structured content is shown as JSON, after a line of the client's own: its strings."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
    except ValueError:
        return []
    return [member for member in value.values() if isinstance(member, str)]


def unusable(step: Step, reply: Sent) -> list[str]:
    """What the program should have sent, but did not."""
    text = "\n".join(reply.texts)
    lost = [f"we did not send {part!r}" for part in step.texts if part not in text]
    if reply.images < step.images:
        lost.append("we sent no image")
    return lost


def row(step: Step, reply: Sent, arrived: Arrived) -> tuple[str, list[str]]:
    problems = unusable(step, reply) + missing(reply, arrived)
    kinds = ["error"] * reply.is_error + ["structured"] * (reply.structured is not None)
    ours = f"{sum(map(len, reply.texts)):>6} chars, {reply.images} image(s)" + "".join(f", {kind}" for kind in kinds)
    theirs = f"{len(arrived.text):>6} chars, {len(arrived.images)} image(s)"
    return f"  {step.name:<22}{ours:<44}{theirs:<30}{'MISSING' if problems else 'all'}", problems


def play(name: str, binary: Path, program: str) -> list[str]:
    """Runs the scenario in one client; the problems."""
    with tempfile.TemporaryDirectory() as temporary, ModelService(STEPS) as service:
        folder, copy = Path(temporary) / "notebooks", Path(temporary) / "sent.jsonl"
        folder.mkdir()
        write_notebook(folder)
        home = Home(Path(temporary) / "home")
        home.folder.mkdir()
        print(f"{name}\n  {'step':<22}{'what Cellbridge sent':<44}{'what the model was shown':<30}arrived", flush=True)
        problems = []
        try:
            person = {"PATH": os.environ["PATH"], "HOME": str(home.folder)}
            entry = launch.Entry(launch.recorded(program, folder, copy), home.environment("models"))
            launch.LAUNCH[name](launch.Client(binary, service.url, folder, person), entry)
        except launch.ClientFailed as failed:
            problems.append(str(failed))
        replies = sent(copy) if copy.exists() else []
        for number, step in enumerate(STEPS):
            if number >= len(replies) or number not in service.arrived:
                found = service.arrived.get(number)
                problems.append(f"{step.name}: the call was not made{f': {found.text[:300]}' if found else ''}")
                continue
            line, lost = row(step, replies[number], service.arrived[number])
            print(line, flush=True)
            problems += [f"{step.name}: {problem}" for problem in lost]
    return [f"{name}: {problem}" for problem in problems]


def main() -> int:
    program, *clients = sys.argv[1:]
    if not network.isolate():
        print("The clients are run without a network, which takes Linux and root or user namespaces.")
        return 1
    problems = []
    for client in clients:
        name, binary = client.split("=", 1)
        if name == "Inspector":
            problems += inspect(Path(binary), program)
            continue
        problems += play(name, Path(binary), program)
        problems += play_twice(name, Path(binary), program)
        if name == "Claude Code":
            problems += play_over_websocket(Path(binary), program)
            problems += play_as_task(Path(binary), program)
        if name == "Codex":
            problems += search(Path(binary), program)
    for problem in problems:
        print(problem)
    print(f"{len(clients) - 1} client(s), {len(STEPS)} steps each, and the Inspector: {len(problems)} problem(s)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
