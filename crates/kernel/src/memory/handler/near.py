# Names and labels of frames that are like one that code has not found: other spaces, another case, another form of their letters.

import unicodedata
from itertools import islice

from .kinds import INDEXES, is_kind, is_offered, library_class, own_attributes, root_of
from .plain import is_plain
from .spaces import HIDDEN_CHARACTERS
from .values import short

MAX_VARIABLES = 12
# What is looked at of what failed.
MAX_STEPS = 60
MAX_TEXTS = 20_000
MAX_TEXT = 120


def near_names(named, missing, error):
    """For each missing name the one that is near, if one is: in these variables, or in what the code that failed has worked on."""
    groups = list(groups_of_variables(named))
    found = {}
    for text in missing:
        nearest = nearest_in(groups, text)
        if nearest is None:
            groups_of_error = [group for value in values_of_error(error) for group in groups_of("", value)]
            nearest = nearest_in(groups_of_error, text)
        if nearest is not None:
            found.setdefault(nearest["nearest"], nearest)
    return list(found.values())


def nearest_in(groups, missing):
    """Columns before labels."""
    looked_for = loose(missing)
    for kind in ("column", "label"):
        found = {}
        for frame, _, texts in (group for group in groups if group[1] == kind):
            if missing not in texts:
                found.update({text: frame for text in texts if loose(text) == looked_for})
        if found:
            [(text, frame), *others] = found.items()
            return None if others else answer_about(frame, kind, missing, text)
    return None


def answer_about(frame, kind, missing, text):
    ends = [name for name, is_there in (("start", text != text.lstrip()), ("end", text != text.rstrip())) if is_there]
    shown = {"missing": short(missing, MAX_TEXT), "nearest": short(text, MAX_TEXT)}
    return {"frame": frame, "kind": kind, **shown, "spaces": ends}


def loose(text):
    text = "".join(it for it in unicodedata.normalize("NFKC", text) if it not in HIDDEN_CHARACTERS)
    return " ".join(text.replace("_", " ").split()).casefold()


def groups_of_variables(named):
    for name, value in islice(named, MAX_VARIABLES):
        yield from groups_of(name, value)


def groups_of(frame, value):
    """What has names: each with its kind and its texts."""
    known = library_class(type(value))
    try:
        if known in INDEXES and is_plain(known, value):
            yield frame, "column", texts_in(value)
        elif known == "pandas.Series" and is_plain(known, value):
            yield frame, "label", texts_in(value.index)
        elif known == "pandas.DataFrame" and is_plain(known, value):
            yield frame, "column", texts_in(value.columns) | names_of_index(value.index)
            yield frame, "label", texts_in(value.index)
        elif known == "polars.DataFrame":
            yield frame, "column", texts_in(value.columns)
        elif known == "pyarrow.Table":
            yield frame, "column", texts_in(value.schema.names)
        elif not frame and type(value) in (list, tuple):
            yield frame, "column", texts_in(value)
        elif root_of(type(value)) == "pandas" and is_offered(type(value)):
            # What is grouped.
            grouped = own_attributes(value).get("obj")
            if library_class(type(grouped)) == "pandas.DataFrame":
                yield from groups_of(frame, grouped)
    except Exception:
        return


def names_of_index(index):
    names = index._names if library_class(type(index)) == "pandas.MultiIndex" else (index.name,)
    return {name for name in names if type(name) is str}


def texts_in(labels):
    """The texts among labels, and in labels with several levels."""
    texts = set()
    for label in islice(labels, MAX_TEXTS):
        texts.update(it for it in (label if type(label) is tuple else (label,)) if type(it) is str)
    return texts


def values_of_error(error):
    """The local variables of functions that did not return, of an error and of those that it comes from."""
    steps, known = 0, []
    while is_kind(type(error), BaseException) and not any(error is it for it in known):
        known.append(error)
        trace = BaseException.__traceback__.__get__(error)
        while trace is not None and steps < MAX_STEPS:
            frame, trace, steps = trace.tb_frame, trace.tb_next, steps + 1
            # Those of a cell are variables.
            if frame.f_locals is not frame.f_globals:
                yield from list(frame.f_locals.values())
        cause = BaseException.__cause__.__get__(error)
        error = BaseException.__context__.__get__(error) if cause is None else cause


def last_error(shell):
    try:
        return shell.last_execution_result.error_in_exec
    except Exception:
        return None
