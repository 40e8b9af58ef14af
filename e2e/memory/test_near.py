"""Which names of frames are like one that code has not found, as the handler that answers questions about memory sees that."""

import io
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars
import pytest

from e2e.support.memory_handler import Memory, ran
from e2e.support.memory_traps import OwnFrame

CSV = " Region,SOUTH ,Order Date\nx,1,2020-01-01\n"


def near(memory: Memory, missing: str, *names: str) -> list[tuple[str, str, str, list[str]]]:
    answer = memory.ask("near", names=list(names), missing=[missing])
    assert answer["status"] == "ok", answer
    return [(it["frame"], it["kind"], it["nearest"], it["spaces"]) for it in answer["answer"]["near"]]


@pytest.mark.parametrize(
    ("missing", "nearest"),
    [
        ("Region", ("frame", "column", "' Region'", ["start"])),
        ("SOUTH", ("frame", "column", "'SOUTH '", ["end"])),
        ("order_date", ("frame", "column", "'Order Date'", [])),
        ("Ｏｒｄｅｒ\u200b Date", ("frame", "column", "'Order Date'", [])),
        ("OrderDate", ("frame", "column", "'Order Date'", [])),
        ("Regoin", ("frame", "column", "' Region'", ["start"])),
        ("Order Dates", ("frame", "column", "'Order Date'", [])),
        ("Ordr Dat", ("frame", "column", "'Order Date'", [])),
        ("r1", ("frame", "label", "' r1 '", ["start", "end"])),
        ("idx", ("frame", "column", "'idx '", ["end"])),
    ],
)
def test_the_nearest_name_of_a_variable_is_found(missing: str, nearest: tuple[str, str, str, list[str]]) -> None:
    frame = pd.read_csv(io.StringIO(CSV))
    frame.index = pd.Index([" r1 "], name="idx ")
    memory = Memory(frame=frame, other=frame.rename(columns=str.upper))
    assert near(memory, missing, "frame") == [nearest]
    assert near(memory, missing, "nothing") == [], "another variable is not looked at"
    grouped = Memory(grouped=frame.groupby(" Region"))
    assert near(grouped, missing, "grouped") == [("grouped", *nearest[1:])]


def test_nothing_is_near_that_is_there_or_could_be_two() -> None:
    memory = Memory(frame=pd.DataFrame({"a ": [1], " a": [2], "b": [3], "B": [4]}))
    assert [near(memory, name, "frame") for name in ("a", "b", "c")] == [[], [], []]
    memory = Memory(frame=pd.DataFrame({"north_1": [1], "north_2": [2], "price": [3]}))
    assert [near(memory, name, "frame") for name in ("north_3", "pr", "quantity")] == [[], [], []]


def test_levels_of_names_and_other_libraries_are_looked_at() -> None:
    levels = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("u", "x "), ("v", "y")]))
    levels.index = ["U"]
    memory = Memory(levels=levels, table=polars.DataFrame({"p ": [1]}), column=pd.Series([1], index=["s "]))
    assert near(memory, "x", "levels") == [("levels", "column", "'x '", ["end"])]
    assert near(memory, "u", "levels") == [], "it has that one"
    assert near(memory, "p", "table") == [("table", "column", "'p '", ["end"])]
    assert near(memory, "s", "column") == [("column", "label", "'s '", ["end"])]


def fails(code: Callable[[], object]) -> BaseException:
    with pytest.raises((KeyError, ValueError, AttributeError)) as failure:
        code()
    return failure.value


@pytest.mark.parametrize(
    "code",
    [
        lambda: pd.read_csv(io.StringIO(CSV), usecols=["Region"]),
        lambda: pd.read_csv(io.StringIO(CSV), parse_dates=["Region"]),
        lambda: pd.read_csv(io.StringIO(CSV), index_col="Region"),
        lambda: pd.read_csv(io.StringIO(CSV))["Region"],
        lambda: pd.read_csv(io.StringIO(CSV)).melt(id_vars="Region"),
        lambda: pd.read_csv(io.StringIO(CSV)).groupby("SOUTH ")["Region"],
        lambda: pd.read_csv(io.StringIO(CSV)).set_index("Region"),
        lambda: pd.read_csv(io.StringIO(CSV)).Region,
        lambda: pd.read_csv(io.StringIO(CSV)).astype({"Region": str}),
        lambda: pd.read_csv(io.StringIO(CSV)).assign(t=lambda frame: frame["Region"]),
    ],
)
def test_what_failed_is_looked_at_if_no_variable_has_it(code: Callable[[], object]) -> None:
    memory = Memory()
    memory.ran()
    memory.shell.last_execution_result.error_in_exec = fails(code)
    assert near(memory, "Region") == [("", "column", "' Region'", ["start"])]


def test_no_code_of_the_person_runs_for_near_names() -> None:
    class Own(str):
        def __getattribute__(self, name: str) -> Any:
            ran.append(name)
            return super().__getattribute__(name)

        __hash__ = str.__hash__

    class OwnError(KeyError):
        def __bool__(self) -> bool:
            ran.append("bool")
            return True

        def __getattribute__(self, name: str) -> Any:
            ran.append(name)
            return super().__getattribute__(name)

    def code() -> None:
        local = [Own("a"), "a "]
        raise OwnError(local[0]) from OwnError("b")

    labels = pd.Index([Own(" a"), "c"], dtype=object)
    memory = Memory(frame=pd.DataFrame([[1, 2]], columns=labels), own=OwnFrame({" a": [1]}))
    memory.ran()
    memory.shell.last_execution_result.error_in_exec = fails(code)
    ran.clear()
    assert near(memory, "a", "frame", "own") == [("", "column", "'a '", ["end"])]
    assert ran == []
