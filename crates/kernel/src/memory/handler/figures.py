# Statistics of columns, arrays and lists: exact as far as that is cheap, else of a sample, which each figure says.

import math
import re
import sys
from itertools import islice

from .kinds import CONTAINERS, NDARRAYS, PRINTED, cut, full_name, is_arrow_array, is_one_of, library_class, name_of_type
from .plain import is_known_zone
from .secrets import is_secret_key, is_typed
from .values import NULLS, short

# How many cells are gone through in all, to compare and add them, and to order or distinguish them: either takes less than a second.
MAX_COUNTED = 20_000_000
MAX_ORDERED = 4_000_000
# Objects are looked at one by one, and those of a file are read.
MAX_OBJECTS = 1_000_000
SAMPLE = 10_000
QUARTERS = {"25%": 0.25, "50%": 0.5, "75%": 0.75}
MEASURES = ("min", "max", "mean", *QUARTERS, "unique", "holds")
COUNTED = ("min", "max", "mean")
TIMED = ("min", "max", "50%", "unique")
NUMERIC = re.compile(r"(?i)u?int\d|float|half|double|decimal")
TEMPORAL = re.compile(r"(?i)date|time|duration")
TEXTUAL = re.compile(r"(?i)str(?!uct)|large_str")
SCALARS = {f"numpy.{name}" for name in ("bool", "float16", "float32", "float64")} | {known for known in PRINTED if "int" in known}
BY_NAME = {base.__name__: base for base in CONTAINERS}
CATEGORICAL = re.compile(r"(?i)cat|enum|dictionary")


def figures(known, values, cells):
    """Each measure that there is of these values, as text. `cells` is how many cells are gone through in all."""
    full = measures(known, values)
    size = full.pop("size", 0)
    if not full or not size:
        return {}
    is_slow = "types" in full or known == "numpy.memmap"
    part = full
    found = {}
    for name in (*COUNTED, *MEASURES[3:]):
        bound = MAX_OBJECTS if is_slow else MAX_COUNTED if name in COUNTED else MAX_ORDERED
        if cells > bound and part is full:
            part = measures("list" if known in BY_NAME else known, sample(known, values, size))
        measure = (part if cells > bound else full).get(name)
        try:
            text = measure() if measure else ""
        except Exception:
            text = ""
        if text:
            found[name] = text if cells <= bound else f"{text}*"
    return found


def add_figures(found, known, values, size):
    """Adds the figures of these values to the facts of an answer."""
    measured = figures(known, values, size)
    found["facts"] = {**found.get("facts", {}), **measured}
    for note in sample_note(measured.values(), size):
        add_note(found, note)


def add_note(found, note):
    found["note"] = f"{found['note']} {note}" if "note" in found else note


def sample_note(texts, size):
    """A sentence about the figures of a sample, if there are some."""
    is_sampled = any(text.endswith("*") for text in texts)
    return [f"* of a sample of {SAMPLE} of {size} values."] if is_sampled else []


def places(size):
    """As many as the sample has, without a period that the data may have, too."""
    stride = int(size * 0.618)
    while math.gcd(stride, size) > 1:
        stride += 1
    return sorted(at * stride % size for at in range(min(size, SAMPLE)))


def sample(known, values, size):
    if known == "polars.Series":
        return values.gather(places(size))
    if is_arrow_array(known):
        return values.take(places(size))
    if known in NDARRAYS:
        return (values.reshape(-1) if values.flags.c_contiguous else values.flat)[places(size)]
    if known == "pandas.Series":
        return values.iloc[places(size)]
    base = BY_NAME[known]
    if base in (list, tuple):
        return [base.__getitem__(values, at) for at in places(size)]
    return list(islice(members(base, values), 0, None, -(-size // SAMPLE)))


def members(base, values):
    if base is dict:
        return (it for key, it in dict.items(values) if not is_secret_key(key))
    return base.__iter__(values)


def measures(known, values):
    """What can be measured of these values, by name, and their number."""
    if known in NDARRAYS:
        return measures_of_array(values)
    if known == "pandas.Series":
        kind, array = str(values.dtype), type(values.array)
        if kind == "object" or (TEXTUAL.match(kind) and not name_of_type(array).startswith("Arrow")):
            return measures_of_objects(values.array.to_numpy().tolist()) if len(values) <= MAX_OBJECTS else later(len(values))
        return pick(kind, len(values), measures_of_pandas(values))
    if known == "polars.Series":
        return pick(str(values.dtype), len(values), measures_of_polars(values))
    if is_arrow_array(known):
        compute = sys.modules.get("pyarrow.compute")
        return pick(str(values.type), len(values), measures_of_arrow(compute, values)) if compute else {}
    base = BY_NAME[known]
    size = base.__len__(values)
    return measures_of_objects(list(members(base, values))) if size <= MAX_OBJECTS else later(size)


def later(size):
    """Of objects that are too many, a sample is looked at."""
    return {"size": size, "types": None}


def pick(kind, size, found):
    """The measures that a type of elements has."""
    if NUMERIC.match(kind):
        return {"size": size, **found}
    if TEMPORAL.match(kind):
        return {"size": size, **{name: found[name] for name in TIMED}}
    if kind.lower().startswith("bool"):
        return {"size": size, **{name: found[name] for name in (*COUNTED, "unique")}}
    names = ("min", "max", "unique") if TEXTUAL.match(kind) else ("unique",) if CATEGORICAL.match(kind) else ()
    return {"size": size, **{name: found[name] for name in names}}


def measures_of_pandas(values):
    quarter = lambda at: lambda: text_of(values.quantile(at))
    return {
        "min": lambda: text_of(values.min()),
        "max": lambda: text_of(values.max()),
        "mean": lambda: text_of(values.mean()),
        **{name: quarter(at) for name, at in QUARTERS.items()},
        "unique": lambda: str(int(values.nunique())),
    }


def measures_of_polars(values):
    is_float = str(values.dtype).startswith("Float")
    nans = once(lambda: int(values.is_nan().sum()) if is_float else 0)
    valid = once(lambda: values.drop_nans() if nans() else values)
    quarter = lambda at: lambda: text_of(valid().median() if at == 0.5 else valid().quantile(at, "linear"))
    return {
        "min": lambda: text_of(valid().min()),
        "max": lambda: text_of(valid().max()),
        "mean": lambda: text_of(valid().mean()),
        **{name: quarter(at) for name, at in QUARTERS.items()},
        "unique": lambda: str(int(valid().drop_nulls().n_unique())),
        "holds": lambda: counted([("NaN", nans())]),
    }


def measures_of_arrow(compute, values):
    quarter = lambda at: lambda: text_of(compute.quantile(values, at)[0].as_py())
    return {
        "min": lambda: text_of(compute.min(values).as_py()),
        "max": lambda: text_of(compute.max(values).as_py()),
        "mean": lambda: text_of(compute.mean(values).as_py()),
        **{name: quarter(at) for name, at in QUARTERS.items()},
        "unique": lambda: str(compute.count_distinct(values).as_py()),
    }


def measures_of_array(values):
    numpy, kind = sys.modules["numpy"], values.dtype.kind
    if kind == "O" or kind == "U":
        size = int(values.size)
        return measures_of_objects(values.reshape(-1).tolist()) if size <= MAX_OBJECTS else later(size)
    if kind not in "biufmM":
        return {}
    # NaN and NaT are unlike themselves.
    valid = once(lambda: values[values == values] if kind in "fmM" else values)

    def calm(measure):
        def text():
            with numpy.errstate(all="ignore"):
                found = measure(valid())
                # As numbers they would lose their unit.
                return str(found) if kind in "mM" else text_of(found.item())

        return text

    quarter = lambda at: calm(lambda it: numpy.quantile(it, at))
    missing = "NaT" if kind in "mM" else "NaN"
    found = {
        "min": calm(lambda it: it.min()),
        "max": calm(lambda it: it.max()),
        "mean": calm(lambda it: it.mean(dtype="f8")),
        **{name: quarter(at) for name, at in QUARTERS.items()},
        "unique": lambda: str(len(numpy.unique(valid()))),
        "holds": lambda: counted([(missing, int(values.size - valid().size))]),
    }
    names = {"b": (*COUNTED, "unique"), "m": (*TIMED, "holds"), "M": (*TIMED, "holds")}.get(kind, found)
    return {"size": int(values.size), **{name: found[name] for name in names}}


def measures_of_objects(values):
    """Those of Python's own types: to compare others would run their code."""
    # By identity: a class may have a metaclass that compares.
    kinds, counts = {}, {}
    for it in values:
        kind = type(it)
        key = id(kind)
        if key in kinds:
            counts[key] += 1
        else:
            kinds[key], counts[key] = kind, 1
    scalars = {key for key, kind in kinds.items() if library_class(kind) in SCALARS}
    if scalars:
        return measures_of_objects([it.item() if id(type(it)) in scalars else it for it in values])
    nulls = {key for key, kind in kinds.items() if kind is type(None) or name_of_type(kind) in NULLS}
    valid = [it for it in values if id(type(it)) not in nulls and not (type(it) is float and it != it)]
    nans = len(values) - len(valid) - sum(counts[key] for key in nulls)
    own = [kind for key, kind in kinds.items() if key not in nulls and not (kind is float and counts[key] == nans)]
    named = [("None" if kind is type(None) else full_name(kind), counts[key] - (nans if kind is float else 0)) for key, kind in kinds.items()]
    is_numbers = bool(own) and all(is_one_of(it, (int, float, bool)) for it in own)
    is_ordered = is_numbers or (len(own) == 1 and (is_one_of(own[0], (str, bytes)) or are_times(own[0], valid)))
    found = {"size": len(values), "types": None}
    if len(own) > 1 or nans or nulls:
        found["holds"] = lambda: counted([*named, ("NaN", nans)])
    if is_ordered:
        found.update({"min": lambda: text_of(min(valid)), "max": lambda: text_of(max(valid))})
    if is_numbers:
        ordered = once(lambda: sorted(valid))
        quarter = lambda at: lambda: text_of(between(ordered(), at))
        found.update({"mean": lambda: text_of(sum(valid) / len(valid)), **{name: quarter(at) for name, at in QUARTERS.items()}})
    if is_ordered or (own and all(is_one_of(it, (int, float, bool, str, bytes)) for it in own)):
        found["unique"] = lambda: str(len(set(valid)))
    return found


def are_times(kind, values):
    known = library_class(kind)
    if known in ("datetime.date", "datetime.timedelta", "decimal.Decimal"):
        return True
    return known in ("datetime.datetime", "pandas.Timestamp") and all(is_known_zone(it.tzinfo) for it in values)


def between(ordered, at):
    """The quantile of ordered numbers, linear between two of them."""
    place = at * (len(ordered) - 1)
    first = int(place)
    second = min(first + 1, len(ordered) - 1)
    return ordered[first] + (ordered[second] - ordered[first]) * (place - first)


def once(find):
    """The same, which finds it at most once."""
    found = []
    return lambda: found[0] if found else found.append(find()) or found[0]


def counted(counts):
    """`int 5, NaN 1`, the largest first."""
    named = sorted((-count, name) for name, count in counts if count)
    return cut(", ".join(f"{name} {-count}" for count, name in named[:6]), 80)


def text_of(value):
    if value is None:
        return ""
    if type(value) is float or library_class(type(value)) == "numpy.float64":
        value = float(value)
        return f"{value:.8g}" if value % 1 and abs(value) < 1e8 else repr(value)
    return cut(value, 40) if type(value) is str and not is_typed(value) else short(value, 40)
