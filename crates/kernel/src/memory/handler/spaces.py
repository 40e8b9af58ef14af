# Names and texts of frames that their output does not show exactly: pandas removes spaces at the ends of cells from its HTML, and from its
# plain text those at the start of all names or labels.

from itertools import chain, islice

from .kinds import library_class
from .plain import is_plain, plain_column, plain_frame
from .secrets import is_secret, is_secret_key, is_typed
from .values import MAX_COLUMNS, short

# What pandas shows of a frame, unless it is told otherwise.
ENDS_OF_ROWS = 30
ENDS_OF_COLUMNS = 10
MAX_FRAMES = 10
MAX_EXACT = 8
MAX_TEXT = 50
# The same as `is_hidden` of the crate `notebook` has among those that files contain.
HIDDEN_CHARACTERS = "\xad\u200b\u200e\u200f\u2060\ufeff"


def exact_texts(new, result):
    """The names in new frames, and names and cells of the frame that was shown, as Python writes them."""
    names, cells = {}, {}
    for value in (*islice((it for name, it in new if not is_secret(name)), MAX_FRAMES), result):
        if len(names) < MAX_EXACT:
            names.update((short(text, MAX_TEXT), None) for text in found(names_of, value) if is_inexact(text))
    cells.update((text, None) for text in found(cells_of, result))
    return {
        "exact_names": list(names)[:MAX_EXACT],
        "exact_names_count": len(names),
        "exact_cells": list(cells)[:MAX_EXACT],
        "exact_cells_count": len(cells),
    }


def found(texts_of, value):
    try:
        known = library_class(type(value))
        is_known = known in ("pandas.DataFrame", "pandas.Series", "polars.DataFrame")
        return list(texts_of(known, value)) if is_known and is_plain(known, value) else []
    except Exception:
        return []


def is_inexact(text):
    return type(text) is str and (text != text.strip() or any((it.isspace() and it != " ") or it in HIDDEN_CHARACTERS for it in text))


def names_of(known, value):
    if known == "polars.DataFrame":
        yield from value.columns[:MAX_COLUMNS]
        return
    # An attribute that a column does not have would be looked for among its labels.
    indexes = [(value.index, ENDS_OF_ROWS)]
    if known == "pandas.Series":
        yield value.name
    else:
        indexes.insert(0, (value.columns, MAX_COLUMNS))
    for index, end in indexes:
        # `names` would hash them.
        yield from index._names if library_class(type(index)) == "pandas.MultiIndex" else (index.name,)
        for label in chain(index[:end], index[end:][-end:]):
            yield from label if type(label) is tuple else (label,)


def cells_of(known, value):
    """Each with its column, of those that pandas shows."""
    for name, column in shown_columns(known, value):
        if is_secret_key(name) or str(column.dtype) not in ("object", "str", "string", "category"):
            continue
        for text in chain(column.iloc[:ENDS_OF_ROWS].tolist(), column.iloc[ENDS_OF_ROWS:].iloc[-ENDS_OF_ROWS:].tolist()):
            if is_inexact(text) and not is_typed(text):
                yield f"{short(text, MAX_TEXT)} in {short(name, MAX_TEXT)}"


def shown_columns(known, value):
    if known == "pandas.Series":
        yield value.name, plain_column(value)
    elif known == "pandas.DataFrame":
        last = max(ENDS_OF_COLUMNS, value.shape[1] - ENDS_OF_COLUMNS)
        for first, end in ((0, ENDS_OF_COLUMNS), (last, value.shape[1])):
            part = plain_frame(value, first, end)
            yield from ((name, part.iloc[:, at]) for at, name in enumerate(value.columns[first:end]))
