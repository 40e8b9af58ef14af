# The changes of a run, found by comparing the variables before and after it.

import sys
import types

from .contents import Contents, numpy_state
from .kinds import (
    ARRAYS,
    COLUMNS,
    CONTAINERS,
    FRAMES,
    FUNCTIONS,
    cut,
    is_arrow_array,
    is_kind,
    is_of_library,
    is_one_of,
    library_class,
    name_of_type,
)
from .plain import is_plain
from .secrets import is_secret, is_typed
from .spaces import exact_texts
from .values import by_times

# Comparing more variables would take long enough to be noticed.
MAX_COMPARED = 5000
# More names than an answer has room for.
MAX_NAMED = 100
MAX_NAME = 60
# A mark is never a value that would be kept alive.
MAX_HASHED = 1000
NOTHING = (None, {}, {})


def marks(variables):
    """For each variable something that is another one after the variable was changed, as far as that is free to know."""
    found, libraries, contents = {}, {}, Contents()
    for name, value in variables.items():
        if not name.startswith("_"):
            kind = type(value)
            try:
                # A class of the person may have a hash of its own; its id stays as long as its value is there.
                known = libraries.get(id(kind))
                if known is None:
                    known = libraries[id(kind)] = library_class(kind)
                found[name] = mark_of(value, kind, known, contents)
            except Exception:
                found[name] = id(kind), id(value), None, None
    return found


def mark_of(value, kind, known, contents):
    """Equal small values are the same; of others the object counts, how large it is, and what it holds, if that is free to know."""
    if kind is int and int.bit_length(value) <= 64:
        return id(kind), value
    if kind is float:
        return id(kind), value if value == value else None
    if (kind is str or kind is bytes) and len(value) <= MAX_HASHED:
        return id(kind), hash(value)
    size = free_size(value, kind, known)
    try:
        return id(kind), id(value), size, contents.of(value, kind)
    except Exception:
        return id(kind), id(value), size, None


def is_changed(before, now):
    """Compares two looks at a value by the parts that are known in both."""
    is_known = None not in before[3:] + now[3:]
    return before[:3] != now[:3] or (is_known and before[3:] != now[3:])


def is_equal(before, now):
    """Whether the values of two looks are known to be equal, of one object or of two."""
    if len(now) == 2:
        return before == now
    return type(now[3]) is int and (before[0], *before[2:]) == (now[0], *now[2:])


def free_size(value, kind, known):
    """The shape of an array or a frame, the length of a column or a built-in container."""
    try:
        if known in FRAMES or known in ARRAYS:
            return tuple(int(size) for size in value.shape) if is_plain(known, value) else None
        if known in COLUMNS or is_arrow_array(known):
            return len(value) if is_plain(known, value) else None
    except Exception:
        return None
    return len(value) if is_one_of(kind, CONTAINERS) or kind is bytearray else None


def random_marks():
    """For each library with a random state that it shares, something that is another one after numbers were drawn from it. Nothing is
    imported for it."""
    found = {}
    for library, mark in (("Python", python_random), ("NumPy", numpy_random), ("PyTorch", torch_random)):
        try:
            found[library] = mark()
        except Exception:
            pass
    return found


def shared_random(module, name, kind):
    """The object that holds the state, if it is of the library's own class."""
    module = sys.modules[module].__dict__
    shared = module[name]
    if type(shared) is not module[kind] or not is_of_library(type(shared)):
        raise TypeError
    return shared


def python_random():
    shared = shared_random("random", "_inst", "Random")
    state = sys.modules["_random"].Random.getstate(shared)
    return hash(state), type(shared).__dict__["__dict__"].__get__(shared).get("gauss_next")


def numpy_random():
    return numpy_state(shared_random("numpy.random.mtrand", "_rand", "RandomState").get_state(legacy=False))


def torch_random():
    generator = sys.modules["torch"].__dict__["default_generator"]
    if not is_of_library(type(generator)):
        raise TypeError
    return hash(generator.get_state().numpy().tobytes())


def runs_another(shell, request):
    """Whether the kernel has begun with another execution than this one. Silent ones are those of tools."""
    try:
        begun = shell.kernel.get_parent("shell")
        is_execution = begun["header"]["msg_type"] == "execute_request"
        return is_execution and begun["header"]["msg_id"] != request and not begun["content"].get("silent")
    except Exception:
        return False


def is_running(shell, idle_count):
    """Whether a cell that was counted already still runs. IPython 8 counts it when it has run, IPython 9 before."""
    try:
        last = shell.last_execution_result
        # An empty cell has no count, such as the one that installs this.
        if last is None or last.execution_count is None:
            return shell.execution_count > idle_count
        is_counted = last.info.store_history and not last.info.silent
        return shell.execution_count > last.execution_count + is_counted
    except Exception:
        return False


def compared(before, now, variables, random, result):
    new = [name for name in now if name not in before]
    changed = [name for name, mark in now.items() if name in before and before[name] != mark and is_changed(before[name], mark)]
    equal = [name for name, mark in now.items() if name in before and is_equal(before[name], mark)]
    gone = [name for name in before if name not in now]
    return {
        "new": [brief_row(name, variables[name]) for name in new[:MAX_NAMED]],
        "new_count": len(new),
        "changed": [cut(name, MAX_NAME) for name in changed[:MAX_NAMED]],
        "changed_count": len(changed),
        "gone": [cut(name, MAX_NAME) for name in gone[:MAX_NAMED]],
        "gone_count": len(gone),
        # A name with another object that is equal is here, too.
        "unchanged": [name for name in equal[-MAX_NAMED:] if len(name) < MAX_NAME],
        "random": list(random),
        "states": {library: hash(mark) & (2**64 - 1) for library, mark in random.items()},
        **exact_texts(((name, variables[name]) for name in new), result),
    }


def last_result(shell):
    """What the last cell has shown as its result."""
    try:
        return shell.last_execution_result.result
    except Exception:
        return None


def brief_row(name, value):
    try:
        return brief(name, value)
    except Exception:
        return {"name": cut(name, MAX_NAME)}


def brief(name, value):
    """A new variable: its type, and its size where that is free. Of what looks like a secret only the name."""
    row = {"name": cut(name, MAX_NAME)}
    if is_secret(name):
        return row
    kind = type(value)
    for base, word in ((types.ModuleType, "module"), (type, "class")):
        if is_kind(kind, base):
            return {**row, "type": word}
    if is_one_of(kind, FUNCTIONS):
        return {**row, "type": "function"}
    size = free_size(value, kind, library_class(kind))
    if type(size) is tuple:
        size = by_times(size)
    elif kind is str or kind is bytes:
        size = None if is_typed(value) else len(value)
    return {**row, "type": cut(name_of_type(kind), MAX_NAME), "size": "" if size is None else str(size)}
