# What is written in the source of functions and classes.

import inspect
import linecache
import os
import re
import stat
import types

from .kinds import cut, entry, name_of_type
from .values import short

# Neither a device nor a file of this size is read for its lines.
MAX_SOURCE = 2_000_000
MAX_LINES = 2_000


def function_details(value):
    if type(value) is types.MethodType:
        value = value.__func__
    if type(value) is not types.FunctionType:
        return document_of(value.__doc__ if type(value) is types.BuiltinFunctionType else None)
    found = document_of(value.__doc__)
    found["facts"] = {"signature": signature(value), **found["facts"]}
    code = value.__code__
    lines = lines_of(code)
    if lines:
        found["text"] = block(lines, code.co_firstlineno - 1)
    return found


def class_details(value):
    found = document_of(entry(type.__dict__["__dict__"].__get__(value).items(), "__doc__"))
    # A class knows its source only by its functions.
    for it in type.__dict__["__dict__"].__get__(value).values():
        if type(it) is types.FunctionType:
            lines = lines_of(it.__code__)
            head = re.compile(rf"\s*class {re.escape(name_of_type(value))}\b")
            start = next((at for at in range(min(it.__code__.co_firstlineno, len(lines)) - 1, -1, -1) if head.match(lines[at])), None)
            if start is not None:
                found["text"] = block(lines, start)
            break
    return found


def document_of(text):
    return {"facts": {"doc": cut(inspect.cleandoc(text[:10_000]), 300)} if type(text) is str else {}}


def lines_of(code):
    """The lines of the file, or of the cell, that some code was in. `inspect` would ask every module where it comes from."""
    file = code.co_filename
    if type(file) is not str:
        return []
    known = linecache.cache.get(file)
    if known is None:
        try:
            status = os.stat(file)
        except (OSError, ValueError):
            return []
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_SOURCE:
            return []
    elif type(known) is not tuple or len(known) != 4:
        # It would be loaded by what imported the module.
        return []
    return linecache.getlines(file)


def block(lines, start):
    try:
        return cut("".join(inspect.getblock(lines[start : start + MAX_LINES])), 4000)
    except Exception:
        return ""


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
