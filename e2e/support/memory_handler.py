"""The handler that answers questions about a kernel's memory, without a kernel."""

import re
from types import SimpleNamespace
from typing import Any

from e2e.support.program import REPOSITORY
from e2e.support.waiting import LONG

HANDLER = REPOSITORY / "crates/kernel/src/memory/handler"
IMPORT = re.compile(r"^from \.(\w+) import (?:\([^)]*\)|.*)\n", re.MULTILINE)
known: set[str] = set()


def joined(module: str = "install") -> str:
    """The modules as one program, as `crates/kernel/build.rs` joins them."""
    if module in known:
        return ""
    known.add(module)
    source = (HANDLER / f"{module}.py").read_text()
    imported = "".join(joined(name) for name in IMPORT.findall(source))
    return imported + IMPORT.sub("", source)


SOURCE = joined()
# What code of the person has run.
ran: list[str] = []


class Shell:
    """What the handler knows of IPython's shell."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.user_ns = variables
        self.user_ns_hidden: dict[str, Any] = {}
        self.execution_count = 1
        self.last_execution_result: SimpleNamespace | None = None
        self.kernel = Kernel()

    def end(self, *, silent: bool = False, empty: bool = False) -> None:
        """The cell that was counted last has run, or one that is not counted: a silent or an empty one."""
        info = SimpleNamespace(store_history=not silent, silent=silent)
        count = None if empty else self.execution_count - (not silent)
        self.last_execution_result = SimpleNamespace(execution_count=count, info=info)


class Kernel:
    """The request that the shell channel has started with."""

    def __init__(self) -> None:
        self.parent: dict[str, Any] = {}

    def get_parent(self, channel: str) -> dict[str, Any]:
        assert channel == "shell"
        return self.parent

    def starts(self, request: str, kind: str = "execute_request", *, silent: bool = False) -> None:
        self.parent = {"header": {"msg_type": kind, "msg_id": request}, "content": {"silent": silent}}


class Memory:
    """The handler's answers about these variables."""

    def __init__(self, **variables: Any) -> None:
        self.module: dict[str, Any] = {}
        exec(SOURCE, self.module)
        # On a busy machine, the time of one look would end before all values are looked at.
        self.module["MAX_SECONDS"] = LONG
        self.shell = Shell(variables)
        self.answers = self.module["Answers"](self.shell)
        # Those of the tests.
        self.answers.modules.look()
        self.answers.modules.report()
        ran.clear()

    def ask(self, what: str, seconds: float = LONG, **given: Any) -> dict[str, Any]:
        return self.module["answer"](self.answers, {what: given}, seconds)

    def list(self, **given: Any) -> dict[str, Any]:
        answered = self.ask("list", **given)
        assert answered["status"] == "ok", answered
        return answered["answer"]

    def rows(self, **given: Any) -> dict[str, dict[str, Any]]:
        return {row["name"]: row for row in self.list(**given)["rows"]}

    def inspect(self, name: str, path: str = "", **given: Any) -> dict[str, Any]:
        answered = self.ask("inspect", name=name, path=path, **given)
        assert answered["status"] == "ok", answered
        return answered["answer"]

    def ran(self, *removed: str, **assigned: Any) -> None:
        """A run has assigned and removed these."""
        self.shell.kernel.starts("ours")
        self.shell.user_ns.update(assigned)
        for name in removed:
            del self.shell.user_ns[name]
        self.shell.execution_count += 1
        self.shell.end()

    def changes(self, count: int | None = None) -> dict[str, Any]:
        """What the last run has changed."""
        answered = self.ask("changes", count=count or self.shell.execution_count - 1, request="ours")
        assert answered["status"] == "ok", answered
        return answered["answer"]

    def refusal(self, name: str, path: str = "") -> str:
        answered = self.ask("inspect", name=name, path=path)
        assert answered["status"] == "refused", answered
        return answered["cause"]
