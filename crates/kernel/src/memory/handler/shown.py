# A value that was looked into, as lines of columns.

import json


def shown_lines(found):
    """Each line is a list of columns. A text comes after them, with the length of all of it."""
    columns, rows, stats = found.get("columns") or [], found.get("rows") or [], found.get("stats") or {}
    head = [] if columns else [found.get("size"), found.get("value")]
    lines = [[" ".join([f"{found['name']}: {found['type']}", *filter(None, head)])]]
    lines += [[found["note"]]] if found.get("note") else []
    facts = ", ".join(f"{name}: {bare_json(it)}" for name, it in found.get("facts", {}).items())
    lines += [[facts]] if facts else []
    if columns:
        lines += [list(found.get("header", ())), *map(shown_row, columns)]
    if rows:
        count = len(rows[0])
        of = f" of the first {count} columns" if count < len(columns) else ""
        lines += [[f"first rows{of}:"], shown_row([row[0] for row in columns[:count]]), *map(shown_row, rows)]
    lines += [[stats["note"]]] if stats.get("note") else []
    if stats.get("rows"):
        lines += [list(stats["header"]), *map(shown_row, stats["rows"])]
    # These are what `repr` gives.
    lines += [[" ".join(bare_json(it).splitlines()).replace("\t", " ") for it in row] for row in found.get("items", ())]
    return {"lines": lines, "text": found.get("text"), "text_length": found.get("text_length") or 0}


def shown_row(row):
    return [visible_space(bare_json(it)) for it in row]


def visible_space(text):
    """Other white space than single spaces within the text would not be seen."""
    is_seen = not text or all(word and not any(map(str.isspace, word)) for word in text.split(" "))
    return text if is_seen else json.dumps(text, ensure_ascii=False)


def bare_json(value):
    return value if type(value) is str else json.dumps(value)
