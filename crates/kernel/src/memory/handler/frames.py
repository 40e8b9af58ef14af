# What is in data frames and columns.

from itertools import islice

from .figures import MAX_COUNTED, MAX_OBJECTS, MEASURES, add_figures, figures, sample_note
from .kinds import INDEXES, cut, library_class, name_of_type
from .plain import plain_column, plain_frame
from .secrets import HIDDEN_VALUE, is_secret, is_secret_key, is_typed
from .values import MAX_COLUMNS, MAX_TABLE, NULLS, columns, first_that_fit, short, short_label, text_of_type

MAX_ROWS = 50


def lazy_details(known, value):
    found = {"note": "It is lazy and was not computed."}
    if known == "polars.LazyFrame":
        found["note"] += " collect_schema() gives its columns, head(5).collect() its first rows."
    elif known.startswith("dask"):
        try:
            named = islice(value._meta.dtypes.items(), MAX_COLUMNS)
            found["columns"] = first_that_fit([[short_label(name), text_of_type(kind)] for name, kind in named])
            found["facts"] = {"partitions": int(value.npartitions)}
        except Exception:
            pass
    return found


def frame_details(known, frame, rows, stats, is_busy):
    names, kinds = columns(known, frame)
    count, width = int(frame.shape[0]), int(frame.shape[1])
    names = names[: len(first_that_fit([[*it, count] for it in zip(names, kinds)]))]
    index = name_of_type(type(frame.index)) if known == "pandas.DataFrame" else ""
    if known == "pandas.DataFrame":
        frame = plain_frame(frame, 0, len(names))
    table = [[name, kind] for name, kind in zip(names, kinds)]
    header = ["column", "type"]
    if (known != "pandas.DataFrame" or count * width <= MAX_COUNTED) and (stats or not is_busy):
        header.append("nulls")
        for at, row in enumerate(table):
            nulls = null_count(known, column(known, frame, at))
            row.append("?" if nulls is None else nulls)
    found = {"facts": {"rows": count, "columns": width}, "header": header, "columns": table}
    if index:
        found["facts"]["index"] = index
    if width > len(names):
        found["note"] = f"The first {len(names)} of {width} columns; the path [:, {len(names)}:] shows those after them."
    part = frame.iloc[: shown(rows)] if known == "pandas.DataFrame" else frame[: shown(rows)]
    parts = [
        [HIDDEN_VALUE] * len(part) if is_secret(name) else [bare(value) for value in values_of(known, column(known, part, at))]
        for at, name in enumerate(names[:30])
    ]
    # As much for each row as if there were the usual five.
    named = first_that_fit([[name, *values] for name, values in zip(names, parts)], MAX_TABLE * (1 + len(part)) // 6)
    found["rows"] = [list(row) for row in zip(*parts[: len(named)])]
    if stats:
        found["stats"] = statistics(known, frame, names, count)
    return found


def column(known, frame, index):
    """By its position: several may have the same name."""
    if known == "pandas.DataFrame":
        return frame.iloc[:, index]
    return frame.to_series(index) if known == "polars.DataFrame" else frame.column(index)


def values_of(known, part):
    if known.startswith("pandas."):
        return part.tolist()
    return part.to_list() if known.startswith("polars.") else part.to_pylist()


def null_count(known, part):
    """How many values are missing, if that is known soon."""
    if not known.startswith("pandas."):
        return int(part.null_count() if known.startswith("polars.") else part.null_count)
    if str(part.dtype) != "object":
        return int(part.isna().sum())
    # pandas would compare the objects with themselves.
    return sum(map(is_null, part.array.to_numpy())) if len(part) <= MAX_OBJECTS else None


def is_null(value):
    kind = type(value)
    return value is None or (kind is float and value != value) or name_of_type(kind) in NULLS


def shown(rows):
    return min(max(rows, 0), MAX_ROWS)


def bare(value):
    """A value in a table: texts without quotation marks."""
    return cut(value, 40) if type(value) is str and not is_typed(value) else short(value, 40)


def statistics(known, frame, names, count):
    """What there is to measure of the columns, of a sample where that would take long."""
    whole = {}
    for at, name in enumerate(names):
        if not is_secret(name):
            part = column(known, frame, at)
            found = figures(family(known, part), plain_column(part) if known == "pandas.DataFrame" else part, count * len(names))
            if found:
                whole[at] = found
    measured = [measure for measure in MEASURES if any(measure in found for found in whole.values())]
    rows = [[names[at], *(found.get(measure, "") for measure in measured)] for at, found in whole.items()]
    fitting = first_that_fit(rows)
    notes = sample_note((text for found in whole.values() for text in found.values()), count)
    if len(fitting) < len(rows):
        notes.append(f"Of the first {len(fitting)} of {len(rows)} columns that have figures.")
    header = ["column", *measured] if rows else []
    return {"header": header, "rows": fitting, **({"note": " ".join(notes)} if notes else {})}


def family(known, part):
    """The kind of column that a frame has."""
    return f"{known.partition('.')[0]}.Series" if not known.startswith("pyarrow") else library_class(type(part))


def column_details(known, value, rows, stats):
    # That of a column, also where it is a variable of its own.
    name = None if known == "pandas.MultiIndex" else value.name
    if known == "pandas.Series":
        value = plain_column(value)
    part = value.iloc[: shown(rows)] if known == "pandas.Series" else value[: shown(rows)]
    items = [[str(at), bare(it)] for at, it in enumerate(values_of(known, part))]
    found = {"facts": {"length": len(value), "type": text_of_type(value.dtype)}, "items": items}
    if is_secret_key(name):
        found["items"] = [[at, HIDDEN_VALUE] for at, _ in items]
        return found
    if known not in INDEXES and (known != "pandas.Series" or len(value) <= MAX_COUNTED):
        nulls = null_count(known, value)
        found["facts"].update({} if nulls is None else {"nulls": nulls})
    if stats and known != "pandas.MultiIndex":
        add_figures(found, "pandas.Series" if known in INDEXES else known, plain_column(value) if known in INDEXES else value, len(value))
    return found
