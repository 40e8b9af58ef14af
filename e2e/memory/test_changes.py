"""What a run has changed in memory, as the handler that answers questions about it sees that."""

import gc
import importlib
import random
import re
import weakref
from collections import Counter, OrderedDict, deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest

from e2e.support.memory_handler import Memory, ran
from e2e.support.memory_traps import OwnFrame, Slots, Trap, function, traps


def test_a_run_has_changed_what_is_different_afterwards() -> None:
    memory = Memory(same=1, other=2, gone=3, text="a" * 5000)
    memory.ran("gone", other=5000, new=[1], api_key="hush", np=np, Slots=Slots, function=function)
    assert memory.changes() == {
        "new": [
            {"name": "new", "type": "list", "size": "1"},
            {"name": "api_key"},
            {"name": "np", "type": "module"},
            {"name": "Slots", "type": "class"},
            {"name": "function", "type": "function"},
        ],
        "new_count": 5,
        "changed": ["other"],
        "changed_count": 1,
        "gone": ["gone"],
        "gone_count": 1,
        "unchanged": ["same", "text"],
        "random": [],
        "states": {},
        "exact_names": [],
        "exact_names_count": 0,
        "exact_cells": [],
        "exact_cells_count": 0,
        "loaded": {},
        "changed_files": {},
    }
    memory.shell.user_ns["new"].append(2)
    memory.ran(text="b" * 5000)
    assert memory.changes()["changed"] == ["text", "new"]
    memory.ran()
    changes = memory.changes()
    assert {"new", "text"} < set(changes.pop("unchanged"))
    assert set(map(str, changes.values())) == {"[]", "{}", "0"}, "nothing has changed"


def test_equal_small_values_are_no_change() -> None:
    memory = Memory(number=1.5, nan=float("nan"), text="text", whole=10**15, flag=True)
    memory.ran(number=float("1.5"), nan=float("nan"), text="".join(["te", "xt"]), whole=10**14 * 10, flag=bool(1))
    assert memory.changes()["changed_count"] == 0
    memory.ran(number=2.5, nan=1.0, text="text!", whole=-1, flag=1)
    assert memory.changes()["changed"] == ["number", "nan", "text", "whole", "flag"]


def test_random_states_that_libraries_share_have_changed_if_something_was_drawn() -> None:
    before = random.getstate(), np.random.get_state()
    memory = Memory()
    random.getstate(), np.random.get_state(), np.random.default_rng().normal()
    memory.ran()
    assert memory.changes()["random"] == []
    np.random.rand(3)
    memory.ran()
    changes = memory.changes()
    assert changes["random"] == ["NumPy"]
    np.random.seed(3)
    np.random.rand(3)
    memory.ran()
    states = memory.changes()["states"]
    np.random.seed(3)
    memory.ran()
    assert memory.changes()["states"] != states
    np.random.rand(3)
    memory.ran()
    assert memory.changes()["states"] == states, "the same draws after the same seed"
    random.random()
    memory.ran()
    assert memory.changes()["random"] == ["Python"]
    # The second of a pair of normal numbers leaves the position where it is.
    np.random.normal()
    random.gauss(0, 1)
    memory.ran()
    memory.changes()
    np.random.normal()
    random.gauss(0, 1)
    memory.ran()
    assert memory.changes()["random"] == ["Python", "NumPy"]
    random.setstate(before[0])
    np.random.set_state(before[1])


def changed_by(change: Any, value: Any) -> tuple[bool, bool]:
    """Whether a change of a value is seen, and whether it is known that nothing else has changed it."""
    memory = Memory(value=value)
    memory.ran()
    is_known = memory.changes()["unchanged"] == ["value"]
    change(value)
    memory.ran()
    return memory.changes()["changed"] == ["value"], is_known


@pytest.mark.parametrize(
    ("value", "change"),
    [
        ([1, 2.0, "a", None], lambda it: it.__setitem__(0, 2)),
        ([-1], lambda it: it.__setitem__(0, -2)),
        ([1], lambda it: it.__setitem__(0, 1.0)),
        ([[1], {"a": 1}], lambda it: it[1].update(a=2)),
        (([1],), lambda it: it[0].append(2)),
        ({"a": 1, "b": {2}}, lambda it: it["b"].add(3)),
        ({"a": 1}, lambda it: it.update(a=2)),
        ({1, 2}, lambda it: (it.discard(1), it.add(3))),
        (bytearray(b"ab"), lambda it: it.reverse()),
        ([[[1]]], lambda it: it[0][0].append(2)),
        ({"a": [{"b": {-1}}]}, lambda it: (it["a"][0]["b"].clear(), it["a"][0]["b"].add(-2))),
        (deque([1, 2]), lambda it: it.rotate()),
        (OrderedDict(a=1, b=2), lambda it: it.move_to_end("a")),
        (Counter("aab"), lambda it: it.update("b")),
        (SimpleNamespace(k=-1), lambda it: setattr(it, "k", -2)),
        (SimpleNamespace(k={"a": [np.zeros(2)]}), lambda it: it.k["a"][0].fill(1)),
        ([pd.DataFrame({"a": [1]})], lambda it: it[0].__setitem__("a", 2)),
        ({"r": np.random.default_rng(1)}, lambda it: it["r"].normal()),
        (random.Random(1), lambda it: it.random()),
        (np.random.RandomState(1), lambda it: it.rand()),
        (np.random.default_rng(1), lambda it: it.normal()),
        (np.zeros((3, 4)), lambda it: it.fill(1)),
        (np.array(["a", "b"]), lambda it: it.put(0, "c")),
        (pd.Series([1, 2]), lambda it: it.__setitem__(0, 3)),
        (pd.Series([1, 2]), lambda it: it.index.set_names("n", inplace=True)),
        (pd.Series([1, 2], name="a"), lambda it: setattr(it, "name", "b")),
        (pd.DataFrame({"a": [1, 2], "b": [1.5, 2.5]}), lambda it: it.__setitem__("b", 0.0)),
        (pd.DataFrame({"a": [1, 2], "b": [1.5, 2.5]}), lambda it: it.pop("a")),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), lambda it: it.fillna(0, inplace=True)),
        (pd.DataFrame({"a": pd.Categorical(["x", "y"])}), lambda it: it.__setitem__("a", pd.Categorical(["y", "x"]))),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2021-01-01"])}), lambda it: it.__setitem__("a", it["a"].max())),
    ],
)
def test_what_changes_in_place_has_changed(value: Any, change: Any) -> None:
    assert changed_by(change, value) == (True, True)


def test_a_value_that_is_not_looked_into_may_have_changed() -> None:
    for value in ([object()], [print], list(range(2000)), ["x" * 10**6], np.zeros(10**5), np.array([object()], dtype=object)):
        is_changed, is_known = changed_by(lambda value: None, value)
        assert (is_changed, is_known) == (False, False)


@pytest.mark.parametrize(
    ("value", "equal", "other"),
    [
        (1, 1, 2),
        ("a", "a", "b"),
        ([1, {"a": 2}], [1, {"a": 2}], [1, {"a": 2.0}]),
        (np.zeros(3), np.zeros(3), np.zeros(3, dtype="int64")),
        (np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((3, 2))),
        (pd.DataFrame({"a": [1], "b": ["x"]}), pd.DataFrame({"a": [1], "b": ["x"]}), pd.DataFrame({"a": [1], "c": ["x"]})),
        (pd.Series([1, 2], name="n"), pd.Series([1, 2], name="n"), pd.Series([1, 2], name="m")),
        (pd.Series(["a", "b"], dtype="category"), pd.Series(["a", "b"], dtype="category"), pd.Series(["a", "c"], dtype="category")),
        (pd.Series([1, 2], index=[3, 4]), pd.Series([1, 2], index=[3, 4]), pd.Series([1, 2], index=[3, 5])),
        (pd.to_datetime(pd.Series(["2020"])), pd.to_datetime(pd.Series(["2020"])), pd.to_datetime(pd.Series(["2020"])).dt.tz_localize("UTC")),
        (re.compile("a"), re.compile("a"), re.compile("b")),
        (SimpleNamespace(a=[1]), SimpleNamespace(a=[1]), SimpleNamespace(a=[2])),
    ],
)
def test_another_object_that_is_equal_counts_as_the_same_value(value: Any, equal: Any, other: Any) -> None:
    memory = Memory(value=value)
    memory.ran()
    memory.changes()
    memory.ran(value=equal)
    assert "value" in memory.changes()["unchanged"]
    memory.ran(value=other)
    changes = memory.changes()
    assert ("value" in changes["unchanged"], changes["changed"]) == (False, ["value"])


OWN_CLASSES = """
class Account:
    opened, owners = 0, []
    def __init__(self, parts): self.balance, self.parts = 100, parts
class Slotted(Account): __slots__ = ('held',)
class Listed(Account, list): pass
class Node:
    def __init__(self): self.node = self
"""


@pytest.mark.parametrize(
    ("made", "change", "is_known"),
    [
        ("Account([1])", "value.balance = -2", True),
        ("Account([1])", "value.parts.append(1)", True),
        ("Account([Account([1])])", "value.parts[0].balance = 1", True),
        ("{'a': Account([1])}", "value['a'].balance = 1", True),
        ("Account(object())", "value.balance = 1", False),
        ("Slotted([1])", "value.balance = 1", False),
        ("Listed([1])", "value.balance = 1", False),
        ("Node()", "value.other = 1", True),
        ("Account", "value.opened += 1", True),
        ("Account", "value.owners.append(1)", True),
        ("Account", "value.total = lambda self: 1", True),
        ("Account", "value.opened = -value.opened - 2", True),
    ],
)
def test_objects_and_classes_of_the_notebook_have_changed_with_what_they_hold(made: str, change: str, is_known: bool) -> None:
    memory = Memory(__name__="__main__")
    variables = memory.shell.user_ns
    exec(f"{OWN_CLASSES}value = {made}", variables)
    memory.ran()
    memory.changes()
    memory.ran()
    assert ("value" in memory.changes()["unchanged"]) is is_known
    exec(change, variables)
    memory.ran()
    assert "value" in memory.changes()["changed"]


def test_a_module_of_the_folder_has_changed_with_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "counting_module.py").write_text("count = 0\ndef more():\n    global count\n    count += 1\nclass Box: full = False\n")
    monkeypatch.syspath_prepend(tmp_path)
    counting = importlib.import_module("counting_module")
    memory = Memory(counting=counting, box=counting.Box(), gc=gc, np=np)
    memory.ran()
    assert memory.changes()["unchanged"] == ["counting", "box"]
    counting.more()
    memory.shell.user_ns["box"].full = True
    memory.ran()
    assert memory.changes()["changed"] == ["counting", "box"]


def test_reading_a_frame_is_no_change() -> None:
    frame = pd.DataFrame({"a": [1, 2]})
    frame["b"], frame["c"] = [3, 4], ["x", "y"]
    read = lambda frame: (frame.values, frame.to_numpy(), frame.describe(), frame["a"].sum(), frame.copy(), str(frame), frame._consolidate_inplace())
    assert changed_by(read, frame)[0] is False


def test_a_look_is_bounded_and_what_it_leaves_out_has_not_changed() -> None:
    variables = {f"array_{number}": np.zeros(8000) for number in range(20)}
    memory = Memory(**variables)
    memory.ran()
    known = memory.changes()["unchanged"]
    assert 0 < len(known) <= 9
    for array in variables.values():
        array += 1
    memory.ran()
    changes = memory.changes()
    assert set(changes["changed"]) <= set(known) and changes["changed"][0] == "array_0"


def test_frames_and_arrays_have_changed_if_their_shape_has() -> None:
    memory = Memory()
    memory.ran(frame=pd.DataFrame({"a": [1, 2]}), array=np.zeros((3, 4)), own_frame=OwnFrame({"a": [1]}))
    memory.shell.user_ns["column"] = pd.Series([1, 2, 3])
    ran.clear()
    rows = memory.changes()["new"]
    assert [row["size"] for row in rows] == ["2×1", "3×4", "", "3"] and ran == []
    variables = memory.shell.user_ns
    variables["own_frame"]["b"] = 1
    memory.ran()
    ran.clear()
    assert memory.changes()["changed_count"] == 0, "what is not free is left out"
    variables["frame"]["b"] = 1
    memory.ran()
    assert memory.changes()["changed"] == ["frame"]
    assert ran == []


def test_no_code_of_the_person_runs_for_changes() -> None:
    variables = traps().shell.user_ns
    memory = Memory()
    memory.ran(**variables)
    new = {row["name"]: row for row in memory.changes()["new"]}
    assert set(new) == set(variables)
    assert new["trap"] == {"name": "trap", "type": "Trap", "size": ""}
    memory.ran(**{name: Trap() for name in variables})
    assert memory.changes()["changed_count"] == len(variables)
    memory.ran(*variables)
    assert memory.changes()["gone_count"] == len(variables)
    assert ran == []


def test_no_value_is_kept_alive() -> None:
    memory = Memory()
    memory.ran(frame=pd.DataFrame({"a": [1]}), slots=Slots(), text="x" * 10)
    memory.changes()
    references = [weakref.ref(memory.shell.user_ns[name]) for name in ("frame",)]
    memory.ran("frame", "slots", "text")
    gc.collect()
    assert [reference() for reference in references] == [None]


@pytest.mark.parametrize(
    ("request_", "kind", "silent", "is_shown"),
    [
        ("ours", "execute_request", False, True),
        ("theirs", "execute_request", False, False),
        ("theirs", "execute_request", True, True),
        ("theirs", "complete_request", False, True),
    ],
)
def test_the_changes_of_others_are_left_out(request_: str, kind: str, silent: bool, is_shown: bool) -> None:
    memory = Memory()
    # Somebody else's execution since the last look.
    memory.ran(theirs=1)
    memory.ran(ours=1)
    assert memory.changes() == {}
    memory.ran(more=1)
    assert [row["name"] for row in memory.changes()["new"]] == ["more"]
    # After a look, there is none.
    memory.ran(theirs=2)
    memory.ask("mark")
    memory.ran(last=1)
    assert [row["name"] for row in memory.changes()["new"]] == ["last"]
    # Somebody else's code runs already.
    memory.ran(another=1)
    memory.shell.kernel.starts(request_, kind, silent=silent)
    assert bool(memory.changes()) is is_shown
    memory.ran(yet_another=1)
    assert bool(memory.changes()) is is_shown
    # A run without a number of its own, such as one of an empty cell.
    assert memory.changes() == {}


@pytest.mark.parametrize(
    "before",
    [{}, {"silent": True}, {"empty": True}, {"silent": True, "empty": True}],
    ids=["a cell", "a silent one", "an empty one", "one that installs the handler"],
)
def test_a_look_while_a_cell_runs_is_no_look(before: dict[str, bool]) -> None:
    memory = Memory()
    memory.ran(theirs=1)
    if before:
        memory.shell.end(**before)
    # Somebody else's cell has its count, and goes on after the look.
    memory.shell.execution_count += 1
    memory.shell.user_ns["theirs"] = 2
    memory.ask("mark")
    memory.shell.user_ns["theirs"] = 3
    memory.shell.end()
    memory.ran(ours=1)
    assert memory.changes() == {}
    if before:
        memory.shell.end(**before)
    memory.ask("mark")
    memory.ran(more=1)
    assert [row["name"] for row in memory.changes()["new"]] == ["more"]


def test_a_look_during_which_a_cell_begins_is_no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    memory.ran(ours=1)
    marks = memory.module["marks"]

    def slow(variables: dict[str, Any]) -> Any:
        # A whole cell of somebody else, after which another request comes.
        variables["theirs"] = 1
        memory.ran(theirs=1)
        memory.shell.kernel.starts("theirs", "kernel_info_request")
        return marks(variables)

    monkeypatch.setitem(memory.module, "marks", slow)
    assert memory.changes() == {}
    monkeypatch.undo()
    memory.ran(more=1)
    assert memory.changes() == {}


def test_too_many_variables_are_not_compared() -> None:
    memory = Memory()
    memory.ran(**{f"name_{number}": number for number in range(6000)})
    assert memory.changes() == {}
    memory.ran(*(f"name_{number}" for number in range(5900)))
    assert memory.changes() == {}
    memory.ran(*(f"name_{number}" for number in range(5900, 6000)), x=1)
    assert (memory.changes()["new_count"], memory.ask("changes", count=3, request="ours")["answer"]) == (1, {})


def test_names_and_cells_are_exact_that_pandas_shows_without_their_spaces() -> None:
    memory = Memory()
    frame = pd.DataFrame({" a": ["x", " N"], " b ": ["SOUTH ", "y"], "c": [1, 2]}, index=pd.Index([" r", "s"], name="i\u200b"))
    memory.ran(frame=frame, plain=pd.DataFrame({"a": [" x"]}), api_key=pd.Series([1], name=" hush"))
    changes = memory.changes()
    assert changes["exact_names"] == ["' a'", "' b '", "'i\\u200b'", "' r'"]
    assert (changes["exact_names_count"], changes["exact_cells"]) == (4, []), "nothing was shown"
    memory.ran()
    memory.shell.last_execution_result.result = frame
    changes = memory.changes()
    assert changes["exact_names"] == ["' a'", "' b '", "'i\\u200b'", "' r'"]
    assert changes["exact_cells"] == ["' N' in ' a'", "'SOUTH ' in ' b '"]
    memory.ran()
    memory.shell.last_execution_result.result = pd.Series(["x ", "y"], index=["a", "b "], name=" n")
    changes = memory.changes()
    assert (changes["exact_names"], changes["exact_cells"]) == (["' n'", "'b '"], ["'x ' in ' n'"])
    memory.ran(many=pd.DataFrame({f"{n} ": [n] for n in range(30)}), levels=pd.Series([1], index=pd.MultiIndex.from_tuples([("u ", 1)])))
    changes = memory.changes()
    assert (len(changes["exact_names"]), changes["exact_names_count"]) == (8, 30)
    memory.ran(levels2=memory.shell.user_ns["levels"], table=polars.DataFrame({"p ": [1]}))
    assert memory.changes()["exact_names"] == ["'u '", "'p '"]


def test_only_what_is_shown_of_a_large_frame_is_looked_at() -> None:
    memory = Memory()
    labels = [f"{n} " if n in (0, 500) else f"{n}" for n in range(1000)]
    frame = pd.DataFrame({f"c{n}": [" x" if n in (1, 15, 29) else "x"] * 1000 for n in range(30)}, index=labels)
    memory.ran()
    memory.shell.last_execution_result.result = frame
    changes = memory.changes()
    assert (changes["exact_names"], changes["exact_cells"]) == (["'0 '"], ["' x' in 'c1'", "' x' in 'c29'"])


def test_no_code_of_the_person_runs_for_exact_names() -> None:
    class Own(str):
        def strip(self, *_: Any) -> str:
            ran.append("strip")
            return self

        def __repr__(self) -> str:
            ran.append("repr")
            return "own"

    memory = Memory()
    labels = pd.Index([Own(" a"), " c"], dtype=object)
    frame = pd.DataFrame([[Own(" b"), Own(" d")]], columns=labels, dtype=object)
    memory.ran(frame=frame, own_frame=OwnFrame({" a": [1]}))
    memory.shell.last_execution_result.result = frame
    ran.clear()
    assert (memory.changes()["exact_names"], ran) == (["' c'"], [])
