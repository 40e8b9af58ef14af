"""What the real Codex finds when its model searches for tools: it shows the model none of them before."""

import tempfile
from os import environ
from pathlib import Path
from typing import Any

from e2e.models import launch
from e2e.models.scenario import write_notebook
from e2e.models.service import ModelService
from e2e.support.home import Home

# What a model may search for, the tool that it needs, and among how many it must be.
_SEARCHES = [("jupyter notebook", "use_notebook", 3), ("open notebook", "use_notebook", 3), ("run code", "execute_code", 3)]


class _SearchingModel(ModelService):
    """Searches for one thing after the other; `found` holds the names of the tools."""

    def __init__(self) -> None:
        super().__init__([])
        self.found: list[list[str]] = []

    def answer(self, path: str, request: dict[str, Any]) -> list[dict[str, Any]]:
        outputs = [item for item in request["input"] if item.get("type") == "tool_search_output"]
        self.found = [_names(output["tools"]) for output in outputs]
        number = len(outputs)
        if number == len(_SEARCHES):
            return super().answer(path, {"input": []})
        item = {
            "type": "tool_search_call",
            "id": f"ts_{number}",
            "call_id": f"call_{number}",
            "execution": "client",
            "status": "completed",
            "arguments": {"query": _SEARCHES[number][0]},
        }
        response = {"id": f"resp_{number}", "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}
        return [
            {"type": "response.created", "response": {"id": f"resp_{number}"}},
            {"type": "response.output_item.done", "item": item},
            {"type": "response.completed", "response": response},
        ]


def _names(tools: list[dict[str, Any]]) -> list[str]:
    return [tool["name"] for given in tools for tool in given.get("tools", [given])]


def search(binary: Path, program: str) -> list[str]:
    """Searches in Codex; the problems."""
    with tempfile.TemporaryDirectory() as temporary, _SearchingModel() as service:
        folder, home = Path(temporary) / "notebooks", Home(Path(temporary) / "home")
        folder.mkdir()
        home.folder.mkdir()
        write_notebook(folder)
        person = {"PATH": environ["PATH"], "HOME": str(home.folder)}
        entry = launch.Entry(launch.recorded(program, folder, Path(temporary) / "sent.jsonl"), home.environment("models"))
        try:
            launch.codex(launch.Client(binary, service.url, folder, person), entry)
        except launch.ClientFailed as failed:
            return [f"Codex, searching: {failed}"]
        found = service.found
    problems = [] if len(found) == len(_SEARCHES) else [f"Codex, searching: it made {len(found)} searches"]
    for (words, tool, place), names in zip(_SEARCHES, found, strict=False):
        is_near = tool in names[:place]
        print(f"  searching {words!r}: {', '.join(names[:place])}", flush=True)
        if not is_near:
            problems.append(f"Codex, searching: {words!r} does not find {tool}: {names}")
    return problems
