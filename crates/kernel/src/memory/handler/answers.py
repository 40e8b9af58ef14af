# The questions.

import fnmatch

from .changes import MAX_COMPARED, MAX_NAME, NOTHING, compared, is_running, last_result, marks, random_marks, runs_another
from .details import details
from .kinds import Refused, cut, full_name
from .modules import Modules
from .near import last_error, near_names
from .near_paths import near_path
from .packages import Packages
from .paths import follow
from .problems import problems
from .secrets import HIDDEN, is_secret, is_secret_path
from .shown import shown_lines
from .sizes import Bytes
from .values import describe, kind_of_row, row_of


class TimeIsUp(BaseException):
    """Raised in the thread that answers. What goes wrong with one value is caught, and this is not."""


class Answers:
    """Holds on to the shell. `seen` is the count of executions and the marks at the last look for changes, and `idle_count` the
    last count at which no cell ran."""

    def __init__(self, shell):
        self.shell = shell
        self.installer = Packages()
        self.modules = Modules(shell)
        # By the thread that runs cells, so none runs.
        self.seen, _ = self.look()
        self.idle_count = shell.execution_count

    def packages(self, what, **given):
        return getattr(self.installer, what)(**given)

    def variables(self):
        """The person's variables, as they are at one moment."""
        hidden = self.shell.user_ns_hidden
        # A copy of the dict would compare its keys.
        return {
            name: value
            for name, value in list(dict.items(self.shell.user_ns))
            if type(name) is str and not (name in hidden and hidden[name] is value) and name not in ("In", "Out")
        }

    def list(self, pattern="", kinds=None, limit=50, sort="name"):
        wanted, found, others = kinds or ["data"], [], {}
        for name, value in self.variables().items():
            if is_match(name, pattern):
                kind = kind_of_row(value)
                if kind in wanted or "all" in wanted:
                    found.append((name, value))
                else:
                    others.setdefault(kind, []).append(cut(name, MAX_NAME))
        total = len(found)
        if sort == "name":
            found.sort(key=lambda pair: pair[0].lower())
        elif sort != "size":
            found.reverse()
        measure = Bytes(total)
        sizes = {name: measure.of(value) for name, value in found} if sort == "size" else {}
        if sort == "size":
            found.sort(key=lambda pair: -sizes[pair[0]]["bytes"])
        # What is not shown is not looked into.
        rows = [{**row_of(name, value, 45), **sizes.get(name, {}), "name": cut(name, MAX_NAME)} for name, value in found[:limit]]
        others = {kind: {"count": len(names), "names": sorted(names)[:12]} for kind, names in others.items()}
        return {"total": total, "rows": rows, "others": others, "count": self.shell.execution_count}

    def inspect(self, name, path="", rows=5, stats=False, is_busy=False):
        variables = self.variables()
        if name not in variables:
            close = [known for known in variables if known.lower() == name.lower()]
            close = f" There is {cut(close[0], MAX_NAME)!r}." if close else ""
            raise Refused(f"There is no variable {cut(name, MAX_NAME)!r}.{close}")
        value = follow(variables[name], path)
        label = f"{name}.{path}" if path and path[0] not in ".[" else f"{name}{path}"
        if is_secret_path(label):
            return {**describe(name, value), "name": cut(name, 200), "value": HIDDEN}
        found = {**describe(label, value), "name": cut(label, 200)}
        found["type"] = full_name(type(value))
        found.update(details(value, rows, stats, is_busy))
        return found

    def inspected(self, **given):
        return shown_lines(self.inspect(**given))

    def lacking(self, **given):
        return problems(**given)

    def near(self, names, missing):
        """The names of columns and labels that are like those that the last execution has not found, in these variables first."""
        variables = self.variables()
        named = [(name, variables[name]) for name in names if name in variables and not is_secret(name)]
        return {"near": near_names(named, missing, last_error(self.shell))}

    def near_path(self, path):
        return near_path(path)

    def mark(self):
        """Remembers what there is, for the next question about changes. Nothing while a cell runs."""
        count, was_running = self.shell.execution_count, self.is_running()
        seen, _ = self.look()
        self.modules.look()
        self.seen = NOTHING if was_running or self.is_running() else seen
        if not was_running:
            self.idle_count = count
        return {}

    def changes(self, count, request):
        """What the execution with this number and id has changed. Nothing if other code ran since the last look."""
        (counted, before, random), (now, variables) = self.seen, self.look()
        self.modules.look()
        self.seen = NOTHING if runs_another(self.shell, request) else now
        if self.seen[0] is not None:
            self.idle_count = self.seen[0]
        if counted != count or self.seen[0] != count + 1:
            return {}
        drawn = {library: mark for library, mark in now[2].items() if library in random and random[library] != mark}
        return {**compared(before, now[1], variables, drawn, last_result(self.shell)), **self.modules.report()}

    def is_running(self):
        return is_running(self.shell, self.idle_count)

    def look(self):
        count, variables = self.shell.execution_count, self.variables()
        if len(variables) > MAX_COMPARED:
            return NOTHING, variables
        found, random = marks(variables), random_marks()
        # A cell that has begun since may have changed some of them.
        return (count, found, random) if self.shell.execution_count == count else NOTHING, variables


def is_match(name, pattern):
    if not pattern:
        return not name.startswith("_")
    if any(it in pattern for it in "*?["):
        return fnmatch.fnmatchcase(name, pattern)
    return pattern.lower() in name.lower()
