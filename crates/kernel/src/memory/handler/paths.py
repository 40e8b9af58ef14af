# The members of a value that a path leads to: what is stored, and what libraries know at once.

import ast
import re
import sys
import types
from itertools import islice

from .arrays import in_memory
from .kinds import (
    FRAMES,
    FUNCTIONS,
    INDEXES,
    MISSING,
    NDARRAYS,
    PRINTED,
    Refused,
    bases_of_type,
    class_entry,
    cut,
    entry,
    is_arrow_array,
    is_kind,
    is_lazy,
    is_made_by_class,
    is_one_of,
    library_class,
    module_of,
    name_of_type,
    own_attributes,
    root_of,
)
from .plain import is_plain, plain_column, plain_frame
from .secrets import is_typed
from .values import is_printable

# Attributes that run no code of the person and compute nothing, of values that are plain.
OPEN_ATTRIBUTES = {
    "pandas.DataFrame": "index columns shape size",
    "pandas.Series": "index name dtype shape size",
    **{name: "name names dtype shape size" for name in INDEXES},
    **{name: "shape dtype size ndim nbytes T" for name in NDARRAYS},
    "polars.DataFrame": "columns shape height width",
    "polars.Series": "name dtype shape",
    "pyarrow.Table": "schema num_rows num_columns shape nbytes column_names",
    "pyarrow.RecordBatch": "schema num_rows num_columns nbytes",
    "xarray.DataArray": "dims shape dtype name nbytes",
    "xarray.Dataset": "nbytes",
    "torch.Tensor": "shape dtype device requires_grad grad",
    "torch.Parameter": "shape dtype device requires_grad grad",
    "datetime.datetime": "year month day hour minute second microsecond",
    "datetime.date": "year month day",
    "datetime.time": "hour minute second microsecond",
    "datetime.timedelta": "days seconds microseconds",
    "pathlib.PosixPath": "name stem suffix parent",
    "pathlib.WindowsPath": "name stem suffix parent",
    "complex": "real imag",
    "range": "start stop step",
    "slice": "start stop step",
}
# As many labels are compared one by one.
MAX_LABELS = 1_000_000


def follow(value, path):
    """The member that `path` leads to, as in `.layers[3].weight`."""
    if path and path[0] not in ".[":
        return bare_member(value, path)
    for is_item, key in steps_of(path):
        value = item(value, key) if is_item else attribute(value, key)
    return value


def steps_of(path):
    try:
        tree = ast.parse(f"x{path}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        shown = cut(repr(path), 100)
        raise Refused(f"The path {shown} cannot be read; it may be like .layers[3].weight or ['key'].") from None
    steps = []
    while not isinstance(tree, ast.Name):
        if isinstance(tree, ast.Attribute):
            steps.append((False, tree.attr))
            tree = tree.value
        elif isinstance(tree, ast.Subscript):
            try:
                steps.append((True, index_of(tree.slice)))
            except (ValueError, TypeError):
                raise Refused(NO_INDEX) from None
            tree = tree.value
        else:
            raise Refused("A path may contain only names after a dot, and integers or strings in brackets.")
    return reversed(steps)


def bare_member(value, path):
    """What a path without a dot or brackets names: an item with this key, such as a column, or an attribute."""
    number = re.fullmatch(r"-?\d+", path)
    failed = None
    for key in (int(path), path) if number else (path,):
        try:
            return item(value, key)
        except Refused as refused:
            failed = failed or refused
    head = re.match(r"\w+", path)
    if number or not head:
        raise failed
    try:
        value = bare_member(value, head[0]) if head[0] != path else attribute(value, path)
    except Refused:
        if str(failed).startswith("There is no item"):
            raise Refused(f"There is no item, column or attribute {cut(repr(path), 100)}.") from None
        raise
    return follow(value, path[head.end() :])


NO_INDEX = "An index in a path must be an integer, a string or a slice of integers."


def index_of(node):
    if isinstance(node, ast.Slice):
        return slice(*(part and ast.literal_eval(part) for part in (node.lower, node.upper, node.step)))
    return tuple(map(index_of, node.elts)) if isinstance(node, ast.Tuple) else ast.literal_eval(node)


def item(value, key):
    kind = type(value)
    if is_kind(kind, dict):
        return dict_item(value, key)
    for base in (list, tuple, str, bytes):
        # Of a text that a person typed, no part is shown either.
        if is_kind(kind, base) if base in (list, tuple) else kind is base and not is_typed(value):
            if type(key) is not int and type(key) is not bool and not is_slice(key):
                raise Refused("Index it with an integer.")
            try:
                return base.__getitem__(value, key)
            except (LookupError, ValueError) as error:
                raise no_item(key, error) from None
    members = torch_members(value)
    if str(key) in members:
        return members[str(key)]
    known = library_class(kind)
    if is_lazy(kind, known):
        raise Refused("It is lazy, and would have to be computed.")
    if not has_items(known) or not is_plain(known, value):
        raise Refused(f"An item of {name_of_type(kind)} would run its own code.")
    if not is_key(key):
        raise Refused(NO_INDEX)
    try:
        return library_item(known, value, key)
    except (LookupError, TypeError, ValueError) as error:
        raise no_item(key, error) from None


def no_item(key, error):
    return Refused(f"There is no item [{cut(repr(key), 100)}] ({name_of_type(type(error))}).")


def is_key(key):
    if type(key) is tuple:
        return all(type(it) in (int, str) or is_slice(it) for it in key)
    return type(key) in (int, str, float, bytes, bool) or is_slice(key)


def is_slice(key):
    return type(key) is slice and all(it is None or type(it) is int for it in (key.start, key.stop, key.step))


def dict_item(value, key):
    """A look-up would run `__missing__`, which adds to a `defaultdict`, and the `__eq__` of keys."""
    try:
        found = next((it for known, it in dict.items(value) if is_same(known, key)), MISSING)
    except RuntimeError:
        raise Refused("The running cell is modifying it; ask again.") from None
    if found is MISSING:
        raise no_item(key, KeyError())
    return found


NUMBERS = (int, float, bool, complex)


def is_same(known, key):
    """Whether a key is this one, by built-in types only."""
    kind = type(known)
    if kind is tuple and type(key) is tuple:
        return len(known) == len(key) and all(map(is_same, known, key))
    if is_one_of(kind, NUMBERS) and is_one_of(type(key), NUMBERS):
        return known == key
    if kind is not type(key) and library_class(kind) in PRINTED and root_of(kind) == "numpy":
        return bool(known == key)
    return kind is type(key) and is_one_of(kind, (str, bytes, type(None), type(Ellipsis))) and known == key


def has_items(known):
    is_array = known in NDARRAYS or known.startswith("torch.") or known == "jaxlib.ArrayImpl" or is_arrow_array(known)
    return is_array or known in FRAMES or known in ("pandas.Series", "polars.Series", "xarray.DataArray", "xarray.Dataset")


def library_item(known, value, key):
    """An item of a value that is plain. Objects that it holds may have code of the person, and are not compared."""
    if known in FRAMES and is_slice(key):
        key = (key, slice(None))
    if known in FRAMES and type(key) is tuple and len(key) == 2 and all(map(is_slice, key)):
        return frame_part(known, value, *key)
    if known == "pandas.DataFrame":
        at = position(value.columns, key)
        return plain_frame(value, at, at + 1).iloc[:, 0]
    if known == "pandas.Series":
        column = plain_column(value)
        return column.iloc[key] if is_slice(key) else column.iat[position(value.index, key)]
    if known == "jaxlib.ArrayImpl":
        # Its own items are computed on the device.
        value = in_memory(known, value)
        if value is None:
            raise Refused("Its values cannot be read without a computation.")
    if known == "xarray.Dataset" and key not in value._variables:
        raise KeyError
    if known == "xarray.DataArray" and type(key) is str and key not in value._coords:
        raise KeyError
    return value[key]


def frame_part(known, frame, rows, columns):
    """Rows and columns by their positions, on the same memory."""
    if known == "pandas.DataFrame":
        return sys.modules["pandas"].DataFrame(frame, copy=False).iloc[rows, columns]
    if known == "polars.DataFrame":
        return frame[rows, columns]
    return frame[rows].select(list(range(*columns.indices(frame.num_columns))))


def position(labels, key):
    """Where a label is. To look it up would hash and compare the labels."""
    if type(key) is int and library_class(type(labels)) == "pandas.RangeIndex":
        at, rest = divmod(key - labels.start, labels.step)
        found = at if not rest and 0 <= at < len(labels) else None
    else:
        found = next((at for at, label in enumerate(islice(labels, MAX_LABELS)) if is_same(label, key)), None)
    if found is None:
        raise KeyError
    return found


def attribute(value, name):
    """What is stored under the name; of some libraries' classes also what they know at once."""
    kind = type(value)
    if is_kind(kind, type):
        return class_attribute(value, name)
    for stored in (own_attributes(value), torch_members(value)):
        found = entry(stored.items(), name)
        if found is not MISSING:
            return found
    known = library_class(kind) or (name_of_type(kind) if root_of(kind) == "builtins" and not is_made_by_class(kind) else "")
    if is_lazy(kind, known):
        raise Refused("It is lazy, and would have to be computed.")
    if name in OPEN_ATTRIBUTES.get(known, "").split() and is_plain(known, value):
        # A path computes its parts from those that it got.
        if not known.startswith("pathlib.") or is_printable(known, value):
            return getattr(value, name)
    found = class_entry(kind, name)
    if found is MISSING:
        if known in FRAMES or known == "xarray.Dataset":
            return item(value, name)
        raise Refused(f"{name_of_type(kind)} has no attribute {cut(repr(name), 100)}.")
    if is_one_of(type(found), (types.MemberDescriptorType, sys.modules["_collections"].__dict__.get("_tuplegetter"))):
        try:
            return found.__get__(value)
        except AttributeError:
            raise Refused(f"{name!r} has no value.") from None
    if name in ("name", "value") and library_class(type(found)) in ("enum.property", "types.DynamicClassAttribute"):
        member = entry(own_attributes(value).items(), f"_{name}_")
        if member is not MISSING:
            return member
    return stored_in_class(found, name)


def class_attribute(value, name):
    members = class_entry(value, "_member_map_")
    member = entry(members.items(), name) if type(members) is dict else MISSING
    if member is not MISSING:
        return member
    found = class_entry(value, name)
    if found is MISSING:
        raise Refused(f"The class has no attribute {cut(repr(name), 100)} of its own.")
    return stored_in_class(found, name)


def stored_in_class(found, name):
    """What stands in a class under the name, unless it is a descriptor, which would compute the attribute."""
    kind = type(found)
    if kind is staticmethod or kind is classmethod:
        return found.__func__
    if is_one_of(kind, FUNCTIONS) or is_kind(kind, type) or class_entry(kind, "__get__") is MISSING:
        return found
    raise Refused(f"{name!r} is computed by code of its class.")


def torch_members(value):
    """The parts of a PyTorch module, which are no attributes of their own."""
    if not any(module_of(base).startswith("torch.nn.") for base in bases_of_type(type(value))):
        return {}
    own = own_attributes(value)
    parts = (entry(own.items(), name) for name in ("_modules", "_parameters", "_buffers"))
    return {name: it for part in parts if is_kind(type(part), dict) for name, it in dict.items(part) if type(name) is str}
