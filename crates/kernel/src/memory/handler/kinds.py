# Which class a value has, and what is known of that class.

import sys
import types

FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
CONTAINERS = (list, tuple, dict, set, frozenset)
MISSING = object()

bases_of_type = type.__dict__["__mro__"].__get__


def is_one_of(kind, kinds):
    """Like `in`, which would ask the `__eq__` of a metaclass."""
    return any(kind is it for it in kinds)


def is_kind(kind, base):
    return is_one_of(base, bases_of_type(kind))


def name_of_type(kind):
    return cut(str.__str__(type.__dict__["__name__"].__get__(kind)), 100)


def cut(text, limit):
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def module_of(kind):
    try:
        module = type.__dict__["__module__"].__get__(kind)
    except AttributeError:
        # A class that was made without one.
        return ""
    return module if type(module) is str else ""


def full_name(kind):
    module, name = cut(module_of(kind), 100), name_of_type(kind)
    return name if module in ("", "builtins", "__main__") else f"{module}.{name}"


def root_of(kind):
    root = module_of(kind).partition(".")[0]
    return "datetime" if root == "_pydatetime" else root


def entry(pairs, name):
    """The value of a text among the items of a dict. To look it up would ask the `__eq__` of other keys with its hash."""
    return next((it for known, it in pairs if type(known) is str and known == name), MISSING)


def class_entry(kind, name):
    """What a class or its bases hold under a name; no descriptor is asked."""
    found = (entry(type.__dict__["__dict__"].__get__(base).items(), name) for base in bases_of_type(kind))
    return next((it for it in found if it is not MISSING), MISSING)


def is_offered(kind):
    """Whether the module that a class names as its own has this very class. Any class can name any module."""
    module = sys.modules.get(module_of(kind))
    return type(module) is types.ModuleType and module.__dict__.get(name_of_type(kind)) is kind


def is_of_library(kind):
    """Whether the class and its bases come from Python or from an installed package, not from the person."""
    return all(not is_made_by_class(base) or (is_installed(root_of(base)) and is_offered(base)) for base in bases_of_type(kind))


def is_made_by_class(kind):
    """Whether it could be a class of the person: those of the interpreter and of some native libraries could not."""
    return bool(type.__dict__["__flags__"].__get__(kind) & (1 << 9))


def is_installed(root):
    # Python 3.9 does not name its modules.
    if root == "builtins" or root in getattr(sys, "stdlib_module_names", ("datetime", "enum", "zoneinfo")):
        return True
    module = sys.modules.get(root)
    file = module.__dict__.get("__file__") if type(module) is types.ModuleType else None
    return type(file) is str and ("site-packages" in file or "dist-packages" in file)


def library_class(kind):
    """`pandas.DataFrame` if it is this very class, by the names under which libraries offer them; otherwise ''."""
    root, name = root_of(kind), name_of_type(kind)
    library = sys.modules.get(root) if root not in ("", "__main__", "builtins") else None
    if type(library) is not types.ModuleType:
        return ""
    # A parameter is offered one level deeper.
    home = library.__dict__.get("nn") if (root, name) == ("torch", "Parameter") else library
    if type(home) is types.ModuleType and home.__dict__.get(name) is kind:
        return f"{root}.{name}"
    # Those of these libraries are not offered under their name.
    return f"{root}.{name}" if root in ("jaxlib", "scipy", "tensorflow", *LAZY_ROOTS) and is_offered(kind) else ""


# Small values whose `str` runs no code of the person.
PRINTED = {
    *(f"datetime.{name}" for name in ("datetime", "date", "time", "timedelta")),
    *(f"numpy.{name}" for name in ("bool", "float16", "float32", "float64", "datetime64", "timedelta64", "str_")),
    *(f"numpy.{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("decimal.Decimal", "uuid.UUID", "pandas.Timestamp", "pandas.Timedelta", "pathlib.PosixPath", "pathlib.WindowsPath"),
}
LAZY = {"polars.LazyFrame", "dask.DataFrame", "dask.Series", "dask.Array", "dask.Bag", "dask.Delayed", "duckdb.DuckDBPyRelation"}
LAZY_ROOTS = ("dask", "dask_expr", "pyspark", "ibis", "duckdb", "_duckdb", "vaex", "datafusion")
FRAMES = ("pandas.DataFrame", "polars.DataFrame", "pyarrow.Table", "pyarrow.RecordBatch")
INDEXES = tuple(f"pandas.{name}Index" for name in ("", "Int64", "UInt64", "Float64", "Range", "Datetime", "Timedelta", "Period", "Interval", "Categorical", "Multi"))
COLUMNS = ("pandas.Series", "polars.Series", *INDEXES)
NDARRAYS = tuple(f"numpy.{name}" for name in ("ndarray", "memmap", "matrix", "recarray"))
ARRAYS = (*NDARRAYS, "torch.Tensor", "torch.Parameter", "jaxlib.ArrayImpl", "tensorflow.EagerTensor", "cupy.ndarray")


def is_arrow_array(known):
    """Each type of items has a class of its own, such as `pyarrow.Int64Array`; `ChunkedArray` has parts."""
    return known.startswith("pyarrow.") and known.endswith("Array")


def is_lazy(kind, known):
    return known in LAZY or root_of(kind) in LAZY_ROOTS


def is_sparse(known):
    return known.startswith("scipy.") and known.endswith(("_matrix", "_array"))


def own_attributes(value):
    """The `__dict__` of an object, if it has one. A class may have another attribute of this name."""
    for base in bases_of_type(type(value)):
        slot = entry(type.__dict__["__dict__"].__get__(base).items(), "__dict__")
        if is_one_of(type(slot), (types.GetSetDescriptorType, types.MemberDescriptorType)):
            own = slot.__get__(value)
            return own if type(own) is dict else {}
    return {}


class Refused(Exception):
    """What was asked for cannot be shown; the reason."""
