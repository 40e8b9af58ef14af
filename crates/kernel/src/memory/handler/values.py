# A value as a short text, and as a row of the list: cheap facts only.

import types
from itertools import islice

from .kinds import (
    ARRAYS,
    COLUMNS,
    CONTAINERS,
    FRAMES,
    FUNCTIONS,
    NDARRAYS,
    PRINTED,
    bases_of_type,
    cut,
    is_arrow_array,
    is_kind,
    is_lazy,
    is_one_of,
    is_sparse,
    library_class,
    name_of_type,
    root_of,
)
from .plain import is_known_zone, is_plain, plain_frame
from .secrets import HIDDEN, HIDDEN_TYPED, HIDDEN_VALUE, is_secret, is_secret_key, is_typed

OWN_TYPES = "<it has types of your own, whose code does not run>"
NULLS = {"NaTType": "NaT", "NAType": "<NA>"}
MAX_COLUMNS = 200
# Bytes of one table in an answer. A frame has three, which together must stay below 4 kB.
MAX_TABLE = 1200


def short(value, limit=80, depth=1):
    """A value of a built-in type as text; of others only the type."""
    kind = type(value)
    if value is None or value is Ellipsis or kind is bool:
        return repr(value)
    if kind is int:
        bits = int.bit_length(value)
        return int.__repr__(value) if bits <= 256 else f"<int of {bits} bits>"
    if kind is float or kind is complex:
        return kind.__repr__(value)
    if is_typed(value):
        return HIDDEN_VALUE
    if kind is str:
        return cut(str.__repr__(value[:limit]), limit) if len(value) > limit else str.__repr__(value)
    if kind is bytes or kind is bytearray:
        return cut(kind.__repr__(value[:limit]), limit)
    if kind is range and all(int.bit_length(it) <= 64 for it in (value.start, value.stop, value.step)):
        return range.__repr__(value)
    if is_one_of(kind, CONTAINERS) and depth:
        return cut(shown_items(kind, value, limit, depth - 1), limit)
    known = library_class(kind)
    if known == "numpy.str_":
        return short(str.__getitem__(value, slice(limit + 1)), limit)
    if known in PRINTED and is_printable(known, value):
        return cut(str(value), limit)
    if root_of(kind) == "pandas" and name_of_type(kind) in NULLS:
        return NULLS[name_of_type(kind)]
    return f"<{name_of_type(kind)}>"


def is_printable(known, value):
    """Whether the parts that `str` asks are of built-in types, too."""
    if known in ("datetime.datetime", "datetime.time", "pandas.Timestamp"):
        return is_known_zone(value.tzinfo)
    if known == "uuid.UUID":
        return type(value.int) is int
    if known.startswith("pathlib."):
        parts = getattr(value, "_raw_paths", None) or getattr(value, "_parts", ())
        return all(type(part) is str for part in parts)
    return True


def shown_items(kind, value, limit, depth):
    try:
        if kind is dict:
            items = [
                f"{short(key, 30, 0)}: {HIDDEN_VALUE if is_secret_key(key) else short(item, 30, depth)}"
                for key, item in islice(value.items(), 6)
            ]
        else:
            items = [short(item, 30, depth) for item in islice(value, 6)]
    except RuntimeError:
        return "<changing>"
    left, right = {list: "[]", tuple: "()"}.get(kind, "{}")
    more = ", …" if len(value) > len(items) else ""
    return f"{left}{', '.join(items)}{more}{right}"


def length(value, kind):
    """The number of items of a built-in container or a subclass of one."""
    for base in (*CONTAINERS, str, bytes, bytearray):
        if is_kind(kind, base):
            return base.__len__(value)
    if kind is range:
        # `len` refuses those that are longer than an index may be.
        count = max(0, (value.stop - value.start + value.step - (1 if value.step > 0 else -1)) // value.step)
        return count if int.bit_length(count) <= 64 else None
    return None


def by_times(shape):
    return "×".join(str(int(size)) for size in shape)


def first_that_fit(rows, room=MAX_TABLE):
    """The first rows of a table, at least one."""
    for at, row in enumerate(rows):
        room -= sum(len(str(cell).encode(errors="replace")) + 1 for cell in row)
        if room < 0 and at:
            return rows[:at]
    return rows


def row_of(name, value, limit=80):
    """A row of the list, of any value."""
    try:
        return describe(name, value, limit)
    except Exception as error:
        failed = f"<it cannot be shown: {name_of_type(type(error))}>"
        return {"name": name, "type": name_of_type(type(value)), "kind": "data", "value": failed}


def kind_of_row(value):
    bases = bases_of_type(type(value))
    for kind, word in ((types.ModuleType, "module"), (type, "class")):
        if any(base is kind for base in bases):
            return word
    return "function" if is_one_of(type(value), FUNCTIONS) else "data"


def describe(name, value, limit=80):
    """One row of the list: cheap facts only."""
    kind = type(value)
    row = {"name": name, "type": name_of_type(kind), "kind": kind_of_row(value)}
    if row["kind"] != "data":
        return row
    if is_typed(value):
        return {**row, "value": HIDDEN_TYPED}
    count = length(value, kind)
    if count is not None:
        row["size"] = str(count)
        if is_one_of(kind, (str, bytes, bytearray)):
            row["bytes"] = count
    if is_secret(name):
        return {**row, "value": HIDDEN}
    known = library_class(kind)
    if is_lazy(kind, known):
        return {**row, "value": "<lazy: not computed>"}
    try:
        row.update(library_facts(known, value) if is_plain(known, value) else {"value": OWN_TYPES})
    except Exception as error:
        row["value"] = f"<{name_of_type(type(error))}>"
    library = next((it for it in map(library_class, bases_of_type(kind)[1:]) if it in FRAMES or it in ARRAYS), "")
    if library and not known:
        row["value"] = f"<a subclass of {library}>"
    if "value" not in row:
        text = short(value, limit)
        if text != f"<{row['type']}>":
            row["value"] = text
    return row


def library_facts(known, value):
    """Size and element types of arrays and frames."""
    if known in FRAMES:
        names, kinds = columns(known, value, 9)
        shown = ", ".join(f"{cut(name, 20)}: {cut(kind, 20)}" for name, kind in islice(zip(names, kinds), 8))
        more = ", …" if len(names) > 8 else ""
        return {"size": by_times(value.shape), "value": f"{shown}{more}"}
    if known in COLUMNS:
        return {"size": str(len(value)), "value": f"of {text_of_type(value.dtype)}"}
    if is_arrow_array(known):
        return {"size": str(len(value)), "value": f"of {text_of_type(value.type)}", "bytes": int(value.nbytes)}
    if known in ARRAYS:
        facts = {"size": by_times(value.shape) or "scalar", "value": f"of {text_of_type(value.dtype)}"}
        if known in NDARRAYS:
            facts["bytes"] = int(value.nbytes)
        elif known.startswith("torch"):
            facts["value"] += f" on {value.device}"
        return facts
    if is_sparse(known):
        return {"size": by_times(value.shape), "value": f"sparse of {text_of_type(value.dtype)}, {int(value.nnz)} stored"}
    if known in ("xarray.DataArray", "xarray.Dataset"):
        sizes = ", ".join(f"{short_label(name)}: {size}" for name, size in islice(value.sizes.items(), 10))
        return {"size": cut(sizes, 60), "bytes": int(value.nbytes)}
    return {}


def text_of_type(kind):
    """The name of a type of elements. Those with many categories or fields would name each of them."""
    fields = getattr(kind, "names", None)
    if type(fields) is tuple:
        return cut(f"{len(fields)} fields: {', '.join(islice(fields, 8))}", 60)
    name = name_of_type(type(kind))
    return name if name == "Enum" else cut(str(kind), 60)


def columns(known, frame, limit=MAX_COLUMNS):
    """Names and types of the first columns."""
    if known == "pandas.DataFrame":
        labels, kinds = frame.columns[:limit], plain_frame(frame, 0, limit).dtypes.array
    elif known == "polars.DataFrame":
        labels, kinds = frame.columns[:limit], frame.dtypes[:limit]
    else:
        labels, kinds = frame.schema.names[:limit], frame.schema.types[:limit]
    return [short_label(label) for label in labels], [text_of_type(kind) for kind in kinds]


def short_label(label):
    return cut(label, 40) if type(label) is str else short(label, 40)
