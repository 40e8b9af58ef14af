"""How the tests are spread over the worker processes of pytest-xdist.

The tests of one file that share module fixtures (same file, same module parameters, such as a kind of server) form a
group. Long groups are cut into pieces, each of which runs on one worker; a piece costs one more set-up of the module's
fixtures. Groups marked `whole` are not cut, because their set-up takes longer than their tests. The pieces that took
longest in the last run start first; in a first run, those with tests that are marked with how long they last."""

import json
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

WHOLE = "whole"
# How long a piece may take, and how long a test takes that was never timed and is not marked, in seconds.
_PIECE_SECONDS = 20.0
_UNKNOWN_SECONDS = 3.0


def group_of(item: pytest.Item) -> str:
    """The group of a test: its file and the values of its module's parameters."""
    words = [WHOLE] if item.get_closest_marker(WHOLE) else []
    words.append(item.nodeid.partition("::")[0])
    if callspec := getattr(item, "callspec", None):
        shared = [name for name, scope in callspec._arg2scope.items() if scope.value != "function"]
        words += [str(callspec.params[name]) for name in shared]
    return " ".join(words)


def duration_of(item: pytest.Item) -> float:
    """How long a test takes that was never timed, in seconds."""
    marked = item.get_closest_marker("lasts")
    return marked.args[0] if marked else _UNKNOWN_SECONDS


class GroupScheduling(LoadScopeScheduling):
    """Gives pieces of groups to workers, the longest first."""

    def __init__(self, config: pytest.Config, log: Producer, groups: Path, durations: dict[str, float]) -> None:
        super().__init__(config, log)
        self.durations = durations
        self._groups_file = groups
        self._pieces: dict[str, str] = {}

    def schedule(self) -> None:
        if self.collection is None:
            groups: dict[str, tuple[str, float]] = json.loads(self._groups_file.read_text())
            for nodeid, (_, duration) in groups.items():
                self.durations.setdefault(nodeid, duration)
            self._pieces = self._cut({nodeid: group for nodeid, (group, _) in groups.items()})
        super().schedule()

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        self.durations[self.registered_collections[node][item_index]] = duration
        super().mark_test_complete(node, item_index, duration)

    def _split_scope(self, nodeid: str) -> str:
        return self._pieces[nodeid]

    def _assign_work_unit(self, node: WorkerController) -> None:
        longest = max(self.workqueue, key=lambda piece: sum(map(self.durations.__getitem__, self.workqueue[piece])))
        self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)

    def _cut(self, groups: dict[str, str]) -> dict[str, str]:
        """The piece of each test."""
        pieces: dict[str, str] = {}
        filled: dict[str, tuple[int, float]] = {}
        for nodeid, group in groups.items():
            number, seconds = filled.get(group, (1, 0.0))
            if not group.startswith(WHOLE) and seconds >= _PIECE_SECONDS:
                number, seconds = number + 1, 0.0
            filled[group] = (number, seconds + self.durations[nodeid])
            pieces[nodeid] = f"{group} {number}" if number > 1 else group
        return pieces
