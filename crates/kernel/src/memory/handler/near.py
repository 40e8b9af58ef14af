# Names and labels of frames that are like one that code has not found: other spaces, another case, another form of their letters, or a
# slip in one or two of them.

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
MAX_LABEL = 120
# Among more names, slips are not looked for.
MAX_SLIPS = 500


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
    """Columns before labels, and the kinds of likeness in turn."""
    # A part of a tuple that a variable has is not what it lacks.
    having = {frame for frame, _, texts in groups if frame and missing in texts}
    lacking = [group for group in groups if group[0] not in having and missing not in group[2]]
    for kind in ("column", "label"):
        of_kind = [(frame, texts) for frame, its, texts in lacking if its == kind]
        for is_like in (is_loosely, is_without_spaces, is_with_slips):
            found = {text: frame for frame, texts in of_kind for text in is_like(missing, texts)}
            if found:
                [(text, frame), *others] = found.items()
                return None if others else answer_about(frame, kind, missing, text)
    return None


def is_loosely(missing, texts):
    looked_for = loose(missing)
    return [text for text in texts if loose(text) == looked_for]


def is_without_spaces(missing, texts):
    looked_for = loose(missing).replace(" ", "")
    return [text for text in texts if loose(text).replace(" ", "") == looked_for]


def is_with_slips(missing, texts):
    """In names of four letters one slip, in those of eight two."""
    looked_for = loose(missing)[:MAX_LABEL]
    most = min(len(looked_for) // 4, 2)
    if not most or len(texts) > MAX_SLIPS:
        return []
    return [text for text in texts if slips(looked_for, loose(text), most)]


def slips(one, other, most):
    """Whether so many letters that are added, left out, replaced or exchanged with the next make one of the other."""
    if one == other:
        return True
    if not most or abs(len(one) - len(other)) > most:
        return False
    at = next((at for at, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    one, other = one[at:], other[at:]
    is_exchanged = len(one) > 1 and one[1::-1] == other[:2] and slips(one[2:], other[2:], most - 1)
    return (
        is_exchanged
        or slips(one[1:], other, most - 1)
        or slips(one, other[1:], most - 1)
        or slips(one[1:], other[1:], most - 1)
    )


def answer_about(frame, kind, missing, text):
    ends = [name for name, is_there in (("start", text != text.lstrip()), ("end", text != text.rstrip())) if is_there]
    shown = {"missing": short(missing, MAX_LABEL), "nearest": short(text, MAX_LABEL)}
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
