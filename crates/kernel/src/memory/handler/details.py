
# What is in a value.

import inspect


def details(value, rows, stats, is_busy):
    kind = type(value)
    known = library_class(kind)
    if is_lazy(kind, known):
        return lazy_details(known, value)
    if known in FRAMES:
        return frame_details(known, value, rows, stats, is_busy)
    if known in COLUMNS:
        return column_details(known, value, rows, stats)
    if is_arrow_array(known):
        return arrow_details(value, rows)
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
    row = row_of("", value)
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
