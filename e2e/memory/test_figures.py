"""Statistics and sizes: exact while that is cheap, and otherwise said to be of a sample."""

import datetime
import decimal
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

from e2e.support.memory_handler import Memory

PEAK = np.zeros(300_000)
PEAK[123_457] = 1e6
MANY = 30_000_000


def figures(value: Any) -> dict[str, str]:
    """What is measured of a value, or of the first column of a frame that has figures."""
    found = Memory(value=value).inspect("value", stats=True)
    if "stats" not in found:
        return {name: text for name, text in found.get("facts", {}).items() if name != "type"}
    return dict(zip(found["stats"]["header"], (found["stats"]["rows"] or [[]])[0]))


@pytest.mark.parametrize(
    "make",
    [
        lambda it: pd.DataFrame({"v": it}),
        lambda it: polars.DataFrame({"v": it}),
        lambda it: pyarrow.table({"v": it}),
        pd.Series,
        polars.Series,
        pyarrow.array,
        pd.Index,
        lambda it: it,
        lambda it: it.reshape(300, 1000).T,
        list,
        lambda it: dict(enumerate(it)),
    ],
)
def test_figures_of_some_hundred_thousand_values_are_exact(make: Any) -> None:
    found = figures(make(PEAK))
    assert [found[name] for name in ("min", "max", "50%", "unique")] == ["0.0", "1000000.0", "0.0", "2"]


@pytest.mark.parametrize(
    "make", [lambda it: pd.DataFrame({"v": it}), lambda it: polars.DataFrame({"v": it}), pd.Series, polars.Series, lambda it: it]
)
def test_each_figure_of_a_sample_is_marked(make: Any) -> None:
    memory = Memory(value=make(np.arange(MANY)))
    start = time.monotonic()
    found = memory.inspect("value", stats=True)
    assert time.monotonic() - start < 2
    assert f"of a sample of 10000 of {MANY} values" in str(found)
    measured = [text for name, text in figures(memory.shell.user_ns["value"]).items() if name in ("min", "max", "mean", "25%", "unique")]
    assert len(measured) == 5 and all(text.endswith("*") for text in measured), measured


def test_a_sample_has_no_period_of_its_own() -> None:
    found = figures([0, 1, 2] * 1_000_000)
    assert found["unique"] == "3*" and abs(float(found["mean"].rstrip("*")) - 1) < 0.1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([3, None, float("nan"), 1.5], {"min": "1.5", "max": "3", "holds": "NaN 1, None 1, float 1, int 1"}),
        (["b", "a", "b"], {"min": "a", "max": "b", "unique": "2"}),
        ([1, "a", "b"], {"holds": "str 2, int 1", "min": None}),
        ([datetime.date(2020, 1, 2), datetime.date(2019, 1, 2)], {"min": "2019-01-02", "max": "2020-01-02"}),
        ([decimal.Decimal("1.5")], {"max": "1.5"}),
        (np.array([1, np.nan, 3]), {"min": "1.0", "max": "3.0", "mean": "2.0", "holds": "NaN 1"}),
        (np.array(["2020-01-02", "NaT"], dtype="M8[D]"), {"min": "2020-01-02", "holds": "NaT 1"}),
        (np.array([True, False]), {"mean": "0.5", "25%": None}),
        (pd.Series(["x", 1, None], dtype=object), {"holds": "None 1, int 1, str 1"}),
        (pd.Series(pd.to_datetime(["2020-01-02", None])), {"min": "2020-01-02 00:00:00", "nulls": 1}),
        (pd.Series([1, None, 3], dtype="Int64"), {"min": "1", "mean": "2.0", "nulls": 1}),
        (pd.Series(["x", "y", "x"], dtype="category"), {"unique": "2", "min": None}),
        (pd.Series(["x", "y", None]), {"min": "x", "max": "y", "unique": "2"}),
        (polars.Series([1.0, float("nan"), None]), {"max": "1.0", "mean": "1.0", "holds": "NaN 1"}),
        (polars.Series([datetime.date(2020, 1, 2)]), {"max": "2020-01-02"}),
        (pyarrow.array(["b", "a"]), {"min": "a"}),
        ({"a": 1, "api_key": 99}, {"max": "1"}),
    ],
)
def test_other_kinds_of_values_have_the_figures_that_they_can_have(value: Any, expected: dict[str, Any]) -> None:
    found = figures(value)
    assert {name: found.get(name) for name in expected} == expected, found


@pytest.mark.parametrize("value", ["text", 5, [[1]], np.array([]), pd.DataFrame({"o": [object()]}), SimpleNamespace(a=1)])
def test_statistics_that_there_are_not_are_refused(value: Any) -> None:
    assert Memory(value=value).inspect("value", stats=True)["note"] == "There are no statistics of such a value."


def test_more_rows_than_are_shown_are_mentioned() -> None:
    assert Memory(value=[1] * 99).inspect("value", rows=99)["note"] == "At most 50 rows are shown."


def test_columns_without_figures_are_counted() -> None:
    found = Memory(value=pd.DataFrame({f"column_{number}": [0.123456] for number in range(60)})).inspect("value", stats=True)
    assert found["stats"]["note"].startswith("Of the first ") and found["stats"]["note"].endswith(" of 60 columns that have figures.")


def test_variables_are_ordered_by_the_memory_that_they_take() -> None:
    frame = pd.DataFrame({"v": np.zeros(10_000), "s": pd.Series(["long text " * 20 + str(at) for at in range(10_000)], dtype=object)})
    memory = Memory(
        number=5,
        text="x" * 300_000,
        frame=frame,
        array=np.zeros(50_000),
        names=[str(at) for at in range(20_000)],
        model=SimpleNamespace(weights=np.zeros(80_000)),
        nested={"a": [np.zeros(100_000)]},
        same=[np.zeros(1)] * 30_000,
    )
    rows = memory.rows(sort="size")
    assert list(rows) == ["frame", "names", "nested", "model", "array", "text", "same", "number"]
    assert rows["array"]["bytes"] == 400_000 and rows["nested"]["bytes"] > 800_000 and rows["text"]["bytes"] > 300_000
    assert rows["names"]["is_estimate"] and not rows["array"]["is_estimate"]


def test_a_large_graph_of_objects_is_not_walked_through() -> None:
    node = SimpleNamespace(parts=[])
    node.parts = [SimpleNamespace(parent=node, parts=[SimpleNamespace(parent=node) for _ in range(100)]) for _ in range(3000)]
    memory = Memory(**{f"node_{number}": node for number in range(100)})
    start = time.monotonic()
    memory.rows(sort="size")
    assert time.monotonic() - start < 1
