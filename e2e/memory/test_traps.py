"""Values that would run code of the person if they were asked in the usual ways: the handler must not run any."""

import collections
import datetime
import functools
import types
import uuid
import weakref
import zoneinfo
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from e2e.support.memory_handler import Memory, ran


class Zone(datetime.tzinfo):
    def utcoffset(self, when: datetime.datetime | None) -> datetime.timedelta:
        ran.append("utcoffset")
        raise SystemExit

    def dst(self, when: datetime.datetime | None) -> datetime.timedelta:
        ran.append("dst")
        return datetime.timedelta(0)

    def tzname(self, when: datetime.datetime | None) -> str:
        ran.append("tzname")
        return "own"

    __str__ = __repr__ = lambda self: ran.append("str of a zone") or "own"


class Default(dict):
    def __missing__(self, key: str) -> int:
        ran.append("missing")
        return 5


class Descriptor:
    def __get__(self, value: object, owner: type | None = None) -> int:
        ran.append("descriptor")
        return 5


class WithDescriptors:
    computed = Descriptor()
    __doc__ = Descriptor()


class WithDict:
    @property
    def __dict__(self) -> Any:
        ran.append("__dict__")
        return {"a": 1}


class OwnModule(types.ModuleType):
    __dict__ = property(lambda self: ran.append("__dict__ of a module") or {})


class Callable:
    def __call__(self) -> None: ...

    def __getattr__(self, name: str) -> Any:
        ran.append(f"callable.{name}")
        raise AttributeError

    __doc__ = property(lambda self: ran.append("doc"))


class Key:
    """Equal to any key with the hash of this text."""

    def __hash__(self) -> int:
        return hash("key")

    def __eq__(self, other: object) -> bool:
        ran.append("==")
        return True


class Label:
    __class__ = property(lambda self: ran.append("class") or int)  # type: ignore[assignment]

    def __hash__(self) -> int:
        ran.append("hash")
        return 1

    def __eq__(self, other: object) -> bool:
        ran.append("==")
        return True

    def __ne__(self, other: object) -> bool:
        ran.append("!=")
        return True

    __repr__ = __str__ = lambda self: ran.append("str") or "label"


class OwnFloat(float):
    def __ne__(self, other: object) -> bool:
        ran.append("!= of a float")
        return False


class Copied:
    def __deepcopy__(self, memory: Any) -> "Copied":
        ran.append("deepcopy")
        return self


class OwnString(str):
    def __str__(self) -> str:
        ran.append("str of a text")
        return "text"

    replace = rpartition = __str__


class Index:
    def __index__(self) -> int:
        ran.append("index")
        return 1


def faked(module: str, name: str) -> Any:
    """An object of a class that pretends to be that of a library."""

    def computed(self: object) -> tuple[int]:
        ran.append("faked")
        return (1,)

    parts = {part: property(computed) for part in ("shape", "dtype", "nnz", "computed", "_meta", "tzinfo")}
    return type(name, (), {"__module__": module, **parts})()


@pd.api.extensions.register_dataframe_accessor("own_accessor")
class Accessor:
    def __init__(self, frame: pd.DataFrame) -> None:
        ran.append("accessor")


def module_with_getattr() -> types.ModuleType:
    module = types.ModuleType("lazy")

    def find(name: str) -> Any:
        ran.append("getattr of a module")
        raise SystemExit

    vars(module)["__getattr__"] = find
    return module


def wrapped() -> Any:
    def function() -> None: ...

    functools.update_wrapper(function, WithDict)
    vars(function)["__wrapped__"] = Callable()
    return function


def objects(*values: Any) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def frame_with_attributes() -> pd.DataFrame:
    frame = pd.DataFrame({"a": [1, 2]})
    frame.attrs["copied"] = Copied()
    return frame


def column_with_attributes() -> "pd.Series[int]":
    column = pd.Series([1, 2])
    column.attrs["copied"] = Copied()
    return column


def own_uuid() -> uuid.UUID:
    value = uuid.UUID(int=1)
    object.__setattr__(value, "int", Index())
    return value


class OwnType(pd.api.extensions.ExtensionDtype):
    name = "own"
    type = object

    def __str__(self) -> str:
        ran.append("str of a type")
        return "own"


class OwnArray(pd.api.extensions.ExtensionArray):
    def __init__(self) -> None: ...

    def __len__(self) -> int:
        ran.append("len of an array")
        return 2

    def __getitem__(self, part: Any) -> Any:
        ran.append("item of an array")
        return OwnArray()

    @property
    def dtype(self) -> Any:
        ran.append("type of an array")
        return OwnType()

    def copy(self) -> "OwnArray":
        return OwnArray()


MISSING_ITEM = "There is no item"
COMPUTED = "is computed by code of its class"
NO_ATTRIBUTE = "has no attribute"
OWN_CODE = "would run its own code"
TZ = Zone()
# What a path leads to, or the reason why it leads nowhere.
HOSTILE: list[tuple[str, Any, dict[str, str]]] = [
    ("datetime", datetime.datetime(2020, 1, 1, tzinfo=TZ), {".year": "2020"}),
    ("time", datetime.time(1, tzinfo=TZ), {}),
    ("defaultdict", collections.defaultdict(lambda: ran.append("factory")), {"['key']": MISSING_ITEM}),
    ("missing", Default(a=1), {"['key']": MISSING_ITEM, "['a']": "1"}),
    ("key", {Key(): 1}, {"['key']": MISSING_ITEM}),
    ("keys", {(1, Key()): 1, ("a", 2): 3}, {"[(1, 'key')]": MISSING_ITEM, "[('a', 2)]": "3"}),
    ("class", WithDescriptors, {".computed": COMPUTED}),
    ("object", WithDescriptors(), {".computed": COMPUTED}),
    ("dict", WithDict(), {".a": NO_ATTRIBUTE}),
    ("module", module_with_getattr(), {".key": NO_ATTRIBUTE}),
    ("own module", OwnModule("own"), {".key": NO_ATTRIBUTE}),
    ("proxy", weakref.proxy(TZ), {".key": NO_ATTRIBUTE}),
    ("alias", types.GenericAlias(WithDescriptors, (int,)), {".computed": NO_ATTRIBUTE}),
    ("chain map", collections.ChainMap(Default(a=1)), {"['key']": OWN_CODE, ".maps[0]['a']": "1"}),
    ("mapping proxy", types.MappingProxyType(Default(a=1)), {"['key']": OWN_CODE}),
    ("method", types.MethodType(Callable(), 1), {}),
    ("wrapped", wrapped(), {}),
    ("uuid", own_uuid(), {}),
    ("path", Path(OwnString("/a")), {}),
    ("scipy", faked("scipy.sparse", "csr_matrix"), {".computed": COMPUTED}),
    ("numpy", faked("numpy", "ndarray"), {".computed": COMPUTED, "[0]": OWN_CODE}),
    ("json", faked("json", "JSONDecoder"), {".computed": COMPUTED}),
    ("dask", faked("dask.dataframe", "DataFrame"), {}),
    ("attributes", frame_with_attributes(), {"['a']": "of int64", ".a": "of int64", ".own_accessor": COMPUTED}),
    ("column", column_with_attributes(), {"[1]": "2"}),
    ("labels", pd.DataFrame([[1, 2]], columns=pd.Index(objects(Label(), Label()))), {"['a']": MISSING_ITEM}),
    ("label", pd.Series([1, 2], index=pd.Index(objects(Label(), "b")), name=Label()), {"['b']": "2"}),
    ("objects", pd.DataFrame({"o": pd.Series(objects(OwnFloat(1), Label()), dtype=object)}), {"['o'][1]": "Label"}),
    ("own types", pd.DataFrame({"o": OwnArray(), "n": [1, 2]}), {"['n']": OWN_CODE, ".index": COMPUTED}),
    ("own index", pd.Series([1, 2], index=pd.Index(OwnArray())), {"[0]": OWN_CODE}),
    ("own column", pd.Series(OwnArray()), {"[0]": OWN_CODE, ".dtype": COMPUTED}),
    ("object array", objects(OwnFloat(1), Label()), {"[1]": "Label"}),
]


@pytest.fixture(autouse=True)
def _nothing_has_run() -> Iterator[None]:
    ran.clear()
    yield
    ran.clear()


# By name, because a report of a failed test shows parameters.
@pytest.mark.parametrize("name", [each[0] for each in HOSTILE])
def test_no_code_of_the_person_runs(name: str) -> None:
    memory, paths = next((Memory(value=value, other=1), paths) for known, value, paths in HOSTILE if known == name)
    ran.clear()
    assert set(memory.rows(kinds=["all"])) == {"value", "other"}
    answers = [memory.ask("inspect", name="value"), memory.ask("inspect", name="value", stats=True)]
    assert all(answer["status"] == "ok" for answer in answers), answers
    for path, expected in paths.items():
        answer = memory.ask("inspect", name="value", path=path)
        assert expected in str(answer), (path, answer)
    memory.ran(new=memory.shell.user_ns["value"], value=1)
    assert memory.changes()["new_count"] == 1
    assert ran == [], "code has run"


def test_a_path_adds_nothing_to_a_dict() -> None:
    memory = Memory(found=collections.defaultdict(list))
    memory.refusal("found", "['key']")
    assert memory.shell.user_ns["found"] == {}


def test_time_zones_of_libraries_are_printed() -> None:
    zones = {"utc": datetime.UTC, "berlin": zoneinfo.ZoneInfo("Europe/Berlin"), "none": None}
    memory = Memory(**{name: datetime.datetime(2020, 7, 1, tzinfo=zone) for name, zone in zones.items()})
    assert [row["value"][19:] for row in memory.rows(sort="latest").values()] == ["", "+02:00", "+00:00"]


def test_names_of_variables_are_not_compared() -> None:
    memory = Memory(key=1)
    memory.shell.user_ns[Key()] = 2  # type: ignore[index]
    ran.clear()
    assert list(memory.rows()) == ["key"] and ran == []
