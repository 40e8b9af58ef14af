# What is in a value.

import types
from itertools import islice

from .arrays import array_details, arrow_details, xarray_details
from .figures import MAX_COUNTED, MEASURES, add_figures, add_note
from .frames import MAX_ROWS, column_details, frame_details, lazy_details, shown
from .kinds import (
    ARRAYS,
    COLUMNS,
    CONTAINERS,
    FRAMES,
    FUNCTIONS,
    Refused,
    bases_of_type,
    cut,
    entry,
    is_arrow_array,
    is_kind,
    is_lazy,
    is_made_by_class,
    is_one_of,
    library_class,
    own_attributes,
)
from .paths import torch_members
from .plain import is_plain
from .secrets import HIDDEN, is_secret_key, is_typed
from .sources import class_details, function_details
from .values import MAX_TABLE, first_that_fit, row_of, short


def details(value, rows, stats, is_busy):
    """What is in a value. An argument that its kind has no use for is said to have none."""
    found = parts(value, rows, stats, is_busy)
    if stats and not (found.get("stats", {}).get("rows") or any(measure in found.get("facts", {}) for measure in MEASURES)):
        add_note(found, "There are no statistics of such a value.")
    if rows > MAX_ROWS:
        add_note(found, f"At most {MAX_ROWS} rows are shown.")
    return found


def parts(value, rows, stats, is_busy):
    kind = type(value)
    known = library_class(kind)
    if is_lazy(kind, known):
        return lazy_details(known, value)
    if not is_plain(known, value):
        return {}
    if known in FRAMES:
        return frame_details(known, value, rows, stats, is_busy)
    if known in COLUMNS:
        return column_details(known, value, rows, stats)
    if is_arrow_array(known):
        return arrow_details(known, value, rows, stats)
    if known in ARRAYS:
        return array_details(known, value, rows, stats)
    if known in ("xarray.DataArray", "xarray.Dataset"):
        return xarray_details(known, value, rows, stats)
    if is_kind(kind, types.ModuleType):
        return module_details(value)
    if is_kind(kind, type):
        return class_details(value)
    if is_one_of(kind, FUNCTIONS):
        return function_details(value)
    if is_typed(value):
        return {}
    if kind is str:
        return {"text": value[:2000], "text_length": len(value)}
    for base in CONTAINERS:
        if is_kind(kind, base):
            found = {"items": items(base, value, (shown(rows) or 1) * 4)}
            if stats and base.__len__(value) <= MAX_COUNTED:
                add_figures(found, base.__name__, value, base.__len__(value))
            return found
    return {} if is_one_of(kind, (int, float, complex, bool, bytes, bytearray, range, type(None))) else attributes(value)


def module_details(module):
    attributes = own_attributes(module)
    names = [name for name in attributes if type(name) is str and not name.startswith("_")]
    facts = {key: entry(attributes.items(), f"__{key}__") for key in ("name", "version", "file")}
    facts = {key: cut(text, 300) for key, text in facts.items() if type(text) is str}
    return {"facts": facts, "text": cut(", ".join(cut(name, 60) for name in sorted(names)[:100]), 2 * MAX_TABLE)}


def items(base, value, limit):
    try:
        if base is dict:
            items = islice(dict.items(value), limit)
            return [[short(key, 40), HIDDEN if is_secret_key(key) else row_text(it)] for key, it in items]
        if base in (list, tuple):
            return [[str(at), row_text(it)] for at, it in enumerate(islice(base.__iter__(value), limit))]
        return [["", row_text(it)] for it in islice(base.__iter__(value), limit)]
    except RuntimeError:
        raise Refused("The running cell is modifying it; ask again.") from None


def row_text(value):
    row = row_of("", value)
    parts = [row["type"], row.get("size") or "", row.get("value") or ""]
    return cut(" ".join(part for part in parts if part), 120)


def attributes(value):
    """The attributes that an object stores."""
    stored = []
    for base in bases_of_type(type(value)):
        for name, slot in type.__dict__["__dict__"].__get__(base).items():
            if type(slot) is types.MemberDescriptorType and is_made_by_class(base):
                try:
                    stored.append((name, slot.__get__(value)))
                except AttributeError:
                    pass
    stored += own_attributes(value).items()
    stored += torch_members(value).items()
    rows = []
    for name, it in stored[:60]:
        text = HIDDEN if is_secret_key(name) else row_text(it)
        rows.append([f".{cut(name, 60)}" if type(name) is str else short(name, 40), text])
    rows = first_that_fit(rows, 3 * MAX_TABLE)
    return {"items": rows, **({"note": f"The first {len(rows)} of {len(stored)} attributes."} if len(rows) < len(stored) else {})}
