# Fingerprints of the contents of values: another one after a value was changed in place.

import marshal
import sys
import types
from collections import deque
from sys import getsizeof
from time import perf_counter

from .kinds import (
    CONTAINERS,
    FUNCTIONS,
    MISSING,
    PRINTED,
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
# Later ones do not write equal values alike.
FORMAT = 2
# A class could have an `__eq__` of its own.
NESTED_KINDS = {id(kind) for kind in CONTAINERS}
PLAIN_KINDS = {id(kind) for kind in (int, float, complex, bool, str, bytes, type(None))}
# What these hold is not looked at.
CODE = (*FUNCTIONS, types.ModuleType, type, property, staticmethod, classmethod)


class Contents:
    """One look at many values."""

    def __init__(self):
        self.left, self.end = MAX_ALL, perf_counter() + MAX_SECONDS

    def of(self, value, kind):
        """A number that stands for all that the value holds; in a tuple, for a part of that. `None` if it is not free to know."""
        if self.left <= 0 or perf_counter() > self.end or is_one_of(kind, FUNCTIONS):
            return None
        self.items, self.is_whole, self.is_estimated = MAX_ITEMS, True, is_estimator(kind)
        is_flat = id(kind) in NESTED_KINDS and is_small(value)
        number = self.number(marshal.dumps(value if is_flat else self.part(value, ()), FORMAT))
        return number if self.is_whole else (number,)

    def number(self, content):
        self.left -= len(content)
        return hash(content)

    def part(self, value, above):
        """What `marshal` writes of a value: itself, its parts, or else only which object it is."""
        kind = type(value)
        if id(kind) in PLAIN_KINDS:
            if getsizeof(value) <= MAX_BYTES:
                return value
        elif id(value) in above:
            return above.index(id(value))
        elif len(above) < MAX_NESTED:
            above = (*above, id(value))
            items = items_of(value, kind)
            if items is None:
                found = self.of_library(value, kind, above)
                if found is not MISSING:
                    return found
            elif self.has_room(len(items)):
                return (id(kind), *[self.part(it, above) for it in items])
        self.is_whole = False
        # Another `fit` with the same data makes other parts that are equal.
        return 0 if self.is_estimated else id(value)

    def has_room(self, items):
        self.items -= items
        return self.items >= 0

    def of_library(self, value, kind, above):
        known = library_class(kind)
        if known in PRINTED and known.startswith("numpy."):
            return known, str(value)
        if kind is bytearray and len(value) <= MAX_BYTES:
            return bytes(value)
        if known == "numpy.ndarray":
            return self.of_array(value, above)
        if known in ("pandas.DataFrame", "pandas.Series") and is_plain(known, value):
            return self.of_columns(value, known, above)
        if known == "re.Pattern":
            return self.part(value.pattern, above), value.flags
        if known == "random.Random":
            return hash(value.getstate())
        if module_of(kind) in ("numpy.random.mtrand", "numpy.random._generator") and is_of_library(kind):
            return numpy_state(value.get_state(legacy=False) if hasattr(value, "get_state") else value.bit_generator.state)
        if known.startswith("torch.") and hasattr(value, "_version"):
            self.is_whole = False
            return value._version
        return MISSING

    def of_array(self, array, above):
        """Of a large one only its form: where its items are in memory says nothing of what they are."""
        form = array.dtype.str, array.shape
        is_small = array.nbytes <= MAX_BYTES and array.dtype.kind in "biufcmMSUO"
        if is_small and not array.dtype.hasobject:
            return *form, self.number(array.tobytes())
        if is_small and self.has_room(array.size):
            return *form, *[self.part(it, above) for it in array.ravel().tolist()]
        self.is_whole = False
        return form

    def of_columns(self, value, known, above):
        """Of each column by itself: pandas moves them in memory also if they are only read."""
        found, manager = {}, value._mgr
        for block in manager.blocks:
            values = block.values
            parts = values if is_numpy(values) and values.ndim > 1 else [values]
            for at, part in zip(block.mgr_locs, parts):
                found[int(at)] = self.of_column(part, above)
        axes = [(self.of_axis(axis, above), *[self.part(name, above) for name in axis.names]) for axis in manager.axes]
        return *axes, self.part(value._name, above) if known == "pandas.Series" else 0, *sorted(found.items())

    def of_axis(self, axis, above):
        kind = library_class(type(axis))
        if kind == "pandas.RangeIndex":
            return axis.start, axis.stop, axis.step
        return self.of_column(axis._data, above) if kind != "pandas.MultiIndex" else self.part(axis, above)

    def of_column(self, values, above):
        if is_numpy(values):
            return self.part(values, above)
        own = own_attributes(values)
        arrow = getattr(values, "_pa_array", None)
        if arrow is not None:
            self.is_whole = self.is_whole and self.has_room(len(arrow))
            return tuple(self.part(it, above) for it in arrow.to_pylist()) if self.is_whole else len(arrow)
        parts = [it for it in (getattr(values, "_ndarray", None), own.get("_data"), own.get("_mask")) if it is not None]
        self.is_whole = self.is_whole and bool(parts)
        is_category = type(values).__name__ == "Categorical"
        kind = self.of_axis(values.dtype.categories, above) if is_category else str(values.dtype)
        return kind, *[self.part(it, above) for it in parts]


def is_numpy(values):
    return library_class(type(values)) == "numpy.ndarray"


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
    is_plain_object = kind is types.SimpleNamespace or is_estimator(kind)
    if is_plain_object or is_own(kind):
        own = own_attributes(value)
        is_all = is_plain_object or (all(map(is_own, bases_of_type(kind)[:-1])) and class_entry(kind, "__slots__") is MISSING)
        return [*own, *own.values(), *(() if is_all else (MISSING,))]
    return None


def is_estimator(kind):
    """Whether it follows scikit-learn's rule that only `fit` and the like change an object."""
    base = getattr(sys.modules.get("sklearn.base"), "BaseEstimator", None)
    return base is not None and is_kind(kind, base) and is_of_library(kind)


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
