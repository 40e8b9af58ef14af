# Answers questions about the variables of an IPython kernel, on its control channel, also while a cell runs.
#
# Run once in a namespace of its own. Nothing here may call code of the person: `type(value)` instead of `isinstance`, which
# asks `__class__`; slots of built-in types instead of `len` and `repr`; facts of a library only for its own classes, not for
# subclasses, and only if it is loaded already.

import ast
import fnmatch
import inspect
import re
import sys
import threading
import types
from itertools import islice

REQUEST, REPLY = "cellbridge_memory_request", "cellbridge_memory_reply"
SECRET = re.compile(r"passw|secret|token|credential|api_?key|private_?key|auth_?key|access_?key", re.I)
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
CONTAINERS = (list, tuple, dict, set, frozenset)
MAX_COLUMNS = 200
# How many cells of a frame are counted without being asked to.
MAX_COUNTED = 20_000_000
SAMPLE = 10_000

bases_of_type = type.__dict__["__mro__"].__get__
HIDDEN = "<hidden: its name looks like a secret>"


class Refused(Exception):
    """What was asked for cannot be shown; the reason."""


class TimeIsUp(Exception):
    """Raised in the thread that answers."""


def is_one_of(kind, kinds):
    """Like `in`, which would ask the `__eq__` of a metaclass."""
    return any(kind is it for it in kinds)


def is_kind(kind, base):
    return is_one_of(base, bases_of_type(kind))


def name_of_type(kind):
    return str.__str__(type.__dict__["__name__"].__get__(kind))


def module_of(kind):
    module = type.__dict__["__module__"].__get__(kind)
    return module if type(module) is str else ""


def cut(text, limit):
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def full_name(kind):
    module, name = module_of(kind), name_of_type(kind)
    return name if module in ("builtins", "__main__") else f"{module}.{name}"


def root_of(kind):
    root = module_of(kind).partition(".")[0]
    return "datetime" if root == "_pydatetime" else root


def library_class(kind):
    """`pandas.DataFrame` if it is this very class, by the names under which libraries offer them; otherwise ''."""
    root, name = root_of(kind), name_of_type(kind)
    library = sys.modules.get(root) if root not in ("__main__", "builtins") else None
    if type(library) is not types.ModuleType:
        return ""
    offered = library.__dict__.get(name)
    if offered is kind:
        return f"{root}.{name}"
    # Those of these libraries are not offered under their name.
    return f"{root}.{name}" if root in ("jaxlib", "scipy", "tensorflow", *LAZY_ROOTS) else ""


# Small values whose `str` runs no code of the person.
PRINTED = {
    *(f"datetime.{name}" for name in ("datetime", "date", "time", "timedelta")),
    *(f"numpy.{name}" for name in ("bool", "float16", "float32", "float64", "datetime64", "timedelta64", "str_")),
    *(f"numpy.{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("decimal.Decimal", "uuid.UUID", "pandas.Timestamp", "pandas.Timedelta", "pathlib.PosixPath", "pathlib.WindowsPath"),
}
LAZY = {"polars.LazyFrame", "dask.DataFrame", "dask.Series", "dask.Array", "dask.Bag", "dask.Delayed", "duckdb.DuckDBPyRelation"}
LAZY_ROOTS = ("dask", "dask_expr", "pyspark", "ibis", "duckdb", "_duckdb", "vaex", "datafusion")
FRAMES = ("pandas.DataFrame", "polars.DataFrame", "pyarrow.Table")
COLUMNS = ("pandas.Series", "pandas.Index", "polars.Series")
ARRAYS = ("numpy.ndarray", "torch.Tensor", "torch.Parameter", "jaxlib.ArrayImpl", "tensorflow.EagerTensor", "cupy.ndarray")


def is_lazy(kind, known):
    return known in LAZY or root_of(kind) in LAZY_ROOTS


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
    if kind is str:
        return cut(str.__repr__(value[:limit]), limit) if len(value) > limit else str.__repr__(value)
    if kind is bytes or kind is bytearray:
        return cut(kind.__repr__(value[:limit]), limit)
    if kind is range:
        return range.__repr__(value)
    if is_one_of(kind, CONTAINERS) and depth:
        return cut(shown_items(kind, value, limit, depth - 1), limit)
    if library_class(kind) in PRINTED:
        return cut(str(value), limit)
    return f"<{name_of_type(kind)}>"


def shown_items(kind, value, limit, depth):
    try:
        if kind is dict:
            items = [f"{short(key, 30, 0)}: {short(item, 30, depth)}" for key, item in islice(value.items(), 6)]
        else:
            items = [short(item, 30, depth) for item in islice(value, 6)]
    except RuntimeError:
        return "<it changes just now>"
    left, right = {list: "[]", tuple: "()"}.get(kind, "{}")
    more = ", …" if len(value) > len(items) else ""
    return f"{left}{', '.join(items)}{more}{right}"


def length(value, kind):
    """The number of items of a built-in container or a subclass of one."""
    for base in (*CONTAINERS, str, bytes, bytearray):
        if is_kind(kind, base):
            return base.__len__(value)
    return range.__len__(value) if kind is range and value.stop < sys.maxsize else None


def by_times(shape):
    return "×".join(str(int(size)) for size in shape)


def describe(name, value, limit=80):
    """One row of the list: cheap facts only."""
    kind = type(value)
    row = {"name": name, "type": name_of_type(kind), "kind": "data"}
    if is_kind(kind, types.ModuleType):
        return {**row, "kind": "module"}
    if is_kind(kind, type):
        return {**row, "kind": "class"}
    if is_one_of(kind, FUNCTIONS):
        return {**row, "kind": "function"}
    count = length(value, kind)
    if count is not None:
        row["size"] = str(count)
        if is_one_of(kind, (str, bytes, bytearray)):
            row["bytes"] = count
    if SECRET.search(name):
        return {**row, "value": HIDDEN}
    known = library_class(kind)
    if is_lazy(kind, known):
        return {**row, "value": "<lazy: not computed>"}
    try:
        row.update(library_facts(known, value))
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
        names, kinds = columns(known, value)
        shown = ", ".join(f"{cut(name, 20)}: {kind}" for name, kind in islice(zip(names, kinds), 8))
        more = ", …" if len(names) > 8 else ""
        return {"size": by_times(value.shape), "value": f"{shown}{more}"}
    if known == "pandas.Index" or known in COLUMNS:
        return {"size": str(len(value)), "value": f"of {value.dtype}"}
    if known in ARRAYS:
        facts = {"size": by_times(value.shape) or "scalar", "value": f"of {value.dtype}"}
        if known == "numpy.ndarray":
            facts["bytes"] = int(value.nbytes)
        elif known.startswith("torch"):
            facts["value"] += f" on {value.device}"
        return facts
    if known.startswith("scipy.") and known.endswith(("_matrix", "_array")):
        return {"size": by_times(value.shape), "value": f"sparse of {value.dtype}, {int(value.nnz)} stored"}
    if known in ("xarray.DataArray", "xarray.Dataset"):
        sizes = ", ".join(f"{name}: {size}" for name, size in value.sizes.items())
        return {"size": cut(sizes, 60), "bytes": int(value.nbytes)}
    return {}


def columns(known, frame):
    """Names and types of the first columns."""
    if known == "pandas.DataFrame":
        labels = frame.columns[:MAX_COLUMNS]
        return [short_label(label) for label in labels], [str(kind) for kind in frame.dtypes.iloc[:MAX_COLUMNS]]
    if known == "polars.DataFrame":
        return list(frame.columns[:MAX_COLUMNS]), [str(kind) for kind in frame.dtypes[:MAX_COLUMNS]]
    schema = frame.schema
    return list(schema.names[:MAX_COLUMNS]), [str(kind) for kind in schema.types[:MAX_COLUMNS]]


def short_label(label):
    return label if type(label) is str else short(label, 40)


class Answers:
    """Holds on to the shell. `seen` is what was known at the last question for changes."""

    def __init__(self, shell):
        self.shell = shell
        self.seen = self.marks()
        self.installer = Packages()

    def variables(self):
        """The person's variables, as they are at one moment."""
        hidden = self.shell.user_ns_hidden
        return {
            name: value
            for name, value in dict.copy(self.shell.user_ns).items()
            if type(name) is str and not (name in hidden and hidden[name] is value) and name not in ("In", "Out")
        }

    def list(self, pattern="", kinds=None, limit=50, sort="name"):
        wanted = kinds or ["data"]
        rows, others = [], {}
        for name, value in self.variables().items():
            if not is_match(name, pattern):
                continue
            row = describe(name, value, 45)
            if row["kind"] in wanted or "all" in wanted:
                rows.append(row)
            else:
                others.setdefault(row["kind"], []).append(name)
        if sort == "size":
            rows.sort(key=lambda row: -(row.get("bytes") or cells(row.get("size"))))
        elif sort == "name":
            rows.sort(key=lambda row: row["name"].lower())
        else:
            rows.reverse()
        others = {kind: {"count": len(names), "names": sorted(names)[:12]} for kind, names in others.items()}
        return {"total": len(rows), "rows": rows[:limit], "others": others}

    def inspect(self, name, path="", rows=5, stats=False, is_busy=False):
        variables = self.variables()
        if name not in variables:
            close = [known for known in variables if known.lower() == name.lower()]
            raise Refused(f"There is no variable {name!r}." + (f" There is {close[0]!r}." if close else ""))
        if any(SECRET.search(part) for part in (name, path or "")):
            value = follow(variables[name], path) if path else variables[name]
            return {**describe(name, value), "value": HIDDEN}
        value = follow(variables[name], path)
        found = describe(f"{name}{path}", value)
        found["type"] = full_name(type(value))
        found.update(details(value, rows, stats, is_busy))
        return found

    def packages(self, what, **given):
        return getattr(self.installer, what)(**given)

    def changes(self):
        """What is new, changed or gone since the last question."""
        before, self.seen = self.seen, self.marks()
        now = self.variables()
        new = [describe(name, now[name]) for name in self.seen if name not in before and name in now]
        changed = [name for name, mark in self.seen.items() if name in before and before[name] != mark]
        gone = [name for name in before if name not in self.seen]
        short_rows = [
            {"name": row["name"], "type": row["type"], "size": row.get("size"), "kind": row["kind"]} for row in new[:12]
        ]
        return {"new": short_rows, "new_count": len(new), "changed": changed[:12], "changed_count": len(changed), "gone": gone[:12]}

    def marks(self):
        marks = {}
        for name, value in self.variables().items():
            if not name.startswith("_"):
                kind = type(value)
                known = library_class(kind)
                size = length(value, kind)
                if size is None and (known in FRAMES or known in ARRAYS):
                    size = tuple(value.shape)
                marks[name] = (id(value), id(kind), size)
        return marks


def is_match(name, pattern):
    if not pattern:
        return not name.startswith("_")
    if any(it in pattern for it in "*?["):
        return fnmatch.fnmatchcase(name, pattern)
    return pattern.lower() in name.lower()


def cells(size):
    product = 1
    for part in (size or "0").split("×"):
        product *= int(part) if part.isdigit() else 0
    return product


def follow(value, path):
    """The member that `path` leads to, as in `.layers[3].weight`."""
    if not path:
        return value
    try:
        tree = ast.parse(f"x{path}", mode="eval").body
    except SyntaxError:
        raise Refused(f"The path {path!r} cannot be read; it may be like .layers[3].weight or ['key'].") from None
    steps = []
    while not isinstance(tree, ast.Name):
        if isinstance(tree, ast.Attribute):
            steps.append((False, tree.attr))
            tree = tree.value
        elif isinstance(tree, ast.Subscript):
            try:
                steps.append((True, ast.literal_eval(tree.slice)))
            except ValueError:
                raise Refused("An index in a path is a number or a text.") from None
            tree = tree.value
        else:
            raise Refused("A path holds only names after a point, and numbers or texts in brackets.")
    for is_item, key in reversed(steps):
        value = item(value, key) if is_item else attribute(value, key)
    return value


def item(value, key):
    kind = type(value)
    for base in (list, tuple, dict):
        if is_kind(kind, base):
            if type(key) not in (int, str, bytes, float, bool, type(None)) and base is not dict:
                raise Refused("An item has a number or a text.")
            try:
                return base.__getitem__(value, key)
            except (LookupError, TypeError) as error:
                raise Refused(f"There is no item [{key!r}]: {error}.") from None
    parts = torch_members(value)
    if str(key) in parts:
        return parts[str(key)]
    known = library_class(kind)
    if is_lazy(kind, known):
        raise Refused("It is lazy, and would have to be computed.")
    if is_of_library(kind):
        try:
            return value[key]
        except Exception as error:
            raise Refused(f"There is no item [{key!r}] ({name_of_type(type(error))}).") from None
    raise Refused(f"An item of {name_of_type(kind)} would run its own code.")


def own_attributes(value):
    """The `__dict__` of an object, if it has one."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return own if type(own) is dict else {}


def attribute(value, name):
    """What is stored under the name; of a library's classes also what they compute."""
    for stored in (own_attributes(value), torch_members(value)):
        if name in stored:
            return stored[name]
    places = (type.__dict__["__dict__"].__get__(base) for base in bases_of_type(type(value)))
    found = next((place[name] for place in places if name in place), None)
    kind = type(found)
    if kind is types.MemberDescriptorType:
        try:
            return found.__get__(value)
        except AttributeError:
            raise Refused(f"{name!r} has no value.") from None
    if is_one_of(kind, (*FUNCTIONS, int, float, str, bool, *CONTAINERS)):
        return found
    if is_lazy(type(value), library_class(type(value))):
        raise Refused("It is lazy, and would have to be computed.")
    if not is_of_library(type(value)):
        if found is None:
            raise Refused(f"{name_of_type(type(value))} has no attribute {name!r}.")
        raise Refused(f"{name!r} is computed by code of its class.")
    try:
        return getattr(value, name)
    except Exception as error:
        raise Refused(f"There is no attribute {name!r} ({name_of_type(type(error))}).") from None


def is_of_library(kind):
    """Whether the class and its bases come from Python or from an installed package, not from the person."""
    return all(is_installed(root_of(base)) for base in bases_of_type(kind)) and module_of(kind) != "unittest.mock"


def is_installed(root):
    # Python 3.9 does not name its modules.
    if root == "builtins" or root in getattr(sys, "stdlib_module_names", ()):
        return True
    module = sys.modules.get(root)
    file = module.__dict__.get("__file__") if type(module) is types.ModuleType else None
    return type(file) is str and ("site-packages" in file or "dist-packages" in file)


def torch_members(value):
    """The parts of a PyTorch module, which are no attributes of their own."""
    if not any(module_of(base).startswith("torch.nn.") for base in bases_of_type(type(value))):
        return {}
    own = own_attributes(value)
    parts = (own.get(name) for name in ("_modules", "_parameters", "_buffers"))
    return {name: it for part in parts if is_kind(type(part), dict) for name, it in dict.items(part)}


def details(value, rows, stats, is_busy):
    kind = type(value)
    known = library_class(kind)
    if is_lazy(kind, known):
        return lazy_details(known, value)
    if known in FRAMES:
        return frame_details(known, value, rows, stats, is_busy)
    if known in COLUMNS:
        return column_details(known, value, rows, stats)
    if known in ARRAYS:
        return array_details(known, value, rows, stats)
    if known in ("xarray.DataArray", "xarray.Dataset"):
        return xarray_details(known, value)
    if is_kind(kind, types.ModuleType):
        return module_details(value)
    if is_one_of(kind, FUNCTIONS) or kind is type:
        return code_details(value)
    if is_kind(kind, type):
        return {"note": "Its class is made by code of its own, which is not run."}
    if kind is str:
        return {"text": value[:2000], "text_length": len(value)}
    for base in CONTAINERS:
        if is_kind(kind, base):
            return {"items": items(base, value, max(rows, 1) * 4)}
    return {"items": attributes(value)} if not is_one_of(kind, (int, float, complex, bool, bytes, bytearray, range, type(None))) else {}


def lazy_details(known, value):
    found = {"note": "It is lazy, and was not computed."}
    if known == "polars.LazyFrame":
        found["note"] += " collect_schema() gives its columns, head(5).collect() its first rows."
    elif known.startswith("dask"):
        try:
            found["columns"] = [[str(name), str(kind)] for name, kind in islice(value._meta.dtypes.items(), MAX_COLUMNS)]
            found["facts"] = {"partitions": int(value.npartitions)}
        except Exception:
            pass
    return found


def frame_details(known, frame, rows, stats, is_busy):
    names, kinds = columns(known, frame)
    count, width = int(frame.shape[0]), int(frame.shape[1])
    table = [[name, kind] for name, kind in zip(names, kinds)]
    header = ["column", "type"]
    if (known != "pandas.DataFrame" or count * width <= MAX_COUNTED) and (stats or not is_busy):
        header.append("nulls")
        for row, nulls in zip(table, null_counts(known, frame, len(names))):
            row.append(nulls)
    found = {"facts": {"rows": count, "columns": width}, "header": header, "columns": table}
    if known == "pandas.DataFrame":
        found["facts"]["index"] = name_of_type(type(frame.index))
    if width > len(names):
        found["note"] = f"The first {len(names)} of {width} columns."
    found["rows"] = head(known, frame, names, rows)
    if stats:
        found["stats"] = statistics(known, frame, count)
    return found


def null_counts(known, frame, width):
    if known == "pandas.DataFrame":
        return [int(count) for count in frame.iloc[:, :width].isna().sum()]
    if known == "polars.DataFrame":
        return [int(count) for count in frame.null_count().row(0)[:width]]
    return [int(frame.column(index).null_count) for index in range(width)]


def head(known, frame, names, rows):
    """The first rows, by columns."""
    rows, names = min(max(rows, 0), 50), names[:30]
    if known == "pandas.DataFrame":
        parts = [frame.iloc[:rows, index].tolist() for index in range(len(names))]
    elif known == "polars.DataFrame":
        part = frame.head(rows)
        parts = [part[name].to_list() for name in names]
    else:
        part = frame.slice(0, rows)
        parts = [part.column(index).to_pylist() for index in range(len(names))]
    return [[bare(value) for value in row] for row in zip(*parts)]


def bare(value):
    """A value in a table: texts without quotation marks."""
    return cut(value, 40) if type(value) is str else short(value, 40)


def statistics(known, frame, count):
    """Least, greatest and mean of the columns with numbers, of a sample if there are many rows."""
    step = max(1, count // SAMPLE)
    if known == "pandas.DataFrame":
        part = frame.iloc[::step].select_dtypes("number")
        rows = [[short_label(name), *(short(value) for value in part[name].agg(["min", "max", "mean"]).tolist())] for name in part.columns[:30]]
    elif known == "polars.DataFrame":
        part = frame.gather_every(step)
        rows = [
            [name, *(short(value) for value in (part[name].min(), part[name].max(), part[name].mean()))]
            for name in part.columns[:30]
            if part[name].dtype.is_numeric()
        ]
    else:
        return {"note": "Statistics of an Arrow table are not computed."}
    return {"header": ["column", "min", "max", "mean"], "rows": rows, "sampled": step > 1}


def column_details(known, value, rows, stats):
    values = value[: max(rows, 0)]
    values = values.to_list() if known.startswith("polars") else values.tolist()
    found = {"facts": {"length": len(value), "type": str(value.dtype)}, "items": [[str(at), bare(it)] for at, it in enumerate(values)]}
    if known == "pandas.Series" and len(value) <= MAX_COUNTED:
        found["facts"]["nulls"] = int(value.isna().sum())
    elif known == "polars.Series":
        found["facts"]["nulls"] = int(value.null_count())
    if stats and known != "pandas.Index":
        part = value[:: max(1, len(value) // SAMPLE)]
        try:
            found["facts"].update({name: short(getattr(part, name)()) for name in ("min", "max", "mean")})
        except TypeError:
            pass
    return found


def array_details(known, value, rows, stats):
    facts = {"shape": by_times(value.shape) or "scalar", "type": str(value.dtype)}
    found = {"facts": facts}
    if known.startswith("torch"):
        facts.update(device=str(value.device), requires_grad=bool(value.requires_grad))
    if known != "numpy.ndarray":
        return found
    facts["bytes"] = int(value.nbytes)
    if value.dtype.kind in "biufcSUMm":
        flat = value.reshape(-1) if value.flags.c_contiguous else value.flat
        found["items"] = [[str(at), bare(it)] for at, it in enumerate(flat[: max(rows, 0) * 2].tolist())]
        if value.dtype.kind in "biuf" and value.size and (stats or value.size <= 1_000_000):
            part = value.reshape(-1)[:: max(1, value.size // 1_000_000)] if value.flags.c_contiguous else value
            facts.update(min=short(part.min().item()), max=short(part.max().item()), mean=short(part.mean().item()))
    return found


def xarray_details(known, value):
    facts = {"sizes": ", ".join(f"{name}: {size}" for name, size in value.sizes.items()), "bytes": int(value.nbytes)}
    if known == "xarray.DataArray":
        return {"facts": {**facts, "type": str(value.dtype)}}
    parts = [[str(name), str(it.dtype)] for name, it in islice(value.variables.items(), MAX_COLUMNS)]
    return {"facts": facts, "header": ["variable", "type"], "columns": parts}


def module_details(module):
    attributes = types.ModuleType.__getattribute__(module, "__dict__")
    names = [name for name in attributes if type(name) is str and not name.startswith("_")]
    facts = {key: attributes[f"__{key}__"] for key in ("name", "version", "file") if type(attributes.get(f"__{key}__")) is str}
    return {"facts": facts, "text": ", ".join(sorted(names)[:100])}


def code_details(value):
    found = {"facts": {}}
    if type(value) is types.MethodType:
        value = value.__func__
    if type(value) is types.FunctionType:
        found["facts"]["signature"] = signature(value)
    document = value.__doc__
    if type(document) is str:
        found["facts"]["doc"] = cut(inspect.cleandoc(document), 300)
    try:
        found["text"] = cut(inspect.getsource(value), 4000)
    except Exception:
        pass
    return found


def signature(function):
    """The parameters with their defaults; `inspect.signature` would print those by their own code."""
    code = function.__code__
    count, only = code.co_argcount, code.co_kwonlyargcount
    defaults = function.__defaults__ or ()
    shown = [*code.co_varnames[: count - len(defaults)]]
    shown += [f"{name}={short(it, 30)}" for name, it in zip(code.co_varnames[count - len(defaults) : count], defaults)]
    rest = count + only
    if code.co_flags & inspect.CO_VARARGS:
        shown.append(f"*{code.co_varnames[rest]}")
        rest += 1
    elif only:
        shown.append("*")
    for name in code.co_varnames[count : count + only]:
        known = (function.__kwdefaults__ or {}).get(name, inspect)
        shown.append(name if known is inspect else f"{name}={short(known, 30)}")
    if code.co_flags & inspect.CO_VARKEYWORDS:
        shown.append(f"**{code.co_varnames[rest]}")
    return f"({', '.join(shown)})"


def items(base, value, limit):
    try:
        if base is dict:
            return [[short(key, 40), row_text(it)] for key, it in islice(dict.items(value), limit)]
        if base in (list, tuple):
            return [[str(at), row_text(it)] for at, it in enumerate(islice(base.__iter__(value), limit))]
        return [["", row_text(it)] for it in islice(base.__iter__(value), limit)]
    except RuntimeError:
        raise Refused("It changes just now.") from None


def row_text(value):
    row = describe("", value)
    parts = [row["type"], row.get("size") or "", row.get("value") or ""]
    return cut(" ".join(part for part in parts if part), 120)


def attributes(value):
    """The attributes that an object stores."""
    stored = {}
    kind = type(value)
    for base in reversed(bases_of_type(kind)):
        slots = {name: it for name, it in type.__dict__["__dict__"].__get__(base).items() if type(it) is types.MemberDescriptorType}
        for name, slot in slots.items():
            try:
                stored[name] = slot.__get__(value)
            except AttributeError:
                pass
    stored.update(own_attributes(value))
    stored.update(torch_members(value))
    rows = []
    for name, it in islice(stored.items(), 60):
        is_secret = type(name) is str and SECRET.search(name)
        text = HIDDEN if is_secret else row_text(it)
        rows.append([f".{name}" if type(name) is str else short(name, 40), text])
    return rows


class Limit:
    """Raises `TimeIsUp` in the thread that made it, unless it is over before."""

    def __init__(self, seconds):
        self.thread, self.lock, self.is_over = threading.get_ident(), threading.Lock(), False
        self.timer = threading.Timer(seconds, self.stop)
        self.timer.daemon = True

    def __enter__(self):
        self.timer.start()

    def __exit__(self, *_):
        with self.lock:
            self.is_over = True
        self.timer.cancel()

    def stop(self):
        import ctypes

        with self.lock:
            if not self.is_over:
                thread, raised = ctypes.c_ulong(self.thread), ctypes.py_object(TimeIsUp)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, raised)


def answer(answers, question, seconds):
    """The answer to `{what: its arguments}`."""
    try:
        [(what, given)] = question.items()
        with Limit(seconds):
            return {"status": "ok", "answer": getattr(answers, what)(**given)}
    except Refused as refused:
        return {"status": "refused", "cause": str(refused)}
    except TimeIsUp:
        return {"status": "refused", "cause": f"It took more than {seconds} s."}
    except Exception as error:
        return {"status": "refused", "cause": f"It cannot be shown ({name_of_type(type(error))})."}


def install():
    from IPython import get_ipython

    shell = get_ipython()
    kernel = shell.kernel
    answers = Answers(shell)

    def handle(stream, ident, parent):
        content = parent["content"]
        content = answer(answers, content["question"], content["seconds"])
        kernel.session.send(stream, REPLY, content, parent, ident=ident)

    kernel.control_handlers[REQUEST] = handle


install()
