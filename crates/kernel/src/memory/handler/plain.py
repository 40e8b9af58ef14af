# Which values can be asked for their parts although the person may have written the classes of some parts: element types, time
# zones, labels.

import sys
import types

from .kinds import (
    COLUMNS,
    FRAMES,
    INDEXES,
    MISSING,
    class_entry,
    is_arrow_array,
    is_of_library,
    is_offered,
    is_sparse,
    library_class,
    name_of_type,
    own_attributes,
    root_of,
)


def is_plain(known, value):
    """Whether all that the parts of a frame, a column or an array run is code of libraries."""
    if known in FRAMES or known in COLUMNS:
        if known.startswith("pandas."):
            return all(map(is_plain_array, pandas_arrays(known, value)))
        if known.startswith("polars."):
            extension = sys.modules.get("polars.datatypes.extension")
            return not getattr(extension, "_REGISTRY", None)
        return all(map(is_plain_arrow, value.schema.types))
    if is_arrow_array(known):
        return is_plain_arrow(value.type)
    if is_sparse(known):
        return all(is_of_library(type(it)) for it in own_attributes(value).values())
    if known == "xarray.DataArray":
        return is_plain_variable("", value._variable) and all(is_plain_variable(*it) for it in value._coords.items())
    if known == "xarray.Dataset":
        return all(is_plain_variable(*it) for it in value._variables.items())
    return True


def pandas_arrays(known, value):
    if known in INDEXES:
        yield from index_arrays(value)
        return
    for block in value._mgr.blocks:
        yield block.values
    for axis in value._mgr.axes:
        yield from index_arrays(axis)


def index_arrays(index):
    known = library_class(type(index))
    if known == "pandas.MultiIndex":
        for level in index.levels:
            yield from index_arrays(level)
    elif known != "pandas.RangeIndex":
        # An index of the person is like an array of the person, which is not plain.
        yield index._data if known in INDEXES and has_known_frequency(index) else index


def is_plain_array(values):
    kind = type(values)
    if library_class(kind) == "numpy.ndarray":
        return True
    if root_of(kind) != "pandas" or not is_offered(kind):
        return is_of_library(kind) and is_of_library(type(values.dtype))
    name = name_of_type(kind)
    if name in ("DatetimeArray", "TimedeltaArray"):
        return has_known_frequency(values) and (name == "TimedeltaArray" or is_known_zone(values.tz))
    if name.startswith("Arrow"):
        return is_plain_arrow(values._pa_array.type)
    if name == "Categorical":
        return all(map(is_plain_array, index_arrays(values.categories)))
    if name == "IntervalArray":
        return all(is_plain_array(part) for part in (values._left, values._right))
    if name == "SparseArray":
        return is_plain_array(values.sp_values)
    return name in PANDAS_ARRAYS


PANDAS_ARRAYS = ("BooleanArray", "FloatingArray", "IntegerArray", "NumpyExtensionArray", "PandasArray", "PeriodArray", "StringArray")


def has_known_frequency(part):
    return is_of_library(type(getattr(part, "_freq", None)))


def is_known_zone(zone):
    kind = type(zone)
    if zone is None or is_of_library(kind):
        return True
    # Each time zone of pytz has a class of its own.
    zones, name = sys.modules.get("pytz"), class_entry(kind, "zone")
    return type(zones) is types.ModuleType and type(name) is str and type(zones._tzinfo_cache.get(name)) is kind


def is_plain_arrow(kind, depth=20):
    if not depth or not is_of_library(type(kind)):
        return False
    parts = [getattr(kind, name, None) for name in ("value_type", "key_type", "item_type", "storage_type")]
    if name_of_type(type(kind)) in ("StructType", "DenseUnionType", "SparseUnionType"):
        parts += [kind.field(at).type for at in range(kind.num_fields)]
    return all(part is None or is_plain_arrow(part, depth - 1) for part in parts)


def is_plain_variable(name, variable):
    """Whether a variable of xarray holds its values in an array that a library defines, behind adapters of xarray."""
    data = variable._data
    if any(type(it) is not str for it in (name, *variable._dims)):
        return False
    for _ in range(8):
        if not is_of_library(type(data)):
            return False
        inner = class_entry(type(data), "array") if root_of(type(data)) == "xarray" else MISSING
        if type(inner) is not types.MemberDescriptorType:
            break
        data = inner.__get__(data)
    known = library_class(type(data))
    return known not in INDEXES or all(map(is_plain_array, index_arrays(data)))


def plain_frame(frame, first, last):
    """Columns of a pandas frame on the same memory, numbered. `attrs` would be copied, and labels hashed."""
    part = sys.modules["pandas"].DataFrame(frame, copy=False).iloc[:, first:last]
    part.columns = range(part.shape[1])
    return part


def plain_column(column):
    """A pandas column on the same memory, without its name, its labels and `attrs`."""
    return sys.modules["pandas"].Series(column.array, dtype=column.dtype, copy=False)
