# Fingerprints of the contents of values: another one after a value was changed in place.

import marshal
from sys import getsizeof
from time import perf_counter

from .kinds import CONTAINERS, MISSING, bases_of_type, class_entry, is_of_library, library_class, module_of, own_attributes

# So much of one value is looked at, and of all of them in one look.
MAX_ITEMS = 1000
MAX_BYTES = 64 * 1024
MAX_ALL = 512 * 1024
MAX_SECONDS = 0.001
# A class could have an `__eq__` of its own.
NESTED_KINDS = {id(kind) for kind in CONTAINERS}
PLAIN_KINDS = {id(kind) for kind in (int, float, complex, bool, str, bytes, type(None))}


class Contents:
    """One look at many values."""

    def __init__(self):
        self.left, self.end = MAX_ALL, perf_counter() + MAX_SECONDS

    def of(self, value, kind, known):
        """A number that stands for all that the value holds; in a tuple, for a part of that. `None` if it is not free to know."""
        if self.left <= 0 or perf_counter() > self.end:
            return None
        if id(kind) in NESTED_KINDS:
            # Later versions of the format do not write equal values alike.
            return self.number(marshal.dumps(value, 2)) if is_small(value) else None
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
        if is_of_notebook(kind):
            own = own_attributes(value)
            return self.number(marshal.dumps(own, 2)) if is_small(own) else None
        return (value._version,) if known.startswith("torch.") else None

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


def is_of_notebook(kind):
    """Whether a class of the notebook has all that its objects hold in their `__dict__`."""
    own = bases_of_type(kind)[:-1]
    return all(module_of(base) == "__main__" for base in own) and class_entry(kind, "__slots__") is MISSING


def items_of(value):
    return [*value, *value.values()] if type(value) is dict else list(value)


def is_small(value):
    """Whether a container holds a few plain values, and containers of such."""
    if len(value) > MAX_ITEMS:
        return False
    items = items_of(value)
    inner = [it for it in items if id(type(it)) in NESTED_KINDS]
    if sum(map(len, inner)) > MAX_ITEMS:
        return False
    items = [it for it in items if id(type(it)) not in NESTED_KINDS] + [it for each in inner for it in items_of(each)]
    return PLAIN_KINDS.issuperset(id(type(it)) for it in items) and sum(map(getsizeof, items)) <= 4 * MAX_BYTES
