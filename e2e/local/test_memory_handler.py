"""The handler that answers questions about a kernel's memory, on objects whose code must not run. It is Python, so only Python
can test it; here without a kernel, on the libraries' real objects."""

import datetime
import enum
import gc
import json
import sys
import threading
import time
import weakref
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
import xarray

from e2e.support.memory_handler import Memory, ran


# The same names are in `crates/kernel/src/memory/between_runs/secrets.rs`.
SECRETS = ["password", "passphrase", "PASS", "db_pass", "pwd", "api_key", "apikey", "openai_key", "ssh_key", "apiKey", "github_pat"]
SECRETS += ["AWS_SECRET_ACCESS_KEY", "auth", "jwt", "bearer", "accesstoken", "hf_tokens", "credentials", "mysecret"]
NO_SECRETS = ["tokenizer", "secretary", "sort_key", "key", "pat", "n_passes", "author", "compass", "keys", "primaryKey"]


class Meta(type):
    """Logs whatever asks a class of it for something."""

    def __getattribute__(cls, name: str) -> Any:
        ran.append(f"class.{name}")
        return type.__getattribute__(cls, name)

    def __eq__(cls, other: object) -> bool:
        ran.append("class ==")
        return True

    def __hash__(cls) -> int:
        ran.append("hash(class)")
        return 1

    def __instancecheck__(cls, other: object) -> bool:
        ran.append("isinstance")
        return True


class Trap(metaclass=Meta):
    """Logs whatever asks it for something."""

    def __getattribute__(self, name: str) -> Any:
        ran.append(name)
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        ran.append("repr")
        raise SystemExit

    __str__ = __repr__

    def __len__(self) -> int:
        ran.append("len")
        return 1

    def __eq__(self, other: object) -> bool:
        ran.append("==")
        return True

    def __hash__(self) -> int:
        ran.append("hash")
        return 1

    @property
    def slow(self) -> int:
        ran.append("property")
        return 1


class OwnDict(dict):
    def __len__(self) -> int:
        ran.append("len of a dict")
        return 7

    def items(self) -> Any:
        ran.append("items")
        return []


class OwnFrame(pd.DataFrame):
    @property
    def shape(self) -> Any:
        ran.append("shape")
        return (0, 0)


class Slots:
    __slots__ = ("a", "unset")


def function(first: int, trap: object = Trap(), *rest: int, only: int = 3, **named: int) -> None:
    """Does something."""


def traps() -> Memory:
    slots = Slots()
    slots.a = 3
    return Memory(
        trap=Trap(),
        Trap=Trap,
        mock=MagicMock(),
        text="x" * 50_000_000,
        huge=1 << 332_000,
        own_dict=OwnDict(a=1),
        own_frame=OwnFrame({"a": [1]}),
        frame=pd.DataFrame({"a": [1, None], "o": [Trap(), Trap()]}),
        items={"k": Trap(), 1: [Trap()]},
        slots=slots,
        function=function,
        np=np,
    )


def test_no_code_of_the_person_runs() -> None:
    memory = traps()
    rows = memory.rows(kinds=["all"])
    assert ran == []
    assert set(rows) == set(memory.shell.user_ns)
    for name in rows:
        memory.inspect(name)
        assert ran == [], name
    assert rows["trap"] == {"name": "trap", "type": "Trap", "kind": "data"}
    assert rows["huge"]["value"] == "<int of 332001 bits>"
    assert rows["own_dict"]["size"] == "1"
    assert rows["own_frame"]["value"] == "<a subclass of pandas.DataFrame>"
    assert rows["items"]["value"] == "{'k': <Trap>, 1: <list>}"
    assert rows["text"]["bytes"] == 50_000_000 and len(rows["text"]["value"]) < 60
    assert memory.inspect("function")["facts"]["signature"] == "(first, trap=<Trap>, *rest, only=3, **named)"
    assert memory.inspect("slots")["items"] == [[".a", "int 3"]]


@pytest.mark.parametrize(
    ("name", "path", "cause"),
    [
        ("trap", ".slow", "is computed by code of its class"),
        ("trap", ".missing", "has no attribute 'missing'"),
        ("trap", "[0]", "would run its own code"),
        ("items", "['x']", "There is no item ['x']"),
        ("items", ".keys()", "only names after a point"),
        ("items", "[", "cannot be read"),
        ("items", "[f()]", "a number, a text or a slice"),
        ("nothing", "", "There is no variable 'nothing'"),
        ("TRAP", "", "There is 'trap'"),
    ],
)
def test_what_would_run_code_is_refused(name: str, path: str, cause: str) -> None:
    memory = traps()
    assert cause in memory.refusal(name, path)
    assert ran == []


def test_paths_lead_into_what_is_stored() -> None:
    memory = traps()
    memory.shell.user_ns["nested"] = {"a": [1, {"b": "deep"}]}
    assert memory.inspect("nested", "['a'][1]['b']")["value"] == "'deep'"
    assert memory.inspect("nested", "['a'][-2]")["value"] == "1"
    assert memory.inspect("slots", ".a")["value"] == "3"
    assert memory.inspect("frame", "['a']")["type"] == "pandas.Series"
    assert memory.inspect("np", ".linalg")["type"] == "module"
    assert ran == []


def test_frames_and_arrays_are_described() -> None:
    day = pd.Timestamp("2026-01-02")
    frame = pd.DataFrame({"n": range(1000), "s": ["x"] * 1000, "t": [day] * 1000, "gaps": [None, 1.5] * 500})
    memory = Memory(frame=frame, array=np.arange(12.0).reshape(3, 4), when=datetime.date(2026, 1, 2), number=np.float32(1.5))
    rows = memory.rows()
    assert rows["frame"]["size"] == "1000×4" and rows["frame"]["value"].startswith("n: int64, s: str")
    assert rows["array"] == {"name": "array", "type": "ndarray", "kind": "data", "size": "3×4", "bytes": 96, "value": "of float64"}
    assert rows["when"]["value"] == "2026-01-02" and rows["number"]["value"] == "1.5"
    found = memory.inspect("frame", rows=2, stats=True)
    assert found["header"] == ["column", "type", "nulls"]
    assert [row[2] for row in found["columns"]] == [0, 0, 0, 500]
    assert found["rows"] == [["0", "x", str(day), "nan"], ["1", "x", str(day), "1.5"]]
    assert found["stats"]["rows"][0] == ["n", "0", "999", "499.5"]
    assert memory.inspect("frame", is_busy=True)["header"] == ["column", "type"]
    assert memory.inspect("array")["facts"]["max"] == "11.0"


class Color(enum.Enum):
    RED = 1


class Point(NamedTuple):
    x: int


def test_paths_lead_to_what_is_there_at_once() -> None:
    memory = Memory(color=Color.RED, Color=Color, point=Point(7), when=datetime.datetime(2020, 1, 2), file=Path("/a/b.txt"))
    paths = [("color", ".value"), ("color", ".name"), ("Color", ".RED.value"), ("point", ".x"), ("when", ".year"), ("file", ".name")]
    values = [memory.inspect(name, path)["value"] for name, path in paths]
    assert values == ["1", "'RED'", "1", "7", "2020", "'b.txt'"]
    memory.shell.user_ns["frame"] = pd.DataFrame([[1, 2], [3, 4]], index=pd.date_range("2020-01-01", periods=2), columns=["a", "a"])
    assert memory.inspect("frame", ".index")["items"][1][1] == "2020-01-02 00:00:00"
    assert memory.inspect("frame", "['a']")["size"] == "2"
    assert memory.inspect("frame", stats=True)["stats"]["rows"] == [["a", "1", "3", "2.0"], ["a", "2", "4", "3.0"]]


def test_indexes_and_arrays_of_all_kinds_are_described(tmp_path: Path) -> None:
    days = np.array(["2020-01-01", "NaT"], dtype="M8[ns]")
    fields = np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])
    arrays = {
        "objects": (np.array([None, "x"], dtype=object), "None"),
        "days": (days, "2020-01-01T00:00:00.000000000"),
        "fields": (fields, "(1, 2.5)"),
        "records": (fields.view(np.recarray), "(1, 2.5)"),
        "matrix": (np.matrix([[3, 4]]), "3"),
        "mapped": (np.memmap(tmp_path / "mapped", dtype="i8", mode="w+", shape=(2,)), "0"),
        "range": (pd.RangeIndex(3), "0"),
        "dates": (pd.date_range("2020-01-01", periods=2), "2020-01-01 00:00:00"),
        "pairs": (pd.MultiIndex.from_tuples([("a", 1)]), "('a', 1)"),
        "gaps": (pd.Series(pd.to_datetime([None, "2020-01-01"])), "NaT"),
    }
    memory = Memory(**{name: value for name, (value, _) in arrays.items()})
    rows = memory.rows()
    for name, (value, first) in arrays.items():
        found = memory.inspect(name)
        assert found["items"][0] == ["0", first], (name, found)
        assert rows[name]["size"] and rows[name]["value"].startswith("of "), name
        assert np.size(value) and found["facts"]["type"]


def test_labelled_arrays_are_described() -> None:
    array = xarray.DataArray([1.5, 2.5], dims="t", coords={"t": [10, 20]})
    memory = Memory(array=array, data=xarray.Dataset({"a": array}))
    found = memory.inspect("array")
    assert found["items"] == [["0", "1.5"], ["1", "2.5"]] and found["columns"] == [["t", "int64", "t", "coordinate"]]
    assert sorted(memory.inspect("data")["columns"]) == [["a", "float64", "t", "data"], ["t", "int64", "t", "coordinate"]]
    assert memory.inspect("data", ".a")["items"][0] == ["0", "1.5"]


def test_sources_of_functions_and_classes_are_shown() -> None:
    memory = Memory(traps=traps, Slots=OwnDict, memory=Memory)
    assert memory.inspect("traps")["text"].startswith("def traps() -> Memory:")
    assert memory.inspect("memory")["text"].startswith("class Memory:")
    assert "def items" in memory.inspect("Slots")["text"]
    device = compile("def endless(): ...", "/dev/zero", "exec")
    exec(device, memory.shell.user_ns)
    assert "text" not in memory.inspect("endless")


def test_secrets_are_not_shown() -> None:
    memory = Memory(api_key="hush", config={"x": 1}, holder=type("Holder", (), {})())
    memory.shell.user_ns["holder"].password = "hush"
    answers = [memory.list(), memory.inspect("api_key"), memory.inspect("holder"), memory.inspect("holder", ".password")]
    assert "hush" not in str(answers)
    assert memory.rows()["api_key"]["size"] == "4"


@pytest.mark.parametrize("frame", [pd.DataFrame, polars.DataFrame])
def test_a_column_keeps_its_secret_as_a_variable(frame: Any) -> None:
    columns = frame({"api_key": ["hush"], "city": ["Bern"]})
    memory = Memory(column=columns["api_key"], other=columns["city"])
    assert "hush" not in str(memory.inspect("column", stats=True)) and "hush" not in str(memory.list())
    assert memory.inspect("column")["items"] == [["0", "<hidden>"]]
    assert memory.inspect("other")["items"] != [["0", "<hidden>"]]


@pytest.mark.parametrize("name", SECRETS)
def test_names_of_secrets_are_recognised(name: str) -> None:
    memory = Memory(**{name: "hush"}, config={name: "hush"}, holder=SimpleNamespace(config={name: ["hush"]}))
    memory.shell.user_ns["frame"] = pd.DataFrame({name: ["hush"], "shown": ["x"]})
    answers = [memory.list(pattern="*"), *(memory.inspect(known) for known in list(memory.shell.user_ns))]
    answers += [memory.inspect("holder", ".config"), memory.inspect("config", f"[{name!r}]")]
    assert "hush" not in str(answers)


@pytest.mark.parametrize("name", NO_SECRETS)
def test_other_names_are_no_secrets(name: str) -> None:
    memory = Memory(**{name: "shown"}, config={name: "shown"})
    assert all("'shown'" in row["value"] for row in memory.rows().values())


def test_names_are_chosen_by_pattern_kind_and_order() -> None:
    memory = Memory(beta=1, Alpha="xx", _hidden=3, gamma=[0] * 9, sys=sys)
    assert list(memory.rows()) == ["Alpha", "beta", "gamma"]
    assert list(memory.rows(sort="latest")) == ["gamma", "Alpha", "beta"]
    assert list(memory.rows(sort="size"))[:2] == ["gamma", "Alpha"]
    assert list(memory.rows(pattern="*a", limit=1)) == ["Alpha"] and memory.list(pattern="*a", limit=1)["total"] == 3
    assert list(memory.rows(pattern="hid")) == ["_hidden"]
    assert memory.list()["others"] == {"module": {"count": 1, "names": ["sys"]}}


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
    }
    memory.shell.user_ns["new"].append(2)
    memory.ran(text="b" * 5000)
    assert memory.changes()["changed"] == ["text", "new"]
    memory.ran()
    assert set(map(str, memory.changes().values())) == {"[]", "0"}, "nothing has changed"


def test_equal_small_values_are_no_change() -> None:
    memory = Memory(number=1.5, nan=float("nan"), text="text", whole=10**15, flag=True)
    memory.ran(number=float("1.5"), nan=float("nan"), text="".join(["te", "xt"]), whole=10**14 * 10, flag=bool(1))
    assert memory.changes()["changed_count"] == 0
    memory.ran(number=2.5, nan=1.0, text="text!", whole=-1, flag=1)
    assert memory.changes()["changed"] == ["number", "nan", "text", "whole", "flag"]


def test_frames_and_arrays_have_changed_if_their_shape_has() -> None:
    memory = Memory()
    memory.ran(frame=pd.DataFrame({"a": [1, 2]}), array=np.zeros((3, 4)), own_frame=OwnFrame({"a": [1]}))
    memory.shell.user_ns["column"] = pd.Series([1, 2, 3])
    ran.clear()
    rows = memory.changes()["new"]
    assert [row["size"] for row in rows] == ["2×1", "3×4", "", "3"] and ran == []
    variables = memory.shell.user_ns
    variables["array"] += 1
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
    memory.shell.kernel.begins(request_, kind, silent=silent)
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
        memory.shell.kernel.begins("theirs", "kernel_info_request")
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


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    memory = Memory()

    def endless() -> None:
        while True:
            pass

    memory.answers.endless = endless
    begin = time.monotonic()
    assert memory.ask("endless", seconds=0.2) == {"status": "refused", "cause": "It took more than 0.2 s."}
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, RecursionError, GeneratorExit])
def test_whatever_is_raised_there_is_an_answer(raised: type[BaseException]) -> None:
    memory = Memory()

    def raises() -> None:
        raise raised

    memory.answers.raises = raises
    assert memory.ask("raises") == {"status": "refused", "cause": f"It cannot be shown ({raised.__name__})."}


def test_a_value_that_is_left_out_does_not_swallow_the_end_of_the_time() -> None:
    memory = Memory()

    def endless() -> None:
        while True:
            try:
                time.sleep(0.001)
            except Exception:
                pass

    memory.answers.endless = endless
    assert memory.ask("endless", seconds=0.2)["cause"] == "It took more than 0.2 s."


def test_the_time_limit_starts_nothing_that_code_of_the_person_sees() -> None:
    memory = Memory(x=1)
    seen: list[str] = []
    threads = threading.enumerate()

    def looks() -> None:
        seen.extend(thread.name for thread in threading.enumerate() if thread not in threads)

    memory.answers.looks = looks
    threading.setprofile(lambda *_: seen.append("profile"))
    threading.settrace(lambda *_: seen.append("trace"))
    try:
        assert memory.ask("looks")["status"] == "ok"
    finally:
        threading.setprofile(None)
        threading.settrace(None)
    assert seen == []


def test_an_answer_is_sent_before_the_kernel_waits_for_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(x=1)
    done: list[str] = []
    kernel = memory.shell.kernel
    kernel.control_handlers = {}
    kernel.session = SimpleNamespace(send=lambda *_, **__: done.append("queued"))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: memory.shell))
    memory.module["install"]()
    [handle] = kernel.control_handlers.values()
    handle(SimpleNamespace(flush=lambda _: done.append("sent")), None, {"content": {"question": {"list": {}}, "seconds": 1.0}})
    assert done == ["queued", "sent"]


def test_one_odd_value_does_not_spoil_the_others() -> None:
    without_module = eval("type('WithoutModule', (), {})", {})
    odd = {"wide": range(-(10**30), 0), "huge": range(0, 10**5000), "down": range(9, 0, -2), "bare": without_module()}
    memory = Memory(**odd, BareClass=without_module, fine=1)
    rows = memory.rows(kinds=["all"])
    assert set(rows) == set(memory.shell.user_ns) and rows["fine"]["value"] == "1"
    assert "value" not in rows["wide"] and "size" not in rows["huge"] and rows["down"]["size"] == "5"
    assert rows["down"]["value"] == "range(9, 0, -2)" and rows["bare"]["type"] == "WithoutModule"
    for name in rows:
        memory.inspect(name)
    memory.ran(more=without_module())
    assert memory.changes()["new"] == [{"name": "more", "type": "WithoutModule", "size": ""}]


def test_a_value_that_fails_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(bad=1.5, good=2)
    monkeypatch.setitem(memory.module, "library_class", lambda kind: 1 / 0 if kind is float else "")
    rows = memory.rows()
    assert rows["bad"]["value"] == "<it cannot be shown: ZeroDivisionError>" and rows["good"]["value"] == "2"
    memory.ran(worse=2.5)
    assert memory.changes()["new_count"] == 1


def test_every_text_can_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(half="\ud800abc", **{"a\udc80": 1})
    memory.shell.kernel.control_handlers = {}
    memory.shell.kernel.session = SimpleNamespace(send=lambda stream, kind, content, parent, ident: sent.append(content))
    sent: list[dict[str, Any]] = []
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: memory.shell))
    memory.module["install"]()
    [handle] = memory.shell.kernel.control_handlers.values()
    stream = SimpleNamespace(flush=lambda _: None)
    for question in ({"list": {}}, {"inspect": {"name": "half"}}, {"inspect": {"name": "missing\ud800"}}):
        handle(stream, None, {"content": {"question": question, "seconds": 1.0}})
    assert [content["status"] for content in sent] == ["ok", "ok", "refused"]
    json.dumps(sent, ensure_ascii=False).encode()
    assert sent[1]["answer"]["text"] == "\\ud800abc"
    # Without the handler, the answer is an expression's value.
    digits = memory.module["answered"]({"half": "\ud800abc"}, json.dumps({"question": {"inspect": {"name": "half"}}, "seconds": 1}))
    json.dumps(json.loads(bytes.fromhex(digits)), ensure_ascii=False).encode()


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


def test_a_program_that_runs_is_known_to_the_next_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Memory(), Memory()
    kernel = first.shell.kernel
    kernel.control_handlers, sent = {}, []
    kernel.session = SimpleNamespace(send=lambda stream, kind, content, parent, ident: sent.append(content))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: first.shell))

    def ask(**question: Any) -> dict[str, Any]:
        [handle] = kernel.control_handlers.values()
        content = {"question": {"packages": question}, "seconds": 5.0}
        handle(SimpleNamespace(flush=lambda _: None), None, {"content": content})
        return sent[-1]

    first.module["install"]()
    job = ask(what="start", command=[sys.executable, "-c", "import time; time.sleep(60)"], seconds=60)["answer"]["job"]
    # Another server installs its own.
    second.module["install"]()
    assert ask(what="poll", job=job) == {"status": "ok", "answer": {"status": None, "output": ""}}
    ask(what="end", job=job)


@pytest.mark.parametrize("top_level", [None, "c787785866c7b801238d__mypyc\ntomli\n"])
def test_modules_that_nobody_imports_are_not_named(top_level: str | None) -> None:
    files = ["c787785866c7b801238d__mypyc.cpython-311-x86_64-linux-gnu.so", "tomli/__init__.py", "tomli-2.0.dist-info/RECORD"]
    distribution = SimpleNamespace(read_text=lambda name: top_level, files=files)
    assert Memory().module["modules_of"](distribution) == ["tomli"]


def test_a_package_of_conda_may_have_no_name_of_its_own_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conda-meta").mkdir()
    files = ["lib/python3.12/site-packages/json/__init__.py", "lib/python3.12/site-packages/absent_at_all.py", "bin/torch"]
    record = {"name": "py-torch", "version": "2.9", "files": files}
    (tmp_path / "conda-meta/py-torch-2.9-py312_0.json").write_text(json.dumps(record))
    (tmp_path / "conda-meta/history").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    found = Memory().module["Packages"]().distributions(["py-torch", "torch"])
    assert found == {"py-torch": {"version": "2.9", "importable": ["json"], "loaded": ["json"]}}


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


def test_a_path_may_have_slices() -> None:
    memory = Memory(items=list(range(100)), array=np.arange(100), frame=pd.DataFrame({"a": [1], ("b", 1): [2]}))
    assert memory.inspect("items", "[90:93]")["value"] == "[90, 91, 92]"
    assert memory.inspect("array", "[-3:]")["items"][0] == ["0", "97"]
    assert memory.inspect("frame", "[:, ::-1]")["columns"] == [["('b', 1)", "int64", 0], ["a", "int64", 0]]
    assert "There is no item" in memory.refusal("items", "[::0]")
    for path in ("[f():]", "['a':]", "[:]"):
        assert memory.refusal("frame", path)
