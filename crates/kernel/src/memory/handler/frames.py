
# What is in data frames, columns and arrays.

# How many cells of a frame are counted without being asked to.
MAX_COUNTED = 20_000_000
SAMPLE = 10_000


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


def arrow_details(value, rows):
    values = value[: max(rows, 0) * 2].to_pylist()
    facts = {"length": len(value), "type": str(value.type), "nulls": int(value.null_count)}
    return {"facts": facts, "items": [[str(at), bare(it)] for at, it in enumerate(values)]}


def array_details(known, value, rows, stats):
    facts = {"shape": by_times(value.shape) or "scalar", "type": str(value.dtype)}
    found = {"facts": facts}
    if known.startswith("torch"):
        facts.update(device=str(value.device), requires_grad=bool(value.requires_grad))
    value = in_memory(known, value)
    if value is None:
        found["note"] = "Its values are not shown: reading them would copy or compute."
        return found
    facts["bytes"] = int(value.nbytes)
    if value.dtype.kind in "biufcSUMm":
        flat = value.reshape(-1) if value.flags.c_contiguous else value.flat
        found["items"] = [[str(at), bare(it)] for at, it in enumerate(flat[: max(rows, 0) * 2].tolist())]
        if value.dtype.kind in "biuf" and value.size and (stats or value.size <= 1_000_000):
            part = value.reshape(-1)[:: max(1, value.size // 1_000_000)] if value.flags.c_contiguous else value
            facts.update(min=short(part.min().item()), max=short(part.max().item()), mean=short(part.mean().item()))
    return found


def in_memory(known, value):
    """The array of numpy on the same memory, where that needs no copy, no device and no computation."""
    try:
        if known == "numpy.ndarray":
            return value
        if known.startswith("torch"):
            return value.detach().numpy() if value.device.type == "cpu" else None
        if known.startswith("jaxlib") and value.is_ready() and [it.platform for it in value.devices()] == ["cpu"]:
            return sys.modules["numpy"].asarray(value)
    except Exception:
        pass
    return None


def xarray_details(known, value):
    facts = {"sizes": ", ".join(f"{name}: {size}" for name, size in value.sizes.items()), "bytes": int(value.nbytes)}
    if known == "xarray.DataArray":
        return {"facts": {**facts, "type": str(value.dtype)}}
    parts = [[str(name), str(it.dtype)] for name, it in islice(value.variables.items(), MAX_COLUMNS)]
    return {"facts": facts, "header": ["variable", "type"], "columns": parts}
