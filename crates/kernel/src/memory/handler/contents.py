# Fingerprints of the contents of values: another one after a value was changed in place.

import marshal
import types
from collections import deque
from sys import getsizeof
from time import perf_counter

from .kinds import (
    CONTAINERS,
    FUNCTIONS,
    MISSING,
    bases_of_type,
    class_entry,
    is_installed,
    is_kind,
    is_one_of,
    is_of_library,
    library_class,
    module_of,
    own_attributes,
    root_of,
)
from .plain import is_plain

# So much of one value is looked at, and of all of them in one look.
MAX_ITEMS = 1000
MAX_NESTED = 6
MAX_BYTES = 64 * 1024
MAX_ALL = 512 * 1024
MAX_SECONDS = 0.003
# A class could have an `__eq__` of its own.
NESTED_KINDS = {id(kind) for kind in CONTAINERS}
PLAIN_KINDS = {id(kind) for kind in (int, float, complex, bool, str, bytes, type(None))}
# What these hold is not looked at.
CODE = (*FUNCTIONS, types.ModuleType, type, property, staticmethod, classmethod)


class Contents:
    """One look at many values."""

    def __init__(self):
        self.left, self.end = MAX_ALL, perf_counter() + MAX_SECONDS

    def of(self, value, kind, known):
        """A number that stands for all that the value holds; in a tuple, for a part of that. `None` if it is not free to know."""
        if self.left <= 0 or perf_counter() > self.end or is_one_of(kind, FUNCTIONS):
            return None
        if id(kind) in NESTED_KINDS and is_small(value):
            # Later versions of the format do not write equal values alike.
            return self.number(marshal.dumps(value, 2))
        found = self.of_library(value, kind, known)
        if found is not MISSING:
            return found
        if items_of(value, kind) is None:
            return None
        self.items, self.is_whole = MAX_ITEMS, True
        number = self.number(marshal.dumps(self.part(value, ()), 2))
        return number if self.is_whole else (number,)

    def of_library(self, value, kind, known):
        if kind is bytearray:
            return self.number(bytes(value)) if len(value) <= MAX_BYTES else None
        if known == "numpy.ndarray":
            return self.of_array(value)
        if known in ("pandas.DataFrame", "pandas.Series"):
            return self.of_columns(value, known)
        if known == "re.Pattern":
            return 0
        if known == "random.Random":
            return hash(value.getstate())
        if module_of(kind) in ("numpy.random.mtrand", "numpy.random._generator") and is_of_library(kind):
            return numpy_state(value.get_state(legacy=False) if hasattr(value, "get_state") else value.bit_generator.state)
        return (value._version,) if known.startswith("torch.") and hasattr(value, "_version") else MISSING

    def part(self, value, above):
        """What `marshal` writes of a value inside another one: itself, its parts, or else only which object it is."""
        kind = type(value)
        if id(kind) in PLAIN_KINDS:
            if getsizeof(value) <= MAX_BYTES:
                self.left -= 8
                return value
        elif id(value) in above:
            return above.index(id(value))
        else:
            items = items_of(value, kind)
            if items is not None:
                self.items -= len(items)
                if self.items >= 0 and len(above) < MAX_NESTED:
                    above = (*above, id(value))
                    return (id(kind), *[self.part(it, above) for it in items])
            else:
                known = library_class(kind)
                found = self.of_library(value, kind, known) if is_plain(known, value) else MISSING
                if found is not MISSING:
                    self.is_whole &= type(found) is int
                    return id(value), found
        self.is_whole = False
        return id(value)

    def number(self, content):
        self.left -= len(content)
        return hash(content)

    def of_array(self, array):
        if array.nbytes > MAX_BYTES or array.dtype.kind not in "biufcmMSUO":
            return None
        number = self.number(array.tobytes())
        # The contents of its objects are not looked at.
        return (number,) if array.dtype.hasobject else number

    def of_columns(self, value, known):
        """Of each column by itself: pandas moves them in memory also if they are only read."""
        found, manager = {}, value._mgr
        for block in manager.blocks:
            values = block.values
            parts = values if is_numpy(values) and values.ndim > 1 else [values]
            for at, part in zip(block.mgr_locs, parts):
                found[at] = [self.of_array(it) if is_numpy(it) else id(it) for it in parts_of(part)]
        labels = [(id(axis), *map(id, axis.names)) for axis in manager.axes] + [id(value._name) if known == "pandas.Series" else 0]
        number = hash(repr((labels, sorted(found.items()))))
        is_whole = all(parts and all(type(it) is int for it in parts) for parts in found.values())
        return number if is_whole else (number,)


def is_numpy(values):
    return library_class(type(values)) == "numpy.ndarray"


def parts_of(values):
    """The holders of a column's values: arrays of numpy, and objects that never change."""
    if is_numpy(values):
        return [values]
    own = own_attributes(values)
    found = [getattr(values, name, None) for name in ("_ndarray", "_pa_array")] + [own.get(name) for name in ("_data", "_mask")]
    return [it for it in found if it is not None]


def numpy_state(state):
    """A number for the state of a generator of NumPy."""
    inner = state["state"]
    key = inner.get("key")
    numbers = repr(inner) if key is None else (hash(key.tobytes()), inner["pos"])
    return hash((numbers, *(state.get(name) for name in ("has_gauss", "gauss", "has_uint32", "uinteger"))))


def items_of(value, kind):
    """All that a container, or an object of the person's classes, holds; `None` of others. A part that is missing is an object."""
    if id(kind) in NESTED_KINDS:
        return [*value, *value.values()] if kind is dict else list(value)
    if kind is deque:
        return list(value)
    if is_kind(kind, dict) and is_of_library(kind):
        return [*value, *dict.values(value)]
    if kind is types.ModuleType:
        return held(value.__dict__) if is_own_root(str(value.__dict__.get("__name__")).partition(".")[0]) else None
    if is_kind(kind, type):
        return held(type.__dict__["__dict__"].__get__(value)) if is_own(value) else None
    if kind is types.SimpleNamespace or is_own(kind):
        own = own_attributes(value)
        is_all = kind is types.SimpleNamespace or (all(map(is_own, bases_of_type(kind)[:-1])) and class_entry(kind, "__slots__") is MISSING)
        return [*own, *own.values(), *(() if is_all else (MISSING,))]
    return None


def held(entries):
    """What a class or a module holds. Of its code, only which object it is."""
    found = [(name, it, any(is_kind(type(it), kind) for kind in CODE)) for name, it in entries.items() if type(name) is str]
    found = [(name, id(it) if is_code else it) for name, it, is_code in found if is_code or not name.startswith("__")]
    return [part for pair in found for part in pair]


def is_own(kind):
    """Whether a class is the person's: of the notebook, or of a module that is not installed."""
    return module_of(kind) == "__main__" or is_own_root(root_of(kind))


def is_own_root(root):
    return root not in ("", "builtins") and not is_installed(root)


def is_small(value):
    """Whether a container holds a few plain values, and containers of such."""
    if len(value) > MAX_ITEMS:
        return False
    items = items_of(value, type(value))
    inner = [it for it in items if id(type(it)) in NESTED_KINDS]
    if sum(map(len, inner)) > MAX_ITEMS:
        return False
    items = [it for it in items if id(type(it)) not in NESTED_KINDS] + [it for each in inner for it in items_of(each, type(each))]
    return PLAIN_KINDS.issuperset(id(type(it)) for it in items) and sum(map(getsizeof, items)) <= 4 * MAX_BYTES
