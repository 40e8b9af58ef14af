"""Answers about a kernel's memory stay small, however large the values are."""

import json
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
import xarray

from e2e.support.memory_handler import Memory


def odd_tables() -> dict[str, Any]:
    wide = {"x" * 100_000: [1], "short": [2]}
    fields = np.zeros(3, dtype=[(f"field{number}", "f8") for number in range(1000)])
    many = pd.DataFrame(np.zeros((3, 20_000)))
    return {"fields": fields, "wide": pd.DataFrame(wide), "many": many, "n" * 100_000: type("T" * 100_000, (), {})()}


def test_long_types_and_names_are_cut() -> None:
    memory = Memory(**odd_tables())
    rows = memory.list(limit=50)["rows"]
    assert all(len(json.dumps(row)) < 400 for row in rows), rows
    assert rows[0]["value"].startswith("of 1000 fields: field0, field1")
    for name in list(memory.shell.user_ns):
        assert len(json.dumps(memory.inspect(name))) < 8000, name[:10]
    assert len(memory.refusal("m" * 100_000)) < 200
    memory.ran(**{"o" * 100_000: 1})
    assert len(json.dumps(memory.changes())) < 400


def test_types_of_polars_and_pyarrow_are_cut() -> None:
    categories = polars.Enum([f"category{number}" for number in range(5000)])
    struct = [{f"field{number}": number for number in range(1000)}]
    memory = Memory(
        enum=polars.DataFrame({"a": ["category0"]}, schema={"a": categories}),
        struct=polars.DataFrame({"a": struct}),
        table=pyarrow.table({"a": struct}),
        batch=pyarrow.table({"a": [1, None]}).to_batches()[0],
    )
    assert all(len(json.dumps(row)) < 400 for row in memory.list()["rows"])
    assert all(len(json.dumps(memory.inspect(name))) < 1000 for name in memory.shell.user_ns)
    assert memory.inspect("batch")["columns"] == [["a", "int64", 1]]


@pytest.mark.parametrize("sort", ["name", "latest"])
def test_what_is_not_shown_is_not_looked_into(sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(**{f"name_{number}": [number] for number in range(300)})
    described: list[str] = []
    describe = memory.module["describe"]
    monkeypatch.setitem(memory.module, "describe", lambda name, *given: described.append(name) or describe(name, *given))
    assert memory.list(sort=sort)["total"] == 300 and len(described) == 50


def test_long_texts_of_numpy_are_cut_before_they_are_shown() -> None:
    class Text(np.str_):
        def __getitem__(self, part: Any) -> str:
            raise AssertionError

    memory = Memory(text=np.str_("x" * 1000), other=Text("x"))
    assert memory.inspect("text")["value"].startswith("'xxx") and len(memory.inspect("text")["value"]) <= 80
    assert memory.inspect("other")["type"].endswith("Text")


def test_many_variables_fit_into_a_small_reply() -> None:
    memory = Memory(**{f"name_{number}": "x" * 500 for number in range(300)})
    listed = memory.list()
    assert listed["total"] == 300 and len(listed["rows"]) == 50
    shown = "\n".join("\t".join([row["name"], row["type"], row["size"], row["value"]]) for row in listed["rows"])
    assert len(shown.encode()) < 4096


def table(rows: list[list[Any]]) -> str:
    return "\n".join("\t".join(map(str, row)) for row in rows)


def shown(found: dict[str, Any]) -> str:
    """An answer about a value, as the program shows it."""
    columns, rows = found.get("columns", []), found.get("rows", [])
    names = [[row[0] for row in columns][: len(rows[0])]] if rows else []
    parts = [columns, names, rows, found.get("stats", {}).get("rows", []), found.get("items", [])]
    head = [found["name"], found["type"], found.get("note", ""), str(found.get("facts", "")), found.get("text", "")]
    return "\n".join([*head, *map(table, parts)])


LONG = "measurement of the sensor in the südliche room"
WIDE = {f"{number} {LONG}": [f"{number} {LONG}" if number % 2 else number] * 10 for number in range(200)}


@pytest.mark.parametrize("make", [pd.DataFrame, polars.DataFrame, pyarrow.table, lambda it: pyarrow.table(it).to_batches()[0]])
@pytest.mark.parametrize("stats", [False, True])
def test_a_wide_frame_fits_into_4_kilobytes(make: Any, *, stats: bool) -> None:
    memory = Memory(wide=make(WIDE))
    found = memory.inspect("wide", stats=stats)
    assert len(shown(found).encode()) < 4000
    count = len(found["columns"])
    assert 10 <= count < 200 and 2 <= len(found["rows"][0]) < count
    assert found["facts"]["columns"] == 200
    assert found["note"] == f"The first {count} of 200 columns; the path [:, {count}:] shows those after them."
    more = memory.inspect("wide", f"[2:4, {count}:]", stats=stats)
    assert more["columns"][0][0].startswith(f"{count} ") and len(more["rows"]) == 2
    assert more["facts"]["rows"] == 2 and more["facts"]["columns"] == 200 - count


def test_narrow_frames_are_shown_whole() -> None:
    found = Memory(frame=pd.DataFrame({f"column_{number}": [1.5] * 9 for number in range(30)})).inspect("frame", rows=9)
    assert (len(found["columns"]), len(found["rows"]), len(found["rows"][0]), "note" in found) == (30, 9, 30, False)


def test_other_wide_values_fit_into_4_kilobytes() -> None:
    thing = SimpleNamespace(**{name: LONG * 3 for name in WIDE})
    data = xarray.Dataset({name: ("x" * 40, [1.0]) for name in WIDE})
    module = ModuleType("wide")
    module.__dict__.update(WIDE)
    memory = Memory(thing=thing, data=data, module=module, nested={name: [LONG] * 3 for name in WIDE})
    for name in memory.shell.user_ns:
        found = memory.inspect(name)
        assert 500 < len(shown(found).encode()) < 4000, name
    assert memory.inspect("thing")["note"].endswith("of 200 attributes.")
