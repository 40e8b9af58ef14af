# What is in arrays.

import sys
from itertools import islice

from .figures import COUNTED, add_figures, figures
from .frames import bare, shown
from .kinds import NDARRAYS, cut, library_class
from .values import MAX_COLUMNS, by_times, first_that_fit, short, text_of_type

# The values of a larger array are gone through only if figures are asked for.
UNASKED = 1_000_000


def arrow_details(known, value, rows, stats):
    values = value[: shown(rows)].to_pylist()
    facts = {"length": len(value), "type": text_of_type(value.type), "nulls": int(value.null_count)}
    found = {"facts": facts, "items": [[str(at), bare(it)] for at, it in enumerate(values)]}
    if stats:
        add_figures(found, known, value, len(value))
    return found


def array_details(known, value, rows, stats):
    facts = {"shape": by_times(value.shape) or "scalar", "type": text_of_type(value.dtype)}
    found = {"facts": facts}
    if known.startswith("torch"):
        facts.update(device=str(value.device), requires_grad=bool(value.requires_grad))
    family = "numpy.memmap" if known == "numpy.memmap" else "numpy.ndarray"
    value = in_memory(known, value)
    if value is None:
        found["note"] = "Its values are not shown: reading them would copy or compute."
        return found
    facts["bytes"] = int(value.nbytes)
    # Rows along the first axis, each with as much as a line shows.
    others = (slice(40), *[slice(3)] * value.ndim)[: max(value.ndim - 1, 0)]
    first = value.reshape(1) if value.ndim == 0 else value[(slice(shown(rows)), *others)]
    # As numbers they would lose their unit.
    first = first.astype(str) if value.dtype.kind in "mM" else first
    found["items"] = [[str(at), row_of_array(it)] for at, it in enumerate(first.tolist())]
    if stats:
        add_figures(found, family, value, int(value.size))
    elif value.size <= UNASKED and value.dtype.kind in "biuf":
        measured = figures(family, value, int(value.size))
        facts.update((name, measured[name]) for name in (*COUNTED, "holds") if name in measured)
    return found


def row_of_array(value):
    return cut(", ".join(map(row_of_array, value)), 120) if type(value) is list else bare(value)


def in_memory(known, value):
    """The array of numpy on the same memory, where that needs no copy, no device and no computation."""
    try:
        if known in NDARRAYS:
            array = sys.modules["numpy"].ndarray
            return array.view(value, array)
        if known.startswith("torch"):
            return value.detach().numpy() if value.device.type == "cpu" else None
        if known.startswith("jaxlib") and value.is_ready() and [it.platform for it in value.devices()] == ["cpu"]:
            return sys.modules["numpy"].asarray(value)
    except Exception:
        pass
    return None


def xarray_details(known, value, rows, stats):
    sizes = ", ".join(f"{name}: {size}" for name, size in islice(value.sizes.items(), 20))
    facts = {"sizes": cut(sizes, 300), "bytes": int(value.nbytes)}
    if known == "xarray.DataArray":
        parts, found = value._coords, {"facts": {**facts, "type": text_of_type(value.dtype)}}
        data = value._variable._data
        if library_class(type(data)) == "numpy.ndarray":
            found["items"] = array_details("numpy.ndarray", data, rows, False)["items"]
            if stats:
                add_figures(found, "numpy.ndarray", data, int(data.size))
    else:
        parts, found = value._variables, {"facts": facts}
    coordinates = value._coords if known == "xarray.DataArray" else value._coord_names
    header = ["variable", "type", "dimensions", "role"]
    table = [
        [cut(name, 40), text_of_type(it.dtype), cut(", ".join(it._dims), 60), "coordinate" if name in coordinates else "data"]
        for name, it in islice(parts.items(), MAX_COLUMNS)
    ]
    return {**found, "header": header, "columns": first_that_fit(table)}
